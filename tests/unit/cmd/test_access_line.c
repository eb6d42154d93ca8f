/* test_access_line.c - lines of the access log, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/access_line.h"

#define TIME "\"time\":\"2026-11-29T17:35:03.123Z\""
#define WHOLE                                                                                      \
    "{" TIME ",\"pool\":\"chat\",\"class\":\"high\",\"type\":\"a\\u0062c\",\"status\":200,"        \
    "\"outcome\":\"done\",\"tries\":2,\"tokens_in\":7,\"tokens_out\":9,\"wait_ms\":1.5,"           \
    "\"duration_ms\":20.125,\"stream\":true,\"more\":{\"duration_ms\":[5]},\"none\":null}"

static const struct {
    const char *line;
    const char *why; /* part of it; NULL: it is good */
} rows[] = {
    {WHOLE, NULL},
    {WHOLE "  ", NULL},
    {"{" TIME ",\"duration_ms\":0}", NULL},
    {"{\"duration_ms\":0," TIME "}", NULL},
    {"{" TIME "}", "no duration_ms"},
    {"{\"duration_ms\":1}", "no time"},
    {"{\"time\":1700000000,\"duration_ms\":1}", "no time"},
    {"{\"time\":\"2026-11-29 17:35:03\",\"duration_ms\":1}", "is not as"},
    {"{\"time\":\"2026-11-29T17:35:03.123Zx\",\"duration_ms\":1}", "is not as"},
    {"{\"time\":\"1926-11-29T17:35:03.123Z\",\"duration_ms\":1}", "is not as"},
    {"{" TIME ",\"duration_ms\":-1}", "negative"},
    {"{" TIME ",\"duration_ms\":\"1\"}", "no duration_ms"},
    {"{" TIME ",\"duration_ms\":1,\"tries\":0.5}", "not whole"},
    {"{" TIME ",\"duration_ms\":1", "JSON object"},
    {"{" TIME ",\"duration_ms\":1}{", "JSON object"},
    {"{" TIME ",\"duration_ms\":1,\"more\":[1,}", "JSON object"},
    {"[" TIME "]", "JSON object"},
    {"5", "JSON object"},
    {"", "JSON object"},
    {"info: gateway ready", "JSON object"},
};

static void test_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_access_row row;
        const char *why = NULL;
        const int rc = pst_access_line_read(rows[i].line, strlen(rows[i].line), &row, &why);

        if (rows[i].why == NULL ? rc != PST_OK
                                : rc != PST_E_SYNTAX || strstr(why, rows[i].why) == NULL)
            fail_msg("%s: %d, %s", rows[i].line, rc, why == NULL ? "-" : why);
    }
}

static void test_fields(void **state)
{
    struct pst_access_row row;
    const char *why;

    (void)state;
    assert_int_equal(pst_access_line_read(WHOLE, strlen(WHOLE), &row, &why), PST_OK);
    assert_string_equal(row.pool, "chat");
    assert_string_equal(row.class_, "high");
    assert_string_equal(row.type, "abc");
    assert_string_equal(row.outcome, "done");
    assert_int_equal(row.status, 200);
    assert_int_equal(row.tries, 2);
    assert_int_equal(row.tokens_in, 7);
    assert_int_equal(row.tokens_out, 9);
    assert_int_equal(row.wait, 1500 * PST_US);
    assert_int_equal(row.duration, 20125 * PST_US);
    assert_true(row.ended == UINT64_C(1795973703) * PST_S + 123 * PST_MS);
}

static void test_every_cut_is_survived(void **state)
{
    struct pst_access_row row;
    const char *why;

    (void)state;
    for (size_t len = 0; len < strlen(WHOLE); len++)
        assert_int_equal(pst_access_line_read(WHOLE, len, &row, &why), PST_E_SYNTAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_every_cut_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
