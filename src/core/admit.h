/*
 * admit.h - may one more wait, how long would it, and when should it come again.
 *
 * Why: a bound on requests refuses cheap bursts and admits hopeless ones. What counts is whether the
 * ticket will run within its class's max_wait, so the bound is the predicted wait:
 *
 *   the first w with  ready w + starting max(0, w - t) - above w  >=  work ahead
 *
 * ready and starting in slots, t the P90 time at which the starting ones are ready, above the slots
 * that arriving work of higher classes will take. Counting ready slots only refuses a third of what
 * could be served; counting starting ones as ready admits what cannot be.
 *
 * Ahead of it are all that wait in the classes above, and in its own class what the fair order will put
 * before it: the work of its own flow, times the flows it shares with by weight; so one tenant's flood
 * gets that tenant refused, not the others. Of a flow that has been waiting for a while, how often it
 * gets its turn is measured.
 *
 * Guarantee: a class may always queue one replica's slots; nothing is refused for work as long as the
 * pool has neither a ready replica nor ever answered. O(classes).
 */
#ifndef PST_CORE_ADMIT_H
#define PST_CORE_ADMIT_H

#include "core/pool.h"
#include "core/prng.h"

#define PST_LENGTH_UNKNOWN PST_LENGTH_COUNT

/* One more ticket, as far as it is known. */
struct pst_ask {
    uint64_t tokens; /* 0: not known */
    uint32_t flow;
    uint32_t weight;
    uint8_t class_;
    uint8_t length; /* may be PST_LENGTH_UNKNOWN: then a bin that waits speaks for the ticket */
};

/* Predicted wait of a ticket that joined the class's tail now; PST_NEVER: higher classes take all. */
pst_ns pst_admit_predicted(const struct pst_pool *pool, uint8_t class_, pst_ns now);
/*
 * Queued work of the class and all above, over the slots that it can use: its wait if nobody came any
 * more. PST_NEVER: there are none.
 */
pst_ns pst_admit_backlog(const struct pst_pool *pool, uint8_t class_);

/* Judges the queue bounds of policy adaptive: PST_REASON_NONE, QUEUE_FULL or KV_FULL. */
enum pst_reason pst_admit_judge(const struct pst_pool *pool, const struct pst_ask *ask, pst_ns now);

/* When what waits now will have been served: the predicted wait, times 1 … 1.5, within 1 … 59 s. */
uint32_t pst_admit_retry_after_ms(const struct pst_pool *pool, uint8_t class_, pst_ns now,
                                  struct pst_prng *prng);

#endif
