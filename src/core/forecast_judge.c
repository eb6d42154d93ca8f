/* forecast_judge.c - see forecast_judge.h. */
#include "core/forecast_judge.h"

#include <stdlib.h>

#include "core/num.h"

#define WINDOW_HOURS 96
#define COUNT_MIN    100 /* below it 1 % is no step at all */
#define UNDER_PARTS  100 /* one step in so many may be under-provisioned */
#define BETTER_BELOW 0.98
#define RATIO_LEAST  (1.0 / 64)
#define UNSAID       (-1.0F)

int pst_judge_init(struct pst_judge *judge, uint32_t hour)
{
    *judge = (struct pst_judge){
        .window = WINDOW_HOURS * hour,
        .span = WINDOW_HOURS * hour + PST_FORECAST_AHEAD_MAX + 1,
        .count_min = hour > COUNT_MIN ? hour : COUNT_MIN,
        .best = PST_FORECAST_PERSISTENCE,
    };
    for (int model = 0; model < PST_FORECAST_MODEL_COUNT; model++) {
        judge->said[model] = calloc(judge->span, sizeof *judge->said[model]);
        if (judge->said[model] == NULL)
            return PST_E_NOMEM;
        /* Scoring clears what comes next: the rest of the ring is not touched before its time. */
        for (uint32_t i = 0; i < PST_FORECAST_AHEAD_MAX; i++)
            judge->said[model][i] = UNSAID;
    }
    return PST_OK;
}

void pst_judge_done(struct pst_judge *judge)
{
    for (int model = 0; model < PST_FORECAST_MODEL_COUNT; model++)
        free(judge->said[model]);
}

/* By the doubles' own exponent and leading digits: the logarithm, linear within an octave. */
static uint32_t bucket_of(double actual, double forecast)
{
    const double most = 64 * forecast;
    uint32_t octave = 0;
    double scaled;

    if (actual >= most && actual > 0)
        return PST_JUDGE_BUCKETS - 1;
    if (actual <= RATIO_LEAST * forecast)
        return 0;
    scaled = actual / (RATIO_LEAST * forecast);
    for (; scaled >= 2; octave++)
        scaled /= 2;
    return octave * PST_JUDGE_PARTS + (uint32_t)((scaled - 1) * PST_JUDGE_PARTS);
}

/* The upper end of a bucket. */
static double ratio_of(uint32_t bucket)
{
    double ratio = RATIO_LEAST * (1 + (double)(bucket % PST_JUDGE_PARTS + 1) / PST_JUDGE_PARTS);

    for (uint32_t octave = bucket / PST_JUDGE_PARTS; octave > 0; octave--)
        ratio *= 2;
    return ratio;
}

static void count_cost(struct pst_judge_cost *cost, double actual, double forecast, bool leaves)
{
    uint32_t *ratio = &cost->ratio[bucket_of(actual, forecast)];

    PST_ASSERT(!leaves || *ratio > 0);
    cost->sum += leaves ? -forecast : forecast;
    cost->count += leaves ? UINT32_MAX : 1; /* modulo 2^32: one less */
    *ratio += leaves ? UINT32_MAX : 1;
}

/* The factor that leaves one step in a hundred short. */
static double factor(const struct pst_judge_cost *cost)
{
    const uint32_t may_lack = cost->count / UNDER_PARTS;
    uint32_t bucket = PST_JUDGE_BUCKETS - 1;

    for (uint32_t lack = cost->ratio[bucket]; lack <= may_lack && bucket > 0;)
        lack += cost->ratio[--bucket];
    return ratio_of(bucket);
}

/* What the forecasts, raised by it, come to per step. */
static double capacity(const struct pst_judge_cost *cost)
{
    return factor(cost) * cost->sum / cost->count;
}

void pst_judge_say(struct pst_judge *judge, enum pst_forecast_model model, uint64_t step,
                   double rate)
{
    judge->said[model][step % judge->span] = rate < 0 ? UNSAID : (float)rate;
}

static void count_step(struct pst_judge *judge, const struct pst_series *series, uint64_t step,
                       bool leaves)
{
    const double actual = pst_series_at(series, step);
    const double base = judge->said[PST_FORECAST_PERSISTENCE][step % judge->span];

    if (actual < 0 || base < 0)
        return;
    for (int model = 0; model < PST_FORECAST_MODEL_COUNT; model++) {
        struct pst_judge_track *track = &judge->tracks[model];
        const double own = judge->said[model][step % judge->span];

        if (own < 0)
            continue;
        count_cost(&track->own, actual, own, leaves);
        count_cost(&track->base, actual, base, leaves);
    }
}

void pst_judge_score(struct pst_judge *judge, const struct pst_series *series)
{
    const uint64_t step = series->count - 1;

    count_step(judge, series, step, false);
    if (step >= judge->window)
        count_step(judge, series, step - judge->window, true);
    for (int model = 0; model < PST_FORECAST_MODEL_COUNT; model++)
        pst_judge_say(judge, model, step + PST_FORECAST_AHEAD_MAX, PST_RATE_UNKNOWN);
}

/*
 * A model's cost in persistence's; 1 while it has not been seen for long enough, does not compete, or
 * nothing was to be served.
 */
static double share(const struct pst_judge *judge, enum pst_forecast_model model)
{
    const struct pst_judge_track *track = &judge->tracks[model];
    double base;

    if (model == PST_FORECAST_PERSISTENCE || model == PST_FORECAST_HOUR)
        return 1;
    if (track->own.count < judge->count_min)
        return 1;
    base = capacity(&track->base);
    return base > 0 ? capacity(&track->own) / base : 1;
}

void pst_judge_weigh(struct pst_judge *judge)
{
    double least = share(judge, judge->best);

    if (least >= 1) {
        judge->best = PST_FORECAST_PERSISTENCE;
        least = 1;
    }
    least *= BETTER_BELOW;
    for (int model = 0; model < PST_FORECAST_MODEL_COUNT; model++) {
        const double this = share(judge, (enum pst_forecast_model)model);

        if (this < least) {
            least = this;
            judge->best = (enum pst_forecast_model)model;
        }
    }
}

double pst_judge_factor(const struct pst_judge *judge)
{
    const struct pst_judge_cost *cost = &judge->tracks[judge->best].own;

    return cost->count < judge->count_min ? 0 : factor(cost);
}
