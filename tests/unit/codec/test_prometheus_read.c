/* Others' metrics pages: every line of the format is read, everything else ends the page, cut or whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/prometheus.h"
#include "codec/prometheus_read.h"

/* "name=value" of each sample (value rounded down; "?" where there is none), then "." or "!" for an error. */
static void read_as_text(const char *page, size_t len, char *out, size_t size)
{
    /* A copy without anything behind it, so that a sanitizer sees who reads on. */
    char *copy = malloc(len == 0 ? 1 : len);
    struct pst_prometheus_reader reader;
    struct pst_prometheus_sample sample;
    size_t used = 0;
    int rc;

    assert_non_null(copy);
    memcpy(copy, page, len);
    reader = (struct pst_prometheus_reader){copy, copy + len};
    while ((rc = pst_prometheus_next(&reader, &sample)) == PST_OK) {
        uint64_t value = 0;
        bool is_value = sample.is_finite && pst_decimal_to_scaled(&sample.value, 0, &value);

        used += (size_t)snprintf(out + used, size - used, is_value ? "%.*s=%llu " : "%.*s=? ",
                                 (int)sample.name_len, sample.name, (unsigned long long)value);
        assert_true(used < size);
    }
    snprintf(out + used, size - used, "%s", rc == PST_E_UNKNOWN ? "." : "!");
    free(copy);
}

static const struct row {
    const char *promise, *page, *expected;
} rows[] = {
    {"nothing is a page without samples", "", "."},
    {"comments and empty lines", "# HELP a b\n\n# TYPE a gauge\n  # x\n", "."},
    {"a plain one", "a 1\n", "a=1 ."},
    {"labels", "a{b=\"c\",d=\"e\"} 2.9\n", "a=2 ."},
    {"a comma behind the last label", "a{b=\"c\",} 2\n", "a=2 ."},
    {"no labels in braces", "a{} 2\n", "a=2 ."},
    {"blanks wherever they may be", " \ta \t{ b = \"c\" , d=\"e\" }\t3 \n", "a=3 ."},
    {"braces, commas and quotes inside a value", "a{b=\"},\\\"{\",c=\"\\\\\"} 4\n", "a=4 ."},
    {"colons in a name", "vllm:a_total 5.0\n", "vllm:a_total=5 ."},
    {"a name of any letters, in quotes", "{\"a.b c\",d=\"e\"} 6\n", "=6 ."},
    {"numbers as Go and Python write them", "a 1.5e+01\nb 1E3\nc .5\n", "a=15 b=1000 c=0 ."},
    {"no numbers", "a NaN\nb +Inf\nc -Inf\nd inf\n", "a=? b=? c=? d=? ."},
    {"below zero", "a -1\n", "a=? ."},
    {"a time in ms", "a 1 1395066363000\n", "a=1 ."},
    {"a time before 1970", "a 1 -3982045\n", "a=1 ."},
    {"a time in seconds, and an exemplar", "a 1 1395066363.5 # {b=\"c\"} 0.5\n", "a=1 ."},
    {"an exemplar alone", "a 7 # {b=\"c\"} 0.5\n", "a=7 ."},
    {"the end that OpenMetrics has", "a 1\n# EOF\n", "a=1 ."},
    {"lines of another system", "a 1\r\nb 2\r\n", "a=1 b=2 ."},

    {"cut inside a line", "a 1\nb 12", "a=1 !"},
    {"a page of something else", "<html>\n", "!"},
    {"JSON", "{\"a\":1}\n", "!"},
    {"no value", "a\n", "!"},
    {"no value behind labels", "a{b=\"c\"}\n", "!"},
    {"a value that is none", "a one\n", "!"},
    {"hexadecimal", "a 0x10\n", "!"},
    {"half a word", "a Na\n", "!"},
    {"more than a word", "a NaNa\n", "!"},
    {"a sign alone", "a -\n", "!"},
    {"two values", "a 1 2 3\n", "!"},
    {"a time that is none", "a 1 now\n", "!"},
    {"a value that does not end", "a{b=\"c} 1\n", "!"},
    {"an escape at the line's end", "a{b=\"c\\\n", "!"},
    {"braces that do not end", "a{b=\"c\" 1\n", "!"},
    {"a label without a value", "a{b} 1\n", "!"},
    {"a label without quotes", "a{b=c} 1\n", "!"},
    {"a label without a name", "a{=\"c\"} 1\n", "!"},
    {"labels without a comma", "a{b=\"c\"d=\"e\"} 1\n", "!"},
    {"two commas", "a{b=\"c\",,d=\"e\"} 1\n", "!"},
    {"a name that begins with a digit", "1a 1\n", "!"},
    {"what follows a bad line is not read", "a 1\nb x\nc 3\n", "a=1 !"},
};

