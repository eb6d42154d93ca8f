/*
 * harness.h - a gate under test, with a fake clock and replicas that answer probes.
 *
 * Two uses. `trace` plays a script of events against the actions it must cause, one row per promise.
 * `plant` is a small discrete-event simulation: arrivals by a law, service times by a law, and what
 * each class saw. Invariants are asserted after every step of a trace, and at the end of a plant run.
 */
#ifndef PST_TEST_CORE_HARNESS_H
#define PST_TEST_CORE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/gate.h"
#include "core/heap.h"
#include "core/hist.h"
#include "core/num.h"
#include "core/prng.h"

static inline void harness_assert_hook(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, condition);
}

/* Three classes, one pool, numbers that never get in the way of what a test is about. */
static inline struct pst_gate_config harness_config(enum pst_policy policy)
{
    struct pst_gate_config config = {
        .seed = 1,
        .bytes_max = UINT64_C(1) << 40,
        .body_max = UINT64_C(32) << 20,
        .tickets_max = 4096,
        .flows_max = 64,
        .replicas_max = 16,
        .classes_count = 3,
        .pools_count = 1,
        .classes =
            {
                {100 * PST_MS, 5 * PST_S, 30 * PST_S, 0, PST_ON_FULL_REJECT, {2, 2, 2}},
                {500 * PST_MS, 15 * PST_S, 60 * PST_S, 100000, PST_ON_FULL_REJECT, {2, 2, 2}},
                {10 * PST_S, 60 * PST_S, 600 * PST_S, 50000, PST_ON_FULL_WAIT, {2, 2, 2}},
            },
        .pools =
            {
                {
                    .policy = (uint8_t)policy,
                    .slots = 14,
                    .length_short_tokens = 512,
                    .length_long_tokens = 2048,
                    .long_share_ppm = 500000,
                    .retry_budget_ppm = 100000,
                    .tries_max = 3,
                    .first_byte = 600 * PST_S,
                    .first_byte_stream = 120 * PST_S,
                    .stall = 60 * PST_S,
                    .no_replica_ttl = 300 * PST_S,
                    .cancel_lag = 0,
                    .slow_start = 0,
                    .probe_interval = 5 * PST_S,
                    .probe_timeout = 5 * PST_S,
                    .probe_rise = 1,
                    .probe_fall = 3,
                    .fixed_queue = {50, 100, 200},
                    .fixed_inflight = {8, 4, 2},
                    .fixed_promote_after = 15 * PST_S,
                },
            },
    };

    pst_assert_hook = harness_assert_hook;
    return config;
}

static inline struct pst_gate_event harness_event(enum pst_gate_event_kind kind, pst_ns now)
{
    struct pst_gate_event event;

    memset(&event, 0, sizeof event);
    event.kind = (uint8_t)kind;
    event.now = now;
    return event;
}

/* ------------------------------------------------------------------ actions of one gate, in order */

#define HARNESS_ACTIONS 8192

struct harness {
    struct pst_gate *gate;
    struct pst_gate_config config;
    pst_ns now;
    bool probes_fail; /* replicas answer CHECK with a failure */
    bool probes_hang; /* they do not answer it */
    uint32_t generation;
    uint32_t attempt[4096];
    uint32_t generations[4096];
    uint16_t replica[4096];
    uint8_t probe_wanted[PST_REPLICAS_MAX];
    struct pst_gate_action actions[HARNESS_ACTIONS];
    uint32_t first, count;
    uint64_t finished[PST_OUTCOME_COUNT];
    uint64_t digest; /* of every action so far */
};

