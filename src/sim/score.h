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
 * needed there. Capacities are multiples of the mean rate: 1 is perfect foresight.
 *
 * Everybody is scored on the same steps. Who spoke of less than half of a half's steps (a week's season
 * in the first week) takes no part in it; a step of which one that takes part said nothing is left out.
 *
 * Guarantee: pure; the same series gives the same table. Unknown steps are neither forecast nor scored.
 */
#ifndef PST_SIM_SCORE_H
#define PST_SIM_SCORE_H

#include "core/forecast.h"

#define PST_SCORE_UNKNOWN (-1.0) /* a rate that was not measured */

/*
 * The models, and what the judge makes of them: the path of those that may speak, else persistence; and
 * this raised by the judge's own margin, which goes on learning.
 */
#define PST_SCORE_JUDGED PST_FORECAST_MODEL_COUNT
#define PST_SCORE_RAISED (PST_FORECAST_MODEL_COUNT + 1)
#define PST_SCORE_ROWS   (PST_FORECAST_MODEL_COUNT + 2)

/* One half of the series, one forecaster. */
struct pst_score_half {
    bool exists;     /* it took part, and not with nothing */
    double factor;   /* the least that leaves at most 1 % of the steps short */
    double capacity; /* what it then takes, in mean rates */
};

struct pst_score_row {
    struct pst_score_half first;
    struct pst_score_half second; /* in hindsight */
    bool is_used;                 /* the first half's factor on the second half: */
    double capacity;
    double short_share; /* of the second half's scored steps */
};

struct pst_score {
    struct pst_score_row rows[PST_SCORE_ROWS];
    uint32_t chosen;                    /* the row with the least capacity on the first half */
    uint32_t first_steps, second_steps; /* scored */
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
