/*
 * fit.h - which law do these numbers follow? Parameters by maximum likelihood, with their errors.
 *
 * Why: whoever plans from a guessed service time plans a guess. A log says what the law is; how far it
 * is from saying so must stand beside it.
 *
 *   exp         mean
 *   lognormal   mean and deviation of the logarithm
 *   pareto      alpha = (n - 2) / sum ln(x / min), the least value its beginning
 *   gamma       shape by Newton's method on its likelihood equation; or from the moments, which are
 *               hardly moved by a clock that is too coarse for the shortest values
 *   weibull     shape by bisection of its likelihood equation
 *   tokens      least squares: base + a x prompt + b x output, no term negative
 *
 * Goodness is the Kolmogorov-Smirnov distance, the largest difference between two distribution functions:
 * of the sample and of the law; for tokens of the sample and of what the law says of each request.
 *
 * Guarantee: pure; O(n log n). Standard errors are those of large samples.
 * Sources: Johnson, Kotz & Balakrishnan, "Continuous Univariate Distributions" 1 (17.7, 20.5, 21.4);
 * Abramowitz & Stegun, 6.3.18, 6.4.12, 6.5.29, 6.5.31, 26.2.17.
 */
#ifndef PST_SIM_FIT_H
#define PST_SIM_FIT_H

#include "model/law.h"

#define PST_FIT_LEAST 30 /* values; fewer say nothing */

struct pst_fit {
    bool exists;
    struct pst_law law; /* in the unit of the values */
    double distance;    /* Kolmogorov-Smirnov */
    double mean_error;  /* standard errors */
    double shape_error; /* of laws with a shape */
    double explained;   /* tokens: share of the variance */
};

struct pst_fit_job {
    double service;
    uint32_t prompt_tokens, output_tokens;
};

/* Ascending. */
void pst_fit_sort(double *values, uint32_t count);
/* values: ascending and > 0. EXP, LOGNORMAL, PARETO, GAMMA or WEIBULL. */
void pst_fit_law(enum pst_law_kind kind, const double *values, uint32_t count,
                 struct pst_fit *ret_fit);
/* GAMMA, from mean and variance. */
void pst_fit_moments(const double *values, uint32_t count, struct pst_fit *ret_fit);
/* scratch: room for 2 x count. */
void pst_fit_tokens(const struct pst_fit_job *jobs, uint32_t count, double *scratch,
                    struct pst_fit *ret_fit);

/*
 * The nearest of those that exist; EXP and other laws with fewer parameters go first where the
 * difference is chance. False: none exists.
 */
bool pst_fit_best(const struct pst_fit fits[PST_LAW_KIND_COUNT], uint32_t count,
                  enum pst_law_kind *ret_kind);

#endif
