/* plan.c - `penstock plan`: which question is asked. */
#include "cmd/plan.h"

#include <stdio.h>

#include "cmd/commands.h"
#include "cmd/options.h"

#define AHEAD (1200 * PST_S)

static const char detail[] =
    "--forecast scores the forecasters that the scaler knows on a CSV with the columns t_s and\n"
    "rate_per_s. Each forecast is made --ahead before its step, from the steps until then. "
    "`judged` is\n"
    "what the scaler goes by: the one that has cost least of late, and bursts that have come in "
    "season;\n"
    "`judged, raised` is that times the margin that would have been right of late.\n"
    "\n"
    "The table says of each, for both halves of the file:\n"
    "  factor  the least by which its forecasts must be raised so that 1 % of the steps are short\n"
    "  needs   the capacity that this takes, in mean rates: 1 would be perfect foresight\n"
    "and for the second half what the first half's factor, which is all that one would have "
    "known,\n"
    "  takes   of capacity, and leaves\n"
    "  short   of the steps.\n"
    "A star marks the forecaster that needs least on the first half. All are scored on the same "
    "steps;\n"
    "one that spoke of less than half of a half takes no part in it. Rows that are missing or say "
    "0 are\n"
    "gaps in collection: nothing is forecast from them, or scored.\n"
    "Exit status: 0 done, 2 the file cannot be used.";

int pst_cmd_plan(int argc, char **argv)
{
    const char *forecast = NULL;
    pst_ns ahead = AHEAD;
    bool json = false;
    const struct pst_option options[] = {
        {.name = "forecast",
         .kind = PST_OPTION_TEXT,
         .value = &forecast,
         .argument = "FILE",
         .help = "Score the forecasters on this table of rates."},
        {.name = "ahead",
         .kind = PST_OPTION_DURATION,
         .value = &ahead,
         .argument = "DURATION",
         .help = "With --forecast: how far they look ahead, a whole number of the table's steps "
                 "(default 20m)."},
        {.name = "json", .kind = PST_OPTION_FLAG, .value = &json, .help = "One JSON object."},
    };
    const struct pst_usage usage = {
        .command = "plan",
        .operands = "",
        .summary = "Which forecaster a history of rates would have been served best by.",
        .detail = detail,
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    const int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (first != argc || forecast == NULL) {
        fputs("penstock plan: --forecast FILE is expected\n", stderr);
        return PST_EXIT_USAGE;
    }
    return pst_plan_forecast(forecast, ahead, json);
}
