/* The scaler as a whole: its rules, floors, money, record and bounds, over time and in any weather. */
#include "core/prng.h"
#include "scaler_world.h"

static void qps(struct pst_scaler_pool *pool)
{
    pool->rule = PST_RULE_QPS;
    pool->qps_milli = 5000; /* five a second each */
}

static void depth(struct pst_scaler_pool *pool)
{
    pool->rule = PST_RULE_DEPTH;
}

static void backlog(struct pst_scaler_pool *pool)
{
    pool->rule = PST_RULE_BACKLOG;
}

static void fixed_number(struct pst_scaler_pool *pool)
{
    pool->rule = PST_RULE_STATIC;
    pool->min = 3;
}

static void test_rules(void **state)
{
    static const struct world_row rows[] = {
        {"qps: by the rate", "r1 a20 +61 ?4:", "1:S1 1:S2 1:S3", qps},
        {"qps: in by the same machinery",
         "r4 a20 +101 a10 +200 ?2:", "189:M0 189:D0 199:R0 219:M1 219:D1 229:R1", qps},
        {"depth", "r1 q10 +1 ?4:", "0:S1 0:S2 0:S3", depth},
        {"depth: within half a replica", "r1 q10 +1 # q11 +1 q9 +1 ?4:", "", depth},
        {"backlog: one more, and one each start time", "r1 q21 o10 +1 q50 +100", "0:S1 100:S2",
         backlog},
        {"backlog: one less at a time", "r3 +101 # q5 o5 +140", "110:R0 160:M1 160:D1 170:R1",
         backlog},
        {"static: min", "a50 q50 +1000 ?3:", "0:S1 0:S2 0:S3", fixed_number},
    };

    (void)state;
    WORLD_RUN(rows);
}

static void test_floors(void **state)
{
    struct pst_scaler_config config = world_config();
    struct pst_scaler_action action;
    struct world w;

    (void)state;
    world_init(&w, &config, "cron");
    world_play(&w, "r1");
    world_floor(&w, PST_FLOOR_CRON, 3, w.now + 500 * PST_S, w.now + 800 * PST_S);
    world_play(&w, "+400 ?1: +1 ?3:");
    assert_string_equal(w.log, " 400:S1 400:S2"); /* ready when it begins */
    assert_true(pst_scaler_decision(w.scaler, 0, &action));
    assert_int_equal(action.u.decision.winner, PST_TERM_CRON);
    assert_int_equal(action.u.decision.terms[PST_TERM_CRON], 3);
    world_play(&w, "# +398"); /* held to its end: the last second is 798 */
    assert_string_equal(w.log, "");
    world_play(&w, "+61"); /* 800 … 859: 60 s without need */
    assert_string_equal(w.log, " 859:M1 859:D1 859:M2 859:D2");
    world_done(&w);

    world_init(&w, &config, "canary");
    world_play(&w, "r4 f4 +101");
    world_floor(&w, PST_FLOOR_CANARY, 2, w.now, PST_NEVER);
    world_play(&w, "f0 +200 ?2:");
    assert_true(pst_scaler_decision(w.scaler, 0, &action));
    assert_int_equal(action.u.decision.winner, PST_TERM_CANARY);
    world_done(&w);

    world_init(&w, &config, "a floor that comes soon keeps what there is");
    world_play(&w, "r4 f4 +101");
    world_floor(&w, PST_FLOOR_CRON, 4, w.now + 200 * PST_S, w.now + 300 * PST_S);
    world_play(&w, "f0 +40 ?4:hold +1 ?4:needed_soon"); /* 160 s ahead */
    world_done(&w);
}

