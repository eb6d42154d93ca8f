/* manifest_hpa.c - what becomes of a right number on its way through an HPA. */
#include "config/manifest_internal.h"

#include <string.h>

#include "config/resolve.h"
#include "config/trigger.h"

#define DOWN_WINDOW_S 300 /* scaleDown stabilisation where nothing is said */
#define UP_PODS       4 /* scaleUp where nothing is said: the larger of 4 pods and 100 % in 15 s */

static bool allows(const struct pst_tree_node *policy, uint64_t replicas_max, bool up)
{
    const uint64_t value = pst_manifest_number(policy, "value", 0);

    return pst_resolve_same(pst_manifest_text(policy, "type"), "Percent")
               ? value >= (up ? 100 * replicas_max : 100)
               : value >= replicas_max;
}

static bool selects(const struct pst_tree_node *direction, const char *policy)
{
    return pst_resolve_same(pst_manifest_text(direction, "selectPolicy"), policy);
}

/*
 * May all of them come, or go, at once? One policy is enough, unless the least counts. Without policies of
 * its own a direction has the defaults.
 */
static bool allows_all(const struct pst_tree_node *direction, uint64_t replicas_max, bool up)
{
    const struct pst_tree_node *policies = pst_tree_get(direction, "policies");
    const bool is_least = selects(direction, "Min");

    if (policies == NULL || policies->kind != PST_TREE_LIST || policies->count == 0)
        return !up || replicas_max <= UP_PODS + 1;
    for (size_t i = 0; i < policies->count; i++) {
        if (allows(policies->items[i], replicas_max, up) != is_least)
            return !is_least;
    }
    return is_least;
}

static void judge_up(const struct pst_judge *j, const struct pst_judge_behavior *b)
{
    const struct pst_tree_node *up = pst_tree_get(b->node, "scaleUp");
    const struct pst_tree_node *place = up != NULL ? up : b->place;

    if (pst_manifest_number(up, "stabilizationWindowSeconds", 0) > 0)
        PST_WARN(
            j, pst_tree_at(up, "stabilizationWindowSeconds"),
            "%s: the number is looked at for so long before more are started; the scaler damps "
            "already: 0",
            j->name);
    if (selects(up, "Disabled"))
        PST_WARN(j, pst_tree_at(up, "selectPolicy"), "%s: nothing is ever started", j->name);
    else if (!allows_all(up, b->replicas_max, true))
        PST_WARN(j, pst_tree_at(place, "policies"),
                 "%s: scaleUp lets a right number come in pieces (by default doubling, or %d pods, "
                 "in 15 s); say policies: [{type: Pods, value: 1000, periodSeconds: 15}]",
                 j->name, UP_PODS);
}

static void judge_down(const struct pst_judge *j, const struct pst_judge_behavior *b)
{
    const struct pst_tree_node *down = pst_tree_get(b->node, "scaleDown");
    const struct pst_tree_node *place = down != NULL ? down : b->place;
    const uint64_t window = pst_manifest_number(down, "stabilizationWindowSeconds", DOWN_WINDOW_S);
    const unsigned after = (unsigned)(pst_judge_scaler(j)->in_after / PST_S);

    if (b->is_pushed && window > 0)
        PST_WARN(
            j, pst_tree_at(place, "stabilizationWindowSeconds"),
            "%s: a scaleDown stabilisation of %llu s (300 by default) comes on top of in_after "
            "(%u s): what was drained stays, paid for and idle; say 0",
            j->name, (unsigned long long)window, after);
    if (!b->is_pushed && window < DOWN_WINDOW_S)
        PST_WARN(j, pst_tree_at(place, "stabilizationWindowSeconds"),
                 "%s: out of Prometheus the number is late and may be missing: a scaleDown "
                 "stabilisation of %d s keeps what a gap would take",
                 j->name, DOWN_WINDOW_S);
    if (selects(down, "Disabled"))
        PST_WARN(j, pst_tree_at(down, "selectPolicy"),
                 "%s: nothing is ever taken away: what was drained stays, paid for and idle",
                 j->name);
    else if (!allows_all(down, b->replicas_max, false))
        PST_WARN(j, pst_tree_at(place, "policies"),
                 "%s: scaleDown takes fewer than were drained; say policies: [{type: Percent, "
                 "value: 100, periodSeconds: 15}]",
                 j->name);
}

