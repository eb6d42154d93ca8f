/* What a Prometheus answers: one value, or the reason why there is none; never zero for nothing. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scale/measure_query.h"

#define NOW_S     UINT64_C(1764460800)
#define VECTOR(r) "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[" r "]}}"
#define VALUE(v)  "{\"metric\":{\"job\":\"x\"},\"value\":[1764460799.5,\"" v "\"]}"
#define ONE(v)    VECTOR(VALUE(v))

static const struct row {
    const char *promise;
    enum pst_signal signal;
    const char *body, *expected;
} rows[] = {
    {"a ratio", PST_SIGNAL_GPU, ONE("0.875"), "875000"},
    {"a ratio as a scalar", PST_SIGNAL_ERRORS,
     "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1764460799.5,"
     "\"0.05\"]}}",
     "50000"},
    {"a very small one", PST_SIGNAL_ERRORS, ONE("1.5e-05"), "15"},
    {"zero, for it is said", PST_SIGNAL_GPU, ONE("0"), "0"},
    {"all of it", PST_SIGNAL_GPU, ONE("1"), "1000000"},
    {"a percentage is no ratio", PST_SIGNAL_GPU, ONE("87.5"), "a value out of its range"},
    {"less than nothing", PST_SIGNAL_ERRORS, ONE("-0.1"), "a value out of its range"},
    {"a light that is red", PST_SIGNAL_LATENCY, ONE("0.001"), "1"},
    {"a light that is green", PST_SIGNAL_LATENCY, ONE("0"), "0"},
    {"below zero is not above it", PST_SIGNAL_ROLLOUT, ONE("-1"), "0"},
    {"a rollout", PST_SIGNAL_ROLLOUT, ONE("3"), "1"},
    {"a quota", PST_SIGNAL_QUOTA, ONE("7.9"), "7"},
    {"no quota left", PST_SIGNAL_QUOTA, ONE("0"), "0"},
    {"a quota below zero", PST_SIGNAL_QUOTA, ONE("-2"), "a value out of its range"},

    {"empty", PST_SIGNAL_GPU, VECTOR(""), "an empty answer"},
    {"several", PST_SIGNAL_GPU, VECTOR(VALUE("0.1") "," VALUE("0.2")), "several values"},
    {"NaN", PST_SIGNAL_GPU, ONE("NaN"), "a value that is no number"},
    {"infinite", PST_SIGNAL_QUOTA, ONE("+Inf"), "a value that is no number"},
    {"no text", PST_SIGNAL_GPU, VECTOR("{\"metric\":{},\"value\":[1764460799.5,0.5]}"),
     "a value that is no number"},
    {"a histogram", PST_SIGNAL_GPU, VECTOR("{\"metric\":{},\"histogram\":[1764460799.5,{}]}"),
     "an answer that says no success"},
    {"a matrix", PST_SIGNAL_GPU,
     "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[{\"metric\":{},"
     "\"values\":[[1764460799.5,\"0.5\"]]}]}}",
     "an answer that is no value"},
    {"an error", PST_SIGNAL_GPU,
     "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"parse error\"}",
     "an answer that says no success"},
    {"an error with a result", PST_SIGNAL_GPU,
     "{\"status\":\"error\",\"data\":{\"resultType\":\"vector\",\"result\":[" VALUE("0.5") "]}}",
     "an answer that says no success"},
    {"no JSON", PST_SIGNAL_GPU, "<html>", "an answer that says no success"},
    {"nothing", PST_SIGNAL_GPU, "", "an answer that says no success"},
    {"cut", PST_SIGNAL_GPU, "{\"status\":\"success\",\"data\":{\"resultType\":\"vec",
     "an answer that says no success"},
    {"JSON of something else", PST_SIGNAL_GPU, "[1,2]", "an answer that says no success"},
};

static void one_value_or_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        const char *why = NULL;
        uint64_t value = 0;
        pst_ns age = 0;
        char number[24];
        int rc = pst_measure_query_read(row->body, strlen(row->body), row->signal, NOW_S * PST_S,
                                        &value, &age, &why);

        if (rc == PST_OK) {
            snprintf(number, sizeof number, "%" PRIu64, value);
            why = number;
            assert_int_equal(age, 500 * PST_MS);
        }
        if (why == NULL || strcmp(why, row->expected) != 0)
            fail_msg("%s: %s", row->promise, why);
    }
}

static void a_clock_that_is_behind_ours_makes_nothing_younger(void **state)
{
    const char *why;
    uint64_t value;
    pst_ns age;

    (void)state;
    assert_int_equal(pst_measure_query_read(ONE("1"), strlen(ONE("1")), PST_SIGNAL_GPU,
                                            (NOW_S - 100) * PST_S, &value, &age, &why),
                     PST_OK);
    assert_int_equal(age, 0); /* theirs is ahead */
    assert_int_equal(pst_measure_query_read(ONE("1"), strlen(ONE("1")), PST_SIGNAL_GPU,
                                            (NOW_S + 3600) * PST_S, &value, &age, &why),
                     PST_OK);
    assert_true(age >= 3600 * PST_S);
}

