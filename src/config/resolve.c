/* resolve.c - names become indexes; what no single key can know is checked. */
#include "config/draft.h"

#include <stdio.h>
#include <string.h>

#include "config/problems.h"
#include "config/scalar.h"

struct resolver {
    struct pst_draft *draft;
    struct pst_config *config;
    struct pst_arena *arena;
    struct pst_problems *problems;
};

#define ERROR(r, node, ...)                                                                        \
    pst_problems_add((r)->problems, PST_PROBLEM_ERROR, (node) == NULL ? 0 : (node)->line,          \
                     (node) == NULL ? 0 : (node)->column, __VA_ARGS__)

/* Where a key stands, or else its map. */
static const struct pst_tree_node *at(const struct pst_tree_node *map, const char *key)
{
    const struct pst_tree_node *node = pst_tree_get(map, key);

    return node != NULL ? node : map;
}

static bool same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* ---- classes and types ------------------------------------------------------------------------ */

void pst_draft_class_defaults(void *element, const char *name)
{
    static const struct {
        const char *name;
        pst_ns target, max_wait, ttl;
        uint8_t on_full;
    } known[] = {
        {"high", 100 * PST_MS, 5 * PST_S, 30 * PST_S, PST_ON_FULL_REJECT},
        {"medium", 500 * PST_MS, 15 * PST_S, 60 * PST_S, PST_ON_FULL_REJECT},
        {"low", 10 * PST_S, 60 * PST_S, 600 * PST_S, PST_ON_FULL_WAIT},
    };
    struct pst_draft_class *c = element;

    memset(c->gate.on_full_length, PST_ON_FULL_INHERIT, sizeof c->gate.on_full_length);
    for (size_t i = 0; i < PST_COUNT_OF(known); i++) {
        if (strcmp(known[i].name, name) != 0)
            continue;
        c->gate.target = known[i].target;
        c->gate.max_wait = known[i].max_wait;
        c->gate.ttl = known[i].ttl;
        c->gate.on_full = known[i].on_full;
    }
}

/* Without `classes` there are the three that everyone expects. */
static bool default_classes(struct resolver *r)
{
    static const char *const names[] = {"high", "medium", "low"};
    struct pst_draft_class *c;

    c = pst_arena_take(r->arena, PST_COUNT_OF(names) * sizeof *c);
    if (c == NULL)
        return false;
    for (size_t i = 0; i < PST_COUNT_OF(names); i++) {
        pst_draft_class_defaults(&c[i], names[i]);
        c[i].name = pst_arena_text(r->arena, names[i], strlen(names[i]));
    }
    r->draft->classes = (struct pst_items){c, PST_COUNT_OF(names)};
    return true;
}

