/* Choice, progress, cancellation, drain and removal. */
#include "fleet_world.h"

#define REQUEUE PST_VERDICT_REQUEUE
#define FAIL    PST_VERDICT_FAIL
#define READY   PST_REPLICA_READY

static void least_work_first(void **state)
{
    struct world w;
    uint32_t on[3] = {0};

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 3);
    for (uint32_t t = 0; t < 36; t++) {
        uint16_t replica;

        assert_true(world_admit(&w, t, t));
        replica = world_go(&w, t);
        assert_int_not_equal(replica, PST_REPLICA_ALL);
        on[replica]++;
        for (uint16_t r = 0; r < 3; r++) /* never more than one apart */
            assert_true(on[replica] <= on[r] + 1);
    }
    assert_true(world_admit(&w, 36, 36));
    assert_int_equal(world_go(&w, 36), PST_REPLICA_ALL);
    assert_int_equal(world_capacity(&w).free, 0);
    world_finish(&w, 7, PST_END_DONE);
    assert_int_equal(world_go(&w, 36), w.tickets[7].last_replica);
    world_end(&w);
}

/* Of equals, the one that had work longest ago. */
static void the_idle_take_turns(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 3);
    for (uint32_t n = 0; n < 9; n++) {
        assert_true(world_admit(&w, 0, 1));
        assert_int_equal(world_go(&w, 0), n % 3);
        world_finish(&w, 0, PST_END_DONE);
    }
    world_end(&w);
}

/* Outstanding work decides, not the number of tickets, and by slot where slots differ. */
static void work_is_what_counts(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    assert_true(world_admit(&w, 0, 1));
    pst_fleet_take(w.fleet, 0, &w.tickets[0], 0, 10 * PST_S, w.now);
    for (uint32_t t = 1; t < 10; t++) {
        assert_true(world_admit(&w, t, 1));
        assert_int_equal(world_go(&w, t), 1); /* 100 ms each */
    }
    world_end(&w);
}

/* A replica whose streams fall silent is given less, long before it is suspect. */
static void the_silent_weigh_more(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint16_t r = 0; r < 2; r++) {
        world_put(&w, r, r);
        world_first(&w, r);
        world_progress(&w, r);
    }
    world_put(&w, 2, 1); /* more work, but it moves */
    world_live(&w, 30 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
    world_progress(&w, 1);
    assert_true(world_admit(&w, 3, 1));
    assert_int_equal(world_go(&w, 3), 1);
    world_end(&w);
}

/* From an eighth of a stall on, and by time alone: nothing is told to the fleet in between. */
static void silence_weighs_at_its_boundary(void **state)
{
    static const struct {
        pst_ns silence;
        uint16_t replica;
    } rows[] = {
        {7500 * PST_MS - 1, 0}, /* 100 ms of work against 150 ms */
        {7500 * PST_MS, 1},     /* twice 100 ms */
        {0, 0},                 /* it is heard again */
    };
    struct world w;
    uint16_t replica;
    pst_ns heard_at;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint16_t r = 0; r < 2; r++) {
        assert_true(world_admit(&w, r, 1000 + r));
        pst_fleet_take(w.fleet, r, &w.tickets[r], r, (100 + 50 * r) * PST_MS, w.now);
        world_first(&w, r);
        world_progress(&w, r);
    }
    heard_at = w.now;
    world_live(&w, 7 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
    world_progress(&w, 1);
    assert_true(world_admit(&w, 2, 2));
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        if (rows[i].silence == 0)
            world_progress(&w, 0);
        else
            w.now = heard_at + rows[i].silence;
        assert_true(pst_fleet_choose(w.fleet, 0, &w.tickets[2], w.now, &replica));
        assert_int_equal(replica, rows[i].replica);
    }
    world_end(&w);
}

