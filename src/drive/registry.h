/*
 * registry.h - names for the indexes that the core counts by: pools, classes, replicas.
 *
 * Why: the core knows no names; the relay, the probes, the metrics and the admin page all need the
 * same ones, also for a replica that has just gone. Lists of replicas come from configuration and from
 * discovery: both end here. One that is listed is called by its URL; one that was found has a name of its
 * own (a pod's), and an address once it has one.
 *
 * Guarantee: a replica's index is not used again for 10 minutes after it left (its metrics and late
 * events are its own), unless there is no other: then the longest gone gives its own. Names are copied.
 * Not thread-safe.
 */
#ifndef PST_DRIVE_REGISTRY_H
#define PST_DRIVE_REGISTRY_H

#include "core/gate.h"

struct pst_registry_replica {
    bool present;
    uint16_t pool;
    char *name;  /* everywhere; NULL: the index was never used */
    char *url;   /* NULL: no address yet */
    pst_ns left; /* when it went, if not present and named */
};

struct pst_registry {
    char *pools[PST_POOLS_MAX];
    uint32_t pools_count;
    char *classes[PST_CLASSES_MAX];
    uint32_t classes_count;
    struct pst_registry_replica replicas[PST_REPLICAS_MAX];
};

void pst_registry_init(struct pst_registry *registry);
void pst_registry_done(struct pst_registry *registry);
int pst_registry_pool(struct pst_registry *registry, const char *name, uint16_t *ret_pool);
int pst_registry_class(struct pst_registry *registry, const char *name);
/* Finds or adds. PST_E_FULL: PST_REPLICAS_MAX are in use. */
int pst_registry_replica_add(struct pst_registry *registry, uint16_t pool, const char *name,
                             pst_ns now, uint16_t *ret_replica);
/* Where it is reached. PST_OK or PST_E_NOMEM. */
int pst_registry_replica_address(struct pst_registry *registry, uint16_t replica, const char *url);
void pst_registry_replica_remove(struct pst_registry *registry, uint16_t replica, pst_ns now);
/* True while the index stands for this replica: it is here, or left less than 10 minutes ago. */
bool pst_registry_replica_is_named(const struct pst_registry *registry, uint16_t replica,
                                   pst_ns now);
/* One that is present, by its name or its address. */
bool pst_registry_replica_find(const struct pst_registry *registry, const char *name,
                               uint16_t *ret_replica);

#endif
