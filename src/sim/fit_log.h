/*
 * fit_log.h - what a log says of one kind of requests: how often they come, how evenly, how long they take.
 *
 * Why: a rate by the hour, bursts, the form of the gaps and the law of service times are what a scenario
 * wants to know; each hides the others. So bursts are cut out first, the hours are read from the rest, and
 * the gaps are measured in what remains: each times the rate of its moment, which has mean one.
 *
 *   course    counts in windows, which double in length when there are too many of them
 *   bursts    windows above max(2 m, m + 5 sqrt(m x dispersion)), m the median, of the same hour of day
 *             where there is more than a day; in runs: two at least, in at most 40 % of the time
 *   rate      24 pieces of an hour each, where the log spans more than a day; else 24 pieces of the
 *             span; one, where the pieces differ by no more than chance
 *   gaps      exp, gamma (by moments), weibull unless it misses their CV, on a sample; where gaps are below what the log's
 *             clock can tell, from the index of dispersion of counts (dispersion.h): cv^2
 *   service   exp, lognormal, pareto, gamma, weibull, tokens, by likelihood on a sample
 *
 * Guarantee: memory is fixed (some 300 KiB); arrivals in order of time. The same log gives the same.
 * Source: Vitter, "Random sampling with a reservoir" (1985), algorithm R.
 */
#ifndef PST_SIM_FIT_LOG_H
#define PST_SIM_FIT_LOG_H

#include "model/scenario.h"
#include "sim/fit.h"

#define PST_FIT_PIECES 24

struct pst_fit_burst {
    uint32_t count; /* 0: none were seen */
    pst_ns every;
    bool periodic; /* each at about the same place in its span */
    pst_ns offset_from, offset_to;
    pst_ns length_from, length_to;
    double per_s; /* beside the rate */
};

struct pst_fit_found {
    uint64_t arrived, served;
    double per_s; /* over the whole span */
    double gap_cv;
    double dispersion; /* of counts, successive differences: dispersion.h */
    bool by_counts;    /* the gaps' form is from the dispersion: they are too short for the clock */
    enum pst_law_kind gap_kind;
    struct pst_fit gaps[PST_LAW_KIND_COUNT]; /* of mean one */
    uint32_t gaps_sampled;
    struct pst_rate_piece pieces[PST_FIT_PIECES];
    uint32_t pieces_count; /* 1: a constant */
    pst_ns period;         /* of the pieces: 24 h, or 0 */
    struct pst_fit_burst burst;
    bool has_service;
    enum pst_law_kind service_kind;  /* CONST where it hardly varies */
    double service_mean, service_cv; /* ns */
    struct pst_fit service[PST_LAW_KIND_COUNT];
    uint32_t service_sampled;
    struct pst_fit prompt, output; /* exists: tokens were told; CONST, EXP or LOGNORMAL */
};

struct pst_fit_log;

/* PST_OK or PST_E_NOMEM. */
int pst_fit_log_new(uint64_t seed, struct pst_fit_log **ret_log);
void pst_fit_log_free(struct pst_fit_log *log); /* takes NULL */
/* since: the log's beginning. */
void pst_fit_log_arrived(struct pst_fit_log *log, pst_ns since);
/* Slot-time of one that was served whole; tokens 0: not told. */
void pst_fit_log_served(struct pst_fit_log *log, pst_ns service, uint32_t prompt_tokens,
                        uint32_t output_tokens);
/* origin: ns since 1970 when the log begins, for hours of the day. Once: the course is used up. */
void pst_fit_log_read(struct pst_fit_log *log, pst_ns origin, pst_ns span,
                      struct pst_fit_found *ret_found);

#endif
