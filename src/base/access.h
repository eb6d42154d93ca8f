/*
 * access.h - what is known of a request when it ends: one record, for the access log and the metrics.
 *
 * Why: the gateway knows, observe tells; neither includes the other. Slices live for the call only.
 * Never in it: prompts, keys, bodies.
 */
#ifndef PST_BASE_ACCESS_H
#define PST_BASE_ACCESS_H

#include "base/slice.h"

#define PST_ACCESS_NO_POOL  UINT16_MAX
#define PST_ACCESS_NO_CLASS UINT8_MAX

struct pst_access {
    pst_ns started; /* monotonic: when the head was read */
    pst_ns ended;
    pst_ns wait;     /* in the queue, as the gate says */
    pst_ns ttft;     /* head read to first byte towards the client; 0: none */
    pst_ns upstream; /* dispatch to first byte; 0: none */
    struct pst_slice request_id, trace_id, method, path, model, tenant, class_claimed, type,
        replica;
    struct pst_slice peer;
    uint16_t pool;   /* PST_ACCESS_NO_POOL before a pool was known */
    uint8_t class_;  /* effective; PST_ACCESS_NO_CLASS */
    uint8_t length;  /* enum pst_length */
    uint8_t outcome; /* enum pst_outcome of the gate; refusals before the gate are REFUSED */
    uint8_t reason;  /* enum pst_reason; NONE with a refusal before the gate: see refusal */
    bool stream;
    const char *
        refusal; /* "invalid_api_key", "not_found", "invalid_body" …: refused before the gate; NULL */
    uint16_t status; /* towards the client; 499: it left */
    uint32_t tries;  /* dispatches */
    uint64_t bytes_in, bytes_out;
    uint32_t tokens_estimated, tokens_in, tokens_out;
};

#endif
