/*
 * sse.h - the framing of server-sent events, over bytes as they come.
 *
 * Why: an event decides whether an answer has begun, failed or ended, and a cut inside one decides
 * whether anything may be appended. Engines also end streams with bare JSON that is no event at all.
 *
 * Guarantee: the lines CR, LF and CRLF, a leading byte order mark, comments and fields are read as the
 * HTML standard says; nothing depends on how the bytes are cut. Data is handed on, not stored.
 */
#ifndef PST_CODEC_SSE_H
#define PST_CODEC_SSE_H

#include "pst.h"

#define PST_SSE_NAME_MAX 64

enum pst_sse_kind {
    PST_SSE_MORE, /* the piece is used up */
    PST_SSE_DATA, /* a piece of the event's data; its lines are joined by one line feed */
    PST_SSE_RAW,  /* a piece of bare JSON: lines from a { where a field should be */
    PST_SSE_END,  /* a blank line: what came since the last one is complete */
    PST_SSE_KIND_COUNT
};

struct pst_sse_input {
    const char *at;
    const char *end;
};

struct pst_sse_text {
    const char *at;
    size_t len;
};

struct pst_sse {
    uint8_t state;
    uint8_t field;
    uint8_t mark; /* bytes of the byte order mark seen */
    bool after_cr;
    bool is_open; /* a field or bare JSON was seen since the last blank line */
    bool is_raw;
    bool has_data;
    uint8_t field_len;
    uint8_t name_len; /* PST_SSE_NAME_MAX + 1: longer */
    char field_name[8];
    char name[PST_SSE_NAME_MAX]; /* of the event; valid until the next call after END */
};

void pst_sse_init(struct pst_sse *sse);
enum pst_sse_kind pst_sse_next(struct pst_sse *sse, struct pst_sse_input *input,
                               struct pst_sse_text *ret_text);
/* True after a whole event or comment, or before anything: an event may be added here. */
bool pst_sse_at_boundary(const struct pst_sse *sse);
/* The event's name is `name`. */
bool pst_sse_named(const struct pst_sse *sse, const char *name);

#endif
