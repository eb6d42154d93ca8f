/*
 * hold.h - how long less must have been enough before less is taken.
 *
 * Why: a start takes minutes, a lull seconds. And whoever had to take a step down back was too
 * early: a load that lies between two numbers would go up and down for ever.
 *
 * Guarantee: the number that is taken was enough at every time of the hold. The hold is in_after; each
 * step down that was taken back within a start and in_after doubles it, to 16 times, and half an hour
 * without one halves it again.
 */
#ifndef PST_CORE_HOLD_H
#define PST_CORE_HOLD_H

#include "core/gate.h"

#define PST_HOLD_DOUBLINGS 4
#define PST_HOLD_FORGET    (1800 * PST_S)

struct pst_hold {
    pst_ns needed_at[PST_REPLICAS_MAX + 1]; /* when exactly so many were needed last */
    pst_ns lowered_at;                      /* PST_NEVER: not, or taken back since */
    uint32_t doublings;
    pst_ns doubled_at;
};

/* Nothing is known of before. */
void pst_hold_begin(struct pst_hold *hold, pst_ns now);
/* So many are needed now. */
void pst_hold_needs(struct pst_hold *hold, uint32_t replicas, pst_ns now);
/* The most that was needed within the hold: between least and before. */
uint32_t pst_hold_most(struct pst_hold *hold, uint32_t least, uint32_t before, pst_ns in_after,
                       pst_ns now);
/* The number went down; it went up, which takes back a step down of up to `within` ago. */
void pst_hold_lowered(struct pst_hold *hold, pst_ns now);
void pst_hold_raised(struct pst_hold *hold, pst_ns within, pst_ns now);

#endif
