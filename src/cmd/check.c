/* check.c - what `run` and a reload would say of a configuration, without either. */
#include "cmd/commands.h"

#include <stdio.h>
#include <stdlib.h>

#include <cjson/cJSON.h>

#include "cmd/options.h"
#include "config/config.h"

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

static void print_text(const char *path, const struct pst_config *config,
                       const struct pst_problems *problems)
{
    const size_t warnings =
        problems->count > problems->errors ? problems->count - problems->errors : 0;
    size_t replicas = 0;

    for (size_t i = 0; i < problems->count; i++)
        print_problem(path, &problems->item[i]);
    if (config == NULL) {
        printf("%s: %zu errors, %zu warnings\n", path, problems->errors, warnings);
        return;
    }
    for (size_t i = 0; i < config->pools_count; i++)
        replicas += config->pools[i].replicas_count;
    printf("%s: ok; classes %u, pools %zu, replicas %zu, tenants %zu, warnings %zu\n", path,
           config->gate.classes_count, config->pools_count, replicas, config->tenants_count,
           warnings);
}

/* False: out of memory. */
static bool print_json(const char *path, const struct pst_config *config,
                       const struct pst_problems *problems)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *list = NULL;
    char *text = NULL;
    bool whole = cJSON_AddStringToObject(root, "file", path) != NULL &&
                 cJSON_AddBoolToObject(root, "ok", config != NULL) != NULL &&
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

int pst_cmd_check(int argc, char **argv)
{
    bool json = false;
    const struct pst_option options[] = {
        {.name = "json",
         .kind = PST_OPTION_FLAG,
         .value = &json,
         .help = "One JSON object: file, ok, problems with level, line, column, message."},
    };
    const struct pst_usage usage = {
        .command = "check",
        .operands = "FILE",
        .summary = "Reads a configuration as `run` does and says all that is wrong with it.",
        .detail =
            "Errors and warnings are lines of the form FILE:LINE:COLUMN: error: MESSAGE; the last\n"
            "line sums them up. Warnings do not change the exit status: 0 when the file can be\n"
            "used, 2 when it cannot.",
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    const int first = pst_options_read(&usage, argc, argv);
    struct pst_config *config = NULL;
    struct pst_problems problems;
    int rc, exit_code;

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (argc - first != 1) {
        fputs("penstock check: one FILE is expected\n", stderr);
        return PST_EXIT_USAGE;
    }
    rc = pst_config_read(argv[first], &config, &problems);
    exit_code = rc == PST_OK ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (rc == PST_E_NOMEM) {
        fputs("penstock check: out of memory\n", stderr);
        exit_code = PST_EXIT_FAILED;
    } else if (!json) {
        print_text(argv[first], config, &problems);
    } else if (!print_json(argv[first], config, &problems)) {
        exit_code = PST_EXIT_FAILED;
    }
    if (fflush(stdout) != 0)
        exit_code = PST_EXIT_FAILED;
    pst_problems_done(&problems);
    pst_config_free(config);
    return exit_code;
}
