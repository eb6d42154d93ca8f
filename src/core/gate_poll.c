/* gate_poll.c - what follows from the state: the phases of gate_internal.h, and when to look again. */
#include "core/admit.h"
#include "core/fixed.h"
#include "core/gate_internal.h"
#include "core/num.h"
#include "core/order.h"

/*
 * Each phase does one unit of work and returns true, or false when it has none. A unit that says
 * nothing is fine: poll goes on.
 */

/* Its replica is taken for dead; or it was requeued, and its failure is understood by now. */
static void evict(struct pst_gate *gate, const struct pst_fleet_order *order)
{
    struct pst_ticket *ticket = &gate->slab.tickets[order->ticket_index];

    if (ticket->state == PST_TICKET_QUEUED) {
        PST_ASSERT(order->verdict == PST_VERDICT_FAIL);
        pst_gate_unqueue(gate, ticket);
    } else {
        pst_gate_say_close(gate, ticket);
        pst_gate_stop(gate, ticket);
    }
    pst_gate_obey(gate, ticket, order->verdict, order->reason);
}

static bool phase_fleet(struct pst_gate *gate)
{
    struct pst_fleet_order order;

    if (!pst_fleet_poll(gate->fleet, &order))
        return false;
    switch (order.kind) {
    case PST_FLEET_ACTION:
        *pst_gate_say(gate, (enum pst_gate_action_kind)order.action.kind) = order.action;
        break;
    case PST_FLEET_EVICT:
        evict(gate, &order);
        break;
    }
    return true;
}

static bool pool_room(struct pst_gate *gate, struct pst_pool *pool)
{
    struct pst_ticket *ticket;

    pst_room_set(&pool->room, pool->capacity->ready > 0, gate->now);
    if (pst_room_deadline(&pool->room) > gate->now)
        return false;
    ticket = &gate->slab.tickets[pst_room_first(&pool->room)];
    pst_gate_unqueue(gate, ticket);
    pst_gate_finish(gate, ticket, PST_OUTCOME_EXPIRED,
                    pool->room.is_up ? PST_REASON_TTL : PST_REASON_NO_REPLICA);
    return true;
}

static bool phase_limits(struct pst_gate *gate)
{
    struct pst_ticket *ticket;

    if (pst_heap_top_key(&gate->first_byte) > gate->now)
        return false;
    ticket = &gate->slab.tickets[pst_heap_top(&gate->first_byte)];
    pst_gate_close(gate, ticket, ticket->stream);
    pst_gate_finish(gate, ticket, PST_OUTCOME_FAILED, PST_REASON_FIRST_BYTE);
    pst_gate_start_over(gate);
    return true;
}

static bool phase_bodies(struct pst_gate *gate)
{
    struct pst_ticket *ticket = pst_bodies_resume(&gate->bodies);

    if (ticket != NULL) {
        pst_gate_take_off(gate, ticket);
        pst_ticket_change_state(&gate->slab, ticket, PST_TICKET_OFFERED);
        pst_ticket_append(&gate->offered, PST_CHAIN_AGE, ticket);
        pst_gate_say(gate, PST_ACTION_CONTINUE)->u.ticket.id = ticket->id;
        return true;
    }
    ticket = pst_bodies_overdue(&gate->bodies, gate->now);
    if (ticket == NULL)
        return false;
    pst_gate_take_off(gate, ticket);
    pst_gate_finish(gate, ticket, PST_OUTCOME_REFUSED, PST_REASON_BYTES_FULL);
    return true;
}

static void refuse_draining(struct pst_gate *gate, struct pst_ticket *ticket)
{
    pst_gate_take_off(gate, ticket);
    pst_gate_finish(gate, ticket, PST_OUTCOME_REFUSED, PST_REASON_DRAINING);
}

/* The last of the class, if it cannot end before the deadline. Those before it wait less. */
static struct pst_ticket *too_late(const struct pst_gate *gate, const struct pst_pool *pool,
                                   uint8_t class_)
{
    struct pst_ticket *tail = pool->queue[class_].age.tail;
    pst_ns wait;

    if (tail == NULL || (pool->capacity->ready == 0 && pool->capacity->known > 0))
        return NULL; /* none is ready, but may be before the deadline */
    wait = pst_admit_backlog(pool, class_);
    wait = pst_add_sat(wait, pst_service_mean(&pool->service, class_, tail->length));
    return pst_add_sat(gate->now, wait) > gate->drain.until ? tail : NULL;
}

