/* version.c - `penstock version`. */
#include "cmd/commands.h"

#include <stdio.h>

#include "cmd/options.h"

int pst_cmd_version(int argc, char **argv)
{
    bool json = false;
    const struct pst_option options[] = {
        {.name = "json", .kind = PST_OPTION_FLAG, .value = &json, .help = "One JSON object."},
    };
    const struct pst_usage usage = {
        .command = "version",
        .operands = "",
        .summary = "Prints the version.",
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (first != argc) {
        fputs("penstock version: takes no operands\n", stderr);
        return PST_EXIT_USAGE;
    }
    puts(json ? "{\"version\":\"" PST_VERSION "\"}" : "penstock " PST_VERSION);
    return fflush(stdout) == 0 ? PST_EXIT_OK : PST_EXIT_FAILED;
}
