/* manifest_probe.c - an engine's probes: when it counts as ready, and whether it is killed while it loads. */
#include "config/manifest_internal.h"

#include <string.h>

#include "config/resolve.h"

/* The cluster's own defaults, seconds. */
#define PERIOD_S 10
#define FAILURES 3

/* How long a probe may fail from the container's start until it has its consequence, seconds. */
static uint64_t patience(const struct pst_tree_node *probe)
{
    return pst_manifest_number(probe, "initialDelaySeconds", 0) +
           pst_manifest_number(probe, "periodSeconds", PERIOD_S) *
               pst_manifest_number(probe, "failureThreshold", FAILURES);
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* `true`, or a shell's `true`, `:` or `exit 0`. */
static bool asks_nothing(const struct pst_tree_node *command)
{
    static const char *const nothings[] = {"true", "/bin/true", ":", "exit 0"};
    const char *last;

    if (command == NULL || command->kind != PST_TREE_LIST || command->count == 0)
        return false;
    for (size_t i = 0; i < command->count; i++) {
        if (command->items[i]->kind != PST_TREE_TEXT)
            return false;
    }
    last = command->items[command->count - 1]->text;
    if (strcmp(file_of(command->items[0]->text), "true") == 0)
        return true;
    if (command->count != 3 || strcmp(command->items[1]->text, "-c") != 0)
        return false;
    for (size_t i = 0; i < PST_COUNT_OF(nothings); i++) {
        if (strcmp(last, nothings[i]) == 0)
            return true;
    }
    return false;
}

/* Why a probe succeeds before the model is loaded, and the place that says so; place is NULL: it does not. */
struct early {
    const struct pst_tree_node *place;
    const char *why;
};

static struct early early_of(enum pst_manifest_program engine, const struct pst_tree_node *probe)
{
    static const struct {
        enum pst_manifest_program engine;
        const char *path, *why;
    } paths[] = {
        {PST_MANIFEST_SGLANG, "/v1/models",
         "SGLang lists its model while it still loads; ask /health"},
        {PST_MANIFEST_TRITON, "/v2/health/live",
         "Triton is live before its models are loaded; ask /v2/health/ready"},
    };
    const struct pst_tree_node *path = pst_manifest_get(probe, "httpGet", "path", NULL);

    if (pst_tree_get(probe, "tcpSocket") != NULL)
        return (struct early){
            pst_tree_at(probe, "tcpSocket"),
            "a port opens before the model is loaded; ask the engine's health path"};
    if (asks_nothing(pst_manifest_get(probe, "exec", "command", NULL)))
        return (struct early){pst_tree_at(probe, "exec"),
                              "the command asks nothing; ask the engine's health path"};
    for (size_t i = 0; path != NULL && i < PST_COUNT_OF(paths); i++) {
        if (paths[i].engine == engine && path->kind == PST_TREE_TEXT &&
            strcmp(paths[i].path, path->text) == 0)
            return (struct early){path, paths[i].why};
    }
    return (struct early){NULL, NULL};
}

static void judge_ready(const struct pst_judge *j, enum pst_manifest_program engine,
                        const struct pst_tree_node *container)
{
    const struct pst_tree_node *probe = pst_tree_get(container, "readinessProbe");
    const struct early early = early_of(engine, probe);

    if (probe == NULL)
        PST_WARN(
            j, container,
            "%s: without a readinessProbe a pod counts as ready while it loads: a rolling update "
            "takes the old ones away too early",
            j->name);
    else if (early.place != NULL)
        PST_WARN(j, early.place, "%s: %s", j->name, early.why);
}

/* The probe that must wait for the model: the startupProbe, unless it is satisfied at once. */
static void judge_loading(const struct pst_judge *j, enum pst_manifest_program engine,
                          const struct pst_tree_node *container)
{
    const struct pst_tree_node *startup = pst_tree_get(container, "startupProbe");
    const struct pst_tree_node *liveness = pst_tree_get(container, "livenessProbe");
    const struct early early = early_of(engine, startup);
    const bool is_startup = startup != NULL && early.place == NULL;
    const struct pst_tree_node *kills = is_startup ? startup : liveness;
    const pst_ns start = pst_judge_scaler(j)->start_time;

    if (startup == NULL)
        PST_WARN(
            j, liveness != NULL ? liveness : container,
            "%s: without a startupProbe one probe must be patient with loading and quick with a "
            "hang",
            j->name);
    if (kills == NULL || early_of(engine, kills).place != NULL || patience(kills) > start / PST_S)
        return;
    PST_WARN(j, kills,
             "%s: the %s kills it %llu s after its start, and loading takes %s: it never becomes "
             "ready",
             j->name, is_startup ? "startupProbe" : "livenessProbe",
             (unsigned long long)patience(kills), pst_judge_time(j, start).text);
    if (early.place != NULL)
        PST_WARN(j, early.place, "%s: the startupProbe does not wait for the model: %s", j->name,
                 early.why);
}

void pst_judge_probes(const struct pst_judge *j, enum pst_manifest_program engine,
                      const struct pst_tree_node *container)
{
    judge_ready(j, engine, container);
    judge_loading(j, engine, container);
}
