/*
 * pilot_target.c - what a peer aims at when nobody says, and what else is worth trying.
 *
 * Sources of the defaults: slot occupancy 70 %, as Knative's container-concurrency-target-percentage
 * and the usual advice for an HPA; 5 queued requests per replica, the upper end of what GKE's guide to
 * autoscaling inference advises to begin with (3 to 5); Knative: 70 % of the container concurrency;
 * AIBrix: 0.5 of capacity, as its published example. A target in requests follows the slots.
 */
#include "sim/pilot.h"

struct targets {
    uint64_t usual;
    bool of_slots; /* thousandths of one replica's slots; else as they stand */
    uint32_t count;
    uint64_t grid[PST_PILOT_GRID_MAX];
};

static const struct targets occupancy = {
    700000, false, 8, {400000, 500000, 600000, 700000, 800000, 850000, 900000, 950000}};
static const struct targets inflight = {
    700, true, 9, {400, 500, 600, 700, 800, 900, 1000, 1250, 1500}};
static const struct targets queue = {
    5000, false, 8, {500, 1000, 2000, 3000, 5000, 10000, 20000, 50000}};
static const struct targets kpa = {700, true, 8, {400, 500, 600, 700, 800, 900, 1000, 1250}};
static const struct targets apa = {500, true, 9, {300, 400, 500, 600, 700, 800, 900, 1000, 1250}};

static const struct targets *targets_of(enum pst_scenario_pilot pilot)
{
    switch (pilot) {
    case PST_PILOT_HPA_OCCUPANCY:
        return &occupancy;
    case PST_PILOT_HPA_INFLIGHT:
        return &inflight;
    case PST_PILOT_HPA_QUEUE:
        return &queue;
    case PST_PILOT_KPA:
        return &kpa;
    case PST_PILOT_APA:
        return &apa;
    case PST_PILOT_AHEAD:
    case PST_PILOT_BACKLOG:
    case PST_PILOT_QPS:
    case PST_PILOT_DEPTH:
    case PST_PILOT_STATIC:
    case PST_PILOT_COUNT:
        break;
    }
    return NULL;
}

static uint64_t target_of(const struct targets *targets, const struct pst_scaler_pool *pool,
                          uint64_t value)
{
    return targets->of_slots ? value * pool->slots : value;
}

uint64_t pst_pilot_default(enum pst_scenario_pilot pilot, const struct pst_scaler_pool *pool)
{
    const struct targets *targets = targets_of(pilot);

    return targets == NULL ? 0 : target_of(targets, pool, targets->usual);
}

uint32_t pst_pilot_grid(enum pst_scenario_pilot pilot, const struct pst_scaler_pool *pool,
                        uint64_t ret_targets[PST_PILOT_GRID_MAX])
{
    const struct targets *targets = targets_of(pilot);
    uint32_t count = 0;

    if (pilot == PST_PILOT_STATIC) { /* any number that it may be */
        for (uint32_t n = pool->min > 0 ? pool->min : 1;
             n <= pool->max && count < PST_PILOT_GRID_MAX; n++)
            ret_targets[count++] = n;
        return count;
    }
    if (targets == NULL)
        return 0;
    for (uint32_t i = 0; i < targets->count; i++)
        ret_targets[i] = target_of(targets, pool, targets->grid[i]);
    return targets->count;
}
