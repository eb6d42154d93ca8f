/* cost.c - see cost.h. */
#include "core/cost.h"

#include "core/num.h"

#define HOUR_S UINT64_C(3600)
#define DAY_S  UINT64_C(86400)

/* What runs exactly at its budget must not be stopped by what was rounded. */
#define ROUNDING_PPM 1000

static void spend(struct pst_cost_window *w, uint64_t length_s, pst_ns at, uint64_t replica_ns)
{
    uint64_t number = at / (length_s * PST_S);

    if (number != w->number) {
        w->number = number;
        w->replica_ns = 0;
    } else {
        w->replica_ns = pst_add_sat(w->replica_ns, replica_ns);
    }
    w->left = length_s * PST_S - at % (length_s * PST_S);
}

void pst_cost_tick(struct pst_cost *cost, pst_ns now, uint64_t wall_s, uint32_t running)
{
    pst_ns at = wall_s != 0 ? pst_mul_sat(wall_s, PST_S) : now;
    uint64_t replica_ns = cost->begun ? pst_mul_sat(pst_sub_sat(now, cost->last), running) : 0;

    spend(&cost->hour, HOUR_S, at, replica_ns);
    spend(&cost->day, DAY_S, at, replica_ns);
    cost->last = now;
    cost->begun = true;
}

static uint32_t window_allows(const struct pst_cost_window *w, uint64_t per_hour_micro,
                              uint64_t budget_micro, pst_ns least)
{
    uint64_t bought_ns; /* replica-time for the whole budget */

    if (budget_micro == 0 || per_hour_micro == 0)
        return UINT32_MAX;
    bought_ns = pst_muldiv(budget_micro, HOUR_S * PST_S, per_hour_micro);
    bought_ns = pst_add_sat(bought_ns, pst_muldiv(bought_ns, ROUNDING_PPM, PST_PPM));
    return (uint32_t)pst_min_u64(UINT32_MAX, pst_sub_sat(bought_ns, w->replica_ns) /
                                                 pst_max_u64(w->left, least));
}

uint32_t pst_cost_allows(const struct pst_cost *cost, uint64_t per_hour_micro,
                         uint64_t hour_budget_micro, uint64_t day_budget_micro, pst_ns least)
{
    uint32_t hour = window_allows(&cost->hour, per_hour_micro, hour_budget_micro, least);
    uint32_t day = window_allows(&cost->day, per_hour_micro, day_budget_micro, least);

    return hour < day ? hour : day;
}
