/* pilot.c - which rule flies, when it looks, and within which bounds. */
#include "sim/pilot.h"

#include <stdlib.h>

#include "core/num.h"
#include "sim/pilot_inside.h"

/* Whose rule it is, or false: the core's own, which acts without any of these. */
static bool rule_of(const struct pst_scenario_policy *policy, enum pilot_rule *ret_rule)
{
    switch (policy->pilot) {
    case PST_PILOT_HPA_OCCUPANCY:
    case PST_PILOT_HPA_INFLIGHT:
    case PST_PILOT_HPA_QUEUE:
        *ret_rule = PILOT_HPA;
        return true;
    case PST_PILOT_KPA:
        *ret_rule = PILOT_KPA;
        return true;
    case PST_PILOT_APA:
        *ret_rule = PILOT_APA;
        return true;
    case PST_PILOT_AHEAD:
    case PST_PILOT_BACKLOG:
    case PST_PILOT_QPS:
    case PST_PILOT_DEPTH:
    case PST_PILOT_STATIC:
    case PST_PILOT_COUNT:
        break;
    }
    switch (policy->actuator) {
    case PST_ACTUATOR_HPA:
        *ret_rule = PILOT_HPA_EXTERNAL;
        return true;
    case PST_ACTUATOR_KEDA:
        *ret_rule = PILOT_KEDA;
        return true;
    case PST_ACTUATOR_DIRECT:
    case PST_ACTUATOR_MARKED:
    case PST_ACTUATOR_COUNT:
        break;
    }
    return false;
}

static pst_ns interval_of(enum pilot_rule rule)
{
    switch (rule) {
    case PILOT_HPA:
    case PILOT_HPA_EXTERNAL:
    case PILOT_KEDA:
        return HPA_SYNC;
    case PILOT_KPA:
        return KPA_TICK;
    case PILOT_APA:
        return APA_RESYNC;
    }
    return PST_NEVER;
}

int pst_pilot_new(const struct pst_scenario_policy *policy, const struct pst_scaler_pool *pool,
                  struct pst_pilot **ret_pilot)
{
    struct pst_pilot *pilot;
    enum pilot_rule rule;

    if (!rule_of(policy, &rule) || pool->slots == 0 || pool->min > pool->max)
        return PST_E_INVALID;
    pilot = calloc(1, sizeof *pilot);
    if (pilot == NULL)
        return PST_E_NOMEM;
    pilot->rule = rule;
    pilot->metric = policy->pilot;
    pilot->target = policy->target > 0 ? policy->target : pst_pilot_default(policy->pilot, pool);
    pilot->min = pool->min;
    pilot->max = pool->max;
    pilot->every = interval_of(rule);
    *ret_pilot = pilot;
    return PST_OK;
}

void pst_pilot_free(struct pst_pilot *pilot)
{
    free(pilot);
}

pst_ns pst_pilot_due(const struct pst_pilot *pilot)
{
    return pilot->due;
}

uint32_t pst_pilot_look(struct pst_pilot *pilot, const struct pst_sight *sight)
{
    uint32_t wanted = PILOT_HOLDS;

    while (pilot->due <= sight->now)
        pilot->due += pilot->every;
    switch (pilot->rule) {
    case PILOT_HPA:
    case PILOT_HPA_EXTERNAL:
        wanted = pst_pilot_hpa(pilot, sight);
        break;
    case PILOT_KEDA:
        wanted = pst_pilot_keda(pilot, sight);
        break;
    case PILOT_KPA:
        wanted = pst_pilot_kpa(pilot, sight);
        break;
    case PILOT_APA:
        wanted = pst_pilot_apa(pilot, sight);
        break;
    }
    if (wanted == PILOT_HOLDS)
        wanted = sight->current;
    return (uint32_t)pst_min_u64(pst_max_u64(wanted, pilot->min), pilot->max);
}
