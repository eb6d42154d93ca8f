/* scenario_resolve.c - names, the life of pools, faults. */
#include <string.h>

#include "config/likely.h"
#include "config/scenario_draft.h"

void pst_scenario_name(struct pst_scenario_reader *r, const struct pst_tree_node *node,
                       const char *name, char ret_name[PST_SCENARIO_NAME_MAX])
{
    const size_t len = strlen(name);

    if (len >= PST_SCENARIO_NAME_MAX)
        PST_SCENARIO_ERROR(r, node, "'%.80s': a name of at most %d characters is expected", name,
                           PST_SCENARIO_NAME_MAX - 1);
    else
        memcpy(ret_name, name, len + 1);
}

bool pst_scenario_class(struct pst_scenario_reader *r, const struct pst_tree_node *node,
                        const char *name, uint8_t *ret_class)
{
    const struct pst_config *config = &r->draft->base.config;
    struct pst_likely likely = pst_likely_begin(name);
    char meant[96];

    for (uint32_t i = 0; i < config->gate.classes_count; i++) {
        if (config->class_names[i] != NULL && strcmp(config->class_names[i], name) == 0) {
            *ret_class = (uint8_t)i;
            return true;
        }
        pst_likely_offer(&likely, config->class_names[i]);
    }
    PST_SCENARIO_ERROR(r, node, "there is no class '%.80s'%s", name,
                       pst_likely_text(&likely, meant, sizeof meant));
    return false;
}

bool pst_scenario_pool(struct pst_scenario_reader *r, const struct pst_tree_node *node,
                       const char *name, uint16_t *ret_pool)
{
    const struct pst_draft_pool *pools = r->draft->base.pools.items;
    const size_t count = r->draft->base.pools.count;
    struct pst_likely likely = pst_likely_begin(name == NULL ? "" : name);
    char meant[96];

    if (name == NULL && count > 1)
        PST_SCENARIO_ERROR(r, node, "`pool` is missing: there are %zu", count);
    if (name == NULL) {
        *ret_pool = 0;
        return count == 1;
    }
    for (size_t i = 0; i < count; i++) {
        if (pools[i].own.name != NULL && strcmp(pools[i].own.name, name) == 0) {
            *ret_pool = (uint16_t)i;
            return true;
        }
        pst_likely_offer(&likely, pools[i].own.name);
    }
    PST_SCENARIO_ERROR(r, node, "there is no pool '%.80s'%s", name,
                       pst_likely_text(&likely, meant, sizeof meant));
    return false;
}

static struct pst_law constant(pst_ns duration)
{
    return (struct pst_law){.kind = PST_LAW_CONST, .mean = (double)duration};
}

static void resolve_life(struct pst_scenario_reader *r, const struct pst_draft_pool *pool,
                         struct pst_scenario_pool *ret_life)
{
    const struct pst_tree_node *node = pst_tree_get(pool->node, "life");
    struct pst_scenario_pool life = pool->life;

    if (pst_tree_get(node, "initial") == NULL)
        life.initial = pool->scaler.min;
    if (pst_tree_get(node, "cold") == NULL)
        life.cold = constant(pool->scaler.start_time);
    if (pst_tree_get(node, "promote") == NULL)
        life.promote = constant(pool->scaler.warm_time);
    life.token_mode = pst_tree_get(node, "engine") != NULL;
    life.engine.mode = life.token_mode ? PST_ENGINE_TOKEN : PST_ENGINE_SLOT;
    life.engine.slots = pool->gate.slots;
    if (life.initial > pool->scaler.max)
        PST_SCENARIO_ERROR(r, pst_tree_at(node, "initial"),
                           "initial: %u replicas, and scaler.max is %u", life.initial,
                           pool->scaler.max);
    *ret_life = life;
}

void pst_scenario_resolve_pools(struct pst_scenario_reader *r)
{
    const struct pst_draft_pool *pools = r->draft->base.pools.items;

    for (size_t i = 0; i < r->draft->base.pools.count; i++) {
        resolve_life(r, &pools[i], &r->scenario->pools[i]);
        r->scenario->scaler.pools[i].actuate = PST_ACTUATE_OWN;
    }
}

/* What a fault is called, and whether it lasts. */
static const struct {
    const char *key;
    bool lasts;
    bool counts;
} faults[PST_FAULT_KIND_COUNT] = {
    [PST_FAULT_KILL] = {"kill", false, true},   [PST_FAULT_EVICT] = {"evict", false, true},
    [PST_FAULT_SLOW] = {"slow", true, true},    [PST_FAULT_HANG] = {"hang", true, true},
    [PST_FAULT_STUCK] = {"stuck", true, false}, [PST_FAULT_FAIL] = {"fail", true, false},
    [PST_FAULT_QUOTA] = {"quota", true, true},  [PST_FAULT_OUTAGE] = {"outage", true, false},
    [PST_FAULT_BLIND] = {"blind", true, false}, [PST_FAULT_ROLLOUT] = {"rollout", true, false},
};

static void resolve_fault(struct pst_scenario_reader *r, const struct pst_draft_fault *draft,
                          struct pst_fault *ret_fault)
{
    const struct pst_tree_node *until = pst_tree_get(draft->node, "until");
    struct pst_fault fault = draft->own;
    unsigned kinds = 0;

    for (unsigned i = 0; i < PST_FAULT_KIND_COUNT; i++) {
        if (pst_tree_get(draft->node, faults[i].key) == NULL)
            continue;
        kinds++;
        fault.kind = (enum pst_fault_kind)i;
    }
    if (kinds != 1) {
        PST_SCENARIO_ERROR(r, draft->node,
                           kinds == 0 ? "faults: what goes wrong? One of kill, evict, slow, hang, "
                                        "stuck, fail, quota, outage, blind, rollout"
                                      : "faults: one thing at a time; write a second entry");
        return;
    }
    if (!faults[fault.kind].counts && !draft->is_on)
        PST_SCENARIO_ERROR(r, pst_tree_at(draft->node, faults[fault.kind].key),
                           "%s: true is expected; leave the entry out otherwise",
                           faults[fault.kind].key);
    if (!faults[fault.kind].lasts && until != NULL)
        PST_SCENARIO_ERROR(r, until, "until: %s happens at once", faults[fault.kind].key);
    if (fault.kind != PST_FAULT_SLOW && pst_tree_get(draft->node, "factor") != NULL)
        PST_SCENARIO_ERROR(r, pst_tree_at(draft->node, "factor"), "factor: is of `slow` only");
    if (until == NULL)
        fault.until = PST_NEVER;
    else if (faults[fault.kind].lasts && fault.until <= fault.at)
        PST_SCENARIO_ERROR(r, until, "until: is not after `at`");
    pst_scenario_pool(r, pst_tree_at(draft->node, "pool"), draft->pool, &fault.pool);
    *ret_fault = fault;
}

void pst_scenario_resolve_faults(struct pst_scenario_reader *r)
{
    const struct pst_draft_fault *drafts = r->draft->faults.items;
    const size_t count = r->draft->faults.count;
    struct pst_fault *list = pst_arena_take(r->arena, count * sizeof *list);

    if (list == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        resolve_fault(r, &drafts[i], &list[i]);
    r->scenario->faults = list;
    r->scenario->faults_count = (uint32_t)count;
}
