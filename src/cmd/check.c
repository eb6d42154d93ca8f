/* check.c - what `run`, a reload, `sim` and an HPA would make of files, without any of them. */
#include "cmd/commands.h"

#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "cmd/options.h"
#include "config/config.h"
#include "config/manifest.h"
#include "config/scenario.h"
#include "config/source.h"

static const char *level_name(enum pst_problem_level level)
{
    static const char *const names[PST_PROBLEM_LEVEL_COUNT] = {
        [PST_PROBLEM_WARNING] = "warning",
        [PST_PROBLEM_ERROR] = "error",
    };

    return names[level];
}

static void print_problem(const char *path, const struct pst_problem *p)
{
    printf("%s:", path);
    if (p->line > 0)
        printf("%u:%u:", p->line, p->column);
    printf(" %s: %s\n", level_name(p->level), p->message);
}

/* A file of any kind, read; `config` and `scenario` are NULL where it cannot be used. */
struct reading {
    const char *path;
    enum { CONFIGURATION, SCENARIO, MANIFESTS } kind;
    struct pst_config *config;
    struct pst_scenario_file *scenario;
    size_t file; /* among the manifests; SIZE_MAX: none */
    struct pst_manifests_count manifests;
    struct pst_problems problems;
    int rc;
};

static void print_config(const struct reading *reading, size_t warnings)
{
    const struct pst_config *config = reading->config;
    size_t replicas = 0;

    for (size_t i = 0; i < config->pools_count; i++)
        replicas += config->pools[i].replicas_count;
    printf("%s: ok; classes %u, pools %zu, replicas %zu, tenants %zu, warnings %zu\n",
           reading->path, config->gate.classes_count, config->pools_count, replicas,
           config->tenants_count, warnings);
}

static void print_scenario(const struct reading *reading, size_t warnings)
{
    const struct pst_scenario *scenario = pst_scenario_of(reading->scenario);

    printf("%s: ok, a scenario; classes %u, pools %u, streams %u, policies %u, expectations %u, "
           "warnings %zu\n",
           reading->path, scenario->gate.classes_count, scenario->gate.pools_count,
           scenario->streams_count, scenario->policies_count, scenario->expectations_count,
           warnings);
}

static void print_text(const struct reading *reading)
{
    const struct pst_problems *problems = &reading->problems;
    const size_t warnings =
        problems->count > problems->errors ? problems->count - problems->errors : 0;

    for (size_t i = 0; i < problems->count; i++)
        print_problem(reading->path, &problems->item[i]);
    if (reading->rc != PST_OK)
        printf("%s: %zu errors, %zu warnings\n", reading->path, problems->errors, warnings);
    else if (reading->kind == MANIFESTS)
        printf("%s: ok, manifests; objects %zu, judged %zu, warnings %zu\n", reading->path,
               reading->manifests.objects, reading->manifests.judged, warnings);
    else if (reading->kind == SCENARIO)
        print_scenario(reading, warnings);
    else
        print_config(reading, warnings);
}

/* False: out of memory. */
static bool print_json(const struct reading *reading)
{
    static const char *const kinds[] = {"configuration", "scenario", "manifests"};
    const struct pst_problems *problems = &reading->problems;
    cJSON *root = cJSON_CreateObject();
    cJSON *list = NULL;
    char *text = NULL;
    bool whole = cJSON_AddStringToObject(root, "file", reading->path) != NULL &&
                 cJSON_AddStringToObject(root, "kind", kinds[reading->kind]) != NULL &&
                 cJSON_AddBoolToObject(root, "ok", reading->rc == PST_OK) != NULL &&
                 (list = cJSON_AddArrayToObject(root, "problems")) != NULL;

    for (size_t i = 0; whole && i < problems->count; i++) {
        const struct pst_problem *p = &problems->item[i];
        cJSON *item = cJSON_CreateObject();
        whole = item != NULL && cJSON_AddItemToArray(list, item) &&
                cJSON_AddStringToObject(item, "level", level_name(p->level)) != NULL &&
                cJSON_AddNumberToObject(item, "line", p->line) != NULL &&
                cJSON_AddNumberToObject(item, "column", p->column) != NULL &&
                cJSON_AddStringToObject(item, "message", p->message) != NULL;
    }
    if (whole)
        text = cJSON_PrintUnformatted(root);
    if (text != NULL)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(root);
    return text != NULL;
}

