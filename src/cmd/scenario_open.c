/* scenario_open.c - see scenario_open.h. */
#include "cmd/scenario_open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"

static void say_problems(const char *path, const struct pst_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct pst_problem *p = &problems->item[i];

        fprintf(stderr, "%s:", path);
        if (p->line > 0)
            fprintf(stderr, "%u:%u:", p->line, p->column);
        fprintf(stderr, " %s: %s\n", p->level == PST_PROBLEM_ERROR ? "error" : "warning",
                p->message);
    }
}

static int tell(const char *command, const char *path, int rc, int error,
                struct pst_problems *problems)
{
    say_problems(path, problems);
    if (rc == PST_E_NOMEM)
        fprintf(stderr, "penstock %s: %s: out of memory\n", command, path);
    else if (rc == PST_E_SYSTEM && problems->count == 0)
        fprintf(stderr, "penstock %s: %s: %s\n", command, path, strerror(error));
    pst_problems_done(problems);
    return rc == PST_OK ? PST_EXIT_OK : rc == PST_E_NOMEM ? PST_EXIT_FAILED : PST_EXIT_USAGE;
}

int pst_scenario_open(const char *command, const char *path, struct pst_scenario_file **ret_file)
{
    struct pst_problems problems = {0};
    const int rc = pst_scenario_read(path, ret_file, &problems);

    return tell(command, path, rc, errno, &problems);
}

int pst_scenario_open_text(const char *command, const char *path, const char *text, size_t len,
                           struct pst_scenario_file **ret_file)
{
    struct pst_problems problems = {0};
    const int rc = pst_scenario_parse(path, text, len, ret_file, &problems);

    return tell(command, path, rc, errno, &problems);
}
