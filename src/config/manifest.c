/* manifest.c - the objects of the files, and the numbers that each is measured by. */
#include "config/manifest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/manifest_internal.h"
#include "config/problems.h"
#include "config/resolve.h"
#include "config/scalar.h"

#define MEMORY_MAX (64u << 20)

/* Measured by this where no configuration says otherwise: the table's own defaults. */
static const char assumed[] =
    "pools: [{name: default, models: [m], slots: 1, replicas: {static: []}}]\n";

static bool line_begins(const char *line, const char *end, const char *key)
{
    const size_t len = strlen(key);

    return (size_t)(end - line) > len && memcmp(line, key, len) == 0 && line[len] == ':';
}

bool pst_manifests_is(const char *text, size_t len)
{
    const char *end = text + len, *line = text;
    bool has_version = false, has_kind = false;

    while (line != NULL && line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));

        has_version = has_version || line_begins(line, end, "apiVersion");
        has_kind = has_kind || line_begins(line, end, "kind");
        line = next == NULL ? NULL : next + 1;
    }
    return has_version && has_kind;
}

const struct pst_tree_node *pst_manifest_get(const struct pst_tree_node *node, ...)
{
    va_list keys;
    const char *key;

    va_start(keys, node);
    while ((key = va_arg(keys, const char *)) != NULL)
        node = pst_tree_get(node, key);
    va_end(keys);
    return node;
}

const char *pst_manifest_text(const struct pst_tree_node *map, const char *key)
{
    const struct pst_tree_node *node = pst_tree_get(map, key);

    return node != NULL && node->kind == PST_TREE_TEXT ? node->text : NULL;
}

uint64_t pst_manifest_number(const struct pst_tree_node *map, const char *key, uint64_t otherwise)
{
    const char *text = pst_manifest_text(map, key);
    uint64_t number;

    return text != NULL && pst_scalar_count(text, &number) == PST_OK ? number : otherwise;
}

int pst_manifests_new(struct pst_manifests **ret_manifests)
{
    struct pst_manifests *m = calloc(1, sizeof *m);
    struct pst_problems problems;
    int rc;

    if (m == NULL)
        return PST_E_NOMEM;
    pst_arena_init(&m->arena, MEMORY_MAX);
    rc = pst_config_parse("", assumed, sizeof assumed - 1, &m->assumed, &problems);
    pst_problems_done(&problems);
    if (rc != PST_OK) {
        pst_manifests_free(m);
        return PST_E_NOMEM;
    }
    *ret_manifests = m;
    return PST_OK;
}

void pst_manifests_free(struct pst_manifests *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->own_count; i++)
        pst_config_free(m->own[i]);
    pst_config_free(m->assumed);
    pst_arena_done(&m->arena);
    free(m);
}

int pst_manifests_config(struct pst_manifests *m, const struct pst_config *config)
{
    if (m->configs_count == PST_MANIFESTS_MAX)
        return PST_E_FULL;
    m->configs[m->configs_count++] = config;
    return PST_OK;
}

/* A file's text, for the columns in a text within it. */
struct source {
    const char *text;
    size_t len;
};

/* How far a line is indented: the tree does not know it of the lines of a literal text. */
static uint32_t indent_of(const struct source *source, uint32_t line)
{
    const char *at = source->text, *end = source->text + source->len;
    uint32_t indent = 0;

    for (; line > 1 && at != NULL; line--) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at == NULL ? NULL : at + 1;
    }
    for (; at != NULL && at < end && *at == ' '; at++)
        indent++;
    return indent;
}

/* A configuration that stands in a ConfigMap: one that has pools. It begins in the line after its `|`. */
static int take_embedded(struct pst_manifests *m, const struct pst_tree_node *node,
                         const struct source *source, struct pst_problems *problems)
{
    struct pst_config *config = NULL;
    struct pst_problems inner;
    uint32_t indent;
    int rc;

    if (strncmp(node->text, "pools:", 6) != 0 && strstr(node->text, "\npools:") == NULL)
        return PST_OK;
    if (m->own_count == PST_MANIFESTS_MAX || m->configs_count == PST_MANIFESTS_MAX)
        return PST_E_FULL;
    rc = pst_config_parse_elsewhere("", node->text, strlen(node->text), &config, &inner);
    indent = indent_of(source, node->line + 1);
    for (size_t i = 0; i < inner.count; i++) {
        const struct pst_problem *p = &inner.item[i];

        pst_problems_add(problems, p->level, node->line + p->line,
                         p->line == 0 ? node->column : indent + p->column, "%s", p->message);
    }
    pst_problems_done(&inner);
    if (rc != PST_OK)
        return rc == PST_E_NOMEM ? rc : PST_OK;
    m->own[m->own_count++] = config;
    return pst_manifests_config(m, config);
}

