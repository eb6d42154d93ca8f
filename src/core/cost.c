/* cost.c - see cost.h. */
#include "core/cost.h"

#include "core/num.h"

#define HOUR_S UINT64_C(3600)
#define DAY_S  UINT64_C(86400)

/* What runs exactly at its budget must not be stopped by what was rounded. */
#define ROUNDING_PPM 1000

/* So many ran for so long, up to now: what of it lies in the window that runs counts. */
static void spend(struct pst_cost_window *w, uint64_t length_s, pst_ns at, pst_ns span,
                  uint32_t running)
{
    uint64_t number = at / (length_s * PST_S);
    pst_ns into = at % (length_s * PST_S);

    if (number != w->number)
        w->replica_ns = 0;
    w->number = number;
    w->replica_ns = pst_add_sat(w->replica_ns, pst_mul_sat(pst_min_u64(span, into), running));
    w->left = length_s * PST_S - into;
}

void pst_cost_tick(struct pst_cost *cost, pst_ns now, uint64_t wall_s, uint32_t running)
{
    pst_ns at = wall_s != 0 ? pst_mul_sat(wall_s, PST_S) : now;
    pst_ns span = cost->begun ? pst_sub_sat(now, cost->last) : 0;

    spend(&cost->hour, HOUR_S, at, span, running);
    spend(&cost->day, DAY_S, at, span, running);
    cost->last = now;
    cost->begun = true;
}

static uint32_t window_allows(const struct pst_cost_window *w, uint64_t per_hour_micro,
                              uint64_t budget_micro, pst_ns least, uint32_t running)
{
    uint64_t bought_ns; /* replica-time for the whole budget */
    uint64_t left_ns, rounding_ns, started, kept;

    if (budget_micro == 0 || per_hour_micro == 0)
        return UINT32_MAX;
    bought_ns = pst_muldiv(budget_micro, HOUR_S * PST_S, per_hour_micro);
    rounding_ns = pst_muldiv(bought_ns, ROUNDING_PPM, PST_PPM);
    left_ns = pst_sub_sat(bought_ns, w->replica_ns);
    started = left_ns / pst_max_u64(w->left, least);
    /* The last one of them goes as late as it can: it may not have to. */
    kept = pst_max_u64(left_ns / w->left + (left_ns % w->left != 0),
                       pst_sub_sat(pst_add_sat(bought_ns, rounding_ns), w->replica_ns) / w->left);
    return (uint32_t)pst_min_u64(UINT32_MAX, pst_max_u64(started, pst_min_u64(kept, running)));
}

uint32_t pst_cost_allows(const struct pst_cost *cost, uint64_t per_hour_micro,
                         uint64_t hour_budget_micro, uint64_t day_budget_micro, pst_ns least,
                         uint32_t running)
{
    uint32_t hour = window_allows(&cost->hour, per_hour_micro, hour_budget_micro, least, running);
    uint32_t day = window_allows(&cost->day, per_hour_micro, day_budget_micro, least, running);

    return hour < day ? hour : day;
}
