/*
 * recording.h - a recording, read frame by frame; what recorder.h wrote.
 *
 * Why: a recording is stepped again (replay.h) and its arrivals are simulated under other policies; both
 * must read it the same way, and neither may trust it: a file is a stranger.
 *
 * Guarantee: an event that is handed out names only tickets, pools, classes and replicas that the
 * configuration before it has, and its time is never less than the last one's.
 */
#ifndef PST_DRIVE_RECORDING_H
#define PST_DRIVE_RECORDING_H

#include "core/scaler.h"
#include "drive/layout_scaler.h"

struct pst_recording;

struct pst_recording_frame {
    char type; /* PST_RECORDER_CONFIG, _EVENT, _ACTION, and the scaler's; others are not known */
    size_t len;
    uint8_t bytes[PST_LAYOUT_CONFIG_MAX];
};

enum pst_recording_next {
    PST_RECORDING_FRAME,
    PST_RECORDING_END,   /* in good order: the trailer was read */
    PST_RECORDING_CUT,   /* its last moments are missing */
    PST_RECORDING_WRONG, /* a frame is longer than any can be */
    PST_RECORDING_NEXT_COUNT
};

/* PST_E_SYSTEM (errno), PST_E_SYNTAX (*ret_why: English, static), PST_E_NOMEM. */
int pst_recording_open(const char *path, struct pst_recording **ret_recording,
                       const char **ret_why);
void pst_recording_close(struct pst_recording *recording); /* takes NULL */

/* ret_frame is written with FRAME only. */
enum pst_recording_next pst_recording_next(struct pst_recording *recording,
                                           struct pst_recording_frame *ret_frame);

/* What a frame of that type holds. False: it cannot be read, or says what cannot be. */
bool pst_recording_config(struct pst_recording *recording, const struct pst_recording_frame *frame,
                          struct pst_gate_config *ret_config);
bool pst_recording_event(struct pst_recording *recording, const struct pst_recording_frame *frame,
                         struct pst_gate_event *ret_event);
/* The scaler's, likewise. */
bool pst_recording_scaler_config(struct pst_recording *recording,
                                 const struct pst_recording_frame *frame,
                                 struct pst_scaler_config *ret_config);
bool pst_recording_scaler_event(struct pst_recording *recording,
                                const struct pst_recording_frame *frame,
                                struct pst_scaler_event *ret_event);

#endif