/* Past the grace nothing new comes: bodies still being read and hopeless tickets are told at once. */
static bool pool_drain(struct pst_gate *gate, struct pst_pool *pool)
{
    for (uint8_t c = 0; c < pool->classes_count; c++) {
        struct pst_ticket *ticket = too_late(gate, pool, c);

        if (ticket != NULL) {
            refuse_draining(gate, ticket);
            return true;
        }
    }
    return false;
}

static bool phase_drain(struct pst_gate *gate)
{
    struct pst_ticket *ticket = gate->offered.head;

    if (ticket == NULL)
        ticket = gate->bodies.paused.head;
    if (ticket == NULL)
        return false;
    refuse_draining(gate, ticket);
    return true;
}

static bool pool_promote(struct pst_gate *gate, struct pst_pool *pool)
{
    struct pst_ticket *ticket;

    if (pool->config->policy != PST_POLICY_FIXED)
        return false;
    ticket = pst_fixed_promotable(pool, gate->now);
    if (ticket == NULL)
        return false;
    pst_waitq_remove(&pool->queue[ticket->queue_class], ticket);
    ticket->queue_class--;
    ticket->rank = ++gate->rank;
    pst_waitq_push(&pool->queue[ticket->queue_class], ticket, false);
    return true;
}

static bool pool_dispatch(struct pst_gate *gate, struct pst_pool *pool)
{
    struct pst_pick pick = {0};
    bool found = pool->config->policy == PST_POLICY_FIXED ? pst_fixed_next(pool, gate->now, &pick)
                                                          : pst_order_next(pool, gate->now, &pick);

    if (!found)
        return false;
    pst_gate_start(gate, pool, &pick);
    return true;
}

static bool pool_wake(struct pst_gate *gate, struct pst_pool *pool)
{
    bool none;

    if (pool->queued == 0) {
        pool->woken = false;
        return false;
    }
    none = pool->capacity->ready == 0 && pool->capacity->starting_slots == 0;
    if (!none || pool->woken) {
        pool->woken = none;
        return false;
    }
    pool->woken = true;
    pst_gate_say(gate, PST_ACTION_WAKE)->u.wake.pool = pool->index;
    return true;
}

static bool phase_drained(struct pst_gate *gate)
{
    struct pst_gate_action *action;
    bool complete = gate->slab.alive == 0;

    if (!pst_gate_refuses_all(gate) || gate->drain.said ||
        (!complete && gate->now < gate->drain.until))
        return false;
    gate->drain.said = true;
    action = pst_gate_say(gate, PST_ACTION_DRAINED);
    action->u.drained.replica = PST_REPLICA_ALL;
    action->u.drained.complete = complete;
    action->u.drained.left = gate->slab.alive;
    return true;
}

/* One unit for the pool where the phase is, else for the next one that has work. */
static bool each_pool(struct pst_gate *gate, bool (*unit)(struct pst_gate *, struct pst_pool *))
{
    for (; gate->phase_pool < gate->config.pools_count; gate->phase_pool++) {
        if (unit(gate, &gate->pools[gate->phase_pool]))
            return true;
    }
    return false;
}

static bool work_on(struct pst_gate *gate)
{
    switch ((enum pst_gate_phase)gate->phase) {
    case PST_PHASE_FLEET:
        return phase_fleet(gate);
    case PST_PHASE_ROOMS:
        return each_pool(gate, pool_room);
    case PST_PHASE_LIMITS:
        return phase_limits(gate);
    case PST_PHASE_BODIES:
        return phase_bodies(gate);
    case PST_PHASE_DRAIN:
        return pst_gate_refuses_all(gate) && (phase_drain(gate) || each_pool(gate, pool_drain));
    case PST_PHASE_PROMOTE:
        return each_pool(gate, pool_promote);
    case PST_PHASE_DISPATCH:
        return each_pool(gate, pool_dispatch);
    case PST_PHASE_WAKE:
        return each_pool(gate, pool_wake);
    case PST_PHASE_DRAINED:
        return phase_drained(gate);
    case PST_PHASE_COUNT:
        break;
    }
    return false;
}

