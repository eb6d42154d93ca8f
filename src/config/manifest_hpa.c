/* manifest_hpa.c - what becomes of a right number on its way through an HPA. */
#include "config/manifest_internal.h"

#include <string.h>

#include "config/resolve.h"

#define DOWN_WINDOW_S 300 /* scaleDown stabilisation where nothing is said */
#define UP_PODS       4 /* scaleUp where nothing is said: the larger of 4 pods and 100 % in 15 s */

/* May all of them come, or go, at once? Without policies of its own a direction has the defaults. */
static bool allows_all(const struct pst_tree_node *policies, uint64_t replicas_max, bool up)
{
    if (policies == NULL || policies->kind != PST_TREE_LIST || policies->count == 0)
        return !up || replicas_max <= UP_PODS + 1;
    for (size_t i = 0; i < policies->count; i++) {
        const struct pst_tree_node *policy = policies->items[i];
        const uint64_t value = pst_manifest_number(policy, "value", 0);
        const bool by_share = pst_resolve_same(pst_manifest_text(policy, "type"), "Percent");

        if (by_share ? value >= (up ? 100 * replicas_max : 100) : value >= replicas_max)
            return true;
    }
    return false;
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
    if (!allows_all(pst_tree_get(up, "policies"), b->replicas_max, true))
        PST_WARN(j, pst_tree_at(place, "policies"),
                 "%s: scaleUp lets a right number come in pieces (by default doubling, or %d pods, "
                 "in 15 s); say policies: [{type: Pods, value: 1000, periodSeconds: 15}]",
                 j->name, UP_PODS);
    if (pst_resolve_same(pst_manifest_text(up, "selectPolicy"), "Disabled"))
        PST_WARN(j, pst_tree_at(up, "selectPolicy"), "%s: nothing is ever started", j->name);
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
    if (!allows_all(pst_tree_get(down, "policies"), b->replicas_max, false))
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

/* The name of a metric, of whichever kind; NULL: none. */
static const struct pst_tree_node *metric_name(const struct pst_tree_node *metric)
{
    static const char *const kinds[] = {"external", "pods", "object"};

    for (size_t i = 0; i < PST_COUNT_OF(kinds); i++) {
        const struct pst_tree_node *name =
            pst_manifest_get(metric, kinds[i], "metric", "name", NULL);

        if (name != NULL && name->kind == PST_TREE_TEXT)
            return name;
    }
    return pst_manifest_get(metric, "resource", "name", NULL);
}

static bool says(const struct pst_tree_node *node, const char *word)
{
    return node != NULL && node->kind == PST_TREE_TEXT && strcasestr(node->text, word) != NULL;
}

void pst_judge_hpa(struct pst_judge *j)
{
    const struct pst_tree_node *metrics = pst_tree_get(j->spec, "metrics");
    bool is_ours = false;

    for (size_t i = 0; metrics != NULL && metrics->kind == PST_TREE_LIST && i < metrics->count;
         i++) {
        const struct pst_tree_node *name = metric_name(metrics->items[i]);

        is_ours = is_ours || says(name, "penstock");
        if (says(name, "gpu") || says(name, "dcgm"))
            PST_WARN(j, name,
                     "%s: GPU utilisation is high with one long prompt and with a hundred: it says "
                     "nothing of who waits; scale by penstock's number",
                     j->name);
    }
    if (!is_ours)
        return;
    if (pst_manifest_number(j->spec, "minReplicas", 1) == 1)
        PST_WARN(j, pst_tree_at(j->spec, "minReplicas"),
                 "%s: with one replica nothing serves while it is replaced; say 2", j->name);
    pst_judge_behavior(j, &(struct pst_judge_behavior){
                              .node = pst_tree_get(j->spec, "behavior"),
                              .place = j->spec,
                              .replicas_max = pst_manifest_number(j->spec, "maxReplicas", 1),
                          });
}
