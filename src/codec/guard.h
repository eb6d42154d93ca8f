/*
 * guard.h - what may not pass in an HTTP/1 head or in chunk framing, whatever the parser thinks of it.
 *
 * Why: two hops that read the same bytes differently are a smuggled request. The parser behind this is
 * strict already; this adds the forms on which parsers disagree, so that what we pass on can be read in
 * one way only: bare CR or LF, folded lines, control characters, several or odd lengths and codings,
 * a missing or second Host, chunk extensions and trailers without end.
 *
 * Guarantee: pure; the verdict does not depend on how the bytes were cut into pieces.
 * Sources: RFC 9112 sections 2.2, 3.2, 5, 6.1, 6.3, 7.1; RFC 9110 section 6.5.1.
 */
#ifndef PST_CODEC_GUARD_H
#define PST_CODEC_GUARD_H

#include "pst.h"

/*
 * The raw bytes of a head, a piece at a time: `bytes` always begins where the head does, and grows.
 * Zero before the first piece, then `response` as it applies.
 */
struct pst_guard_head {
    size_t at;   /* judged so far */
    size_t line; /* where the current line begins */
    bool response;
};

/* PST_OK: the head is bytes[0, *ret_len). PST_E_AGAIN: not yet whole. PST_E_SYNTAX: *ret_why says why. */
int pst_guard_head(struct pst_guard_head *guard, const char *bytes, size_t len, size_t *ret_len,
                   const char **ret_why);

/* The fields that decide framing. Zero, then `response`; each field once, then the verdict. */
struct pst_guard_fields {
    bool response;
    bool chunked; /* valid after the verdict, like content_length */
    bool has_length;
    uint8_t hosts, lengths, codings; /* counts, saturating at 2 */
    uint64_t content_length;
    const char *why; /* the first objection */
};

/* `value` without the whitespace around it. */
void pst_guard_field(struct pst_guard_fields *guard, const char *name, size_t name_len,
                     const char *value, size_t value_len);
int pst_guard_fields_verdict(struct pst_guard_fields *guard, uint8_t version_minor,
                             const char **ret_why);

/* Target of a request that we can serve: origin-form, without a fragment. */
bool pst_guard_target(const char *target, size_t len);

enum {
    PST_GUARD_EXTENSION_BYTES_MAX = 256,        /* of one chunk line */
    PST_GUARD_EXTENSIONS_BYTES_MAX = 16 * 1024, /* of one body */
    PST_GUARD_TRAILERS_BYTES_MAX = 8 * 1024,
    PST_GUARD_TRAILER_NAME_MAX = 24, /* longer names are not on the list of the forbidden */
};

/*
 * The raw bytes of a chunked body.
 *
 *   SIZE --;--> EXTENSION --CR--> SIZE_LF --size > 0--> DATA --> DATA_CR --> DATA_LF --> SIZE
 *                                    |
 *                                    +--size 0--> TRAILER_START --CR--> END_LF --> END
 *                                                   ^      |
 *                                                   |      v
 *                                      TRAILER_LF <-- VALUE <-- NAME
 */
enum pst_guard_chunk_state {
    PST_GUARD_CHUNK_SIZE,
    PST_GUARD_CHUNK_EXTENSION,
    PST_GUARD_CHUNK_SIZE_LF,
    PST_GUARD_CHUNK_DATA,
    PST_GUARD_CHUNK_DATA_CR,
    PST_GUARD_CHUNK_DATA_LF,
    PST_GUARD_CHUNK_TRAILER_START,
    PST_GUARD_CHUNK_TRAILER_NAME,
    PST_GUARD_CHUNK_TRAILER_VALUE,
    PST_GUARD_CHUNK_TRAILER_LF,
    PST_GUARD_CHUNK_END_LF,
    PST_GUARD_CHUNK_END,
    PST_GUARD_CHUNK_STATE_COUNT
};

/* Zero, then `response`: there forbidden trailer names are dropped like all others, not refused. */
struct pst_guard_chunk {
    uint64_t left; /* of the size line or of the data */
    uint8_t state; /* enum pst_guard_chunk_state */
    uint8_t digits;
    bool response;
    uint8_t name_len;
    uint16_t extension_bytes;
    uint16_t trailer_bytes;
    uint32_t extensions_bytes;
    char name[PST_GUARD_TRAILER_NAME_MAX];
};

/*
 * Judges up to the end of a run of data, of the body, or of the bytes; *ret_used says how many passed.
 * PST_E_SYNTAX: the byte after them may not stand there.
 */
int pst_guard_chunk(struct pst_guard_chunk *guard, const char *bytes, size_t len, size_t *ret_used,
                    const char **ret_why);

#endif
