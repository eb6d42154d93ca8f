/*
 * observe.h - what the scaler is told of a gate: counts since the last telling, as its events.
 *
 * Why: the scaler decides from the gate's own accounting, in the daemon and in the simulator, for one
 * gateway and for many. Differences of running totals can be added up over gateways; nobody else
 * computes them.
 *
 * Guarantee: over any span, the sums of what was told equal what happened, less what has not been told yet.
 */
#ifndef PST_CORE_OBSERVE_H
#define PST_CORE_OBSERVE_H

#include "core/gate.h"
#include "core/scaler.h"

/* The totals at the last telling. All zero: never told. */
struct pst_observer {
    struct pst_gate_class_totals classes[PST_POOLS_MAX][PST_CLASSES_MAX];
    struct pst_gate_pool_totals pools[PST_POOLS_MAX];
};

/* One event per class of the pool, and one of the pool: events[0 … classes_count]. Returns how many. */
uint32_t pst_observe(struct pst_observer *observer, const struct pst_gate *gate, uint16_t pool,
                     pst_ns now, struct pst_scaler_event events[PST_CLASSES_MAX + 1]);

#endif
