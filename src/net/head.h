/*
 * head.h - the head of an HTTP message, protocol version aside: what both sides of the relay read.
 *
 * Lifetime: slices point into the connection's buffer and live as long as the callback that got them.
 */
#ifndef PST_NET_HEAD_H
#define PST_NET_HEAD_H

#include "base/slice.h"

struct pst_header {
    struct pst_slice name, value;
};

enum pst_method {
    PST_METHOD_GET,
    PST_METHOD_HEAD,
    PST_METHOD_POST,
    PST_METHOD_OTHER,
    PST_METHOD_COUNT
};

#define PST_LENGTH_UNKNOWN UINT64_MAX /* chunked, or until the connection ends */

struct pst_head {
    enum pst_method method; /* of a request */
    uint16_t status;        /* of a response */
    uint8_t version_minor;  /* HTTP/1.x */
    bool has_body;
    bool expects_continue;
    struct pst_slice target; /* as received, byte for byte */
    struct pst_slice host;   /* brackets and port as received */
    uint64_t content_length; /* PST_LENGTH_UNKNOWN */
    const struct pst_header *headers;
    size_t count;
};

/* The first of that name (ASCII case ignored), or NULL. */
const struct pst_header *pst_head_find(const struct pst_head *head, struct pst_slice name);

/* True for a comma-separated list header that holds the token (any line of that name). */
bool pst_head_lists(const struct pst_head *head, struct pst_slice name, struct pst_slice token);

/*
 * True for what must not be passed on: connection, keep-alive, proxy-*, te, trailer, transfer-encoding,
 * upgrade, content-length (each hop frames anew), expect, and all that Connection names, except what a
 * gateway decides by (authorization, x-priority, content-type … : a client cannot remove those).
 * Source: RFC 9110 section 7.6.1.
 */
bool pst_head_is_hop(const struct pst_head *head, struct pst_slice name);

#endif