static void lines_are_read_or_end_the_page(void **state)
{
    char out[256];

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        read_as_text(rows[i].page, strlen(rows[i].page), out, sizeof out);
        if (strcmp(out, rows[i].expected) != 0)
            fail_msg("%s: %s", rows[i].promise, out);
    }
}

static void a_zero_byte_is_no_end(void **state)
{
    char out[64];

    (void)state;
    read_as_text("a\0b 1\n", 6, out, sizeof out);
    assert_string_equal(out, "!");
    read_as_text("a{b=\"\0\"} 1\n", 11, out, sizeof out);
    assert_string_equal(out, "a=1 .");
}

static void labels_are_found_and_unescaped(void **state)
{
    static const char page[] =
        "a{x=\"y=\\\"z\\\"\", z =\"1\\\\n\\n\",\"q.r\"=\"s\",long=\"12345678\"} 1\n";
    struct pst_prometheus_reader reader = {page, page + strlen(page)};
    struct pst_prometheus_sample sample;
    char value[8];

    (void)state;
    assert_int_equal(pst_prometheus_next(&reader, &sample), PST_OK);
    assert_true(pst_prometheus_is(&sample, "a"));
    assert_false(pst_prometheus_is(&sample, "ab"));
    assert_false(pst_prometheus_is(&sample, ""));
    assert_true(pst_prometheus_label_of(&sample, "x", value, sizeof value));
    assert_string_equal(value, "y=\"z\"");
    assert_true(pst_prometheus_label_of(&sample, "z", value, sizeof value));
    assert_string_equal(value, "1\\n\n");
    assert_false(pst_prometheus_label_of(&sample, "long", value, sizeof value)); /* by one */
    assert_false(pst_prometheus_label_of(&sample, "y", value, sizeof value));
    assert_int_equal(pst_prometheus_next(&reader, &sample), PST_E_UNKNOWN);
}

static void our_own_page_is_one(void **state)
{
    static const struct pst_prometheus_label label = {"pool", "a\"b\\c\nd"};
    struct pst_prometheus_page page;
    struct pst_prometheus_reader reader;
    struct pst_prometheus_sample sample;
    char buffer[512], value[16];
    uint64_t number;

    (void)state;
    pst_prometheus_init(&page, buffer, sizeof buffer);
    pst_prometheus_family(&page, "a", PST_PROMETHEUS_GAUGE, "Lines\nand \\.");
    pst_prometheus_integer(&page, "a", (struct pst_prometheus_labels){&label, 1}, UINT64_MAX - 1);
    assert_true(page.needed <= sizeof buffer);
    reader = (struct pst_prometheus_reader){buffer, buffer + page.needed};
    assert_int_equal(pst_prometheus_next(&reader, &sample), PST_OK);
    assert_true(pst_prometheus_label_of(&sample, "pool", value, sizeof value));
    assert_string_equal(value, label.value);
    assert_true(pst_decimal_to_u64(&sample.value, &number));
    assert_int_equal(number, UINT64_MAX - 1);
    assert_int_equal(pst_prometheus_next(&reader, &sample), PST_E_UNKNOWN);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_or_end_the_page),
        cmocka_unit_test(a_zero_byte_is_no_end),
        cmocka_unit_test(labels_are_found_and_unescaped),
        cmocka_unit_test(our_own_page_is_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
