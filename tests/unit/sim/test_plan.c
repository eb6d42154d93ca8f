/* test_plan.c - sizing: formulas against sums of their own, methods, searches, verdicts. */
#include "scene.h"

#include "core/num.h"
#include "sim/plan.h"
#include "sim/queue.h"

#define HOUR (3600 * PST_S)

static struct scene scene;
static struct pst_plan_scene plan;

static void measured(struct pst_plan_load *ret_load)
{
    pst_plan_scene(&scene.scenario, 0, &plan);
    assert_int_equal(pst_plan_measure(&plan, 1, ret_load), PST_OK);
}

static void assert_near(const char *what, double value, double expected, double part)
{
    if (!(value >= expected * (1 - part) && value <= expected * (1 + part)))
        fail_msg("%s: %g, expected %g", what, value, expected);
}

/* ---- what is measured, and which method follows ---- */

struct row {
    const char *promise;
    double per_s;
    const char *gaps, *service;
    double burst_per_s; /* 60 s of every 10 min */
    double wave_per_s;  /* beside the rate, every other half hour */
    uint16_t sequences;
    bool token_mode;
    enum pst_plan_method method;
};

static const struct row rows[] = {
    {"a Poisson stream and exponential service", 10, "exp:1", "exp:100ms", 0, 0, 1, false,
     PST_PLAN_FORMULA},
    {"constant service", 10, "exp:1", "const:100ms", 0, 0, 1, false, PST_PLAN_FORMULA},
    {"gaps of twice the variation are Allen-Cunneen's", 10, "gamma:1.5:1", "exp:100ms", 0, 0, 1,
     false, PST_PLAN_FORMULA},
    {"gaps of five times are not", 10, "gamma:5:1", "exp:100ms", 0, 0, 1, false, PST_PLAN_BURSTS},
    {"bursts", 10, "exp:1", "exp:100ms", 200, 0, 1, false, PST_PLAN_BURSTS},
    {"a rate that goes up and down", 10, "exp:1", "exp:100ms", 0, 5, 1, false, PST_PLAN_WAVES},
    {"a tail without variance", 10, "exp:1", "pareto:1.8:100ms", 0, 0, 1, false,
     PST_PLAN_HEAVY_TAIL},
    {"a tail with one", 10, "exp:1", "pareto:2.5:100ms", 0, 0, 1, false, PST_PLAN_FORMULA},
    {"service all over the place", 10, "exp:1", "lognormal:5:100ms", 0, 0, 1, false,
     PST_PLAN_SPREAD},
    {"several slots at once", 10, "exp:1", "exp:100ms", 0, 0, 2, false, PST_PLAN_SEQUENCES},
    {"an engine that batches", 10, "exp:1", "exp:100ms", 0, 0, 1, true, PST_PLAN_ENGINE},
};

static void test_methods(void **state)
{
    const struct pst_rate_piece pieces[] = {{0, 0}, {HOUR / 2, 5}};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct pst_stream *stream;
        struct pst_plan_load load;

        scene_init(&scene, 6 * HOUR);
        stream = scene_stream(&scene, 1, row->per_s, row->service);
        stream->gaps = scene_law(row->gaps, PST_LAW_NUMBER);
        stream->sequences = row->sequences;
        scene.scenario.pools[0].token_mode = row->token_mode;
        if (row->burst_per_s > 0) {
            stream->burst.every = 600 * PST_S;
            stream->burst.offset = scene_time("const:100s");
            stream->burst.length = scene_time("const:60s");
            stream->burst.per_s = row->burst_per_s;
        }
        if (row->wave_per_s > 0) {
            stream->pieces = pieces;
            stream->pieces_count = PST_COUNT_OF(pieces);
            stream->period = HOUR;
        }
        measured(&load);
        if (load.methods[1] != row->method)
            fail_msg("%s: %s", row->promise, pst_plan_method_name(load.methods[1]));
        assert_int_equal(load.own[0].arrived, 0);
        assert_int_equal(pst_plan_varies(&plan), row->burst_per_s > 0 || row->wave_per_s > 0);
        if (row->burst_per_s + row->wave_per_s > 0 || row->method != PST_PLAN_FORMULA)
            continue;
        assert_near(row->promise, load.own[1].per_s, 10, 0.03);
        assert_near(row->promise, load.own[1].erlangs, 1, 0.03);
        assert_near(row->promise, load.own[1].service_s, 0.1, 0.01);
        assert_near(row->promise, 1 + load.own[1].service_cv, 1 + pst_law_cv(&stream->service),
                    0.001);
    }
}

