/* test_burst.c - when a burst is on, how long it will last, and what comes outside of it. */
#include "harness.h"

#include "core/burst.h"
#include "core/dispersion.h"

struct source {
    struct pst_window window, refusals;
    struct pst_burst burst;
    struct pst_burst_config config;
};

static struct source source_of(double floor)
{
    return (struct source){.config = {.floor = floor, .memory_s = 100, .refused_s = 10}};
}

/* Seconds of so many slots of work, the last part of it refused. */
static void come(struct source *s, uint32_t seconds, double slots, double refused)
{
    for (uint32_t i = 0; i < seconds; i++) {
        pst_window_add(&s->window, pst_to_u64(slots * PST_S));
        pst_window_add(&s->refusals, pst_to_u64(refused * PST_S));
        pst_burst_add(&s->burst, &s->config, &s->window, &s->refusals);
    }
}

static bool is_near(double got, double want, double within)
{
    return got >= want - within && got <= want + within;
}

static void a_burst_is_what_rises_far_enough(void **state)
{
    static const struct {
        const char *name;
        double calm, high;
        uint32_t seconds;
        bool want;
    } rows[] = {
        {"a large rise, at once", 2, 82, 2, true},
        {"a second of it is no more than a peak", 20, 82, 1, false},
        {"twice the calm rate", 20, 41, 10, true},
        {"… and not quite", 20, 39, 60, false},
        {"a rise below the floor", 1, 4, 60, false},
        {"work where there was none", 0, 10, 10, true},
        {"less work", 20, 1, 60, false},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct source s = source_of(3.5);

        come(&s, 200, rows[i].calm, 0);
        assert_false(pst_burst_is_on(&s.burst));
        come(&s, rows[i].seconds, rows[i].high, 0);
        if (pst_burst_is_on(&s.burst) != rows[i].want)
            fail_msg("%s: %s", rows[i].name, rows[i].want ? "calm" : "a burst");
    }
}

static void the_first_minute_has_none(void **state)
{
    struct source s = source_of(3.5);

    (void)state;
    come(&s, 58, 0, 0);
    come(&s, 1, 100, 0);
    assert_false(pst_burst_is_on(&s.burst));
}

static void what_comes_outside_is_kept(void **state)
{
    struct source s = source_of(3.5);

    (void)state;
    come(&s, 300, 10, 0);
    come(&s, 5, 60, 0);
    assert_true(pst_burst_is_on(&s.burst));
    assert_true(is_near(pst_burst_present(&s.burst, &s.window), 60, 1e-9));
    come(&s, 115, 60, 0);
    assert_true(is_near(pst_burst_calm(&s.burst), 10, 1e-9));
    assert_true(is_near(pst_burst_present(&s.burst, &s.window), 60, 1e-9));
    come(&s, 30, 10, 0);
    assert_false(pst_burst_is_on(&s.burst));
    assert_true(is_near(pst_burst_present(&s.burst, &s.window), 10, 1e-9));
    assert_true(s.burst.learned == 1 && is_near(s.burst.lengths_s[0], 120, 4));
}

static void remaining_time_follows_from_those_that_lasted_as_long(void **state)
{
    struct source s = source_of(3.5);

    (void)state;
    come(&s, 100, 2, 0);
    assert_true(pst_burst_remaining_s(&s.burst) == 0);
    come(&s, 40, 80, 0);
    assert_true(
        is_near(pst_burst_remaining_s(&s.burst), 40, 2)); /* nothing learned: as long again */
    come(&s, 100, 2, 0);
    come(&s, 200, 80, 0);
    come(&s, 100, 2, 0);
    assert_true(s.burst.learned == 2);

    come(&s, 10, 80, 0); /* of 40 and 200 */
    assert_true(is_near(pst_burst_remaining_s(&s.burst), 110, 4));
    come(&s, 50, 80, 0); /* of 200 */
    assert_true(is_near(pst_burst_remaining_s(&s.burst), 140, 4));
    come(&s, 240, 80, 0); /* of none */
    assert_true(is_near(pst_burst_remaining_s(&s.burst), 300, 4));
}

static void what_lasts_becomes_calm(void **state)
{
    struct source s = source_of(3.5);

    (void)state;
    come(&s, 100, 10, 0);
    come(&s, 1790, 50, 0);
    assert_true(pst_burst_is_on(&s.burst));
    come(&s, 20, 50, 0);
    assert_false(pst_burst_is_on(&s.burst));
    assert_true(is_near(pst_burst_calm(&s.burst), 50, 0.1));
    assert_true(s.burst.learned == 0);
}