/* A key sticks to its replica, but that one never carries more than 1.25 x the mean. */
static void affinity_is_bounded(void **state)
{
    struct world w;
    uint32_t on[4] = {0};

    (void)state;
    world_init(&w);
    w.config.pools[0].affinity = 1;
    world_start(&w);
    world_up(&w, 4);
    for (uint32_t key = 1; key <= 64; key++) {
        uint16_t home = PST_REPLICA_ALL;

        for (uint32_t again = 0; again < 3; again++) { /* alone, a key always finds its home */
            uint16_t replica;

            assert_true(world_admit(&w, 0, 1));
            w.tickets[0].affinity = key;
            replica = world_go(&w, 0);
            assert_true(home == PST_REPLICA_ALL || home == replica);
            home = replica;
            world_finish(&w, 0, PST_END_DONE);
        }
        on[home]++;
    }
    for (uint16_t r = 0; r < 4; r++) {
        assert_in_range(on[r], 6, 28); /* and keys are spread */
        on[r] = 0;
    }
    for (uint32_t t = 0; t < 40; t++) {
        uint32_t bound = ((t + 1) * 5 + 15) / 16; /* 1.25 x the mean of four, rounded up */
        uint16_t replica;

        assert_true(world_admit(&w, t, 1));
        w.tickets[t].affinity = 42; /* everybody has the same */
        replica = world_go(&w, t);
        assert_int_not_equal(replica, PST_REPLICA_ALL);
        on[replica]++;
        assert_true(on[replica] <= bound);
    }
    world_end(&w);
}

/* Several sequences take several places, and wait for them. */
static void sequences_take_places(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].slots = 4;
    world_start(&w);
    world_up(&w, 1);
    world_put(&w, 0, 0);
    w.tickets[1] = (struct pst_fleet_ticket){.sequences = 4};
    assert_true(pst_fleet_admit(w.fleet, &w.tickets[1], w.now));
    assert_int_equal(world_go(&w, 1), PST_REPLICA_ALL);
    world_finish(&w, 0, PST_END_DONE);
    assert_int_equal(world_go(&w, 1), 0);
    assert_int_equal(world_capacity(&w).inflight, 4);
    world_finish(&w, 1, PST_END_ERROR_STATUS);
    /* One slot until a success: it may still go, but alone. */
    assert_int_equal(world_view(&w, 0).slots, 1);
    assert_int_equal(world_go(&w, 1), 0);
    world_end(&w);
}

/* B058: /health is fine, the streams are dead. What has not begun runs elsewhere. */
static void b058_hung_engine(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 0; t < 4; t++)
        world_put(&w, t, 0);
    world_first(&w, 0);
    world_progress(&w, 0);
    world_live(&w, 60 * PST_S - 1, 3, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[0], READY);
    assert_false(w.evicted[1]);
    world_live(&w, 1, 2, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[0], PST_REPLICA_SUSPECT);
    assert_int_equal(w.verdict[0], FAIL);
    assert_int_equal(w.reason[0], PST_REASON_BROKEN);
    for (uint32_t t = 1; t < 4; t++) {
        assert_true(w.evicted[t]);
        assert_int_equal(w.verdict[t], REQUEUE);
        assert_int_equal(world_go(&w, t), 1);
    }
    /* Its model does not answer: it stays away for as long as /health alone is well. */
    world_live(&w, 100 * PST_S, 1, PST_PROBE_OK, PST_PROBE_TIMEOUT);
    assert_int_equal(w.state[0], PST_REPLICA_SUSPECT);
    world_end(&w);
}

/* B058, before any first byte: limits that pass without a byte to anybody, three in a row. */
static void b058_hung_before_any_byte(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 0; t < 4; t++)
        world_put(&w, t, 0);
    world_live(&w, 120 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
    for (uint32_t t = 0; t < 3; t++) {
        assert_int_equal(w.state[0], READY);
        pst_fleet_release(w.fleet, t, &w.tickets[t], true, w.now);
        world_poll(&w);
    }
    assert_int_equal(w.state[0], PST_REPLICA_SUSPECT);
    world_first(&w, 3); /* it was alive after all */
    assert_int_equal(w.state[0], READY);
    world_end(&w);
}

