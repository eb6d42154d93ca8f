/*
 * rates.h - a table of rates from a file: CSV with the columns t_s and rate_per_s.
 *
 * Why: collectors write a row per window, leave rows out, and write 0 where they were not running. What
 * is learnt from such a file must not take an outage for a quiet night.
 *
 * Guarantee: steps of one length, in order; a row that is missing or says 0 is unknown. An error names
 * its line.
 */
#ifndef PST_CMD_RATES_H
#define PST_CMD_RATES_H

#include "pst.h"

#define PST_RATES_STEPS_MAX 4000000u

struct pst_rates {
    double *at; /* per second; negative: unknown */
    uint32_t count;
    pst_ns step;
};

/* Where and why a file cannot be used; line 0: as a whole. */
struct pst_rates_problem {
    uint64_t line;
    const char *why; /* English, static, or of errno */
};

/* PST_OK, PST_E_SYSTEM, PST_E_SYNTAX or PST_E_NOMEM. */
int pst_rates_read(const char *path, struct pst_rates *ret_rates,
                   struct pst_rates_problem *ret_problem);
void pst_rates_done(struct pst_rates *rates); /* takes a zeroed one */

#endif
