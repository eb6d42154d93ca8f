/* resolve.c - names become indexes; what no single key can know is checked. */
#include "config/resolve.h"

#include "config/scalar.h"

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
static bool default_classes(struct pst_resolver *r)
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

static bool find_class(const struct pst_resolver *r, const char *name, uint8_t *ret_class)
{
    for (uint32_t i = 0; i < r->config->gate.classes_count; i++) {
        if (pst_resolve_same(r->config->class_names[i], name)) {
            *ret_class = (uint8_t)i;
            return true;
        }
    }
    return false;
}

static void resolve_class(struct pst_resolver *r, struct pst_draft_class *c, uint32_t i,
                          uint32_t count)
{
    const struct pst_gate_class *gate = &c->gate;

    if (c->name != NULL && !pst_scalar_is_name(c->name))
        PST_RESOLVE_ERROR(r, c->node,
                          "classes: '%s' is no name: 1 to 63 of letters, digits, '.', '_', '-'",
                          c->name);
    if (c->node != NULL && (gate->target == 0 || gate->max_wait == 0 || gate->ttl == 0))
        PST_RESOLVE_ERROR(r, c->node,
                          "class %s must say target, max_wait and ttl; only high, medium and low "
                          "have defaults",
                          c->name);
    if (pst_tree_get(c->node, "guard") == NULL)
        c->gate.guard_ppm = i == 0 ? 0 : i + 1 == count ? PST_PPM / 20 : PST_PPM / 10;
    else if (i == 0 && gate->guard_ppm > 0)
        PST_RESOLVE_ERROR(r, pst_tree_at(c->node, "guard"),
                          "guard: the first class is what the others' guard leaves");

    r->config->class_names[i] = c->name;
    r->config->gate.classes[i] = c->gate;
    r->config->keepalive[i].on = c->keepalive_after > 0;
    r->config->keepalive[i].after = c->keepalive_after;
    r->config->keepalive[i].every = c->keepalive_every;
}

static void resolve_classes(struct pst_resolver *r)
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
        PST_RESOLVE_ERROR(r, pst_tree_at(d->root, "default_class"),
                          "default_class: there is no class '%s'", d->default_class);
}

static void resolve_types(struct pst_resolver *r)
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
            PST_RESOLVE_ERROR(r, pair[i].node, "types: there is no class '%s'", pair[i].value);
        if (pst_resolve_same(pair[i].name, "other"))
            PST_RESOLVE_ERROR(r, pair[i].node,
                              "types: `other` is what is said of types that are not listed");
    }
    r->config->types = types;
    r->config->types_count = count + 1;
}

static void resolve_tenant(struct pst_resolver *r, struct pst_draft_tenant *tenant, size_t i)
{
    const struct pst_draft_tenant *before = r->draft->tenants.items;
    const bool is_default = pst_resolve_same(tenant->own.name, "default");

    tenant->own.has_key = pst_tree_get(tenant->node, "key_sha256") != NULL;
    if (tenant->own.has_key == is_default && tenant->own.name != NULL)
        PST_RESOLVE_ERROR(r, tenant->node,
                          is_default
                              ? "tenant default is for keys that are not listed: no key_sha256"
                              : "tenant '%s': `key_sha256` is missing: 64 hexadecimal digits",
                          tenant->own.name);
    if (tenant->max_class != NULL && !find_class(r, tenant->max_class, &tenant->own.max_class))
        PST_RESOLVE_ERROR(r, pst_tree_at(tenant->node, "max_class"),
                          "max_class: there is no class '%s'", tenant->max_class);
    for (size_t j = 0; j < i; j++) {
        if (pst_resolve_same(before[j].own.name, tenant->own.name))
            PST_RESOLVE_ERROR(r, pst_tree_at(tenant->node, "name"), "tenant '%s' is listed twice",
                              tenant->own.name);
        if (before[j].own.has_key && tenant->own.has_key &&
            memcmp(before[j].own.key_sha256, tenant->own.key_sha256, 32) == 0)
            PST_RESOLVE_ERROR(r, pst_tree_at(tenant->node, "key_sha256"),
                              "key_sha256: the key of tenant '%s' too",
                              before[j].own.name == NULL ? "?" : before[j].own.name);
    }
}

