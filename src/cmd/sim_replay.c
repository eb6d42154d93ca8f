/* sim_replay.c - `penstock sim --replay`: a recording, stepped again. */
#include "cmd/sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "drive/replay.h"

/* Of a recording with a scaler: how soon it acted. */
static void print_reaction(const struct pst_replay_result *result)
{
    if (result->decided.count > 0)
        printf("  backlog past out_above %llu times; a decision within %.3f s\n",
               (unsigned long long)result->decided.count, (double)result->decided.longest / PST_S);
    if (result->promoted.count > 0)
        printf("  %llu promotions; the first token within %.3f s\n",
               (unsigned long long)result->promoted.count,
               (double)result->promoted.longest / PST_S);
}

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
        print_reaction(result);
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
           "\"scaler_actions\":%llu,\"cut\":%s,"
           "\"decided\":{\"count\":%llu,\"longest_ns\":%llu,\"gone\":%llu},"
           "\"promoted\":{\"count\":%llu,\"longest_ns\":%llu}",
           difference->found ? "false" : "true", (unsigned long long)result->events,
           (unsigned long long)result->actions, (unsigned long long)result->scaler_events,
           (unsigned long long)result->scaler_actions, result->cut ? "true" : "false",
           (unsigned long long)result->decided.count, (unsigned long long)result->decided.longest,
           (unsigned long long)result->gone, (unsigned long long)result->promoted.count,
           (unsigned long long)result->promoted.longest);
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
