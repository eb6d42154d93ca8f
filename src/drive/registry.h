/*
 * registry.h - names for the indexes that the core counts by: pools, classes, replicas.
 *
 * Why: the core knows no names; the relay, the probes, the metrics and the admin page all need the
 * same ones, also for a replica that has just gone. Lists of replicas come from configuration now and
 * from discovery later: both end here.
 *
 * Guarantee: a replica's index is not used again for 10 minutes after it left (its metrics and late
 * events are its own). Names are copied. Not thread-safe.
 */
#ifndef PST_DRIVE_REGISTRY_H
#define PST_DRIVE_REGISTRY_H

#include "core/gate.h"

struct pst_registry_replica {
    bool present;
    uint16_t pool;
    char *url;   /* its name everywhere */
    pst_ns left; /* when it went, if not present and url is set */
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
int pst_registry_replica_add(struct pst_registry *registry, uint16_t pool, const char *url,
                             pst_ns now, uint16_t *ret_replica);
void pst_registry_replica_remove(struct pst_registry *registry, uint16_t replica, pst_ns now);
/* True while the index stands for this replica: it is here, or left less than 10 minutes ago. */
bool pst_registry_replica_is_named(const struct pst_registry *registry, uint16_t replica,
                                   pst_ns now);
bool pst_registry_replica_find(const struct pst_registry *registry, const char *url,
                               uint16_t *ret_replica);

#endif
