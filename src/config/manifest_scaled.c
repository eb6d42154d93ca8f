/* manifest_scaled.c - a ScaledObject: when KEDA asks, what it makes of the answer, and of none. */
#include "config/manifest_internal.h"

#include <string.h>

#include "config/resolve.h"
#include "config/scalar.h"
#include "config/trigger.h"

/* KEDA's own defaults, seconds and replicas. */
#define POLLING_S    30
#define COOLDOWN_S   300
#define REPLICAS_MAX 100

#define REFUSED "%s: the scaler refuses this trigger: %s"

struct trigger {
    const struct pst_tree_node *node, *metadata;
    const char *type;
    enum pst_manifest_metric metric;       /* of its query */
    bool is_pushed, is_external, is_query; /* external-push; either external; prometheus */
};

static struct trigger trigger_of(const struct pst_tree_node *node)
{
    struct trigger t = {.node = node,
                        .metadata = pst_tree_get(node, "metadata"),
                        .type = pst_manifest_text(node, "type")};

    t.metric = pst_manifest_metric(pst_manifest_text(t.metadata, "query"));
    t.is_pushed = pst_resolve_same(t.type, "external-push");
    t.is_external = t.is_pushed || pst_resolve_same(t.type, "external");
    t.is_query = pst_resolve_same(t.type, "prometheus");
    return t;
}

/* The texts of a trigger's metadata are texts: an unquoted number is refused by the cluster. */
static void judge_quotes(const struct pst_judge *j, const struct trigger *t)
{
    for (size_t i = 1;
         t->metadata != NULL && t->metadata->kind == PST_TREE_MAP && i < t->metadata->count;
         i += 2) {
        const struct pst_tree_node *value = t->metadata->items[i];
        double number;

        if (value->kind == PST_TREE_TEXT && !value->quoted &&
            (pst_scalar_real(value->text, &number) == PST_OK || strcmp(value->text, "true") == 0 ||
             strcmp(value->text, "false") == 0))
            PST_WARN(j, value, "%s: `%s: %s` must be a text: the cluster refuses it without quotes",
                     j->name, t->metadata->items[i - 1]->text, value->text);
    }
}

static void judge_query(const struct pst_judge *j, const struct trigger *t)
{
    if (!pst_resolve_same(pst_manifest_text(t->metadata, "ignoreNullValues"), "false"))
        PST_WARN(j, pst_tree_at(t->metadata, "ignoreNullValues"),
                 "%s: an empty answer counts as zero, and a Prometheus that restarts empties the "
                 "pool; say ignoreNullValues: \"false\"",
                 j->name);
    pst_judge_target(j, t->metric, pst_tree_get(t->node, "metricType"),
                     pst_tree_get(t->metadata, "threshold"));
}

/* What the scaler would refuse whenever KEDA asks, and so the number would never change. */
static void judge_ask(const struct pst_judge *j, const struct trigger *t)
{
    const struct pst_tree_node *map = t->metadata;
    struct pst_export_config export_;
    char why[PST_TRIGGER_WHY_MAX];
    uint16_t pool;

    if (j->all->configs_count == 1 && pst_tree_get(map, "pool") == NULL &&
        pst_tree_get(map, "poolFromEnv") == NULL &&
        pst_trigger_pool(j->all->configs[0], NULL, &pool, why) != PST_OK)
        PST_WARN(j, map != NULL ? map : t->node, REFUSED, j->name, why);
    for (size_t i = 1; map != NULL && map->kind == PST_TREE_MAP && i < map->count; i += 2) {
        const struct pst_tree_node *key = map->items[i - 1], *value = map->items[i];
        enum pst_trigger_key k;

        if (pst_trigger_key(key->text, &k, why) != PST_OK)
            PST_WARN(j, key, REFUSED, j->name, why);
        else if (value->kind == PST_TREE_TEXT && !pst_trigger_is_from_env(key->text) &&
                 pst_trigger_value(k, value->text, &export_, why) != PST_OK)
            PST_WARN(j, value, REFUSED, j->name, why);
    }
}

/* The fewest there may be: with an `idleReplicaCount`, that many while nothing is active. */
static uint64_t fewest(const struct pst_judge *j)
{
    const uint64_t least = pst_manifest_number(j->spec, "minReplicaCount", 0);
    const uint64_t idle = pst_manifest_number(j->spec, "idleReplicaCount", least);

    return idle < least ? idle : least;
}

static void judge_times(const struct pst_judge *j, bool is_pushed)
{
    const pst_ns start = pst_judge_scaler(j)->start_time;
    const uint64_t least = fewest(j);
    const uint64_t polling = pst_manifest_number(j->spec, "pollingInterval", POLLING_S);
    const uint64_t cooldown = pst_manifest_number(j->spec, "cooldownPeriod", COOLDOWN_S);

    if (!is_pushed && polling > start / PST_S)
        PST_WARN(j, pst_tree_at(j->spec, "pollingInterval"),
                 "%s: KEDA asks every %llu s, and a replica starts in %s: most of a cold start is "
                 "waiting for the question",
                 j->name, (unsigned long long)polling, pst_judge_time(j, start).text);
    if (least == 0 && cooldown < start / PST_S)
        PST_WARN(j, pst_tree_at(j->spec, "cooldownPeriod"),
                 "%s: the last replica goes after %llu s without work, and the next takes %s to "
                 "start: it goes and comes all day",
                 j->name, (unsigned long long)cooldown, pst_judge_time(j, start).text);
}

