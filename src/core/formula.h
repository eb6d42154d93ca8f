/*
 * formula.h - the simple rules, by name: one number from what is seen now.
 *
 * Why: they are what most fleets run by; whoever comes from one starts with it, and compares.
 *
 *   qps      N = ceil(requests per second / (C x target)), the rate over the last minute
 *   depth    N = ceil(sum(weight x queued) / 5), and as before within 0.5 of it
 *   backlog  one more each start time while backlog seconds are above out_above, one less below
 *            in_below (the caller holds that for in_after)
 *   static   min
 *
 * Guarantee: pure. None looks ahead; floors, bounds and vetoes are the caller's.
 */
#ifndef PST_CORE_FORMULA_H
#define PST_CORE_FORMULA_H

#include "core/demand.h"

#define PST_FORMULA_DEPTH 5 /* weighted queue of one replica */

struct pst_formula_sight {
    const struct pst_demand_view *view;
    pst_ns backlog;   /* PST_NEVER: no slot is ready */
    uint32_t before;  /* the number that stands */
    bool step_is_due; /* rule BACKLOG: a start time has passed since its last step */
};

/* What a rule other than AHEAD asks for, and as which term. */
uint32_t pst_formula(const struct pst_scaler_config *config, const struct pst_scaler_pool *pool,
                     const struct pst_formula_sight *sight, enum pst_term *ret_term);

#endif
