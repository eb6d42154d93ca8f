/* The metrics text: written exactly, and a buffer that is too small says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/prometheus.h"

static void write_page(struct pst_prometheus_page *page)
{
    static const struct pst_prometheus_label labels[] = {{"pool", "chat"}, {"class", "a\"b\\c\nd"}};
    static const uint64_t bounds[] = {5 * PST_MS, 250 * PST_MS, 10 * PST_S};
    static const uint64_t counts[] = {1, 0, 2, 3};
    const struct pst_prometheus_labels two = {labels, 2}, none = {NULL, 0};
    const struct pst_prometheus_histogram histogram = {
        .bounds = bounds, .counts = counts, .bounds_count = 3, .sum = 1500 * PST_MS, .decimals = 9};

    pst_prometheus_family(page, "a_total", PST_PROMETHEUS_COUNTER, "Lines\nand \\ and \"quotes\".");
    pst_prometheus_integer(page, "a_total", two, UINT64_MAX);
    pst_prometheus_family(page, "b", PST_PROMETHEUS_GAUGE, "Signed.");
    pst_prometheus_fixed(page, "b", none, -1500000, 6);
    pst_prometheus_unknown(page, "b", (struct pst_prometheus_labels){labels, 1});
    pst_prometheus_fixed(page, "b", (struct pst_prometheus_labels){labels + 1, 1}, INT64_MIN, 0);
    pst_prometheus_family(page, "c_seconds", PST_PROMETHEUS_HISTOGRAM, "Waits.");
    pst_prometheus_histogram(page, "c_seconds", none, &histogram);
    pst_prometheus_histogram(page, "c_seconds", (struct pst_prometheus_labels){labels, 1},
                             &histogram);
}

static const char expected[] =
    "# HELP a_total Lines\\nand \\\\ and \"quotes\".\n"
    "# TYPE a_total counter\n"
    "a_total{pool=\"chat\",class=\"a\\\"b\\\\c\\nd\"} 18446744073709551615\n"
    "# HELP b Signed.\n"
    "# TYPE b gauge\n"
    "b -1.5\n"
    "b{pool=\"chat\"} NaN\n"
    "b{class=\"a\\\"b\\\\c\\nd\"} -9223372036854775808\n"
    "# HELP c_seconds Waits.\n"
    "# TYPE c_seconds histogram\n"
    "c_seconds_bucket{le=\"0.005\"} 1\n"
    "c_seconds_bucket{le=\"0.25\"} 1\n"
    "c_seconds_bucket{le=\"10\"} 3\n"
    "c_seconds_bucket{le=\"+Inf\"} 6\n"
    "c_seconds_sum 1.5\n"
    "c_seconds_count 6\n"
    "c_seconds_bucket{pool=\"chat\",le=\"0.005\"} 1\n"
    "c_seconds_bucket{pool=\"chat\",le=\"0.25\"} 1\n"
    "c_seconds_bucket{pool=\"chat\",le=\"10\"} 3\n"
    "c_seconds_bucket{pool=\"chat\",le=\"+Inf\"} 6\n"
    "c_seconds_sum{pool=\"chat\"} 1.5\n"
    "c_seconds_count{pool=\"chat\"} 6\n";

static void pages_are_written_exactly(void **state)
{
    struct pst_prometheus_page page;
    char buffer[2048];

    (void)state;
    pst_prometheus_init(&page, buffer, sizeof buffer);
    write_page(&page);
    assert_int_equal(page.needed, sizeof expected - 1);
    buffer[page.needed] = '\0';
    assert_string_equal(buffer, expected);
}

static void a_small_buffer_says_what_is_needed(void **state)
{
    (void)state;
    for (size_t size = 0; size < sizeof expected; size += 97) {
        struct pst_prometheus_page page;
        char *buffer = malloc(size + 1);

        assert_non_null(buffer);
        buffer[size] = '#';
        pst_prometheus_init(&page, size == 0 ? NULL : buffer, size);
        write_page(&page);
        assert_int_equal(page.needed, sizeof expected - 1);
        assert_memory_equal(buffer, expected, size);
        assert_int_equal(buffer[size], '#');
        free(buffer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_written_exactly),
        cmocka_unit_test(a_small_buffer_says_what_is_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
