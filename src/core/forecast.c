/* forecast.c - see forecast.h: the models side by side, and who may speak. */
#include "core/forecast.h"

#include <stdlib.h>

#include "core/forecast_ar.h"
#include "core/forecast_burst.h"
#include "core/forecast_judge.h"
#include "core/forecast_season.h"
#include "core/forecast_series.h"

#define HOUR         (3600 * PST_S)
#define STEP_LEAST   PST_S
#define HOURS_IN_DAY 24
#define DAYS_IN_WEEK 7
#define SEASONS      3
#define RATE_MOST    1e15 /* of any unit: floats and squares of it are far from infinite */

struct pst_forecast {
    pst_ns step;
    uint32_t lead;
    uint32_t weigh_every; /* steps: about a minute */
    struct pst_series series;
    struct pst_bursts bursts;
    struct pst_season seasons[SEASONS];
    struct pst_ar ar;
    struct pst_judge judge;
};

static const enum pst_forecast_model season_models[SEASONS] = {
    PST_FORECAST_HOUR,
    PST_FORECAST_DAY,
    PST_FORECAST_WEEK,
};

int pst_forecast_new(pst_ns step, struct pst_forecast **ret_forecast)
{
    struct pst_forecast *f;
    uint32_t hour;

    if (step < STEP_LEAST || step > HOUR || HOUR % step != 0)
        return PST_E_INVALID;
    hour = (uint32_t)(HOUR / step);
    f = calloc(1, sizeof *f);
    if (f == NULL)
        return PST_E_NOMEM;
    f->step = step;
    f->lead = 1;
    f->weigh_every = hour > 60 ? hour / 60 : 1;
    if (pst_series_init(&f->series, hour) != PST_OK || pst_judge_init(&f->judge, hour) != PST_OK) {
        pst_forecast_free(f);
        return PST_E_NOMEM;
    }
    pst_bursts_init(&f->bursts, step);
    pst_season_init(&f->seasons[0], hour, step);
    pst_season_init(&f->seasons[1], hour * HOURS_IN_DAY, step);
    pst_season_init(&f->seasons[2], hour * HOURS_IN_DAY * DAYS_IN_WEEK, step);
    pst_ar_init(&f->ar, hour);
    *ret_forecast = f;
    return PST_OK;
}

void pst_forecast_free(struct pst_forecast *forecast)
{
    if (forecast == NULL)
        return;
    pst_series_done(&forecast->series);
    pst_judge_done(&forecast->judge);
    free(forecast);
}

void pst_forecast_lead(struct pst_forecast *forecast, uint32_t steps)
{
    PST_ASSERT(steps >= 1 && steps <= PST_FORECAST_AHEAD_MAX);
    forecast->lead = steps;
}

static const struct pst_season *season_of(const struct pst_forecast *f,
                                          enum pst_forecast_model model)
{
    for (int i = 0; i < SEASONS; i++)
        if (season_models[i] == model)
            return &f->seasons[i];
    return NULL;
}

static bool say_same(double rate, uint32_t steps, double *ret_rates)
{
    if (rate < 0)
        return false;
    for (uint32_t h = 0; h < steps; h++)
        ret_rates[h] = rate;
    return true;
}

/*
 * A hole in what came then is filled with the step before it, the first with the one behind it. Only
 * bursts: of the calm between them it says the level, which is as good where nobody judged the season.
 */
static bool season_says(const struct pst_forecast *f, const struct pst_season *season,
                        bool only_bursts, uint32_t steps, double *ret_rates)
{
    uint32_t known = 0;

    for (uint32_t h = 0; h < steps; h++) {
        bool burst;
        double rate = pst_season_at(season, &f->series, &f->bursts, f->series.count + h, &burst);

        if (only_bursts && !burst)
            rate = f->bursts.level;
        if (rate >= 0 && known == 0)
            say_same(rate, h, ret_rates);
        ret_rates[h] = rate < 0 && h > 0 ? ret_rates[h - 1] : rate;
        known += rate >= 0;
    }
    return known > 0 && known >= steps - known;
}

bool pst_forecast_says(const struct pst_forecast *forecast, enum pst_forecast_model model,
                       uint32_t steps, double *ret_rates)
{
    PST_ASSERT(steps <= PST_FORECAST_AHEAD_MAX);
    if (forecast->series.count == 0)
        return false;
    switch (model) {
    case PST_FORECAST_PERSISTENCE:
        return say_same(forecast->series.last, steps, ret_rates);
    case PST_FORECAST_HOUR_MAX:
        return say_same(pst_series_hour_max(&forecast->series), steps, ret_rates);
    case PST_FORECAST_HOUR:
    case PST_FORECAST_DAY:
    case PST_FORECAST_WEEK:
        return season_says(forecast, season_of(forecast, model), false, steps, ret_rates);
    case PST_FORECAST_AR:
        return pst_ar_says(&forecast->ar, &forecast->series, steps, ret_rates);
    case PST_FORECAST_MODEL_COUNT:
        break;
    }
    return false;
}

