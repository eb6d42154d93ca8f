/* resolve_pool.c - a pool: engine defaults, models, replicas, bounds. */
#include "config/resolve.h"

#include "config/scalar.h"

static bool find_model(const struct pst_draft_pool *pool, const char *name, size_t below)
{
    const struct pst_config_model *models = pool->models.items;

    for (size_t i = 0; i < below; i++) {
        if (pst_resolve_same(models[i].name, name))
            return true;
    }
    return false;
}

/* A model name leads to one pool, so it may stand only once in the whole file. */
static void check_model_name(struct pst_resolver *r, const struct pst_draft_pool *pool,
                             const char *name, size_t below, const struct pst_tree_node *node)
{
    const struct pst_draft_pool *pools = r->draft->pools.items;

    if (find_model(pool, name, below))
        PST_RESOLVE_ERROR(r, node, "model '%s' is already in this pool", name);
    for (const struct pst_draft_pool *other = pools; other < pool; other++) {
        const struct pst_draft_pair *alias = other->aliases.items;
        bool taken = find_model(other, name, other->models.count);
        for (size_t i = 0; i < other->aliases.count; i++)
            taken = taken || pst_resolve_same(alias[i].name, name);
        if (taken)
            PST_RESOLVE_ERROR(r, node, "model '%s' is already served by pool '%s'", name,
                              other->own.name == NULL ? "?" : other->own.name);
    }
}

static void resolve_models(struct pst_resolver *r, struct pst_draft_pool *pool)
{
    const size_t count = pool->models.count, aliases = pool->aliases.count;
    const struct pst_draft_pair *alias = pool->aliases.items;
    const struct pst_config_model *own = pool->models.items;
    struct pst_config_model *models;

    models = pst_arena_take(r->arena, (count + aliases) * sizeof *models);
    if (models == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        models[i] = own[i];
        if (own[i].name != NULL)
            check_model_name(r, pool, own[i].name, i, pst_resolve_item(pool->node, "models", i));
    }
    for (size_t i = 0; i < aliases; i++) {
        struct pst_config_model *model = &models[count + i];
        *model = (struct pst_config_model){alias[i].name, alias[i].value, 100};
        if (alias[i].name != NULL)
            check_model_name(r, pool, alias[i].name, count, alias[i].node);
        if (alias[i].value == NULL)
            continue;
        if (!find_model(pool, alias[i].value, count))
            PST_RESOLVE_ERROR(r, alias[i].node, "aliases: this pool has no model '%s'",
                              alias[i].value);
        for (size_t j = 0; j < count; j++) {
            if (pst_resolve_same(own[j].name, alias[i].value))
                model->weight = own[j].weight;
        }
    }
    pool->own.models = models;
    pool->own.models_count = count + aliases;
}

static void engine_defaults(struct pst_draft_pool *pool)
{
    static char health[] = "/health", triton[] = "/v2/health/ready", models[] = "/v1/models";
    const struct pst_tree_node *ready = pst_tree_get(pool->node, "ready");

    if (pool->own.ready_path == NULL)
        pool->own.ready_path = pool->own.engine == PST_ENGINE_TRITON   ? triton
                               : pool->own.engine == PST_ENGINE_OPENAI ? models
                                                                       : health;
    if (pst_tree_get(ready, "model") == NULL)
        pool->ready = pool->own.engine == PST_ENGINE_TRITON ? PST_DRAFT_NONE : PST_DRAFT_COMPLETION;
    if (pst_tree_get(pool->node, "cancel_lag") == NULL)
        pool->gate.cancel_lag = pool->own.engine == PST_ENGINE_LLAMACPP ? PST_S : 40 * PST_MS;
}

static void resolve_ready(struct pst_draft_pool *pool)
{
    static const enum pst_ready_kind kinds[] = {
        [PST_DRAFT_COMPLETION] = PST_READY_COMPLETION,
        [PST_DRAFT_EMBEDDINGS] = PST_READY_EMBEDDINGS,
        [PST_DRAFT_LISTED] = PST_READY_LISTED,
        [PST_DRAFT_NONE] = PST_READY_LISTED,
    };

    pool->own.ready = kinds[pool->ready];
    pool->gate.ready_model = pool->ready != PST_DRAFT_NONE;
}

static void resolve_kv(struct pst_resolver *r, struct pst_draft_pool *pool)
{
    const uint64_t batch = pool->max_batch > 0 ? pool->max_batch : pool->gate.slots;

    if (pool->kv_bytes_max > 0 && pool->bytes_per_token == 0)
        PST_RESOLVE_ERROR(r, pst_tree_at(pool->node, "kv_bytes_max"),
                          "kv_bytes_max: needs `bytes_per_token` beside it");
    else if (pool->kv_bytes_max > 0)
        pool->gate.kv_tokens_max = pool->kv_bytes_max / pool->bytes_per_token;
    else if (pool->max_seq_len > 0)
        pool->gate.kv_tokens_max = batch * pool->max_seq_len * 2;
    if (pool->kv_bytes_max > 0 && pool->kv_bytes_max < pool->bytes_per_token)
        PST_RESOLVE_ERROR(r, pst_tree_at(pool->node, "kv_bytes_max"),
                          "kv_bytes_max: less than one token");
}

/*
 * Gateways share the replicas, and each sees its part of the load only: with its part of the slots, all that is
 * derived from either (what fits, how long it takes, how many replicas it needs) is right in each.
 */
