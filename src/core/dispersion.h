/*
 * dispersion.h - how irregular arrivals are, from their counts alone.
 *
 * Why: queues grow with the variance of arrivals, and the times between single arrivals are not told to
 * the scaler. Counts per second are enough: the index of dispersion of counts tends to ca^2, the
 * squared coefficient of variation of the times between arrivals.
 *
 *   index(w) = E[(N_i - N_(i-1))^2] / (2 E[N]),   N the arrivals in w seconds
 *
 * Differences of successive counts, so that a slow drift of the rate is not taken for variance.
 *
 * Guarantee: O(1) per second. Between 1/4 and 4: what is burstier than that is no matter of staffing.
 * 1 (Poisson) until enough was seen.
 * Source: Cox & Lewis, "The Statistical Analysis of Series of Events", 4.5.
 */
#ifndef PST_CORE_DISPERSION_H
#define PST_CORE_DISPERSION_H

#include "pst.h"

#define PST_DISPERSION_SCALES 2 /* windows of 1 and 10 seconds */

struct pst_dispersion_scale {
    double mean;      /* of counts */
    double square;    /* of half the squared differences, mean */
    double last;      /* the count before */
    double running;   /* the count so far */
    uint32_t seconds; /* of it */
    uint32_t windows; /* seen, up to the memory */
    bool has_last;
};

/* All zero is the beginning. */
struct pst_dispersion {
    struct pst_dispersion_scale scales[PST_DISPERSION_SCALES];
};

/* Arrivals in the second that ended. */
void pst_dispersion_add(struct pst_dispersion *dispersion, double arrivals);
/* A second of which nothing is known, or that is of no account: no difference is taken across it. */
void pst_dispersion_gap(struct pst_dispersion *dispersion);
/* ca^2: the largest index over the windows. */
double pst_dispersion_index(const struct pst_dispersion *dispersion);

#endif
