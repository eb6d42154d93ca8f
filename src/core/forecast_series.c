/* forecast_series.c - see forecast_series.h. */
#include "core/forecast_series.h"

#include <stdlib.h>

#define HOURS_KEPT (2 * 168 + 2)

int pst_series_init(struct pst_series *series, uint32_t hour)
{
    *series =
        (struct pst_series){.capacity = HOURS_KEPT * hour, .hour = hour, .last = PST_RATE_UNKNOWN};
    series->rates = calloc(series->capacity, sizeof *series->rates);
    series->highest = calloc(hour, sizeof *series->highest);
    return series->rates != NULL && series->highest != NULL ? PST_OK : PST_E_NOMEM;
}

void pst_series_done(struct pst_series *series)
{
    free(series->rates);
    free(series->highest);
}

double pst_series_at(const struct pst_series *series, uint64_t step)
{
    if (step >= series->count || series->count - step > series->capacity)
        return PST_RATE_UNKNOWN;
    return series->rates[step % series->capacity];
}

/* What a later step exceeds can never be the largest again. */
static void keep_highest(struct pst_series *series, uint64_t step, double rate)
{
    while (series->high_tail > series->high_head &&
           pst_series_at(series, series->highest[(series->high_tail - 1) % series->hour]) <= rate)
        series->high_tail--;
    series->highest[series->high_tail++ % series->hour] = step;
}

void pst_series_push(struct pst_series *series, double rate)
{
    const uint64_t step = series->count;

    PST_ASSERT(rate == PST_RATE_UNKNOWN || rate >= 0);
    if (series->high_tail > series->high_head &&
        step - series->highest[series->high_head % series->hour] >= series->hour)
        series->high_head++;
    series->rates[step % series->capacity] = (float)rate;
    series->count++;
    if (rate >= 0) {
        series->last = series->rates[step % series->capacity];
        series->last_step = step;
        keep_highest(series, step, series->last);
    } else if (step - series->last_step >= series->hour) {
        series->last = PST_RATE_UNKNOWN;
    }
}

double pst_series_hour_max(const struct pst_series *series)
{
    if (series->high_tail == series->high_head)
        return PST_RATE_UNKNOWN;
    return pst_series_at(series, series->highest[series->high_head % series->hour]);
}
