/*
 * state.h - what is known of the engines of a pool, kept across our own death.
 *
 * Why: an engine takes minutes to load and holds GPUs. Whoever starts next must find each one that
 * runs: to take it over, or to stop it.
 *
 * Guarantee: a file is replaced whole (written beside, synced, renamed) or not at all; reading takes
 * nothing on trust: bounded, every field in its range, no number, port or process twice, or none of it. Holds
 * no command line and no environment. One process uses a folder at a time (a lock that dies with it).
 */
#ifndef PST_SCALE_STATE_H
#define PST_SCALE_STATE_H

#include <sys/types.h>

#include "pst.h"

/* The part of the folder that is the gateway's: a confined one can open no other (confine.h). */
#define PST_STATE_OF_GATEWAY "gateway"

#define PST_STATE_ENGINES_MAX 256 /* of a pool */
#define PST_STATE_GPUS_MAX    64  /* of an engine */
#define PST_STATE_BOOT_MAX    40
#define PST_STATE_SALT        16

struct pst_state_engine {
    uint32_t number; /* its name is <pool>-<number> */
    pid_t pid;       /* leads its own session and group */
    uint64_t
        start; /* when the process began, clock ticks since boot: pid and start are one process */
    uint16_t port;
    uint32_t revision; /* of the command that started it */
    uint32_t gpus[PST_STATE_GPUS_MAX];
    uint32_t gpus_count;
    bool warm;
    bool stopping; /* it was told to end */
};

struct pst_state {
    char boot[PST_STATE_BOOT_MAX]; /* of the kernel that the processes belong to */
    uint8_t salt[PST_STATE_SALT];  /* of revisions */
    uint32_t count;
    struct pst_state_engine engines[PST_STATE_ENGINES_MAX];
};

/* "<folder>/local-<pool>.json"; false: it does not fit. */
bool pst_state_path(const char *folder, const char *pool, char *path, size_t size);

/* Makes the folder where it is missing. PST_OK, PST_E_FULL: another one uses it, PST_E_SYSTEM. */
int pst_state_lock(const char *folder, int *ret_fd);

/* PST_OK; PST_E_UNKNOWN: no file; PST_E_SYNTAX: not one of ours, in parts or whole; PST_E_SYSTEM. */
int pst_state_read(const char *path, struct pst_state *ret_state);
int pst_state_write(const char *path, const struct pst_state *state);

/* Names of pools that have a file in the folder. Stops when each() returns false. */
void pst_state_pools(const char *folder, bool (*each)(void *user, const char *pool), void *user);

#endif
