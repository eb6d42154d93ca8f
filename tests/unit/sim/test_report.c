/* test_report.c - what is said of a report that was filled by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/report.h"

#define HOUR (3600 * PST_S)

static struct pst_sim_report report, idle;
static struct pst_scenario scenario;

/*
 * Two hours of two classes: the first waited 1, 2, 3 and 4 s, two of them in target; the second 10 s,
 * once, and lost two tickets.
 */
static int fill(void **state)
{
    struct pst_report_class *high = &report.classes[0], *low = &report.classes[1];

    (void)state;
    memset(&report, 0, sizeof report);
    memset(&idle, 0, sizeof idle);
    memset(&scenario, 0, sizeof scenario);
    scenario.gate.classes_count = 2;
    report.begin = HOUR;
    report.end = 3 * HOUR;
    idle.begin = idle.end = HOUR;
    high->arrived = 4;
    high->in_target = 2;
    high->in_deadline = 3;
    high->outcomes[PST_OUTCOME_DONE] = 4;
    for (uint64_t s = 1; s <= 4; s++) {
        pst_hist_add(&high->wait, s * PST_S);
        high->batches[s - 1].count = 1;
        high->batches[s - 1].sum_ns = s * PST_S;
        high->batches[s - 1].p99_ns = s * PST_S;
    }
    low->arrived = 4;
    low->in_deadline = 1;
    low->outcomes[PST_OUTCOME_DONE] = 1;
    low->outcomes[PST_OUTCOME_REFUSED] = 2;
    low->outcomes[PST_OUTCOME_EXPIRED] = 1;
    pst_hist_add(&low->wait, 10 * PST_S);
    pst_hist_add(&low->ttft, 12 * PST_S);
    report.replica_ns[PST_REPLICA_GONE] = 100 * HOUR;
    report.replica_ns[PST_REPLICA_STARTING] = HOUR;
    report.replica_ns[PST_REPLICA_WARM] = 2 * HOUR;
    report.replica_ns[PST_REPLICA_READY] = 6 * HOUR;
    report.replica_ns[PST_REPLICA_DRAINING] = HOUR / 2;
    report.cost_micro = 2500000;
    report.ready_min = 2;
    report.existing_max = 5;
    report.ups = 9;
    report.downs = 4;
    report.direction_changes = 7;
    report.bursts = 2;
    report.killed_in_flight = 3;
    return 0;
}

static const struct {
    uint8_t class_;
    enum pst_measure measure;
    double want;
} rows[] = {
    {0, PST_MEASURE_WAIT_MEAN, 2.5e9},
    {PST_CLASS_DRAWN, PST_MEASURE_WAIT_MEAN, 4e9},
    {0, PST_MEASURE_WAIT_P50, 3e9},
    {0, PST_MEASURE_WAIT_P99, 4e9},
    {PST_CLASS_DRAWN, PST_MEASURE_WAIT_P99, 10e9},
    {1, PST_MEASURE_TTFT_P95, 12e9},
    {0, PST_MEASURE_ATTAINMENT, 500000},
    {PST_CLASS_DRAWN, PST_MEASURE_ATTAINMENT, 250000},
    {1, PST_MEASURE_IN_DEADLINE, 250000},
    {0, PST_MEASURE_ARRIVED, 4},
    {PST_CLASS_DRAWN, PST_MEASURE_DONE, 5},
    {1, PST_MEASURE_REFUSED, 2},
    {PST_CLASS_DRAWN, PST_MEASURE_EXPIRED, 1},
    {0, PST_MEASURE_FAILED, 0},
    {PST_CLASS_DRAWN, PST_MEASURE_REPLICA_HOURS, 9.5},
    {PST_CLASS_DRAWN, PST_MEASURE_COST, 2.5},
    {PST_CLASS_DRAWN, PST_MEASURE_REPLICAS_MIN, 2},
    {PST_CLASS_DRAWN, PST_MEASURE_REPLICAS_MAX, 5},
    {PST_CLASS_DRAWN, PST_MEASURE_SCALE_UPS, 9},
    {PST_CLASS_DRAWN, PST_MEASURE_SCALE_DOWNS, 4},
    {PST_CLASS_DRAWN, PST_MEASURE_DIRECTION_CHANGES, 7},
    {PST_CLASS_DRAWN, PST_MEASURE_DIRECTION_CHANGES_PER_HOUR, 3.5},
    {PST_CLASS_DRAWN, PST_MEASURE_UPS_PER_BURST, 4.5},
    {PST_CLASS_DRAWN, PST_MEASURE_KILLED_IN_FLIGHT, 3},
};

static void values_are_what_was_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        double value = -1;

        assert_true(pst_report_value(&report, &scenario, rows[i].class_, rows[i].measure, &value));
        if (fabs(value - rows[i].want) > rows[i].want / 64) /* the histogram's step */
            fail_msg("%s of class %u: %f, expected %f", pst_measure_name(rows[i].measure),
                     rows[i].class_, value, rows[i].want);
    }
}

