/* check.c - what `run`, a reload and `sim` would say of a file, without any of them. */
#include "cmd/commands.h"

#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "cmd/options.h"
#include "config/config.h"
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

/* A file of either kind, read; `config` and `scenario` are NULL where it cannot be used. */
struct reading {
    const char *path;
    bool is_scenario;
    struct pst_config *config;
    struct pst_scenario_file *scenario;
    struct pst_problems problems;
};

static bool is_usable(const struct reading *reading)
{
    return reading->config != NULL || reading->scenario != NULL;
}

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
    if (!is_usable(reading))
        printf("%s: %zu errors, %zu warnings\n", reading->path, problems->errors, warnings);
    else if (reading->is_scenario)
        print_scenario(reading, warnings);
    else
        print_config(reading, warnings);
}

/* False: out of memory. */
static bool print_json(const struct reading *reading)
{
    const struct pst_problems *problems = &reading->problems;
    cJSON *root = cJSON_CreateObject();
    cJSON *list = NULL;
    char *text = NULL;
    bool whole = cJSON_AddStringToObject(root, "file", reading->path) != NULL &&
                 cJSON_AddStringToObject(
                     root, "kind", reading->is_scenario ? "scenario" : "configuration") != NULL &&
                 cJSON_AddBoolToObject(root, "ok", is_usable(reading)) != NULL &&
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
static int read_file(const char *path, struct reading *reading)
{
    char *text = NULL;
    size_t len;
    int rc;

    *reading = (struct reading){.path = path};
    rc = pst_source_read(path, &reading->problems, &text, &len);
    if (rc != PST_OK)
        return rc;
    reading->is_scenario = pst_scenario_is(text, len);
    rc = reading->is_scenario
             ? pst_scenario_parse(path, text, len, &reading->scenario, &reading->problems)
             : pst_config_parse(path, text, len, &reading->config, &reading->problems);
    free(text);
    return rc;
}

int pst_cmd_check(int argc, char **argv)
{
    bool json = false;
    const struct pst_option options[] = {
        {.name = "json",
         .kind = PST_OPTION_FLAG,
         .value = &json,
         .help = "One JSON object: file, kind, ok, problems with level, line, column, message."},
    };
    const struct pst_usage usage = {
        .command = "check",
        .operands = "FILE",
        .summary = "Reads a configuration as `run` does, or a scenario as `sim` does, and says all "
                   "that is "
                   "wrong with it.",
        .detail =
            "Errors and warnings are lines of the form FILE:LINE:COLUMN: error: MESSAGE; the last\n"
            "line sums them up. Warnings do not change the exit status: 0 when the file can be\n"
            "used, 2 when it cannot.",
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    const int first = pst_options_read(&usage, argc, argv);
    struct reading reading;
    int rc, exit_code;

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (argc - first != 1) {
        fputs("penstock check: one FILE is expected\n", stderr);
        return PST_EXIT_USAGE;
    }
    rc = read_file(argv[first], &reading);
    exit_code = rc == PST_OK ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (rc == PST_E_NOMEM) {
        fputs("penstock check: out of memory\n", stderr);
        exit_code = PST_EXIT_FAILED;
    } else if (!json) {
        print_text(&reading);
    } else if (!print_json(&reading)) {
        exit_code = PST_EXIT_FAILED;
    }
    if (fflush(stdout) != 0)
        exit_code = PST_EXIT_FAILED;
    pst_problems_done(&reading.problems);
    pst_config_free(reading.config);
    pst_scenario_free(reading.scenario);
    return exit_code;
}