static void test_calm_has_no_bursts(void **state)
{
    struct pst_plan_load load;
    struct pst_stream *stream;

    (void)state;
    scene_init(&scene, 2 * HOUR);
    stream = scene_stream(&scene, 0, 10, "exp:100ms");
    stream->burst.every = 600 * PST_S;
    stream->burst.offset = scene_time("const:100s");
    stream->burst.length = scene_time("const:60s");
    stream->burst.per_s = 100;
    measured(&load);
    assert_near("with bursts", load.own[0].per_s, 20, 0.05);
    pst_plan_calm(&plan);
    assert_int_equal(pst_plan_measure(&plan, 1, &load), PST_OK);
    assert_near("without", load.own[0].per_s, 10, 0.05);
    assert_int_equal(load.methods[0], PST_PLAN_FORMULA);
}

static void test_a_pool_is_a_scene_of_its_own(void **state)
{
    struct pst_plan_load load;

    (void)state;
    scene_init(&scene, HOUR);
    scene.scenario.gate.pools_count = scene.scenario.scaler.pools_count = 2;
    scene.scenario.gate.pools[1] = scene.scenario.gate.pools[0];
    scene.scenario.gate.pools[1].slots = 7;
    scene_stream(&scene, 0, 10, "exp:100ms");
    scene_stream(&scene, 0, 20, "exp:100ms")->pool = 1;
    scene_fault(&scene, PST_FAULT_KILL, 10, 20, 1);
    pst_plan_scene(&scene.scenario, 1, &plan);
    assert_int_equal(plan.scenario.gate.pools[0].slots, 7);
    assert_int_equal(plan.scenario.faults_count, 0);
    assert_int_equal(pst_plan_measure(&plan, 1, &load), PST_OK);
    assert_near("its own arrivals", load.own[0].per_s, 20, 0.05);
    plan.scenario.cut = plan.scenario.horizon;
    assert_int_equal(pst_plan_measure(&plan, 1, &load), PST_E_INVALID);
}

/* ---- formulas ---- */

/* P(wait > 0) of M/M/n from its sum, term by term: not by the recursion that is tested. */
static double erlang_c(double a, uint32_t n)
{
    double term = 1, sum = 0;

    for (uint32_t k = 0; k < n; k++) {
        sum += term;
        term *= a / (k + 1);
    }
    term *= n / (n - a);
    return term / (sum + term);
}

static double late(double a, uint32_t n, double target_services)
{
    return erlang_c(a, n) * pst_exp(-(n - a) * target_services);
}

static void test_formula_is_erlangs(void **state)
{
    static const double loads[] = {0.5, 2, 5, 10, 20, 50, 100};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(loads); i++) {
        struct pst_plan_load load = {.classes_count = 3};
        uint32_t n;
        double wait;

        scene_init(&scene, HOUR);
        scene.scenario.gate.pools[0].slots = 1;
        load.upto[0] = (struct pst_plan_stream){.arrived = 1000,
                                                .erlangs = loads[i],
                                                .service_s = 0.2, /* the target is half of it */
                                                .service_cv = 1,
                                                .dispersion = 1};
        n = pst_plan_replicas(&load, &scene.scenario, 0, 256);
        assert_true(late(loads[i], n, 0.5) <= 0.01);
        if (n > loads[i] + 1)
            assert_true(late(loads[i], n - 1, 0.5) > 0.01);
        wait = pst_plan_wait_p99(&load, 0, n);
        assert_true(wait <= 0.1);
        if (wait > 0)
            assert_near("P99", late(loads[i], n, wait / 0.2), 0.01, 1e-6);
        scene.scenario.gate.pools[0].slots = 4;
        assert_int_equal(pst_plan_replicas(&load, &scene.scenario, 0, 256), (n + 3) / 4);
    }
}

/* Published: 10 erlangs want 17 servers for P(wait > 0) below 5 %, and 18 below 3 %. */
static void test_formula_meets_tables(void **state)
{
    struct pst_plan_load load = {.classes_count = 3};

    (void)state;
    scene_init(&scene, HOUR);
    scene.scenario.gate.pools[0].slots = 1;
    scene.scenario.gate.classes[0].target = 1; /* next to nothing */
    load.upto[0] = (struct pst_plan_stream){
        .arrived = 1, .erlangs = 10, .service_s = 100, .service_cv = 1, .dispersion = 1};
    assert_near("17 servers", erlang_c(10, 17), 0.0309, 0.5);
    assert_int_equal(pst_plan_replicas(&load, &scene.scenario, 0, 256), 19);
    assert_true(erlang_c(10, 18) > 0.01 && erlang_c(10, 19) <= 0.01);
}

