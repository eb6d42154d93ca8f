/* docs.c - the pages that are made of the program's own tables. `tools/check` compares them. */
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>

#include "cmd/options.h"
#include "config/config.h"
#include "config/document.h"
#include "observe/page.h"

static const char manual_head[] =
    ".TH PENSTOCK 1 \"\" \"penstock " PST_VERSION "\" \"User Commands\"\n"
    ".ad l\n"
    ".nh\n"
    ".SH NAME\n"
    "penstock \\- admission, priorities and replica choice in front of model\\-inference servers\n"
    ".SH SYNOPSIS\n"
    ".B penstock\n"
    ".I COMMAND\n"
    "[\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n"
    ".SH DESCRIPTION\n"
    "penstock stands in front of servers that speak the OpenAI API or plain HTTP. It decides who "
    "runs\n"
    "next, who waits and who is told no, and it decides from seconds of backlog.\n"
    ".PP\n"
    "Options are long and may stand before or behind operands; a value follows its option or an "
    "equals\n"
    "sign. Every command takes \\fB\\-\\-help\\fR. Durations and sizes carry a unit: 500ms, 15s, "
    "10m;\n"
    "64KiB, 32MiB.\n"
    ".SH COMMANDS\n";

static const char manual_tail[] =
    ".SH SIGNALS\n"
    ".TP\n"
    "SIGTERM, SIGINT\n"
    "\\fBpenstock run\\fR drains and exits 0; a second one ends it at once.\n"
    ".TP\n"
    "SIGHUP\n"
    "\\fBpenstock run\\fR reads its configuration again. A file with errors changes nothing.\n"
    ".SH EXIT STATUS\n"
    ".TP\n"
    "0\n"
    "Done.\n"
    ".TP\n"
    "1\n"
    "Failed; a drain met its deadline, an expectation of a scenario was breached, or a recording "
    "differs.\n"
    ".TP\n"
    "2\n"
    "Wrong usage or configuration.\n"
    ".SH SEE ALSO\n"
    "docs/configuration.md, docs/scenarios.md, docs/metrics.md and docs/architecture.md of the "
    "source.\n";

static void write_manual(FILE *out)
{
    struct {
        char name[8];
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"run", pst_cmd_run},         {"check", pst_cmd_check},   {"drain", pst_cmd_drain},
        {"explain", pst_cmd_explain}, {"engine", pst_cmd_engine}, {"load", pst_cmd_load},
        {"sim", pst_cmd_sim},         {"plan", pst_cmd_plan},     {"version", pst_cmd_version},
    };

    fputs(manual_head, out);
    pst_options_divert(out);
    for (size_t i = 0; i < PST_COUNT_OF(commands); i++)
        commands[i].run(1, (char *[]){commands[i].name, NULL});
    pst_options_divert(NULL);
    fputs(manual_tail, out);
}

int pst_cmd_docs(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*write)(FILE *out);
    } pages[] = {
        {"configuration", pst_config_document},
        {"metrics", pst_observe_document},
        {"scenarios", pst_scenario_document},
        {"man", write_manual},
    };
    const struct pst_usage usage = {
        .command = "docs",
        .operands = "configuration|metrics|scenarios|man",
        .summary = "Prints a page that is generated from the tables of the program.",
    };
    const int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    for (size_t i = 0; i < PST_COUNT_OF(pages) && argc - first == 1; i++) {
        if (strcmp(pages[i].name, argv[first]) == 0) {
            pages[i].write(stdout);
            return fflush(stdout) == 0 ? PST_EXIT_OK : PST_EXIT_FAILED;
        }
    }
    fputs("penstock docs: one of configuration, metrics, scenarios or man is expected\n", stderr);
    return PST_EXIT_USAGE;
}
