/* plan_warm.c - see plan.h: what a warm pool buys, and for how much. */
#include "sim/plan.h"

const char *pst_plan_worth_name(enum pst_plan_worth worth)
{
    static const char *const names[PST_PLAN_WORTH_COUNT] = {"not-needed", "worth-it",
                                                            "ready-is-better", "too-little"};

    PST_ASSERT(worth < PST_PLAN_WORTH_COUNT);
    return names[worth];
}

void pst_plan_offer(const struct pst_sim_report *report, const struct pst_scenario *scenario,
                    uint32_t warm, const struct pst_plan_offer *base,
                    struct pst_plan_offer *ret_offer)
{
    struct pst_plan_offer offer = {.warm = warm, .meets = pst_plan_passes(report, scenario)};
    double arrived = 0;

    for (uint32_t c = 0; c < scenario->gate.classes_count; c++) {
        offer.in_target += (double)report->classes[c].in_target;
        arrived += (double)report->classes[c].arrived;
    }
    offer.attained = arrived > 0 ? offer.in_target / arrived : 1;
    for (int s = PST_REPLICA_GONE + 1; s < PST_REPLICA_STATE_COUNT; s++)
        offer.hours += (double)report->replica_ns[s] / (3600.0 * PST_S);
    offer.cost = (double)report->cost_micro / 1e6;
    if (base != NULL) {
        offer.extra_hours = offer.hours - base->hours;
        offer.extra_in_target = offer.in_target - base->in_target;
    }
    *ret_offer = offer;
}

/* Does it serve more in time for its hours than the other? Without a price more is better. */
static bool buys_more(const struct pst_plan_offer *a, const struct pst_plan_offer *b)
{
    if (a->extra_hours <= 0 || b->extra_hours <= 0)
        return a->extra_in_target > b->extra_in_target;
    return a->extra_in_target / a->extra_hours > b->extra_in_target / b->extra_hours;
}

/* Does an hour of it serve at least as many in time as an hour of the pool does? */
static bool pays(const struct pst_plan_offer *offer, const struct pst_plan_offer *none)
{
    return offer->extra_in_target > 0 &&
           (offer->extra_hours <= 0 ||
            offer->extra_in_target * none->hours >= none->in_target * offer->extra_hours);
}

static bool does_as_well(const struct pst_plan_offer *ready, const struct pst_plan_offer *warm)
{
    if (warm->meets)
        return ready->meets && ready->hours <= warm->hours;
    return ready->meets || buys_more(ready, warm);
}

/* Of the warm ones the first that meets, else the one that buys most. */
static uint32_t best_of(const struct pst_plan_offer *offers, uint32_t count)
{
    uint32_t best = 1;

    for (uint32_t i = 1; i + 1 < count; i++) {
        if (offers[i].meets)
            return i;
        if (buys_more(&offers[i], &offers[best]))
            best = i;
    }
    return best;
}

enum pst_plan_worth pst_plan_judge(const struct pst_plan_offer *offers, uint32_t count,
                                   uint32_t *ret_best)
{
    const struct pst_plan_offer *none = &offers[0], *ready = &offers[count - 1], *warm;

    PST_ASSERT(count >= 3);
    *ret_best = best_of(offers, count);
    warm = &offers[*ret_best];
    if (none->meets)
        return PST_PLAN_NOT_NEEDED;
    if ((ready->meets || pays(ready, none)) && does_as_well(ready, warm))
        return PST_PLAN_READY_IS_BETTER;
    return warm->meets || pays(warm, none) ? PST_PLAN_WORTH_IT : PST_PLAN_TOO_LITTLE;
}