static void test_money(void **state)
{
    struct pst_scaler_config config = world_config();
    struct world w;

    (void)state;
    config.pools[0].cost_micro = 1000000;
    config.pools[0].budget_hour_micro = 3000000;
    world_init(&w, &config, "a budget bounds what runs");
    world_play(&w, "r2 f2 +100 f8 +1");
    /* The clock's hour ends in 2,500 s: three replica-hours, less what was spent, last for four. */
    world_play(&w, "?4:budget +2498");
    assert_true(w.replica_seconds <= 3 * 3600);
    assert_true(w.replica_seconds > 3 * 3600 * 9 / 10);
    world_play(&w, "+10 ?3:budget"); /* the next hour: what it can pay for all its time */
    w.replica_seconds = 0;
    world_play(&w, "+3590");
    assert_true(w.replica_seconds <= 3 * 3600);
    world_done(&w);

    config.pools[0].min = 4;
    world_init(&w, &config, "min is never given up for money");
    world_play(&w, "+4400 ?4:");
    world_done(&w);
}

/* ---- the house's own rule under load ---- */

static void test_steady_load(void **state)
{
    struct pst_scaler_config config = world_config();
    struct world w;
    uint32_t ready = 0;

    (void)state;
    world_init(&w, &config, "steady load");
    world_play(&w, "r1 a30 o10 +300 # o30 +3600");
    assert_string_equal(w.log, "");
    for (uint16_t r = 0; r < PST_REPLICAS_MAX; r++)
        ready += w.replicas[r].is_there;
    assert_in_range(ready, 4, 5); /* 30 slots of work, ten each */
    w.ins = 0;
    world_play(&w, "a8 o8 +4000"); /* what bursts needed is remembered for an hour */
    assert_in_range(w.ins, 1, 3);
    world_play(&w, "#");
    world_play(&w, "a8 o8 +3600"); /* and stays */
    assert_string_equal(w.log, "");
    world_done(&w);
}

static void test_short_bursts(void **state)
{
    struct pst_scaler_config config = world_config();
    struct world w;

    (void)state;
    config.pools[0].min = 2;
    config.classes[0].envelope = 0;
    world_init(&w, &config, "bursts shorter than a start add nothing");
    world_play(&w, "r2 a10 o10 +600");
    for (int i = 0; i < 4; i++)
        world_play(&w, "a40 q60 o20 +10 a10 q30 +9 ?2:worth +1 q0 o10 +580");
    assert_string_equal(w.log, "");
    world_play(&w, "a60 q90 o20 +200"); /* this one lasts */
    assert_true(w.starts >= 2);
    world_done(&w);
}

static void test_retrying_clients_do_not_multiply(void **state)
{
    struct pst_scaler_config config = world_config();
    struct world w;

    (void)state;
    config.pools[0].max = 4;
    world_init(&w, &config, "bounded in any flood");
    world_play(&w, "r1 quota a1000 q500 o10 +600 ok +600");
    assert_true(w.most <= 4);
    assert_true(w.starts < 20);
    world_done(&w);
}

static void test_start_times_are_measured(void **state)
{
    struct pst_scaler_config config = world_config();
    struct pst_scaler_action action;
    struct world w;

    (void)state;
    config.pools[0].warm = 1;
    world_init(&w, &config, "measured");
    world_play(&w, "+1");
    assert_true(pst_scaler_decision(w.scaler, 0, &action));
    assert_int_equal(action.u.decision.start_ms, 100000); /* configured */
    world_play(&w, "+100 cold30 crash0 crash1 +31");
    assert_true(pst_scaler_decision(w.scaler, 0, &action));
    assert_int_equal(action.u.decision.start_ms, 100000); /* nine of ten: 100, 100, 30, 30 */
    for (int i = 0; i < 20; i++)
        world_play(&w, "crash0 +40");
    assert_true(pst_scaler_decision(w.scaler, 0, &action));
    assert_int_equal(action.u.decision.start_ms, 30000);
    world_done(&w);
}

/* ---- the record ---- */

static uint32_t decisions_of(struct pst_scaler *scaler, pst_ns now)
{
    struct pst_scaler_event tick = {.kind = PST_SCALER_TICK, .now = now};
    struct pst_scaler_action action;
    uint32_t count = 0;

    pst_scaler_step(scaler, &tick);
    while (pst_scaler_poll(scaler, &action))
        count += action.kind == PST_SCALER_DECISION;
    return count;
}

