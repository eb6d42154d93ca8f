/*
 * reserve.h - how many slots a class leaves free for those above it.
 *
 * Why: where slots turn over quickly (many slots, short work), a high request finds one free within
 * its target and holding slots back is waste. Where they do not (8 slots, answers of half a minute),
 * low work that filled every slot would keep high waiting. The number follows from how quickly slots
 * come free, not from a fixed percentage.
 *
 *   r_c = max(r_(c-1), 0, ceil((ln(1/eps) - (K - a) t / S) / ln(K / a))), at most K / 4
 *
 * K slots, a of them used by the classes above, S their mean service time, t half the target of the
 * class just above, eps = 1 %: with r slots held back, the chance that a request of the classes above
 * waits longer than t decays by a / K for each slot, and by e for each S / (K - a) of patience.
 *
 * Guarantee: 0 <= r_c <= K / 4, ascending in c, r_0 = 0.
 */
#ifndef PST_CORE_RESERVE_H
#define PST_CORE_RESERVE_H

#include "pst.h"

#define PST_RESERVE_ONE_IN                                                                         \
    100.0 /* 1 / eps: a request in a hundred may wait longer than its patience */

/* The formula for one class, before the maximum with r_(c-1). used_ppm: a, in ppm of a slot. */
uint32_t pst_reserve_slots(uint32_t slots, uint64_t used_ppm, pst_ns service, pst_ns patience,
                           double one_in);

#endif
