/*
 * retry.h - the retry budget of a pool.
 *
 * Why: a retry helps when one replica fails and multiplies the load when all of them do.
 *
 * Guarantee: in no minute do retries exceed the share given of that minute's dispatches, or `floor`,
 * whichever is more (a minute moves in steps of 5 s).
 */
#ifndef PST_CORE_RETRY_H
#define PST_CORE_RETRY_H

#include "core/gate.h"

#define PST_RETRY_STEPS 12

/* All zero is a fresh one. */
struct pst_retry {
    pst_ns step_since;
    uint32_t step;
    uint64_t dispatches; /* sums of the steps below */
    uint64_t retries;
    uint32_t dispatches_in[PST_RETRY_STEPS];
    uint32_t retries_in[PST_RETRY_STEPS];
};

void pst_retry_dispatched(struct pst_retry *retry, pst_ns now);
/* Takes one from the budget; false: there is none left. */
bool pst_retry_spend(struct pst_retry *retry, uint32_t share_ppm, uint32_t floor, pst_ns now);
/* What was spent turned out to be outside the budget. */
void pst_retry_refund(struct pst_retry *retry, pst_ns now);

#endif
