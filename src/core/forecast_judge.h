/*
 * forecast_judge.h - what each model's forecasts would have cost, against persistence.
 *
 * Why: a forecast that is right on average may still be no reason to buy anything. What counts is the
 * capacity that would have been enough: for each model the factor by which its forecasts must be raised
 * until only 1 % of the steps are under-provisioned, times their mean. Persistence is asked about the
 * very same steps, so that a model that has spoken for an hour is not compared with another's week.
 *
 * The best is the one that costs least, by 2 % at least, until another is better by as much or it is no
 * longer better than persistence. One: the larger of two good forecasts costs more than either. The
 * season of an hour does not compete. What rises and falls within one is a burst, and those it must have
 * foreseen.
 *
 * Guarantee: scoring a step is O(models), in a window of four days; weighing reads each ratio's
 * histogram once. Factors are within 0.6 % and between 1/64 and 64.
 */
#ifndef PST_CORE_FORECAST_JUDGE_H
#define PST_CORE_FORECAST_JUDGE_H

#include "core/forecast.h"
#include "core/forecast_series.h"

#define PST_JUDGE_OCTAVES 12
#define PST_JUDGE_PARTS   128 /* of an octave */
#define PST_JUDGE_BUCKETS (PST_JUDGE_OCTAVES * PST_JUDGE_PARTS + 1)

/* One forecaster's cost over one set of steps. */
struct pst_judge_cost {
    uint32_t count;
    double sum;                        /* of the forecasts */
    uint32_t ratio[PST_JUDGE_BUCKETS]; /* actual / forecast, logarithmic */
};

struct pst_judge_track {
    struct pst_judge_cost own;
    struct pst_judge_cost base; /* persistence's, of the same steps */
};

struct pst_judge {
    uint32_t window;    /* steps */
    uint32_t span;      /* of the ring below: the window and what is still to come */
    uint32_t count_min; /* steps to be judged by */
    enum pst_forecast_model best;
    float *said[PST_FORECAST_MODEL_COUNT]; /* ring by the step that was meant; negative: nothing */
    struct pst_judge_track tracks[PST_FORECAST_MODEL_COUNT];
};

int pst_judge_init(struct pst_judge *judge, uint32_t hour);
void pst_judge_done(struct pst_judge *judge);

/* A model's word about a step to come, at most PST_FORECAST_AHEAD_MAX ahead; negative: none. */
void pst_judge_say(struct pst_judge *judge, enum pst_forecast_model model, uint64_t step,
                   double rate);
/* The last step of the series against what was said of it. */
void pst_judge_score(struct pst_judge *judge, const struct pst_series *series);
/* Decides anew which model is best. */
void pst_judge_weigh(struct pst_judge *judge);
/* By so much its forecasts had to be raised; 0 while it has not been seen for long enough. */
double pst_judge_factor(const struct pst_judge *judge);

#endif
