/*
 * local.h - what the files of the local source share, and what the keeper needs beside source.h.
 *
 *   SPAWNED --it runs--> RUNNING --REMOVE | CANCEL | our end--> ENDING
 *      |                    |                                      |
 *      +-----not to be run--+------------its process ended---------+--> freed
 *
 * Guarantee: an engine that runs is in the state file, and holds its port and GPUs until it has ended. What
 * it started in its own group ends with it.
 */
#ifndef PST_SCALE_LOCAL_H
#define PST_SCALE_LOCAL_H

#include "scale/local_log.h"
#include "scale/local_process.h"
#include "scale/source.h"
#include "scale/state.h"

enum pst_local_life {
    PST_LOCAL_SPAWNED, /* it is not known yet whether its program runs */
    PST_LOCAL_RUNNING,
    PST_LOCAL_ENDING,
    PST_LOCAL_LIFE_COUNT
};

struct pst_local_engine {
    struct pst_local_engine *next;
    struct pst_local *local;
    enum pst_local_life life;
    struct pst_state_engine kept; /* what the next start would know of it */
    uint32_t key;                 /* 0: nobody was told of it */
    uint32_t op;
    bool asked;   /* somebody wanted its end */
    bool failed;  /* its START was answered so */
    pst_ns since; /* it was started, or found */
    struct pst_local_process process;
    struct pst_io ended; /* pidfd */
    struct pst_io report;
    struct pst_timer kill;
    struct pst_local_log log;
    char name[PST_WIRE_NAME_MAX];
};

struct pst_local {
    struct pst_source source;              /* first */
    const struct pst_config_local *config; /* NULL: a pool that is no more */
    const char *model;
    struct pst_local_engine *engines;
    char boot[PST_STATE_BOOT_MAX];
    uint8_t salt[PST_STATE_SALT];
    bool unwritten; /* the file does not say what is; tried again */
    pst_ns spawn_second;
    uint32_t spawned; /* in it */
    uint64_t quota;   /* as last told */
    pst_ns quota_at;
    struct pst_timer look;
    struct pst_later begin, settle;
    void (*stopped)(void *user); /* stop() was called */
    void *stopped_user;
    char *folder; /* of state */
    char *pool;   /* its name */
};

/* Ends the engines of a pool that is not configured any more; then its file goes. */
int pst_local_orphans_new(const struct pst_source_host *host, const char *folder, const char *pool,
                          struct pst_source **ret_source);
bool pst_local_is_of(const struct pst_source *source, const char *pool);

/* local_engine.c */
int pst_local_engine_start(struct pst_local *local, uint32_t op, bool warm);
/* One of the state file, to be announced or ended. PST_E_UNKNOWN: it is not there any more. */
int pst_local_engine_adopt(struct pst_local *local, const struct pst_state_engine *kept);
void pst_local_engine_announce(struct pst_local_engine *engine);
void pst_local_engine_end(struct pst_local_engine *engine, bool at_once);
void pst_local_engine_free(struct pst_local_engine *engine); /* leaves the process alone */

/* local.c, for local_engine.c */
void pst_local_gone(struct pst_local *local, struct pst_local_engine *engine); /* frees it */
int pst_local_save(struct pst_local *local);
void pst_local_result(struct pst_local *local, uint32_t op, enum pst_result result);
const char *pst_local_log_folder(const struct pst_local *local, char folder[PATH_MAX]);

/* local_place.c: what an engine needs for itself. */
uint64_t pst_local_places_free(const struct pst_local *local);
/* Fills port, gpus and number. PST_E_FULL: no GPU, or no port of the range is free. */
int pst_local_place(const struct pst_local *local, struct pst_state_engine *ret_kept);

#endif
