/*
 * floors.h - replicas that somebody wants for a while, whatever the load: by the clock (cron), by a
 * learned day (profile), for a canary.
 *
 * Why: what an operator knows of tomorrow is in no series yet; and what is wanted at nine must have been
 * asked for a start time before nine.
 *
 * Guarantee: a floor holds from one look-ahead before `from` until just before `until`, so that what it
 * asks for is ready when it begins; of several the largest counts. A floor told again with the same
 * source and times replaces itself; with 0 replicas it is withdrawn. When the table is full, the one that
 * ends first gives way.
 */
#ifndef PST_CORE_FLOORS_H
#define PST_CORE_FLOORS_H

#include "core/scaler.h"

#define PST_FLOORS_MAX 32 /* of a pool */

struct pst_floor_span {
    pst_ns from, until;
    uint32_t replicas;
    uint8_t source; /* enum pst_floor */
};

/* All zero: none. */
struct pst_floors {
    struct pst_floor_span spans[PST_FLOORS_MAX];
    uint32_t count;
};

void pst_floors_set(struct pst_floors *floors, const struct pst_floor_span *span, pst_ns now);
/* The largest of the source that holds at any time in [now, now + ahead]; 0: none. */
uint32_t pst_floors_most(const struct pst_floors *floors, enum pst_floor source, pst_ns now,
                         pst_ns ahead);

#endif
