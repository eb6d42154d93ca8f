/*
 * starts.h - how long a replica takes from being asked for to its first token, as it was measured.
 *
 * Why: a start takes 7 s on a laptop and 7 min from a cold registry, and every look ahead is by that
 * much. A configured number is a guess; the mean hides the start that somebody waits for.
 *
 * Guarantee: the 90th percentile (nearest rank) of the last 32 starts of a kind; the configured number
 * until there is one. Fixed memory.
 */
#ifndef PST_CORE_STARTS_H
#define PST_CORE_STARTS_H

#include "pst.h"

#define PST_STARTS_KEPT 32

/* All zero: none was measured. */
struct pst_starts {
    pst_ns took[PST_STARTS_KEPT];
    uint32_t count; /* of them, at most PST_STARTS_KEPT */
    uint32_t next;
};

void pst_starts_add(struct pst_starts *starts, pst_ns took);
pst_ns pst_starts_p90(const struct pst_starts *starts, pst_ns configured);

#endif
