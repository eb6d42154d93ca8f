/*
 * peek.h - what a gateway must know of a JSON request body, read as it streams by.
 *
 * Why: model, streaming, sequences and prompt size decide where a request goes and how long it runs.
 * The body may be 32 MiB with images in it, comes in pieces, and is nobody's to change: so it is looked
 * at once, byte by byte, with a bounded state and no copy but the short values wanted.
 *
 * Guarantee: the result does not depend on how the body is cut into pieces. State is sizeof(struct
 * pst_peek), nesting is bounded by PST_PEEK_DEPTH_MAX. A body that is not one JSON object (RFC 8259,
 * strict UTF-8) is an error with its offset. Duplicate keys of the body: the last one counts, as with
 * engines; text below duplicates further inside, or below keys the form does not know, counts twice.
 * Values of the wrong type count as absent: the engine will say what is wrong with them.
 */
#ifndef PST_CODEC_PEEK_H
#define PST_CODEC_PEEK_H

#include "pst.h"

#define PST_PEEK_DEPTH_MAX 64
#define PST_PEEK_TEXT_MAX                                                                          \
    256 /* longest model or user read; a longer model, or NUL in it, is an error */

/* What the path tells of the body: where prompts and their number are. */
enum pst_peek_form {
    PST_PEEK_CHAT,       /* messages[] (content: text or parts), n */
    PST_PEEK_COMPLETION, /* prompt: string | [strings] | [tokens] | [[tokens]], n, best_of */
    PST_PEEK_RESPONSES,  /* input: string | items, instructions, max_output_tokens */
    PST_PEEK_MESSAGES,   /* Anthropic: messages, system, max_tokens */
    PST_PEEK_EMBEDDINGS, /* input: string | [strings] | [tokens] | [[tokens]] */
    PST_PEEK_RERANK,     /* query, documents[] */
    PST_PEEK_OTHER, /* generate, infer …: inputs/text/prompt where they are, all text counted */
    PST_PEEK_FORM_COUNT
};

struct pst_peek_result {
    char model[PST_PEEK_TEXT_MAX + 1]; /* decoded UTF-8, NUL-terminated; "" when absent */
    uint64_t model_at;                 /* offset of the value's opening quote in the body */
    uint32_t model_bytes;              /* of the value as written, quotes included; 0: absent */
    bool model_is_odd;                 /* there, and neither a string nor null */
    char user[PST_PEEK_TEXT_MAX + 1];  /* cut when longer */
    uint64_t text_bytes;   /* prompt text, decoded UTF-8 bytes; images and audio not counted */
    uint64_t text_chars;   /* code points of it */
    uint64_t wide_chars;   /* of them CJK and the like: about a token each */
    uint64_t tokens_given; /* prompt tokens passed as numbers */
    uint32_t media_parts;  /* images, audio, files: image_url, input_audio, … */
    uint32_t
        max_tokens; /* max_completion_tokens before max_tokens (or max_output_tokens); 0: absent */
    uint32_t sequences; /* n or best_of, the larger, times prompts; >= 1, saturating */
    uint32_t prompts;   /* prompts or inputs in the body, >= 1 */
    bool stream;
    bool has_stream;
    bool include_usage;   /* stream_options.include_usage */
    uint64_t prefix_hash; /* of the first KiB of prompt text: same prefix, same hash */
};

struct pst_peek; /* in peek_state.h: sized so that it can be embedded */

#include "codec/peek_state.h"

void pst_peek_init(struct pst_peek *peek, enum pst_peek_form form);
/* PST_OK, or PST_E_SYNTAX: the body is wrong; more input is then ignored. */
int pst_peek_feed(struct pst_peek *peek, const char *data, size_t len);
/* At the body's end. PST_E_SYNTAX: wrong or incomplete; *ret_result is written on PST_OK only. */
int pst_peek_finish(struct pst_peek *peek, struct pst_peek_result *ret_result);
/* After an error: offset of the first wrong byte and a short reason in English. */
const char *pst_peek_error(const struct pst_peek *peek, uint64_t *ret_offset);

#endif
