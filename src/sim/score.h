/*
 * score.h - which forecaster would have cost least, on a series that is known to its end.
 *
 * Why: a forecaster is worth what it saves. One that is too low makes work wait, one that is too high
 * makes replicas idle, and a mean error says nothing of either. So each is asked for the capacity that
 * its forecasts, raised by one factor, need until no more than 1 % of the steps are short.
 *
 * The series is played once through the very core/forecast that the scaler uses; each step's forecast was
 * made `ahead` steps before it. Forecaster and factor are chosen on the first half and used on the
 * second, which they have not seen; beside it stands what the best factor in hindsight would have
 * needed there. Capacities are multiples of the mean rate of the same steps: 1 is perfect foresight on
 * average, and forecasters that speak of different steps can be compared.
 *
 * Guarantee: pure; the same series gives the same table. Unknown steps are neither forecast nor scored.
 */
#ifndef PST_SIM_SCORE_H
#define PST_SIM_SCORE_H

#include "core/forecast.h"

#define PST_SCORE_UNKNOWN (-1.0) /* a rate that was not measured */

/* The models, and what the judge makes of them: the path of those that may speak, else persistence. */
#define PST_SCORE_JUDGED PST_FORECAST_MODEL_COUNT
#define PST_SCORE_ROWS   (PST_FORECAST_MODEL_COUNT + 1)

/* One half of the series, one forecaster. */
struct pst_score_half {
    uint32_t steps;  /* that it spoke of, and that are known */
    bool has_factor; /* there is one: it spoke of enough steps, and not of nothing */
    double factor;   /* the least that leaves at most 1 % of them short */
    double capacity; /* what it then takes, in mean rates */
};

struct pst_score_row {
    struct pst_score_half first;
    struct pst_score_half second; /* in hindsight */
    bool is_used;                 /* the first half's factor on the second half */
    double capacity;
    double short_share; /* of the second half's steps */
};

struct pst_score {
    struct pst_score_row rows[PST_SCORE_ROWS];
    uint32_t chosen; /* the row with the least capacity on the first half */
    uint32_t known;  /* steps */
};

/*
 * @rates   of steps of length @step, the oldest first; negative: unknown.
 * @ahead   steps, 1 … PST_FORECAST_AHEAD_MAX.
 * PST_OK, PST_E_INVALID (a step that core/forecast does not take, `ahead` out of range) or PST_E_NOMEM.
 */
int pst_score_forecasts(const double *rates, uint32_t count, pst_ns step, uint32_t ahead,
                        struct pst_score *ret_score);

const char *pst_score_name(uint32_t row);

#endif
