/* test_rates.c - tables of rates: gaps are unknown, mistakes have their line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/rates.h"

static char path[] = "/tmp/pst-rates-XXXXXX";

static int make_file(void **state)
{
    const int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static int read_text(const char *text, struct pst_rates *ret_rates,
                     struct pst_rates_problem *ret_problem)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return pst_rates_read(path, ret_rates, ret_problem);
}

static void what_is_missing_is_unknown(void **state)
{
    static const struct {
        const char *name, *text, *want; /* -: unknown */
        pst_ns step;
    } rows[] = {
        {"as it is", "t_s,rate_per_s\n0,1\n600,2.5\n1200,3\n", "1 2.5 3", 600 * PST_S},
        {"columns in any order, others ignored", "x,rate_per_s,t_s\n9,1,0\n9,2,10\n", "1 2",
         10 * PST_S},
        {"zero is a gap in collection", "t_s,rate_per_s\n0,1\n60,0\n120,0.000001\n", "1 - 1e-06",
         60 * PST_S},
        {"rows left out", "t_s,rate_per_s\n0,1\n60,2\n240,3\n", "1 2 - - 3", 60 * PST_S},
        {"from any time on", "t_s,rate_per_s\n1000,1\n1010,2\n1030,3\n", "1 2 - 3", 10 * PST_S},
        {"empty lines, no last newline", "t_s,rate_per_s\r\n\r\n0,1\r\n\n1,2", "1 2", PST_S},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_rates rates;
        struct pst_rates_problem problem;
        char got[128] = "";

        assert_int_equal(read_text(rows[i].text, &rates, &problem), PST_OK);
        assert_true(rates.step == rows[i].step);
        for (uint32_t k = 0; k < rates.count; k++) {
            char one[32] = "-";

            if (rates.at[k] >= 0)
                snprintf(one, sizeof one, "%g", rates.at[k]);
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", k > 0 ? " " : "", one);
        }
        if (strcmp(got, rows[i].want) != 0)
            fail_msg("%s: '%s', want '%s'", rows[i].name, got, rows[i].want);
        pst_rates_done(&rates);
    }
}

static void a_mistake_has_its_line(void **state)
{
    static const struct {
        const char *name, *text;
        uint64_t line;
    } rows[] = {
        {"nothing", "", 0},
        {"no header that is known", "a,b\n1,2\n", 1},
        {"no times", "rate_per_s\n1\n2\n", 1},
        {"no rates", "t_s,client\n0,1\n", 1},
        {"not a number", "t_s,rate_per_s\n0,1\n10,two\n", 3},
        {"a negative rate", "t_s,rate_per_s\n0,1\n10,-2\n", 3},
        {"the same time again", "t_s,rate_per_s\n0,1\n10,2\n10,3\n", 4},
        {"back in time", "t_s,rate_per_s\n20,1\n10,2\n", 3},
        {"between two steps", "t_s,rate_per_s\n0,1\n10,2\n25,3\n", 4},
        {"one row has no length", "t_s,rate_per_s\n0,1\n", 2},
        {"too far away", "t_s,rate_per_s\n0,1\n1,2\n4000001,3\n", 4},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_rates rates;
        struct pst_rates_problem problem = {0};

        if (read_text(rows[i].text, &rates, &problem) != PST_E_SYNTAX)
            fail_msg("%s: was read", rows[i].name);
        if (problem.line != rows[i].line || problem.why == NULL)
            fail_msg("%s: line %d", rows[i].name, (int)problem.line);
    }
}

static void a_file_that_is_not_there_is_said(void **state)
{
    struct pst_rates rates;
    struct pst_rates_problem problem = {0};

    (void)state;
    assert_int_equal(pst_rates_read("/nonexistent/rates.csv", &rates, &problem), PST_E_SYSTEM);
    assert_non_null(problem.why);
    assert_int_equal(pst_rates_read("/", &rates, &problem), PST_E_SYSTEM); /* a folder */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_unknown),
        cmocka_unit_test(a_mistake_has_its_line),
        cmocka_unit_test(a_file_that_is_not_there_is_said),
    };

    return cmocka_run_group_tests(tests, make_file, remove_file);
}
