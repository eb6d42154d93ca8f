/* warn.c - what is allowed and will hurt, with the reason. */
#include "config/warn.h"

#define UVICORN_IDLE (5 * PST_S)

static void warn_class(const struct pst_warner *w, const struct pst_draft_class *c, size_t i)
{
    const pst_ns front = w->config->front_idle_timeout;
    const struct pst_gate_class *gate = &c->gate;

    if (gate->max_wait > gate->ttl)
        PST_WARN(w, pst_tree_at(c->node, "max_wait"),
                 "class %s: max_wait is longer than ttl: requests are let in that can only expire",
                 c->name);
    if (gate->target > gate->max_wait)
        PST_WARN(w, pst_tree_at(c->node, "target"),
                 "class %s: target is longer than max_wait: requests are refused before the aim is "
                 "missed",
                 c->name);
    if (i == 0 && gate->on_full == PST_ON_FULL_WAIT)
        PST_WARN(
            w, pst_tree_at(c->node, "on_full"),
            "class %s: the first class waits when it is full: in overload its requests wait up to "
            "ttl instead of failing fast",
            c->name);
    if (i > 0 && gate->max_wait < c[-1].gate.max_wait)
        PST_WARN(w, pst_tree_at(c->node, "max_wait"),
                 "class %s: max_wait is shorter than that of %s, which goes first", c->name,
                 c[-1].name);
    if (front == 0)
        return;
    if (c->keepalive_after == 0 && gate->ttl > front)
        PST_WARN(
            w, pst_tree_at(c->node, "ttl"),
            "class %s: ttl exceeds front_idle_timeout: the load balancer in front gives up first; "
            "shorten it or use keepalive",
            c->name);
    if (c->keepalive_after > 0 && (c->keepalive_after >= front || c->keepalive_every >= front))
        PST_WARN(w, pst_tree_at(c->node, "keepalive"),
                 "class %s: keepalive is slower than front_idle_timeout", c->name);
}

pst_ns pst_warn_backlog_bound(const struct pst_config *config)
{
    pst_ns longest = 0;

    for (uint32_t i = 0; i < config->gate.classes_count; i++) {
        const struct pst_gate_class *c = &config->gate.classes[i];
        if (c->on_full == PST_ON_FULL_WAIT)
            return PST_NEVER;
        for (unsigned bin = 0; bin < PST_LENGTH_COUNT; bin++) {
            if (c->on_full_length[bin] == PST_ON_FULL_WAIT)
                return PST_NEVER;
        }
        if (c->max_wait > longest)
            longest = c->max_wait;
    }
    return longest;
}

static void warn_pool_front(const struct pst_warner *w, const struct pst_draft_pool *p)
{
    const pst_ns front = w->config->front_idle_timeout;

    if (front == 0)
        return;
    if (p->gate.first_byte > front)
        PST_WARN(
            w, pst_tree_at(p->node, "first_byte"),
            "pool %s: first_byte exceeds front_idle_timeout: the load balancer in front gives up "
            "first",
            p->own.name);
    if (p->gate.first_byte_stream > front)
        PST_WARN(
            w, pst_tree_at(p->node, "first_byte_stream"),
            "pool %s: first_byte_stream exceeds front_idle_timeout: the load balancer in front "
            "gives up first",
            p->own.name);
    if (p->gate.no_replica_ttl > front)
        PST_WARN(
            w, pst_tree_at(p->node, "no_replica_ttl"),
            "pool %s: no_replica_ttl exceeds front_idle_timeout: the load balancer in front gives "
            "up first",
            p->own.name);
}

