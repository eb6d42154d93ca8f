/* resolve_prescale.c - what is wanted by the clock, and what it needs. */
#include "config/resolve.h"

/* A rule without a zone is of the scaler's. */
static void resolve_cron(struct pst_resolver *r, struct pst_draft_pool *pool)
{
    const struct pst_draft_cron *drafts = pool->cron.items;
    struct pst_config_prescale *prescale = &pool->own.prescale;

    if (pool->cron.count == 0)
        return;
    prescale->cron = pst_arena_take(r->arena, pool->cron.count * sizeof *prescale->cron);
    if (prescale->cron == NULL)
        return;
    prescale->cron_count = pool->cron.count;
    for (size_t i = 0; i < pool->cron.count; i++) {
        prescale->cron[i] = drafts[i].own;
        if (prescale->cron[i].zone == NULL)
            prescale->cron[i].zone = prescale->zone;
    }
}

static void check_profile(struct pst_resolver *r, const struct pst_draft_pool *pool)
{
    const struct pst_tree_node *scaler = pst_tree_get(pool->node, "scaler");
    const struct pst_tree_node *node = pst_tree_get(scaler, "profile");
    const struct pst_config_prescale *prescale = &pool->own.prescale;

    if (prescale->profile == PST_PROFILE_HISTORY && r->config->state == NULL)
        PST_RESOLVE_ERROR(r, node, "profile: history needs `state`, a folder to keep it in");
    if (prescale->profile == PST_PROFILE_PROMETHEUS && pool->own.signals.prometheus == NULL)
        PST_RESOLVE_ERROR(r, node, "profile: prometheus needs `signals.prometheus.server`");
    if (prescale->profile_query != NULL && prescale->profile != PST_PROFILE_PROMETHEUS)
        PST_RESOLVE_ERROR(r, pst_tree_at(node, "query"), "query: is of `from: prometheus`");
}

void pst_resolve_prescale(struct pst_resolver *r, struct pst_draft_pool *pool)
{
    resolve_cron(r, pool);
    pool->own.prescale.holidays = pool->holidays.items;
    pool->own.prescale.holidays_count = pool->holidays.count;
    check_profile(r, pool);
}