static bool find_class(const struct resolver *r, const char *name, uint8_t *ret_class)
{
    for (uint32_t i = 0; i < r->config->gate.classes_count; i++) {
        if (same(r->config->class_names[i], name)) {
            *ret_class = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static void resolve_class(struct resolver *r, struct pst_draft_class *c, uint32_t i, uint32_t count)
{
    const struct pst_gate_class *gate = &c->gate;

    if (c->name != NULL && !pst_scalar_is_name(c->name))
        ERROR(r, c->node, "classes: '%s' is no name: 1 to 63 of letters, digits, '.', '_', '-'",
              c->name);
    if (c->node != NULL && (gate->target == 0 || gate->max_wait == 0 || gate->ttl == 0))
        ERROR(r, c->node,
              "class %s must say target, max_wait and ttl; only high, medium and low "
              "have defaults",
              c->name);
    if (pst_tree_get(c->node, "guard") == NULL)
        c->gate.guard_ppm = i == 0 ? 0 : i + 1 == count ? PST_PPM / 20 : PST_PPM / 10;
    else if (i == 0 && gate->guard_ppm > 0)
        ERROR(r, at(c->node, "guard"), "guard: the first class is what the others' guard leaves");

    r->config->class_names[i] = c->name;
    r->config->gate.classes[i] = c->gate;
    r->config->keepalive[i].on = c->keepalive_after > 0;
    r->config->keepalive[i].after = c->keepalive_after;
    r->config->keepalive[i].every = c->keepalive_every;
}

static void resolve_classes(struct resolver *r)
{
    struct pst_draft *d = r->draft;

    if (d->classes.count == 0 && !default_classes(r))
        return;
    r->config->gate.classes_count = (uint32_t)d->classes.count;
    for (uint32_t i = 0; i < d->classes.count; i++)
        resolve_class(r, (struct pst_draft_class *)d->classes.items + i, i,
                      (uint32_t)d->classes.count);

    r->config->default_class = (uint8_t)(r->config->gate.classes_count - 1);
    if (!find_class(r, d->default_class != NULL ? d->default_class : "medium",
                    &r->config->default_class) &&
        d->default_class != NULL)
        ERROR(r, at(d->root, "default_class"), "default_class: there is no class '%s'",
              d->default_class);
}

static void resolve_types(struct resolver *r)
{
    const struct pst_draft_pair *pair = r->draft->types.items;
    const size_t count = r->draft->types.count;
    struct pst_config_type *types = pst_arena_take(r->arena, (count + 1) * sizeof *types);

    if (types == NULL)
        return;
    types[0].name = pst_arena_text(r->arena, "other", 5);
    types[0].class_ = r->config->default_class;
    for (size_t i = 0; i < count; i++) {
        types[i + 1].name = pair[i].name;
        if (pair[i].value != NULL && !find_class(r, pair[i].value, &types[i + 1].class_))
            ERROR(r, pair[i].node, "types: there is no class '%s'", pair[i].value);
        if (same(pair[i].name, "other"))
            ERROR(r, pair[i].node, "types: `other` is what is said of types that are not listed");
    }
    r->config->types = types;
    r->config->types_count = count + 1;
}

/* ---- pools ------------------------------------------------------------------------------------ */

static bool find_model(const struct pst_draft_pool *pool, const char *name, size_t below)
{
    const struct pst_config_model *models = pool->models.items;

    for (size_t i = 0; i < below; i++) {
        if (same(models[i].name, name))
            return true;
    }
    return false;
}

static const struct pst_tree_node *item(const struct pst_tree_node *map, const char *key, size_t i)
{
    const struct pst_tree_node *list = pst_tree_get(map, key);

    return list != NULL && list->kind == PST_TREE_LIST && i < list->count ? list->items[i] : map;
}

/* A model name leads to one pool, so it may stand only once in the whole file. */
static void check_model_name(struct resolver *r, const struct pst_draft_pool *pool,
                             const char *name, size_t below, const struct pst_tree_node *node)
{
    const struct pst_draft_pool *pools = r->draft->pools.items;

    if (find_model(pool, name, below))
        ERROR(r, node, "model '%s' is already in this pool", name);
    for (const struct pst_draft_pool *other = pools; other < pool; other++) {
        const struct pst_draft_pair *alias = other->aliases.items;
        bool taken = find_model(other, name, other->models.count);
        for (size_t i = 0; i < other->aliases.count; i++)
            taken = taken || same(alias[i].name, name);
        if (taken)
            ERROR(r, node, "model '%s' is already served by pool '%s'", name,
                  other->own.name == NULL ? "?" : other->own.name);
    }
}

static void resolve_models(struct resolver *r, struct pst_draft_pool *pool)
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
            check_model_name(r, pool, own[i].name, i, item(pool->node, "models", i));
    }
    for (size_t i = 0; i < aliases; i++) {
        struct pst_config_model *model = &models[count + i];
        *model = (struct pst_config_model){alias[i].name, alias[i].value, 100};
        if (alias[i].name != NULL)
            check_model_name(r, pool, alias[i].name, count, alias[i].node);
        if (alias[i].value == NULL)
            continue;
        if (!find_model(pool, alias[i].value, count))
            ERROR(r, alias[i].node, "aliases: this pool has no model '%s'", alias[i].value);
        for (size_t j = 0; j < count; j++) {
            if (same(own[j].name, alias[i].value))
                model->weight = own[j].weight;
        }
    }
    pool->own.models = models;
    pool->own.models_count = count + aliases;
}

static void resolve_replicas(struct resolver *r, struct pst_draft_pool *pool)
{
    const struct pst_tree_node *node = pst_tree_get(pool->node, "replicas");
    struct pst_config_replica *replicas = pool->statics.items;

    for (size_t i = 0; i < pool->statics.count; i++) {
        for (size_t j = 0; j < i && replicas[i].url != NULL; j++) {
            if (same(replicas[i].host, replicas[j].host) && replicas[i].port == replicas[j].port &&
                same(replicas[i].base_path, replicas[j].base_path))
                ERROR(r, item(node, "static", i), "replica '%s' is listed twice", replicas[i].url);
        }
    }
    pool->own.replicas = replicas;
    pool->own.replicas_count = pool->statics.count;
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

static void resolve_kv(struct resolver *r, struct pst_draft_pool *pool)
{
    const uint64_t batch = pool->max_batch > 0 ? pool->max_batch : pool->gate.slots;

    if (pool->kv_bytes_max > 0 && pool->bytes_per_token == 0)
        ERROR(r, at(pool->node, "kv_bytes_max"), "kv_bytes_max: needs `bytes_per_token` beside it");
    else if (pool->kv_bytes_max > 0)
        pool->gate.kv_tokens_max = pool->kv_bytes_max / pool->bytes_per_token;
    else if (pool->max_seq_len > 0)
        pool->gate.kv_tokens_max = batch * pool->max_seq_len * 2;
    if (pool->kv_bytes_max > 0 && pool->kv_bytes_max < pool->bytes_per_token)
        ERROR(r, at(pool->node, "kv_bytes_max"), "kv_bytes_max: less than one token");
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

static void resolve_fixed(struct resolver *r, struct pst_draft_pool *pool)
{
    static const uint32_t queues[] = {50, 100, 200}, in_flight[] = {8, 4, 2};
    const struct pst_tree_node *node = pst_tree_get(pool->node, "fixed");
    const uint32_t classes = r->config->gate.classes_count;

    spread(&pool->fixed_queues, queues, PST_COUNT_OF(queues), pool->gate.fixed_queue, classes);
    spread(&pool->fixed_in_flight, in_flight, PST_COUNT_OF(in_flight), pool->gate.fixed_inflight,
           classes);
    if (pool->fixed_queues.count > classes)
        ERROR(r, at(node, "queues"), "queues: more numbers than classes");
    if (pool->fixed_in_flight.count > classes)
        ERROR(r, at(node, "in_flight"), "in_flight: more numbers than classes");
}

/* The whole Authorization value: a bare key is a bearer token. */
static void resolve_auth(struct resolver *r, struct pst_draft_pool *pool)
{
    const char *secret = pool->own.upstream_auth;
    char *value;

    if (secret == NULL || strchr(secret, ' ') != NULL)
        return;
    value = pst_arena_take(r->arena, strlen(secret) + sizeof "Bearer ");
    if (value == NULL)
        return;
    strcpy(value, "Bearer ");
    strcat(value, secret);
    pool->own.upstream_auth = value;
}

static void resolve_pool(struct resolver *r, struct pst_draft_pool *pool, uint16_t i)
{
    const struct pst_draft_pool *pools = r->draft->pools.items;

    for (uint16_t j = 0; j < i; j++) {
        if (same(pool->own.name, pools[j].own.name))
            ERROR(r, at(pool->node, "name"), "a pool named '%s' is already in line %u",
                  pool->own.name, pools[j].own.line);
    }
    pool->own.line = pool->node->line;
    pool->own.stream_stall = pool->gate.stall;
    pool->own.paths = pool->paths.items;
    pool->own.paths_count = pool->paths.count;
    if (pool->gate.length_short_tokens >= pool->gate.length_long_tokens)
        ERROR(r, at(pool->node, "lengths"), "lengths: short must be less than long");
    if (pool->scaler.min > pool->scaler.max)
        ERROR(r, at(pool->node, "scaler"), "scaler: min is more than max");
    if (pool->scaler.in_below >= pool->scaler.out_above)
        ERROR(r, at(pool->node, "scaler"), "scaler: in_below must be less than out_above");

    engine_defaults(pool);
    resolve_ready(pool);
    resolve_models(r, pool);
    resolve_replicas(r, pool);
    resolve_kv(r, pool);
    resolve_fixed(r, pool);
    resolve_auth(r, pool);
    r->config->pools[i] = pool->own;
    r->config->gate.pools[i] = pool->gate;
}

static void resolve_pools(struct resolver *r)
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
        if (same(pool->own.name, d->default_pool))
            r->config->default_pool = i;
    }
    r->config->pools_count = count;
    r->config->gate.pools_count = (uint32_t)count;
    r->config->gate.replicas_max = PST_REPLICAS_MAX;
    if (count == 1 && d->default_pool == NULL)
        r->config->default_pool = 0;
    if (d->default_pool != NULL && r->config->default_pool == PST_POOL_NONE)
        ERROR(r, at(d->root, "default_pool"), "default_pool: there is no pool '%s'",
              d->default_pool);
    if (replicas > PST_REPLICAS_MAX)
        ERROR(r, at(d->root, "pools"), "%zu replicas; at most %d, all pools together", replicas,
              PST_REPLICAS_MAX);
}

/* ---- tenants, listeners, limits --------------------------------------------------------------- */

static void resolve_tenant(struct resolver *r, struct pst_draft_tenant *tenant, size_t i)
{
    const struct pst_draft_tenant *before = r->draft->tenants.items;
    const bool is_default = same(tenant->own.name, "default");

    tenant->own.has_key = pst_tree_get(tenant->node, "key_sha256") != NULL;
    if (tenant->own.has_key == is_default && tenant->own.name != NULL)
        ERROR(r, tenant->node,
              is_default ? "tenant default is for keys that are not listed: no key_sha256"
                         : "tenant '%s': `key_sha256` is missing: 64 hexadecimal digits",
              tenant->own.name);
    if (tenant->max_class != NULL && !find_class(r, tenant->max_class, &tenant->own.max_class))
        ERROR(r, at(tenant->node, "max_class"), "max_class: there is no class '%s'",
              tenant->max_class);
    for (size_t j = 0; j < i; j++) {
        if (same(before[j].own.name, tenant->own.name))
            ERROR(r, at(tenant->node, "name"), "tenant '%s' is listed twice", tenant->own.name);
        if (before[j].own.has_key && tenant->own.has_key &&
            memcmp(before[j].own.key_sha256, tenant->own.key_sha256, 32) == 0)
            ERROR(r, at(tenant->node, "key_sha256"), "key_sha256: the key of tenant '%s' too",
                  before[j].own.name == NULL ? "?" : before[j].own.name);
    }
}

static void resolve_tenants(struct resolver *r)
{
    struct pst_draft_tenant *tenant = r->draft->tenants.items;
    const size_t count = r->draft->tenants.count;
    struct pst_config_tenant *tenants = pst_arena_take(r->arena, (count + 1) * sizeof *tenants);
    size_t used = 1;

    if (tenants == NULL)
        return;
    tenants[0] =
        (struct pst_config_tenant){.name = pst_arena_text(r->arena, "default", 7), .weight = 100};
    for (size_t i = 0; i < count; i++) {
        resolve_tenant(r, &tenant[i], i);
        if (same(tenant[i].own.name, "default"))
            tenants[0] = tenant[i].own;
        else
            tenants[used++] = tenant[i].own;
    }
    r->config->tenants = tenants;
    r->config->tenants_count = used;
    if (r->config->auth_required && used == 1)
        ERROR(r, at(r->draft->root, "auth"), "auth: required, and no tenant has a key");
}

static void resolve_lists(struct resolver *r)
{
    const uint32_t *compat = r->draft->compat_headers.items;

    r->config->trusted_peers = r->draft->trusted_peers.items;
    r->config->trusted_peers_count = r->draft->trusted_peers.count;
    for (size_t i = 0; i < r->draft->compat_headers.count; i++) {
        r->config->compat_headers_llmd |= compat[i] == PST_DRAFT_LLMD;
        r->config->compat_headers_gateway |= compat[i] == PST_DRAFT_GATEWAY;
        r->config->compat_headers_smg |= compat[i] == PST_DRAFT_SMG;
    }
}

/* Two listeners cannot share an address; port 0 is another one each time. */
static bool collide(const char *a, const char *b)
{
    return same(a, b) && strcmp(strrchr(a, ':'), ":0") != 0;
}

static void check_listeners(struct resolver *r)
{
    const struct pst_config *c = r->config;
    const struct pst_tree_node *root = r->draft->root;
    bool loopback = true;

    if (c->admin != NULL && pst_scalar_address(c->admin, &loopback) == PST_OK && !loopback &&
        pst_tree_get(root, "admin_token") == NULL)
        ERROR(r, at(root, "admin"), "admin: off loopback it needs `admin_token: {env|file}`");
    if (collide(c->listen, c->metrics) || collide(c->metrics, c->admin))
        ERROR(r, at(root, "metrics"), "metrics: another listener has the same address");
    if (collide(c->listen, c->admin))
        ERROR(r, at(root, "admin"), "admin: another listener has the same address");
    if (c->admin_token != NULL && same(c->admin_token, c->drain_token))
        ERROR(r, at(root, "drain_token"),
              "drain_token: the same as admin_token, which may do more");
}

static void check_limits(struct resolver *r)
{
    const struct pst_config *c = r->config;
    const struct pst_tree_node *root = r->draft->root;

    r->config->gate.body_max = c->body_max;
    if (c->body_max > c->gate.bytes_max)
        ERROR(r, at(root, "limits"), "limits: one body may be larger than all the memory for them");
    if (c->drain_grace >= c->drain_deadline)
        ERROR(r, at(root, "drain"), "drain: grace must be less than deadline");
}

void pst_draft_resolve(struct pst_draft *draft, const struct pst_config_reader *reader)
{
    struct resolver r = {draft, &draft->config, reader->arena, reader->problems};

    resolve_classes(&r);
    resolve_types(&r);
    resolve_pools(&r);
    resolve_tenants(&r);
    resolve_lists(&r);
    check_listeners(&r);
    check_limits(&r);
}
