/*
 * demand.h - how many replicas one pool needs: now, and by the time that another could be there.
 *
 * Why: a replica that is asked for now serves one start time later. What counts is the work that will
 * be there then, and what its classes can bear to wait. Rates say nothing of bursts, queue lengths
 * nothing of work; this room knows the work of every class second by second, for the last hour.
 *
 * The terms, in replicas of `slots` slots each (formulas: docs/policy.md):
 *
 *   now        staffed by queueing (Erlang C, Allen-Cunneen) for the rate, service time and
 *              variability that were measured, so that the P99 wait of a class that cannot wait for a
 *              start meets its target; work that can wait is planned to fill `utilisation` of the slots
 *   ahead      mu = max over v of (B(u) + A(u, v) + H(v, v + D)) / (v - u + D): the least rate that meets
 *              every class's deadline D over the forecast, from u = one start time ahead until nothing
 *              waits; B what waits at u, A what comes, H what the classes above take (outlook.h)
 *   backlog    seconds of backlog above out_above
 *   sla        a class's P99 wait is past its target now, and more slots would help
 *   envelope   the largest work of the class and those above in any window w of the last hour, over
 *              w + target + residual service time, for classes that cannot wait for a start; of the
 *              hour's work half a percent may be late (envelope.h)
 *
 * Bursts whose usual length is below the start time add no replicas: they are queued, shed or spilled.
 *
 * Guarantee: pure; O(classes x horizon) per look ahead, of which a decision takes some ten; fixed memory,
 * nearly all of it the forecasts' (1.4 MB for each class, touched as time passes). Refused work counts once, and fades
 * over the class's max_wait. An unknown second is a gap, not zero.
 */
#ifndef PST_CORE_DEMAND_H
#define PST_CORE_DEMAND_H

#include "core/scaler.h"

struct pst_demand;

/* What there is. */
struct pst_supply {
    pst_ns start;        /* measured start time, P90 */
    uint32_t slots;      /* of one replica */
    uint32_t ready;      /* replicas that serve */
    uint32_t starting;   /* replicas that will */
    pst_ns starting_in;  /* from now, when the first of them is expected; 0 without one */
    pst_ns starting_all; /* … and the last; 0: with the first */
};

int pst_demand_new(const struct pst_scaler_config *config, uint16_t pool,
                   struct pst_demand **ret_demand);
void pst_demand_free(struct pst_demand *demand); /* takes NULL */
void pst_demand_reconfigure(struct pst_demand *demand, const struct pst_scaler_config *config);

/* OBSERVE_CLASS, OBSERVE_POOL, HISTORY. */
void pst_demand_observe(struct pst_demand *demand, const struct pst_scaler_event *event);
/* Closes what was observed since the last tick. observed: this pool was; else the time is a gap. */
void pst_demand_tick(struct pst_demand *demand, pst_ns now, pst_ns start, bool observed);

/* NOW, AHEAD, BACKLOG, SLA and ENVELOPE; the others are left alone. `worth` false: somebody waits too
 * long, but that will be over before one more replica is ready. */
void pst_demand_terms(struct pst_demand *demand, const struct pst_supply *supply,
                      uint32_t terms[PST_TERM_COUNT], bool *ret_worth);
/*
 * How many of them ahead and backlog ask for where one more is there after `within` already, which is
 * less than a start: what the promotion of warm ones is decided by.
 */
uint32_t pst_demand_soon(struct pst_demand *demand, const struct pst_supply *supply, pst_ns within);
/*
 * The most replicas that will be needed at any time within the span from now, were there only `have` of
 * them: what scale-in must leave.
 */
uint32_t pst_demand_most(struct pst_demand *demand, const struct pst_supply *supply, uint32_t have,
                         pst_ns span);
/* With so many replicas, does every class's predicted wait stay inside its target? */
bool pst_demand_bears(const struct pst_demand *demand, uint32_t replicas);
/* Queued work of all classes over the slots that the gate has; PST_NEVER: there are none, and some waits. */
pst_ns pst_demand_backlog(const struct pst_demand *demand, const struct pst_supply *supply);

/* For the simple rules and the decision's record. */
struct pst_demand_view {
    uint64_t rate_milli; /* requests in 1,000 s, over the last minute */
    uint32_t queued[PST_CLASSES_MAX];
    uint32_t inflight;
    bool tickets; /* anything queued or in flight */
};
void pst_demand_view(const struct pst_demand *demand, struct pst_demand_view *ret_view);

#endif
