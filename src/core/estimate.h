/*
 * estimate.h - what is not known of a request when it must be judged: tokens, answer, slot-time.
 *
 * Why: bytes say little of tokens (Chinese has a third of the bytes per token that English spends in
 * JSON), prompt length does not predict output length, and service time depends on the engine. All
 * three are learned from the answers that went through: tokens per byte per pool and flow, output
 * tokens per type and flow, slot-time per pool, class and length bin.
 *
 * Guarantee: O(1), fixed memory. A cell with few samples leans on its parent (flow on pool, bin on
 * class, class on pool), so that one odd answer moves nothing far. Flows share cells by hash.
 */
#ifndef PST_CORE_ESTIMATE_H
#define PST_CORE_ESTIMATE_H

#include "core/gate.h"
#include "core/mean.h"

#define PST_SERVICE_UNKNOWN PST_S /* slot-time of a pool that has not answered yet */

struct pst_ratio {
    uint64_t tokens;
    uint64_t bytes;
};

/* Tokens: one for all pools. */
struct pst_estimate {
    struct pst_ratio *flow_ratio; /* by hash of pool and flow */
    struct pst_mean *flow_output; /* by hash of type and flow */
    uint32_t mask;
    struct pst_ratio pool_ratio[PST_POOLS_MAX];
    struct pst_mean type_output[PST_TYPES_MAX];
};

int pst_estimate_init(struct pst_estimate *e, uint32_t flows_max);
void pst_estimate_done(struct pst_estimate *e);
uint32_t pst_estimate_prompt(const struct pst_estimate *e, uint16_t pool, uint32_t flow,
                             uint32_t prompt_bytes);
/* Of one sequence. */
uint32_t pst_estimate_output(const struct pst_estimate *e, uint8_t type, uint32_t flow);
/* An answer came: 0 tokens mean that they are not known, and teach nothing. */
void pst_estimate_learn(struct pst_estimate *e, uint16_t pool, uint8_t type, uint32_t flow,
                        uint32_t prompt_bytes, uint32_t tokens_in, uint32_t tokens_out);

/* Slot-time: one per pool. */
struct pst_service {
    struct pst_mean pool;
    struct pst_mean lengths[PST_LENGTH_COUNT];
    struct pst_mean classes[PST_CLASSES_MAX];
    struct pst_mean cells[PST_CLASSES_MAX][PST_LENGTH_COUNT];
};

pst_ns pst_service_mean(const struct pst_service *s, uint8_t class_, uint8_t length);
/* PST_NEVER: none of that length was answered yet. */
pst_ns pst_service_length_mean(const struct pst_service *s, uint8_t length);
pst_ns pst_service_class_mean(const struct pst_service *s, uint8_t class_);
void pst_service_learn(struct pst_service *s, uint8_t class_, uint8_t length, pst_ns duration);

#endif
