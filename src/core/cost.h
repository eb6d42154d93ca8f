/*
 * cost.h - what replicas have cost, and how many a budget still allows.
 *
 * Why: a budget is a promise about money. Whoever spends the hour's share in ten minutes has nothing
 * left for the fifty that follow; so what may run is what could run until the window ends.
 *
 * Guarantee: so many replicas as may be started, kept to the end of the hour (day), do not cost more than
 * its budget; those that run are told to go in time for that, but for a thousandth and what they need to
 * drain. Windows are those of UTC, or of the scaler's own clock while the wall time is not known. What was
 * spent before the scaler started is not known and not counted.
 */
#ifndef PST_CORE_COST_H
#define PST_CORE_COST_H

#include "pst.h"

/* All zero: nothing was spent. */
struct pst_cost_window {
    uint64_t number; /* of the window, since 1970 or since the clock's zero */
    uint64_t replica_ns;
    pst_ns left; /* of the window */
};

struct pst_cost {
    struct pst_cost_window hour, day;
    pst_ns last; /* when it was told */
    bool begun;
};

/* So many replicas ran since the last time. wall_s: 0 is not known. */
void pst_cost_tick(struct pst_cost *cost, pst_ns now, uint64_t wall_s, uint32_t running);
/*
 * How many the budgets allow to run; UINT32_MAX: no bound. One that is started runs `least` at least; so
 * many run already.
 */
uint32_t pst_cost_allows(const struct pst_cost *cost, uint64_t per_hour_micro,
                         uint64_t hour_budget_micro, uint64_t day_budget_micro, pst_ns least,
                         uint32_t running);

#endif
