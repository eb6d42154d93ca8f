/* score.c - see score.h. */
#include "sim/score.h"

#include <stdlib.h>

#define SHORT_PARTS 100 /* one step in so many may be short */
#define STEPS_MIN   50  /* of half a series, to choose a factor by */
#define HOPELESS    1e300

/* What came, and what was said of it: per step; negative: unknown, nothing. */
struct played {
    const double *rates;
    uint32_t count;
    double *said[PST_SCORE_ROWS];
    bool *is_scored;
    double *ratios; /* room to sort in */
};

/* Some steps of it, and who is compared there. */
struct half {
    const struct played *played;
    uint32_t from, to;
    uint32_t steps; /* scored */
    bool takes_part[PST_SCORE_ROWS];
};

static void played_done(struct played *p)
{
    free(p->said[0]);
    free(p->is_scored);
    free(p->ratios);
}

static int played_init(struct played *p, const double *rates, uint32_t count)
{
    *p = (struct played){.rates = rates, .count = count};
    p->said[0] = calloc((size_t)count * PST_SCORE_ROWS + 1, sizeof *p->said[0]);
    p->is_scored = calloc((size_t)count + 1, sizeof *p->is_scored);
    p->ratios = calloc((size_t)count + 1, sizeof *p->ratios);
    if (p->said[0] == NULL || p->is_scored == NULL || p->ratios == NULL) {
        played_done(p);
        return PST_E_NOMEM;
    }
    for (uint32_t row = 1; row < PST_SCORE_ROWS; row++)
        p->said[row] = p->said[0] + (size_t)count * row;
    return PST_OK;
}

static double said_by(const struct pst_forecast *forecast, uint32_t row, uint32_t ahead)
{
    double rates[PST_FORECAST_AHEAD_MAX];

    switch (row) {
    case PST_SCORE_RAISED:
        if (!(pst_forecast_margin(forecast) > 0))
            return PST_SCORE_UNKNOWN;
        return pst_forecast_margin(forecast) * said_by(forecast, PST_SCORE_JUDGED, ahead);
    case PST_SCORE_JUDGED:
        if (pst_forecast_path(forecast, ahead, rates))
            return rates[ahead - 1];
        return said_by(forecast, PST_FORECAST_PERSISTENCE, ahead);
    default:
        if (pst_forecast_says(forecast, (enum pst_forecast_model)row, ahead, rates))
            return rates[ahead - 1];
        return PST_SCORE_UNKNOWN;
    }
}

/* What each row says of each step, `ahead` steps before it. */
static int play(struct played *p, pst_ns step, uint32_t ahead)
{
    struct pst_forecast *forecast = NULL;
    const int rc = pst_forecast_new(step, &forecast);

    if (rc != PST_OK)
        return rc;
    pst_forecast_lead(forecast, ahead);
    for (uint32_t row = 0; row < PST_SCORE_ROWS; row++)
        for (uint32_t i = 0; i < ahead && i < p->count; i++)
            p->said[row][i] = PST_SCORE_UNKNOWN;
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->rates[i] >= 0)
            pst_forecast_add(forecast, p->rates[i]);
        else
            pst_forecast_gap(forecast);
        for (uint32_t row = 0; row < PST_SCORE_ROWS && i + ahead < p->count; row++)
            p->said[row][i + ahead] = said_by(forecast, row, ahead);
    }
    pst_forecast_free(forecast);
    return PST_OK;
}

/* Who spoke of half of the known steps takes part; what all of those spoke of is scored. */
static struct half compare(const struct played *p, uint32_t from, uint32_t to)
{
    struct half half = {.played = p, .from = from, .to = to};
    uint32_t known = 0;

    for (uint32_t i = from; i < to; i++)
        known += p->rates[i] >= 0;
    for (uint32_t row = 0; row < PST_SCORE_ROWS; row++) {
        uint32_t spoke = 0;

        for (uint32_t i = from; i < to; i++)
            spoke += p->rates[i] >= 0 && p->said[row][i] >= 0;
        half.takes_part[row] = spoke >= STEPS_MIN && spoke >= known - spoke;
    }
    for (uint32_t i = from; i < to; i++) {
        p->is_scored[i] = p->rates[i] >= 0;
        for (uint32_t row = 0; row < PST_SCORE_ROWS; row++)
            if (half.takes_part[row] && p->said[row][i] < 0)
                p->is_scored[i] = false;
        half.steps += p->is_scored[i];
    }
    return half;
}