static void judge_bounds(const struct pst_judge *j)
{
    const struct pst_scaler_pool *pool = pst_judge_scaler(j);
    const uint64_t least = fewest(j);
    const uint64_t most = pst_manifest_number(j->spec, "maxReplicaCount", REPLICAS_MAX);

    if (least == 1)
        PST_WARN(
            j, pst_tree_at(j->spec, "minReplicaCount"),
            "%s: minReplicaCount: 1 pays for a replica at night, and nothing serves while it is "
            "replaced; say 2, or 0 where a first request may wait for a start",
            j->name);
    if (!j->is_assumed && most < pool->max + pool->warm)
        PST_WARN(j, pst_tree_at(j->spec, "maxReplicaCount"),
                 "%s: the HPA stops at %llu, and the scaler may ask for %u", j->name,
                 (unsigned long long)most, pool->max + pool->warm);
}

/* While nobody answers, KEDA sets the fallback's number, whatever runs. */
static void judge_fallback(const struct pst_judge *j)
{
    const struct pst_tree_node *fallback = pst_tree_get(j->spec, "fallback");
    const char *behavior = pst_manifest_text(fallback, "behavior");

    if (fallback == NULL || pst_resolve_same(behavior, "currentReplicas") ||
        pst_resolve_same(behavior, "currentReplicasIfHigher"))
        return;
    PST_WARN(
        j, pst_tree_at(fallback, "behavior"),
        "%s: while the scaler does not answer, the number falls to the fallback's, with work in "
        "flight; leave `fallback` out (the number then stays), or say behavior: "
        "currentReplicasIfHigher",
        j->name);
}

/* Does the exporter allow for a tolerance? The trigger says, or the pool. */
static bool is_banded(const struct pst_judge *j, const struct trigger *t)
{
    const char *band = pst_manifest_text(t->metadata, "band");

    if (band != NULL)
        return strcmp(band, "exact") != 0;
    return t->is_external && j->config->pools[j->pool].export_.band != PST_EXPORT_EXACT;
}

static void judge_trigger(struct pst_judge *j, const struct trigger *t)
{
    const char *pool = pst_manifest_text(t->metadata, "pool");

    if (t->is_external && pool != NULL)
        pst_judge_pool(j, pool);
    if (t->is_external && pool != NULL && j->is_assumed && j->all->configs_count > 0)
        PST_WARN(j, pst_tree_at(t->metadata, "pool"), "%s: no configuration has a pool '%s'",
                 j->name, pool);
    if (t->is_external && !t->is_pushed && fewest(j) == 0)
        PST_WARN(j, pst_tree_at(t->node, "type"),
                 "%s: from 0 the first replica waits for the next question; say external-push",
                 j->name);
    if (t->is_external) {
        judge_ask(j, t);
        pst_judge_target(j, PST_MANIFEST_PUSHED, pst_tree_get(t->node, "metricType"), NULL);
    }
    if (t->is_query)
        judge_query(j, t);
    judge_quotes(j, t);
}

void pst_judge_scaled_object(struct pst_judge *j)
{
    const struct pst_tree_node *triggers = pst_tree_get(j->spec, "triggers");
    const struct pst_tree_node *config =
        pst_manifest_get(j->spec, "advanced", "horizontalPodAutoscalerConfig", NULL);
    struct pst_judge_behavior behavior = {
        .node = pst_tree_get(config, "behavior"),
        .place = config != NULL ? config : j->spec,
        .replicas_max = pst_manifest_number(j->spec, "maxReplicaCount", REPLICAS_MAX),
    };
    bool is_pushed = false, is_ours = false;

    for (size_t i = 0; triggers != NULL && triggers->kind == PST_TREE_LIST && i < triggers->count;
         i++) {
        const struct trigger t = trigger_of(triggers->items[i]);
        const char *query = pst_manifest_text(t.metadata, "query");

        judge_trigger(j, &t);
        is_pushed = is_pushed || t.is_pushed;
        is_ours = is_ours || t.is_external || t.metric != PST_MANIFEST_OTHER ||
                  (query != NULL && strstr(query, "penstock") != NULL);
        behavior.is_pushed = behavior.is_pushed || t.is_external;
        behavior.is_banded = behavior.is_banded || is_banded(j, &t);
    }
    if (!is_ours)
        return;
    judge_fallback(j);
    judge_times(j, is_pushed);
    judge_bounds(j);
    pst_judge_behavior(j, &behavior);
}
