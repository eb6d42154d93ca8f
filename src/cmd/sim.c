/* sim.c - `penstock sim`: recordings, stepped again. */
#include "cmd/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/options.h"
#include "drive/replay.h"

static void print_text(const char *path, const struct pst_replay_result *result)
{
    const struct pst_replay_difference *difference = &result->difference;

    if (!difference->found) {
        printf("%s: identical: %llu events, %llu actions%s\n", path,
               (unsigned long long)result->events, (unsigned long long)result->actions,
               result->cut ? " (the recording was cut off; its last moments are missing)" : "");
        return;
    }
    printf("%s: differs at frame %llu, in event %llu, at %llu.%09llu s\n", path,
           (unsigned long long)difference->frame, (unsigned long long)difference->event,
           (unsigned long long)(difference->now / PST_S),
           (unsigned long long)(difference->now % PST_S));
    printf("  event:    %s\n  recorded: %s\n  replayed: %s\n", difference->event_text,
           difference->recorded, difference->replayed);
}

/* Texts are names and hexadecimal digits: nothing in them needs escaping. */
static void print_json(const struct pst_replay_result *result)
{
    const struct pst_replay_difference *difference = &result->difference;

    printf("{\"identical\":%s,\"events\":%llu,\"actions\":%llu,\"cut\":%s",
           difference->found ? "false" : "true", (unsigned long long)result->events,
           (unsigned long long)result->actions, result->cut ? "true" : "false");
    if (difference->found)
        printf(",\"difference\":{\"frame\":%llu,\"event\":%llu,\"now_ns\":%llu,"
               "\"event_text\":\"%s\",\"recorded\":\"%s\",\"replayed\":\"%s\"}",
               (unsigned long long)difference->frame, (unsigned long long)difference->event,
               (unsigned long long)difference->now, difference->event_text, difference->recorded,
               difference->replayed);
    puts("}");
}

static int replay(const char *path, bool json)
{
    struct pst_replay_result result;
    const char *why;
    int rc = pst_replay_file(path, &result, &why);

    if (rc != PST_OK) {
        fprintf(stderr, "penstock sim: %s: %s\n", path,
                rc == PST_E_SYSTEM  ? strerror(errno)
                : rc == PST_E_NOMEM ? "out of memory"
                                    : why);
        return PST_EXIT_USAGE;
    }
    if (json)
        print_json(&result);
    else
        print_text(path, &result);
    if (fflush(stdout) != 0)
        return PST_EXIT_FAILED;
    return result.difference.found ? PST_EXIT_FAILED : PST_EXIT_OK;
}

int pst_cmd_sim(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false;
    const struct pst_option options[] = {
        {.name = "replay",
         .kind = PST_OPTION_TEXT,
         .value = &path,
         .argument = "FILE",
         .help = "A recording (`record:` in the configuration) to step through the policy again."},
        {.name = "json",
         .kind = PST_OPTION_FLAG,
         .value = &json,
         .help = "One JSON object: identical, events, actions, cut, difference."},
    };
    const struct pst_usage usage = {
        .command = "sim",
        .operands = "",
        .summary = "Steps a recording through the policy again.",
        .detail = "Every action must come again, byte for byte; the first that does not is shown.\n"
                  "Exit status: 0 identical, 1 different, 2 the file cannot be used.",
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (path == NULL || first != argc) {
        fputs("penstock sim: --replay FILE is expected\n", stderr);
        return PST_EXIT_USAGE;
    }
    return replay(path, json);
}
