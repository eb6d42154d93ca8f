/*
 * pilot.h - the peers: published scaling rules that the house's own is compared with.
 *
 * Why: a comparison is worth what its baselines are worth. Each rule is written from its published
 * algorithm, with its published defaults, sees what it would see (metrics at its own interval, pods
 * ready or not), and may be given its best target.
 *
 *   hpa    Kubernetes HorizontalPodAutoscaler, autoscaling/v2: sync 15 s, tolerance 10 %, scale-up 4 pods or
 *          100 % in 15 s, scale-down 100 % in 15 s after 300 s of stabilisation; pods that are not
 *          ready or miss the metric count as 0 on the way up and as at target on the way down
 *   kpa    Knative pod autoscaler: concurrency averaged over 60 s, panic over 6 s at 200 %, no
 *          scale-down while it panics, rates 1000 up and 2 down, tick 2 s
 *   apa    AIBrix: up when the metric's mean over 180 s is above target x (1 + 0.1), down below target
 *          x (1 - 0.1), at most doubled or halved, scale-in cooled down over 300 s, tick 10 s
 *
 * An HPA is also what stands between the house's own decision and the replicas where the actuator is
 * one (or KEDA): then it is told that number as an external metric.
 *
 * Guarantee: pure; a pilot is a function of its sights. A sight without metrics is unknown: what
 * each rule does then is what it is known to do.
 */
#ifndef PST_SIM_PILOT_H
#define PST_SIM_PILOT_H

#include "model/scenario.h"

#define PST_PILOT_GRID_MAX 16 /* targets */

/* What can be seen of one pool from outside. */
struct pst_sight {
    pst_ns now;
    bool blind;       /* the metrics source is down: numbers below, but for replicas, are missing */
    uint32_t current; /* replicas as the workload's spec says */
    uint32_t ready, unready; /* pods: serving; created and not ready yet */
    uint32_t slots;          /* of ready ones */
    uint32_t inflight;       /* now */
    uint32_t queued;         /* now, all classes */
    uint32_t queued_class[PST_CLASSES_MAX];
    uint64_t inflight_ns; /* running integral of inflight + queued over time, for averages */
    uint64_t busy_ns;     /* … of inflight alone */
    uint64_t arrived;     /* running total */
    uint32_t told;        /* actuators HPA and KEDA: what the scaler's decision asks for */
};

struct pst_pilot;

/* PST_E_INVALID: the policy needs no pilot, the core's rule acts itself. PST_E_NOMEM. */
int pst_pilot_new(const struct pst_scenario_policy *policy, const struct pst_scaler_pool *pool,
                  struct pst_pilot **ret_pilot);
void pst_pilot_free(struct pst_pilot *pilot); /* takes NULL */
/* When it wants to look next, ns; the first look is at 0. */
pst_ns pst_pilot_due(const struct pst_pilot *pilot);
/* A look; returns the number it asks for, within min and max. */
uint32_t pst_pilot_look(struct pst_pilot *pilot, const struct pst_sight *sight);

/*
 * Its published default target, in the pilot's unit; the grid that its best is looked for in. Of the
 * core's own rules: 0, and none.
 */
uint64_t pst_pilot_default(enum pst_scenario_pilot pilot, const struct pst_scaler_pool *pool);
uint32_t pst_pilot_grid(enum pst_scenario_pilot pilot, const struct pst_scaler_pool *pool,
                        uint64_t ret_targets[PST_PILOT_GRID_MAX]);

#endif
