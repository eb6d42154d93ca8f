/* test_fit.c - laws found again from what was drawn from them, within their own errors. */
#include "scene.h"

#include "core/num.h"
#include "sim/fit_log.h"

#define COUNT  8192
#define ERRORS 4                              /* standard ones: 1 of 16,000 is farther off */
#define ORIGIN (UINT64_C(1704067200) * PST_S) /* midnight */

static double values[COUNT], scratch[2 * COUNT];
static struct pst_fit_job jobs[COUNT];

static double off(double a, double b)
{
    return a > b ? a - b : b - a;
}

static void test_sorts(void **state)
{
    struct pst_prng prng;

    (void)state;
    pst_prng_init(&prng, 5);
    for (uint32_t count = 0; count < 200; count++) {
        double sum = 0, sorted = 0;

        for (uint32_t i = 0; i < count; i++)
            sum += values[i] = (double)pst_prng_below(&prng, 50);
        pst_fit_sort(values, count);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(i == 0 || values[i - 1] <= values[i]);
            sorted += values[i];
        }
        assert_true(sum >= sorted && sum <= sorted);
    }
}

/* ---- laws ---- */

static void draw(const struct pst_law *law, uint64_t seed)
{
    struct pst_prng prng;

    pst_prng_init(&prng, seed);
    for (uint32_t i = 0; i < COUNT; i++) {
        values[i] = (double)pst_law_draw(law, &prng, 0, 0);
        values[i] = values[i] < 1 ? 1 : values[i];
    }
    pst_fit_sort(values, COUNT);
}

static void test_laws_are_found_again(void **state)
{
    static const char *const laws[] = {
        "exp:100ms",        "lognormal:1.5:100ms", "lognormal:0.4:2s",
        "pareto:2.5:100ms", "pareto:4.5:30ms",     "gamma:2:100ms",
        "gamma:0.5:100ms",  "weibull:0.7:100ms",   "weibull:2:100ms"};
    static const enum pst_law_kind kinds[] = {PST_LAW_EXP, PST_LAW_LOGNORMAL, PST_LAW_PARETO,
                                              PST_LAW_GAMMA, PST_LAW_WEIBULL};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(laws); i++) {
        const struct pst_law law = scene_time(laws[i]);

        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct pst_fit fits[PST_LAW_KIND_COUNT] = {{0}};
            const struct pst_fit *own = &fits[law.kind];
            enum pst_law_kind best;

            draw(&law, seed);
            for (size_t k = 0; k < PST_COUNT_OF(kinds); k++)
                pst_fit_law(kinds[k], values, COUNT, &fits[kinds[k]]);
            assert_true(pst_fit_best(fits, COUNT, &best));
            if (best != law.kind)
                fail_msg("%s, seed %u: law %d", laws[i], (unsigned)seed, best);
            if (!own->exists || off(own->law.mean, law.mean) > ERRORS * own->mean_error)
                fail_msg("%s: mean %g +- %g", laws[i], own->law.mean, own->mean_error);
            if (off(own->law.shape, law.shape) > ERRORS * own->shape_error)
                fail_msg("%s: shape %g +- %g", laws[i], own->law.shape, own->shape_error);
            assert_true(own->shape_error < 0.1 * (1 + law.shape));
            /* 1.95 / sqrt(n) is chance in 1 of 1,000, and parameters that were fitted are nearer */
            assert_true(own->distance < 1.95 / pst_sqrt(COUNT));
        }
    }
}

static void test_moments(void **state)
{
    const struct pst_law law = scene_time("gamma:2:100ms");
    struct pst_fit fit;

    (void)state;
    draw(&law, 3);
    pst_fit_moments(values, COUNT, &fit);
    assert_true(fit.exists && off(fit.law.shape, 2) < ERRORS * fit.shape_error);
    assert_true(fit.distance < 0.03);
}

static void test_few_or_equal_values_are_no_law(void **state)
{
    struct pst_fit fit;

    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        values[i] = 5;
    pst_fit_law(PST_LAW_EXP, values, PST_FIT_LEAST - 1, &fit);
    assert_false(fit.exists);
    pst_fit_law(PST_LAW_LOGNORMAL, values, 100, &fit);
    assert_false(fit.exists);
    pst_fit_law(PST_LAW_PARETO, values, 100, &fit);
    assert_false(fit.exists);
    pst_fit_law(PST_LAW_GAMMA, values, 100, &fit);
    assert_false(fit.exists);
    pst_fit_law(PST_LAW_WEIBULL, values, 100, &fit);
    assert_false(fit.exists);
    pst_fit_moments(values, 100, &fit);
    assert_false(fit.exists);
}