static void judge_tolerance(const struct pst_judge *j, const struct pst_judge_behavior *b)
{
    static const char *const directions[] = {"scaleUp", "scaleDown"};

    for (size_t i = 0; i < PST_COUNT_OF(directions) && !b->is_banded; i++) {
        const struct pst_tree_node *node = pst_tree_get(b->node, directions[i]);
        const char *tolerance = pst_manifest_text(node, "tolerance");

        if (tolerance == NULL || strcmp(tolerance, "0") != 0)
            PST_WARN(j, pst_tree_at(node != NULL ? node : b->place, "tolerance"),
                     "%s: %s: the HPA ignores a change of less than its tolerance (10 %% by "
                     "default); say tolerance: \"0\", or where the cluster has no such field, "
                     "`band: overshoot` in the trigger",
                     j->name, directions[i]);
    }
}

void pst_judge_behavior(const struct pst_judge *j, const struct pst_judge_behavior *b)
{
    judge_up(j, b);
    judge_down(j, b);
    judge_tolerance(j, b);
}

/* Where a metric has its name and its target. */
static const struct pst_tree_node *metric_source(const struct pst_tree_node *metric)
{
    static const char *const kinds[] = {"external", "pods", "object", "resource"};
    const struct pst_tree_node *source = NULL;

    for (size_t i = 0; i < PST_COUNT_OF(kinds) && source == NULL; i++)
        source = pst_tree_get(metric, kinds[i]);
    return source;
}

static const struct pst_tree_node *metric_name(const struct pst_tree_node *source)
{
    const struct pst_tree_node *name = pst_manifest_get(source, "metric", "name", NULL);

    return name != NULL ? name : pst_tree_get(source, "name");
}

static bool says(const struct pst_tree_node *node, const char *word)
{
    return node != NULL && node->kind == PST_TREE_TEXT && strcasestr(node->text, word) != NULL;
}

/* KEDA's HPA names the pool whose trigger it came from. */
static void find_pool(struct pst_judge *j, const char *metric)
{
    for (size_t i = 0; i < j->all->configs_count; i++) {
        const struct pst_config *config = j->all->configs[i];

        for (size_t k = 0; k < config->pools_count; k++) {
            if (pst_trigger_is_name(metric, config->pools[k].name))
                pst_judge_pool(j, config->pools[k].name);
        }
    }
}

static enum pst_manifest_metric judge_metric(struct pst_judge *j,
                                             const struct pst_tree_node *source)
{
    const struct pst_tree_node *name = metric_name(source),
                               *target = pst_tree_get(source, "target");
    const struct pst_tree_node *value = pst_tree_get(target, "averageValue");
    enum pst_manifest_metric metric = PST_MANIFEST_OTHER;

    if (name != NULL && name->kind == PST_TREE_TEXT)
        metric = pst_manifest_metric(name->text);
    if (metric == PST_MANIFEST_PUSHED)
        find_pool(j, name->text);
    pst_judge_target(j, metric, pst_tree_get(target, "type"),
                     value != NULL ? value : pst_tree_get(target, "value"));
    if (says(name, "gpu") || says(name, "dcgm"))
        PST_WARN(j, name,
                 "%s: GPU utilisation is high with one long prompt and with a hundred: it says "
                 "nothing of who waits; scale by penstock's number",
                 j->name);
    return metric;
}

void pst_judge_hpa(struct pst_judge *j)
{
    const struct pst_tree_node *metrics = pst_tree_get(j->spec, "metrics");
    struct pst_judge_behavior behavior = {
        .node = pst_tree_get(j->spec, "behavior"),
        .place = j->spec,
        .replicas_max = pst_manifest_number(j->spec, "maxReplicas", 1),
    };
    bool is_ours = false;

    for (size_t i = 0; metrics != NULL && metrics->kind == PST_TREE_LIST && i < metrics->count;
         i++) {
        const struct pst_tree_node *source = metric_source(metrics->items[i]);
        const enum pst_manifest_metric metric = judge_metric(j, source);

        is_ours = is_ours || metric != PST_MANIFEST_OTHER || says(metric_name(source), "penstock");
        behavior.is_pushed = behavior.is_pushed || metric == PST_MANIFEST_PUSHED;
    }
    if (!is_ours)
        return;
    behavior.is_banded =
        behavior.is_pushed && j->config->pools[j->pool].export_.band != PST_EXPORT_EXACT;
    if (pst_manifest_number(j->spec, "minReplicas", 1) == 1)
        PST_WARN(j, pst_tree_at(j->spec, "minReplicas"),
                 "%s: with one replica nothing serves while it is replaced; say 2", j->name);
    pst_judge_behavior(j, &behavior);
}