static void test_record(void **state)
{
    struct pst_scaler_config config = world_config();
    struct pst_scaler_event floor = {.kind = PST_SCALER_FLOOR, .now = 61 * PST_S};
    struct pst_scaler_action action;
    struct pst_scaler *scaler;

    (void)state;
    config.pools[0].actuate = PST_ACTUATE_NONE;
    assert_int_equal(pst_scaler_new(&config, &scaler), PST_OK);
    assert_false(pst_scaler_decision(scaler, 0, &action));
    assert_true(pst_scaler_deadline(scaler) == PST_NEVER);
    assert_int_equal(decisions_of(scaler, PST_S), 1);
    for (uint32_t s = 2; s <= 60; s++)
        assert_int_equal(decisions_of(scaler, s * PST_S), 0);
    assert_int_equal(decisions_of(scaler, 61 * PST_S), 1); /* a minute later */
    floor.u.floor.replicas = 4;
    floor.u.floor.until = PST_NEVER;
    pst_scaler_step(scaler, &floor);
    assert_int_equal(decisions_of(scaler, 62 * PST_S), 1); /* it changed */
    assert_true(pst_scaler_decision(scaler, 0, &action));
    assert_int_equal(action.u.decision.before, 1);
    assert_int_equal(action.u.decision.desired, 4);
    assert_int_equal(action.u.decision.winner, PST_TERM_CRON);
    assert_int_equal(action.u.decision.oldest_input_ms, UINT32_MAX); /* nothing was observed */
    assert_int_equal(decisions_of(scaler, 63 * PST_S), 0);
    pst_scaler_free(scaler);
    for (int t = 0; t < PST_TERM_COUNT; t++)
        assert_true(pst_term_name((enum pst_term)t)[0] != '\0');
    for (int r = 0; r < PST_RULE_COUNT; r++)
        assert_true(pst_rule_name((enum pst_scaler_rule)r)[0] != '\0');
}

/* Each with its own age; what was never told is not known, and what is missing only grows old. */
static void test_inputs(void **state)
{
    struct pst_scaler_config config = world_config();
    struct pst_scaler_inputs inputs;
    struct world w;
    pst_ns seen;

    (void)state;
    config.pools[0].awaits_signals = 1u << PST_SIGNAL_ERRORS;
    config.pools[0].gpu_guard_ppm = 500000;
    world_init(&w, &config, "inputs");
    pst_scaler_inputs(w.scaler, 0, w.now, &inputs);
    assert_true(inputs.own_age == PST_NEVER);
    for (int s = 0; s < PST_SIGNAL_COUNT; s++)
        assert_true(inputs.ages[s] == PST_NEVER && inputs.values[s] == 0);
    assert_int_equal(inputs.awaited, 1u << PST_SIGNAL_ERRORS | 1u << PST_SIGNAL_GPU);
    world_play(&w, "r1 +10 blind +3");
    seen = w.now - 4 * PST_S;
    world_signal(&w, PST_SIGNAL_GPU, 620000, 2 * PST_S);
    world_signal(&w, PST_SIGNAL_QUOTA, 0, 0);
    world_signal(&w, PST_SIGNAL_QUOTA, 7, PST_NEVER);
    pst_scaler_inputs(w.scaler, 0, w.now + 100 * PST_MS, &inputs);
    assert_int_equal(inputs.own_age, w.now + 100 * PST_MS - seen);
    assert_int_equal(inputs.values[PST_SIGNAL_GPU], 620000);
    assert_int_equal(inputs.ages[PST_SIGNAL_GPU], 2100 * PST_MS);
    assert_int_equal(inputs.values[PST_SIGNAL_QUOTA], 0);
    assert_int_equal(inputs.ages[PST_SIGNAL_QUOTA], 100 * PST_MS);
    assert_true(inputs.ages[PST_SIGNAL_ERRORS] == PST_NEVER);
    pst_scaler_inputs(w.scaler, 0, 0, &inputs); /* no sooner than its last step */
    assert_int_equal(inputs.own_age, w.now - seen);
    world_done(&w);
}

/* ---- configurations ---- */

