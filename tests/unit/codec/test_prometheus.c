/* The metrics text: written exactly, read back, and no stranger's line harms the others. */
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

static void what_is_written_is_read_back(void **state)
{
    const char *text = expected;
    size_t len = sizeof expected - 1, samples = 0;
    struct pst_prometheus_sample sample;
    uint32_t wrong = 0;
    char label[16];

    (void)state;
    while (pst_prometheus_read(&text, &len, &sample, &wrong)) {
        if (samples++ == 0) {
            assert_true(pst_prometheus_is(&sample, "a_total"));
            assert_int_equal(pst_prometheus_label(&sample, "class", label, 16), PST_OK);
            assert_string_equal(label, "a\"b\\c\nd");
            assert_int_equal(pst_prometheus_label(&sample, "pool", label, 5), PST_OK);
            assert_string_equal(label, "chat");
            assert_int_equal(pst_prometheus_label(&sample, "pool", label, 4), PST_E_FULL);
            assert_int_equal(pst_prometheus_label(&sample, "poo", label, 16), PST_E_INVALID);
            assert_true(sample.value == 18446744073709551615.0);
        }
    }
    assert_int_equal(samples, 16);
    assert_int_equal(wrong, 0);
}

static const struct line_row {
    const char *line;
    enum pst_prometheus_line kind;
    double value; /* 0 / 0 when not a number */
} lines[] = {
    {"vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\n", PST_PROMETHEUS_LINE_SAMPLE,
     3},
    {"a 1", PST_PROMETHEUS_LINE_SAMPLE, 1},
    {"a{} 1", PST_PROMETHEUS_LINE_SAMPLE, 1},
    {"a{b=\"}\",} 1.5e3 1700000000000", PST_PROMETHEUS_LINE_SAMPLE, 1500},
    {"  a\t{ b = \"c\" , d=\"e\" }\t-2\r\n", PST_PROMETHEUS_LINE_SAMPLE, -2},
    {"a_bucket{le=\"1\"} 4 # {trace_id=\"x\"} 0.5", PST_PROMETHEUS_LINE_SAMPLE, 4},
    {"a +Inf", PST_PROMETHEUS_LINE_SAMPLE, __builtin_inf()},
    {"a -Inf", PST_PROMETHEUS_LINE_SAMPLE, -__builtin_inf()},
    {"a NaN", PST_PROMETHEUS_LINE_SAMPLE, __builtin_nan("")},
    {"", PST_PROMETHEUS_LINE_NOTHING, 0},
    {" \r\n", PST_PROMETHEUS_LINE_NOTHING, 0},
    {"# TYPE a counter", PST_PROMETHEUS_LINE_NOTHING, 0},
    {"# EOF", PST_PROMETHEUS_LINE_NOTHING, 0},
    {"a", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a ", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a x", PST_PROMETHEUS_LINE_WRONG, 0},
    {"9a 1", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a{b=\"c\" 1", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a{b=\"c} 1", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a{b=\"c\\\"} 1", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a{b=c} 1", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a{b=\"c\"d=\"e\"} 1", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a{,} 1", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a 1 2 3", PST_PROMETHEUS_LINE_WRONG, 0},
    {"a 1 x", PST_PROMETHEUS_LINE_WRONG, 0},
    {"<html>", PST_PROMETHEUS_LINE_WRONG, 0},
};

static void lines_are_read_or_skipped(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(lines); i++) {
        const struct line_row *row = &lines[i];
        struct pst_prometheus_sample sample = {0};
        bool is_same;

        if (pst_prometheus_read_line(row->line, strlen(row->line), &sample) != row->kind)
            fail_msg("'%s' is judged wrongly", row->line);
        is_same = sample.value == row->value ||
                  (sample.value != sample.value && row->value != row->value);
        if (!is_same)
            fail_msg("'%s' is %g", row->line, sample.value);
    }
}

static void wrong_lines_are_counted_and_passed(void **state)
{
    static const char page[] = "a 1\n<oops>\n\nb{x 2\n# c\nd 4";
    const char *text = page;
    size_t len = sizeof page - 1, samples = 0;
    struct pst_prometheus_sample sample;
    uint32_t wrong = 0;

    (void)state;
    while (pst_prometheus_read(&text, &len, &sample, &wrong))
        samples++;
    assert_int_equal(samples, 2);
    assert_int_equal(wrong, 2);
    assert_true(pst_prometheus_is(&sample, "d") && sample.value == 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_written_exactly),
        cmocka_unit_test(a_small_buffer_says_what_is_needed),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(lines_are_read_or_skipped),
        cmocka_unit_test(wrong_lines_are_counted_and_passed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
