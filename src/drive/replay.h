/*
 * replay.h - steps a recording through a fresh gate and a fresh scaler and compares every action.
 *
 * Why: "it decided this at 3 a.m." becomes a test that runs anywhere; and a change of the policy that
 * should not change decisions proves itself on real traffic.
 *
 * Guarantee: PST_OK with difference.found == false means that every recorded action came again, byte for
 * byte, in the same place, and no other. A recording whose process was killed lacks its last moments:
 * `cut` says so, and what is there is compared.
 */
#ifndef PST_DRIVE_REPLAY_H
#define PST_DRIVE_REPLAY_H

#include "drive/reaction.h"

#define PST_REPLAY_TEXT_MAX 512

struct pst_replay_difference {
    bool found;
    bool of_scaler; /* else of the gate */
    uint64_t frame; /* number in the file, the first is 1 */
    uint64_t event; /* number of the event that was stepped */
    pst_ns now;     /* its time */
    char event_text[PST_REPLAY_TEXT_MAX];
    char recorded[PST_REPLAY_TEXT_MAX]; /* the action in the file, or "none" */
    char replayed[PST_REPLAY_TEXT_MAX]; /* the action of the fresh one, or "none" */
};

struct pst_replay_result {
    uint64_t frames;
    uint64_t events, actions;               /* of the gate */
    uint64_t scaler_events, scaler_actions; /* 0 of a recording without a scaler */
    bool cut;
    struct pst_reaction_spans decided, promoted; /* reaction.h */
    uint64_t gone;
    struct pst_replay_difference difference;
};

/*
 * PST_E_SYSTEM (errno), PST_E_SYNTAX (not a recording, or of another layout), PST_E_INVALID (the
 * recorded configuration is refused), PST_E_NOMEM. *ret_why: English, static.
 */
int pst_replay_file(const char *path, struct pst_replay_result *ret_result, const char **ret_why);

#endif
