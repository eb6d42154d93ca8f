/* formula.c - see formula.h. */
#include "core/formula.h"

#include "core/num.h"

static uint32_t to_replicas(uint64_t n)
{
    return (uint32_t)pst_min_u64(n, PST_REPLICAS_MAX);
}

static uint32_t by_rate(const struct pst_scaler_pool *pool, const struct pst_demand_view *view)
{
    return to_replicas(view->rate_milli / pool->qps_milli +
                       (view->rate_milli % pool->qps_milli != 0));
}

static uint32_t by_depth(const struct pst_scaler_config *config,
                         const struct pst_formula_sight *sight)
{
    uint64_t depth = 0, stands = (uint64_t)sight->before * PST_FORMULA_DEPTH;

    for (uint32_t c = 0; c < config->classes_count; c++)
        depth += (uint64_t)config->classes[c].depth_weight * sight->view->queued[c];
    /* Both sides doubled: half a replica is half of PST_FORMULA_DEPTH. */
    if (2 * depth <= 2 * stands + PST_FORMULA_DEPTH && 2 * depth + PST_FORMULA_DEPTH >= 2 * stands)
        return sight->before;
    return to_replicas((depth + PST_FORMULA_DEPTH - 1) / PST_FORMULA_DEPTH);
}

static uint32_t by_backlog(const struct pst_scaler_pool *pool,
                           const struct pst_formula_sight *sight)
{
    bool is_above = sight->view->tickets && sight->backlog > pool->out_above;

    if (is_above && sight->step_is_due)
        return sight->before + 1;
    if (!is_above && (sight->backlog < pool->in_below || !sight->view->tickets))
        return (uint32_t)pst_sub_sat(sight->before, 1);
    return sight->before;
}

uint32_t pst_formula(const struct pst_scaler_config *config, const struct pst_scaler_pool *pool,
                     const struct pst_formula_sight *sight, enum pst_term *ret_term)
{
    switch ((enum pst_scaler_rule)pool->rule) {
    case PST_RULE_QPS:
        *ret_term = PST_TERM_NOW;
        return by_rate(pool, sight->view);
    case PST_RULE_DEPTH:
        *ret_term = PST_TERM_BACKLOG;
        return by_depth(config, sight);
    case PST_RULE_BACKLOG:
        *ret_term = PST_TERM_BACKLOG;
        return by_backlog(pool, sight);
    case PST_RULE_STATIC:
    case PST_RULE_AHEAD:
    case PST_RULE_COUNT:
        break;
    }
    *ret_term = PST_TERM_MIN;
    return pool->min;
}
