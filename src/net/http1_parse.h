/*
 * http1_parse.h - one HTTP/1 message after another out of bytes, for both sides of the relay.
 *
 * Why: llhttp (strict) reads, our guard judges the raw bytes, and only what both understand alike goes
 * on. A head is parsed in one piece where it lies; a body is handed out as slices of the caller's
 * buffer, chunk framing squeezed out in place, so that one read gives one piece.
 *
 * Guarantee: what is handed out, and the verdict, do not depend on how the bytes were cut. Allocates
 * nothing.
 */
#ifndef PST_NET_HTTP1_PARSE_H
#define PST_NET_HTTP1_PARSE_H

#include <llhttp.h>

#include "codec/guard.h"
#include "net/head.h"

#define PST_HTTP1_HEADERS_MAX 128

enum pst_http1_state {
    PST_HTTP1_HEAD,
    PST_HTTP1_LENGTH,
    PST_HTTP1_CHUNKED,
    PST_HTTP1_UNTIL_CLOSE,
    PST_HTTP1_END,
    PST_HTTP1_STATE_COUNT
};

struct pst_http1 {
    llhttp_t parser;
    union {
        struct pst_guard_head head;
        struct pst_guard_chunk chunk;
    } guard;
    uint64_t left; /* LENGTH: bytes to come */
    uint8_t state; /* enum pst_http1_state */
    bool response;
    bool no_body;    /* of a response: it answers HEAD */
    bool keep_alive; /* after the head: the connection may carry another message */
};

struct pst_http1_error {
    uint16_t status; /* for a client */
    const char *why;
};

/* Where a head's slices are kept while it is looked at; one per loop turn is enough. */
struct pst_http1_head_room {
    struct pst_header headers[PST_HTTP1_HEADERS_MAX];
};

void pst_http1_init(struct pst_http1 *http, bool response);
/* Before each message on the same connection. */
void pst_http1_next(struct pst_http1 *http);

/*
 * Reads a head at the start of `bytes`; after PST_E_AGAIN call again with the same bytes and more.
 * PST_OK: *ret_head lives as long as `bytes` and `room`, *ret_used bytes are spent (which may be more
 * than the head, by a blank line before it). PST_E_SYNTAX: *ret_error.
 */
int pst_http1_head(struct pst_http1 *http, const char *bytes, size_t len, size_t head_max,
                   struct pst_http1_head_room *room, struct pst_head *ret_head, size_t *ret_used,
                   struct pst_http1_error *ret_error);

/*
 * Takes body bytes; state END tells that the message is whole. *ret_body (a part of `bytes`, which is
 * written to) holds what was decoded, also before a PST_E_SYNTAX.
 */
int pst_http1_body(struct pst_http1 *http, char *bytes, size_t len, struct pst_slice *ret_body,
                   size_t *ret_used, struct pst_http1_error *ret_error);

#endif
