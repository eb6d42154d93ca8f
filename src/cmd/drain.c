/* drain.c - `penstock drain`: asks a running gateway to end its work in order, and waits; see admin.h. */
#include "cmd/commands.h"

#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cmd/asking.h"

#define TARGET_MAX 4096
#define ANSWER_MAX (16 << 10)
/* The gateway answers at its own deadline; this is for one that is gone without a word. */
#define ANSWER_WITHIN (86400 * PST_S)

struct drain {
    struct pst_asking asking;
    const char *replica;
    pst_ns deadline, grace;
    bool json;
};

static void put_duration(char *target, const char *name, pst_ns value)
{
    size_t len = strlen(target);

    if (value != PST_NEVER)
        (void)snprintf(target + len, TARGET_MAX - len, "%c%s=%llums",
                       strchr(target, '?') == NULL ? '?' : '&', name,
                       (unsigned long long)((value + PST_MS - 1) / PST_MS));
}

/* False: does not fit. */
static bool target_write(const struct drain *drain, char target[TARGET_MAX])
{
    target[0] = '\0';
    if (drain->replica != NULL) {
        (void)snprintf(target, TARGET_MAX, "/replicas/");
        if (!pst_asking_encode(drain->replica, target, TARGET_MAX - 128))
            return false;
    }
    (void)snprintf(target + strlen(target), TARGET_MAX - strlen(target), "/drain");
    put_duration(target, "deadline", drain->deadline);
    put_duration(target, "grace", drain->grace);
    return true;
}

static void say_left(const char *body)
{
    cJSON *root = cJSON_Parse(body);
    const cJSON *left = cJSON_GetObjectItemCaseSensitive(root, "left");

    if (cJSON_IsNumber(left))
        fprintf(stderr, "penstock drain: the deadline came first; %.0f left\n", left->valuedouble);
    else
        fputs("penstock drain: the deadline came first\n", stderr);
    cJSON_Delete(root);
}

static int answered(void *user, const struct pst_fetch_result *result)
{
    const struct drain *drain = user;

    if (drain->json)
        fputs(result->body.at, stdout); /* what the gateway says is JSON */
    else if (result->status == 200)
        puts("drained");
    else if (result->status == 409)
        say_left(result->body.at);
    else
        pst_asking_refused(&drain->asking, result);
    return result->status == 200 ? PST_EXIT_OK : PST_EXIT_FAILED;
}

int pst_cmd_drain(int argc, char **argv)
{
    char target[TARGET_MAX];
    struct drain drain = {
        .asking =
            {
                .command = "drain",
                .admin = PST_ASKING_ADMIN,
                .method = "POST",
                .target = target,
                .within = ANSWER_WITHIN,
                .answer_max = ANSWER_MAX,
                .answered = answered,
                .user = &drain,
            },
        .deadline = PST_NEVER,
        .grace = PST_NEVER,
    };
    const struct pst_option options[] = {
        PST_ASKING_OPTIONS(drain.asking),
        {.name = "replica",
         .kind = PST_OPTION_TEXT,
         .value = &drain.replica,
         .argument = "ID",
         .help = "Drain this replica only: its index, name or URL."},
        {.name = "deadline",
         .kind = PST_OPTION_DURATION,
         .value = &drain.deadline,
         .argument = "DURATION",
         .help = "When to give up (`drain.deadline`; of a replica its pool's "
                 "`scaler.drain_deadline`)."},
        {.name = "grace",
         .kind = PST_OPTION_DURATION,
         .value = &drain.grace,
         .argument = "DURATION",
         .help = "How long new requests are still served (the gateway's `drain.grace`)."},
        {.name = "json",
         .kind = PST_OPTION_FLAG,
         .value = &drain.json,
         .help = "The gateway's answer as JSON: drained, left; or error."},
    };
    const struct pst_usage usage = {
        .command = "drain",
        .operands = "",
        .summary = "Ends the work of a running gateway, or of one replica, in order.",
        .detail =
            "Returns when nothing is queued or in flight: fit for a preStop hook. The gateway\n"
            "itself keeps running, unready, until it gets SIGTERM.\n\n"
            "Exit status: 0 drained; 1 the deadline came first, or no answer; 2 usage.",
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (first != argc || !target_write(&drain, target)) {
        fputs("penstock drain: no operands; --replica takes a name of at most 1,300 characters\n",
              stderr);
        return PST_EXIT_USAGE;
    }
    return pst_asking(&drain.asking);
}
