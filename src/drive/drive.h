/*
 * drive.h - the only caller of the gate: events in, actions out to whoever must act.
 *
 * Why: a pure state machine needs one owner that stamps time, keeps the order, and writes down what
 * went in and out. Everything outside the core meets it here.
 *
 * An event given while actions are being handed out (an action's handler may cause events) waits in the
 * inbox and is stepped after; so handlers never see a gate in the middle of a step.
 * Guarantee: events are stepped in the order given; `now` never goes back; every action goes to the
 * gateway handler or the fleet handler exactly once. Not thread-safe: one owner.
 */
#ifndef PST_DRIVE_DRIVE_H
#define PST_DRIVE_DRIVE_H

#include "core/gate.h"

struct pst_drive;
struct pst_recorder;

struct pst_drive_handlers {
    void *user;
    /* CONTINUE PAUSE DISPATCH CLOSE FINISH */
    void (*request)(void *user, const struct pst_gate_action *action);
    /* CHECK DRAINED WAKE STATE */
    void (*fleet)(void *user, const struct pst_gate_action *action);
    /* The inbox is empty: send TIME by then. */
    void (*settled)(void *user, pst_ns deadline);
};

int pst_drive_new(const struct pst_gate_config *config, struct pst_drive **ret_drive);
void pst_drive_free(struct pst_drive *drive);
/* Events given before this wait in the inbox, so that who handles actions may be built with events. */
void pst_drive_handlers(struct pst_drive *drive, const struct pst_drive_handlers *handlers);
/* Records into a new file, configuration first; errno when PST_E_SYSTEM. Before the handlers are set. */
int pst_drive_record(struct pst_drive *drive, const char *path);
/* What it records into, for who steps beside it; NULL: nothing. */
struct pst_recorder *pst_drive_recorder(struct pst_drive *drive);
/* Never from a handler; hands out what the new numbers allow. On failure the old ones stay. */
int pst_drive_reconfigure(struct pst_drive *drive, const struct pst_gate_config *config);

/* event->now is the caller's loop time. */
void pst_drive_event(struct pst_drive *drive, const struct pst_gate_event *event);

/* A free ticket id, or false: all tickets_max are in use. Given back when FINISH was handed out. */
bool pst_drive_ticket(struct pst_drive *drive, struct pst_ticket_id *ret_id);

/* For reading views; never for stepping. */
const struct pst_gate *pst_drive_gate(const struct pst_drive *drive);

#endif
