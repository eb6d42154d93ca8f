/*
 * json.h - a strict JSON reader that is handed bytes as they come and gives tokens back.
 *
 * Why: bodies of many MiB pass by in pieces; what is wanted of them are a few short values and the size
 * of their text. So nothing is stored: strings come out as runs of decoded bytes that point into the
 * caller's piece, with their code points counted on the way.
 *
 * Guarantee: accepts RFC 8259 and nothing else (strict UTF-8, no lone surrogates), to
 * PST_JSON_DEPTH_MAX nested containers. Verdict and error offset do not depend on how the text is cut;
 * runs of text may. State is bounded, nothing is allocated.
 */
#ifndef PST_CODEC_JSON_H
#define PST_CODEC_JSON_H

#include "codec/decimal.h"
#include "pst.h"

#define PST_JSON_DEPTH_MAX 64

enum pst_json_kind {
    PST_JSON_MORE, /* the piece is used up */
    PST_JSON_ERROR,
    PST_JSON_OBJECT,
    PST_JSON_OBJECT_END,
    PST_JSON_ARRAY,
    PST_JSON_ARRAY_END,
    PST_JSON_STRING,   /* a string begins: TEXT*, TEXT_END follow; a key has nothing before them */
    PST_JSON_TEXT,     /* a run of decoded bytes; others follow */
    PST_JSON_TEXT_END, /* the last run, which may be empty: the key or string is complete */
    PST_JSON_NUMBER,   /* complete, in `number` */
    PST_JSON_TRUE,
    PST_JSON_FALSE,
    PST_JSON_NULL,
    PST_JSON_KIND_COUNT
};

/* What is left of the caller's piece; moved by pst_json_next. */
struct pst_json_input {
    const char *at;
    const char *end;
};

/* A run: a code point cut by the piece's end is counted in the run that completes it. */
struct pst_json_text {
    const char *at;
    size_t len;
    uint64_t chars;
    uint64_t wide; /* of chars: CJK, kana, hangul, emoji */
};

struct pst_json {
    uint64_t offset; /* bytes read; after an error, of the first wrong byte */
    const char *error;
    const char *literal; /* what is left of true, false or null */
    struct pst_decimal number;
    uint64_t objects; /* bit n: nesting level n + 1 is an object */
    uint32_t code;    /* code point being read, from UTF-8 or \u */
    uint16_t surrogate;
    uint8_t depth;      /* containers open */
    uint8_t depth_told; /* tokens inside more containers than these are not told */
    uint8_t state;
    uint8_t need;      /* bytes or hex digits that complete `code` */
    uint8_t low, high; /* bounds of the next UTF-8 byte */
    uint8_t value;     /* enum pst_json_kind of the literal being read */
    bool in_key;       /* the text is a key's */
    char escape[4];
};

void pst_json_init(struct pst_json *json);

/*
 * Reads on to the next token. *ret_text is written with PST_JSON_TEXT and PST_JSON_TEXT_END only and
 * is valid until the next call. PST_JSON_ERROR repeats; `error` (static, English) and `offset` say what is wrong.
 */
enum pst_json_kind pst_json_next(struct pst_json *json, struct pst_json_input *input,
                                 struct pst_json_text *ret_text);

/* After OBJECT or ARRAY: what is inside is read and judged, but not told; the next token is its end. */
void pst_json_skip(struct pst_json *json);

/* At the end of the text: true if it was one whole value. A number at top level ends only here. */
bool pst_json_finish(struct pst_json *json);

#endif
