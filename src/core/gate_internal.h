/*
 * gate_internal.h - the gate's state, for the files behind the facade.
 *
 * A step changes state and may leave an action or two in the outbox; everything else that follows
 * from the new state (expiries, evictions, dispatches) is found by poll, one phase after the other:
 *
 *   fleet -> rooms -> limits -> bodies -> drain -> promotion -> dispatch -> wake -> drained
 *
 * A phase that frees a place or ends an attempt starts them over.
 */
#ifndef PST_CORE_GATE_INTERNAL_H
#define PST_CORE_GATE_INTERNAL_H

#include "core/bodies.h"
#include "core/estimate.h"
#include "core/flow.h"
#include "core/gate.h"
#include "core/heap.h"
#include "core/pool.h"
#include "core/prng.h"
#include "core/ticket.h"

#define PST_OUTBOX_MAX 4 /* one unit of work says at most two things */

enum pst_gate_phase {
    PST_PHASE_FLEET,
    PST_PHASE_ROOMS,
    PST_PHASE_LIMITS,
    PST_PHASE_BODIES,
    PST_PHASE_DRAIN,
    PST_PHASE_PROMOTE,
    PST_PHASE_DISPATCH,
    PST_PHASE_WAKE,
    PST_PHASE_DRAINED,
    PST_PHASE_COUNT
};

struct pst_gate_drain {
    bool active;
    bool said; /* DRAINED was */
    pst_ns grace_until;
    pst_ns until;
};

struct pst_gate {
    struct pst_gate_config config;
    struct pst_slab slab;
    struct pst_flows flows;
    struct pst_estimate estimate;
    struct pst_bodies bodies;
    struct pst_fleet *fleet;
    struct pst_pool pools[PST_POOLS_MAX];
    struct pst_heap first_byte; /* running tickets by the limit of their attempt */
    struct pst_ticket_list offered;
    struct pst_prng prng;
    struct pst_gate_drain drain;
    struct pst_gate_action outbox[PST_OUTBOX_MAX];
    uint32_t outbox_head, outbox_count;
    uint32_t phase;      /* enum pst_gate_phase; COUNT: nothing is left to do */
    uint32_t phase_pool; /* where the phase is among the pools */
    pst_ns now;
    uint64_t rank;
    uint64_t offers, finished, dispatched, retried, guard_dispatched, stale_events;
};

/* gate_walk.c: a ticket's walk, one function per arrow of gate.h's picture. */
struct pst_gate_action *pst_gate_say(struct pst_gate *gate, enum pst_gate_action_kind kind);
void pst_gate_finish(struct pst_gate *gate, struct pst_ticket *ticket, enum pst_outcome outcome,
                     enum pst_reason reason);
/* For the totals: it was judged, and not refused. */
void pst_gate_count_admitted(struct pst_gate *gate, const struct pst_ticket *ticket, pst_ns work);
void pst_gate_queue(struct pst_gate *gate, struct pst_ticket *ticket, bool retry);
void pst_gate_unqueue(struct pst_gate *gate, struct pst_ticket *ticket);
void pst_gate_start(struct pst_gate *gate, struct pst_pool *pool, const struct pst_pick *pick);
/* The attempt is over in the gate's books; the fleet's are the caller's. */
void pst_gate_stop(struct pst_gate *gate, struct pst_ticket *ticket);
void pst_gate_say_close(struct pst_gate *gate, const struct pst_ticket *ticket);
/* Closes the attempt in flight; its place comes free after the engine's lag. See pst_fleet_release. */
void pst_gate_close(struct pst_gate *gate, struct pst_ticket *ticket, bool unanswered);
void pst_gate_obey(struct pst_gate *gate, struct pst_ticket *ticket, enum pst_verdict verdict,
                   enum pst_reason reason);
/* Off whatever list it waits on: offered, paused or queued. */
void pst_gate_take_off(struct pst_gate *gate, struct pst_ticket *ticket);

static inline void pst_gate_start_over(struct pst_gate *gate)
{
    gate->phase = PST_PHASE_FLEET;
    gate->phase_pool = 0;
}

static inline bool pst_gate_refuses_all(const struct pst_gate *gate)
{
    return gate->drain.active && gate->now >= gate->drain.grace_until;
}

#endif
