/*
 * fleet_world.h - a fleet, its tickets and a clock, for the tests of fleet.h.
 *
 * Whatever the fleet orders is noted: checks that are out, states, evictions and their verdicts. Every
 * step verifies the fleet's own sums.
 */
#ifndef PST_TEST_FLEET_WORLD_H
#define PST_TEST_FLEET_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/fleet.h"

#define WORLD_TICKETS  256
#define WORLD_REPLICAS 8

struct world {
    struct pst_gate_config config;
    struct pst_fleet *fleet;
    pst_ns now;
    struct pst_fleet_ticket tickets[WORLD_TICKETS];
    bool evicted[WORLD_TICKETS];
    enum pst_verdict verdict[WORLD_TICKETS]; /* of the last end or eviction */
    enum pst_reason reason[WORLD_TICKETS];
    bool out[WORLD_REPLICAS]; /* a check is out */
    pst_ns sent_at[WORLD_REPLICAS];
    enum pst_probe probe[WORLD_REPLICAS];
    uint32_t checks[WORLD_REPLICAS][PST_PROBE_COUNT];
    enum pst_replica_state state[WORLD_REPLICAS];
    uint32_t drained[WORLD_REPLICAS];
    bool drained_complete;
    uint32_t drained_left;
};

static inline void world_poll(struct world *w)
{
    struct pst_fleet_order order;

    while (pst_fleet_poll(w->fleet, &order)) {
        const struct pst_gate_action *action = &order.action;

        if (order.kind == PST_FLEET_EVICT) {
            w->evicted[order.ticket_index] = true;
            w->verdict[order.ticket_index] = order.verdict;
            w->reason[order.ticket_index] = order.reason;
        } else if (action->kind == PST_ACTION_CHECK) {
            /* Never two of one replica, unless the first was lost. */
            if (w->out[action->u.check.replica])
                assert_true(w->now - w->sent_at[action->u.check.replica] >
                            w->config.pools[0].probe_timeout);
            w->out[action->u.check.replica] = true;
            w->sent_at[action->u.check.replica] = w->now;
            w->probe[action->u.check.replica] = action->u.check.probe;
            w->checks[action->u.check.replica][action->u.check.probe]++;
        } else if (action->kind == PST_ACTION_STATE) {
            assert_int_equal(w->state[action->u.state.replica], action->u.state.from);
            w->state[action->u.state.replica] = action->u.state.to;
        } else if (action->kind == PST_ACTION_DRAINED) {
            w->drained[action->u.drained.replica]++;
            w->drained_complete = action->u.drained.complete;
            w->drained_left = action->u.drained.left;
        } else {
            fail_msg("the fleet ordered action %d", action->kind);
        }
    }
    pst_fleet_verify(w->fleet);
}

static inline void world_init(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->now = 1000 * PST_S;
    w->config = (struct pst_gate_config){
        .seed = 7,
        .tickets_max = WORLD_TICKETS,
        .replicas_max = WORLD_REPLICAS,
        .classes_count = 1,
        .pools_count = 1,
    };
    w->config.pools[0] = (struct pst_gate_pool){
        .ready_model = 1,
        .slots = 12,
        .retry_budget_ppm = 100000,
        .tries_max = 3,
        .first_byte = 600 * PST_S,
        .first_byte_stream = 120 * PST_S,
        .stall = 60 * PST_S,
        .probe_interval = 5 * PST_S,
        .probe_timeout = 5 * PST_S,
        .probe_rise = 1,
        .probe_fall = 3,
        .cancel_lag = 40 * PST_MS,
    };
}

static inline void world_start(struct world *w)
{
    assert_int_equal(pst_fleet_new(&w->config, &w->fleet), PST_OK);
}

static inline void world_end(struct world *w)
{
    pst_fleet_free(w->fleet);
}

static inline void world_replica(struct world *w, uint16_t replica, enum pst_replica_state state,
                                 enum pst_cause cause)
{
    struct pst_gate_event event = {.now = w->now, .kind = PST_EVENT_REPLICA};

    event.u.replica.replica = replica;
    event.u.replica.state = (uint8_t)state;
    event.u.replica.cause = (uint8_t)cause;
    pst_fleet_replica(w->fleet, &event);
    if (state == PST_REPLICA_GONE)
        w->out[replica] = false;
    world_poll(w);
}

static inline void world_answer(struct world *w, uint16_t replica, enum pst_probe_result result)
{
    struct pst_gate_event event = {.now = w->now, .kind = PST_EVENT_PROBE};

    assert_true(w->out[replica]);
    w->out[replica] = false;
    event.u.probe.replica = replica;
    event.u.probe.probe = (uint8_t)w->probe[replica];
    event.u.probe.result = (uint8_t)result;
    pst_fleet_probe(w->fleet, &event);
    world_poll(w);
}

