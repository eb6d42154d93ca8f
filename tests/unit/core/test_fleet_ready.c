/* Readiness: nothing before the model answered, facts before suspicions, and slow start. */
#include "fleet_world.h"

#define LOADING PST_REPLICA_LOADING
#define READY   PST_REPLICA_READY
#define SUSPECT PST_REPLICA_SUSPECT

/*
 * Probes of replica 0 of two, in order: o ok, f failed, l loading, t timed out. A model probe takes the
 * next letter too. s: a stream of replica 0 has an event.
 */
static const struct row {
    const char *promise;
    const char *answers;
    uint8_t ready_model;
    uint32_t rise;
    enum pst_replica_state state;
} rows[] = {
    {"health alone is not the model", "o", 1, 1, LOADING},
    {"health and model", "oo", 1, 1, READY},
    {"the model fails", "of", 1, 1, LOADING},
    {"and is asked again after health", "ofoo", 1, 1, READY},
    {"the model times out", "ot", 1, 1, LOADING},
    {"the model still loads", "ol", 1, 1, LOADING},
    {"health is enough by choice", "o", 0, 1, READY},
    {"B056: /health 503 until warm", "ffff", 1, 1, LOADING},
    {"rise counts", "oo", 0, 3, LOADING},
    {"in a row", "oofo", 0, 3, LOADING},
    {"rise reached", "oofooo", 0, 3, READY},
    {"two bad answers", "off", 0, 1, READY},
    {"three bad answers", "offf", 0, 1, SUSPECT},
    {"a good one between", "offoff", 0, 1, READY},
    {"loading is a fact", "ol", 0, 1, LOADING},
    {"two time-outs", "ott", 0, 1, READY},
    {"three time-outs", "ottt", 0, 1, SUSPECT},
    {"B059: three, but it streams", "ottstst", 0, 1, READY},
    {"B059: a byte is as good as an answer", "ottst", 0, 1, READY},
    {"B059: for as long as it streams", "otstststststst", 0, 1, READY},
    {"it stopped streaming", "otsttt", 0, 1, SUSPECT},
    {"a bad answer is an answer", "ottftt", 0, 1, READY},
    {"suspect asks the model", "oofff", 1, 1, SUSPECT},
    {"and is ready again", "oofffoo", 1, 1, READY},
};

/* Until replica 0 has a check out. */
static void until_asked(struct world *w)
{
    while (!w->out[0]) {
        w->now = pst_fleet_deadline(w->fleet);
        assert_true(w->now < 100000 * PST_S);
        pst_fleet_time(w->fleet, w->now);
        world_poll(w);
        if (w->out[1])
            world_answer(w, 1, PST_PROBE_OK);
    }
}

static void states_follow_probes(void **state)
{
    static const char letters[] = "ofl";

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct world w;

        print_message("%s: %s\n", rows[i].promise, rows[i].answers);
        world_init(&w);
        w.config.pools[0].ready_model = rows[i].ready_model;
        w.config.pools[0].probe_rise = rows[i].rise;
        world_start(&w);
        world_replica(&w, 1, LOADING, PST_CAUSE_CONFIG); /* so that half may time out */
        world_live(&w, 100 * PST_S, 2, PST_PROBE_OK, PST_PROBE_OK);
        assert_int_equal(w.state[1], READY);
        world_replica(&w, 0, LOADING, PST_CAUSE_CONFIG);
        for (const char *a = rows[i].answers; *a != '\0'; a++) {
            if (*a == 's') {
                world_progress(&w, 0);
                continue;
            }
            until_asked(&w);
            assert_false(w.probe[0] == PST_PROBE_MODEL && w.state[0] == READY);
            world_answer(&w, 0,
                         *a == 't' ? PST_PROBE_TIMEOUT
                                   : (enum pst_probe_result)(strchr(letters, *a) - letters));
        }
        assert_int_equal(w.state[0], rows[i].state);
        world_end(&w);
    }
}