static void resolve_slots(const struct pst_resolver *r, struct pst_draft_pool *pool)
{
    const uint32_t gateways = r->config->gateways > 1 ? r->config->gateways : 1;

    pool->slots_whole = pool->gate.slots;
    pool->gate.gateways = gateways;
    pool->gate.slots = pool->slots_whole >= gateways ? pool->slots_whole / gateways : 1;
}

/* A list of numbers in priority order; its last one counts for the classes it does not reach. */
static void spread(const struct pst_items *items, const uint32_t *defaults, size_t defaults_count,
                   uint32_t *ret_numbers, uint32_t classes)
{
    const uint32_t *from = items->count > 0 ? items->items : defaults;
    const size_t count = items->count > 0 ? items->count : defaults_count;

    for (uint32_t i = 0; i < classes; i++)
        ret_numbers[i] = from[i < count ? i : count - 1];
}

static void resolve_fixed(struct pst_resolver *r, struct pst_draft_pool *pool)
{
    static const uint32_t queues[] = {50, 100, 200}, in_flight[] = {8, 4, 2};
    const struct pst_tree_node *node = pst_tree_get(pool->node, "fixed");
    const uint32_t classes = r->config->gate.classes_count;

    spread(&pool->fixed_queues, queues, PST_COUNT_OF(queues), pool->gate.fixed_queue, classes);
    spread(&pool->fixed_in_flight, in_flight, PST_COUNT_OF(in_flight), pool->gate.fixed_inflight,
           classes);
    if (pool->fixed_queues.count > classes)
        PST_RESOLVE_ERROR(r, pst_tree_at(node, "queues"), "queues: more numbers than classes");
    if (pool->fixed_in_flight.count > classes)
        PST_RESOLVE_ERROR(r, pst_tree_at(node, "in_flight"),
                          "in_flight: more numbers than classes");
}

/* The whole Authorization value: a bare key is a bearer token. */
static void resolve_auth(struct pst_resolver *r, struct pst_draft_pool *pool)
{
    const char *secret = pool->own.upstream_auth;
    static const char scheme[] = "Bearer ";
    const size_t scheme_len = sizeof scheme - 1;
    char *value;

    if (secret == NULL || strchr(secret, ' ') != NULL)
        return;
    value = pst_arena_take(r->arena, scheme_len + strlen(secret) + 1);
    if (value == NULL)
        return;
    memcpy(value, scheme, scheme_len);
    memcpy(value + scheme_len, secret, strlen(secret) + 1);
    pool->own.upstream_auth = value;
}

static void resolve_pool(struct pst_resolver *r, struct pst_draft_pool *pool, uint16_t i)
{
    const struct pst_draft_pool *pools = r->draft->pools.items;

    for (uint16_t j = 0; j < i; j++) {
        if (pst_resolve_same(pool->own.name, pools[j].own.name))
            PST_RESOLVE_ERROR(r, pst_tree_at(pool->node, "name"),
                              "a pool named '%s' is already in line %u", pool->own.name,
                              pools[j].own.line);
    }
    pool->own.line = pool->node->line;
    pool->own.stream_stall = pool->gate.stall;
    pool->own.paths = pool->paths.items;
    pool->own.paths_count = pool->paths.count;
    if (pool->gate.length_short_tokens >= pool->gate.length_long_tokens)
        PST_RESOLVE_ERROR(r, pst_tree_at(pool->node, "lengths"),
                          "lengths: short must be less than long");

    resolve_slots(r, pool);
    engine_defaults(pool);
    resolve_ready(pool);
    resolve_models(r, pool);
    pst_resolve_replicas(r, pool);
    pst_resolve_signals(pool, r->arena);
    pst_resolve_prescale(r, pool);
    resolve_kv(r, pool);
    resolve_fixed(r, pool);
    resolve_auth(r, pool);
    r->config->pools[i] = pool->own;
    r->config->gate.pools[i] = pool->gate;
}

void pst_resolve_pools(struct pst_resolver *r)
{
    struct pst_draft *d = r->draft;
    const size_t count = d->pools.count;
    size_t replicas = 0;

    r->config->default_pool = PST_POOL_NONE;
    r->config->pools = pst_arena_take(r->arena, (count + 1) * sizeof *r->config->pools);
    if (r->config->pools == NULL)
        return;
    for (uint16_t i = 0; i < count; i++) {
        struct pst_draft_pool *pool = (struct pst_draft_pool *)d->pools.items + i;
        resolve_pool(r, pool, i);
        replicas += pool->statics.count;
        if (pst_resolve_same(pool->own.name, d->default_pool))
            r->config->default_pool = i;
    }
    r->config->pools_count = count;
    r->config->gate.pools_count = (uint32_t)count;
    r->config->gate.replicas_max = PST_REPLICAS_MAX;
    if (count == 1 && d->default_pool == NULL)
        r->config->default_pool = 0;
    if (d->default_pool != NULL && r->config->default_pool == PST_POOL_NONE)
        PST_RESOLVE_ERROR(r, pst_tree_at(d->root, "default_pool"),
                          "default_pool: there is no pool '%s'", d->default_pool);
    if (replicas > PST_REPLICAS_MAX)
        PST_RESOLVE_ERROR(r, pst_tree_at(d->root, "pools"),
                          "%zu replicas; at most %d, all pools together", replicas,
                          PST_REPLICAS_MAX);
}