static void resolve_tenants(struct pst_resolver *r)
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
        if (pst_resolve_same(tenant[i].own.name, "default"))
            tenants[0] = tenant[i].own;
        else
            tenants[used++] = tenant[i].own;
    }
    r->config->tenants = tenants;
    r->config->tenants_count = used;
    if (r->config->auth_required && used == 1)
        PST_RESOLVE_ERROR(r, pst_tree_at(r->draft->root, "auth"),
                          "auth: required, and no tenant has a key");
}

static void resolve_lists(struct pst_resolver *r)
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
    return pst_resolve_same(a, b) && strcmp(strrchr(a, ':'), ":0") != 0;
}

static void check_listeners(struct pst_resolver *r)
{
    const struct pst_config *c = r->config;
    const struct pst_tree_node *root = r->draft->root;
    bool loopback = true;

    if (c->admin != NULL && pst_scalar_address(c->admin, &loopback) == PST_OK && !loopback &&
        pst_tree_get(root, "admin_token") == NULL)
        PST_RESOLVE_ERROR(r, pst_tree_at(root, "admin"),
                          "admin: off loopback it needs `admin_token: {env|file}`");
    if (collide(c->listen, c->metrics) || collide(c->metrics, c->admin))
        PST_RESOLVE_ERROR(r, pst_tree_at(root, "metrics"),
                          "metrics: another listener has the same address");
    if (collide(c->listen, c->admin))
        PST_RESOLVE_ERROR(r, pst_tree_at(root, "admin"),
                          "admin: another listener has the same address");
    if (c->admin_token != NULL && pst_resolve_same(c->admin_token, c->drain_token))
        PST_RESOLVE_ERROR(r, pst_tree_at(root, "drain_token"),
                          "drain_token: the same as admin_token, which may do more");
}

static void check_keda(struct pst_resolver *r)
{
    const struct pst_config *c = r->config;
    const struct pst_tree_node *node = pst_tree_get(r->draft->root, "keda");

    if ((c->keda.cert == NULL) != (c->keda.key == NULL))
        PST_RESOLVE_ERROR(r, node, "keda: `cert` and `key` belong together");
    else if (c->keda.client_ca != NULL && c->keda.cert == NULL)
        PST_RESOLVE_ERROR(r, pst_tree_at(node, "client_ca"),
                          "client_ca: clients are asked within TLS only; give `cert` and `key`");
    if (collide(c->keda.listen, c->listen) || collide(c->keda.listen, c->metrics) ||
        collide(c->keda.listen, c->admin))
        PST_RESOLVE_ERROR(r, pst_tree_at(node, "listen"),
                          "keda: another listener has the same address");
}

static void check_limits(struct pst_resolver *r)
{
    const struct pst_config *c = r->config;
    const struct pst_tree_node *root = r->draft->root;

    r->config->gate.body_max = c->body_max;
    if (c->body_max > c->gate.bytes_max)
        PST_RESOLVE_ERROR(r, pst_tree_at(root, "limits"),
                          "limits: one body may be larger than all the memory for them");
    if (c->drain_grace >= c->drain_deadline)
        PST_RESOLVE_ERROR(r, pst_tree_at(root, "drain"), "drain: grace must be less than deadline");
}

void pst_draft_resolve(struct pst_draft *draft, const struct pst_config_reader *reader)
{
    struct pst_resolver r = {draft, &draft->config, reader->arena, reader->problems};

    resolve_classes(&r);
    resolve_types(&r);
    pst_resolve_pools(&r);
    pst_resolve_scaler(&r);
    resolve_tenants(&r);
    resolve_lists(&r);
    check_listeners(&r);
    check_keda(&r);
    check_limits(&r);
}
