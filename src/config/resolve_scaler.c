/* resolve_scaler.c - the scaler's configuration: what classes and pools say of it, together. */
#include "config/resolve.h"

#define WEIGHT_FIRST 3 /* rule depth: 3, 2, 1, 1 … */

static void resolve_class(struct pst_resolver *r, uint32_t i)
{
    const struct pst_draft_class *c = (const struct pst_draft_class *)r->draft->classes.items + i;
    const bool said = pst_tree_get(c->node, "envelope") != NULL;

    r->config->scaler.classes[i] = (struct pst_scaler_class){
        .target = c->gate.target,
        .max_wait = c->gate.max_wait,
        .depth_weight = i < WEIGHT_FIRST ? WEIGHT_FIRST - i : 1,
        .sheds = c->gate.on_full == PST_ON_FULL_REJECT,
        .envelope = said ? c->envelope : i + 1 < r->draft->classes.count,
    };
}

/* "USD" of "2.5 USD"; NULL: nothing is said there. */
static const char *currency_of(const struct pst_tree_node *node)
{
    const char *space =
        node != NULL && node->kind == PST_TREE_TEXT ? strrchr(node->text, ' ') : NULL;

    return space == NULL ? NULL : space + 1;
}

/* Amounts are added up over all pools, so they must be of one kind. */
static void check_currency(struct pst_resolver *r, const struct pst_tree_node *map, const char *key,
                           const char **currency)
{
    const struct pst_tree_node *node = pst_tree_get(map, key);
    const char *own = currency_of(node);

    if (own != NULL && *currency != NULL && strcmp(own, *currency) != 0)
        PST_RESOLVE_ERROR(r, node, "%s: %s, where another amount is in %s; one currency is needed",
                          key, own, *currency);
    else if (own != NULL)
        *currency = own;
}

/* Who turns the number into replicas follows from where they come from. */
static uint8_t actuate_of(const struct pst_config *config, const struct pst_draft_pool *pool)
{
    if (!pool->acts)
        return PST_ACTUATE_NONE;
    if (pool->own.local.command != NULL)
        return PST_ACTUATE_OWN;
    if (pool->own.kubernetes.selector != NULL)
        return PST_ACTUATE_MARKED;
    return config->keda.listen != NULL ? PST_ACTUATE_NUMBER : PST_ACTUATE_NONE;
}

/* Engines of this host cannot be more than there are places for; 0: as many as one likes. */
static uint32_t places_of(const struct pst_draft_pool *pool)
{
    const struct pst_config_local *local = &pool->own.local;
    uint32_t places = (uint32_t)(local->port_last - local->port_first) + 1;

    if (local->command == NULL)
        return 0;
    if (local->gpus_count > 0 && local->gpus_count / local->gpus_each < places)
        places = (uint32_t)local->gpus_count / local->gpus_each;
    return places;
}

static void bound_by_places(const struct pst_tree_node *node, struct pst_draft_pool *pool)
{
    struct pst_scaler_pool *s = &pool->scaler;

    pool->places = places_of(pool);
    if (pool->places > s->warm && pst_tree_get(node, "max") == NULL &&
        s->max > pool->places - s->warm)
        s->max = pool->places - s->warm;
}

static void resolve_pool(struct pst_resolver *r, uint32_t i, const char **currency)
{
    struct pst_draft_pool *pool = (struct pst_draft_pool *)r->draft->pools.items + i;
    const struct pst_tree_node *node = pst_tree_get(pool->node, "scaler");
    const struct pst_tree_node *budget = pst_tree_get(node, "budget");
    struct pst_scaler_pool *s = &pool->scaler;

    bound_by_places(node, pool);
    if (pool->places > 0 && s->min > pool->places)
        PST_RESOLVE_ERROR(r, node, "scaler: min is %u, and there are places for %u", s->min,
                          pool->places);
    else if (s->min > s->max)
        PST_RESOLVE_ERROR(r, node, "scaler: min is more than max");
    if (s->in_below >= s->out_above)
        PST_RESOLVE_ERROR(r, node, "scaler: in_below must be less than out_above");
    if (s->rule == PST_RULE_QPS && pool->qps == 0)
        PST_RESOLVE_ERROR(r, pst_tree_at(node, "rule"),
                          "rule: qps needs `qps`: what one replica is to serve, as 2.5/s");
    if (s->cost_micro == 0 && (s->budget_hour_micro > 0 || s->budget_day_micro > 0))
        PST_RESOLVE_ERROR(r, budget, "budget: needs `cost_per_hour`");
    check_currency(r, node, "cost_per_hour", currency);
    check_currency(r, budget, "hour", currency);
    check_currency(r, budget, "day", currency);
    s->slots = pool->gate.slots;
    s->actuate = actuate_of(r->config, pool);
    s->awaits_synced = s->actuate != PST_ACTUATE_NONE;
    s->qps_milli = pool->qps < UINT32_MAX / 1000 ? (uint32_t)(pool->qps * 1000 + 0.5) : UINT32_MAX;
    r->config->scaler.pools[i] = *s;
    r->config->scaler.pools[i].reserves = r->config->gate.pools[i].policy == PST_POLICY_ADAPTIVE;
}

void pst_resolve_scaler(struct pst_resolver *r)
{
    struct pst_scaler_config *scaler = &r->config->scaler;
    const char *currency = NULL;

    scaler->replicas_max = PST_REPLICAS_MAX;
    scaler->classes_count = (uint32_t)r->draft->classes.count;
    scaler->pools_count = (uint32_t)r->draft->pools.count;
    for (uint32_t i = 0; i < scaler->classes_count; i++)
        resolve_class(r, i);
    for (uint32_t i = 0; i < scaler->pools_count; i++)
        resolve_pool(r, i, &currency);
}
