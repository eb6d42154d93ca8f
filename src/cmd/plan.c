/* plan.c - `penstock plan`: which question is asked. */
#include "cmd/plan.h"

#include <stdio.h>

#include "cmd/commands.h"
#include "cmd/options.h"

#define AHEAD     (1200 * PST_S)
#define COLD      (100 * PST_S)
#define PROMOTE   (5 * PST_S)
#define SLOTS_MAX 65536
#define SEED_MAX  (UINT64_C(1) << 53) /* what JSON's numbers can hold */

static const char detail[] =
    "How many replicas, at which utilisation, how long the queues may get, and whether a warm pool "
    "is\n"
    "worth its price: for FILE, a scenario (docs/scenarios.md), or for traffic in so many words:\n"
    "  penstock plan --slots 14 --class high=200/s,pareto:2.5:100ms,20ms,5s \\\n"
    "                --class low=20/s,exp:300ms,10s,5m --burst low=300/s,1h,2m --cold 100s\n"
    "A class has a rate, a law of service times, a target for its P99 wait and the longest it may "
    "wait.\n"
    "Erlang C with Allen-Cunneen is asked first; the answer says of each class whether the formula "
    "holds\n"
    "and why not, and is confirmed by simulation through the gate: with N all classes meet their\n"
    "targets, with N - 1 not. docs/planning.md explains.\n"
    "\n"
    "--fit reads an access log (`access_log:` in the configuration) and prints `arrivals:` for a\n"
    "scenario, with the laws that fit it, each with its error and its Kolmogorov-Smirnov distance, "
    "as\n"
    "comments.\n"
    "\n"
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
    "Exit status: 0 done, 1 no number of replicas is enough, 2 the input cannot be used.";

static int usage_error(const char *what)
{
    fprintf(stderr, "penstock plan: %s\n", what);
    return PST_EXIT_USAGE;
}

/* Traffic comes from a file or from options, and options need all of it. */
static int size(const struct pst_plan_options *o)
{
    const bool words = o->classes.count > 0 || o->bursts.count > 0 || o->slots > 0;

    if (o->file != NULL && (words || o->show))
        return usage_error("a scenario FILE has its own classes and slots: give one or the other");
    if (o->file == NULL && !words)
        return usage_error(
            "a scenario FILE, --class with --slots, --fit or --forecast is expected");
    if (o->file == NULL && (o->classes.count == 0 || o->slots == 0))
        return usage_error(
            "--class NAME=RATE,SERVICE,TARGET,MAX_WAIT and --slots N are both needed");
    return pst_plan_size(o);
}

int pst_cmd_plan(int argc, char **argv)
{
    struct pst_plan_options o = {.cold = COLD, .promote = PROMOTE, .seed = PST_PLAN_SEED_OWN};
    const char *forecast = NULL, *fit = NULL;
    pst_ns ahead = AHEAD;
    const struct pst_option options[] = {
        {"slots", PST_OPTION_NUMBER, &o.slots, "N", "Sequences that one replica runs at once.", 1,
         SLOTS_MAX},
        {"class", PST_OPTION_LIST, &o.classes, "NAME=RATE,SERVICE,TARGET,MAX_WAIT",
         "A class of traffic; again for each, the highest first.", 0, 0},
        {"burst", PST_OPTION_LIST, &o.bursts, "NAME=RATE,EVERY,LENGTH",
         "Bursts of a class beside its rate, as low=800/s,1h,2m.", 0, 0},
        {"cold", PST_OPTION_DURATION, &o.cold, "DURATION",
         "From asking for a replica to ready (default 100s).", 0, 0},
        {"warm-promote", PST_OPTION_DURATION, &o.promote, "DURATION",
         "From warm to ready (default 5s).", 0, 0},
        {"cost", PST_OPTION_TEXT, &o.cost, "AMOUNT", "Of a replica-hour, as '2.5 USD'.", 0, 0},
        {"horizon", PST_OPTION_DURATION, &o.horizon, "DURATION",
         "Simulate so much (default as much as a P99 needs; of FILE its own).", 0, 0},
        {"seed", PST_OPTION_NUMBER, &o.seed, "N", "Of the arrivals (default the file's).", 0,
         SEED_MAX},
        {"show", PST_OPTION_FLAG, &o.show, NULL,
         "Print the scenario that the options make, for `penstock sim`, and no plan.", 0, 0},
        {"fit", PST_OPTION_TEXT, &fit, "FILE",
         "Print the laws that this access log follows; - is stdin.", 0, 0},
        {"forecast", PST_OPTION_TEXT, &forecast, "FILE",
         "Score the forecasters on this table of rates.", 0, 0},
        {"ahead", PST_OPTION_DURATION, &ahead, "DURATION",
         "With --forecast: how far they look ahead, a whole number of the table's steps "
         "(default 20m).",
         0, 0},
        {"json", PST_OPTION_FLAG, &o.json, NULL, "One JSON object.", 0, 0},
    };
    const struct pst_usage usage = {
        .command = "plan",
        .operands = "[FILE]",
        .summary = "How many replicas this traffic needs, and what an access log says of it.",
        .detail = detail,
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    const int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (argc - first > 1)
        return usage_error("one scenario FILE at a time");
    if ((fit != NULL) + (forecast != NULL) + (first < argc) > 1)
        return usage_error("one of FILE, --fit and --forecast at a time");
    if (forecast != NULL)
        return pst_plan_forecast(forecast, ahead, o.json);
    if (fit != NULL)
        return pst_plan_fit(fit, o.slots, o.json);
    o.file = first < argc ? argv[first] : NULL;
    return size(&o);
}
