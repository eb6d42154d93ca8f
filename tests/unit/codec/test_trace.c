/* Trace files: the columns of the published ones, and what is wrong with wrong lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/trace.h"

static const struct row {
    const char *header;
    const char *line;
    struct pst_trace_row row;
} rows[] = {
    {"arrival_us,prompt_tokens,output_tokens",
     "1500,4808,10\n",
     {.arrival = 1500 * PST_US, .prompt_tokens = 4808, .output_tokens = 10}},
    {"arrival_ms,prompt_tokens,output_tokens,blocks512,prefix_blocks_seen_before\r\n",
     "3000,6758,500,14,2\r\n",
     {.arrival = 3 * PST_S, .prompt_tokens = 6758, .output_tokens = 500, .prefix_blocks_seen = 2}},
    {"t_s,rate_per_s", "600,212.7800", {.arrival = 600 * PST_S, .rate_micro = 212780000}},
    {"arrival_ms,client,prompt_tokens,output_tokens",
     "12.5,23,227,542",
     {.arrival = 12500 * PST_US, .client = 23, .prompt_tokens = 227, .output_tokens = 542}},
    {"client,t_s,rate_per_s,cv_iat,dist,shape,scale",
     "7,0,0.805,0.5697,Gamma,3.0811019,0.36",
     {.client = 7, .rate_micro = 805000}},
    {"prompt_tokens,output_tokens", "3772,54", {.prompt_tokens = 3772, .output_tokens = 54}},
    {"\xef\xbb\xbf"
     "t_s, class, tenant",
     "1, high, support",
     {.arrival = PST_S, .class_ = "high", .tenant = "support"}},
    {"t_s,class", "1,", {.arrival = PST_S}},
};

static void published_columns_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_trace_format format;
        struct pst_trace_row row;
        const struct pst_trace_row *want = &rows[i].row;
        const char *why = "";

        if (pst_trace_header(&format, rows[i].header, strlen(rows[i].header), &why) != PST_OK ||
            pst_trace_line(&format, rows[i].line, strlen(rows[i].line), &row, &why) != PST_OK)
            fail_msg("%s: %s", rows[i].header, why);
        assert_int_equal(row.arrival, want->arrival);
        assert_int_equal(row.prompt_tokens, want->prompt_tokens);
        assert_int_equal(row.output_tokens, want->output_tokens);
        assert_int_equal(row.client, want->client);
        assert_int_equal(row.prefix_blocks_seen, want->prefix_blocks_seen);
        assert_int_equal(row.rate_micro, want->rate_micro);
        assert_string_equal(row.class_, want->class_);
        assert_string_equal(row.tenant, want->tenant);
    }
}

static void unusable_headers_are_refused(void **state)
{
    static const char *const headers[] = {
        "",
        "a,b,c",
        "quantile,tokens",
        "arrival_us,arrival_us",
        "arrival_us,t_s",
        "t_s,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,",
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(headers); i++) {
        struct pst_trace_format format;
        const char *why = NULL;

        assert_int_equal(pst_trace_header(&format, headers[i], strlen(headers[i]), &why),
                         PST_E_SYNTAX);
        assert_non_null(why);
    }
}

static void wrong_lines_say_why(void **state)
{
    static const struct {
        const char *line;
        const char *why;
    } wrong[] = {
        {"", "a number is missing"},
        {"1", "fewer values than columns"},
        {"1,2,a,4", "more values than columns"},
        {"x,2,a", "not a number"},
        {"-1,2,a", "a number is negative"},
        {"1,-2,a", "not a whole number"},
        {"1,2.5,a", "not a whole number"},
        {"1,4294967296,a", "a number is too large"},
        {"99999999999,2,a", "a number is too large"},
        {"1,,a", "a number is missing"},
        {"1,2,\"a\"", "a name contains a quote or a control character"},
        {"1,2,aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a name is too long"},
    };
    static const char header[] = "t_s,prompt_tokens,tenant";
    struct pst_trace_format format;
    const char *why;

    (void)state;
    assert_int_equal(pst_trace_header(&format, header, sizeof header - 1, &why), PST_OK);
    for (size_t i = 0; i < PST_COUNT_OF(wrong); i++) {
        struct pst_trace_row row;

        why = "read";
        (void)pst_trace_line(&format, wrong[i].line, strlen(wrong[i].line), &row, &why);
        if (strcmp(why, wrong[i].why) != 0)
            fail_msg("%s: %s", wrong[i].line, why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_columns_are_read),
        cmocka_unit_test(unusable_headers_are_refused),
        cmocka_unit_test(wrong_lines_say_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
