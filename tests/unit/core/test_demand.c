/*
 * test_demand.c - how many replicas a pool needs, told second by second what came: against numbers
 * worked out by hand from the formulas of demand.h.
 */
#include "demand_river.h"

/* ---- the terms ---- */

static void steady_work_is_staffed_for(void **state)
{
    static const struct {
        const char *name;
        pst_ns low_max_wait;
        double high, medium, low;
        uint32_t now, ahead, envelope;
    } rows[] = {
        /* 37 slots of work: 38 hold the targets; in any 300 s 35 x 300 / 300.6 slots. */
        {"what the night brings", 60 * PST_S, 20, 15, 2, 3, 3, 3},
        {"nothing", 60 * PST_S, 0, 0, 0, 0, 0, 0},
        {"hardly anything", 60 * PST_S, 0.1, 0, 0, 1, 1, 1},
        /* 14 slots of high work within 100 ms: at least 16, by Erlang C; of low, 14. */
        {"high needs room", 60 * PST_S, 14, 0, 0, 2, 1, 1},
        {"low, that cannot wait for a start, 15", 60 * PST_S, 0, 0, 14, 2, 1, 0},
        /* 28 / 0.9 = 31.1 slots; what 25.2 leave waits for less than 300 s, for a while. */
        {"low that can wait is planned to fill nine tenths", 300 * PST_S, 0, 0, 28, 3, 2, 0},
        {"… and just fits", 300 * PST_S, 0, 0, 25.2, 2, 2, 0},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(rows[i].low_max_wait);
        struct river r;

        river_open(&r, &config, 4);
        river_begin(&r);
        run(&r, 900, rows[i].high, rows[i].medium, rows[i].low);
        expect_term(&r, PST_TERM_NOW, rows[i].now, rows[i].name);
        expect_term(&r, PST_TERM_AHEAD, rows[i].ahead, rows[i].name);
        expect_term(&r, PST_TERM_ENVELOPE, rows[i].envelope, rows[i].name);
        expect_term(&r, PST_TERM_BACKLOG, 0, rows[i].name);
        expect_term(&r, PST_TERM_SLA, 0, rows[i].name);
        assert_true(r.worth);
        pst_demand_free(r.demand);
    }
}

/*
 * 37 slots of work, then 117, on 56. After 60 s 61 x 60 = 3,660 slot-seconds wait; the burst is expected
 * to last for 60 s more, and to leave 7,320, of which 40 s of 19 idle slots serve 760: 6,560 wait when a
 * replica could be there.
 */
static void an_unknown_burst_is_expected_to_last_as_long_again(void **state)
{
    static const struct {
        const char *name;
        pst_ns low_max_wait;
        uint32_t ahead;
    } rows[] = {
        {"6560 / 6 s, beside 35", 6 * PST_S, 81},
        {"6560 / 60 s, beside 35", 60 * PST_S, 11},
        {"6560 / 300 s, beside 35", 300 * PST_S, 5},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(rows[i].low_max_wait);
        struct river r;

        river_open(&r, &config, 4);
        river_begin(&r);
        run(&r, 600, 20, 15, 2);
        run(&r, 60, 20, 15, 82);
        expect_term(&r, PST_TERM_AHEAD, rows[i].ahead, rows[i].name);
        expect_term(&r, PST_TERM_NOW, 3, rows[i].name); /* bursts are not staffed for */
        pst_demand_free(r.demand);
    }
}

/* Bursts of 30 s, which a start of 100 s can only miss: what stands must serve them. */
static void short_bursts_add_nothing(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;

    (void)state;
    config.pools[0].slots = 4;
    river_open(&r, &config, 6);
    river_begin(&r);
    run(&r, 600, 3, 4, 3);
    for (int burst = 0; burst < 8; burst++) {
        for (int s = 0; s < 180; s++) {
            run(&r, 1, s < 30 ? 10 : 3, s < 30 ? 13 : 4, s < 30 ? 10 : 3);
            if (burst > 0 && (r.terms[PST_TERM_NOW] > 6 || r.terms[PST_TERM_AHEAD] > 6 ||
                              r.terms[PST_TERM_BACKLOG] > 6 || r.terms[PST_TERM_SLA] > 0))
                fail_msg("burst %d, second %d: %u %u %u %u", burst, s, r.terms[PST_TERM_NOW],
                         r.terms[PST_TERM_AHEAD], r.terms[PST_TERM_BACKLOG], r.terms[PST_TERM_SLA]);
        }
    }
    /* High and medium: 36 s hold 23 x 30 + 7 x 6 slot-seconds, over 36.6 s, and longer windows less. */
    expect_term(&r, PST_TERM_ENVELOPE, 6, "envelope");
    pst_demand_free(r.demand);
}