/* Lets time pass, stopping at every deadline; the checks stay unanswered. */
static inline void world_pass(struct world *w, pst_ns duration)
{
    pst_ns end = w->now + duration;

    while (pst_fleet_deadline(w->fleet) <= end) {
        if (pst_fleet_deadline(w->fleet) > w->now)
            w->now = pst_fleet_deadline(w->fleet);
        pst_fleet_time(w->fleet, w->now);
        world_poll(w);
    }
    w->now = end;
    pst_fleet_time(w->fleet, w->now);
    world_poll(w);
}

/* The same, with every check of these replicas answered at once: bit i for replica i. */
static inline void world_live(struct world *w, pst_ns duration, uint32_t replicas,
                              enum pst_probe_result health, enum pst_probe_result model)
{
    pst_ns end = w->now + duration;

    for (;;) {
        bool answered = false;

        for (uint16_t i = 0; i < WORLD_REPLICAS; i++) {
            if ((replicas >> i & 1u) == 0 || !w->out[i])
                continue;
            world_answer(w, i, w->probe[i] == PST_PROBE_HEALTH ? health : model);
            answered = true;
        }
        if (answered)
            continue;
        if (pst_fleet_deadline(w->fleet) > end)
            break;
        if (pst_fleet_deadline(w->fleet) > w->now)
            w->now = pst_fleet_deadline(w->fleet);
        pst_fleet_time(w->fleet, w->now);
        world_poll(w);
    }
    w->now = end;
    pst_fleet_time(w->fleet, w->now);
    world_poll(w);
}

/* Replicas 0 .. count - 1 are ready. */
static inline void world_up(struct world *w, uint16_t count)
{
    for (uint16_t i = 0; i < count; i++) {
        world_replica(w, i, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
        world_live(w, 0, 1u << i, PST_PROBE_OK, PST_PROBE_OK);
        assert_int_equal(w->state[i], PST_REPLICA_READY);
    }
}

static inline bool world_admit(struct world *w, uint32_t ticket, uint64_t body_hash)
{
    w->tickets[ticket] = (struct pst_fleet_ticket){.body_hash = body_hash, .sequences = 1};
    w->evicted[ticket] = false;
    return pst_fleet_admit(w->fleet, &w->tickets[ticket], w->now);
}

/* Places the ticket where the fleet says; PST_REPLICA_ALL: nowhere. */
static inline uint16_t world_go(struct world *w, uint32_t ticket)
{
    uint16_t replica;

    if (!pst_fleet_choose(w->fleet, 0, &w->tickets[ticket], w->now, &replica))
        return PST_REPLICA_ALL;
    pst_fleet_take(w->fleet, ticket, &w->tickets[ticket], replica, 100 * PST_MS, w->now);
    world_poll(w);
    return replica;
}

/* A new ticket on that replica, whatever choose would say. */
static inline void world_put(struct world *w, uint32_t ticket, uint16_t replica)
{
    assert_true(world_admit(w, ticket, 1000 + ticket));
    pst_fleet_take(w->fleet, ticket, &w->tickets[ticket], replica, 100 * PST_MS, w->now);
    world_poll(w);
}

static inline void world_first(struct world *w, uint32_t ticket)
{
    pst_fleet_first(w->fleet, &w->tickets[ticket], w->now);
    world_poll(w);
}

static inline void world_progress(struct world *w, uint16_t replica)
{
    struct pst_gate_event event = {.now = w->now, .kind = PST_EVENT_PROGRESS};

    event.u.progress.replica = replica;
    event.u.progress.tokens = 1;
    pst_fleet_progress(w->fleet, &event);
    world_poll(w);
}

/* So many streams of the replica are held back by their clients now. */
static inline void world_hold_back(struct world *w, uint16_t replica, uint16_t streams)
{
    struct pst_gate_event event = {.now = w->now, .kind = PST_EVENT_PROGRESS};

    event.u.progress.replica = replica;
    event.u.progress.held_back = streams;
    pst_fleet_progress(w->fleet, &event);
    world_poll(w);
}

static inline enum pst_verdict world_finish(struct world *w, uint32_t ticket, enum pst_end end)
{
    w->verdict[ticket] =
        pst_fleet_end(w->fleet, ticket, &w->tickets[ticket], end, 0, w->now, &w->reason[ticket]);
    world_poll(w);
    return w->verdict[ticket];
}

static inline struct pst_fleet_capacity world_capacity(const struct world *w)
{
    struct pst_fleet_capacity capacity;

    capacity = *pst_fleet_capacity(w->fleet, 0);
    return capacity;
}

static inline struct pst_gate_replica_view world_view(const struct world *w, uint16_t replica)
{
    struct pst_gate_replica_view view = {0};

    assert_true(pst_fleet_replica_view(w->fleet, replica, &view));
    return view;
}

#endif