static void test_configuration(void **state)
{
    struct pst_scaler_config config = world_config(), bad;
    struct pst_scaler *scaler;
    struct world w;

    (void)state;
    bad = config;
    bad.pools[0].min = 9;
    assert_int_equal(pst_scaler_new(&bad, &scaler), PST_E_INVALID);
    bad = config;
    bad.pools[0].max = 33; /* more than replicas_max */
    assert_int_equal(pst_scaler_new(&bad, &scaler), PST_E_INVALID);
    bad = config;
    bad.pools[0].rule = PST_RULE_QPS; /* without a rate */
    assert_int_equal(pst_scaler_new(&bad, &scaler), PST_E_INVALID);
    bad = config;
    bad.pools[0].slots = 0;
    assert_int_equal(pst_scaler_new(&bad, &scaler), PST_E_INVALID);
    pst_scaler_free(NULL);

    world_init(&w, &config, "new numbers");
    world_play(&w, "r4 f4 +101 ?4:");
    config.pools[0].max = 2;
    config.pools_count = 2;
    config.pools[1] = config.pools[0];
    assert_int_equal(pst_scaler_reconfigure(w.scaler, &config), PST_OK);
    world_play(&w, "+1 ?2:max"); /* a lower max holds at once */
    assert_string_equal(w.log, " 101:M0 101:D0 101:M1 101:D1 101:S1");
    bad = config;
    bad.classes_count = 1;
    assert_int_equal(pst_scaler_reconfigure(w.scaler, &bad), PST_E_INVALID);
    world_done(&w);
}

static void new_replica(struct world *w, uint16_t pool, uint16_t index, uint32_t op)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_REPLICA, .pool = pool, .now = w->now};

    event.u.replica.replica = index;
    event.u.replica.state = PST_REPLICA_READY;
    event.u.replica.op = op;
    pst_scaler_step(w->scaler, &event);
}

static uint32_t desired_of(const struct world *w, uint16_t pool)
{
    struct pst_scaler_action action;

    assert_true(pst_scaler_decision(w->scaler, pool, &action));
    return action.u.decision.desired;
}

/* What holds for a scaler that is fresh holds for a pool that is. */
static void test_appended_pool(void **state)
{
    struct pst_scaler_config config = world_config();
    struct world w;

    (void)state;
    world_init(&w, &config, "an appended pool");
    world_play(&w, "r1 +300 #");
    config.pools_count = 2;
    config.pools[1] = config.pools[0];
    config.pools[1].stale_after = 0;
    assert_int_equal(pst_scaler_reconfigure(w.scaler, &config), PST_OK);
    new_replica(&w, 1, 20, 0);
    new_replica(&w, 1, 21, 0);
    new_replica(&w, 1, 22, 0);
    for (int i = 0; i < 100; i++) {
        struct pst_scaler_event event = {.kind = PST_SCALER_OBSERVE_POOL, .pool = 1, .now = w.now};

        pst_scaler_step(w.scaler, &event);
        world_play(&w, "+1");
    }
    assert_int_equal(desired_of(&w, 1), 3);
    assert_string_equal(w.log, "");
    world_done(&w);
}

/* News that names a newer START, or another pool: the replica that had the index is gone. */
static void test_index_with_a_new_owner(void **state)
{
    struct pst_scaler_config config = world_config();
    struct pst_scaler_action action;
    struct world w;

    (void)state;
    config.pools[0].actuate = PST_ACTUATE_NONE;
    config.pools_count = 2;
    config.pools[1] = config.pools[0];
    world_init(&w, &config, "a new owner");
    new_replica(&w, 0, 5, 0);
    new_replica(&w, 0, 6, 0);
    world_play(&w, "+1");
    assert_true(pst_scaler_decision(w.scaler, 0, &action));
    assert_int_equal(action.u.decision.ready, 2);
    new_replica(&w, 1, 6, 0);
    world_play(&w, "+1");
    assert_true(pst_scaler_decision(w.scaler, 0, &action));
    assert_int_equal(action.u.decision.ready, 1);
    assert_true(pst_scaler_decision(w.scaler, 1, &action));
    assert_int_equal(action.u.decision.ready, 1);
    world_done(&w);
}