static void test_tokens(void **state)
{
    struct pst_prng prng;
    struct pst_fit fit;

    (void)state;
    pst_prng_init(&prng, 1);
    for (uint32_t i = 0; i < COUNT; i++) {
        jobs[i].prompt_tokens = (uint32_t)pst_prng_below(&prng, 2000);
        jobs[i].output_tokens = (uint32_t)pst_prng_below(&prng, 400);
        jobs[i].service = 20e6 + 50e3 * jobs[i].prompt_tokens + 8e6 * jobs[i].output_tokens +
                          1e6 * pst_law_normal(&prng);
    }
    pst_fit_tokens(jobs, COUNT, scratch, &fit);
    assert_true(fit.exists && fit.explained > 0.99 && fit.distance < 0.01);
    assert_true(off(fit.law.mean, 20e6) < 0.2e6);
    assert_true(off(fit.law.per_prompt, 50e3) < 200);
    assert_true(off(fit.law.per_output, 8e6) < 1e3);
    for (uint32_t i = 0; i < COUNT; i++) /* no token says anything */
        jobs[i].service = 1e6 + 1e6 * pst_prng_unit(&prng);
    pst_fit_tokens(jobs, COUNT, scratch, &fit);
    assert_false(fit.exists);
    for (uint32_t i = 0; i < COUNT; i++) { /* prompts say less than nothing, and are left out */
        jobs[i].service = 500e6 + 8e6 * jobs[i].output_tokens - 1e3 * jobs[i].prompt_tokens;
    }
    pst_fit_tokens(jobs, COUNT, scratch, &fit);
    assert_true(fit.exists && fit.law.per_prompt <= 0 && off(fit.law.per_output, 8e6) < 1e5);
}

/* ---- logs ---- */

struct course {
    const char *promise;
    double hours;
    double per_s;
    double night_per_s; /* from 20 to 8 h, where it is not 0 */
    const char *gaps;
    double burst_per_s; /* 120 s at minute 10 of each hour */
    const char *service;
    enum pst_law_kind gap_kind, service_kind;
    uint32_t pieces, bursts;
};

static const struct course courses[] = {
    {"a Poisson stream", 2, 2, 0, "exp:1", 0, "exp:500ms", PST_LAW_EXP, PST_LAW_EXP, 1, 0},
    {"even service", 2, 2, 0, "exp:1", 0, "const:500ms", PST_LAW_EXP, PST_LAW_CONST, 1, 0},
    {"uneven gaps", 4, 2, 0, "gamma:2:1", 0, "pareto:2.5:1s", PST_LAW_GAMMA, PST_LAW_PARETO, 1, 0},
    {"a clock", 1, 1, 0, "gamma:0.3:1", 0, "exp:500ms", PST_LAW_GAMMA, PST_LAW_EXP, 1, 0},
    {"bursts in their places", 6, 2, 0, "exp:1", 30, "lognormal:1:1s", PST_LAW_EXP,
     PST_LAW_LOGNORMAL, 1, 6},
    {"three days and nights", 72, 2, 0.5, "exp:1", 0, "exp:500ms", PST_LAW_EXP, PST_LAW_EXP, 24, 0},
    {"and with bursts", 72, 2, 0.5, "exp:1", 30, "exp:500ms", PST_LAW_EXP, PST_LAW_EXP, 24, 72},
    {"closer than the clock tells", 0.5, 400, 0, "exp:1", 0, "exp:50ms", PST_LAW_EXP, PST_LAW_EXP,
     1, 0},
};

static double rate_at(const struct course *course, double s)
{
    const double hour = s / 3600 - 24 * (double)pst_to_u64(s / 86400);
    const double minute = s / 60 - 60 * (double)pst_to_u64(s / 3600);
    const double base =
        course->night_per_s > 0 && (hour < 8 || hour >= 20) ? course->night_per_s : course->per_s;

    return base + (minute >= 10 && minute < 12 ? course->burst_per_s : 0);
}

