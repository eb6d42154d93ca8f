/*
 * test_random.c - random events, every invariant after each of them, and a digest of all actions, which
 * tools/check-digest compares between builds: a recording must step the same in each.
 */
#include "harness.h"

#define TICKETS 64
#define STEPS   20000

enum phase { PHASE_NONE, PHASE_READING, PHASE_QUEUED, PHASE_RUNNING };

static struct harness h;
static struct pst_prng prng;
static struct {
    enum phase phase;
    bool first;
} tickets[TICKETS];
static uint64_t offered;
static uint64_t engine_tokens[6];

static uint32_t below(uint32_t bound)
{
    return (uint32_t)pst_prng_below(&prng, bound);
}

/* What the actions say of each ticket, and that they may say it. */
static void follow(void)
{
    struct pst_gate_action action;

    while (harness_next(&h, &action)) {
        uint32_t t = action.u.ticket.id.index;

        switch ((enum pst_gate_action_kind)action.kind) {
        case PST_ACTION_CONTINUE:
        case PST_ACTION_PAUSE:
            assert_int_equal(tickets[t].phase, PHASE_READING);
            break;
        case PST_ACTION_DISPATCH:
            assert_int_equal(tickets[t].phase, PHASE_QUEUED);
            assert_false(tickets[t].first); /* nothing runs twice after its first byte */
            tickets[t].phase = PHASE_RUNNING;
            break;
        case PST_ACTION_CLOSE:
            assert_int_equal(tickets[t].phase, PHASE_RUNNING);
            tickets[t].phase = PHASE_QUEUED; /* unless FINISH follows */
            break;
        case PST_ACTION_FINISH:
            assert_int_not_equal(tickets[t].phase, PHASE_NONE);
            tickets[t].phase = PHASE_NONE;
            break;
        case PST_ACTION_CHECK:
        case PST_ACTION_DRAINED:
        case PST_ACTION_WAKE:
        case PST_ACTION_STATE:
        case PST_ACTION_COUNT:
            break;
        }
    }
}

static void arrival(uint32_t t)
{
    struct pst_gate_event event = harness_arrival(&h, t, (uint8_t)below(3));

    event.flags = below(2) ? PST_ARRIVE_STREAM : 0;
    event.u.arrive.pool = (uint16_t)below(2);
    event.u.arrive.flow = below(40);
    event.u.arrive.weight = (uint16_t)(50 + below(200));
    event.u.arrive.prompt_bytes = below(4) == 0 ? 40000 : below(6000);
    event.u.arrive.sequences = (uint16_t)(below(5) == 0 ? 1 + below(6) : 1);
    event.u.arrive.body_hash = below(20);
    event.u.arrive.affinity = below(3) == 0 ? below(8) : 0;
    event.u.arrive.ttl_ms = below(4) == 0 ? 1 + below(3000) : 0;
    tickets[t].phase = PHASE_QUEUED;
    harness_step(&h, &event);
}

static void ticket_event(uint32_t t)
{
    struct pst_gate_event event;
    uint64_t bytes;
    uint16_t pool;
    uint8_t class_;

    switch (tickets[t].phase) {
    case PHASE_NONE:
        tickets[t].phase = PHASE_READING;
        tickets[t].first = false;
        offered++;
        pool =
            below(2) ? PST_POOL_NONE : (uint16_t)below(2); /* one draw a line: compilers differ */
        class_ = (uint8_t)below(3);
        bytes = below(3) == 0 ? UINT64_MAX : below(3000000);
        harness_offer(&h, t, pool, class_, bytes);
        break;
    case PHASE_READING:
        if (below(3) == 0) {
            event = harness_event(PST_EVENT_HELD, h.now);
            event.u.held.id = harness_id(&h, t);
            event.u.held.bytes = below(3000000);
            harness_step(&h, &event);
        } else {
            arrival(t);
        }
        break;
    case PHASE_QUEUED:
        if (below(8) == 0)
            harness_cancel(&h, t);
        break;
    case PHASE_RUNNING:
        if (below(10) == 0) {
            harness_cancel(&h, t);
        } else if (below(3) == 0) {
            event = harness_event(PST_EVENT_FIRST, h.now);
            event.u.first.id = harness_id(&h, t);
            event.u.first.attempt = h.attempt[t];
            tickets[t].first = true;
            harness_step(&h, &event);
        } else {
            tickets[t].phase = PHASE_QUEUED; /* a retry, unless FINISH follows */
            harness_end(&h, t, below(3) ? PST_END_DONE : (enum pst_end)below(PST_END_COUNT));
        }
        break;
    }
}

