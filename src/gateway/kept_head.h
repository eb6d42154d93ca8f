/*
 * kept_head.h - the head of a replica's answer, kept until the answer is released to the client.
 *
 * Why: a head lives as long as its callback, and the status may only go out with the first byte that
 * counts. What goes on is copied: hop-by-hop names and those that we say ourselves are left out.
 *
 * Guarantee: one allocation at most, and none for a usual head.
 */
#ifndef PST_GATEWAY_KEPT_HEAD_H
#define PST_GATEWAY_KEPT_HEAD_H

#include "codec/answer.h"
#include "net/head.h"

struct pst_kept_head {
    uint16_t status;
    enum pst_answer_kind kind; /* by its content type */
    bool has_body;
    bool until_close; /* framed by the connection's end alone */
    uint64_t content_length;
    uint32_t retry_after_ms;
    struct pst_header headers[48];
    size_t count;
    char *bytes; /* names and values; inline_ or the heap */
    char inline_[1024];
};

/* False: no memory, or more headers than are kept. Zero is ready for use. */
bool pst_kept_head_take(struct pst_kept_head *kept, const struct pst_head *head);
void pst_kept_head_done(struct pst_kept_head *kept);

#endif
