/* What a replica's engine says of itself, in the fleet: slots, progress, sleep. */
#include "fleet_world.h"

#define R0       1u /* a set of replicas: this one */
#define NOT_SAID UINT32_MAX

static const struct pst_gate_event nothing_said = {
    .kind = PST_EVENT_ENGINE,
    .u.engine = {.running = NOT_SAID,
                 .waiting = NOT_SAID,
                 .kv_ppm = NOT_SAID,
                 .tokens = UINT64_MAX},
};

static void say(struct world *w, struct pst_gate_event event)
{
    event.now = w->now;
    pst_fleet_engine(w->fleet, &event);
    world_poll(w);
}

static void say_load(struct world *w, uint32_t running, uint32_t waiting, uint32_t kv_ppm)
{
    struct pst_gate_event event = nothing_said;

    event.u.engine.running = running;
    event.u.engine.waiting = waiting;
    event.u.engine.kv_ppm = kv_ppm;
    say(w, event);
}

static void say_tokens(struct world *w, uint64_t tokens, pst_ns age)
{
    struct pst_gate_event event = nothing_said;

    event.u.engine.running = 1;
    event.u.engine.tokens = tokens;
    event.u.engine.age = age;
    say(w, event);
}

static void say_asleep(struct world *w, bool asleep, pst_ns age)
{
    struct pst_gate_event event = nothing_said;

    event.u.engine.asleep = asleep;
    event.u.engine.age = age;
    say(w, event);
}

static void lives(struct world *w, pst_ns duration)
{
    world_live(w, duration, R0, PST_PROBE_OK, PST_PROBE_OK);
}

static void start(struct world *w, uint16_t replicas)
{
    world_init(w);
    world_start(w);
    world_up(w, replicas);
}

/* What another gateway runs there is not ours to use; when nobody says so any more, it is. */
static void others_take_slots_while_it_says_so(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1);
    lives(&w, 5 * PST_S);
    say_load(&w, 8, 0, 0);
    assert_int_equal(world_view(&w, 0).slots, 4);
    assert_int_equal(world_capacity(&w).free, 4);
    lives(&w, 29 * PST_S);
    assert_int_equal(world_view(&w, 0).slots, 4);
    lives(&w, 2 * PST_S);
    assert_int_equal(world_view(&w, 0).slots, 12);
    world_end(&w);
}

/* All that we have in it is ours: in flight, and closed but not let go of yet. */
static void ours_is_not_anothers(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1);
    for (uint32_t t = 0; t < 6; t++)
        world_put(&w, t, 0);
    lives(&w, 5 * PST_S);
    say_load(&w, 4, 2, 0);
    assert_int_equal(world_view(&w, 0).slots, 12);
    for (uint32_t t = 0; t < 6; t++)
        world_finish(&w, t, PST_END_DONE);
    lives(&w, 5 * PST_S);
    say_load(&w, 6, 0, 0); /* it is late: they have ended here */
    lives(&w, 5 * PST_S);
    say_load(&w, 6, 0, 0);
    assert_int_equal(world_view(&w, 0).slots, 12);
    world_end(&w);
}

/* N gateways share it: what the others run within their part is theirs. */
static void the_others_part_is_theirs(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].gateways = 2; /* 24 slots, 12 for each */
    world_start(&w);
    world_up(&w, 1);
    lives(&w, 5 * PST_S);
    say_load(&w, 12, 0, 0);
    assert_int_equal(world_view(&w, 0).slots, 12);
    lives(&w, 5 * PST_S);
    say_load(&w, 20, 0, 0);
    lives(&w, 5 * PST_S);
    say_load(&w, 20, 0, 0);
    assert_int_equal(world_view(&w, 0).slots, 4);
    world_end(&w);
}