/* Whoever acts from now on is not bound by what we said: what was drained and serves is counted. */
static void test_handed_over(void **state)
{
    struct pst_scaler_config config = world_config();
    struct pst_scaler_action action;
    struct world w;

    (void)state;
    world_init(&w, &config, "handed over");
    world_play(&w, "r3 f3 +101 nodrain f1 +60 ?1:");
    config.pools[0].actuate = PST_ACTUATE_NONE;
    assert_int_equal(pst_scaler_reconfigure(w.scaler, &config), PST_OK);
    w.log[0] = '\0';
    for (uint16_t r = 0; r < 3; r++)
        world_set(&w, r, PST_REPLICA_READY);
    world_play(&w, "+200");
    assert_string_equal(w.log, "");
    assert_true(pst_scaler_decision(w.scaler, 0, &action));
    assert_int_equal(action.u.decision.ready, 3);
    assert_int_equal(action.u.decision.draining, 0);
    world_done(&w);
}

/* Pools decide alone, and share the places that replicas can have. */
static void test_pools(void **state)
{
    struct pst_scaler_config config = world_config();
    struct pst_scaler_event event = {.kind = PST_SCALER_TICK, .now = PST_S};
    struct pst_scaler_action action;
    struct pst_scaler *scaler;
    uint32_t starts[2] = {0, 0};

    (void)state;
    config.replicas_max = 8;
    config.pools_count = 2;
    config.pools[1] = config.pools[0];
    config.pools[0].min = 5;
    config.pools[1].min = 4;
    assert_int_equal(pst_scaler_new(&config, &scaler), PST_OK);
    pst_scaler_step(scaler, &event);
    while (pst_scaler_poll(scaler, &action))
        starts[action.pool] += action.kind == PST_SCALER_START;
    assert_int_equal(starts[0], 5);
    assert_int_equal(starts[1], 3); /* the eighth place was the last */
    pst_scaler_verify(scaler);
    assert_true(pst_scaler_decision(scaler, 1, &action));
    assert_int_equal(action.pool, 1);
    assert_int_equal(action.u.decision.desired, 4);
    assert_false(pst_scaler_decision(scaler, 2, &action));
    /* What names a pool, class, replica or kind that there is not is nobody's. */
    event = (struct pst_scaler_event){.kind = PST_SCALER_WAKE, .pool = 2, .now = 2 * PST_S};
    pst_scaler_step(scaler, &event);
    event = (struct pst_scaler_event){.kind = PST_SCALER_OBSERVE_CLASS, .class_ = 2};
    pst_scaler_step(scaler, &event);
    event = (struct pst_scaler_event){.kind = PST_SCALER_OBSERVE_POOL, .class_ = 9};
    pst_scaler_step(scaler, &event);
    event = (struct pst_scaler_event){.kind = PST_SCALER_REPLICA};
    event.u.replica.replica = 8;
    pst_scaler_step(scaler, &event);
    event = (struct pst_scaler_event){.kind = PST_SCALER_SIGNAL};
    event.u.signal.kind = PST_SIGNAL_COUNT;
    pst_scaler_step(scaler, &event);
    event = (struct pst_scaler_event){.kind = PST_SCALER_FLOOR};
    event.u.floor.source = PST_FLOOR_COUNT;
    pst_scaler_step(scaler, &event);
    event = (struct pst_scaler_event){.kind = PST_SCALER_RESULT};
    event.u.result.replica = 99;
    event.u.result.action = PST_SCALER_DRAIN;
    pst_scaler_step(scaler, &event);
    assert_false(pst_scaler_poll(scaler, &action));
    pst_scaler_verify(scaler);
    pst_scaler_free(scaler);
}

/* ---- any weather ---- */

