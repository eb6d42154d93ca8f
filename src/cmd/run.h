/*
 * run.h - the running gateway: what the files of `penstock run` share.
 *
 * Why: the rooms know nothing of one another; here they meet. One process, one loop, one thread.
 */
#ifndef PST_CMD_RUN_H
#define PST_CMD_RUN_H

#include "config/config.h"
#include "drive/drive.h"
#include "drive/registry.h"
#include "gateway/gateway.h"
#include "net/loop.h"
#include "observe/observe.h"

/*
 * The end of the gateway, in order: readiness is taken away, what still comes is served for the grace
 * (with Connection: close), then refused; it has ended when nothing is queued, in flight or unwritten,
 * or at the deadline. When the process is to exit, the listener closes after the grace.
 */
struct pst_run_drain {
    enum pst_drain_phase phase;
    pst_ns grace_until, until;
    bool exits;             /* a signal came: the process ends when the drain has */
    bool stopped;           /* the listener is closed */
    bool over;              /* the loop was told to stop */
    bool cut;               /* the deadline ended it, with something left */
    pst_ns flush_until;     /* the exit waits so long for last bytes; 0: not yet */
    struct pst_timer timer; /* next change of phase */
    struct pst_later look;  /* something ended: look whether that was all */
};

struct pst_run {
    struct pst_config *config;
    struct pst_loop *loop;
    struct pst_drive *drive;
    struct pst_registry registry;
    struct pst_metrics *metrics;
    struct pst_gateway *gateway;
    struct pst_observe *observe;
    struct pst_timer gate_timer; /* the gate's own deadline */
    struct pst_run_drain drain;
    int exit_code;
};

/* run_drain.c */
void pst_run_drain_init(struct pst_run *run);
void pst_run_drain_begin(struct pst_run *run, pst_ns grace, pst_ns deadline);
void pst_run_drain_exit(struct pst_run *run); /* a signal: begin unless begun, then exit */
void pst_run_drain_look(struct pst_run *run); /* a request ended, or the gate says drained */
void pst_run_drain_status(const struct pst_run *run, struct pst_drain_status *ret_status);

/* run_config.c: both say every problem on stderr. */
int pst_run_config_read(const char *path, struct pst_config **ret_config);
/* PST_OK, or what was wrong in `message`; then the old configuration stays. */
int pst_run_reload(struct pst_run *run, char message[PST_OBSERVE_MESSAGE_MAX]);

#endif
