/* test_score.c - forecasters are compared on the same steps, chosen on one half and used on the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim/score.h"

#define STEP  (600 * PST_S)
#define STEPS 2000
#define HALF  (STEPS / 2)
#define WEEK  1008 /* steps: all but a little of the first half */

static double rates[STEPS];

static void is_near(double got, double want)
{
    if (got < want - 1e-6 || got > want + 1e-6)
        fail_msg("%.9f, want %.9f", got, want);
}

static void fill(double rate)
{
    for (int i = 0; i < STEPS; i++)
        rates[i] = rate;
}

/* Comes again every hour, and never rises by as much as a burst would. */
static double wave(int i)
{
    static const double hour[6] = {100, 110, 120, 130, 120, 110};

    return hour[i % 6];
}

static struct pst_score scored(uint32_t ahead)
{
    struct pst_score score;

    assert_int_equal(pst_score_forecasts(rates, STEPS, STEP, ahead, &score), PST_OK);
    return score;
}

static void what_never_changes_needs_itself(void **state)
{
    (void)state;
    fill(42);
    for (uint32_t ahead = 1; ahead <= 12; ahead++) {
        const struct pst_score score = scored(ahead);

        assert_in_range(score.second_steps, STEPS - WEEK - ahead, STEPS - WEEK);
        for (uint32_t row = 0; row < PST_SCORE_ROWS; row++) {
            const struct pst_score_row *r = &score.rows[row];

            if (row == PST_FORECAST_AR || row == PST_SCORE_RAISED || !r->is_used)
                continue; /* a ridge, and the judge's buckets, are not exact */
            is_near(r->first.factor, 1);
            is_near(r->capacity, 1);
            is_near(r->short_share, 0);
            is_near(r->second.capacity, 1);
        }
        assert_false(score.rows[PST_FORECAST_WEEK].is_used);
        assert_true(score.rows[PST_FORECAST_WEEK].second.exists);
    }
}

static void a_season_foresees_what_persistence_must_buy(void **state)
{
    struct pst_score score;

    (void)state;
    for (int i = 0; i < STEPS; i++)
        rates[i] = wave(i);
    score = scored(2); /* the steepest rise within two steps is from 100 to 120 */
    assert_int_equal(score.chosen, PST_FORECAST_HOUR);
    is_near(score.rows[PST_FORECAST_HOUR].first.factor, 1);
    is_near(score.rows[PST_FORECAST_HOUR].capacity, 1);
    is_near(score.rows[PST_FORECAST_PERSISTENCE].first.factor, 1.2);
    is_near(score.rows[PST_FORECAST_HOUR_MAX].first.capacity, 130.0 / 115);
}

/* Spikes that nobody foresees, near the end of the first half. */
static void one_step_in_a_hundred_may_be_short(void **state)
{
    uint32_t may_lack;

    (void)state;
    fill(100);
    may_lack = scored(1).first_steps / 100;
    assert_true(may_lack >= 8);
    for (uint32_t spikes = may_lack - 1; spikes <= may_lack + 1; spikes++) {
        struct pst_score score;

        fill(100);
        for (uint32_t i = 0; i < spikes; i++)
            rates[HALF - 20 - 7 * i] = 140;
        score = scored(1);
        is_near(score.rows[PST_FORECAST_PERSISTENCE].first.factor, spikes <= may_lack ? 1 : 1.4);
    }
}

static void the_second_half_is_not_seen_when_choosing(void **state)
{
    struct pst_score score;

    (void)state;
    for (int i = 0; i < STEPS; i++)
        rates[i] = i < HALF ? wave(i) : 115 + (i % 50 == 0 ? 20 : 0);
    score = scored(1);
    assert_int_equal(score.chosen, PST_FORECAST_HOUR);
    is_near(score.rows[PST_FORECAST_HOUR].first.factor, 1);
    assert_true(score.rows[PST_FORECAST_HOUR].short_share > 0.01);
    assert_true(score.rows[PST_FORECAST_HOUR].second.capacity >
                score.rows[PST_FORECAST_HOUR].capacity);
}

static void unknown_steps_are_not_scored(void **state)
{
    struct pst_score score;
    uint32_t first_steps;

    (void)state;
    fill(100);
    first_steps = scored(1).first_steps;
    for (int i = HALF - 30; i < HALF - 20; i++)
        rates[i] = PST_SCORE_UNKNOWN;
    score = scored(1);
    /* Ten gaps; and the six steps after them, of which an autoregression says nothing. */
    assert_int_equal(score.first_steps, first_steps - 16);
    is_near(score.rows[PST_FORECAST_PERSISTENCE].first.factor, 1);
}

static void nothing_at_all_has_no_factor(void **state)
{
    struct pst_score score;

    (void)state;
    fill(PST_SCORE_UNKNOWN);
    score = scored(1);
    assert_int_equal(score.first_steps, 0);
    fill(0);
    score = scored(1);
    for (uint32_t row = 0; row < PST_SCORE_ROWS; row++)
        assert_false(score.rows[row].first.exists || score.rows[row].is_used);
    for (int i = 0; i < STEPS; i += 2) /* every forecast of something is one of nothing */
        rates[i] = 5;
    score = scored(1);
    assert_false(score.rows[PST_FORECAST_PERSISTENCE].first.exists);
}

static void what_cannot_be_scored_is_said(void **state)
{
    static const struct {
        pst_ns step;
        uint32_t count, ahead;
        int want;
    } rows[] = {
        {STEP, STEPS, 0, PST_E_INVALID},
        {STEP, STEPS, 512, PST_OK},
        {STEP, STEPS, 513, PST_E_INVALID},
        {420 * PST_S, STEPS, 1, PST_E_INVALID},
        {7200 * PST_S, STEPS, 1, PST_E_INVALID},
        {STEP, 0, 1, PST_OK},
        {STEP, 1, 2, PST_OK},
    };

    (void)state;
    fill(1);
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_score score;

        assert_int_equal(
            pst_score_forecasts(rates, rows[i].count, rows[i].step, rows[i].ahead, &score),
            rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_never_changes_needs_itself),
        cmocka_unit_test(a_season_foresees_what_persistence_must_buy),
        cmocka_unit_test(one_step_in_a_hundred_may_be_short),
        cmocka_unit_test(the_second_half_is_not_seen_when_choosing),
        cmocka_unit_test(unknown_steps_are_not_scored),
        cmocka_unit_test(nothing_at_all_has_no_factor),
        cmocka_unit_test(what_cannot_be_scored_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