static void nothing_seen_says_nothing(void **state)
{
    static const enum pst_measure silent[] = {
        PST_MEASURE_WAIT_MEAN,
        PST_MEASURE_WAIT_P99,
        PST_MEASURE_TTFT_P50,
        PST_MEASURE_ATTAINMENT,
        PST_MEASURE_IN_DEADLINE,
        PST_MEASURE_UPS_PER_BURST,
        PST_MEASURE_DIRECTION_CHANGES_PER_HOUR,
    };
    double value = 7;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(silent); i++)
        assert_false(pst_report_value(&idle, &scenario, 0, silent[i], &value));
    assert_true(value >= 7 && value <= 7);
}

/* 1, 2, 3, 4: mean 2.5, variance 5 / 3, t of three degrees 3.182: 3.182 x sqrt(5 / 12). */
static void batches_give_an_interval(void **state)
{
    double half = 0;

    (void)state;
    assert_true(pst_report_half_width(&report, 0, PST_MEASURE_WAIT_MEAN, &half));
    assert_true(fabs(half - 2.05397217e9) < 1e3);
    assert_true(pst_report_half_width(&report, 0, PST_MEASURE_WAIT_P99, &half));
    assert_true(fabs(half - 2.05397217e9) < 1e3);
    assert_false(pst_report_half_width(&report, 1, PST_MEASURE_WAIT_MEAN, &half));
    assert_false(pst_report_half_width(&report, PST_CLASS_DRAWN, PST_MEASURE_WAIT_P99, &half));
    assert_false(pst_report_half_width(&report, 0, PST_MEASURE_WAIT_P50, &half));
}

static void seeds_give_an_interval(void **state)
{
    static const double alike[] = {3, 3, 3}, two[] = {1, 3};
    double many[200], mean, half;

    (void)state;
    assert_false(pst_report_half_width_of_seeds(two, 1, &mean, &half));
    assert_true(pst_report_half_width_of_seeds(two, 2, &mean, &half));
    assert_true(fabs(mean - 2) < 1e-9 && fabs(half - 12.706) < 1e-9);
    assert_true(pst_report_half_width_of_seeds(alike, 3, &mean, &half));
    assert_true(fabs(mean - 3) < 1e-9 && fabs(half) < 1e-9);
    for (size_t i = 0; i < PST_COUNT_OF(many); i++)
        many[i] = i % 2 == 0 ? 1 : -1;
    assert_true(pst_report_half_width_of_seeds(many, PST_COUNT_OF(many), &mean, &half));
    assert_true(fabs(half - 0.1447535421) < 1e-9);
}

static void expectations_hold_or_are_breached(void **state)
{
    static const struct {
        uint32_t policy, relative_to;
        uint8_t class_;
        enum pst_measure measure;
        enum pst_comparison comparison;
        double bound;
        bool met;
    } expected[] = {
        {0, UINT32_MAX, 1, PST_MEASURE_REFUSED, PST_AT_MOST, 2, true},
        {0, UINT32_MAX, 1, PST_MEASURE_REFUSED, PST_BELOW, 2, false},
        {0, UINT32_MAX, 1, PST_MEASURE_REFUSED, PST_AT_LEAST, 2, true},
        {0, UINT32_MAX, 1, PST_MEASURE_REFUSED, PST_ABOVE, 2, false},
        {0, UINT32_MAX, 1, PST_MEASURE_REFUSED, PST_EQUAL, 2, true},
        {0, UINT32_MAX, 1, PST_MEASURE_REFUSED, PST_EQUAL, 3, false},
        {0, 2, PST_CLASS_DRAWN, PST_MEASURE_REPLICA_HOURS, PST_AT_MOST, 1, true},
        {0, 2, PST_CLASS_DRAWN, PST_MEASURE_REPLICA_HOURS, PST_AT_MOST, 0.95, false},
        {1, UINT32_MAX, 0, PST_MEASURE_REFUSED, PST_ABOVE, 9, true},              /* not run */
        {0, 1, PST_CLASS_DRAWN, PST_MEASURE_REPLICA_HOURS, PST_AT_MOST, 0, true}, /* … nor that */
        {3, UINT32_MAX, 0, PST_MEASURE_WAIT_P99, PST_AT_MOST, 9e9, false}, /* nobody waited */
        {0, 3, 0, PST_MEASURE_WAIT_P99, PST_AT_LEAST, 0, false},
    };
    const struct pst_sim_report *const reports[] = {&report, NULL, &report, &idle};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(expected); i++) {
        struct pst_expectation expectation = {
            .policy = expected[i].policy,
            .relative_to = expected[i].relative_to,
            .class_ = expected[i].class_,
            .measure = expected[i].measure,
            .comparison = expected[i].comparison,
            .bound = expected[i].bound,
        };
        double value = 0, bound = 0;

        if (pst_report_meets(reports, &scenario, &expectation, &value, &bound) != expected[i].met)
            fail_msg("row %zu: %f against %f", i, value, bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_what_was_counted),
        cmocka_unit_test(nothing_seen_says_nothing),
        cmocka_unit_test(batches_give_an_interval),
        cmocka_unit_test(seeds_give_an_interval),
        cmocka_unit_test(expectations_hold_or_are_breached),
    };

    return cmocka_run_group_tests(tests, fill, NULL);
}
