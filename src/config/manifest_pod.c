/* manifest_pod.c - pods of engines and of the gateway: what runs in them, and how they go. */
#include "config/manifest_internal.h"

#include <stdio.h>
#include <string.h>

#include "config/resolve.h"

/* The cluster's own defaults, seconds. */
#define GRACE_S   30
#define SHELL_MAX 8 /* words of a command that are looked at */

struct container {
    const struct pst_tree_node *node;
    enum pst_manifest_program program;
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

static enum pst_manifest_program program_of(const struct pst_tree_node *container)
{
    static const struct {
        const char *word;
        enum pst_manifest_program program;
    } engines[] = {
        {"sglang", PST_MANIFEST_SGLANG},    {"tritonserver", PST_MANIFEST_TRITON},
        {"vllm", PST_MANIFEST_ENGINE},      {"text-generation", PST_MANIFEST_ENGINE},
        {"tgi", PST_MANIFEST_ENGINE},       {"llama-server", PST_MANIFEST_ENGINE},
        {"llama.cpp", PST_MANIFEST_ENGINE},
    };

    if (container_says(container, "penstock") && has_word(container, "run"))
        return PST_MANIFEST_GATEWAY;
    if (container_says(container, "penstock") && has_word(container, "engine"))
        return PST_MANIFEST_ENGINE;
    for (size_t i = 0; i < PST_COUNT_OF(engines); i++) {
        if (container_says(container, engines[i].word))
            return engines[i].program;
    }
    return pst_manifest_get(container, "resources", "limits", "nvidia.com/gpu", NULL) != NULL
               ? PST_MANIFEST_ENGINE
               : PST_MANIFEST_UNKNOWN;
}

/* The first container that is one of ours. */
static struct container find_container(const struct pst_tree_node *pod)
{
    const struct pst_tree_node *list = pst_tree_get(pod, "containers");

    for (size_t i = 0; list != NULL && list->kind == PST_TREE_LIST && i < list->count; i++) {
        const enum pst_manifest_program program = program_of(list->items[i]);

        if (program != PST_MANIFEST_UNKNOWN)
            return (struct container){list->items[i], program};
    }
    return (struct container){NULL, PST_MANIFEST_UNKNOWN};
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
    pst_judge_probes(j, c->program, c->node);
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

    if (c.program == PST_MANIFEST_UNKNOWN)
        return false;
    if (pool != NULL)
        pst_judge_pool(j, pool);
    if (c.program == PST_MANIFEST_GATEWAY)
        judge_gateway(j, pod);
    else
        judge_engine(j, &c, pod);
    return true;
}