static void any_weather(uint64_t seed, struct world *w)
{
    static const char *const words[] = {
        "+1",    "+1",    "+7",     "+30",      "+100",     "f1",      "f3",    "f8",
        "f0",    "ok",    "ok",     "ok",       "quota",    "fail",    "stuck", "a0",
        "a10",   "a60",   "q0",     "q40",      "o0",       "o30",     "blind", "see",
        "see",   "lat1",  "lat0",   "rollout1", "rollout0", "nodrain", "stay",  "wake",
        "have0", "have3", "cold20", "cold150",  "scale6",
    };
    struct pst_prng prng;

    pst_prng_init(&prng, seed);
    for (int i = 0; i < 300; i++) {
        uint16_t r = (uint16_t)pst_prng_below(&prng, 12);
        uint32_t before = w->starts;

        w->log[0] = '\0';
        world_word(w, words[pst_prng_below(&prng, PST_COUNT_OF(words))]);
        assert_true(w->starts - before <= 60); /* no runaway in 100 s */
        if (w->replicas[r].is_there && pst_prng_below(&prng, 4) == 0)
            world_vanish(w, r, pst_prng_below(&prng, 2) == 0);
    }
    assert_true(w->most <= 8 + 2 + 1); /* max, warm ones, and one that is rotated */
}

static void test_any_weather(void **state)
{
    struct pst_scaler_config config = world_config();

    (void)state;
    config.pools[0].warm = 2;
    config.pools[0].rotate = 300 * PST_S;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world w;

        config.pools[0].min = seed % 2;
        config.pools[0].rule = seed % 4 == 0 ? PST_RULE_AHEAD : PST_RULE_DEPTH;
        world_init(&w, &config, "any weather");
        any_weather(seed, &w);
        /* The weather clears: it gets what is needed, and no more. */
        world_play(&w, "ok see cold20 lat0 rollout0 have8 a0 q0 o0 f3 +8000 # +299");
        if (strchr(w.log, 'D') != NULL || strchr(w.log, 'S') != NULL)
            world_fail(&w, "no rest");
        world_play(&w, "?3:");
        world_done(&w);
    }
}

/* Events that no driver in its right mind would send: bounds and invariants hold. */
static void test_nonsense(void **state)
{
    struct pst_scaler_config config = world_config();
    struct pst_scaler_event event;
    struct pst_scaler_action action;
    struct pst_scaler *scaler;
    struct pst_prng prng;
    pst_ns now = 0;

    (void)state;
    config.pools_count = 2;
    config.pools[1] = config.pools[0];
    config.pools[0].warm = 1;
    config.pools[1].actuate = PST_ACTUATE_NONE;
    assert_int_equal(pst_scaler_new(&config, &scaler), PST_OK);
    pst_prng_init(&prng, 1);
    for (int i = 0; i < 100000; i++) {
        unsigned char *bytes = (unsigned char *)&event;

        for (size_t b = 0; b < sizeof event; b++)
            bytes[b] = (unsigned char)pst_prng_below(&prng, 8); /* small numbers hit more */
        if (pst_prng_below(&prng, 4) == 0)
            event.kind = PST_SCALER_TICK;
        else
            event.kind = (uint8_t)pst_prng_below(&prng, PST_SCALER_EVENT_COUNT + 1);
        event.pool = (uint16_t)pst_prng_below(&prng, 3);
        if (event.kind == PST_SCALER_REPLICA)
            event.u.replica.replica = (uint16_t)pst_prng_below(&prng, 40);
        if (event.kind == PST_SCALER_RESULT)
            event.u.result.replica = (uint16_t)pst_prng_below(&prng, 40);
        now += pst_prng_below(&prng, 2 * PST_S);
        event.now = now;
        pst_scaler_step(scaler, &event);
        while (pst_scaler_poll(scaler, &action))
            assert_true(action.kind < PST_SCALER_ACTION_COUNT && action.pool < 2 &&
                        (action.pool == 0 || action.kind == PST_SCALER_DECISION));
        pst_scaler_verify(scaler);
    }
    pst_scaler_free(scaler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_floors),
        cmocka_unit_test(test_money),
        cmocka_unit_test(test_steady_load),
        cmocka_unit_test(test_short_bursts),
        cmocka_unit_test(test_retrying_clients_do_not_multiply),
        cmocka_unit_test(test_start_times_are_measured),
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_configuration),
        cmocka_unit_test(test_appended_pool),
        cmocka_unit_test(test_index_with_a_new_owner),
        cmocka_unit_test(test_handed_over),
        cmocka_unit_test(test_pools),
        cmocka_unit_test(test_any_weather),
        cmocka_unit_test(test_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
