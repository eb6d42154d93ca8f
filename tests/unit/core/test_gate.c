/* test_gate.c - the walk of a ticket outside the queue: bodies, bounds, limits, drain, late events. */
#include "harness.h"

static struct harness h;

static struct pst_gate_action next(enum pst_gate_action_kind kind)
{
    struct pst_gate_action action = {0};

    assert_true(harness_next(&h, &action));
    assert_int_equal(action.kind, kind);
    return action;
}

static void nothing(void)
{
    assert_int_equal(h.count, 0);
}

static void finished(uint32_t index, enum pst_outcome outcome, enum pst_reason reason)
{
    struct pst_gate_action action = next(PST_ACTION_FINISH);

    assert_int_equal(action.u.finish.id.index, index);
    assert_int_equal(action.u.finish.outcome, outcome);
    assert_int_equal(action.u.finish.reason, reason);
    if (outcome == PST_OUTCOME_REFUSED || outcome == PST_OUTCOME_EXPIRED) {
        assert_true(action.u.finish.retry_after_ms >= 1000);
        assert_true(action.u.finish.retry_after_ms <= 59000);
    } else {
        assert_int_equal(action.u.finish.retry_after_ms, 0);
    }
    pst_gate_verify(h.gate);
}

static void start(const struct pst_gate_config *config)
{
    harness_init(&h, config);
    harness_replica(&h, 0, 0, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    nothing();
}

static void held(uint32_t index, uint64_t bytes)
{
    struct pst_gate_event event = harness_event(PST_EVENT_HELD, h.now);

    event.u.held.id = harness_id(&h, index);
    event.u.held.bytes = bytes;
    harness_step(&h, &event);
}

static void arrive(uint32_t index, uint8_t class_)
{
    struct pst_gate_event event = harness_arrival(&h, index, class_);

    harness_step(&h, &event);
}

static void enter(uint32_t index, uint8_t class_)
{
    harness_offer(&h, index, PST_POOL_NONE, class_, 100);
    harness_drop_last(&h, PST_ACTION_CONTINUE);
    arrive(index, class_);
}

static struct pst_gate_counters counters(void)
{
    struct pst_gate_counters c;

    pst_gate_counters(h.gate, &c);
    return c;
}

static void bodies_are_reserved_before_they_are_read(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

    (void)state;
    config.bytes_max = 1000;
    start(&config);
    harness_offer(&h, 1, PST_POOL_NONE, 0, 600);
    next(PST_ACTION_CONTINUE);
    harness_offer(&h, 2, PST_POOL_NONE, 0, 400);
    next(PST_ACTION_CONTINUE);
    assert_int_equal(counters().bytes_held, 1000);
    harness_offer(&h, 3, PST_POOL_NONE, 0, 1);
    finished(3, PST_OUTCOME_REFUSED, PST_REASON_BYTES_FULL);
    harness_cancel(&h, 2);
    finished(2, PST_OUTCOME_CANCELLED, PST_REASON_CLIENT);
    harness_offer(&h, 3, PST_POOL_NONE, 0, 400);
    next(PST_ACTION_CONTINUE);
    harness_cancel(&h, 1);
    harness_cancel(&h, 3);
    assert_int_equal(counters().bytes_held, 0);
    harness_done(&h);
}

#define MIB (UINT64_C(1) << 20)

/* A chunked body reserves 1 MiB, then its limit; past the bound it pauses, the oldest goes on first. */
static void chunked_bodies_pause_and_go_on(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

    (void)state;
    config.bytes_max = 36 * MIB;
    config.body_max = 32 * MIB;
    start(&config);
    for (uint32_t t = 1; t <= 3; t++) {
        harness_offer(&h, t, PST_POOL_NONE, 0, UINT64_MAX);
        next(PST_ACTION_CONTINUE);
    }
    assert_int_equal(counters().bytes_held, 3 * MIB);
    held(1, MIB);
    nothing();
    held(1, MIB + 1);
    nothing();
    assert_int_equal(counters().bytes_held, 34 * MIB);
    held(2, MIB + 1);
    assert_int_equal(next(PST_ACTION_PAUSE).u.ticket.id.index, 2);
    harness_time(&h, h.now + PST_S);
    held(3, MIB + 1);
    assert_int_equal(next(PST_ACTION_PAUSE).u.ticket.id.index, 3);
    held(1, 2 * MIB);
    arrive(1, 0); /* it needed 2 MiB only, and gives the rest back: the oldest goes on */
    assert_int_equal(next(PST_ACTION_CONTINUE).u.ticket.id.index, 2);
    assert_int_equal(next(PST_ACTION_DISPATCH).u.dispatch.id.index, 1);
    nothing();
    harness_time(&h, h.now + 10 * PST_S - PST_MS);
    nothing();
    harness_time(&h, h.now + PST_MS);
    finished(3, PST_OUTCOME_REFUSED, PST_REASON_BYTES_FULL);
    harness_cancel(&h, 2);
    finished(2, PST_OUTCOME_CANCELLED, PST_REASON_CLIENT);
    harness_end(&h, 1, PST_END_DONE);
    finished(1, PST_OUTCOME_DONE, PST_REASON_NONE);
    assert_int_equal(counters().bytes_held, 0);
    harness_done(&h);
}

/* The rest of a paused body was under way already: it ends, and what it is counts. */
static void a_paused_body_may_be_whole(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

    (void)state;
    config.bytes_max = 32 * MIB;
    config.body_max = 32 * MIB;
    start(&config);
    harness_offer(&h, 1, PST_POOL_NONE, 0, UINT64_MAX);
    next(PST_ACTION_CONTINUE);
    harness_offer(&h, 2, PST_POOL_NONE, 0, UINT64_MAX);
    next(PST_ACTION_CONTINUE);
    held(1, MIB + 5000);
    assert_int_equal(next(PST_ACTION_PAUSE).u.ticket.id.index, 1);
    held(1, MIB + 9000);
    nothing();
    arrive(1, 0);
    assert_int_equal(next(PST_ACTION_DISPATCH).u.dispatch.id.index, 1);
    assert_int_equal(counters().bytes_held, 2 * MIB + 9000);
    pst_gate_verify(h.gate);
    harness_end(&h, 1, PST_END_DONE);
    finished(1, PST_OUTCOME_DONE, PST_REASON_NONE);
    harness_cancel(&h, 2);
    finished(2, PST_OUTCOME_CANCELLED, PST_REASON_CLIENT);
    assert_int_equal(counters().bytes_held, 0);
    harness_done(&h);
}

static void a_full_slab_says_so(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

    (void)state;
    config.tickets_max = 2;
    start(&config);
    enter(0, 0);
    enter(1, 0);
    next(PST_ACTION_DISPATCH);
    next(PST_ACTION_DISPATCH);
    harness_offer(&h, 2, PST_POOL_NONE, 0, 10);
    finished(2, PST_OUTCOME_REFUSED, PST_REASON_SLAB_FULL);
    harness_done(&h);
}

static void the_token_bound_holds_what_waits(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

    (void)state;
    config.pools[0].slots = 1;
    config.pools[0].kv_tokens_max = 450; /* each: about 101 of prompt, 100 of answer */
    start(&config);
    enter(1, 1);
    next(PST_ACTION_DISPATCH);
    enter(2, 1);
    enter(3, 1);
    nothing();
    enter(4, 1);
    finished(4, PST_OUTCOME_REFUSED, PST_REASON_KV_FULL);
    harness_done(&h);
}

/* A class may always queue one replica's slots; beyond, its predicted wait must be within max_wait. */
static void the_work_bound_is_time_not_count(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    struct pst_gate_class_view view;
    uint32_t queued = 0;

    (void)state;
    config.pools[0].slots = 4;
    config.classes[1].max_wait = 10 * PST_S;
    start(&config);
    for (uint32_t t = 0; t < 40; t++) { /* the pool learns: a second each */
        enter(t, 1);
        harness_time(&h, h.now + PST_S);
        harness_end(&h, t, PST_END_DONE);
    }
    h.count = 0;
    for (uint32_t t = 100; t < 104; t++)
        enter(t, 1);
    h.count = 0;
    for (uint32_t t = 200; t < 300 && h.count == 0; t++, queued++)
        enter(t, 1);
    queued--;
    /* 10 s x 4 slots / 1 s each: 40, give or take the one that asks */
    assert_in_range(queued, 38, 41);
    finished(200 + queued, PST_OUTCOME_REFUSED, PST_REASON_QUEUE_FULL);
    pst_gate_class_view(h.gate, 0, 1, h.now, &view);
    assert_int_equal(view.queued[PST_LENGTH_SHORT], queued);
    assert_in_range(view.backlog / PST_MS, 9400, 10300);
    /* its head alone is enough to refuse it, and only when it names the pool */
    harness_offer(&h, 400, 0, 1, 10);
    finished(400, PST_OUTCOME_REFUSED, PST_REASON_QUEUE_FULL);
    harness_offer(&h, 400, PST_POOL_NONE, 1, 10);
    next(PST_ACTION_CONTINUE);
    harness_cancel(&h, 400);
    finished(400, PST_OUTCOME_CANCELLED, PST_REASON_CLIENT);
    /* the class above has room, and so has a class that waits */
    enter(401, 0);
    nothing();
    enter(402, 2);
    nothing();
    harness_done(&h);
}

static void no_first_byte_in_time_is_closed(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    struct pst_gate_event event;

    (void)state;
    start(&config);
    enter(1, 0);
    next(PST_ACTION_DISPATCH);
    harness_offer(&h, 2, PST_POOL_NONE, 0, 100);
    next(PST_ACTION_CONTINUE);
    event = harness_arrival(&h, 2, 0);
    event.flags = PST_ARRIVE_STREAM;
    harness_step(&h, &event);
    next(PST_ACTION_DISPATCH);
    harness_time(&h, h.now + 120 * PST_S - PST_MS);
    nothing();
    harness_time(&h, h.now + PST_MS);
    assert_int_equal(next(PST_ACTION_CLOSE).u.close.id.index, 2);
    finished(2, PST_OUTCOME_FAILED, PST_REASON_FIRST_BYTE);
    harness_time(&h, h.now + 480 * PST_S - PST_MS);
    nothing();
    harness_time(&h, h.now + PST_MS);
    assert_int_equal(next(PST_ACTION_CLOSE).u.close.id.index, 1);
    finished(1, PST_OUTCOME_FAILED, PST_REASON_FIRST_BYTE);
    harness_done(&h);
}

/* Streams that all reach their limit without a byte make it suspect; other silence never does. */
static void only_streams_are_expected_to_speak(void **state)
{
    static const struct {
        uint8_t flags;
        pst_ns limit;
        enum pst_replica_state state;
    } rows[] = {
        {PST_ARRIVE_STREAM, 120 * PST_S, PST_REPLICA_SUSPECT},
        {0, 600 * PST_S, PST_REPLICA_READY},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
        struct pst_gate_replica_view view;

        start(&config);
        for (uint32_t t = 1; t <= 4; t++) {
            struct pst_gate_event event;

            harness_offer(&h, t, PST_POOL_NONE, 0, 100);
            event = harness_arrival(&h, t, 0);
            event.flags = rows[i].flags;
            harness_step(&h, &event);
        }
        harness_time(&h, h.now + rows[i].limit - PST_MS);
        h.probes_hang = true; /* or its answer would end the suspicion at once */
        harness_time(&h, h.now + PST_MS);
        assert_int_equal(h.finished[PST_OUTCOME_FAILED], 4);
        assert_true(pst_gate_replica_view(h.gate, 0, &view));
        assert_int_equal(view.state, rows[i].state);
        harness_done(&h);
    }
}

static void late_events_are_counted_and_ignored(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    struct pst_ticket_id old;
    struct pst_gate_event event;

    (void)state;
    start(&config);
    enter(1, 0);
    next(PST_ACTION_DISPATCH);
    old = harness_id(&h, 1);
    h.attempt[1]++;
    harness_end(&h, 1, PST_END_DONE); /* of an attempt that is not running */
    nothing();
    assert_int_equal(counters().stale_events, 1);
    h.attempt[1]--;
    harness_end(&h, 1, PST_END_DONE);
    finished(1, PST_OUTCOME_DONE, PST_REASON_NONE);
    harness_end(&h, 1, PST_END_DONE);
    harness_cancel(&h, 1);
    held(1, 5);
    arrive(1, 0);
    nothing();
    assert_int_equal(counters().stale_events, 5);
    enter(1, 0); /* the index again, another generation */
    next(PST_ACTION_DISPATCH);
    event = harness_event(PST_EVENT_END, h.now);
    event.u.end.id = old;
    event.u.end.attempt = 1;
    harness_step(&h, &event);
    nothing();
    assert_int_equal(counters().stale_events, 6);
    assert_int_equal(counters().tickets, 1);
    harness_done(&h);
}

static void drain_gate(pst_ns grace_until, pst_ns until)
{
    struct pst_gate_event event = harness_event(PST_EVENT_DRAIN, h.now);

    event.u.drain.replica = PST_REPLICA_ALL;
    event.u.drain.grace_until = grace_until;
    event.u.drain.until = until;
    harness_step(&h, &event);
}

static void a_drain_admits_for_its_grace_and_ends(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    struct pst_gate_action action;
    pst_ns begin;

    (void)state;
    start(&config);
    begin = h.now;
    drain_gate(begin + 10 * PST_S, begin + 170 * PST_S);
    nothing(); /* idle, but within the grace more may come */
    harness_time(&h, begin + 10 * PST_S - PST_MS);
    enter(1, 0);
    next(PST_ACTION_DISPATCH);
    harness_offer(&h, 2, PST_POOL_NONE, 0, 100);
    next(PST_ACTION_CONTINUE);
    harness_time(&h, begin + 10 * PST_S);
    finished(2, PST_OUTCOME_REFUSED, PST_REASON_DRAINING); /* its body was not there in time */
    harness_offer(&h, 3, PST_POOL_NONE, 0, 100);
    finished(3, PST_OUTCOME_REFUSED, PST_REASON_DRAINING);
    drain_gate(h.now + 20 * PST_S, h.now + 500 * PST_S); /* no new grace, no later deadline */
    harness_offer(&h, 3, PST_POOL_NONE, 0, 100);
    finished(3, PST_OUTCOME_REFUSED, PST_REASON_DRAINING);
    harness_time(&h, begin + 60 * PST_S);
    nothing();
    harness_end(&h, 1, PST_END_DONE);
    finished(1, PST_OUTCOME_DONE, PST_REASON_NONE);
    action = next(PST_ACTION_DRAINED);
    assert_int_equal(action.u.drained.replica, PST_REPLICA_ALL);
    assert_int_equal(action.u.drained.complete, 1);
    harness_time(&h, begin + 300 * PST_S);
    nothing();
    harness_done(&h);
}

static void a_drain_ends_at_its_deadline_with_the_count(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    struct pst_gate_action action;
    struct pst_gate_event event;
    pst_ns begin;

    (void)state;
    config.pools[0].slots = 1;
    start(&config);
    begin = h.now;
    for (uint32_t t = 1; t <= 3; t++)
        enter(t, 2); /* one runs, two wait: by what is known, a second each */
    next(PST_ACTION_DISPATCH);
    drain_gate(begin + PST_S, begin + 3 * PST_S + PST_S / 2);
    nothing();
    harness_time(&h, begin + PST_S);
    finished(3, PST_OUTCOME_REFUSED,
             PST_REASON_DRAINING); /* ends in 3 s: too late; 2 may be in time */
    nothing();
    harness_time(&h, begin + 3 * PST_S);
    finished(2, PST_OUTCOME_REFUSED, PST_REASON_DRAINING);
    harness_time(&h, begin + 4 * PST_S);
    action = next(PST_ACTION_DRAINED);
    assert_int_equal(action.u.drained.complete, 0);
    assert_int_equal(action.u.drained.left, 1);
    harness_end(&h, 1, PST_END_DONE);
    finished(1, PST_OUTCOME_DONE, PST_REASON_NONE);
    nothing();
    event = harness_event(PST_EVENT_UNDRAIN, h.now);
    event.u.undrain.replica = PST_REPLICA_ALL;
    harness_step(&h, &event);
    enter(4, 0);
    next(PST_ACTION_DISPATCH);
    harness_done(&h);
}

/* The only replica is watched for a second after a reset, or away: that refuses nobody who can wait. */
static void a_moment_without_slots_refuses_nobody(void **state)
{
    static const struct {
        const char *what;
        enum pst_end end;
        bool drain;
    } rows[] = {
        {"watched after a reset", PST_END_RESET, false},
        {"watched, while the gate drains", PST_END_RESET, true},
        {"away, while the gate drains", PST_END_REFUSED, true},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

        print_message("%s\n", rows[i].what);
        config.pools[0].slots = 2;
        start(&config);
        for (uint32_t t = 1; t <= 6; t++)
            enter(t, 1);
        next(PST_ACTION_DISPATCH);
        next(PST_ACTION_DISPATCH);
        h.probes_hang = true;
        harness_end(&h, 1, rows[i].end);
        nothing();
        if (rows[i].drain)
            drain_gate(h.now, h.now + 60 * PST_S);
        else
            enter(7, 1);
        nothing();
        harness_time(&h, h.now + PST_S / 2);
        nothing(); /* the replica gets no work: it is as the row says */
        pst_gate_verify(h.gate);
        harness_done(&h);
    }
}

static void failures_follow_the_fleets_verdict(void **state)
{
    static const struct {
        enum pst_end end;
        bool first;
        bool again;
        enum pst_outcome outcome;
        enum pst_reason reason;
    } rows[] = {
        {PST_END_DONE, false, false, PST_OUTCOME_DONE, PST_REASON_NONE},
        {PST_END_DONE, true, false, PST_OUTCOME_DONE, PST_REASON_NONE},
        {PST_END_ERROR_STATUS, false, true, PST_OUTCOME_FAILED, PST_REASON_PASSED_ON},
        {PST_END_CUT, true, false, PST_OUTCOME_FAILED, PST_REASON_BROKEN},
        {PST_END_ERROR_EVENT, true, false, PST_OUTCOME_FAILED, PST_REASON_BROKEN},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
        struct pst_gate_event event;
        uint16_t was;

        start(&config);
        harness_replica(&h, 1, 0, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
        enter(1, 0);
        next(PST_ACTION_DISPATCH);
        if (rows[i].first) {
            event = harness_event(PST_EVENT_FIRST, h.now);
            event.u.first.id = harness_id(&h, 1);
            event.u.first.attempt = 1;
            harness_step(&h, &event);
        }
        was = h.replica[1];
        harness_end(&h, 1, rows[i].end);
        if (rows[i].again) {
            assert_int_equal(next(PST_ACTION_DISPATCH).u.dispatch.attempt, 2);
            assert_int_not_equal(h.replica[1], was);
            harness_end(&h, 1, rows[i].end);
        }
        finished(1, rows[i].outcome, rows[i].reason);
        nothing();
        harness_done(&h);
    }
}

/* B070: while every replica says "full", tickets wait, and the replicas are not stormed. */
static void full_everywhere_is_not_amplified(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    struct pst_gate_replica_view view;
    struct pst_gate_action action;
    uint32_t dispatched = 0, expired = 0;

    (void)state;
    config.classes[2].ttl = 20 * PST_S;
    start(&config);
    harness_replica(&h, 1, 0, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    for (uint32_t t = 0; t < 100; t++)
        enter(t, 2);
    for (uint32_t tick = 0; tick < 2500; tick++) {
        while (harness_next(&h, &action)) {
            if (action.kind == PST_ACTION_DISPATCH) {
                dispatched++;
                harness_end(&h, action.u.dispatch.id.index, PST_END_FULL);
            } else {
                assert_int_equal(action.kind, PST_ACTION_FINISH);
                assert_int_equal(action.u.finish.reason, PST_REASON_TTL);
                expired++;
            }
        }
        harness_time(&h, h.now + 10 * PST_MS);
    }
    assert_int_equal(expired, 100);
    assert_true(dispatched <= 120);
    for (uint16_t r = 0; r < 2; r++) { /* full is no illness */
        assert_true(pst_gate_replica_view(h.gate, r, &view));
        assert_int_equal(view.state, PST_REPLICA_READY);
    }
    harness_done(&h);
}

static void wrong_numbers_are_refused(void **state)
{
    struct pst_gate_config good = harness_config(PST_POLICY_ADAPTIVE), bad;
    struct pst_gate *gate = NULL;

    (void)state;
#define REFUSED(change)                                                                            \
    do {                                                                                           \
        bad = good;                                                                                \
        change;                                                                                    \
        assert_int_equal(pst_gate_new(&bad, &gate), PST_E_INVALID);                                \
        assert_null(gate);                                                                         \
    } while (0)
    REFUSED(bad.tickets_max = 0);
    REFUSED(bad.flows_max = 0);
    REFUSED(bad.classes_count = 0);
    REFUSED(bad.classes_count = PST_CLASSES_MAX + 1);
    REFUSED(bad.pools_count = 0);
    REFUSED(bad.replicas_max = PST_REPLICAS_MAX + 1);
    REFUSED(bad.pools[0].slots = 0);
    REFUSED(bad.pools[0].policy = PST_POLICY_COUNT);
    REFUSED(bad.pools[0].long_share_ppm = PST_PPM + 1);
    REFUSED(bad.classes[1].guard_ppm = PST_PPM + 1);
    REFUSED(bad.classes[1].on_full = PST_ON_FULL_INHERIT);
#undef REFUSED
}

static void new_numbers_keep_what_waits(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_FIXED), changed;

    (void)state;
    start(&config);
    for (uint32_t t = 1; t <= 12; t++)
        enter(t, 0);
    for (uint32_t t = 1; t <= 8; t++)
        next(PST_ACTION_DISPATCH);
    nothing();
    changed = config;
    changed.tickets_max++;
    assert_int_equal(pst_gate_reconfigure(h.gate, &changed), PST_E_INVALID);
    changed = config;
    changed.pools_count = 2;
    changed.pools[1] = changed.pools[0];
    changed.pools[0].policy = PST_POLICY_ADAPTIVE;
    assert_int_equal(pst_gate_reconfigure(h.gate, &changed), PST_OK);
    harness_poll(&h);
    for (uint32_t t = 9; t <= 12; t++)
        assert_int_equal(next(PST_ACTION_DISPATCH).u.dispatch.id.index, t);
    harness_end(&h, 1, PST_END_DONE); /* it started under the other policy */
    finished(1, PST_OUTCOME_DONE, PST_REASON_NONE);
    h.config = changed;
    harness_replica(&h, 1, 1, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    pst_gate_verify(h.gate);
    harness_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_reserved_before_they_are_read),
        cmocka_unit_test(chunked_bodies_pause_and_go_on),
        cmocka_unit_test(a_paused_body_may_be_whole),
        cmocka_unit_test(a_full_slab_says_so),
        cmocka_unit_test(the_token_bound_holds_what_waits),
        cmocka_unit_test(the_work_bound_is_time_not_count),
        cmocka_unit_test(no_first_byte_in_time_is_closed),
        cmocka_unit_test(only_streams_are_expected_to_speak),
        cmocka_unit_test(late_events_are_counted_and_ignored),
        cmocka_unit_test(a_drain_admits_for_its_grace_and_ends),
        cmocka_unit_test(a_drain_ends_at_its_deadline_with_the_count),
        cmocka_unit_test(a_moment_without_slots_refuses_nobody),
        cmocka_unit_test(failures_follow_the_fleets_verdict),
        cmocka_unit_test(full_everywhere_is_not_amplified),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(new_numbers_keep_what_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
