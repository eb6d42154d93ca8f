#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "rehearse/load_plan.h"

static struct pst_load_traffic mix_of(const char *text)
{
    struct pst_load_traffic traffic;
    const char *why;

    if (pst_load_mix_read(text, &traffic, &why) != PST_OK)
        fail_msg("%s: %s", text, why);
    return traffic;
}

static char trace_path[] = "/tmp/penstock-trace-XXXXXX";

static const char *write_trace(const char *text)
{
    FILE *file = fopen(trace_path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return trace_path;
}

static struct pst_load_plan *plan_of(const struct pst_load_traffic *mix, size_t count,
                                     const char *trace, double scale, uint64_t seed)
{
    struct pst_load_plan *plan;
    const char *why = NULL;

    if (pst_load_plan_new(mix, count, trace, scale, seed, &plan, &why) != PST_OK)
        fail_msg("%s", why);
    return plan;
}

/* Rate and spread of each stream over a long plan, against what was asked for. */
static const struct {
    const char *text;
    double rate, cv;
} streams[] = {
    {"rate=200", 200, 1.0},
    {"rate=50,arrivals=gamma:2", 50, 2.0},
    {"rate=100,arrivals=const", 100, 0.0},
    {"rate=80,arrivals=lognormal:1.5", 80, 1.5},
};

static void rates_and_spreads_are_as_asked(void **state)
{
    enum { STREAMS = PST_COUNT_OF(streams), ARRIVALS = 200000 };
    struct pst_load_traffic mix[STREAMS];
    double count[STREAMS] = {0}, squares[STREAMS] = {0};
    pst_ns last[STREAMS] = {0}, before = 0;
    struct pst_load_plan *plan;

    (void)state;
    for (size_t i = 0; i < STREAMS; i++)
        mix[i] = mix_of(streams[i].text);
    plan = plan_of(mix, STREAMS, NULL, 1.0, 3);
    for (int n = 0; n < ARRIVALS; n++) {
        struct pst_load_arrival a;
        double gap;

        assert_true(pst_load_plan_next(plan, &a));
        assert_true(a.at >= before);
        gap = (double)(a.at - last[a.traffic]);
        before = last[a.traffic] = a.at;
        count[a.traffic]++;
        squares[a.traffic] += gap * gap;
        assert_int_equal(a.prompt_tokens, 64);
    }
    for (size_t i = 0; i < STREAMS; i++) {
        double mean = (double)last[i] / count[i];
        double variance = squares[i] / count[i] - mean * mean;
        double want = streams[i].cv * streams[i].cv * mean * mean;

        if (fabs(1e9 / mean / streams[i].rate - 1) > 0.03)
            fail_msg("%s: %g a second", streams[i].text, 1e9 / mean);
        if (fabs(variance - want) > 0.15 * want + 1e6)
            fail_msg("%s: variance %g, not %g", streams[i].text, variance, want);
    }
    pst_load_plan_free(plan);
}

static void one_seed_is_one_plan(void **state)
{
    struct pst_load_traffic mix[] = {mix_of("rate=10,prompt=exp:100"), mix_of("rate=20")};
    struct pst_load_plan *a = plan_of(mix, 2, NULL, 1.0, 7), *b = plan_of(mix, 2, NULL, 1.0, 7);
    struct pst_load_plan *c = plan_of(mix, 2, NULL, 1.0, 8);
    int differ = 0;

    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct pst_load_arrival x, y, z;

        assert_true(pst_load_plan_next(a, &x) && pst_load_plan_next(b, &y) &&
                    pst_load_plan_next(c, &z));
        assert_int_equal(x.at, y.at);
        assert_int_equal(x.traffic, y.traffic);
        assert_int_equal(x.prompt_tokens, y.prompt_tokens);
        differ += x.at != z.at;
    }
    assert_true(differ > 990);
    pst_load_plan_free(a);
    pst_load_plan_free(b);
    pst_load_plan_free(c);
}

