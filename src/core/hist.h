/*
 * hist.h - a log-linear histogram: quantiles of any positive number, in fixed memory.
 *
 * Why: waits span microseconds to minutes; a sorted list of them is unbounded and fixed bounds are
 * always the wrong ones. Histograms of several threads or gateways add up.
 *
 * Guarantee: a quantile is within 1/64 of a value that has that rank (exact below 64); adding is O(1),
 * never fails, never allocates; merging is exact.
 */
#ifndef PST_CORE_HIST_H
#define PST_CORE_HIST_H

#include "pst.h"

#define PST_HIST_BITS    5 /* 32 steps per power of two */
#define PST_HIST_BUCKETS ((64 - PST_HIST_BITS + 1) << PST_HIST_BITS)

/* All zero is an empty one. */
struct pst_hist {
    uint64_t count;
    uint64_t sum; /* saturating */
    uint64_t max;
    uint64_t buckets[PST_HIST_BUCKETS];
};

void pst_hist_add(struct pst_hist *hist, uint64_t value);
void pst_hist_add_many(struct pst_hist *hist, uint64_t value, uint64_t times);
void pst_hist_merge(struct pst_hist *into, const struct pst_hist *from);
/* Every count is halved: old values fade. */
void pst_hist_fade(struct pst_hist *hist);
/* The value below or at which q_ppm of all lie; 0 of none. PST_PPM gives the largest. */
uint64_t pst_hist_quantile(const struct pst_hist *hist, uint32_t q_ppm);
uint64_t pst_hist_mean(const struct pst_hist *hist);

#endif
