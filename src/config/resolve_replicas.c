/* resolve_replicas.c - where a pool's replicas come from: one source, and what it needs. */
#include "config/resolve.h"

static const char *const sources[] = {"static", "dns", "local", "kubernetes"};

static void check_source(struct pst_resolver *r, const struct pst_tree_node *node)
{
    size_t count = 0;

    if (node == NULL || node->kind != PST_TREE_MAP)
        return; /* said already */
    for (size_t i = 0; i < PST_COUNT_OF(sources); i++)
        count += pst_tree_get(node, sources[i]) != NULL;
    if (count == 0)
        PST_RESOLVE_ERROR(r, node, "replicas: one of static, dns, local and kubernetes is needed");
    else if (count > 1)
        PST_RESOLVE_ERROR(r, node,
                          "replicas: one of static, dns, local and kubernetes, and no other beside "
                          "it; give each its own pool");
}

static void resolve_static(struct pst_resolver *r, struct pst_draft_pool *pool,
                           const struct pst_tree_node *node)
{
    struct pst_config_replica *replicas = pool->statics.items;

    for (size_t i = 0; i < pool->statics.count; i++) {
        for (size_t j = 0; j < i && replicas[i].url != NULL; j++) {
            if (pst_resolve_same(replicas[i].host, replicas[j].host) &&
                replicas[i].port == replicas[j].port &&
                pst_resolve_same(replicas[i].base_path, replicas[j].base_path))
                PST_RESOLVE_ERROR(r, pst_resolve_item(node, "static", i),
                                  "replica '%s' is listed twice", replicas[i].url);
        }
    }
    pool->own.replicas = replicas;
    pool->own.replicas_count = pool->statics.count;
}

static bool command_says(const struct pst_config_local *local, const char *what)
{
    for (size_t i = 0; i < local->command_count; i++) {
        if (local->command[i] != NULL && strstr(local->command[i], what) != NULL)
            return true;
    }
    return false;
}

static bool is_variable(const char *name)
{
    for (const char *at = name; *at != '\0'; at++) {
        if (*at == '=' || *at <= ' ' || *at > '~')
            return false;
    }
    return true;
}

static void check_gpus(struct pst_resolver *r, const struct pst_config_local *local,
                       const struct pst_tree_node *node)
{
    for (size_t i = 0; i < local->gpus_count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (local->gpus[i] == local->gpus[j])
                PST_RESOLVE_ERROR(r, pst_resolve_item(node, "gpus", i), "gpus: %u is listed twice",
                                  local->gpus[i]);
        }
    }
    if (local->gpus_count > 0 && local->gpus_count < local->gpus_each)
        PST_RESOLVE_ERROR(r, pst_tree_at(node, "gpus_each"),
                          "gpus_each: %u for each engine, and there are %zu", local->gpus_each,
                          local->gpus_count);
}

/* Two engines cannot listen on one port of one host, of whichever pool they are. */
static void check_ports(struct pst_resolver *r, const struct pst_draft_pool *pool,
                        const struct pst_tree_node *node)
{
    const struct pst_draft_pool *pools = r->draft->pools.items;

    for (const struct pst_draft_pool *other = pools; other < pool; other++) {
        if (other->command.count > 0 && pool->ports.first <= other->ports.last &&
            other->ports.first <= pool->ports.last)
            PST_RESOLVE_ERROR(r, pst_tree_at(node, "ports"), "ports: pool '%s' has some of them",
                              other->own.name == NULL ? "?" : other->own.name);
    }
}

static bool has_gpu(const struct pst_draft_pool *pool, uint32_t gpu)
{
    const uint32_t *gpus = pool->gpus.items;

    for (size_t i = 0; i < pool->gpus.count; i++) {
        if (gpus[i] == gpu)
            return true;
    }
    return false;
}

/* Nor can two use one GPU: an engine takes the memory of all of it. */
static void check_gpus_of_others(struct pst_resolver *r, const struct pst_draft_pool *pool,
                                 const struct pst_tree_node *node)
{
    const struct pst_draft_pool *pools = r->draft->pools.items;
    const uint32_t *gpus = pool->gpus.items;

    for (size_t i = 0; i < pool->gpus.count; i++) {
        for (const struct pst_draft_pool *other = pools; other < pool; other++) {
            if (has_gpu(other, gpus[i]))
                PST_RESOLVE_ERROR(r, pst_resolve_item(node, "gpus", i), "gpus: pool '%s' has %u",
                                  other->own.name == NULL ? "?" : other->own.name, gpus[i]);
        }
    }
}

static void resolve_local(struct pst_resolver *r, struct pst_draft_pool *pool,
                          const struct pst_tree_node *node)
{
    struct pst_config_local *local = &pool->own.local;

    local->command = pool->command.items;
    local->command_count = pool->command.count;
    local->env = pool->env.items;
    local->env_count = pool->env.count;
    local->gpus = pool->gpus.items;
    local->gpus_count = pool->gpus.count;
    local->port_first = pool->ports.first;
    local->port_last = pool->ports.last;
    if (local->command == NULL)
        return;
    if (!command_says(local, "{port}"))
        PST_RESOLVE_ERROR(r, pst_tree_at(node, "command"),
                          "command: it must say {port}, or every engine would listen on the same");
    if (pool->ready == PST_DRAFT_NONE && pool->own.engine != PST_ENGINE_TRITON)
        PST_RESOLVE_ERROR(r, pst_tree_at(pst_tree_at(pool->node, "ready"), "model"),
                          "ready: none: an engine of ours listens long before its model answers; "
                          "say completion, embeddings or listed");
    if (r->config->state == NULL)
        PST_RESOLVE_ERROR(r, node,
                          "local: needs `state`, a folder: engines outlive us, and the next start "
                          "must know them");
    for (size_t i = 0; i < local->env_count; i++) {
        if (local->env[i].name != NULL && !is_variable(local->env[i].name))
            PST_RESOLVE_ERROR(r, pst_tree_at(node, "env"), "env: '%.80s' is no variable's name",
                              local->env[i].name);
    }
    check_gpus(r, local, node);
    check_ports(r, pool, node);
    check_gpus_of_others(r, pool, node);
}

static void check_kubernetes(struct pst_resolver *r, const struct pst_config_kubernetes *k,
                             const struct pst_tree_node *node)
{
    if ((k->cert_file == NULL) != (k->key_file == NULL))
        PST_RESOLVE_ERROR(r, node, "kubernetes: `cert_file` and `key_file` belong together");
}

void pst_resolve_replicas(struct pst_resolver *r, struct pst_draft_pool *pool)
{
    const struct pst_tree_node *node = pst_tree_get(pool->node, "replicas");

    check_source(r, node);
    resolve_static(r, pool, node);
    resolve_local(r, pool, pst_tree_get(node, "local"));
    check_kubernetes(r, &pool->own.kubernetes, pst_tree_get(node, "kubernetes"));
}