static void addresses(void **state)
{
    struct pst_text url = {0};

    (void)state;
    pst_measure_query_url(&url, "http://p:9090/base/", "sum(rate(a{b=\"c d\"}[5m])) + 1/2", PST_S);
    assert_string_equal(url.at,
                        "http://p:9090/base/api/v1/query?query=sum%28rate%28a%7Bb%3D%22c%20d"
                        "%22%7D%5B5m%5D%29%29%20%2B%201%2F2&lookback_delta=1000ms");
    pst_text_done(&url);
    url = (struct pst_text){0};
    pst_measure_query_day_url(&url, "https://p", "\xc3\xa4&", 86400);
    assert_string_equal(url.at, "https://p/api/v1/query_range?query=%C3%A4%26"
                                "&start=86400&end=172500&step=300");
    pst_text_done(&url);
    url = (struct pst_text){0};
    pst_measure_query_own(&url, "a\"b\\");
    assert_string_equal(url.at,
                        "max(penstock_scaler_replicas{kind=\"needed\",pool=\"a\\\"b\\\\\"})");
    pst_text_done(&url);
}

#define MATRIX(r) "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":[" r "]}}"

static void a_day_is_the_most_of_each_quarter(void **state)
{
    static const char body[] =
        MATRIX("{\"metric\":{},\"values\":[[86400,\"2\"],[86700,\"5\"],[87000,\"3\"],"
               "[87300,\"2.1\"],[88200,\"NaN\"],[89100,\"-1\"],[90000,\"0\"],[172500,\"9\"],"
               "[172800,\"8\"],[86000,\"8\"]]}");
    struct pst_wire_day day = {.pool = 1, .from_s = 86400};
    const char *why;
    size_t known = 0;

    (void)state;
    assert_int_equal(pst_measure_query_day(body, strlen(body), &day, &why), PST_OK);
    assert_int_equal(day.replicas[0], 5);
    assert_int_equal(day.replicas[1], 3); /* a part of a replica is one */
    assert_int_equal(day.replicas[2], PST_WIRE_NOT_KNOWN);
    assert_int_equal(day.replicas[3], PST_WIRE_NOT_KNOWN);
    assert_int_equal(day.replicas[4], 0); /* zero, for it is said */
    assert_int_equal(day.replicas[95], 9);
    for (size_t i = 0; i < PST_WIRE_QUARTERS; i++)
        known += day.replicas[i] != PST_WIRE_NOT_KNOWN;
    assert_int_equal(known, 4); /* what lies outside of the day is not of it */
}

static void a_day_of_nothing_is_not_known(void **state)
{
    struct pst_wire_day day = {.from_s = 86400};
    const char *why = NULL;
    const char *const bad[] = {
        "", "{}", VECTOR(""),
        MATRIX("{\"metric\":{},\"values\":[]},{\"metric\":{},\"values\":[]}")};

    (void)state;
    assert_int_equal(pst_measure_query_day(MATRIX(""), strlen(MATRIX("")), &day, &why), PST_OK);
    for (size_t i = 0; i < PST_WIRE_QUARTERS; i++)
        assert_int_equal(day.replicas[i], PST_WIRE_NOT_KNOWN);
    for (size_t i = 0; i < PST_COUNT_OF(bad); i++) {
        why = NULL;
        assert_int_equal(pst_measure_query_day(bad[i], strlen(bad[i]), &day, &why), PST_E_UNKNOWN);
        assert_non_null(why);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_value_or_a_reason),
        cmocka_unit_test(a_clock_that_is_behind_ours_makes_nothing_younger),
        cmocka_unit_test(addresses),
        cmocka_unit_test(a_day_is_the_most_of_each_quarter),
        cmocka_unit_test(a_day_of_nothing_is_not_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