/* Arrivals written as "at_ms:traffic:prompt/output", and how the plan ends. */
static const struct {
    const char *promise, *mix[2];
    double scale;
    const char *trace, *plan, *why;
} traces[] = {
    {"microseconds, in their order",
     {"class=a"},
     1,
     "arrival_us,prompt_tokens,output_tokens\n0,10,2\n5000,20,3\n\n9000,30,4\n",
     "0:0:10/2 5:0:20/3 9:0:30/4",
     NULL},
    {"milliseconds, twice as fast",
     {"class=a"},
     2,
     "arrival_ms,prompt_tokens,output_tokens,blocks512\r\n0,10,2,9\r\n10,20,3,9\r\n",
     "0:0:10/2 5:0:20/3",
     NULL},
    {"rows go to their class",
     {"class=a", "class=b"},
     1,
     "arrival_ms,prompt_tokens,output_tokens,class\n0,1,1,b\n1,1,1,a\n2,1,1,b\n",
     "0:1:1/1 1:0:1/1 2:1:1/1",
     NULL},
    {"a class that nobody has is everybody's",
     {"class=a"},
     1,
     "arrival_ms,prompt_tokens,output_tokens,class\n0,1,1,z\n",
     "0:0:1/1",
     NULL},
    {"the mix may give the lengths",
     {"class=a,prompt=7,output=0"},
     1,
     "arrival_ms,prompt_tokens,output_tokens\n3,10,2\n",
     "3:0:7/0",
     NULL},
    {"back in time",
     {"class=a"},
     1,
     "arrival_ms,prompt_tokens,output_tokens\n5,1,1\n4,1,1\n",
     "5:0:1/1",
     "back in time"},
};

static void recorded_traces_are_followed(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(traces); i++) {
        size_t count = traces[i].mix[1] == NULL ? 1 : 2, len = 0;
        struct pst_load_traffic mix[2];
        struct pst_load_arrival a;
        struct pst_load_plan *plan;
        char got[256] = "";
        const char *why;
        uint64_t line;

        for (size_t k = 0; k < count; k++)
            mix[k] = mix_of(traces[i].mix[k]);
        plan = plan_of(mix, count, write_trace(traces[i].trace), traces[i].scale, 1);
        while (pst_load_plan_next(plan, &a))
            len += (size_t)snprintf(got + len, sizeof got - len, "%s%llu:%u:%u/%u",
                                    len == 0 ? "" : " ", (unsigned long long)(a.at / PST_MS),
                                    a.traffic, a.prompt_tokens, a.output_tokens);
        why = pst_load_plan_error(plan, &line);
        if (strcmp(got, traces[i].plan) != 0)
            fail_msg("%s: %s", traces[i].promise, got);
        if ((why == NULL) != (traces[i].why == NULL) ||
            (why != NULL && strstr(why, traces[i].why) == NULL))
            fail_msg("%s: ended with %s", traces[i].promise, why == NULL ? "no error" : why);
        pst_load_plan_free(plan);
    }
}

/* The key of each arrival of a mix `class=a`, and `class=b,tenant=own`, which go by their own. */
static void rows_say_whose_they_are(void **state)
{
    static const struct {
        const char *promise, *trace, *keys;
    } whose[] = {
        {"a client is its number, 0 too", "arrival_ms,client,class\n0,0,a\n1,23,a\n",
         "client-0 client-23 "},
        {"a tenant is its name", "arrival_ms,tenant,client,class\n0,acme,4,a\n1,,4,a\n",
         "acme client-4 "},
        {"the mix goes before", "arrival_ms,tenant,class\n0,acme,b\n1,acme,a\n", " acme "},
        {"nobody is said", "arrival_ms,class\n0,a\n", " "},
    };
    struct pst_load_traffic mix[] = {mix_of("class=a"), mix_of("class=b,tenant=own")};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(whose); i++) {
        struct pst_load_plan *plan = plan_of(mix, 2, write_trace(whose[i].trace), 1, 1);
        struct pst_load_arrival a;
        char keys[128] = "";
        uint64_t line;

        while (pst_load_plan_next(plan, &a)) {
            size_t len = strlen(keys);

            (void)snprintf(keys + len, sizeof keys - len, "%s ", a.key);
        }
        assert_null(pst_load_plan_error(plan, &line));
        if (strcmp(keys, whose[i].keys) != 0)
            fail_msg("%s: '%s'", whose[i].promise, keys);
        pst_load_plan_free(plan);
    }
}

