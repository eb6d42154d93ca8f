/*
 * forecast_series.h - two weeks of steps, and the largest of the last hour.
 *
 * Why: every model looks back, none further than two weeks. Steps have numbers that never wrap (the
 * first is 0), so that "a season ago" is a subtraction.
 *
 * Guarantee: fixed memory; push is O(1) amortised; a step that was not measured, is older than what is
 * kept or has not come yet is UNKNOWN, and compares below every rate.
 */
#ifndef PST_CORE_FORECAST_SERIES_H
#define PST_CORE_FORECAST_SERIES_H

#include "pst.h"

#define PST_RATE_UNKNOWN (-1.0)

struct pst_series {
    uint64_t count; /* steps seen: the next one's number */
    uint32_t capacity;
    uint32_t hour;      /* steps in one */
    float *rates;       /* ring */
    uint64_t *highest;  /* ring of the hour's steps that no later one exceeds, oldest first */
    uint64_t high_head; /* counts of what was put in and taken out of it */
    uint64_t high_tail;
    double last; /* the last rate known; UNKNOWN: none in the last hour */
    uint64_t last_step;
};

int pst_series_init(struct pst_series *series, uint32_t hour);
void pst_series_done(struct pst_series *series);
void pst_series_push(struct pst_series *series, double rate); /* or PST_RATE_UNKNOWN */

double pst_series_at(const struct pst_series *series, uint64_t step);
double pst_series_hour_max(const struct pst_series *series);

#endif
