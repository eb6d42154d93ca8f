/*
 * capacity.h - the only caller of the scaler: what the gate and the world say goes in, decisions and
 * their steps come out.
 *
 * Why: the scaler is a pure state machine with one owner, as the gate is. The owner ticks it once a
 * second, tells it what the gate counted and which replicas there are, keeps its decisions with their
 * reasons, and hands its actions to whoever can carry them out.
 *
 * DRAIN, UNDRAIN and PROMOTE go to the gate from here; START, CANCEL, MARK and REMOVE go to act(), whose
 * owner answers with RESULT events. Every action also goes to act(), so that it may be logged; a decision
 * that differs from the last one, or is a minute old, goes to decided().
 *
 * Guarantee: events are stepped in the order given, those given from a handler after the actions of the
 * step. A WAKE is decided at once. Both clocks are the caller's. Not thread-safe: one owner.
 */
#ifndef PST_DRIVE_CAPACITY_H
#define PST_DRIVE_CAPACITY_H

#include "core/observe.h"
#include "core/scaler.h"
#include "drive/drive.h"

#define PST_CAPACITY_KEPT 256 /* decisions kept of a pool, newest first */

struct pst_capacity;

/* A decision, and when: for /explain, the decision log and whoever asks later. */
struct pst_capacity_decision {
    pst_ns at;                       /* monotonic */
    uint64_t wall_ns;                /* since 1970, UTC; 0: not known */
    struct pst_scaler_action action; /* kind DECISION */
    struct pst_scaler_inputs inputs; /* as old as they were then */
};

struct pst_capacity_handlers {
    void *user;
    void (*act)(void *user, const struct pst_scaler_action *action);
    void (*decided)(void *user, const struct pst_capacity_decision *decision);
    /* Call pst_capacity_tick() by then. */
    void (*settled)(void *user, pst_ns deadline);
};

/* What the drive records, this records too: after pst_drive_record(). */
int pst_capacity_new(const struct pst_scaler_config *config, struct pst_drive *drive,
                     struct pst_capacity **ret_capacity);
void pst_capacity_free(struct pst_capacity *capacity); /* takes NULL */
void pst_capacity_handlers(struct pst_capacity *capacity,
                           const struct pst_capacity_handlers *handlers);
int pst_capacity_reconfigure(struct pst_capacity *capacity, const struct pst_scaler_config *config);

/* `now` is the loop's, `wall_ns` 0 when not known. Observes all pools, tells all replicas, then ticks. */
void pst_capacity_tick(struct pst_capacity *capacity, pst_ns now, uint64_t wall_ns);
/* SIGNAL, FLOOR, SCALE, RESULT, HISTORY, SYNCED; and REPLICA of one that the gate does not know yet. */
void pst_capacity_event(struct pst_capacity *capacity, const struct pst_scaler_event *event);
/* All fleet actions of the drive: STATE, DRAINED and WAKE are of use here. */
void pst_capacity_fleet_action(struct pst_capacity *capacity, const struct pst_gate_action *action,
                               pst_ns now);
/* Who a replica is, before its first state: the START that made it (0: none) and its revision. */
void pst_capacity_replica(struct pst_capacity *capacity, uint16_t replica, uint16_t pool,
                          uint32_t op, uint32_t revision);
/* Others have begun to end it: whoever keeps the number of its pool counts it as gone. */
void pst_capacity_going(struct pst_capacity *capacity, uint16_t replica);
/* The next GONE of this replica is nobody's wish. */
void pst_capacity_crashed(struct pst_capacity *capacity, uint16_t replica);

const struct pst_scaler *pst_capacity_scaler(const struct pst_capacity *capacity);
/* Newest first from index 0. False: no such one. */
bool pst_capacity_decision(const struct pst_capacity *capacity, uint16_t pool, uint32_t index,
                           struct pst_capacity_decision *ret_decision);

#endif
