/*
 * recorder.h - everything that went into gate and scaler and everything that came out, as a file.
 *
 * Why: a policy bug that was seen once in production must be seen again at a desk. The gate is a
 * function of its configuration and events, so writing those down is enough; the actions beside them
 * prove that the copy behaves as the original did. So is the scaler.
 *
 * The file: magic, layout digest, then frames {length u16, type u8, bytes}: 'C' configuration, 'E'
 * event, 'A' action of the gate, 'c', 'e', 'a' of the scaler, if it was recorded, and 'Z' (counts of the
 * gate's) when the recording was ended in good order. The scaler may step between two actions of the gate.
 *
 * Guarantee: recording never stops the service. A write that fails ends the recording with one message;
 * what was written stays usable. Bytes leave in writes of about 256 KiB, or once a second; a failed
 * assertion writes what has waited first, so that the event that caused it is there.
 */
#ifndef PST_DRIVE_RECORDER_H
#define PST_DRIVE_RECORDER_H

#include "core/scaler.h"

#define PST_RECORDER_MAGIC   "penstock recording 1\n"
#define PST_RECORDER_FRAME   3 /* bytes before a frame's own */
#define PST_RECORDER_CONFIG  'C'
#define PST_RECORDER_EVENT   'E'
#define PST_RECORDER_ACTION  'A'
#define PST_RECORDER_TRAILER 'Z'

#define PST_RECORDER_SCALER_CONFIG 'c'
#define PST_RECORDER_SCALER_EVENT  'e'
#define PST_RECORDER_SCALER_ACTION 'a'

struct pst_recorder;

/* One in a process at a time. Creates or empties the file. PST_E_SYSTEM (errno) or PST_E_NOMEM. */
int pst_recorder_new(const char *path, struct pst_recorder **ret_recorder);
void pst_recorder_free(struct pst_recorder *recorder); /* ends the file; takes NULL */

void pst_recorder_config(struct pst_recorder *recorder, const struct pst_gate_config *config);
void pst_recorder_event(struct pst_recorder *recorder, const struct pst_gate_event *event);
void pst_recorder_action(struct pst_recorder *recorder, const struct pst_gate_action *action);

void pst_recorder_scaler_config(struct pst_recorder *recorder,
                                const struct pst_scaler_config *config);
void pst_recorder_scaler_event(struct pst_recorder *recorder, const struct pst_scaler_event *event);
void pst_recorder_scaler_action(struct pst_recorder *recorder,
                                const struct pst_scaler_action *action);

/* Between two events: writes what has waited for a second. */
void pst_recorder_settled(struct pst_recorder *recorder, pst_ns now);

/* False after a write failed. */
bool pst_recorder_is_on(const struct pst_recorder *recorder);

#endif
