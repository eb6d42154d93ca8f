/* test_queue.c - the plain queue, job by job. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/queue.h"

#define SPAN (1000 * PST_S)

struct plan {
    const char *promise;
    uint32_t replicas, slots;
    struct pst_arrival_row rows[6];
    uint32_t count;
    double sum_s[2], worst_s[2]; /* of waits, by class */
};

static const struct plan plans[] = {
    {"who comes to a free server begins at once",
     1,
     2,
     {{.at = 0, .service = 5 * PST_S}, {.at = PST_S, .service = 5 * PST_S}},
     2,
     {0, 0},
     {0, 0}},
    {"first come, first served within a class",
     1,
     1,
     {{.at = 0, .service = 5 * PST_S},
      {.at = PST_S, .service = 5 * PST_S},
      {.at = 2 * PST_S, .service = PST_S}},
     3,
     {4 + 8, 0},
     {8, 0}},
    {"the higher class is next, and nobody is interrupted",
     1,
     1,
     {{.at = 0, .class_ = 1, .service = 10 * PST_S},
      {.at = PST_S, .class_ = 1, .service = 5 * PST_S},
      {.at = 2 * PST_S, .class_ = 0, .service = 3 * PST_S}},
     3,
     {8, 12},
     {8, 12}},
    {"a server that is free the moment somebody comes is free for him",
     1,
     1,
     {{.at = 0, .service = 5 * PST_S}, {.at = 5 * PST_S, .service = PST_S}},
     2,
     {0, 0},
     {0, 0}},
    {"servers are replicas x slots",
     2,
     2,
     {{.at = 0, .service = 9 * PST_S},
      {.at = 0, .service = 9 * PST_S},
      {.at = 0, .service = 9 * PST_S},
      {.at = 0, .service = 4 * PST_S},
      {.at = PST_S, .service = 9 * PST_S}},
     5,
     {3, 0},
     {3, 0}},
    {"a line that was empty is used again",
     1,
     1,
     {{.at = 0, .service = 2 * PST_S},
      {.at = PST_S, .service = 2 * PST_S},
      {.at = 10 * PST_S, .service = 2 * PST_S},
      {.at = 11 * PST_S, .service = 2 * PST_S}},
     4,
     {2, 0},
     {1, 0}},
};

static struct pst_scenario scenario;
static struct pst_stream stream;
static struct pst_sim_report report;

static void set_up(const struct plan *plan)
{
    memset(&scenario, 0, sizeof scenario);
    memset(&stream, 0, sizeof stream);
    stream.rows = plan->rows;
    stream.rows_count = plan->count;
    stream.end = PST_NEVER;
    stream.sequences = 1;
    scenario.streams = &stream;
    scenario.streams_count = 1;
    scenario.horizon = SPAN;
    scenario.gate.classes_count = 2;
    scenario.gate.pools_count = 1;
    scenario.gate.pools[0].slots = plan->slots;
    scenario.scaler.pools[0].min = scenario.scaler.pools[0].max = plan->replicas;
}

static void jobs_wait_as_they_should(void **state)
{
    struct pst_scenario_policy policy = {.pilot = PST_PILOT_STATIC, .gate = PST_SCENARIO_NONE};
    const char *why;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(plans); i++) {
        const struct plan *plan = &plans[i];

        set_up(plan);
        assert_int_equal(pst_queue_run(&scenario, &policy, 1, &report, &why), PST_OK);
        assert_int_equal(report.arrivals_total, plan->count);
        assert_int_equal(report.events_total, 2 * plan->count);
        for (int c = 0; c < 2; c++) {
            const struct pst_report_class *got = &report.classes[c];

            if (got->wait.sum != plan->sum_s[c] * 1e9 || got->wait.max != plan->worst_s[c] * 1e9)
                fail_msg("%s: class %d waited %f s, at worst %f s", plan->promise, c,
                         (double)got->wait.sum / 1e9, (double)got->wait.max / 1e9);
            assert_true(got->outcomes[PST_OUTCOME_DONE] == got->arrived);
        }
    }
}

static void replicas_are_paid_for(void **state)
{
    struct pst_scenario_policy policy = {.pilot = PST_PILOT_STATIC, .replicas = 3};
    const char *why;

    (void)state;
    set_up(&plans[0]);
    scenario.cut = SPAN / 4;
    scenario.scaler.pools[0].cost_micro = 3600;
    assert_int_equal(pst_queue_run(&scenario, &policy, 1, &report, &why), PST_OK);
    assert_true(report.replica_ns[PST_REPLICA_READY] == 3 * (SPAN - SPAN / 4));
    assert_true(report.cost_micro == 3 * 750);
    assert_true(report.ready_min == 3 && report.existing_max == 3);
    assert_true(report.classes[0].arrived == 0);
}

static void what_is_no_plain_queue_is_refused(void **state)
{
    struct pst_scenario_policy policy = {.pilot = PST_PILOT_STATIC};
    struct pst_fault fault = {0};
    const char *why = NULL;

    (void)state;
    set_up(&plans[0]);
    policy.pilot = PST_PILOT_AHEAD;
    assert_int_equal(pst_queue_run(&scenario, &policy, 1, &report, &why), PST_E_INVALID);
    assert_non_null(why);
    policy.pilot = PST_PILOT_STATIC;
    scenario.pools[0].token_mode = true;
    assert_int_equal(pst_queue_run(&scenario, &policy, 1, &report, &why), PST_E_INVALID);
    set_up(&plans[0]);
    scenario.faults = &fault;
    scenario.faults_count = 1;
    assert_int_equal(pst_queue_run(&scenario, &policy, 1, &report, &why), PST_E_INVALID);
    set_up(&plans[0]);
    stream.sequences = 2;
    assert_int_equal(pst_queue_run(&scenario, &policy, 1, &report, &why), PST_E_INVALID);
    set_up(&plans[0]);
    scenario.scaler.pools[0].min = 0;
    assert_int_equal(pst_queue_run(&scenario, &policy, 1, &report, &why), PST_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_wait_as_they_should),
        cmocka_unit_test(replicas_are_paid_for),
        cmocka_unit_test(what_is_no_plain_queue_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