/* The whole gate drains for a while, or its numbers change under way. */
static void gate_event(void)
{
    struct pst_gate_event event = harness_event(PST_EVENT_UNDRAIN, h.now);
    struct pst_gate_config changed = h.config;

    if (below(2)) {
        event.u.undrain.replica = PST_REPLICA_ALL;
        if (below(8) == 0) {
            event.kind = PST_EVENT_DRAIN;
            event.u.drain.replica = PST_REPLICA_ALL;
            event.u.drain.grace_until = h.now + below(500) * PST_MS;
            event.u.drain.until = h.now + below(4000) * PST_MS;
        }
        harness_step(&h, &event);
        return;
    }
    changed.pools[below(2)].policy = (uint8_t)below(PST_POLICY_COUNT);
    changed.classes[below(3)].max_wait = below(3000) * PST_MS;
    changed.pools[below(2)].slots = 1 + below(6);
    assert_int_equal(pst_gate_reconfigure(h.gate, &changed), PST_OK);
    h.config = changed;
    harness_poll(&h);
}

static void fleet_event(void)
{
    struct pst_gate_event event;
    uint16_t r = (uint16_t)below(6);

    switch (below(20)) {
    case 1:
        harness_replica(&h, r, r % 2, PST_REPLICA_GONE, (enum pst_cause)below(PST_CAUSE_COUNT));
        break;
    case 2:
        event = harness_event(PST_EVENT_SLOTS, h.now);
        event.u.slots.replica = r;
        event.u.slots.source = (uint8_t)(1 + below(2));
        event.u.slots.slots = below(8);
        event.u.slots.until = h.now + below(5000) * PST_MS;
        harness_step(&h, &event);
        break;
    case 3:
        event = harness_event(PST_EVENT_PROGRESS, h.now);
        event.u.progress.replica = r;
        event.u.progress.tokens = 1;
        harness_step(&h, &event);
        break;
    case 4:
        event = harness_event(below(2) ? PST_EVENT_DRAIN : PST_EVENT_UNDRAIN, h.now);
        if (event.kind == PST_EVENT_DRAIN) {
            event.u.drain.replica = r;
            event.u.drain.until = h.now + below(3000) * PST_MS;
        } else {
            event.u.undrain.replica = r;
        }
        harness_step(&h, &event);
        break;
    case 5:
        h.probes_fail = below(4) == 0;
        break;
    case 6:
        event = harness_event(PST_EVENT_PROMOTE, h.now);
        event.u.promote.replica = r;
        harness_step(&h, &event);
        break;
    case 8:
    case 9:
    case 10:
    case 11:
        event = harness_event(PST_EVENT_ENGINE, h.now);
        event.u.engine.replica = r;
        event.u.engine.asleep = below(8) == 0;
        event.u.engine.running = below(4) == 0 ? UINT32_MAX : below(10);
        event.u.engine.waiting = below(4) == 0 ? UINT32_MAX : below(4);
        event.u.engine.kv_ppm = below(4) == 0 ? UINT32_MAX : below(1000001);
        event.u.engine.tokens = below(4) == 0 ? UINT64_MAX : engine_tokens[r];
        event.u.engine.age = below(40) * PST_S / 2;
        engine_tokens[r] = below(16) == 0 ? 0 : engine_tokens[r] + below(3);
        harness_step(&h, &event);
        break;
    case 7: /* the same place, with one that is kept warm */
        harness_replica(&h, r, r % 2, PST_REPLICA_GONE, PST_CAUSE_REMOVED);
        event = harness_event(PST_EVENT_REPLICA, h.now);
        event.u.replica.replica = r;
        event.u.replica.pool = r % 2;
        event.u.replica.state = PST_REPLICA_LOADING;
        event.u.replica.warm = 1;
        harness_step(&h, &event);
        break;
    default:
        harness_replica(&h, r, r % 2, below(2) ? PST_REPLICA_LOADING : PST_REPLICA_STARTING,
                        PST_CAUSE_CONFIG);
        break;
    }
}

