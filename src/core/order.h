/*
 * order.h - policy adaptive: whose turn it is.
 *
 *   1. class 0, strictly
 *   2. tickets past their slack, within their class's guard share
 *   3. the other classes in order, each leaving r_c slots free
 *
 * Why: urgent work must not wait behind the rest, the rest must get all that is left, and nobody may
 * wait for ever. Long prompts hold at most their share of the slots while shorter ones of the same
 * class or above wait, and leave free what keeps a short one's wait short.
 *
 * A ticket that cannot be placed for a reason of its own (too wide for what is free on any one
 * replica, or suspected of having killed one) is set aside and tried first from then on. A wide one is
 * overtaken by at most as many sequences as the pool has slots; then nothing of its class or below
 * starts until it could, or until nothing is in flight.
 *
 * Guarantee: O(classes + set aside + log lanes). Work-conserving but for r_c, wide
 * tickets, and the slots that long prompts leave to short ones (pool.c).
 */
#ifndef PST_CORE_ORDER_H
#define PST_CORE_ORDER_H

#include "core/pool.h"

/* The next ticket to start, or false: none can now. May set tickets aside. */
bool pst_order_next(struct pst_pool *pool, pst_ns now, struct pst_pick *ret_pick);
/* Its share is spent, its lane charged. To be called when the pick was taken out of its queue. */
void pst_order_started(struct pst_pool *pool, const struct pst_pick *pick, pst_ns work, pst_ns now);

#endif
