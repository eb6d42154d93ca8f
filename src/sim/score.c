/* score.c - see score.h. */
#include "sim/score.h"

#include <stdlib.h>

#define SHORT_PARTS 100 /* one step in so many may be short */
#define STEPS_MIN   50  /* of half a series, to choose a factor by */
#define HOPELESS    1e300

/* A half of the series, and what one forecaster said of it. Negative: unknown, nothing. */
struct half {
    const double *actual;
    const double *forecast;
    uint32_t count;
    double *ratios; /* room for as many */
};

static bool is_scored(const struct half *half, uint32_t i)
{
    return half->actual[i] >= 0 && half->forecast[i] >= 0;
}

/* By so much the forecast must be raised. */
static double ratio_at(const struct half *half, uint32_t i)
{
    if (half->forecast[i] > 0)
        return half->actual[i] / half->forecast[i];
    return half->actual[i] > 0 ? HOPELESS : 0;
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

/* The least factor that leaves no more short than may be. Needs some steps and a usable factor. */
static void fit(const struct half *half, struct pst_score_half *ret_fit)
{
    uint32_t steps = 0;

    for (uint32_t i = 0; i < half->count; i++)
        if (is_scored(half, i))
            half->ratios[steps++] = ratio_at(half, i);
    *ret_fit = (struct pst_score_half){.steps = steps};
    if (steps < STEPS_MIN)
        return;
    sort(half->ratios, steps);
    ret_fit->factor = half->ratios[steps / SHORT_PARTS];
    ret_fit->has_factor = ret_fit->factor < HOPELESS;
}

/* What the forecasts take with a factor, in mean rates; false: nothing came at all. */
static bool cost(const struct half *half, double factor, double *ret_capacity,
                 double *ret_short_share)
{
    double forecast = 0, actual = 0;
    uint32_t steps = 0, lacking = 0;

    for (uint32_t i = 0; i < half->count; i++) {
        if (!is_scored(half, i))
            continue;
        steps++;
        forecast += half->forecast[i];
        actual += half->actual[i];
        lacking += ratio_at(half, i) > factor;
    }
    if (!(actual > 0))
        return false;
    *ret_capacity = factor * forecast / actual;
    *ret_short_share = (double)lacking / steps;
    return true;
}

static void score_row(const struct half *first, const struct half *second,
                      struct pst_score_row *ret_row)
{
    double share;

    *ret_row = (struct pst_score_row){0};
    fit(first, &ret_row->first);
    fit(second, &ret_row->second);
    if (ret_row->first.has_factor)
        ret_row->first.has_factor =
            cost(first, ret_row->first.factor, &ret_row->first.capacity, &share);
    if (ret_row->second.has_factor)
        ret_row->second.has_factor =
            cost(second, ret_row->second.factor, &ret_row->second.capacity, &share);
    if (ret_row->first.has_factor && ret_row->second.steps >= STEPS_MIN)
        ret_row->is_used =
            cost(second, ret_row->first.factor, &ret_row->capacity, &ret_row->short_share);
}

static double said_by(const struct pst_forecast *forecast, uint32_t row, uint32_t ahead)
{
    double rates[PST_FORECAST_AHEAD_MAX];

    if (row == PST_SCORE_JUDGED) {
        if (pst_forecast_path(forecast, ahead, rates))
            return rates[ahead - 1];
        row = PST_FORECAST_PERSISTENCE;
    }
    if (!pst_forecast_says(forecast, (enum pst_forecast_model)row, ahead, rates))
        return PST_SCORE_UNKNOWN;
    return rates[ahead - 1];
}

/* What each row says of each step, `ahead` steps before it. */
static int play(const double *rates, uint32_t count, pst_ns step, uint32_t ahead,
                double *said[PST_SCORE_ROWS])
{
    struct pst_forecast *forecast = NULL;
    const int rc = pst_forecast_new(step, &forecast);

    if (rc != PST_OK)
        return rc;
    pst_forecast_lead(forecast, ahead);
    for (uint32_t i = 0; i < count; i++) {
        if (rates[i] >= 0)
            pst_forecast_add(forecast, rates[i]);
        else
            pst_forecast_gap(forecast);
        for (uint32_t row = 0; row < PST_SCORE_ROWS && i + ahead < count; row++)
            said[row][i + ahead] = said_by(forecast, row, ahead);
    }
    pst_forecast_free(forecast);
    return PST_OK;
}

static void choose(struct pst_score *score)
{
    score->chosen = PST_FORECAST_PERSISTENCE;
    for (uint32_t row = 0; row < PST_SCORE_ROWS; row++) {
        const struct pst_score_half *best = &score->rows[score->chosen].first;
        const struct pst_score_half *first = &score->rows[row].first;

        if (first->has_factor && (!best->has_factor || first->capacity < best->capacity))
            score->chosen = row;
    }
}

int pst_score_forecasts(const double *rates, uint32_t count, pst_ns step, uint32_t ahead,
                        struct pst_score *ret_score)
{
    const uint32_t middle = count / 2;
    double *said[PST_SCORE_ROWS], *room;
    struct pst_score score = {0};
    int rc;

    if (ahead < 1 || ahead > PST_FORECAST_AHEAD_MAX)
        return PST_E_INVALID;
    room = calloc((size_t)count * (PST_SCORE_ROWS + 1) + 1, sizeof *room);
    if (room == NULL)
        return PST_E_NOMEM;
    for (uint32_t row = 0; row < PST_SCORE_ROWS; row++) {
        said[row] = room + (size_t)count * (row + 1);
        for (uint32_t i = 0; i < count; i++)
            said[row][i] = PST_SCORE_UNKNOWN;
    }
    rc = play(rates, count, step, ahead, said);
    for (uint32_t row = 0; row < PST_SCORE_ROWS && rc == PST_OK; row++) {
        const struct half first = {rates, said[row], middle, room};
        const struct half second = {rates + middle, said[row] + middle, count - middle, room};

        score_row(&first, &second, &score.rows[row]);
    }
    for (uint32_t i = 0; i < count; i++)
        score.known += rates[i] >= 0;
    choose(&score);
    free(room);
    if (rc == PST_OK)
        *ret_score = score;
    return rc;
}

const char *pst_score_name(uint32_t row)
{
    if (row == PST_SCORE_JUDGED)
        return "judged";
    return pst_forecast_model_name((enum pst_forecast_model)row);
}
