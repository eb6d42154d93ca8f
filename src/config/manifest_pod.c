/* manifest_pod.c - pods of engines and of the gateway: when they count as ready, are killed, and have gone. */
#include "config/manifest_internal.h"

#include <stdio.h>
#include <string.h>

#include "config/resolve.h"

/* The cluster's own defaults, seconds. */
#define GRACE_S   30
#define PERIOD_S  10
#define FAILURES  3
#define SHELL_MAX 8 /* words of a command that are looked at */

/* What runs in a container, as far as one can tell. */
enum what { WHAT_OTHER, WHAT_GATEWAY, WHAT_ENGINE, WHAT_SGLANG };

struct container {
    const struct pst_tree_node *node;
    enum what what;
};

static bool text_says(const struct pst_tree_node *node, const char *word)
{
    return node != NULL && node->kind == PST_TREE_TEXT && strcasestr(node->text, word) != NULL;
}

/* Image, command and arguments: the first words that name a program are enough. */
static bool container_says(const struct pst_tree_node *container, const char *word)
{
    static const char *const keys[] = {"command", "args"};

    if (text_says(pst_tree_get(container, "image"), word))
        return true;
    for (size_t i = 0; i < PST_COUNT_OF(keys); i++) {
        const struct pst_tree_node *list = pst_tree_get(container, keys[i]);

        for (size_t k = 0;
             list != NULL && list->kind == PST_TREE_LIST && k < list->count && k < SHELL_MAX; k++) {
            if (text_says(list->items[k], word))
                return true;
        }
    }
    return false;
}

static bool has_word(const struct pst_tree_node *container, const char *word)
{
    static const char *const keys[] = {"command", "args"};

    for (size_t i = 0; i < PST_COUNT_OF(keys); i++) {
        const struct pst_tree_node *list = pst_tree_get(container, keys[i]);

        for (size_t k = 0; list != NULL && list->kind == PST_TREE_LIST && k < list->count; k++) {
            if (list->items[k]->kind == PST_TREE_TEXT && strcmp(list->items[k]->text, word) == 0)
                return true;
        }
    }
    return false;
}

static enum what what_runs(const struct pst_tree_node *container)
{
    static const char *const engines[] = {"vllm",         "text-generation", "tgi",
                                          "tritonserver", "llama-server",    "llama.cpp"};

    if (container_says(container, "penstock") && has_word(container, "run"))
        return WHAT_GATEWAY;
    if (container_says(container, "penstock") && has_word(container, "engine"))
        return WHAT_ENGINE;
    if (container_says(container, "sglang"))
        return WHAT_SGLANG;
    for (size_t i = 0; i < PST_COUNT_OF(engines); i++) {
        if (container_says(container, engines[i]))
            return WHAT_ENGINE;
    }
    return pst_manifest_get(container, "resources", "limits", "nvidia.com/gpu", NULL) != NULL
               ? WHAT_ENGINE
               : WHAT_OTHER;
}

/* The first container that is one of ours. */
static struct container find_container(const struct pst_tree_node *pod)
{
    const struct pst_tree_node *list = pst_tree_get(pod, "containers");

    for (size_t i = 0; list != NULL && list->kind == PST_TREE_LIST && i < list->count; i++) {
        const enum what what = what_runs(list->items[i]);

        if (what != WHAT_OTHER)
            return (struct container){list->items[i], what};
    }
    return (struct container){NULL, WHAT_OTHER};
}

/* How long a probe may fail from the container's start until it has its consequence, seconds. */
static uint64_t patience(const struct pst_tree_node *probe)
{
    return pst_manifest_number(probe, "initialDelaySeconds", 0) +
           pst_manifest_number(probe, "periodSeconds", PERIOD_S) *
               pst_manifest_number(probe, "failureThreshold", FAILURES);
}

static void judge_ready(const struct pst_judge *j, const struct container *c)
{
    const struct pst_tree_node *probe = pst_tree_get(c->node, "readinessProbe");
    const struct pst_tree_node *path = pst_manifest_get(probe, "httpGet", "path", NULL);

    if (probe == NULL)
        PST_WARN(
            j, c->node,
            "%s: without a readinessProbe a pod counts as ready while it loads: a rolling update "
            "takes the old ones away too early",
            j->name);
    else if (pst_tree_get(probe, "tcpSocket") != NULL)
        PST_WARN(j, pst_tree_at(probe, "tcpSocket"),
                 "%s: a port opens before the model is loaded; ask the engine's health path",
                 j->name);
    else if (c->what == WHAT_SGLANG && path != NULL && text_says(path, "/v1/models"))
        PST_WARN(j, path, "%s: SGLang lists its model while it still loads; ask /health", j->name);
}

