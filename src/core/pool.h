/*
 * pool.h - everything one pool's policy reads: queues, averages, shares, and the fleet behind it.
 *
 * Why: admission, both orders and the views look at the same state. It sits in one struct that the
 * gate changes and the policies only read, so that each of them is a function of what it sees.
 *
 * Guarantee: counts here equal what is queued and running (pst_gate_verify recounts them).
 */
#ifndef PST_CORE_POOL_H
#define PST_CORE_POOL_H

#include "core/estimate.h"
#include "core/guard.h"
#include "core/load.h"
#include "core/fleet.h"
#include "core/room.h"
#include "core/totals.h"
#include "core/waitq.h"

struct pst_pool {
    const struct pst_gate_pool *config;
    const struct pst_gate_class *classes;
    struct pst_fleet *fleet;
    const struct pst_fleet_capacity *capacity; /* what the fleet has for this pool, now */
    uint32_t classes_count;
    uint16_t index;
    struct pst_waitq queue[PST_CLASSES_MAX];
    uint32_t queued;                   /* tickets, all classes */
    uint32_t running[PST_CLASSES_MAX]; /* tickets in flight, by the class they were queued in */
    uint64_t tokens_queued;
    uint64_t started;                   /* sequences, since the beginning */
    uint32_t reserved[PST_CLASSES_MAX]; /* r_c */
    uint32_t long_max;                  /* slots that long prompts may hold at all */
    struct pst_room room;
    struct pst_load load;
    struct pst_service service;
    struct pst_guard guard;
    struct pst_totals totals;
    bool woken; /* WAKE was said, and nothing has come yet */
};

/* Whom to start, and where. */
struct pst_pick {
    struct pst_ticket *ticket;
    uint16_t replica;
    bool guard;    /* it spends guard share */
    bool overtake; /* even before class 0 */
};

/* Estimated slot-time of a ticket. */
static inline pst_ns pst_pool_work(const struct pst_pool *pool, const struct pst_ticket *ticket)
{
    return pst_service_mean(&pool->service, ticket->queue_class, ticket->length) *
           ticket->fleet.sequences;
}

/* Queued slot-time of one class, by what is known of service times now. */
pst_ns pst_pool_queued_work(const struct pst_pool *pool, uint8_t class_);

/* The averages are new: r_c, and what long prompts may hold, follow. */
void pst_pool_turn(struct pst_pool *pool);

/* Brings averages up to now. */
static inline void pst_pool_advance(struct pst_pool *pool, pst_ns now)
{
    if (pst_load_advance(&pool->load, now))
        pst_pool_turn(pool);
}

#endif
