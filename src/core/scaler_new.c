/* scaler_new.c - building a scaler, and giving it new numbers. */
#include <stdlib.h>

#include "core/num.h"
#include "core/scaler_internal.h"

static bool pool_is_valid(const struct pst_scaler_pool *p, uint32_t replicas_max)
{
    return p->max > 0 && p->min <= p->max && p->max <= replicas_max && p->warm <= replicas_max &&
           p->slots > 0 && p->slots <= UINT16_MAX && p->rule < PST_RULE_COUNT &&
           p->actuate < PST_ACTUATE_COUNT && p->utilisation_ppm <= PST_PPM &&
           p->inflight_guard_ppm <= PST_PPM && p->gpu_guard_ppm <= PST_PPM &&
           (p->rule != PST_RULE_QPS || p->qps_milli > 0);
}

static bool is_valid(const struct pst_scaler_config *config)
{
    if (config->classes_count == 0 || config->classes_count > PST_CLASSES_MAX ||
        config->pools_count == 0 || config->pools_count > PST_POOLS_MAX ||
        config->replicas_max == 0 || config->replicas_max > PST_REPLICAS_MAX)
        return false;
    for (uint32_t p = 0; p < config->pools_count; p++) {
        if (!pool_is_valid(&config->pools[p], config->replicas_max))
            return false;
    }
    return true;
}

static int seat_init(struct pst_scaler *scaler, uint16_t pool,
                     const struct pst_scaler_config *config)
{
    struct pst_scaler_seat *seat = &scaler->seats[pool];

    *seat = (struct pst_scaler_seat){.config = &scaler->config.pools[pool],
                                     .observed_at = PST_NEVER,
                                     .busy_at = PST_NEVER,
                                     .guarded_since = PST_NEVER,
                                     .short_since = PST_NEVER,
                                     .stepped_at = PST_NEVER};
    return pst_demand_new(config, pool, &seat->demand);
}

static void seat_done(struct pst_scaler_seat *seat)
{
    pst_demand_free(seat->demand);
    seat->demand = NULL;
}

int pst_scaler_new(const struct pst_scaler_config *config, struct pst_scaler **ret_scaler)
{
    struct pst_scaler *scaler;
    int rc = PST_OK;

    if (!is_valid(config))
        return PST_E_INVALID;
    scaler = calloc(1, sizeof *scaler);
    if (scaler == NULL)
        return PST_E_NOMEM;
    scaler->config = *config;
    for (uint16_t p = 0; p < config->pools_count; p++) {
        rc = seat_init(scaler, p, config);
        if (rc != PST_OK)
            goto fail;
    }
    *ret_scaler = scaler;
    return PST_OK;

fail:
    pst_scaler_free(scaler);
    return rc;
}

void pst_scaler_free(struct pst_scaler *scaler)
{
    if (scaler == NULL)
        return;
    for (uint32_t p = 0; p < PST_POOLS_MAX; p++)
        seat_done(&scaler->seats[p]);
    free(scaler);
}

int pst_scaler_reconfigure(struct pst_scaler *scaler, const struct pst_scaler_config *config)
{
    uint32_t had = scaler->config.pools_count;
    int rc = PST_OK;

    if (!is_valid(config) || config->classes_count != scaler->config.classes_count ||
        config->replicas_max != scaler->config.replicas_max || config->pools_count < had)
        return PST_E_INVALID;
    for (uint32_t p = had; p < config->pools_count && rc == PST_OK; p++)
        rc = seat_init(scaler, (uint16_t)p, config);
    if (rc != PST_OK) {
        for (uint32_t p = had; p < config->pools_count; p++)
            seat_done(&scaler->seats[p]);
        return rc;
    }
    for (uint16_t p = 0; p < had; p++) {
        if (pst_seat_acts(&scaler->seats[p]) &&
            config->pools[p].actuate != scaler->config.pools[p].actuate)
            pst_life_let_go(scaler, p);
    }
    scaler->config = *config;
    for (uint16_t p = 0; p < had; p++) {
        struct pst_scaler_seat *seat = &scaler->seats[p];

        pst_demand_reconfigure(seat->demand, config);
        /* The new bounds hold at once; the steps there come with the next tick. */
        seat->desired = (uint32_t)pst_max_u64(seat->desired, seat->config->min);
        seat->desired = (uint32_t)pst_min_u64(seat->desired, seat->config->max);
        seat->last.u.decision.desired = (uint16_t)seat->desired;
    }
    return PST_OK;
}
