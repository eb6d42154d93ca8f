/*
 * law.h - how long things take and how far apart they come: random laws, written as text.
 *
 * Why: a rehearsal is only as good as its bursts and its tail. Gaps between arrivals, service times and
 * token counts are drawn from the same few laws, so that one notation says them all and a closed form
 * for mean and variance stands beside each.
 *
 *   const:100ms            always that
 *   uniform:10:20          evenly between the two
 *   exp:100ms              exponential; gaps of a Poisson stream
 *   gamma:2:100ms          by coefficient of variation, mean; > 1 is burstier than Poisson
 *   weibull:0.7:100ms      by shape k, mean; k < 1 is burstier than Poisson, k = 1 is Poisson
 *   lognormal:1.5:100ms    by coefficient of variation, mean
 *   pareto:2.5:100ms       by tail exponent alpha > 1, mean; its variance is infinite for alpha <= 2
 *   tokens:20ms:50us:8ms   linear: base, per prompt token, per output token
 *   128, 100ms             a bare value is const
 *
 * A value has a unit (ns, us, ms, s, m, h) where a duration is wanted and none where a count is.
 *
 * Guarantee: a draw is a function of the generator's state alone, the same on every compiler; it never
 * fails, and saturates at UINT64_MAX. No allocation, no libm.
 * Sources: Marsaglia & Tsang, "A simple method for generating gamma variables" (2000); Leva, "A fast
 * normal random number generator" (1992), a ratio of uniforms; inversion for the rest.
 */
#ifndef PST_MODEL_LAW_H
#define PST_MODEL_LAW_H

#include "core/prng.h"
#include "pst.h"

enum pst_law_kind {
    PST_LAW_CONST,
    PST_LAW_UNIFORM,
    PST_LAW_EXP,
    PST_LAW_GAMMA,
    PST_LAW_WEIBULL,
    PST_LAW_LOGNORMAL,
    PST_LAW_PARETO,
    PST_LAW_TOKENS,
    PST_LAW_KIND_COUNT
};

enum pst_law_unit { PST_LAW_DURATION, PST_LAW_NUMBER, PST_LAW_UNIT_COUNT };

struct pst_law {
    enum pst_law_kind kind;
    double mean; /* ns or a count; TOKENS: the base; UNIFORM: the middle */
    double
        shape; /* GAMMA, LOGNORMAL: coefficient of variation; PARETO: alpha; WEIBULL: k; UNIFORM: half width */
    double per_prompt; /* TOKENS: ns per prompt token … */
    double per_output; /* … and per output token */
    double spread;     /* LOGNORMAL: deviation of the logarithm, from the shape; reading sets it */
};

/* PST_OK, or PST_E_SYNTAX with *ret_why (English, static); *ret_law is written on PST_OK only. */
int pst_law_read(const char *text, size_t len, enum pst_law_unit unit, struct pst_law *ret_law,
                 const char **ret_why);

/* Token counts matter to TOKENS alone. */
uint64_t pst_law_draw(const struct pst_law *law, struct pst_prng *prng, uint32_t prompt_tokens,
                      uint32_t output_tokens);

/* The closed forms; of TOKENS those of its base. cv is +infinity where the variance is. */
double pst_law_mean(const struct pst_law *law);
double pst_law_cv(const struct pst_law *law);

/* The same law with every value multiplied, > 0: 0.1 makes an engine ten times faster. */
struct pst_law pst_law_scaled(const struct pst_law *law, double factor);

/* Standard normal. */
double pst_law_normal(struct pst_prng *prng);

#endif