/* Its cache holds half of what its slots promise. */
static void a_short_cache_takes_slots(void **state)
{
    uint32_t slots[] = {12, 9, 7};
    struct world w;

    (void)state;
    start(&w, 1);
    for (uint32_t t = 0; t < 12; t++)
        world_put(&w, t, 0);
    for (size_t i = 0; i < PST_COUNT_OF(slots); i++) {
        lives(&w, 5 * PST_S);
        say_load(&w, 6, 6, 1000000);
        assert_int_equal(world_view(&w, 0).slots, slots[i]);
    }
    for (uint32_t t = 0; t < 12; t++)
        world_finish(&w, t, PST_END_DONE);
    for (uint32_t i = 8; i <= 12; i++) {
        lives(&w, 5 * PST_S);
        say_load(&w, 0, 0, 0);
        assert_int_equal(world_view(&w, 0).slots, i);
    }
    world_end(&w);
}

/* Too old, out of order, or empty: nothing changes. */
static void old_and_empty_words_change_nothing(void **state)
{
    struct pst_gate_event event = nothing_said;
    struct world w;

    (void)state;
    start(&w, 1);
    lives(&w, 60 * PST_S);
    say(&w, nothing_said);
    event.u.engine.running = 8;
    event.u.engine.asleep = 1;
    event.u.engine.age = 30 * PST_S + 1;
    say(&w, event);
    event.u.engine.age = UINT64_MAX;
    say(&w, event);
    assert_int_equal(w.state[0], PST_REPLICA_READY);
    assert_int_equal(world_view(&w, 0).slots, 12);
    event.u.engine.asleep = 0;
    event.u.engine.age = 30 * PST_S;
    say(&w, event);
    assert_int_equal(world_view(&w, 0).slots, 4);
    world_end(&w);
}

/* Its counter grows: probes that time out are no reason to take it off. */
static void a_counter_that_grows_is_progress(void **state)
{
    static const struct {
        const char *promise;
        uint64_t step;
        pst_ns age;
        enum pst_replica_state state;
    } counters[] = {
        {"grows", 7, PST_S, PST_REPLICA_READY},
        {"stands still", 0, PST_S, PST_REPLICA_SUSPECT},
        {"grew before the probe that is lost", 7, 29 * PST_S, PST_REPLICA_SUSPECT},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(counters); i++) {
        struct world w;

        print_message("%s\n", counters[i].promise);
        start(&w, 1);
        for (uint32_t s = 0; s < 20; s++) {
            say_tokens(&w, 100 + s * counters[i].step, counters[i].age);
            world_live(&w, 3 * PST_S, R0, PST_PROBE_TIMEOUT, PST_PROBE_TIMEOUT);
        }
        assert_int_equal(w.state[0], counters[i].state);
        world_end(&w);
    }
}

/* It stands still with work running, and nothing is heard of it: one question, and no more than that. */
static void a_counter_that_stands_still_asks(void **state)
{
    static const struct {
        const char *promise;
        uint32_t still; /* samples in a row */
        bool heard;     /* bytes come all along */
        bool falls;
        uint32_t checks;
    } counters[] = {
        {"one sample", 1, false, false, 0},        {"still once", 2, false, false, 1},
        {"still, asked once", 4, false, false, 1}, {"still, but heard", 4, true, false, 0},
        {"it fell: asked", 1, false, true, 1},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(counters); i++) {
        struct world w;
        uint32_t before;

        print_message("%s\n", counters[i].promise);
        world_init(&w);
        w.config.pools[0].probe_interval = 500 * PST_S; /* none but those that are asked for */
        world_start(&w);
        world_up(&w, 1);
        world_put(&w, 0, 0);
        world_first(&w, 0);
        before = w.checks[0][PST_PROBE_HEALTH];
        for (uint32_t s = 0; s < counters[i].still; s++) {
            lives(&w, 5 * PST_S);
            if (counters[i].heard)
                world_progress(&w, 0);
            say_tokens(&w, 100, 0);
        }
        if (counters[i].falls) {
            lives(&w, 5 * PST_S);
            say_tokens(&w, 99, 0);
        }
        lives(&w, 0);
        assert_int_equal(w.checks[0][PST_PROBE_HEALTH] - before, counters[i].checks);
        assert_int_equal(w.state[0], PST_REPLICA_READY);
        world_end(&w);
    }
}