/* A quiet first minute, and then what was no burst: the calm rate finds it, and no length is learned. */
static void what_is_not_clearly_a_burst_is_calm(void **state)
{
    struct source s = source_of(3.5);

    (void)state;
    come(&s, 100, 4, 0);
    for (int i = 0; i < 60; i++) { /* 7 on average */
        come(&s, 5, 10, 0);
        come(&s, 5, 4, 0);
    }
    assert_true(is_near(pst_burst_calm(&s.burst), 7, 0.7));
    assert_true(s.burst.learned == 0);
    come(&s, 60, 60, 0); /* and a burst is still one */
    assert_true(pst_burst_is_on(&s.burst) && is_near(pst_burst_calm(&s.burst), 7, 0.7));
}

static void sixteen_lengths_are_kept(void **state)
{
    struct source s = source_of(3.5);

    (void)state;
    come(&s, 100, 2, 0);
    for (uint32_t i = 0; i < 4; i++) {
        come(&s, 20, 80, 0);
        come(&s, 60, 2, 0);
    }
    for (uint32_t i = 0; i < PST_BURST_KEPT; i++) {
        come(&s, 100, 80, 0);
        come(&s, 60, 2, 0);
    }
    assert_true(s.burst.learned == PST_BURST_KEPT);
    for (uint32_t i = 0; i < PST_BURST_KEPT; i++)
        assert_true(is_near(s.burst.lengths_s[i], 100, 3));
}

static void refusals_fade_sooner(void **state)
{
    struct source s = source_of(3.5);

    (void)state;
    come(&s, 400, 20, 4);
    assert_true(is_near(pst_burst_calm(&s.burst), 20, 0.1));
    come(&s, 60, 16, 0); /* the last half minute, the delay, and two of its time constants */
    assert_true(is_near(pst_burst_calm(&s.burst), 16 + 4 * 0.12, 0.2));
    come(&s, 30, 0, 0); /* other work stays for longer */
    assert_true(is_near(pst_burst_calm(&s.burst), 16 * 0.82, 0.3));
}

static void gaps_are_not_idle(void **state)
{
    struct pst_window window = {0};

    (void)state;
    assert_true(pst_window_mean(&window, 10) == 0);
    pst_window_add(&window, 4 * PST_S);
    pst_window_add(&window, PST_WINDOW_GAP);
    pst_window_add(&window, 2 * PST_S);
    assert_true(pst_window_mean(&window, 1) == 2);
    assert_true(pst_window_mean(&window, 2) == 2);
    assert_true(pst_window_mean(&window, 10) == 3);
    for (uint32_t i = 0; i < PST_WINDOW_SECONDS; i++)
        pst_window_add(&window, PST_WINDOW_GAP);
    assert_true(pst_window_mean(&window, PST_WINDOW_SECONDS) == 0);
}

static void counts_tell_how_irregular_arrivals_are(void **state)
{
    static const struct {
        const char *name;
        uint32_t batch;
        double drift, want, within;
    } rows[] = {
        {"poisson", 1, 0, 1, 0.25},
        {"in batches of 3", 3, 0, 3, 0.75},
        {"in batches of 20: bounded", 20, 0, 4, 0},
        {"a drift is no irregularity", 1, 0.02, 1, 0.25},
    };
    struct pst_dispersion even = {0};
    struct pst_prng prng;

    (void)state;
    pst_prng_init(&prng, 5);
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_dispersion d = {0};
        double got;

        for (uint32_t s = 0; s < 2000; s++) {
            double left = 30 + rows[i].drift * s;
            uint32_t arrived = 0;

            left /= rows[i].batch;
            while ((left += pst_ln((pst_prng_below(&prng, 1000000) + 1) / 1e6)) > 0)
                arrived += rows[i].batch;
            pst_dispersion_add(&d, arrived);
        }
        got = pst_dispersion_index(&d);
        if (!is_near(got, rows[i].want, rows[i].within))
            fail_msg("%s: %g, not %g", rows[i].name, got, rows[i].want);
    }
    assert_true(pst_dispersion_index(&even) == 1);
    for (uint32_t s = 0; s < 2000; s++) {
        pst_dispersion_add(&even, 10);
        if (s % 100 == 50) /* what is on both sides of a gap is not compared */
            pst_dispersion_gap(&even);
    }
    assert_true(pst_dispersion_index(&even) == 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_what_rises_far_enough),
        cmocka_unit_test(the_first_minute_has_none),
        cmocka_unit_test(what_comes_outside_is_kept),
        cmocka_unit_test(remaining_time_follows_from_those_that_lasted_as_long),
        cmocka_unit_test(what_lasts_becomes_calm),
        cmocka_unit_test(what_is_not_clearly_a_burst_is_calm),
        cmocka_unit_test(sixteen_lengths_are_kept),
        cmocka_unit_test(refusals_fade_sooner),
        cmocka_unit_test(gaps_are_not_idle),
        cmocka_unit_test(counts_tell_how_irregular_arrivals_are),
    };

    pst_assert_hook = harness_assert_hook;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
