/* An expectation is judged on every seed, and the worst is told; what was not run is not judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/study.h"

#define SEEDS 3
#define FIRST 40 /* seed */

/* Refusals of policy "a" and "b" by seed, and what is expected of them. */
struct row {
    const char *promise;
    uint64_t a[SEEDS], b[SEEDS];
    enum pst_comparison comparison;
    double bound;
    bool relative; /* to b */
    bool b_runs;
    bool judged, met;
    double value;
    uint64_t seed;
};

static const struct row rows[] = {
    {"met on all: the closest is told",
     {1, 9, 4},
     {0},
     PST_AT_MOST,
     10,
     false,
     true,
     true,
     true,
     9,
     41},
    {"one breach is a breach", {1, 9, 11}, {0}, PST_AT_MOST, 10, false, true, true, false, 11, 42},
    {"of breaches the farthest",
     {12, 30, 11},
     {0},
     PST_AT_MOST,
     10,
     false,
     true,
     true,
     false,
     30,
     41},
    {"at the bound it is met", {10, 10, 10}, {0}, PST_AT_MOST, 10, false, true, true, true, 10, 40},
    {"below does not hold there", {10, 9, 9}, {0}, PST_BELOW, 10, false, true, true, false, 10, 40},
    {"at least: the least is told",
     {12, 30, 11},
     {0},
     PST_AT_LEAST,
     10,
     false,
     true,
     true,
     true,
     11,
     42},
    {"equal", {0, 0, 1}, {0}, PST_EQUAL, 0, false, true, true, false, 1, 42},
    {"against another policy, seed by seed",
     {5, 6, 20},
     {10, 10, 30},
     PST_AT_MOST,
     0.55,
     true,
     true,
     true,
     false,
     20,
     42},
    {"the other was not run: nothing is said",
     {5, 6, 20},
     {0},
     PST_AT_MOST,
     0.55,
     true,
     false,
     false,
     false,
     0,
     0},
};

static void judge_row(const struct row *row)
{
    static struct pst_sim_report reports[2][SEEDS];
    struct pst_scenario_policy policies[2] = {{.name = "a"}, {.name = "b"}};
    struct pst_expectation expectation = {
        .measure = PST_MEASURE_REFUSED,
        .comparison = row->comparison,
        .bound = row->bound,
        .relative_to = row->relative ? 1 : UINT32_MAX,
    };
    struct pst_scenario scenario = {
        .policies = policies,
        .policies_count = 2,
        .expectations = &expectation,
        .expectations_count = 1,
    };
    struct pst_study_run runs[2 * SEEDS] = {0};
    struct pst_study study = {
        .scenario = &scenario,
        .policies = {{policies[0], 0}, {policies[1], 1}},
        .policies_count = row->b_runs ? 2 : 1,
        .seed = FIRST,
        .seeds_count = SEEDS,
        .runs = runs,
        .runs_count = 2 * SEEDS,
    };
    struct pst_verdict verdict;
    uint32_t judged;

    scenario.gate.classes_count = 1;
    for (uint32_t i = 0; i < SEEDS; i++) {
        reports[0][i].classes[0].outcomes[PST_OUTCOME_REFUSED] = row->a[i];
        reports[1][i].classes[0].outcomes[PST_OUTCOME_REFUSED] = row->b[i];
        runs[i].report = &reports[0][i];
        runs[SEEDS + i].report = &reports[1][i];
    }
    pst_study_judge(&study, &expectation, &verdict);
    if (verdict.judged != row->judged ||
        (row->judged &&
         (verdict.met != row->met || verdict.value != row->value || verdict.seed != row->seed)))
        fail_msg("%s: judged %d met %d value %g seed %llu", row->promise, verdict.judged,
                 verdict.met, verdict.value, (unsigned long long)verdict.seed);
    assert_int_equal(pst_study_breaches(&study, &judged), row->judged && !row->met);
    assert_int_equal(judged, row->judged);
}

static void every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        judge_row(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_row)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