/* Nothing goes to a replica that is not ready; the model's probe holds a place. */
static void nothing_before_ready(void **state)
{
    struct world w;
    uint16_t replica;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_replica(&w, 0, PST_REPLICA_STARTING, PST_CAUSE_CONFIG);
    world_pass(&w, 0);
    assert_true(world_admit(&w, 0, 1));
    assert_false(pst_fleet_choose(w.fleet, 0, &w.tickets[0], w.now, &replica));
    assert_int_equal(world_capacity(&w).starting_slots, 12);
    world_answer(&w, 0, PST_PROBE_OK);
    assert_int_equal(w.state[0], LOADING);
    assert_false(pst_fleet_choose(w.fleet, 0, &w.tickets[0], w.now, &replica));
    assert_int_equal(world_capacity(&w).inflight, 1);
    world_answer(&w, 0, PST_PROBE_OK);
    assert_int_equal(w.state[0], READY);
    assert_int_equal(world_capacity(&w).inflight, 0);
    assert_true(pst_fleet_choose(w.fleet, 0, &w.tickets[0], w.now, &replica));
    world_end(&w);
}

/* Probes keep 5 s x [0.8, 1.2]; while loading they start at 500 ms and back off to that. */
static void probes_keep_their_pace(void **state)
{
    struct world w;
    pst_ns last;
    pst_ns gap = 0;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_replica(&w, 0, LOADING, PST_CAUSE_CONFIG);
    until_asked(&w);
    for (uint32_t i = 0; i < 20; i++) {
        last = w.now;
        world_answer(&w, 0, PST_PROBE_LOADING);
        until_asked(&w);
        gap = w.now - last;
        if (i == 0)
            assert_true(gap >= 600 * PST_MS && gap <= 900 * PST_MS);
    }
    assert_true(gap >= 4 * PST_S && gap <= 6 * PST_S);
    world_answer(&w, 0, PST_PROBE_OK);
    until_asked(&w);
    world_answer(&w, 0, PST_PROBE_OK);
    for (uint32_t i = 0; i < 100; i++) {
        last = w.now;
        until_asked(&w);
        assert_true(w.now - last >= 4 * PST_S && w.now - last <= 6 * PST_S);
        world_answer(&w, 0, PST_PROBE_OK);
    }
    world_end(&w);
}

/* An answer that is lost does not end the asking, and one that comes late is not believed. */
static void a_lost_probe_is_a_time_out(void **state)
{
    struct world w;
    struct pst_gate_event late = {.kind = PST_EVENT_PROBE};

    (void)state;
    world_init(&w);
    w.config.pools[0].ready_model = 0;
    world_start(&w);
    world_replica(&w, 0, LOADING, PST_CAUSE_CONFIG);
    world_pass(&w, 0);
    assert_int_equal(w.checks[0][PST_PROBE_HEALTH], 1);
    world_pass(&w, 6 * PST_S);
    late.now = w.now;
    late.u.probe.result = PST_PROBE_OK;
    pst_fleet_probe(w.fleet, &late);
    world_poll(&w);
    assert_int_equal(w.state[0], LOADING);
    world_pass(&w, PST_S);
    assert_int_equal(w.checks[0][PST_PROBE_HEALTH], 2);
    world_end(&w);
}

/* Time-outs alone take at most half of those that were ready, rounded up. */
static void at_most_half_times_out(void **state)
{
    (void)state;
    for (uint16_t n = 1; n <= WORLD_REPLICAS; n++) {
        struct world w;
        uint32_t left = 0;

        world_init(&w);
        world_start(&w);
        world_up(&w, n);
        world_live(&w, 120 * PST_S, 255, PST_PROBE_TIMEOUT, PST_PROBE_TIMEOUT);
        for (uint16_t i = 0; i < n; i++)
            left += w.state[i] == READY;
        assert_int_equal(left, n / 2);

        /* Bad answers are not time-outs: they take all. */
        world_live(&w, 60 * PST_S, 255, PST_PROBE_FAILED, PST_PROBE_FAILED);
        assert_int_equal(world_capacity(&w).ready, 0);
        world_live(&w, 10 * PST_S, 255, PST_PROBE_OK, PST_PROBE_OK);
        assert_int_equal(world_capacity(&w).ready, n);
        world_end(&w);
    }
}

