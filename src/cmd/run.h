/*
 * run.h - the running gateway: what the files of `penstock run` share.
 *
 * Why: the rooms know nothing of one another; here they meet. One process, one loop, one thread; where
 * engines, pods or tokens have to be kept, it is the child of the process that keeps them (keeper.h), and
 * hears of them over a wire.
 */
#ifndef PST_CMD_RUN_H
#define PST_CMD_RUN_H

#include "config/config.h"
#include "drive/capacity.h"
#include "drive/drive.h"
#include "drive/registry.h"
#include "gateway/gateway.h"
#include "net/loop.h"
#include "observe/observe.h"
#include "scale/calendar.h"
#include "scale/keda.h"
#include "scale/measure.h"
#include "scale/source.h"
#include "scale/wire.h"

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

/* Replicas that others find, by the keys that they are called by: the keeper's, or ours. */
struct pst_run_found {
    uint32_t keys[PST_REPLICAS_MAX];           /* by replica; 0: none */
    uint32_t key_next;                         /* of ours, less PST_WIRE_KEY_LISTED */
    struct pst_source_host host;               /* of the sources that need no credentials */
    struct pst_source *sources[PST_POOLS_MAX]; /* NULL: none */
};

struct pst_run {
    struct pst_config *config;
    struct pst_loop *loop;
    struct pst_drive *drive;
    struct pst_capacity *capacity;
    struct pst_registry registry;
    struct pst_metrics *metrics;
    struct pst_gateway *gateway;
    struct pst_observe *observe;
    struct pst_keda *keda; /* NULL: nobody asks */
    struct pst_calendar *calendar;
    struct pst_measure_host measure_host;
    struct pst_measure *measure;     /* NULL: the keeper asks */
    struct pst_wire *wire;           /* to the keeper; NULL: there is none */
    struct pst_timer gate_timer;     /* the gate's own deadline */
    struct pst_timer capacity_timer; /* the scaler's next second */
    struct pst_run_found found;
    struct pst_run_drain drain;
    int exit_code;
};

/* run_drain.c */
void pst_run_drain_init(struct pst_run *run);
void pst_run_drain_begin(struct pst_run *run, pst_ns grace, pst_ns deadline);
void pst_run_drain_exit(struct pst_run *run); /* a signal: begin unless begun, then exit */
void pst_run_drain_look(struct pst_run *run); /* a request ended, or the gate says drained */
void pst_run_drain_status(const struct pst_run *run, struct pst_drain_status *ret_status);

/* run_config.c: all say every problem on stderr. */
int pst_run_config_read(const char *path, struct pst_config **ret_config);
/*
 * PST_OK, or what was wrong in `message`; then the old configuration stays. PST_E_AGAIN: the keeper was
 * asked, and pst_run_reloaded() follows.
 */
int pst_run_reload(struct pst_run *run, char message[PST_OBSERVE_MESSAGE_MAX]);
/* The keeper's answer: sealed memory with the text, or what was wrong with it. */
void pst_run_reloaded(struct pst_run *run, const struct pst_wire_message *message);

/* run_capacity.c: how many replicas there should be, and what becomes of that. */
int pst_run_capacity_new(struct pst_run *run);
int pst_run_capacity_begin(struct pst_run *run);  /* the gateway is there; the sources begin */
void pst_run_capacity_first(struct pst_run *run); /* the past was told: the first second, now */
void pst_run_capacity_fleet_action(struct pst_run *run, const struct pst_gate_action *action);
int pst_run_capacity_reload(struct pst_run *run, const struct pst_config *config);
void pst_run_capacity_free(struct pst_run *run); /* takes half-built ones */

/* run_found.c: replicas that a source tells of become the gateway's, the gate's and the scaler's. */
void pst_run_found(struct pst_run *run, const struct pst_wire_replica *replica);
/* An event of the scaler; of a RESULT, `key` says whose. */
void pst_run_found_event(struct pst_run *run, uint32_t key, const struct pst_scaler_event *event);
/* False: nobody is called so (any more). */
bool pst_run_found_index(const struct pst_run *run, uint32_t key, uint16_t *ret_replica);
uint32_t pst_run_found_key(struct pst_run *run); /* a new one of ours */

/* run_sources.c: sources that need no credentials live here. */
int pst_run_sources_reload(struct pst_run *run, const struct pst_config *config); /* at start too */
void pst_run_sources_free(struct pst_run *run);

/* run_measure.c: what others measure; where there is a keeper, it asks. */
int pst_run_measure_reload(struct pst_run *run, const struct pst_config *config); /* at start too */
void pst_run_measure_past(struct pst_run *run, const struct pst_wire_day *day);

/* run_wire.c: what the keeper tells, and is told. */
int pst_run_wire_new(struct pst_run *run, int fd);
void pst_run_wire_act(struct pst_run *run, const struct pst_scaler_action *action);
bool pst_run_wire_reload(struct pst_run *run); /* False: it cannot be asked */

#endif