static int take_config_map(struct pst_manifests *m, const struct pst_tree_node *object,
                           const struct source *source, struct pst_problems *problems)
{
    const struct pst_tree_node *data = pst_tree_get(object, "data");
    int rc = PST_OK;

    if (!pst_resolve_same(pst_manifest_text(object, "kind"), "ConfigMap") || data == NULL ||
        data->kind != PST_TREE_MAP)
        return PST_OK;
    for (size_t i = 1; i < data->count && rc == PST_OK; i += 2) {
        if (data->items[i]->kind == PST_TREE_TEXT)
            rc = take_embedded(m, data->items[i], source, problems);
    }
    return rc;
}

int pst_manifests_add(struct pst_manifests *m, const char *text, size_t len,
                      struct pst_problems *problems, size_t *ret_file)
{
    const struct source source = {text, len};
    const struct pst_tree_node *list;
    int rc;

    if (m->files_count == PST_MANIFESTS_MAX)
        return PST_E_FULL;
    rc = pst_tree_read_documents(text, len, &m->arena, problems, &list);
    for (size_t i = 0; rc == PST_OK && i < list->count; i++)
        rc = take_config_map(m, list->items[i], &source, problems);
    if (rc != PST_OK)
        return rc;
    *ret_file = m->files_count;
    m->files[m->files_count++] = list;
    return problems->errors > 0 ? PST_E_INVALID : PST_OK;
}

void pst_judge_pool(struct pst_judge *judge, const char *pool)
{
    const struct pst_manifests *m = judge->all;
    size_t pools = 0;

    judge->config = m->assumed;
    judge->pool = 0;
    judge->is_assumed = true;
    for (size_t i = 0; i < m->configs_count; i++) {
        for (size_t j = 0; j < m->configs[i]->pools_count; j++, pools++) {
            if (pool != NULL ? !pst_resolve_same(pool, m->configs[i]->pools[j].name) : pools > 0)
                continue;
            judge->config = m->configs[i];
            judge->pool = (uint32_t)j;
            judge->is_assumed = false;
        }
    }
    if (pool == NULL && pools > 1) { /* which of them is not said */
        judge->config = m->assumed;
        judge->pool = 0;
        judge->is_assumed = true;
    }
}

struct pst_judge_time pst_judge_time(const struct pst_judge *judge, pst_ns time)
{
    struct pst_judge_time said;

    snprintf(said.text, sizeof said.text, "%llus%s", (unsigned long long)(time / PST_S),
             judge->is_assumed ? " by default" : "");
    return said;
}

static bool judge_object(const struct pst_manifests *m, const struct pst_tree_node *object,
                         struct pst_problems *problems)
{
    static const struct {
        const char *kind;
        void (*judge)(struct pst_judge *judge);
    } kinds[] = {
        {"ScaledObject", pst_judge_scaled_object},
        {"HorizontalPodAutoscaler", pst_judge_hpa},
    };
    struct pst_judge judge = {
        .all = m, .problems = problems, .object = object, .spec = pst_tree_get(object, "spec")};
    const char *kind = pst_manifest_text(object, "kind");

    judge.name = pst_manifest_text(pst_tree_get(object, "metadata"), "name");
    judge.name = judge.name == NULL ? "?" : judge.name;
    if (kind == NULL || judge.spec == NULL)
        return false;
    pst_judge_pool(&judge, pst_manifest_text(pst_manifest_get(object, "metadata", "labels", NULL),
                                             "penstock/pool"));
    for (size_t i = 0; i < PST_COUNT_OF(kinds); i++) {
        if (strcmp(kinds[i].kind, kind) == 0) {
            kinds[i].judge(&judge);
            return true;
        }
    }
    if (strcmp(kind, "Deployment") == 0 || strcmp(kind, "StatefulSet") == 0)
        return pst_judge_workload(&judge);
    return false;
}

void pst_manifests_judge(const struct pst_manifests *m, size_t file, struct pst_problems *problems,
                         struct pst_manifests_count *ret_count)
{
    const struct pst_tree_node *list = m->files[file];
    struct pst_manifests_count count = {0};

    for (size_t i = 0; i < list->count; i++) {
        const struct pst_tree_node *object = list->items[i];
        const struct pst_tree_node *items = pst_tree_get(object, "items"); /* kind: List */

        if (items == NULL || items->kind != PST_TREE_LIST) {
            count.objects++;
            count.judged += judge_object(m, object, problems);
            continue;
        }
        for (size_t j = 0; j < items->count; j++) {
            count.objects++;
            count.judged += judge_object(m, items->items[j], problems);
        }
    }
    pst_problems_sort(problems);
    *ret_count = count;
}
