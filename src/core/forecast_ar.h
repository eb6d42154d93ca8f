/*
 * forecast_ar.h - autoregression: the next step as a weighted sum of the last ones.
 *
 * Why: a rate that rises goes on rising for a while, and one that is far from its mean comes back.
 *
 * The sums of the normal equations are kept as steps come, older ones fading (1/e after four days);
 * solve() finds the weights, by Cholesky with a ridge of a millionth, so that a constant series has an
 * answer too. Several steps ahead it is applied to its own results.
 *
 * Guarantee: adding is O(ORDER^2), solving O(ORDER^3), saying O(ORDER) per step; what it says stays
 * between 0 and twice the largest rate it was told of in the last hour.
 * Source: Hyndman & Athanasopoulos, "Forecasting: principles and practice", autoregressive models.
 */
#ifndef PST_CORE_FORECAST_AR_H
#define PST_CORE_FORECAST_AR_H

#include "core/forecast_series.h"

#define PST_AR_ORDER 6
#define PST_AR_TERMS                                                                               \
    (PST_AR_ORDER + 1) /* weights of the last steps, newest first, and a constant */

struct pst_ar {
    double fade; /* per step */
    double gram[PST_AR_TERMS][PST_AR_TERMS];
    double cross[PST_AR_TERMS];
    double weight[PST_AR_TERMS];
    uint64_t rows;
    bool is_solved;
};

void pst_ar_init(struct pst_ar *ar, uint32_t hour);
/* The last step of the series, as an outcome of those before it; unknown ones are left out. */
void pst_ar_add(struct pst_ar *ar, const struct pst_series *series);
void pst_ar_solve(struct pst_ar *ar);
/* The next steps. False: not solved yet, or one of the last steps is unknown. */
bool pst_ar_says(const struct pst_ar *ar, const struct pst_series *series, uint32_t steps,
                 double *ret_rates);

#endif