/* B059: a saturated engine that misses probes while it streams keeps its streams and its place. */
static void b059_saturated_is_not_sick(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 0; t < 12; t++) {
        world_put(&w, t, 0);
        world_first(&w, t);
    }
    for (uint32_t second = 0; second < 600; second++) {
        world_live(&w, PST_S, 3, PST_PROBE_TIMEOUT, PST_PROBE_TIMEOUT);
        world_progress(&w, 0);
        assert_int_equal(w.state[0], READY);
    }
    for (uint32_t t = 0; t < 12; t++)
        assert_false(w.evicted[t]);
    world_end(&w);
}

/* One that is only suspected of silence is ready again with its first byte. */
static void an_answer_ends_the_suspicion(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    world_put(&w, 0, 0);
    world_live(&w, 30 * PST_S, 1, PST_PROBE_TIMEOUT, PST_PROBE_TIMEOUT);
    assert_int_equal(w.state[0], SUSPECT);
    assert_false(w.evicted[0]);
    world_first(&w, 0);
    assert_int_equal(w.state[0], READY);
    world_end(&w);
}

static void fresh_replicas_start_slowly(void **state)
{
    static const struct {
        pst_ns after;
        uint32_t slots;
    } steps[] = {
        {0, 1}, {1499, 1}, {1500, 2}, {2250, 3}, {4499, 5}, {4500, 6}, {8999, 11}, {9000, 12},
    };
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].slow_start = 9 * PST_S;
    world_start(&w);
    world_up(&w, 1);
    for (size_t i = 0; i < PST_COUNT_OF(steps); i++) {
        pst_ns before = i == 0 ? 0 : steps[i - 1].after;

        world_live(&w, (steps[i].after - before) * PST_MS, 1, PST_PROBE_OK, PST_PROBE_OK);
        world_pass(&w, 1); /* a step may be a nanosecond late */
        w.now--;
        assert_int_equal(world_view(&w, 0).slots, steps[i].slots);
    }
    world_end(&w);
}

/* A fact beats an answer that was asked for before it. */
static void old_answers_are_no_news(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    world_put(&w, 0, 0);
    world_put(&w, 1, 0);
    world_live(&w, 60 * PST_S, 1, PST_PROBE_FAILED, PST_PROBE_OK);
    assert_int_equal(w.state[0], SUSPECT);
    until_asked(&w);
    world_answer(&w, 0, PST_PROBE_OK);
    assert_true(w.out[0] && w.probe[0] == PST_PROBE_MODEL);
    world_pass(&w, PST_MS);
    world_finish(&w, 0, PST_END_REFUSED);
    assert_int_equal(w.state[0], LOADING);
    world_answer(&w, 0, PST_PROBE_OK);
    assert_int_equal(w.state[0], LOADING);
    world_live(&w, 3 * PST_S, 1, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[0], READY);
    world_end(&w);
}

/* A replica that drains is asked for its health, never for an answer of its model. */
static void draining_runs_no_model_probe(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_replica(&w, 0, LOADING, PST_CAUSE_CONFIG);
    pst_fleet_drain(w.fleet, 0, PST_NEVER, w.now);
    world_live(&w, 60 * PST_S, 1, PST_PROBE_OK, PST_PROBE_OK);
    assert_true(w.checks[0][PST_PROBE_HEALTH] > 5);
    assert_int_equal(w.checks[0][PST_PROBE_MODEL], 0);
    pst_fleet_undrain(w.fleet, 0, w.now);
    world_live(&w, 10 * PST_S, 1, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[0], READY);
    world_end(&w);
}

