/* forecast_ar.c - see forecast_ar.h. */
#include "core/forecast_ar.h"

#include "core/num.h"

#define FADE_HOURS 96
#define ROWS_MIN   (4 * PST_AR_TERMS)
#define RIDGE      1e-6
#define MOST       2.0 /* of the hour's largest */

void pst_ar_init(struct pst_ar *ar, uint32_t hour)
{
    *ar = (struct pst_ar){.fade = 1 - 1.0 / (FADE_HOURS * (double)hour)};
}

/* The terms that say the step `step`: those before it. False: one is unknown. */
static bool terms_before(const struct pst_series *series, uint64_t step, double term[PST_AR_TERMS])
{
    if (step < PST_AR_ORDER)
        return false;
    for (uint32_t i = 0; i < PST_AR_ORDER; i++) {
        term[i] = pst_series_at(series, step - 1 - i);
        if (term[i] < 0)
            return false;
    }
    term[PST_AR_ORDER] = 1;
    return true;
}

void pst_ar_add(struct pst_ar *ar, const struct pst_series *series)
{
    const uint64_t step = series->count - 1;
    const double rate = pst_series_at(series, step);
    double term[PST_AR_TERMS];

    if (rate < 0 || !terms_before(series, step, term))
        return;
    for (uint32_t i = 0; i < PST_AR_TERMS; i++) {
        for (uint32_t j = 0; j <= i; j++)
            ar->gram[i][j] = ar->gram[i][j] * ar->fade + term[i] * term[j];
        ar->cross[i] = ar->cross[i] * ar->fade + term[i] * rate;
    }
    ar->rows++;
}

/* The lower triangle L of a = L L'. False: a is not positive definite (all rates were 0). */
static bool cholesky(double a[PST_AR_TERMS][PST_AR_TERMS])
{
    for (uint32_t i = 0; i < PST_AR_TERMS; i++) {
        for (uint32_t j = 0; j <= i; j++) {
            double sum = a[i][j];

            for (uint32_t k = 0; k < j; k++)
                sum -= a[i][k] * a[j][k];
            if (i == j && !(sum > 0))
                return false;
            a[i][j] = i == j ? pst_sqrt(sum) : sum / a[j][j];
        }
    }
    return true;
}

void pst_ar_solve(struct pst_ar *ar)
{
    double lower[PST_AR_TERMS][PST_AR_TERMS], x[PST_AR_TERMS];

    ar->is_solved = false;
    if (ar->rows < ROWS_MIN)
        return;
    for (uint32_t i = 0; i < PST_AR_TERMS; i++) {
        for (uint32_t j = 0; j <= i; j++)
            lower[i][j] = ar->gram[i][j];
        lower[i][i] *= 1 + RIDGE;
    }
    if (!cholesky(lower))
        return;
    for (uint32_t i = 0; i < PST_AR_TERMS; i++) { /* L y = cross */
        x[i] = ar->cross[i];
        for (uint32_t k = 0; k < i; k++)
            x[i] -= lower[i][k] * x[k];
        x[i] /= lower[i][i];
    }
    for (uint32_t i = PST_AR_TERMS; i-- > 0;) { /* L' weight = y */
        for (uint32_t k = i + 1; k < PST_AR_TERMS; k++)
            x[i] -= lower[k][i] * ar->weight[k];
        ar->weight[i] = x[i] / lower[i][i];
    }
    ar->is_solved = true;
}

bool pst_ar_says(const struct pst_ar *ar, const struct pst_series *series, uint32_t steps,
                 double *ret_rates)
{
    const double most = MOST * pst_series_hour_max(series);
    double term[PST_AR_TERMS];

    if (!ar->is_solved || !terms_before(series, series->count, term))
        return false;
    for (uint32_t h = 0; h < steps; h++) {
        double rate = 0;

        for (uint32_t i = 0; i < PST_AR_TERMS; i++)
            rate += ar->weight[i] * term[i];
        rate = !(rate > 0) ? 0 : rate > most ? most : rate;
        for (uint32_t i = PST_AR_ORDER - 1; i > 0; i--)
            term[i] = term[i - 1];
        term[0] = rate;
        ret_rates[h] = rate;
    }
    return true;
}
