/* sim_replay.c - `penstock sim --replay`: a recording, stepped again. */
#include "cmd/sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "drive/replay.h"

static void print_text(const char *path, const struct pst_replay_result *result)
{
    const struct pst_replay_difference *difference = &result->difference;

    if (!difference->found) {
        printf("%s: identical: %llu events, %llu actions", path, (unsigned long long)result->events,
               (unsigned long long)result->actions);
        if (result->scaler_events > 0)
            printf("; of the scaler: %llu events, %llu actions",
                   (unsigned long long)result->scaler_events,
                   (unsigned long long)result->scaler_actions);
        printf("%s\n",
               result->cut ? " (the recording was cut off; its last moments are missing)" : "");
        return;
    }
    printf("%s: differs at frame %llu, in event %llu of the %s, at %llu.%09llu s\n", path,
           (unsigned long long)difference->frame, (unsigned long long)difference->event,
           difference->of_scaler ? "scaler" : "gate", (unsigned long long)(difference->now / PST_S),
           (unsigned long long)(difference->now % PST_S));
    printf("  event:    %s\n  recorded: %s\n  replayed: %s\n", difference->event_text,
           difference->recorded, difference->replayed);
}

/* Texts are names and hexadecimal digits: nothing in them needs escaping. */
static void print_json(const struct pst_replay_result *result)
{
    const struct pst_replay_difference *difference = &result->difference;

    printf("{\"identical\":%s,\"events\":%llu,\"actions\":%llu,\"scaler_events\":%llu,"
           "\"scaler_actions\":%llu,\"cut\":%s",
           difference->found ? "false" : "true", (unsigned long long)result->events,
           (unsigned long long)result->actions, (unsigned long long)result->scaler_events,
           (unsigned long long)result->scaler_actions, result->cut ? "true" : "false");
    if (difference->found)
        printf(",\"difference\":{\"machine\":\"%s\",\"frame\":%llu,\"event\":%llu,\"now_ns\":%llu,"
               "\"event_text\":\"%s\",\"recorded\":\"%s\",\"replayed\":\"%s\"}",
               difference->of_scaler ? "scaler" : "gate", (unsigned long long)difference->frame,
               (unsigned long long)difference->event, (unsigned long long)difference->now,
               difference->event_text, difference->recorded, difference->replayed);
    puts("}");
}

int pst_sim_cmd_replay(const char *path, bool json)
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
