/*
 * rpc_figures.h - how long answers took, in a small histogram of microseconds.
 *
 * Guarantee: a quantile is at most 1/8 above a value of that rank (exact below 8 us). Adding is O(1).
 */
#ifndef PST_NET_RPC_FIGURES_H
#define PST_NET_RPC_FIGURES_H

#include "pst.h"

#define PST_RPC_FIGURES_BITS   3  /* 8 steps in each power of two */
#define PST_RPC_FIGURES_POWERS 24 /* 16 s; what is longer counts as that */
#define PST_RPC_FIGURES_BUCKETS                                                                    \
    ((PST_RPC_FIGURES_POWERS - PST_RPC_FIGURES_BITS + 1) << PST_RPC_FIGURES_BITS)

/* All zero is an empty one. */
struct pst_rpc_times {
    uint64_t count, max_us;
    uint64_t buckets[PST_RPC_FIGURES_BUCKETS];
};

void pst_rpc_times_add(struct pst_rpc_times *times, pst_ns took);
/* The upper end of the bucket in which that share lies, never above the longest; 0 of none. */
uint64_t pst_rpc_times_quantile(const struct pst_rpc_times *times, uint32_t q_ppm);

#endif
