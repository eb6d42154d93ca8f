/* sim.c - `penstock sim`: a scenario in virtual time, or a recording stepped again. */
#include "cmd/sim.h"

#include <stdio.h>

#include "cmd/commands.h"
#include "cmd/options.h"
#include "cmd/study.h"

#define JOBS_MAX 256
#define SEED_MAX (UINT64_C(1) << 53) /* what JSON's numbers can hold */

static const char detail[] =
    "FILE is a scenario (docs/scenarios.md): a configuration's pools, classes and scaler keys,\n"
    "and what arrives, what goes wrong and what is expected. The gate and the scaler are the ones\n"
    "that `run` has; every policy sees the same arrivals, service times and cold starts. The\n"
    "report stands on stdout: what each class waited, what it took in replicas, and each\n"
    "expectation.\n"
    "\n"
    "Policies are those of the file, by name, or by parts: GATE+PILOT[:TARGET][@ACTUATOR], as in\n"
    "fifo+hpa-occupancy:70% or adaptive+ahead@keda. With :grid behind it, as in fifo+kpa:grid,\n"
    "one is tried at each target of its grid, so that a peer is compared at its best.\n"
    "  GATE      adaptive, fixed, fifo, none\n"
    "  PILOT     ahead, backlog, qps, depth, static, hpa-occupancy, hpa-inflight, hpa-queue,\n"
    "            kpa, apa\n"
    "  ACTUATOR  direct (default), hpa, keda, marked\n"
    "\n"
    "In the report SLO is the share of all that arrived and was served within its class's target,\n"
    "turns are changes of direction, and ± is half of a 95 % interval: by batch means, or over\n"
    "--seeds.\n"
    "\n"
    "The same file and seed give the same output, byte for byte, unless --timing asks for times.\n"
    "Times of JSON are seconds, shares 0 to 1; its keys are the names that `expect` has.\n"
    "Exit status: 0 all expectations met, or the recording identical; 1 one is breached, or the\n"
    "recording differs; 2 the file cannot be used.";

static int usage_error(const char *what)
{
    fprintf(stderr, "penstock sim: %s\n", what);
    return PST_EXIT_USAGE;
}

int pst_cmd_sim(int argc, char **argv)
{
    struct pst_sim_options a = {.seeds = 1, .seed = PST_SIM_SEED_OWN};
    const char *recording = NULL;
    const struct pst_option options[] = {
        {"compare", PST_OPTION_TEXT, &a.compare, "LIST",
         "Only these policies, with commas; by name or by parts, NAME:grid at every target of its "
         "grid (default all of the file).",
         0, 0},
        {"seeds", PST_OPTION_NUMBER, &a.seeds, "N",
         "So many seeds; figures are their mean, with a 95 % interval (default 1).", 1,
         PST_STUDY_SEEDS_MAX},
        {"seed", PST_OPTION_NUMBER, &a.seed, "N", "The first seed (default the file's).", 0,
         SEED_MAX},
        {"json", PST_OPTION_FLAG, &a.json, NULL,
         "One JSON object in place of the text: runs, policies, expectations.", 0, 0},
        {"html", PST_OPTION_TEXT, &a.html, "FILE",
         "Also write one page with plots and decisions; it needs no network.", 0, 0},
        {"jobs", PST_OPTION_NUMBER, &a.jobs, "N", "Runs at a time (default one for each core).", 1,
         JOBS_MAX},
        {"timing", PST_OPTION_FLAG, &a.timing, NULL, "Tell how long the runs took (elapsed_s).", 0,
         0},
        {"replay", PST_OPTION_TEXT, &recording, "FILE",
         "A recording (`record:` in the configuration) to step through the policy again.", 0, 0},
    };
    const struct pst_usage usage = {
        .command = "sim",
        .operands = "[FILE]",
        .summary = "What a policy would do with these arrivals, in virtual time.",
        .detail = detail,
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    const int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (recording != NULL)
        return first == argc ? pst_sim_cmd_replay(recording, a.json)
                             : usage_error("--replay takes no scenario");
    if (argc - first != 1)
        return usage_error("one scenario FILE, or --replay FILE, is expected");
    a.file = argv[first];
    return pst_sim_cmd_study(&a);
}