/* Work that is over before a replica is ready is not worth one. */
static void what_is_over_by_then_is_not_worth_it(void **state)
{
    struct pst_scaler_config config = config_of(6 * PST_S);
    struct river r;

    (void)state;
    river_open(&r, &config, 4);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    run(&r, 20, 20, 15, 82); /* 61 x 20 wait, 19 x 20 more will; 19 x 80 are served by then */
    run(&r, 11, 20, 15, 2);
    assert_true(r.queued[2] > 900);
    assert_false(r.worth);
    assert_true(most_of(&r) <= 4);
    r.supply.ready = 3; /* 5 idle slots are too few */
    ask(&r);
    assert_true(r.worth && r.terms[PST_TERM_AHEAD] > 4);
    r.supply.starting = 1; /* … unless one is on its way */
    r.supply.starting_in = 10 * PST_S;
    ask(&r);
    assert_true(!r.worth && r.terms[PST_TERM_AHEAD] <= 4);
    pst_demand_free(r.demand);
}

/* A shedding class is told no: what it could not hold will not wait when the replica is there. */
static void what_is_refused_does_not_wait(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;

    (void)state;
    config.classes[2].sheds = 1;
    river_open(&r, &config, 4);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    run(&r, 45, 20, 15, 82);
    r.queued[2] = 56 * 60; /* its bound */
    run(&r, 5, 20, 15, 2);
    /* 3,360 wait, and 50 s more of burst add nothing to that; 50 x 19 are served. */
    assert_true(r.terms[PST_TERM_AHEAD] <= 4);
    pst_demand_free(r.demand);
}

static void lasting_load_is_followed(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;
    uint32_t asked_after = 0;

    (void)state;
    river_open(&r, &config, 2);
    river_begin(&r);
    run(&r, 600, 8, 6, 2);
    for (uint32_t s = 1; s <= 300; s++) { /* no queue bound: what is refused came all the same */
        r.queued[0] = r.queued[1] = 0;
        run(&r, 1, 32, 24, 8);
        if (asked_after == 0 && r.terms[PST_TERM_AHEAD] > 2)
            asked_after = s;
    }
    assert_true(asked_after > 0 && asked_after <= 100);
    assert_true(r.terms[PST_TERM_AHEAD] >= 5);
    assert_int_equal(r.terms[PST_TERM_NOW], 5); /* 64 slots: it is no burst any more */
    pst_demand_free(r.demand);
}

/* A backlog that its class does not tolerate, and that stays. */
static void backlog_is_brought_down_within_the_deadline(void **state)
{
    struct pst_scaler_config config = config_of(300 * PST_S);
    struct river r;

    (void)state;
    river_open(&r, &config, 4);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    assert_true(pst_demand_backlog(r.demand, &r.supply) == 0);
    r.queued[2] = 21 * 101;
    run(&r, 1, 20, 15, 2); /* high and medium leave 21 slots: it waits 100 s of 300 */
    assert_true(pst_demand_backlog(r.demand, &r.supply) / PST_S == 37);
    expect_term(&r, PST_TERM_BACKLOG, 0, "tolerated");
    assert_true(pst_demand_bears(r.demand, 4));
    r.queued[2] = 56 * 400;
    run(&r, 1, 20, 15, 2);
    assert_false(pst_demand_bears(r.demand, 4));
    /* 22,381 - 1,900 wait at u; with what comes until u + D, and high and medium in the 150 s after that,
     * (20,481 + 11,100 + 5,250) / 450 s: 81.8 slots. */
    expect_term(&r, PST_TERM_BACKLOG, 6, "not tolerated");
    r.supply.ready = 0;
    run(&r, 1, 20, 15, 2);
    assert_true(pst_demand_backlog(r.demand, &r.supply) == PST_NEVER);
    memset(r.queued, 0, sizeof r.queued);
    run(&r, 1, 0, 0, 0);
    assert_true(pst_demand_backlog(r.demand, &r.supply) == 0); /* of nothing */
    pst_demand_free(r.demand);
}

