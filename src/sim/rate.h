/*
 * rate.h - how many requests a second a stream brings, at any time: constant part, pieces and bursts.
 *
 * Why: gaps are drawn with mean one and stretched by the rate, so whoever draws them must know over
 * which time the rate stays what it is.
 *
 * Guarantee: the rate is a step function, walked from left to right; O(log pieces) per step. Bursts are
 * a function of the seed alone. A burst begins no earlier than the one before it has ended.
 */
#ifndef PST_SIM_RATE_H
#define PST_SIM_RATE_H

#include "core/prng.h"
#include "model/scenario.h"

struct pst_rate {
    const struct pst_stream *stream;
    struct pst_prng prng;
    pst_ns past; /* the walk begins so long before the scenario does */
    bool burst;  /* it has such */
    uint64_t burst_index;
    pst_ns burst_begin, burst_end; /* the one that runs, or the next */
};

/* A step: the rate in requests per ns, until when. */
struct pst_rate_step {
    double per_ns;
    pst_ns until; /* PST_NEVER: for ever */
};

/* Time 0 of the walk is so long before time 0 of the scenario. */
void pst_rate_init(struct pst_rate *rate, const struct pst_stream *stream, uint64_t seed,
                   pst_ns past);
/* The step that holds at `at`; never earlier than asked for before. */
struct pst_rate_step pst_rate_at(struct pst_rate *rate, pst_ns at);

#endif