static struct pst_gate_config random_config(uint64_t seed)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

    config.seed = seed;
    config.tickets_max = TICKETS;
    config.flows_max = 8; /* fewer than there are flows: lanes are taken over and shared */
    config.bytes_max = 20000000;
    config.body_max = 4000000;
    config.pools_count = 2;
    config.pools[0].slots = 4;
    config.pools[0].affinity = 1;
    config.pools[0].cancel_lag = 40 * PST_MS;
    config.pools[0].slow_start = PST_S;
    config.pools[0].kv_tokens_max = 100000;
    config.pools[0].no_replica_ttl = 10 * PST_S;
    config.pools[1] = config.pools[0];
    config.pools[1].policy = PST_POLICY_FIXED;
    config.pools[1].fixed_scope_replica = 1;
    config.pools[1].ready_model = 1;
    config.pools[1].fixed_promote_after = PST_S;
    config.pools[1].fixed_queue[0] = 3;
    for (uint32_t c = 0; c < 3; c++) {
        config.classes[c].max_wait = (c + 1) * PST_S;
        config.classes[c].ttl = (c + 1) * 3 * PST_S;
    }
    return config;
}

static uint64_t run(uint64_t seed, uint32_t steps, bool verify)
{
    struct pst_gate_config config = random_config(seed);
    struct pst_gate_counters counters;
    struct pst_gate_pool_view view;
    struct pst_gate_event event;
    uint64_t finished = 0;

    harness_init(&h, &config);
    pst_prng_init(&prng, seed);
    memset(tickets, 0, sizeof tickets);
    memset(engine_tokens, 0, sizeof engine_tokens);
    offered = 0;
    for (uint16_t r = 0; r < 6; r++)
        harness_replica(&h, r, r % 2, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t what = below(100);

        if (what < 80)
            ticket_event(below(TICKETS));
        else if (what < 81)
            gate_event();
        else if (what < 97)
            harness_time(&h, h.now + below(400) * PST_MS);
        else
            fleet_event();
        follow();
        if (verify)
            pst_gate_verify(h.gate);
    }
    /* Everybody leaves. */
    event = harness_event(PST_EVENT_DRAIN, h.now);
    event.u.drain.replica = PST_REPLICA_ALL;
    event.u.drain.grace_until = h.now;
    event.u.drain.until = h.now + PST_S;
    harness_step(&h, &event);
    follow();
    for (uint32_t t = 0; t < TICKETS; t++) {
        if (tickets[t].phase != PHASE_NONE)
            harness_cancel(&h, t);
        follow();
        assert_int_equal(tickets[t].phase, PHASE_NONE);
    }
    harness_time(&h, h.now + 2 * PST_S);
    follow();
    pst_gate_counters(h.gate, &counters);
    for (int outcome = 0; outcome < PST_OUTCOME_COUNT; outcome++)
        finished += h.finished[outcome];
    assert_int_equal(finished, offered);
    assert_int_equal(counters.offered, offered);
    assert_int_equal(counters.finished, offered);
    assert_int_equal(counters.tickets, 0);
    assert_int_equal(counters.bytes_held, 0);
    assert_true(counters.dispatched > steps / 40);
    for (uint16_t pool = 0; pool < 2; pool++) {
        pst_gate_pool_view(h.gate, pool, &view);
        assert_int_equal(view.waiting_no_replica, 0);
    }
    harness_done(&h);
    return h.digest;
}

static void every_invariant_holds(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++)
        run(seed, STEPS, true);
}

static void a_run_is_repeatable(void **state)
{
    (void)state;
    assert_true(run(42, STEPS, false) == run(42, STEPS, true));
    assert_true(run(42, STEPS, false) != run(43, STEPS, false));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_invariant_holds),
        cmocka_unit_test(a_run_is_repeatable),
    };

    if (argc > 1) { /* for comparing builds: the digest of one seed */
        printf("%016llx\n", (unsigned long long)run(strtoull(argv[1], NULL, 10), STEPS, false));
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
