#include "config/config.h"

#include <stdlib.h>
#include <string.h>

#include "config/draft.h"
#include "config/problems.h"
#include "config/source.h"

#define MEMORY_MAX (32u << 20)

/* What pst_config_free gives back: the arena holds all that the configuration points to. */
struct owned {
    struct pst_config config;
    struct pst_arena arena;
};

static int parse(struct owned *owned, const char *path, const char *text, size_t len,
                 enum pst_schema_secrets secrets, struct pst_problems *problems)
{
    const struct pst_config_reader reader = {&owned->arena, problems};
    const struct pst_tree_node *root;
    struct pst_draft *draft = pst_arena_take(&owned->arena, sizeof *draft);
    struct pst_items variables = {0};
    int rc;

    if (draft == NULL)
        return PST_E_NOMEM;
    rc = pst_tree_read(text, len, &owned->arena, problems, &root);
    if (rc != PST_OK)
        return rc;
    pst_schema_read(&pst_schema, root, draft, secrets, &variables, &owned->arena, problems);
    pst_draft_resolve(draft, &reader);
    draft->config.secrets = variables.items;
    draft->config.secrets_count = variables.count;
    draft->config.path = pst_arena_text(&owned->arena, path, strlen(path));
    draft->config.text = pst_arena_text(&owned->arena, text, len);
    draft->config.text_len = len;
    if (owned->arena.failed)
        return PST_E_NOMEM;
    if (problems->errors > 0)
        return PST_E_INVALID;
    pst_draft_warn(draft, problems);
    owned->config = draft->config;
    return PST_OK;
}

static int parse_new(const char *path, const char *text, size_t len,
                     enum pst_schema_secrets secrets, struct pst_config **ret_config,
                     struct pst_problems *problems)
{
    struct owned *owned = calloc(1, sizeof *owned);
    int rc;

    *problems = (struct pst_problems){0};
    if (owned == NULL)
        return PST_E_NOMEM;
    pst_arena_init(&owned->arena, MEMORY_MAX);
    rc = parse(owned, path, text, len, secrets, problems);
    pst_problems_sort(problems);
    if (rc != PST_OK) {
        pst_config_free(&owned->config);
        return rc;
    }
    *ret_config = &owned->config;
    return PST_OK;
}

int pst_config_parse(const char *path, const char *text, size_t len, struct pst_config **ret_config,
                     struct pst_problems *problems)
{
    return parse_new(path, text, len, PST_SCHEMA_OWN, ret_config, problems);
}

int pst_config_parse_elsewhere(const char *path, const char *text, size_t len,
                               struct pst_config **ret_config, struct pst_problems *problems)
{
    return parse_new(path, text, len, PST_SCHEMA_ELSEWHERE, ret_config, problems);
}

int pst_config_read(const char *path, struct pst_config **ret_config, struct pst_problems *problems)
{
    char *text = NULL;
    size_t len;
    int rc;

    *problems = (struct pst_problems){0};
    rc = pst_source_read(path, problems, &text, &len);
    if (rc == PST_OK)
        rc = pst_config_parse(path, text, len, ret_config, problems);
    free(text);
    return rc;
}

void pst_config_free(struct pst_config *config)
{
    struct owned *owned = (struct owned *)(void *)config; /* its first member */

    if (owned == NULL)
        return;
    pst_arena_done(&owned->arena);
    free(owned);
}

static bool differ(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a != b : strcmp(a, b) != 0;
}

static bool classes_differ(const struct pst_config *a, const struct pst_config *b)
{
    if (a->gate.classes_count != b->gate.classes_count)
        return true;
    for (uint32_t i = 0; i < a->gate.classes_count; i++) {
        if (differ(a->class_names[i], b->class_names[i]))
            return true;
    }
    return false;
}

/* Pools may be appended; those that are there keep their place. */
static bool pools_differ(const struct pst_config *now, const struct pst_config *next)
{
    if (next->pools_count < now->pools_count)
        return true;
    for (size_t i = 0; i < now->pools_count; i++) {
        if (differ(now->pools[i].name, next->pools[i].name) ||
            now->gate.pools[i].policy != next->gate.pools[i].policy)
            return true;
    }
    return false;
}

static bool keda_differs(const struct pst_config *a, const struct pst_config *b)
{
    return differ(a->keda.listen, b->keda.listen) || differ(a->keda.cert, b->keda.cert) ||
           differ(a->keda.key, b->keda.key) || differ(a->keda.client_ca, b->keda.client_ca);
}

/* Where replicas come from is decided once for each pool. */
static bool sources_differ(const struct pst_config *now, const struct pst_config *next)
{
    for (size_t i = 0; i < now->pools_count && i < next->pools_count; i++) {
        const struct pst_config_pool *a = &now->pools[i], *b = &next->pools[i];

        if ((a->dns.name == NULL) != (b->dns.name == NULL) ||
            (a->local.command == NULL) != (b->local.command == NULL) ||
            (a->kubernetes.selector == NULL) != (b->kubernetes.selector == NULL))
            return true;
    }
    return false;
}

static bool keeps_replicas(const struct pst_config *config)
{
    for (size_t i = 0; i < config->pools_count; i++)
        if (config->pools[i].local.command != NULL || config->pools[i].kubernetes.selector != NULL)
            return true;
    return false;
}

/* As scale/keeper.h has it: a process of its own is begun at the start or not at all. */
static bool has_keeper(const struct pst_config *config)
{
    for (size_t i = 0; i < config->pools_count; i++) {
        const struct pst_config_signals *signals = &config->pools[i].signals;

        if (signals->prometheus_token_file != NULL || signals->nvidia_smi)
            return true;
    }
    return keeps_replicas(config);
}

size_t pst_config_needs_restart(const struct pst_config *now, const struct pst_config *next,
                                const char *keys[PST_CONFIG_RESTART_MAX])
{
    const struct {
        const char *key;
        bool differs;
    } fixed[] = {
        {"listen", differ(now->listen, next->listen)},
        {"metrics", differ(now->metrics, next->metrics)},
        {"admin", differ(now->admin, next->admin)},
        {"classes", classes_differ(now, next)},
        {"pools", pools_differ(now, next)},
        {"limits.tickets", now->gate.tickets_max != next->gate.tickets_max},
        {"limits.flows", now->gate.flows_max != next->gate.flows_max},
        {"limits.head", now->head_max != next->head_max},
        {"limits.connections", now->connections_max != next->connections_max},
        {"access_log", differ(now->access_log, next->access_log)},
        {"record", differ(now->record, next->record)},
        {"decision_log", differ(now->decision_log, next->decision_log)},
        {"state", differ(now->state, next->state)},
        {"keda", keda_differs(now, next)},
        {"pools[].replicas",
         sources_differ(now, next) || (!has_keeper(now) && keeps_replicas(next))},
        {"pools[].signals", !has_keeper(now) && has_keeper(next) && !keeps_replicas(next)},
        {"seed", now->gate.seed != next->gate.seed},
    };
    size_t count = 0;

    _Static_assert(PST_COUNT_OF(fixed) <= PST_CONFIG_RESTART_MAX, "room for all of them");
    for (size_t i = 0; i < PST_COUNT_OF(fixed); i++) {
        if (fixed[i].differs)
            keys[count++] = fixed[i].key;
    }
    return count;
}