/* Read once, for it may be a pipe. */
static int read_file(struct pst_manifests *manifests, struct reading *reading)
{
    const char *path = reading->path;
    char *text = NULL;
    size_t len;
    int rc;

    rc = pst_source_read(path, &reading->problems, &text, &len);
    if (rc != PST_OK)
        return rc;
    if (pst_manifests_is(text, len)) {
        reading->kind = MANIFESTS;
        rc = pst_manifests_add(manifests, text, len, &reading->problems, &reading->file);
    } else if (pst_scenario_is(text, len)) {
        reading->kind = SCENARIO;
        rc = pst_scenario_parse(path, text, len, &reading->scenario, &reading->problems);
    } else {
        rc = pst_config_parse(path, text, len, &reading->config, &reading->problems);
        if (rc == PST_OK)
            rc = pst_manifests_config(manifests, reading->config);
    }
    free(text);
    return rc;
}

/* All files first: what a manifest is measured by may stand in any of them. */
static void read_all(struct pst_manifests *manifests, struct reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        readings[i].rc = read_file(manifests, &readings[i]);
    for (size_t i = 0; i < count; i++) {
        if (readings[i].file != SIZE_MAX)
            pst_manifests_judge(manifests, readings[i].file, &readings[i].problems,
                                &readings[i].manifests);
    }
}

static int say_all(const struct reading *readings, size_t count, bool json)
{
    int exit_code = PST_EXIT_OK;

    for (size_t i = 0; i < count; i++) {
        if (readings[i].rc == PST_E_NOMEM) {
            fputs("penstock check: out of memory\n", stderr);
            return PST_EXIT_FAILED;
        }
        if (readings[i].rc != PST_OK)
            exit_code = PST_EXIT_USAGE;
        if (!json)
            print_text(&readings[i]);
        else if (!print_json(&readings[i]))
            return PST_EXIT_FAILED;
    }
    return fflush(stdout) == 0 ? exit_code : PST_EXIT_FAILED;
}

static int check(char **paths, size_t count, bool json)
{
    struct reading *readings = calloc(count, sizeof *readings);
    struct pst_manifests *manifests = NULL;
    int exit_code = PST_EXIT_FAILED;

    if (readings == NULL || pst_manifests_new(&manifests) != PST_OK) {
        fputs("penstock check: out of memory\n", stderr);
    } else {
        for (size_t i = 0; i < count; i++) {
            readings[i].path = paths[i];
            readings[i].file = SIZE_MAX;
        }
        read_all(manifests, readings, count);
        exit_code = say_all(readings, count, json);
        for (size_t i = 0; i < count; i++) {
            pst_problems_done(&readings[i].problems);
            pst_config_free(readings[i].config);
            pst_scenario_free(readings[i].scenario);
        }
    }
    pst_manifests_free(manifests);
    free(readings);
    return exit_code;
}

int pst_cmd_check(int argc, char **argv)
{
    bool json = false;
    const struct pst_option options[] = {
        {.name = "json",
         .kind = PST_OPTION_FLAG,
         .value = &json,
         .help = "One JSON object for each file, a line each: file, kind, ok, problems with level, "
                 "line, column, message."},
    };
    const struct pst_usage usage = {
        .command = "check",
        .operands = "FILE...",
        .summary = "Reads a configuration as `run` does, a scenario as `sim` does, and a cluster's "
                   "manifests, and says all that is wrong with them.",
        .detail =
            "Errors and warnings are lines of the form FILE:LINE:COLUMN: error: MESSAGE; the last\n"
            "line of a file sums them up. Manifests (ScaledObject, HorizontalPodAutoscaler,\n"
            "Deployment, StatefulSet) are looked at for what makes replicas flap, come late or "
            "leave\n"
            "with work; give the configuration beside them, and they are measured by its numbers.\n"
            "Warnings do not change the exit status: 0 when the files can be used, 2 when one "
            "cannot.",
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    const int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (argc - first < 1 || argc - first > PST_MANIFESTS_MAX) {
        fprintf(stderr, "penstock check: 1 to %d FILEs are expected\n", PST_MANIFESTS_MAX);
        return PST_EXIT_USAGE;
    }
    return check(argv + first, (size_t)(argc - first), json);
}
