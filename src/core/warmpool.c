/*
 * warmpool.c - replicas that are loaded and take no work yet: a promotion takes seconds where a start
 * takes minutes.
 *
 * Refilled behind promotions, as far as starts may be had at all. One that was kept for longer than
 * `rotate` is replaced: its successor is loaded before it goes, so that the pool never drops below its
 * number.
 */
#include "core/num.h"
#include "core/scaler_internal.h"

/* Kept for the longest; PST_SCALER_NOBODY: none is. */
static uint16_t oldest(const struct pst_scaler *scaler, uint16_t pool)
{
    uint16_t best = PST_SCALER_NOBODY;

    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->pool == pool && pst_replica_is_loaded(r) &&
            (best == PST_SCALER_NOBODY || r->since < scaler->replicas[best].since))
            best = i;
    }
    return best;
}

static bool is_due_to_rotate(const struct pst_scaler *scaler, uint16_t pool)
{
    pst_ns rotate = scaler->seats[pool].config->rotate;
    uint16_t r = oldest(scaler, pool);

    return rotate != 0 && r != PST_SCALER_NOBODY &&
           scaler->now - scaler->replicas[r].since >= rotate;
}

/* It is to be kept warm, and is not loaded and well. */
static bool is_warming(const struct pst_scaler_replica *r)
{
    return (r->life == PST_LIFE_STARTING && r->is_warm) ||
           (r->life == PST_LIFE_WARM && !pst_replica_is_loaded(r));
}

/* The last one that was asked for to be kept warm. */
static bool cancel_one(struct pst_scaler *scaler, uint16_t pool)
{
    for (uint32_t i = scaler->asks_count; i-- > 0;) {
        const struct pst_scaler_ask *ask = &scaler->asks[i];

        if (ask->pool == pool && ask->warm && !ask->unwanted) {
            pst_life_want_ask(scaler, i, false);
            return true;
        }
    }
    for (uint16_t i = scaler->replicas_top; i-- > 0;) {
        if (scaler->replicas[i].pool == pool && is_warming(&scaler->replicas[i])) {
            pst_life_cancel(scaler, i);
            return true;
        }
    }
    return false;
}

void pst_warmpool_keep(struct pst_scaler *scaler, uint16_t pool)
{
    const struct pst_scaler_pool *config = scaler->seats[pool].config;
    struct pst_census c;
    uint32_t wanted = config->warm, missing, vetoes;

    pst_census(scaler, pool, &c);
    while (c.warm > config->warm && pst_life_retire(scaler, oldest(scaler, pool)))
        c.warm--;
    if (c.warm == wanted && is_due_to_rotate(scaler, pool))
        wanted++; /* its successor */
    while (c.warm + c.warming > wanted && cancel_one(scaler, pool))
        c.warming--;
    missing = (uint32_t)pst_sub_sat(wanted, c.warm + c.warming);
    missing = pst_act_startable(scaler, pool, &c, missing, &vetoes);
    while (missing-- > 0)
        pst_act_start(scaler, pool, true);
}