static inline void harness_digest(struct harness *h, const struct pst_gate_action *action)
{
    const uint8_t *bytes = (const uint8_t *)action;

    for (size_t i = 0; i < sizeof *action; i++)
        h->digest = (h->digest ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static inline void harness_poll(struct harness *h)
{
    struct pst_gate_action action;

    while (pst_gate_poll(h->gate, &action)) {
        harness_digest(h, &action);
        if (action.kind == PST_ACTION_CHECK) {
            h->probe_wanted[action.u.check.replica] = (uint8_t)(action.u.check.probe + 1);
            continue;
        }
        if (action.kind == PST_ACTION_STATE)
            continue;
        if (action.kind == PST_ACTION_DISPATCH) {
            h->attempt[action.u.dispatch.id.index] = action.u.dispatch.attempt;
            h->replica[action.u.dispatch.id.index] = action.u.dispatch.replica;
        }
        if (action.kind == PST_ACTION_FINISH)
            h->finished[action.u.finish.outcome]++;
        assert_true(h->count < HARNESS_ACTIONS);
        h->actions[(h->first + h->count++) % HARNESS_ACTIONS] = action;
    }
}

/* One step with all that follows at the same instant: probes are answered at once. */
static inline void harness_step(struct harness *h, const struct pst_gate_event *event)
{
    pst_gate_step(h->gate, event);
    harness_poll(h);
    for (uint16_t r = 0; r < h->config.replicas_max; r++) {
        while (h->probe_wanted[r] != 0 && !h->probes_hang) {
            struct pst_gate_event answer = harness_event(PST_EVENT_PROBE, event->now);

            answer.u.probe.replica = r;
            answer.u.probe.probe = (uint8_t)(h->probe_wanted[r] - 1);
            answer.u.probe.result = h->probes_fail ? PST_PROBE_LOADING : PST_PROBE_OK;
            h->probe_wanted[r] = 0;
            pst_gate_step(h->gate, &answer);
            harness_poll(h);
        }
    }
}

static inline void harness_time(struct harness *h, pst_ns until)
{
    for (;;) {
        pst_ns at = pst_max_u64(pst_gate_deadline(h->gate), h->now);
        struct pst_gate_event event;

        if (at > until)
            break;
        h->now = at;
        event = harness_event(PST_EVENT_TIME, at);
        harness_step(h, &event);
        if (pst_gate_deadline(h->gate) <= at) /* it must have moved, or time stands still */
            fail_msg("deadline %llu did not move", (unsigned long long)at);
    }
    h->now = until;
}

static inline void harness_replica(struct harness *h, uint16_t replica, uint16_t pool,
                                   enum pst_replica_state state, enum pst_cause cause)
{
    struct pst_gate_event event = harness_event(PST_EVENT_REPLICA, h->now);

    event.u.replica.replica = replica;
    event.u.replica.pool = pool;
    event.u.replica.state = (uint8_t)state;
    event.u.replica.cause = (uint8_t)cause;
    harness_step(h, &event);
}

static inline void harness_init(struct harness *h, const struct pst_gate_config *config)
{
    memset(h, 0, sizeof *h);
    h->config = *config;
    h->now = 0;
    h->digest = UINT64_C(0xcbf29ce484222325);
    assert_int_equal(pst_gate_new(config, &h->gate), PST_OK);
}

static inline void harness_done(struct harness *h)
{
    pst_gate_verify(h->gate);
    pst_gate_free(h->gate);
}

static inline struct pst_ticket_id harness_id(const struct harness *h, uint32_t index)
{
    return (struct pst_ticket_id){index, h->generations[index]};
}

/* The head, of a body of so many bytes; what follows is left in the actions. */
static inline void harness_offer(struct harness *h, uint32_t index, uint16_t pool, uint8_t class_,
                                 uint64_t body_bytes)
{
    struct pst_gate_event event = harness_event(PST_EVENT_OFFER, h->now);

    h->generations[index] = ++h->generation;
    event.u.offer.id = harness_id(h, index);
    event.u.offer.pool = pool;
    event.u.offer.class_ = class_;
    event.u.offer.body_bytes = body_bytes;
    harness_step(h, &event);
}

static inline struct pst_gate_event harness_arrival(const struct harness *h, uint32_t index,
                                                    uint8_t class_)
{
    struct pst_gate_event event = harness_event(PST_EVENT_ARRIVE, h->now);

    event.u.arrive.id = harness_id(h, index);
    event.u.arrive.class_ = class_;
    event.u.arrive.type = class_;
    event.u.arrive.prompt_bytes = 400;
    event.u.arrive.max_tokens = 100;
    event.u.arrive.sequences = 1;
    event.u.arrive.weight = 100;
    return event;
}

static inline void harness_end(struct harness *h, uint32_t index, enum pst_end kind)
{
    struct pst_gate_event event = harness_event(PST_EVENT_END, h->now);

    event.u.end.id = harness_id(h, index);
    event.u.end.attempt = h->attempt[index];
    event.u.end.kind = (uint8_t)kind;
    event.u.end.tokens_in = 100;
    event.u.end.tokens_out = 80;
    harness_step(h, &event);
}

static inline void harness_cancel(struct harness *h, uint32_t index)
{
    struct pst_gate_event event = harness_event(PST_EVENT_CANCEL, h->now);

    event.u.cancel.id = harness_id(h, index);
    harness_step(h, &event);
}

static inline bool harness_next(struct harness *h, struct pst_gate_action *ret_action)
{
    if (h->count == 0)
        return false;
    *ret_action = h->actions[h->first];
    h->first = (h->first + 1) % HARNESS_ACTIONS;
    h->count--;
    return true;
}

/* The newest action is this one, and of no further interest. */
static inline void harness_drop_last(struct harness *h, enum pst_gate_action_kind kind)
{
    assert_true(h->count > 0);
    h->count--;
    assert_int_equal(h->actions[(h->first + h->count) % HARNESS_ACTIONS].kind, kind);
}

#endif
