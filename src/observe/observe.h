/*
 * observe.h - everything that is seen of the gateway: metrics, access log, pages, admin.
 *
 * Why: the program tells one room what happened; who wants to know asks there.
 *
 * Guarantee: nothing here decides anything about requests, and a reader that is slow or gone (of a
 * page, of the log) costs the data plane nothing but a dropped line, which is counted.
 */
#ifndef PST_OBSERVE_OBSERVE_H
#define PST_OBSERVE_OBSERVE_H

#include "observe/view.h"

struct pst_observe;

struct pst_observe_config {
    struct pst_loop *loop;
    struct pst_drive *drive;
    const struct pst_capacity *capacity;
    const struct pst_registry *registry;
    struct pst_metrics *metrics;     /* of pst_access_sizes() */
    const struct pst_config *config; /* lives until pst_observe_reload replaced it */
    const char *version;
    const struct pst_view_program *program;
    void *user; /* of the program's functions */
};

/* Opens the log and the listeners; says what went wrong. */
int pst_observe_new(const struct pst_observe_config *config, struct pst_observe **ret_observe);
void pst_observe_free(struct pst_observe *observe); /* takes NULL */

/* 0: no such listener. */
uint16_t pst_observe_metrics_port(const struct pst_observe *observe);
uint16_t pst_observe_admin_port(const struct pst_observe *observe);

void pst_observe_finished(struct pst_observe *observe, const struct pst_access *record);
void pst_observe_fleet_action(struct pst_observe *observe, const struct pst_gate_action *action);
/* The scaler said something new of a pool. */
void pst_observe_decided(struct pst_observe *observe, const struct pst_capacity_decision *decision);
/* Once a second: how long replicas were there, and what they cost. */
void pst_observe_second(struct pst_observe *observe);
void pst_observe_drain_changed(struct pst_observe *observe);
/* message NULL: `config` is in force from now on; else what was wrong with it, and config is NULL. */
void pst_observe_reloaded(struct pst_observe *observe, const struct pst_config *config,
                          const char *message);
void pst_observe_reopen(struct pst_observe *observe); /* the logs, after rotation */

#endif