static void warn_pool(const struct pst_warner *w, const struct pst_draft_pool *p)
{
    const struct pst_tree_node *ready = pst_tree_at(p->node, "ready");
    const struct pst_tree_node *statics = pst_tree_get(pst_tree_get(p->node, "replicas"), "static");

    if (p->ready == PST_DRAFT_LISTED)
        PST_WARN(
            w, pst_tree_at(ready, "model"),
            "pool %s: ready: listed: engines list a model before they can answer, and while they "
            "hang",
            p->own.name);
    if (p->ready == PST_DRAFT_NONE && p->own.engine != PST_ENGINE_TRITON)
        PST_WARN(w, pst_tree_at(ready, "model"),
                 "pool %s: ready: none: a health path says that a port is open, not that the model "
                 "answers",
                 p->own.name);
    if (p->own.upstream_idle_timeout >= UVICORN_IDLE && p->own.engine != PST_ENGINE_LLAMACPP)
        PST_WARN(w, pst_tree_at(p->node, "upstream_idle_timeout"),
                 "pool %s: upstream_idle_timeout: most engines close idle connections after 5s; "
                 "requests will meet the close",
                 p->own.name);
    if (pst_tree_get(p->node, "scaler") != NULL &&
        p->scaler.out_above > pst_warn_backlog_bound(w->config))
        PST_WARN(
            w, pst_tree_at(pst_tree_get(p->node, "scaler"), "out_above"),
            "pool %s: out_above is longer than every max_wait: requests are refused before the "
            "backlog can reach it",
            p->own.name);
    if (pst_tree_get(p->node, "fixed") != NULL && p->gate.policy != PST_POLICY_FIXED)
        PST_WARN(w, pst_tree_at(p->node, "fixed"),
                 "pool %s: `fixed` has no effect with policy adaptive", p->own.name);
    if (statics != NULL && statics->count == 0)
        PST_WARN(w, pst_tree_at(p->node, "replicas"),
                 "pool %s: no replicas: its requests wait for no_replica_ttl and are refused",
                 p->own.name);
    if (p->gate.kv_tokens_max > 0 && p->max_seq_len > p->gate.kv_tokens_max)
        PST_WARN(w, pst_tree_at(p->node, "kv_bytes_max"),
                 "pool %s: kv_bytes_max holds less than one sequence of max_seq_len", p->own.name);
    warn_pool_front(w, p);
}

static void warn_access(const struct pst_warner *w)
{
    const struct pst_config *c = w->config;
    const struct pst_tree_node *root = w->draft->root;

    if (c->drain_token != NULL && c->admin_token == NULL)
        PST_WARN(w, pst_tree_at(root, "drain_token"),
                 "drain_token: without `admin_token` the admin listener asks for no token at all");
    if (c->tenants_count > 1 && !c->auth_required && c->tenants[0].max_class == 0 &&
        c->gate.classes_count > 1)
        PST_WARN(
            w, pst_tree_at(root, "tenants"),
            "tenants: requests without a listed key may ask for class %s; give tenant `default` a "
            "max_class, or say auth: required",
            c->class_names[0]);
    for (size_t i = 0; i < c->trusted_peers_count; i++) {
        if (c->trusted_peers[i].prefix == 0 || c->trusted_peers[i].prefix == 96)
            PST_WARN(w, pst_tree_at(root, "trusted_peers"),
                     "trusted_peers: everyone may say which tenant they are");
    }
}

static void warn_front(const struct pst_warner *w)
{
    const struct pst_config *c = w->config;

    if (c->front_idle_timeout > 0 && c->idle_timeout <= c->front_idle_timeout)
        PST_WARN(
            w, pst_tree_at(pst_tree_at(w->draft->root, "timeouts"), "idle"),
            "timeouts: idle must exceed front_idle_timeout, or the load balancer in front meets "
            "our close");
}

void pst_draft_warn(const struct pst_draft *draft, struct pst_problems *problems)
{
    const struct pst_warner w = {draft, &draft->config, problems};
    const struct pst_draft_class *classes = draft->classes.items;
    const struct pst_draft_pool *pools = draft->pools.items;

    for (size_t i = 0; i < draft->classes.count; i++)
        warn_class(&w, &classes[i], i);
    for (size_t i = 0; i < draft->pools.count; i++) {
        warn_pool(&w, &pools[i]);
        pst_warn_capacity(&w, i);
    }
    warn_access(&w);
    warn_front(&w);
}