/* Phases that a pool may have work for, one bit each. */
static uint32_t phases_of_pool(const struct pst_gate *gate, const struct pst_pool *pool)
{
    uint32_t phases = 0;

    if (pool->room.is_up != (pool->capacity->ready > 0) ||
        pst_room_deadline(&pool->room) <= gate->now)
        phases |= 1u << PST_PHASE_ROOMS;
    if (pool->queued > 0) {
        phases |= 1u << PST_PHASE_WAKE;
        if (pool->config->policy == PST_POLICY_FIXED)
            phases |= 1u << PST_PHASE_PROMOTE;
        if (pool->capacity->free > 0)
            phases |= 1u << PST_PHASE_DISPATCH;
    } else if (pool->woken) {
        phases |= 1u << PST_PHASE_WAKE;
    }
    return phases;
}

/* Phases that may have work: quickly seen, and most steps leave none. */
static uint32_t phases_with_work(const struct pst_gate *gate)
{
    uint32_t phases = 0;

    if (pst_fleet_has_orders(gate->fleet))
        phases |= 1u << PST_PHASE_FLEET;
    if (pst_heap_top_key(&gate->first_byte) <= gate->now)
        phases |= 1u << PST_PHASE_LIMITS;
    if (gate->bodies.paused.head != NULL)
        phases |= 1u << PST_PHASE_BODIES;
    if (gate->drain.active)
        phases |= 1u << PST_PHASE_DRAIN | 1u << PST_PHASE_DRAINED;
    for (uint32_t p = 0; p < gate->config.pools_count; p++)
        phases |= phases_of_pool(gate, &gate->pools[p]);
    return phases;
}

/* From where the poll is, the first of these phases; PST_PHASE_COUNT: none is left. */
static void go_on(struct pst_gate *gate, uint32_t phases)
{
    uint32_t left = phases >> gate->phase << gate->phase;
    uint32_t next = left == 0 ? PST_PHASE_COUNT : (uint32_t)__builtin_ctz(left);

    if (next != gate->phase) {
        gate->phase = next;
        gate->phase_pool = 0;
    }
}

static void do_work(struct pst_gate *gate)
{
    uint32_t phases = phases_with_work(gate);

    go_on(gate, phases);
    while (gate->phase < PST_PHASE_COUNT && !work_on(gate)) {
        phases &= ~(1u << gate->phase);
        go_on(gate, phases);
    }
}

bool pst_gate_poll(struct pst_gate *gate, struct pst_gate_action *ret_action)
{
    while (gate->outbox_count == 0 && gate->phase < PST_PHASE_COUNT)
        do_work(gate);
    if (gate->outbox_count == 0)
        return false;
    *ret_action = gate->outbox[gate->outbox_head];
    gate->outbox_head = (gate->outbox_head + 1) % PST_OUTBOX_MAX;
    gate->outbox_count--;
    return true;
}

static pst_ns drain_deadline(const struct pst_gate *gate)
{
    const struct pst_gate_drain *d = &gate->drain;

    if (!d->active)
        return PST_NEVER;
    if (gate->now < d->grace_until)
        return d->grace_until;
    return d->said ? PST_NEVER : d->until;
}

/* Slots are free and yet somebody waits, or a drain presses: the averages decide, and they move. */
static bool wants_period(const struct pst_gate *gate, const struct pst_pool *pool)
{
    if (pool->queued == 0)
        return false;
    if (gate->drain.active)
        return true;
    if (pool->config->policy == PST_POLICY_FIXED)
        return false;
    return pool->capacity->ready > 0 && pool->capacity->free > 0;
}

pst_ns pst_gate_deadline(const struct pst_gate *gate)
{
    pst_ns at = pst_fleet_deadline(gate->fleet);

    at = pst_min_u64(at, pst_heap_top_key(&gate->first_byte));
    at = pst_min_u64(at, pst_bodies_deadline(&gate->bodies));
    at = pst_min_u64(at, drain_deadline(gate));
    for (uint32_t p = 0; p < gate->config.pools_count; p++) {
        const struct pst_pool *pool = &gate->pools[p];

        at = pst_min_u64(at, pst_room_deadline(&pool->room));
        if (pool->config->policy == PST_POLICY_FIXED)
            at = pst_min_u64(at, pst_fixed_deadline(pool));
        if (wants_period(gate, pool))
            at = pst_min_u64(at, pool->load.period_begin + PST_LOAD_PERIOD);
    }
    return at;
}
