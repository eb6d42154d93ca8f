/* main.c - the table of subcommands. */
#include <stdio.h>
#include <string.h>

#include "base/crash.h"
#include "base/fd.h"
#include "cmd/commands.h"
#include "pst.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* NULL: not listed */
} commands[] = {
    {"run", pst_cmd_run, "The gateway: priorities in front of inference engines."},
    {"check", pst_cmd_check, "Reads our files and a cluster's, and says all that is wrong."},
    {"drain", pst_cmd_drain, "Ends the work of a running gateway, or of one replica, in order."},
    {"explain", pst_cmd_explain, "Why requests wait, and how many replicas there should be."},
    {"engine", pst_cmd_engine, "A stand-in inference engine, for demos and tests."},
    {"load", pst_cmd_load, "An open-loop load generator that measures per class."},
    {"sim", pst_cmd_sim, "What a policy would do with these arrivals, in virtual time."},
    {"plan", pst_cmd_plan, "How many replicas a load needs, or which forecaster a history."},
    {"version", pst_cmd_version, "Prints the version."},
    {"docs", pst_cmd_docs, NULL},
};

static void print_help(FILE *out)
{
    fputs("penstock: decides who runs next, who waits and who is told no, in front of inference\n"
          "engines, by seconds of backlog.\n\n"
          "usage: penstock COMMAND [OPTION...]\n\n",
          out);
    for (size_t i = 0; i < PST_COUNT_OF(commands); i++)
        if (commands[i].summary != NULL)
            fprintf(out, "  %-8s  %s\n", commands[i].name, commands[i].summary);
    fputs("\n`penstock COMMAND --help` describes each.\n"
          "Exit status: 0 ok, 1 failed, 2 usage or configuration.\n",
          out);
}

int main(int argc, char **argv)
{
    pst_fd_hold_standard();
    pst_crash_install();
    pst_fd_ignore_sigpipe();
    if (argc < 2) {
        print_help(stderr);
        return PST_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return PST_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0)
        argv[1] = argv[1] + 2;
    for (size_t i = 0; i < PST_COUNT_OF(commands); i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "penstock: no command '%s'; see penstock --help\n", argv[1]);
    return PST_EXIT_USAGE;
}
