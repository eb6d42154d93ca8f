/*
 * source.h - where the replicas of a pool come from: what local processes, a cluster and DNS have in common.
 *
 * Why: the keeper runs sources and passes on what they say; a new kind of source is one file that fills
 * this struct. Sources of one loop, one thread.
 *
 * Guarantee: found() is called with every replica and every change of it, GONE last; a key is never used
 * for another replica. Sources act on an action without waiting, and answer it with result().
 */
#ifndef PST_SCALE_SOURCE_H
#define PST_SCALE_SOURCE_H

#include "config/config.h"
#include "scale/wire.h"

/* What a source is given. */
struct pst_source_host {
    struct pst_loop *loop;
    const struct pst_config *config; /* replaced by reload */
    void *user;
    uint32_t (*next_key)(void *user);
    void (*found)(void *user, const struct pst_wire_replica *replica);
    /* SIGNAL, SCALE, RESULT (u.result.replica is not used; key says which) … */
    void (*event)(void *user, uint32_t key, const struct pst_scaler_event *event);
    void (*synced)(void *user, uint16_t pool); /* what was there at the start has been found */
};

struct pst_source; /* each kind begins with it */

struct pst_source_kind {
    const char *name;
    /* key: of the replica the action names; 0 for START. */
    void (*act)(struct pst_source *source, uint32_t key, const struct pst_scaler_action *action);
    /* New configuration: host->config. */
    void (*reload)(struct pst_source *source);
    /* The gateway has drained and the program ends: stop or keep what runs, then stopped(). */
    void (*stop)(struct pst_source *source, void (*stopped)(void *user), void *user);
    void (*free)(struct pst_source *source);
};

struct pst_source {
    const struct pst_source_kind *kind;
    const struct pst_source_host *host;
    uint16_t pool;
};

/* One per kind, in local.c, kube.c, dns.c. The pool's configuration says how. */
int pst_local_new(const struct pst_source_host *host, uint16_t pool,
                  struct pst_source **ret_source);
int pst_kube_new(const struct pst_source_host *host, uint16_t pool, struct pst_source **ret_source);
int pst_dns_new(const struct pst_source_host *host, uint16_t pool, struct pst_source **ret_source);

#endif