static void test_queue_bound(void **state)
{
    struct pst_plan_load load = {.classes_count = 3};

    (void)state;
    scene_init(&scene, HOUR);
    load.own[0].service_s = 0.1;
    load.own[2].service_s = 0.5;
    load.upto[1].erlangs = 6;
    /* 2 x 4 slots at 100 ms are 80 requests a second, for 5 s */
    assert_int_equal(pst_plan_queue_bound(&load, &scene.scenario, 0, 2), 400);
    assert_int_equal(pst_plan_queue_bound(&load, &scene.scenario, 1, 2), 0);
    /* 2 slots are left at 500 ms: 4 a second, for 60 s */
    assert_int_equal(pst_plan_queue_bound(&load, &scene.scenario, 2, 2), 240);
    assert_int_equal(pst_plan_queue_bound(&load, &scene.scenario, 2, 1), 0);
}

/* ---- searches ---- */

struct oracle {
    uint32_t needed;
    uint32_t tries;
    bool tried[65];
};

static int ask(void *user, uint32_t replicas, bool *ret_passes)
{
    struct oracle *oracle = user;

    assert_true(replicas >= 1 && replicas <= 64);
    assert_false(oracle->tried[replicas]);
    oracle->tried[replicas] = true;
    oracle->tries++;
    *ret_passes = replicas >= oracle->needed;
    return PST_OK;
}

static void test_search_finds_the_least(void **state)
{
    (void)state;
    for (uint32_t needed = 1; needed <= 64; needed++) {
        for (uint32_t from = 1; from <= 64; from++) {
            struct oracle oracle = {.needed = needed};
            uint32_t found = 0;

            assert_int_equal(pst_plan_search(ask, &oracle, from, 64, &found), PST_OK);
            assert_int_equal(found, needed);
            assert_true(oracle.tried[needed]);
            assert_true(needed == 1 || oracle.tried[needed - 1]);
            assert_true(oracle.tries <= 14);
        }
    }
}

static void test_search_says_when_nothing_is_enough(void **state)
{
    struct oracle oracle = {.needed = 65};
    uint32_t found = 7;

    (void)state;
    assert_int_equal(pst_plan_search(ask, &oracle, 3, 64, &found), PST_E_FULL);
    assert_int_equal(found, 7);
}

static bool passes_with(uint32_t replicas)
{
    const struct pst_scenario_policy policy = {.gate = PST_SCENARIO_NONE,
                                               .pilot = PST_PILOT_STATIC,
                                               .replicas = replicas,
                                               .warm = UINT32_MAX};
    struct pst_sim_report *report = calloc(1, sizeof *report);
    const char *why;
    bool passes;

    assert_non_null(report);
    assert_int_equal(pst_queue_run(&plan.scenario, &policy, 1, report, &why), PST_OK);
    passes = pst_plan_passes(report, &plan.scenario);
    free(report);
    return passes;
}

static void test_the_plain_queue_agrees(void **state)
{
    struct pst_plan_load load;
    const char *why;
    uint32_t found = 0;

    (void)state;
    scene_init(&scene, 2 * HOUR);
    scene.scenario.gate.pools[0].slots = 1;
    scene.scenario.gate.classes[0].target = 20 * PST_MS;
    scene_stream(&scene, 0, 100, "exp:100ms");
    measured(&load);
    assert_int_equal(pst_plan_search_queue(&plan, &load, 1, 1, 256, &found, &why), PST_OK);
    assert_true(passes_with(found));
    assert_false(passes_with(found - 1));
    /* the formula is exact here: only chance lies between the two */
    assert_in_range(pst_plan_replicas(&load, &plan.scenario, 0, 256), found - 1, found + 1);
    assert_int_equal(pst_plan_search_queue(&plan, &load, 1, 1, 9, &found, &why), PST_E_FULL);
    plan.scenario.pools[0].token_mode = true;
    assert_int_equal(pst_plan_search_queue(&plan, &load, 1, 200, 256, &found, &why), PST_E_INVALID);
    assert_non_null(strstr(why, "iterations"));
}