/* The P90 of starts that were measured tells when the next one is ready; a late one is not promised. */
static void starts_are_measured(void **state)
{
    struct world w;
    pst_ns at;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_replica(&w, 0, LOADING, PST_CAUSE_CONFIG);
    assert_true(world_capacity(&w).starting_ready_at == PST_NEVER);
    world_live(&w, 60 * PST_S, 1, PST_PROBE_LOADING, PST_PROBE_OK);
    world_live(&w, 10 * PST_S, 1, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[0], READY);
    assert_true(world_capacity(&w).starting_ready_at == PST_NEVER); /* nobody starts */

    world_replica(&w, 1, LOADING, PST_CAUSE_CONFIG);
    at = world_capacity(&w).starting_ready_at;
    assert_true(at >= w.now + 58 * PST_S && at <= w.now + 68 * PST_S);
    world_live(&w, 100 * PST_S, 2, PST_PROBE_LOADING, PST_PROBE_OK);
    assert_true(world_capacity(&w).starting_ready_at > w.now + 20 * PST_S);

    /* One that is found ready was no start. */
    world_replica(&w, 1, PST_REPLICA_GONE, PST_CAUSE_REMOVED);
    for (uint32_t i = 0; i < 20; i++) {
        world_replica(&w, 2, LOADING, PST_CAUSE_CONFIG);
        world_live(&w, 0, 4, PST_PROBE_OK, PST_PROBE_OK);
        assert_int_equal(w.state[2], READY);
    }
    world_replica(&w, 1, LOADING, PST_CAUSE_CONFIG);
    assert_true(world_capacity(&w).starting_ready_at >= w.now + 58 * PST_S);
    world_end(&w);
}

/* Created, listening later and then at once ready: the start is as long as the driver says. */
static void a_start_told_in_steps_is_one_start(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_replica(&w, 0, PST_REPLICA_STARTING, PST_CAUSE_CONFIG);
    world_live(&w, 100 * PST_S, 1, PST_PROBE_LOADING, PST_PROBE_OK);
    world_replica(&w, 0, LOADING, PST_CAUSE_CONFIG);
    world_live(&w, 0, 1, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[0], READY);
    world_replica(&w, 1, PST_REPLICA_STARTING, PST_CAUSE_CONFIG);
    assert_true(world_capacity(&w).starting_ready_at >= w.now + 98 * PST_S);
    assert_true(world_capacity(&w).starting_ready_at <= w.now + 104 * PST_S);
    world_end(&w);
}

static void the_least_source_counts(void **state)
{
    struct pst_gate_event event = {.kind = PST_EVENT_SLOTS};
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 1);
    event.now = w.now;
    event.u.slots.source = PST_SLOTS_ENGINE;
    event.u.slots.slots = 5;
    event.u.slots.until = w.now + 10 * PST_S;
    pst_fleet_slots(w.fleet, &event);
    event.u.slots.source = PST_SLOTS_SHARED;
    event.u.slots.slots = 8;
    event.u.slots.until = PST_NEVER;
    pst_fleet_slots(w.fleet, &event);
    assert_int_equal(world_view(&w, 0).slots, 5);
    world_live(&w, 10 * PST_S, 1, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(world_view(&w, 0).slots, 8);

    w.config.pools[0].slots = 6;
    assert_int_equal(pst_fleet_reconfigure(w.fleet, &w.config), PST_OK);
    assert_int_equal(world_view(&w, 0).slots, 6);
    world_poll(&w);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_follow_probes),
        cmocka_unit_test(nothing_before_ready),
        cmocka_unit_test(probes_keep_their_pace),
        cmocka_unit_test(a_lost_probe_is_a_time_out),
        cmocka_unit_test(at_most_half_times_out),
        cmocka_unit_test(b059_saturated_is_not_sick),
        cmocka_unit_test(an_answer_ends_the_suspicion),
        cmocka_unit_test(fresh_replicas_start_slowly),
        cmocka_unit_test(old_answers_are_no_news),
        cmocka_unit_test(draining_runs_no_model_probe),
        cmocka_unit_test(starts_are_measured),
        cmocka_unit_test(a_start_told_in_steps_is_one_start),
        cmocka_unit_test(the_least_source_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
