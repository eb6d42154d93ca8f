/*
 * keeper_room.h - what the files of the keeper share; see keeper.h.
 *
 *   keeper.c         from the first process's start to its end: loop, signals, sources
 *   keeper_child.c   the gateway's process: its start, its crash, its end
 *   keeper_enter.c   … and its own first steps
 *   keeper_tell.c    what sources say, kept for a gateway that is started again
 *   keeper_config.c  the configuration, read again and handed on
 */
#ifndef PST_SCALE_KEEPER_ROOM_H
#define PST_SCALE_KEEPER_ROOM_H

#include <sys/types.h>

#include "scale/keeper.h"
#include "scale/measure.h"
#include "scale/source.h"

/* Where the child finds what it was given, and the variable that says so: its value is the path. */
#define PST_KEEPER_WIRE     3
#define PST_KEEPER_PACKAGE  4
#define PST_KEEPER_VARIABLE "PENSTOCK_KEEPER"

#define PST_KEEPER_ORPHANS_MAX 64

/* What was said last, for whoever has not heard it: its age grows. */
struct pst_keeper_word {
    bool said;
    struct pst_scaler_event event;
};

struct pst_keeper_pool {
    struct pst_source *source; /* NULL: its replicas are not found here */
    bool synced;
    struct pst_keeper_word signals[PST_SIGNAL_COUNT], scale;
};

struct pst_keeper {
    struct pst_config *config;
    struct pst_loop *loop;
    struct pst_source_host host;
    struct pst_measure_host measure_host;
    struct pst_measure *measure;
    struct pst_keeper_pool pools[PST_POOLS_MAX];
    struct pst_source *orphans[PST_KEEPER_ORPHANS_MAX]; /* of pools that are no more */
    size_t orphans_count;
    int lock; /* of the state folder; -1 */

    struct pst_wire_replica *replicas; /* that are there */
    size_t replicas_count, replicas_size;
    uint32_t key;

    struct pst_wire *wire; /* NULL: no gateway, or none that listens */
    pid_t child;           /* 0: none */
    struct pst_io ended;   /* its pidfd */
    struct pst_timer again, overdue;
    pst_ns started, backoff;
    uint32_t lives; /* gateways so far */

    bool asked; /* a signal said that we are to end */
    bool ending;
    size_t to_stop; /* sources that have not stopped */
    int status;     /* ours, at the end */
};

/* keeper.c */
int pst_keeper_sources(
    struct pst_keeper *keeper); /* at start, and those of pools that a reload added */
/* The gateway is gone for good. Engines are stopped, or left to the next start. */
void pst_keeper_end(struct pst_keeper *keeper, int status, bool stops);

/* keeper_child.c */
int pst_keeper_child_start(struct pst_keeper *keeper);
void pst_keeper_child_signal(struct pst_keeper *keeper, int signal);
void pst_keeper_child_done(struct pst_keeper *keeper);

/* keeper_tell.c */
void pst_keeper_tell_init(struct pst_keeper *keeper); /* the hosts of sources and measurements */
/* To a new gateway; marks of the last one's are taken back. */
void pst_keeper_tell_all(struct pst_keeper *keeper);
void pst_keeper_received(void *user, const struct pst_wire_message *message);

/* keeper_config.c */
int pst_keeper_package(const struct pst_config *config, int *ret_fd);
void pst_keeper_reload(struct pst_keeper *keeper);

#endif