/* ---- the warm pool ---- */

static const struct {
    const char *promise;
    struct pst_plan_offer offers[4]; /* without warm ones, 1, 2, one more ready */
    enum pst_plan_worth worth;
    uint32_t best;
} verdicts[] = {
    {"who lacks nothing needs nothing",
     {{.meets = true, .in_target = 1000, .hours = 10},
      {.meets = true, .in_target = 1001, .hours = 11, .extra_hours = 1, .extra_in_target = 1},
      {.meets = true, .in_target = 1001, .hours = 12, .extra_hours = 2, .extra_in_target = 1},
      {.meets = true, .in_target = 1001, .hours = 11, .extra_hours = 1, .extra_in_target = 1}},
     PST_PLAN_NOT_NEEDED,
     1},
    {"the second makes it meet, and a ready one does not",
     {{.in_target = 900, .hours = 10},
      {.in_target = 905, .hours = 11, .extra_hours = 1, .extra_in_target = 5},
      {.meets = true, .in_target = 995, .hours = 12, .extra_hours = 2, .extra_in_target = 95},
      {.in_target = 910, .hours = 11, .extra_hours = 1, .extra_in_target = 10}},
     PST_PLAN_WORTH_IT,
     2},
    {"a ready one makes it meet for no more",
     {{.in_target = 900, .hours = 10},
      {.meets = true, .in_target = 995, .hours = 11, .extra_hours = 1, .extra_in_target = 95},
      {.meets = true, .in_target = 996, .hours = 12, .extra_hours = 2, .extra_in_target = 96},
      {.meets = true, .in_target = 999, .hours = 11, .extra_hours = 1, .extra_in_target = 99}},
     PST_PLAN_READY_IS_BETTER,
     1},
    {"an hour of it brings less than an hour of the pool",
     {{.in_target = 900, .hours = 10},
      {.in_target = 905, .hours = 11, .extra_hours = 1, .extra_in_target = 5},
      {.in_target = 906, .hours = 12, .extra_hours = 2, .extra_in_target = 6},
      {.in_target = 904, .hours = 11, .extra_hours = 1, .extra_in_target = 4}},
     PST_PLAN_TOO_LITTLE,
     1},
    {"it brings more, though not enough",
     {{.in_target = 500, .hours = 10},
      {.in_target = 600, .hours = 11, .extra_hours = 1, .extra_in_target = 100},
      {.in_target = 640, .hours = 12, .extra_hours = 2, .extra_in_target = 140},
      {.in_target = 540, .hours = 11, .extra_hours = 1, .extra_in_target = 40}},
     PST_PLAN_WORTH_IT,
     1},
    {"it brings something for nothing",
     {{.in_target = 500, .hours = 10},
      {.in_target = 501, .hours = 9, .extra_hours = -1, .extra_in_target = 1},
      {.in_target = 501, .hours = 11, .extra_hours = 1, .extra_in_target = 1},
      {.in_target = 500, .hours = 11, .extra_hours = 1, .extra_in_target = 0}},
     PST_PLAN_WORTH_IT,
     1},
    {"only a ready one brings anything",
     {{.in_target = 500, .hours = 10},
      {.in_target = 500, .hours = 11, .extra_hours = 1, .extra_in_target = 0},
      {.in_target = 500, .hours = 12, .extra_hours = 2, .extra_in_target = 0},
      {.in_target = 700, .hours = 11, .extra_hours = 1, .extra_in_target = 200}},
     PST_PLAN_READY_IS_BETTER,
     1},
};

static void test_verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(verdicts); i++) {
        uint32_t best = 99;
        const enum pst_plan_worth worth = pst_plan_judge(verdicts[i].offers, 4, &best);

        if (worth != verdicts[i].worth || best != verdicts[i].best)
            fail_msg("%s: %s, %u", verdicts[i].promise, pst_plan_worth_name(worth), best);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_calm_has_no_bursts),
        cmocka_unit_test(test_a_pool_is_a_scene_of_its_own),
        cmocka_unit_test(test_formula_is_erlangs),
        cmocka_unit_test(test_formula_meets_tables),
        cmocka_unit_test(test_queue_bound),
        cmocka_unit_test(test_search_finds_the_least),
        cmocka_unit_test(test_search_says_when_nothing_is_enough),
        cmocka_unit_test(test_the_plain_queue_agrees),
        cmocka_unit_test(test_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
