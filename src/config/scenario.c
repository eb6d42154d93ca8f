#include "config/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "config/document.h"
#include "config/scenario_draft.h"
#include "config/source.h"

#define MEMORY_MAX ((size_t)512 << 20) /* traces have millions of rows */

/* The arena holds all that the scenario points to. */
struct pst_scenario_file {
    struct pst_scenario scenario;
    struct pst_arena arena;
};

/* "traces/day.yaml" → "day". */
static const char *base_name(const char *path, struct pst_arena *arena)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *name = pst_arena_text(arena, base, strcspn(base, "."));

    return name != NULL && name[0] != '\0' ? name : "scenario";
}

static void resolve_whole(struct pst_scenario_reader *r)
{
    const struct pst_scenario_draft *d = r->draft;
    const struct pst_tree_node *root = d->base.root;
    struct pst_scenario *s = r->scenario;

    pst_scenario_name(r, pst_tree_at(root, "name"),
                      d->name != NULL ? d->name : base_name(r->path, r->arena), s->name);
    s->gate = d->base.config.gate;
    s->scaler = d->base.config.scaler;
    s->seed = d->base.config.gate.seed;
    s->horizon = d->horizon;
    s->cut = d->cut;
    s->history = d->history;
    for (uint32_t i = 0; i < s->gate.classes_count; i++) {
        if (d->base.config.class_names[i] != NULL)
            pst_scenario_name(r, pst_tree_at(root, "classes"), d->base.config.class_names[i],
                              s->class_names[i]);
    }
}

/* A trace that cannot be read has its own problem; its end is not asked for. */
static bool has_trace(const struct pst_scenario_draft *draft)
{
    const struct pst_draft_stream *streams = draft->streams.items;

    for (size_t i = 0; i < draft->streams.count; i++) {
        if (pst_tree_get(streams[i].node, "trace") != NULL)
            return true;
    }
    return false;
}

static void check_times(struct pst_scenario_reader *r)
{
    const struct pst_tree_node *root = r->draft->base.root;

    if (r->scenario->horizon == 0 && has_trace(r->draft))
        return;
    if (r->scenario->horizon == 0)
        PST_SCENARIO_ERROR(r, root,
                           "`horizon` is missing: a duration, as 8h; only a trace has an end of "
                           "its own");
    else if (r->scenario->cut >= r->scenario->horizon)
        PST_SCENARIO_ERROR(r, pst_tree_at(root, "cut"),
                           "cut: must be before the horizon, or nothing is left to report");
}

static int parse(struct pst_scenario_file *file, const char *path, const char *text, size_t len,
                 struct pst_problems *problems)
{
    struct pst_scenario_draft *draft = pst_arena_take(&file->arena, sizeof *draft);
    const struct pst_config_reader reader = {&file->arena, problems};
    struct pst_scenario_reader r = {draft, &file->scenario, &file->arena, problems, path};
    const struct pst_tree_node *root;
    struct pst_items variables = {0}; /* nobody is started here */
    int rc;

    if (draft == NULL)
        return PST_E_NOMEM;
    rc = pst_tree_read(text, len, &file->arena, problems, &root);
    if (rc != PST_OK)
        return rc;
    pst_schema_read(&pst_schema_scenario, root, draft, PST_SCHEMA_OWN, &variables, &file->arena,
                    problems);
    pst_draft_resolve(&draft->base, &reader);
    resolve_whole(&r);
    pst_scenario_resolve_pools(&r);
    pst_scenario_resolve_streams(&r);
    pst_scenario_resolve_faults(&r);
    pst_scenario_resolve_policies(&r);
    pst_scenario_resolve_expectations(&r);
    check_times(&r);
    if (file->arena.failed)
        return PST_E_NOMEM;
    if (problems->errors > 0)
        return PST_E_INVALID;
    pst_draft_warn(&draft->base, problems);
    pst_scenario_warn(&r);
    return PST_OK;
}

int pst_scenario_parse(const char *path, const char *text, size_t len,
                       struct pst_scenario_file **ret_file, struct pst_problems *problems)
{
    struct pst_scenario_file *file = calloc(1, sizeof *file);
    int rc;

    *problems = (struct pst_problems){0};
    if (file == NULL)
        return PST_E_NOMEM;
    pst_arena_init(&file->arena, MEMORY_MAX);
    rc = parse(file, path, text, len, problems);
    pst_problems_sort(problems);
    if (rc != PST_OK) {
        pst_scenario_free(file);
        return rc;
    }
    *ret_file = file;
    return PST_OK;
}

int pst_scenario_read(const char *path, struct pst_scenario_file **ret_file,
                      struct pst_problems *problems)
{
    char *text = NULL;
    size_t len;
    int rc;

    *problems = (struct pst_problems){0};
    rc = pst_source_read(path, problems, &text, &len);
    if (rc == PST_OK)
        rc = pst_scenario_parse(path, text, len, ret_file, problems);
    free(text);
    return rc;
}

void pst_scenario_free(struct pst_scenario_file *file)
{
    if (file == NULL)
        return;
    pst_arena_done(&file->arena);
    free(file);
}

struct pst_scenario *pst_scenario_of(struct pst_scenario_file *file)
{
    return &file->scenario;
}

/* A look, not a reading: a scenario that is not even YAML should be told so as a scenario. */
bool pst_scenario_is(const char *text, size_t len)
{
    static const char key[] = "arrivals";
    const char *end = text + len, *line = text;

    while (line != NULL && line < end) {
        const char *at = line;
        const char *next = memchr(line, '\n', (size_t)(end - line));
        if (*at == '"' || *at == '\'')
            at++;
        if ((size_t)(end - at) >= sizeof key && memcmp(at, key, sizeof key - 1) == 0) {
            at += sizeof key - 1;
            while (at < end && (*at == '"' || *at == '\'' || *at == ' '))
                at++;
            if (at < end && *at == ':')
                return true;
        }
        line = next == NULL ? NULL : next + 1;
    }
    return false;
}

void pst_scenario_document(FILE *out)
{
    fputs("<!-- Written by `penstock docs scenarios`, from here to the end. -->\n\n# Reference\n",
          out);
    pst_document_section(&pst_schema_scenario, out);
    pst_scenario_document_measures(out);
}
