/*
 * burst.h - is a burst on, how much longer will it last, and what comes outside of bursts.
 *
 * Why: a burst that is over before a replica could be ready must add none, and one that is not must. How
 * long bursts usually last is learned; how long this one still will follows from those that lasted as
 * long as it already has.
 *
 *             10 s mean > calm + rise                      rise = max(calm, 4 deviations, floor)
 *      CALM ----------------------------> BURST
 *        ^  <----------------------------   |
 *        |    10 s mean < calm + rise / 2   |   its length is learned
 *        +----------------------------------+
 *             after 30 min: the burst is the new calm, nothing is learned
 *
 * The calm rate is an exponential mean over seconds outside bursts; a second joins it when 10 more have
 * passed without one, so that no burst is taken for calm while it rises. A burst whose mean is not above
 * calm + rise is in doubt: it may be noise above a calm rate that is too low. As long as it is, the calm
 * rate follows it, up to there; if it ends so, nothing is learned and the calm rate stays where it is. Work
 * that was refused is forgotten sooner than other work, once no more is: whoever was told no does not wait
 * for long.
 *
 * Guarantee: O(1) per second, O(16) per question; fixed memory. No burst is seen in the first minute.
 * Source: mean residual life (Cox, "Renewal Theory", 5.2), of the empirical distribution of the last 16
 * lengths; past all of them as long again as it has lasted, which is that of a Pareto law of index 2.
 */
#ifndef PST_CORE_BURST_H
#define PST_CORE_BURST_H

#include "core/window.h"

#define PST_BURST_KEPT 16

struct pst_burst_config {
    double floor;       /* slots: a smaller rise is no burst */
    uint32_t memory_s;  /* of the calm rate, seconds */
    uint32_t refused_s; /* … of its refused part, once nothing more is refused */
};

/* All zero is the beginning. */
struct pst_burst {
    double admitted;  /* calm rate, slots: what was not refused */
    double refused;   /* … and what was */
    double deviation; /* mean distance of the 10 s mean from the calm rate */
    uint32_t seconds; /* that the calm rate has seen; up to memory_s */
    uint32_t quiet_s; /* since the beginning, or the last burst's end; saturating */
    uint32_t age_s;   /* of the burst that is on; 0: none is */
    uint32_t busy_s;  /* its age when it was last seen high: where it ends, if it ends now */
    double rise;      /* what it had to rise by */
    double ceiling;   /* … and to; below it the burst is in doubt */
    double doubt;     /* the calm rate, if this is none */
    double sum;       /* of the rates of its seconds */
    uint32_t learned; /* lengths, up to PST_BURST_KEPT */
    uint32_t next;
    uint32_t lengths_s[PST_BURST_KEPT];
};

/* A second has ended: the last of both windows, of all work and of the refused part of it. */
void pst_burst_add(struct pst_burst *burst, const struct pst_burst_config *config,
                   const struct pst_window *window, const struct pst_window *refusals);

static inline bool pst_burst_is_on(const struct pst_burst *burst)
{
    return burst->age_s > 0;
}

/* Slots outside bursts, refused work included. */
double pst_burst_calm(const struct pst_burst *burst);
/* Slots now: of the burst that is on, over at most its last 30 s; else the calm rate. */
double pst_burst_present(const struct pst_burst *burst, const struct pst_window *window);
/* Seconds that the burst that is on is expected to go on; 0 without one. */
double pst_burst_remaining_s(const struct pst_burst *burst);

#endif
