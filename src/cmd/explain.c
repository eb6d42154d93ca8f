/* explain.c - `penstock explain`: why requests wait, and how many replicas there should be; see admin.h. */
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>

#include "cmd/asking.h"
#include "drive/capacity.h"

#define TARGET_MAX    4096
#define ANSWER_MAX    (8 << 20)
#define ANSWER_WITHIN (30 * PST_S)

struct explain {
    struct pst_asking asking;
    const char *pool;
    uint64_t decisions;
    bool json;
};

static int answered(void *user, const struct pst_fetch_result *result)
{
    const struct explain *explain = user;

    if (result->status == 200 || explain->json)
        fputs(result->body.at, stdout);
    else
        pst_asking_refused(&explain->asking, result);
    return result->status == 200 ? PST_EXIT_OK : PST_EXIT_FAILED;
}

/* False: does not fit. */
static bool target_write(const struct explain *explain, char target[TARGET_MAX])
{
    (void)snprintf(target, TARGET_MAX, "/explain?decisions=%u%s%s", (unsigned)explain->decisions,
                   explain->json ? "&format=json" : "", explain->pool != NULL ? "&pool=" : "");
    return explain->pool == NULL || pst_asking_encode(explain->pool, target, TARGET_MAX);
}

int pst_cmd_explain(int argc, char **argv)
{
    char target[TARGET_MAX];
    struct explain explain = {
        .asking =
            {
                .command = "explain",
                .admin = PST_ASKING_ADMIN,
                .method = "GET",
                .target = target,
                .within = ANSWER_WITHIN,
                .answer_max = ANSWER_MAX,
                .answered = answered,
                .user = &explain,
            },
    };
    const struct pst_option options[] = {
        PST_ASKING_OPTIONS(explain.asking),
        {.name = "pool",
         .kind = PST_OPTION_TEXT,
         .value = &explain.pool,
         .argument = "NAME",
         .help = "This pool only."},
        {.name = "decisions",
         .kind = PST_OPTION_NUMBER,
         .value = &explain.decisions,
         .max = PST_CAPACITY_KEPT,
         .argument = "N",
         .help = "The last N decisions of each pool too, newest first (256 are kept)."},
        {.name = "json",
         .kind = PST_OPTION_FLAG,
         .value = &explain.json,
         .help = "The scaler's part as JSON: the last decision, and those that are kept."},
    };
    const struct pst_usage usage = {
        .command = "explain",
        .operands = "",
        .summary =
            "Why requests wait, how many replicas there should be, and why not more or fewer.",
        .detail = "Asks a running gateway. Every question of the scaler is shown with the replicas "
                  "that it\n"
                  "asks for, and what stands in the way, with what would have to change.\n\n"
                  "Exit status: 0 explained; 1 no answer, or no such pool; 2 usage.",
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (first != argc || !target_write(&explain, target)) {
        fputs("penstock explain: no operands; --pool takes a pool's name\n", stderr);
        return PST_EXIT_USAGE;
    }
    return pst_asking(&explain.asking);
}
