/*
 * fixed.h - policy fixed: the classic design, exactly.
 *
 * Why: it is the baseline that users recognise, with its known faults. One FIFO queue per class,
 * bounded in requests; a limit in flight per class and pool (or per ready replica); release from high
 * to low as soon as a place frees. A ticket of the lowest class that waited long enough joins the tail
 * of the class above, once, beyond its bound.
 *
 * Guarantee: no more than fixed_queue[c] requests that cannot run are queued by arrival; no more than
 * the limit is in flight per class; a replica's slots hold none the less.
 */
#ifndef PST_CORE_FIXED_H
#define PST_CORE_FIXED_H

#include "core/pool.h"

/* The limit in flight: how many of the class may run at once. */
uint64_t pst_fixed_places(const struct pst_pool *pool, uint8_t class_);
/* May it queue? A ticket that can start at once is not queued. */
bool pst_fixed_admits(const struct pst_pool *pool, const struct pst_ticket *ticket, pst_ns now);
bool pst_fixed_next(const struct pst_pool *pool, pst_ns now, struct pst_pick *ret_pick);
/* The ticket that has waited long enough to be promoted, or NULL; and when the next one will have. */
struct pst_ticket *pst_fixed_promotable(const struct pst_pool *pool, pst_ns now);
pst_ns pst_fixed_deadline(const struct pst_pool *pool);

#endif