/* The gate fills three quarters of 56 slots: 42, of which 37 x 4 / 3 / 0.9 slots leave room. */
static void slots_that_are_not_filled_do_not_count(void **state)
{
    struct pst_scaler_config config = config_of(300 * PST_S);
    struct river r;

    (void)state;
    river_open(&r, &config, 4);
    river_begin(&r);
    run(&r, 300, 20, 15, 2);
    expect_term(&r, PST_TERM_NOW, 3, "all slots, as far as is known");
    r.usable = 0.75;
    r.queued[2] = 1000;
    run(&r, 100, 20, 15, 2);
    expect_term(&r, PST_TERM_NOW, 4, "three quarters");
    /* Beside high and medium 42 slots leave 7 for what waits, 56 would leave 21. */
    assert_true(pst_demand_bears(r.demand, 4));
    r.queued[2] = 7 * 250;
    run(&r, 1, 20, 15, 2);
    assert_false(pst_demand_bears(r.demand, 4));
    pst_demand_free(r.demand);
}

static void lateness_while_all_slots_are_in_use_asks_for_one_more(void **state)
{
    static const struct {
        const char *name;
        double high, late;
        uint32_t seconds, want;
    } rows[] = {
        {"two in a hundred late, all in use", 14, 0.02, 60, 2},
        {"not for long enough", 14, 0.02, 25, 0},
        {"few enough", 14, 0.005, 60, 0},
        {"slots are free: more would not help", 10, 0.02, 60, 0},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(60 * PST_S);
        const double slots[3] = {rows[i].high, 0, 0};
        struct river r;

        river_open(&r, &config, 1);
        river_begin(&r);
        run(&r, 120, rows[i].high, 0, 0);
        for (uint32_t s = 0; s < rows[i].seconds; s++) {
            tell(&r, slots, rows[i].late);
            r.now += PST_S;
            pst_demand_tick(r.demand, r.now, r.supply.start, true);
        }
        ask(&r);
        expect_term(&r, PST_TERM_SLA, rows[i].want, rows[i].name);
        pst_demand_free(r.demand);
    }
}

/* ---- scale-in ---- */

/* What scale-in would leave is not asked back as long as what comes does not change. */
static void what_is_left_is_enough(void **state)
{
    static const struct {
        const char *name;
        pst_ns low_max_wait;
        double queued;
    } rows[] = {
        {"nothing waits", 60 * PST_S, 0},
        {"a backlog drains", 60 * PST_S, 5000},
        {"a large one, of work that can wait", 300 * PST_S, 12000},
        {"a small one", 6 * PST_S, 300},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(rows[i].low_max_wait);
        struct river r;
        uint32_t left = 1, asked = 0;

        river_open(&r, &config, 9);
        river_begin(&r);
        run(&r, 600, 20, 15, 2);
        r.queued[2] = rows[i].queued;
        run(&r, 1, 20, 15, 2);
        while (pst_demand_most(r.demand, &r.supply, left, 160 * PST_S) > left)
            left++;
        assert_true(left >= 3 && left <= 9);
        r.supply.ready = left;
        for (uint32_t s = 0; s < 160; s++) {
            run(&r, 1, 20, 15, 2);
            asked = most_of(&r) > asked ? most_of(&r) : asked;
        }
        if (asked > left)
            fail_msg("%s: %u were left, %u asked for", rows[i].name, left, asked);
        pst_demand_free(r.demand);
    }
}

static void fewer_replicas_bear_what_they_can(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;

    (void)state;
    river_open(&r, &config, 6);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    assert_false(pst_demand_bears(r.demand, 0));
    assert_false(pst_demand_bears(r.demand, 2));
    assert_true(pst_demand_bears(r.demand, 3));
    r.queued[2] = 300; /* 253 after a second: 36 s of the 7 slots that 42 leave, 7.2 s of 35 */
    run(&r, 1, 20, 15, 2);
    assert_false(pst_demand_bears(r.demand, 3));
    assert_true(pst_demand_bears(r.demand, 5));
    pst_demand_free(r.demand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_work_is_staffed_for),
        cmocka_unit_test(an_unknown_burst_is_expected_to_last_as_long_again),
        cmocka_unit_test(short_bursts_add_nothing),
        cmocka_unit_test(what_is_over_by_then_is_not_worth_it),
        cmocka_unit_test(what_is_refused_does_not_wait),
        cmocka_unit_test(lasting_load_is_followed),
        cmocka_unit_test(backlog_is_brought_down_within_the_deadline),
        cmocka_unit_test(slots_that_are_not_filled_do_not_count),
        cmocka_unit_test(lateness_while_all_slots_are_in_use_asks_for_one_more),
        cmocka_unit_test(what_is_left_is_enough),
        cmocka_unit_test(fewer_replicas_bear_what_they_can),
    };

    pst_assert_hook = harness_assert_hook;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
