/* test_metric.c - cells: where they are, what falls into which, what is dropped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/metric.h"

static const struct pst_metric_sizes sizes = {
    .pools = 2,
    .classes = 3,
    .lengths = 3,
    .outcomes = 5,
    .reasons = 4,
    .replicas = 6,
    .states = 7,
    .refusals = 2,
};

static struct pst_metrics *metrics_new(void)
{
    struct pst_metrics *metrics;

    assert_int_equal(pst_metrics_new(&sizes, &metrics), PST_OK);
    return metrics;
}

static void every_cell_has_labels_of_its_own(void **state)
{
    struct pst_metrics *metrics = metrics_new();

    (void)state;
    for (int m = 0; m < PST_METRIC_COUNT; m++) {
        if (pst_metric_rows[m].type == PST_METRIC_HISTOGRAM)
            continue;
        for (uint32_t cell = 0; cell < pst_metric_cells(metrics, m); cell++)
            pst_metric_set(metrics, m, pst_metric_labels(metrics, m, cell), cell + 1);
        for (uint32_t cell = 0; cell < pst_metric_cells(metrics, m); cell++)
            assert_int_equal(pst_metric_value(metrics, m, cell), cell + 1);
    }
    assert_int_equal(pst_metrics_dropped(metrics), 0);
    pst_metrics_free(metrics);
}

static void an_index_out_of_range_is_counted_and_touches_nothing(void **state)
{
    static const struct pst_labels rows[] = {
        {.pool = 2}, {.class_ = 3}, {.outcome = 5}, {.reason = 4}, {.pool = UINT16_MAX},
    };
    struct pst_metrics *metrics = metrics_new();

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        pst_metric_add(metrics, PST_METRIC_REQUESTS, rows[i], 1);
        assert_int_equal(pst_metrics_dropped(metrics), i + 1);
    }
    for (uint32_t cell = 0; cell < pst_metric_cells(metrics, PST_METRIC_REQUESTS); cell++)
        assert_int_equal(pst_metric_value(metrics, PST_METRIC_REQUESTS, cell), 0);
    /* Labels that a row does not have may be anything. */
    pst_metric_add(metrics, PST_METRIC_STALE, (struct pst_labels){.pool = 99, .replica = 99}, 2);
    assert_int_equal(pst_metric_value(metrics, PST_METRIC_STALE, 0), 2);
    pst_metrics_free(metrics);
}

static void a_value_falls_into_the_first_bucket_that_holds_it(void **state)
{
    static const struct {
        pst_ns value;
        uint32_t bucket;
    } rows[] = {
        {0, 0},
        {PST_MS, 0},
        {PST_MS + 1, 1},
        {2 * PST_MS, 1},
        {1800 * PST_S, PST_METRIC_BOUNDS - 1},
        {1800 * PST_S + 1, PST_METRIC_BOUNDS},
    };
    const struct pst_labels labels = {.pool = 1, .class_ = 2, .length = 1};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_metrics *metrics = metrics_new();
        uint32_t hits = 0;

        pst_metric_observe(metrics, PST_METRIC_QUEUE_WAIT, labels, rows[i].value);
        for (uint32_t cell = 0; cell < pst_metric_cells(metrics, PST_METRIC_QUEUE_WAIT); cell++) {
            const struct pst_metric_histogram *histogram =
                pst_metric_histogram(metrics, PST_METRIC_QUEUE_WAIT, cell);

            if (histogram->count == 0)
                continue;
            hits++;
            assert_int_equal(histogram->sum, rows[i].value);
            assert_int_equal(histogram->buckets[rows[i].bucket], 1);
            assert_int_equal(pst_metric_labels(metrics, PST_METRIC_QUEUE_WAIT, cell).class_, 2);
        }
        assert_int_equal(hits, 1);
        pst_metrics_free(metrics);
    }
}

static void the_table_keeps_its_naming_rules(void **state)
{
    (void)state;
    for (int i = 1; i < PST_METRIC_BOUNDS; i++)
        assert_true(pst_metric_bounds[i - 1] < pst_metric_bounds[i]);
    for (int m = 0; m < PST_METRIC_COUNT; m++) {
        const char *name = pst_metric_rows[m].name, *total = strstr(name, "_total");
        bool is_total = total != NULL && total[6] == '\0';

        assert_int_equal(is_total, pst_metric_rows[m].type == PST_METRIC_COUNTER);
        assert_int_equal(pst_metric_rows[m].help[strlen(pst_metric_rows[m].help) - 1], '.');
        for (int other = 0; other < m; other++)
            assert_string_not_equal(name, pst_metric_rows[other].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_has_labels_of_its_own),
        cmocka_unit_test(an_index_out_of_range_is_counted_and_touches_nothing),
        cmocka_unit_test(a_value_falls_into_the_first_bucket_that_holds_it),
        cmocka_unit_test(the_table_keeps_its_naming_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