static void read_course(const struct course *course, struct pst_fit_found *ret_found)
{
    const struct pst_law gaps = scene_law(course->gaps, PST_LAW_NUMBER);
    const struct pst_law unit = pst_law_scaled(&gaps, 1e9);
    const struct pst_law service = scene_time(course->service);
    const double end_s = course->hours * 3600;
    struct pst_fit_log *log;
    struct pst_prng prng;
    double s = 0, left = 0;

    pst_prng_init(&prng, 11);
    assert_int_equal(pst_fit_log_new(1, &log), PST_OK);
    while (s < end_s) {
        const double step = 1 / rate_at(course, s) < 1 ? 1 / rate_at(course, s) / 8 : 0.125;

        while (left <= 0) {
            pst_fit_log_arrived(log, pst_to_u64(s * PST_S));
            pst_fit_log_served(log, pst_law_draw(&service, &prng, 0, 0), 0, 0);
            left += (double)pst_law_draw(&unit, &prng, 0, 0) / 1e9;
        }
        if (left < step * rate_at(course, s)) { /* to the very moment */
            s += left / rate_at(course, s);
            left = 0;
        } else {
            left -= step * rate_at(course, s);
            s += step;
        }
    }
    pst_fit_log_read(log, ORIGIN, pst_to_u64(end_s * PST_S), ret_found);
    pst_fit_log_free(log);
}

static void assert_bursts(const struct course *course, const struct pst_fit_burst *burst)
{
    if (course->bursts == 0)
        return;
    assert_true(burst->periodic);
    assert_true(off((double)burst->every, 3600e9) < 20e9);
    assert_true(off((double)burst->offset_from, 600e9) < 40e9);
    assert_true(burst->length_from >= 80 * PST_S && burst->length_to <= 160 * PST_S);
    assert_true(off(burst->per_s, 30) < 6);
}

static void test_courses(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(courses); i++) {
        const struct course *course = &courses[i];
        struct pst_fit_found found;

        read_course(course, &found);
        if (found.gap_kind != course->gap_kind || found.service_kind != course->service_kind)
            fail_msg("%s: gaps %d, service %d", course->promise, found.gap_kind,
                     found.service_kind);
        if (found.pieces_count != course->pieces || found.burst.count != course->bursts)
            fail_msg("%s: %u pieces, %u bursts", course->promise, found.pieces_count,
                     found.burst.count);
        assert_int_equal(found.period > 0, course->night_per_s > 0);
        assert_int_equal(found.by_counts, course->per_s > 100);
        assert_bursts(course, &found.burst);
        if (course->pieces == 1)
            assert_true(off(found.pieces[0].per_s, course->per_s) < 0.06 * course->per_s);
        else {
            assert_true(off(found.pieces[3].per_s, course->night_per_s) < 0.05);
            assert_true(off(found.pieces[12].per_s, course->per_s) < 0.1);
        }
        if (course->gap_kind == PST_LAW_GAMMA)
            assert_true(off(found.gaps[PST_LAW_GAMMA].law.shape,
                            scene_law(course->gaps, PST_LAW_NUMBER).shape) <
                        ERRORS * found.gaps[PST_LAW_GAMMA].shape_error + 0.02);
    }
}

static void test_nothing_is_told_of_nothing(void **state)
{
    struct pst_fit_found found;
    struct pst_fit_log *log;

    (void)state;
    assert_int_equal(pst_fit_log_new(1, &log), PST_OK);
    pst_fit_log_arrived(log, 0);
    pst_fit_log_arrived(log, UINT64_C(400) * 24 * 3600 * PST_S);
    pst_fit_log_arrived(log, 5); /* out of order: counted, without a gap */
    pst_fit_log_read(log, ORIGIN, UINT64_C(400) * 24 * 3600 * PST_S, &found);
    assert_int_equal(found.arrived, 3);
    assert_false(found.has_service);
    assert_int_equal(found.burst.count, 0);
    pst_fit_log_free(log);
    pst_fit_log_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorts),
        cmocka_unit_test(test_laws_are_found_again),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_few_or_equal_values_are_no_law),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_courses),
        cmocka_unit_test(test_nothing_is_told_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