/* What it says of the one step by which it is judged. */
static double said_of_lead(const struct pst_forecast *f, enum pst_forecast_model model)
{
    const struct pst_season *season = season_of(f, model);
    double rates[PST_FORECAST_AHEAD_MAX];
    uint32_t steps = model == PST_FORECAST_AR ? f->lead : 1; /* the others are the same for ever */
    bool burst;

    if (season != NULL)
        return pst_season_at(season, &f->series, &f->bursts, f->series.count - 1 + f->lead, &burst);
    return pst_forecast_says(f, model, steps, rates) ? rates[steps - 1] : PST_RATE_UNKNOWN;
}

static void add(struct pst_forecast *f, double rate)
{
    const uint64_t step = f->series.count;

    pst_series_push(&f->series, rate);
    pst_judge_score(&f->judge, &f->series);
    pst_bursts_add(&f->bursts, step, rate);
    for (int i = 0; i < SEASONS; i++)
        pst_season_judge(&f->seasons[i], &f->series, &f->bursts);
    if (!f->bursts.is_running) /* a burst has its own causes: it would only teach a wrong mean */
        pst_ar_add(&f->ar, &f->series);
    if (step % f->weigh_every == 0) {
        pst_ar_solve(&f->ar);
        pst_judge_weigh(&f->judge);
    }
    for (int model = 0; model < PST_FORECAST_MODEL_COUNT; model++)
        pst_judge_say(&f->judge, model, step + f->lead, said_of_lead(f, model));
}

void pst_forecast_add(struct pst_forecast *forecast, double rate)
{
    add(forecast, !(rate > 0) ? 0 : rate < RATE_MOST ? rate : RATE_MOST); /* NaN is 0 */
}

void pst_forecast_gap(struct pst_forecast *forecast)
{
    add(forecast, PST_RATE_UNKNOWN);
}

/* After a burst the hour's maximum says only that there was one. */
static bool had_burst(const struct pst_forecast *f)
{
    const uint64_t now = f->series.count;
    const uint64_t since = now > f->series.hour ? now - f->series.hour : 0;

    return pst_bursts_touching(&f->bursts, since, now) != NULL;
}

bool pst_forecast_is_open(const struct pst_forecast *forecast, enum pst_forecast_model model)
{
    const struct pst_season *season = season_of(forecast, model);

    if (model == PST_FORECAST_PERSISTENCE)
        return true;
    if (season != NULL && season->is_open)
        return true;
    if (model == PST_FORECAST_HOUR_MAX && had_burst(forecast))
        return false;
    return forecast->judge.best == model;
}

bool pst_forecast_path(const struct pst_forecast *forecast, uint32_t steps, double *ret_rates)
{
    double rates[PST_FORECAST_AHEAD_MAX];
    bool speaks = false;

    PST_ASSERT(steps <= PST_FORECAST_AHEAD_MAX);
    for (int i = PST_FORECAST_PERSISTENCE + 1; i < PST_FORECAST_MODEL_COUNT; i++) {
        const enum pst_forecast_model model = (enum pst_forecast_model)i;
        const struct pst_season *season = season_of(forecast, model);
        bool says;

        if (!pst_forecast_is_open(forecast, model))
            continue;
        if (season != NULL && forecast->judge.best != model)
            says = season_says(forecast, season, true, steps, rates);
        else
            says = pst_forecast_says(forecast, model, steps, rates);
        for (uint32_t h = 0; h < steps && says; h++)
            if (!speaks || rates[h] > ret_rates[h])
                ret_rates[h] = rates[h];
        speaks = speaks || says;
    }
    return speaks;
}

double pst_forecast_margin(const struct pst_forecast *forecast)
{
    return pst_judge_factor(&forecast->judge);
}

const char *pst_forecast_model_name(enum pst_forecast_model model)
{
    static const char *const names[PST_FORECAST_MODEL_COUNT] = {
        [PST_FORECAST_PERSISTENCE] = "persistence", [PST_FORECAST_HOUR_MAX] = "hour maximum",
        [PST_FORECAST_HOUR] = "season 1 h",         [PST_FORECAST_DAY] = "season 24 h",
        [PST_FORECAST_WEEK] = "season 168 h",       [PST_FORECAST_AR] = "ar",
    };

    return names[model];
}