static void judge_loading(const struct pst_judge *j, const struct container *c)
{
    const struct pst_tree_node *startup = pst_tree_get(c->node, "startupProbe");
    const struct pst_tree_node *liveness = pst_tree_get(c->node, "livenessProbe");
    const struct pst_tree_node *kills = startup != NULL ? startup : liveness;
    const pst_ns start = pst_judge_scaler(j)->start_time;

    if (kills != NULL && patience(kills) <= start / PST_S)
        PST_WARN(
            j, kills,
            "%s: the %s kills it %llu s after its start, and loading takes %s: it never becomes "
            "ready",
            j->name, startup != NULL ? "startupProbe" : "livenessProbe",
            (unsigned long long)patience(kills), pst_judge_time(j, start).text);
    if (startup == NULL)
        PST_WARN(
            j, liveness != NULL ? liveness : c->node,
            "%s: without a startupProbe one probe must be patient with loading and quick with a "
            "hang",
            j->name);
}

static void judge_end(const struct pst_judge *j, const struct container *c,
                      const struct pst_tree_node *pod)
{
    const uint64_t grace = pst_manifest_number(pod, "terminationGracePeriodSeconds", GRACE_S);
    const pst_ns first_byte = j->config->gate.pools[j->pool].first_byte;
    const pst_ns drain = pst_judge_scaler(j)->drain_deadline;

    if (grace < drain / PST_S)
        PST_WARN(
            j, pst_tree_at(pod, "terminationGracePeriodSeconds"),
            "%s: it is killed %llu s after its end was decided (30 by default), and a drain may "
            "take %s (drain_deadline)",
            j->name, (unsigned long long)grace, pst_judge_time(j, drain).text);
    else if (grace < first_byte / PST_S)
        PST_WARN(j, pst_tree_at(pod, "terminationGracePeriodSeconds"),
                 "%s: the longest request may take %s (first_byte), and it is killed after %llu s",
                 j->name, pst_judge_time(j, first_byte).text, (unsigned long long)grace);
    if (pst_manifest_get(c->node, "lifecycle", "preStop", NULL) == NULL)
        PST_WARN(
            j, c->node,
            "%s: without a preStop the engine gets SIGTERM with requests in flight; let it wait "
            "until it runs nothing, or tell the gateway to drain it",
            j->name);
}

/* Is its number somebody else's? An object of these files scales a target of that name. */
static bool is_scaled(const struct pst_judge *j)
{
    for (size_t f = 0; f < j->all->files_count; f++) {
        for (size_t i = 0; i < j->all->files[f]->count; i++) {
            const struct pst_tree_node *object = j->all->files[f]->items[i];

            if (pst_resolve_same(
                    pst_manifest_text(pst_manifest_get(object, "spec", "scaleTargetRef", NULL),
                                      "name"),
                    j->name))
                return true;
        }
    }
    return false;
}

static void judge_engine(const struct pst_judge *j, const struct container *c,
                         const struct pst_tree_node *pod)
{
    judge_ready(j, c);
    judge_loading(j, c);
    judge_end(j, c, pod);
    if (pst_tree_get(j->spec, "replicas") != NULL && is_scaled(j))
        PST_WARN(j, pst_tree_at(j->spec, "replicas"),
                 "%s: applying this again sets the number back that the scaler decided; leave "
                 "`replicas` out",
                 j->name);
}

static void judge_gateway(const struct pst_judge *j, const struct pst_tree_node *pod)
{
    const uint64_t grace = pst_manifest_number(pod, "terminationGracePeriodSeconds", GRACE_S);
    const uint64_t replicas = pst_manifest_number(j->spec, "replicas", 1);

    if (grace < j->config->drain_deadline / PST_S)
        PST_WARN(
            j, pst_tree_at(pod, "terminationGracePeriodSeconds"),
            "%s: the gateway is killed %llu s after its end was decided (30 by default), and its "
            "drain may take %s (drain.deadline)",
            j->name, (unsigned long long)grace, pst_judge_time(j, j->config->drain_deadline).text);
    if (replicas > 1 && j->config->gateways < replicas)
        PST_WARN(j, pst_tree_at(j->spec, "replicas"),
                 "%s: %llu gateways fill each replica's slots as often; say gateways: %llu in the "
                 "configuration",
                 j->name, (unsigned long long)replicas, (unsigned long long)replicas);
}

bool pst_judge_workload(struct pst_judge *j)
{
    const struct pst_tree_node *pod = pst_manifest_get(j->spec, "template", "spec", NULL);
    const struct container c = find_container(pod);
    const char *pool = pst_manifest_text(
        pst_manifest_get(j->spec, "template", "metadata", "labels", NULL), "penstock/pool");

    if (c.what == WHAT_OTHER)
        return false;
    if (pool != NULL)
        pst_judge_pool(j, pool);
    if (c.what == WHAT_GATEWAY)
        judge_gateway(j, pod);
    else
        judge_engine(j, &c, pod);
    return true;
}
