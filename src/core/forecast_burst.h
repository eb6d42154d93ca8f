/*
 * forecast_burst.h - where the rate left its level for a while: the bursts of a series.
 *
 * Why: a season says when bursts come. To say whether it was right, somebody must first say what a
 * burst is, online, without a threshold that an operator would have to know.
 *
 *   calm --rate above level + max(level / 2, 6 x deviation)--> run --back near level--> calm
 *                                                              | more than an hour: the new level
 *
 * Level and mean absolute deviation are running means of the calm steps of about an hour. A run of
 * 20 s is a burst from its first step on; a shorter one is noise.
 *
 * Guarantee: O(1) per step; remembers the last 512 bursts, in order of their starts.
 */
#ifndef PST_CORE_FORECAST_BURST_H
#define PST_CORE_FORECAST_BURST_H

#include "pst.h"

#define PST_BURSTS_KEPT 512

struct pst_bursts_run {
    uint64_t start; /* its first step */
    uint64_t end;   /* its last */
};

struct pst_bursts {
    uint32_t hour;      /* steps in one: a longer run is a new level */
    uint32_t steps_min; /* a shorter run is noise */
    uint32_t calm_min;  /* calm steps from which on the level is believed */
    uint32_t calm;      /* calm steps seen, up to an hour */
    double level;
    double deviation;
    bool is_running;
    struct pst_bursts_run run;
    uint64_t count; /* of bursts, a running one included: the next one's number */
    struct pst_bursts_run kept[PST_BURSTS_KEPT];
};

void pst_bursts_init(struct pst_bursts *bursts, pst_ns step);
/* Steps in their order; an unknown one (negative) ends a run. */
void pst_bursts_add(struct pst_bursts *bursts, uint64_t step, double rate);

/* The number of the oldest that is remembered. */
uint64_t pst_bursts_oldest(const struct pst_bursts *bursts);
const struct pst_bursts_run *pst_bursts_get(const struct pst_bursts *bursts, uint64_t number);
/* The last burst that started at or before `to` and ended at or after `from`; NULL: none. */
const struct pst_bursts_run *pst_bursts_touching(const struct pst_bursts *bursts, uint64_t from,
                                                 uint64_t to);
/* The last burst that started in [from, to]; NULL: none. */
const struct pst_bursts_run *pst_bursts_starting(const struct pst_bursts *bursts, uint64_t from,
                                                 uint64_t to);
/* How many started at `from` or later. */
uint64_t pst_bursts_since(const struct pst_bursts *bursts, uint64_t from);

#endif