/* /health says 200 all along, and a completion would hang: it is not up until it wakes. */
static void asleep_is_not_up(void **state)
{
    (void)state;
    for (uint8_t model = 0; model < 2; model++) {
        struct world w;
        uint32_t completions;

        world_init(&w);
        w.config.pools[0].ready_model = model;
        world_start(&w);
        world_up(&w, 1);
        lives(&w, 5 * PST_S);
        say_asleep(&w, true, PST_S);
        assert_int_equal(w.state[0], PST_REPLICA_LOADING);
        assert_int_equal(world_capacity(&w).starting_slots, 0); /* it does not start: it sleeps */
        completions = w.checks[0][PST_PROBE_MODEL];
        for (uint32_t s = 0; s < 20; s++) {
            lives(&w, 5 * PST_S);
            say_asleep(&w, true, PST_S);
            assert_int_equal(w.state[0], PST_REPLICA_LOADING);
        }
        assert_int_equal(w.checks[0][PST_PROBE_MODEL], completions);
        say_asleep(&w, false, 0);
        lives(&w, 0);
        assert_int_equal(w.state[0], PST_REPLICA_READY);
        world_end(&w);
    }
}

/* Nobody says any more that it sleeps: its probes decide. */
static void an_outage_ends_the_sleep(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1);
    lives(&w, 5 * PST_S);
    say_asleep(&w, true, PST_S);
    lives(&w, 29 * PST_S);
    assert_int_equal(w.state[0], PST_REPLICA_LOADING);
    lives(&w, 10 * PST_S);
    assert_int_equal(w.state[0], PST_REPLICA_READY);
    world_end(&w);
}

/* What it answers is newer than what was said of it. */
static void an_answer_beats_the_word(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1);
    lives(&w, 20 * PST_S);
    world_put(&w, 0, 0);
    lives(&w, PST_S);
    world_first(&w, 0);
    lives(&w, PST_S);
    say_asleep(&w, true, 2 * PST_S);
    assert_int_equal(w.state[0], PST_REPLICA_READY);
    say_asleep(&w, true, PST_S - PST_MS);
    assert_int_equal(w.state[0], PST_REPLICA_LOADING);
    world_end(&w);
}

/* Slept an hour, woke in seconds: the next start is expected to take seconds. */
static void sleep_is_no_start_time(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1);
    lives(&w, 5 * PST_S);
    for (uint32_t s = 0; s < 360; s++) {
        say_asleep(&w, true, PST_S);
        lives(&w, 10 * PST_S);
    }
    say_asleep(&w, false, 0);
    lives(&w, 10 * PST_S);
    assert_int_equal(w.state[0], PST_REPLICA_READY);
    world_replica(&w, 1, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    assert_in_range(world_capacity(&w).starting_ready_at, w.now, w.now + 10 * PST_S);
    world_end(&w);
}

/* Another process in its place: what was said of the old one holds for it no more. */
static void another_process_is_another_engine(void **state)
{
    struct world w;

    (void)state;
    start(&w, 1);
    lives(&w, 5 * PST_S);
    say_load(&w, 8, 0, 0);
    say_asleep(&w, true, 0);
    world_replica(&w, 0, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    lives(&w, 10 * PST_S);
    assert_int_equal(w.state[0], PST_REPLICA_READY);
    assert_int_equal(world_view(&w, 0).slots, 12);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_take_slots_while_it_says_so),
        cmocka_unit_test(ours_is_not_anothers),
        cmocka_unit_test(the_others_part_is_theirs),
        cmocka_unit_test(a_short_cache_takes_slots),
        cmocka_unit_test(old_and_empty_words_change_nothing),
        cmocka_unit_test(a_counter_that_grows_is_progress),
        cmocka_unit_test(a_counter_that_stands_still_asks),
        cmocka_unit_test(asleep_is_not_up),
        cmocka_unit_test(an_outage_ends_the_sleep),
        cmocka_unit_test(an_answer_beats_the_word),
        cmocka_unit_test(sleep_is_no_start_time),
        cmocka_unit_test(another_process_is_another_engine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
