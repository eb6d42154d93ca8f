#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/num.h"
#include "model/law.h"

#define DRAWS 200000

static struct pst_law read_law(const char *text, enum pst_law_unit unit)
{
    struct pst_law law = {0};
    const char *why = NULL;

    if (pst_law_read(text, strlen(text), unit, &law, &why) != PST_OK)
        fail_msg("%s: %s", text, why);
    return law;
}

static const struct {
    const char *text;
    enum pst_law_unit unit;
    double mean, cv;
    double mean_tolerance, cv_tolerance; /* relative; cv 0: not looked at */
} moments[] = {
    {"100ms", PST_LAW_DURATION, 100e6, 0, 0, 0},
    {"const:1.5s", PST_LAW_DURATION, 1.5e9, 0, 0, 0},
    {"uniform:10:20", PST_LAW_NUMBER, 15, 0.19245, 0.01, 0.05},
    {"exp:100ms", PST_LAW_DURATION, 100e6, 1, 0.01, 0.02},
    {"gamma:0.5:10ms", PST_LAW_DURATION, 10e6, 0.5, 0.01, 0.02},
    {"gamma:2:100ms", PST_LAW_DURATION, 100e6, 2, 0.02, 0.03},
    {"gamma:13.15:389ms", PST_LAW_DURATION, 389e6, 13.15, 0.15, 0.15},
    {"lognormal:1.5:100ms", PST_LAW_DURATION, 100e6, 1.5, 0.02, 0.10},
    {"lognormal:1:512", PST_LAW_NUMBER, 512, 1, 0.02, 0.05},
    {"pareto:2.5:100ms", PST_LAW_DURATION, 100e6, 0.894427, 0.01, 0.40},
    {"pareto:4:100ms", PST_LAW_DURATION, 100e6, 0.353553, 0.01, 0.10},
    {"weibull:1:100ms", PST_LAW_DURATION, 100e6, 1, 0.01, 0.02},
    {"weibull:0.5:100ms", PST_LAW_DURATION, 100e6, 2.236068, 0.02, 0.05},
    {"weibull:2:100ms", PST_LAW_DURATION, 100e6, 0.522723, 0.01, 0.02},
    {"weibull:10:100ms", PST_LAW_DURATION, 100e6, 0.120261, 0.01, 0.02},
};

static void moments_match_their_closed_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(moments); i++) {
        struct pst_law law = read_law(moments[i].text, moments[i].unit);
        double sum = 0, squares = 0, mean, cv;
        struct pst_prng prng;

        pst_prng_init(&prng, 7);
        for (int n = 0; n < DRAWS; n++) {
            double x = (double)pst_law_draw(&law, &prng, 0, 0);

            sum += x;
            squares += x * x;
        }
        mean = sum / DRAWS;
        cv = squares / DRAWS > mean * mean ? pst_pow(squares / DRAWS - mean * mean, 0.5) / mean : 0;
        if (fabs(mean / moments[i].mean - 1) > moments[i].mean_tolerance + 1e-9)
            fail_msg("%s: mean %g, not %g", moments[i].text, mean, moments[i].mean);
        if (fabs(pst_law_mean(&law) / moments[i].mean - 1) > 1e-9)
            fail_msg("%s: closed-form mean %g", moments[i].text, pst_law_mean(&law));
        if (fabs(pst_law_cv(&law) - moments[i].cv) > 1e-4)
            fail_msg("%s: closed-form cv %g", moments[i].text, pst_law_cv(&law));
        if (moments[i].cv > 0 && fabs(cv / moments[i].cv - 1) > moments[i].cv_tolerance)
            fail_msg("%s: cv %g, not %g", moments[i].text, cv, moments[i].cv);
        if (moments[i].cv == 0 && cv > 1e-6)
            fail_msg("%s: cv %g of a constant", moments[i].text, cv);
    }
}

/* Quantiles say more about a heavy tail than its moments do. */
static const struct {
    const char *text;
    double at; /* share of draws that is at or below … */
    double value;
} quantiles[] = {
    {"exp:100ms", 0.5, 69314718},           {"exp:100ms", 0.99, 460517019},
    {"pareto:2.5:100ms", 0.5, 79170474},    {"pareto:2.5:100ms", 0.99, 378574410},
    {"lognormal:1.5:100ms", 0.5, 55470020}, {"uniform:10ms:20ms", 0.9, 19e6},
    {"weibull:0.5:100ms", 0.5, 24022651},   {"weibull:2:100ms", 0.99, 242144711},
};

static void quantiles_match_their_closed_forms(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(quantiles); i++) {
        struct pst_law law = read_law(quantiles[i].text, PST_LAW_DURATION);
        struct pst_prng prng;
        double below = 0;

        pst_prng_init(&prng, 11);
        for (int n = 0; n < DRAWS; n++)
            below += (double)pst_law_draw(&law, &prng, 0, 0) <= quantiles[i].value;
        if (fabs(below / DRAWS - quantiles[i].at) > 0.004)
            fail_msg("%s: %g below, not %g", quantiles[i].text, below / DRAWS, quantiles[i].at);
    }
}

