/*
 * gateway.h - requests in flight: from a head on a socket to a ticket, a relayed answer, and a record.
 *
 * Why: everything HTTP and JSON about a request is here and nowhere else; everything about who runs
 * when is in the core. The gateway turns heads and bodies into events, and actions into calls.
 *
 * Guarantee: one request is one ticket or one refusal, and one access record. A client that leaves is
 * CANCELled in the same turn. Nothing is sent upstream without a DISPATCH.
 */
#ifndef PST_GATEWAY_GATEWAY_H
#define PST_GATEWAY_GATEWAY_H

#include "base/access.h"
#include "base/metric.h"
#include "config/config.h"
#include "drive/drive.h"
#include "drive/registry.h"
#include "net/server.h"

struct pst_gateway;

struct pst_gateway_config {
    struct pst_loop *loop;
    struct pst_drive *drive;
    struct pst_registry *registry;
    struct pst_metrics *metrics;
    const struct pst_config *config; /* lives until pst_gateway_reload replaced it */
    void (*finished)(void *user, const struct pst_access *record);
    void *user;
};

/* Registers pools and classes, and listens (nothing is read yet). errno when PST_E_SYSTEM. */
int pst_gateway_new(const struct pst_gateway_config *config, struct pst_gateway **ret_gateway);
/* Adds the static replicas: the drive's handlers must be set, for the first CHECKs come at once. */
int pst_gateway_start(struct pst_gateway *gateway);
void pst_gateway_free(struct pst_gateway *gateway);

/* Handlers for the drive: all its request actions, and all its fleet actions (others are ignored here). */
void pst_gateway_request_action(struct pst_gateway *gateway, const struct pst_gate_action *action);
void pst_gateway_fleet_action(struct pst_gateway *gateway, const struct pst_gate_action *action);

/* Replicas, tenants and limits of a configuration that needs no restart. The old one may be freed after. */
int pst_gateway_reload(struct pst_gateway *gateway, const struct pst_config *config);

/*
 * A replica that was found (a pod, a local engine, an address in DNS): told to the gate from now on. Known
 * by its name; with an address it may be probed. Again with a changed revision or address: taken over.
 */
struct pst_gateway_found {
    uint16_t pool;
    const char *name; /* in metrics, logs and pages */
    const char *url;  /* NULL: no address yet, it starts */
    uint32_t revision;
    bool warm; /* loaded, it waits for its promotion */
    /*
     * Nobody tells one engine at this address from the next. So a drain is of the one that was there: once
     * that has drained and refused a connection, whoever answers next is another, and drains no more.
     */
    bool by_address;
};
/* PST_OK, PST_E_INVALID (url), PST_E_FULL, PST_E_NOMEM. */
int pst_gateway_found(struct pst_gateway *gateway, const struct pst_gateway_found *found,
                      uint16_t *ret_replica);
/* Somebody else ends it: no new work from now on; what runs may end by `until`. */
void pst_gateway_leaves(struct pst_gateway *gateway, uint16_t replica, pst_ns until);
/* It is not there any more. */
void pst_gateway_lost(struct pst_gateway *gateway, uint16_t replica, enum pst_cause cause);

/* close_after: Connection: close on every response. stop: no new connections. */
void pst_gateway_close_after(struct pst_gateway *gateway);
void pst_gateway_stop(struct pst_gateway *gateway);

/* The deadline came: what is left ends visibly: an event, a refusal or a broken connection. */
void pst_gateway_cut(struct pst_gateway *gateway);

/* Requests in flight, answers included. */
uint32_t pst_gateway_open(const struct pst_gateway *gateway);
uint32_t pst_gateway_connections(const struct pst_gateway *gateway);
uint16_t pst_gateway_port(const struct pst_gateway *gateway);

#endif