static void a_wrong_line_ends_the_plan_and_is_named(void **state)
{
    struct pst_load_traffic mix = mix_of("class=a");
    struct pst_load_plan *plan = plan_of(
        &mix, 1, write_trace("arrival_ms,prompt_tokens,output_tokens\n0,1,1\nx,1,1\n"), 1, 1);
    struct pst_load_arrival a;
    uint64_t line;

    (void)state;
    assert_true(pst_load_plan_next(plan, &a));
    assert_false(pst_load_plan_next(plan, &a));
    assert_non_null(pst_load_plan_error(plan, &line));
    assert_int_equal(line, 3);
    pst_load_plan_free(plan);
}

static void a_table_of_rates_is_a_rising_and_falling_stream(void **state)
{
    struct pst_load_traffic mix[] = {mix_of("class=a,share=3"), mix_of("class=b,share=1")};
    struct pst_load_plan *plan =
        plan_of(mix, 2, write_trace("t_s,rate_per_s\n0,100\n100,0\n200,400\n"), 2.0, 5);
    double in_row[3] = {0}, of_a = 0, all = 0;
    struct pst_load_arrival a;
    uint64_t line;

    (void)state;
    while (pst_load_plan_next(plan, &a)) {
        assert_true(a.at < 300 * PST_S); /* the last row is as long as the one before it */
        in_row[a.at / (100 * PST_S)]++;
        of_a += a.traffic == 0;
        all++;
    }
    assert_null(pst_load_plan_error(plan, &line));
    assert_true(fabs(in_row[0] / 20000 - 1) < 0.03);
    assert_true(in_row[1] == 0);
    assert_true(fabs(in_row[2] / 80000 - 1) < 0.02);
    assert_true(fabs(of_a / all - 0.75) < 0.01);
    pst_load_plan_free(plan);
}

static void what_cannot_be_planned_is_refused(void **state)
{
    struct pst_load_traffic mix = mix_of("class=a");
    struct pst_load_plan *plan = NULL;
    const char *why = NULL;

    (void)state;
    assert_int_equal(pst_load_plan_new(&mix, 1, NULL, 1, 1, &plan, &why), PST_E_INVALID);
    assert_non_null(strstr(why, "rate"));
    assert_int_equal(pst_load_plan_new(&mix, 1, NULL, 0, 1, &plan, &why), PST_E_INVALID);
    assert_int_equal(pst_load_plan_new(&mix, 1, "/no/such", 1, 1, &plan, &why), PST_E_SYSTEM);
    assert_int_equal(pst_load_plan_new(&mix, 1, write_trace(""), 1, 1, &plan, &why), PST_E_SYNTAX);
    assert_int_equal(pst_load_plan_new(&mix, 1, write_trace("a,b\n"), 1, 1, &plan, &why),
                     PST_E_SYNTAX);
    assert_int_equal(pst_load_plan_new(&mix, 1, write_trace("prompt_tokens,output_tokens\n1,1\n"),
                                       1, 1, &plan, &why),
                     PST_E_SYNTAX);
    assert_non_null(strstr(why, "arrival_us"));
    assert_int_equal(pst_load_plan_new(&mix, 1,
                                       write_trace("client,t_s,rate_per_s\n0,0,1\n0,9,1\n"), 1, 1,
                                       &plan, &why),
                     PST_E_SYNTAX);
    assert_non_null(strstr(why, "single clients"));
    assert_null(plan);
}

static int make_file(void **state)
{
    int fd = mkstemp(trace_path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(trace_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_and_spreads_are_as_asked),
        cmocka_unit_test(one_seed_is_one_plan),
        cmocka_unit_test(recorded_traces_are_followed),
        cmocka_unit_test(rows_say_whose_they_are),
        cmocka_unit_test(a_wrong_line_ends_the_plan_and_is_named),
        cmocka_unit_test(a_table_of_rates_is_a_rising_and_falling_stream),
        cmocka_unit_test(what_cannot_be_planned_is_refused),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