/* Long prompts and work that does not stream are silent: that asks, and only a bad answer counts. */
static void silence_asks(void **state)
{
    struct world w;
    uint32_t asked;

    (void)state;
    world_init(&w);
    w.config.pools[0].probe_interval = 500 * PST_S;
    world_start(&w);
    world_up(&w, 2);
    world_put(&w, 0, 0);
    world_put(&w, 1, 0);
    world_first(&w, 1); /* a body that drips is no stream */
    asked = w.checks[0][PST_PROBE_HEALTH];
    world_live(&w, 59 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.checks[0][PST_PROBE_HEALTH], asked);
    world_live(&w, PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.checks[0][PST_PROBE_HEALTH], asked + 1);
    world_live(&w, 300 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[0], READY);
    assert_false(w.evicted[0]);
    world_live(&w, 300 * PST_S, 3, PST_PROBE_FAILED, PST_PROBE_OK);
    assert_int_equal(w.state[0], PST_REPLICA_SUSPECT);
    assert_false(w.evicted[0]); /* what runs there may still end well */
    world_end(&w);
}

/* Told to end, an engine closes its port and may then say nothing until its clients leave. */
static void silence_behind_a_closed_port(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    world_put(&w, 0, 0);
    world_live(&w, 58 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
    world_live(&w, PST_S, 1, PST_PROBE_LOADING, PST_PROBE_OK);
    assert_false(w.evicted[0]); /* it may still end well */
    world_live(&w, 12 * PST_S, 1, PST_PROBE_LOADING, PST_PROBE_OK);
    assert_true(w.evicted[0]);
    assert_int_equal(w.verdict[0], REQUEUE); /* elsewhere, inside the budget */
    world_end(&w);
}

/* A place that the gate closed comes free when the engine has noticed. */
static void a_closed_place_lags(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 1);
    for (uint32_t t = 0; t < 11; t++)
        world_put(&w, t, 0);
    pst_fleet_release(w.fleet, 0, &w.tickets[0], false, w.now);
    world_poll(&w);
    assert_int_equal(world_capacity(&w).inflight, 11);
    world_pass(&w, 40 * PST_MS - 1);
    assert_int_equal(world_capacity(&w).inflight, 11);
    world_pass(&w, 1);
    assert_int_equal(world_capacity(&w).inflight, 10);

    /* A thousand at once need no more memory than one, and none is lost. */
    for (uint32_t n = 0; n < 1000; n++) {
        world_put(&w, 0, 0);
        pst_fleet_release(w.fleet, 0, &w.tickets[0], false, w.now);
        if (n % 100 == 99)
            world_pass(&w, 41 * PST_MS);
        world_poll(&w);
    }
    world_pass(&w, PST_S);
    assert_int_equal(world_capacity(&w).inflight, 10);
    world_end(&w);
}

static void drain_waits_for_what_runs(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    world_put(&w, 0, 0);
    world_put(&w, 1, 0);
    pst_fleet_drain(w.fleet, 0, w.now + 30 * PST_S, w.now);
    world_poll(&w);
    assert_int_equal(w.state[0], PST_REPLICA_DRAINING);
    assert_int_equal(world_capacity(&w).free, 12); /* of the other one */
    world_finish(&w, 0, PST_END_DONE);
    assert_int_equal(w.drained[0], 0);
    world_finish(&w, 1, PST_END_DONE);
    assert_int_equal(w.drained[0], 1);
    assert_true(w.drained_complete);
    world_live(&w, 60 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.drained[0], 1);
    assert_int_equal(w.state[0], PST_REPLICA_DRAINING);
    pst_fleet_undrain(w.fleet, 0, w.now);
    world_poll(&w);
    assert_int_equal(w.state[0], READY);
    world_end(&w);
}

static void drain_ends_at_its_deadline(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    world_put(&w, 0, 0);
    world_put(&w, 1, 0);
    world_put(&w, 2, 0);
    world_first(&w, 1);
    pst_fleet_drain(w.fleet, 0, w.now + 30 * PST_S, w.now);
    world_live(&w, 30 * PST_S - 1, 3, PST_PROBE_OK, PST_PROBE_OK);
    assert_false(w.evicted[0]);
    world_live(&w, 1, 3, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.drained[0], 1);
    assert_false(w.drained_complete);
    assert_int_equal(w.drained_left, 3);
    assert_int_equal(w.verdict[0], REQUEUE);
    assert_int_equal(w.tickets[0].tries, 0);
    assert_int_equal(w.verdict[1], FAIL);
    assert_int_equal(w.reason[1], PST_REASON_BROKEN);
    assert_int_equal(world_go(&w, 2), 1);
    world_replica(&w, 0, PST_REPLICA_GONE, PST_CAUSE_REMOVED);
    assert_int_equal(w.state[0], PST_REPLICA_GONE);
    world_end(&w);
}