static void a_pareto_is_never_below_its_minimum(void **state)
{
    struct pst_law law = read_law("pareto:2.5:100ms", PST_LAW_DURATION);
    struct pst_prng prng;

    (void)state;
    pst_prng_init(&prng, 3);
    for (int n = 0; n < DRAWS; n++)
        assert_true(pst_law_draw(&law, &prng, 0, 0) >= 60 * PST_MS);
}

static void tokens_law_is_linear(void **state)
{
    struct pst_law law = read_law("tokens:20ms:50us:8ms", PST_LAW_DURATION);
    struct pst_law fast = pst_law_scaled(&law, 0.1);
    struct pst_prng prng;

    (void)state;
    pst_prng_init(&prng, 1);
    assert_int_equal(pst_law_draw(&law, &prng, 0, 0), 20 * PST_MS);
    assert_int_equal(pst_law_draw(&law, &prng, 100, 10), 105 * PST_MS);
    assert_int_equal(pst_law_draw(&fast, &prng, 100, 10), 10500 * PST_US);
}

static void one_seed_is_one_sequence(void **state)
{
    struct pst_law law = read_law("gamma:2:100ms", PST_LAW_DURATION);
    struct pst_prng a, b, c;
    int differ = 0;

    (void)state;
    pst_prng_init(&a, 42);
    pst_prng_init(&b, 42);
    pst_prng_init(&c, 43);
    for (int n = 0; n < 1000; n++) {
        uint64_t x = pst_law_draw(&law, &a, 0, 0);

        assert_int_equal(x, pst_law_draw(&law, &b, 0, 0));
        differ += x != pst_law_draw(&law, &c, 0, 0);
    }
    assert_true(differ > 990);
}

/* To the last bit on every compiler, in every build: a sum over all laws that draw. */
static void draws_are_the_same_everywhere(void **state)
{
    uint64_t hash = 0;
    struct pst_prng prng;

    (void)state;
    pst_prng_init(&prng, 99);
    for (size_t i = 0; i < PST_COUNT_OF(moments); i++) {
        struct pst_law law = read_law(moments[i].text, moments[i].unit);

        for (int n = 0; n < 10000; n++)
            hash = pst_mix64(hash ^ pst_law_draw(&law, &prng, 0, 0));
    }
    assert_int_equal(hash, UINT64_C(0xff6114ef0c2a196d));
}

static const struct {
    const char *text;
    enum pst_law_unit unit;
    const char *why;
} wrong[] = {
    {"", PST_LAW_DURATION, "not a law"},
    {"100", PST_LAW_DURATION, "needs a unit"},
    {"100ms", PST_LAW_NUMBER, "no unit"},
    {"100 ms", PST_LAW_DURATION, "needs a unit"},
    {"-5ms", PST_LAW_DURATION, "not a law"},
    {"1.ms", PST_LAW_DURATION, "decimal point"},
    {"erlang:2:100ms", PST_LAW_DURATION, "not a law"},
    {"weibull:0.05:100ms", PST_LAW_DURATION, "shape"},
    {"exp", PST_LAW_DURATION, "not a law"},
    {"exp:", PST_LAW_DURATION, "missing"},
    {"exp:100ms:3", PST_LAW_DURATION, "behind"},
    {"pareto:100ms", PST_LAW_DURATION, "missing"},
    {"pareto:1:100ms", PST_LAW_DURATION, "alpha"},
    {"gamma:0:100ms", PST_LAW_DURATION, "variation"},
    {"uniform:20ms:10ms", PST_LAW_DURATION, "below"},
    {"tokens:1ms:1ms", PST_LAW_DURATION, "missing"},
    {"exp:1234567890123456789012ms", PST_LAW_DURATION, "too long"},
};

static void wrong_texts_are_refused_with_a_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(wrong); i++) {
        struct pst_law law = {.mean = -1};
        const char *why = NULL;
        int rc = pst_law_read(wrong[i].text, strlen(wrong[i].text), wrong[i].unit, &law, &why);

        if (rc != PST_E_SYNTAX || why == NULL || strstr(why, wrong[i].why) == NULL)
            fail_msg("'%s': rc %d, %s", wrong[i].text, rc, why == NULL ? "no reason" : why);
        assert_true(law.mean == -1); /* written on success only */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_match_their_closed_forms),
        cmocka_unit_test(quantiles_match_their_closed_forms),
        cmocka_unit_test(a_pareto_is_never_below_its_minimum),
        cmocka_unit_test(tokens_law_is_linear),
        cmocka_unit_test(one_seed_is_one_sequence),
        cmocka_unit_test(draws_are_the_same_everywhere),
        cmocka_unit_test(wrong_texts_are_refused_with_a_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