/* By so much the row's forecast of a step must be raised. */
static double ratio_at(const struct played *p, uint32_t row, uint32_t i)
{
    if (p->said[row][i] > 0)
        return p->rates[i] / p->said[row][i];
    return p->rates[i] > 0 ? HOPELESS : 0;
}

/* Largest first. Source: Shell, "A high-speed sorting procedure"; gaps by Knuth. */
static void sort(double *values, uint32_t count)
{
    uint32_t gap = 1;

    while (gap < count / 3)
        gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (uint32_t i = gap; i < count; i++) {
            const double value = values[i];
            uint32_t j = i;

            for (; j >= gap && values[j - gap] < value; j -= gap)
                values[j] = values[j - gap];
            values[j] = value;
        }
}

/* What a row's forecasts take with a factor, in mean rates, and the share of steps then short. */
static bool cost(const struct half *half, uint32_t row, double factor, double *ret_capacity,
                 double *ret_short_share)
{
    const struct played *p = half->played;
    double said = 0, came = 0;
    uint32_t lacking = 0;

    for (uint32_t i = half->from; i < half->to; i++) {
        if (!p->is_scored[i])
            continue;
        said += p->said[row][i];
        came += p->rates[i];
        lacking += ratio_at(p, row, i) > factor;
    }
    if (!half->takes_part[row] || !(came > 0))
        return false;
    *ret_capacity = factor * said / came;
    *ret_short_share = (double)lacking / half->steps;
    return true;
}

/* The least factor that leaves no more short than may be, if there is one. */
static void fit(const struct half *half, uint32_t row, struct pst_score_half *ret_fit)
{
    const struct played *p = half->played;
    struct pst_score_half best = {0};
    uint32_t steps = 0;
    double share;

    for (uint32_t i = half->from; i < half->to; i++)
        if (p->is_scored[i])
            p->ratios[steps++] = ratio_at(p, row, i);
    if (half->takes_part[row] && steps >= STEPS_MIN) {
        sort(p->ratios, steps);
        best.factor = p->ratios[steps / SHORT_PARTS];
        best.exists =
            best.factor < HOPELESS && cost(half, row, best.factor, &best.capacity, &share);
    }
    *ret_fit = best;
}

static void choose(struct pst_score *score)
{
    score->chosen = PST_FORECAST_PERSISTENCE;
    for (uint32_t row = 0; row < PST_SCORE_ROWS; row++) {
        const struct pst_score_half *best = &score->rows[score->chosen].first;
        const struct pst_score_half *first = &score->rows[row].first;

        if (first->exists && (!best->exists || first->capacity < best->capacity))
            score->chosen = row;
    }
}

static void score_halves(const struct half *first, const struct half *second,
                         struct pst_score *ret_score)
{
    *ret_score = (struct pst_score){.first_steps = first->steps, .second_steps = second->steps};
    for (uint32_t row = 0; row < PST_SCORE_ROWS; row++) {
        struct pst_score_row *r = &ret_score->rows[row];

        fit(first, row, &r->first);
        fit(second, row, &r->second);
        r->is_used = r->first.exists && r->second.exists &&
                     cost(second, row, r->first.factor, &r->capacity, &r->short_share);
    }
    choose(ret_score);
}

int pst_score_forecasts(const double *rates, uint32_t count, pst_ns step, uint32_t ahead,
                        struct pst_score *ret_score)
{
    struct played played;
    int rc;

    if (ahead < 1 || ahead > PST_FORECAST_AHEAD_MAX)
        return PST_E_INVALID;
    rc = played_init(&played, rates, count);
    if (rc != PST_OK)
        return rc;
    rc = play(&played, step, ahead);
    if (rc == PST_OK) {
        const struct half first = compare(&played, 0, count / 2);
        const struct half second = compare(&played, count / 2, count);

        score_halves(&first, &second, ret_score);
    }
    played_done(&played);
    return rc;
}

const char *pst_score_name(uint32_t row)
{
    if (row == PST_SCORE_JUDGED)
        return "judged";
    if (row == PST_SCORE_RAISED)
        return "judged, raised";
    return pst_forecast_model_name((enum pst_forecast_model)row);
}