/* One that crashes while it drains is no longer ready when the drain is taken back. */
static void life_goes_on_under_a_drain(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    pst_fleet_drain(w.fleet, 0, PST_NEVER, w.now);
    world_poll(&w);
    world_live(&w, 10 * PST_S, 1, PST_PROBE_LOADING, PST_PROBE_OK);
    assert_int_equal(w.state[0], PST_REPLICA_DRAINING);
    pst_fleet_undrain(w.fleet, 0, w.now);
    world_poll(&w);
    assert_int_equal(w.state[0], PST_REPLICA_LOADING);
    world_end(&w);
}

static void removal_evicts(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    world_put(&w, 0, 0);
    world_put(&w, 1, 0);
    world_first(&w, 1);
    world_replica(&w, 0, PST_REPLICA_GONE, PST_CAUSE_REMOVED);
    assert_int_equal(w.verdict[0], REQUEUE);
    assert_int_equal(w.tickets[0].crashes, 0);
    assert_int_equal(w.verdict[1], FAIL);
    assert_int_equal(w.reason[1], PST_REASON_BROKEN);
    assert_int_equal(world_capacity(&w).known, 1);
    assert_int_equal(world_go(&w, 0), 1);

    world_put(&w, 2, 1);
    world_replica(&w, 1, PST_REPLICA_GONE, PST_CAUSE_CRASH);
    assert_int_equal(w.tickets[2].crashes, 1);
    assert_int_equal(w.tickets[0].crashes, 1);
    assert_int_equal(world_capacity(&w).known, 0);
    world_replica(&w, 1, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    world_live(&w, 0, 2, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[1], READY);
    world_end(&w);
}

/* An eviction that the gate has not polled yet, when it ends the ticket itself. */
static void an_unpolled_eviction(void **state)
{
    struct pst_gate_event gone = {.kind = PST_EVENT_REPLICA};
    enum pst_reason reason;
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 0; t < 4; t++)
        world_put(&w, t, 0);
    gone.now = w.now;
    gone.u.replica.state = PST_REPLICA_GONE;
    gone.u.replica.cause = PST_CAUSE_REMOVED;
    pst_fleet_replica(w.fleet, &gone);
    pst_fleet_release(w.fleet, 1, &w.tickets[1], false, w.now);
    assert_int_equal(pst_fleet_end(w.fleet, 2, &w.tickets[2], PST_END_RESET, 0, w.now, &reason),
                     REQUEUE);
    pst_fleet_forget(w.fleet, 3, &w.tickets[3]);
    world_poll(&w);
    assert_true(w.evicted[0]);
    for (uint32_t t = 1; t < 4; t++)
        assert_false(w.evicted[t]);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_work_first),
        cmocka_unit_test(the_idle_take_turns),
        cmocka_unit_test(work_is_what_counts),
        cmocka_unit_test(the_silent_weigh_more),
        cmocka_unit_test(silence_weighs_at_its_boundary),
        cmocka_unit_test(affinity_is_bounded),
        cmocka_unit_test(sequences_take_places),
        cmocka_unit_test(b058_hung_engine),
        cmocka_unit_test(b058_hung_before_any_byte),
        cmocka_unit_test(silence_asks),
        cmocka_unit_test(silence_behind_a_closed_port),
        cmocka_unit_test(a_closed_place_lags),
        cmocka_unit_test(drain_waits_for_what_runs),
        cmocka_unit_test(drain_ends_at_its_deadline),
        cmocka_unit_test(life_goes_on_under_a_drain),
        cmocka_unit_test(removal_evicts),
        cmocka_unit_test(an_unpolled_eviction),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
