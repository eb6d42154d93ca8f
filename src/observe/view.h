/*
 * view.h - what every page reads, and the few things that only the program can do.
 *
 * Why: pages show the gate, the registry and the cells as they are; they own none of it. Draining and
 * reloading touch rooms that this one does not know, so they are asked for.
 */
#ifndef PST_OBSERVE_VIEW_H
#define PST_OBSERVE_VIEW_H

#include "base/log.h"
#include "base/metric.h"
#include "config/config.h"
#include "drive/capacity.h"
#include "drive/drive.h"
#include "drive/registry.h"
#include "net/loop.h"
#include "observe/access.h"

#define PST_OBSERVE_MESSAGE_MAX 1024

/*  SERVING --begin--> GRACE --grace over--> REFUSING --nothing left | deadline--> ENDED  */
enum pst_drain_phase {
    PST_DRAIN_SERVING,
    PST_DRAIN_GRACE,
    PST_DRAIN_REFUSING,
    PST_DRAIN_ENDED,
    PST_DRAIN_PHASE_COUNT
};

struct pst_drain_status {
    enum pst_drain_phase phase;
    pst_ns grace_until, until; /* from GRACE on */
    uint32_t left;             /* queued, in flight, or answers not yet written */
};

struct pst_view_program {
    uint32_t (*connections)(void *user);
    void (*drain_status)(void *user, struct pst_drain_status *ret_status);
    /* Begins; nothing happens when it began before. */
    void (*drain)(void *user, pst_ns grace, pst_ns deadline);
    /* PST_OK, or an error with what is wrong in `message`; PST_E_AGAIN: pst_observe_reloaded() follows. */
    int (*reload)(void *user, char message[PST_OBSERVE_MESSAGE_MAX]);
};

struct pst_view {
    struct pst_loop *loop;
    struct pst_drive *drive;
    const struct pst_capacity *capacity;
    const struct pst_registry *registry;
    struct pst_metrics *metrics;
    const struct pst_config *config;  /* replaced by a reload */
    const struct pst_log *access_log; /* NULL: none */
    const struct pst_log *decision_log;
    const struct pst_refusals *refusals;
    const char *version;
    const struct pst_view_program *program;
    void *user; /* of the program's functions */
};

#endif
