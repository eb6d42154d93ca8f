/*
 * replicas.c - the lists of replicas, kept true: who is new is told to the gate, who left is drained first.
 */
#include <stdlib.h>

#include "gateway/inside.h"

#define IDLE_MAX       256 /* kept-alive connections to one replica */
#define PROGRESS_EVERY (100 * PST_MS)

static void tell(struct pst_gateway *gateway, uint16_t index, enum pst_replica_state state,
                 enum pst_cause cause)
{
    struct pst_gate_event event = {.kind = PST_EVENT_REPLICA};

    event.u.replica.replica = index;
    event.u.replica.pool = gateway->replicas[index].pool;
    event.u.replica.state = (uint8_t)state;
    event.u.replica.cause = (uint8_t)cause;
    pst_gateway_event(gateway, &event);
}

static void drain(struct pst_gateway *gateway, uint16_t index)
{
    struct pst_gate_event event = {.kind = PST_EVENT_DRAIN};

    event.u.drain.replica = index;
    event.u.drain.until = pst_loop_now(gateway->loop) + gateway->config->drain_deadline;
    gateway->replicas[index].leaving = true;
    pst_gateway_event(gateway, &event);
}

static void release(struct pst_gateway_replica *replica)
{
    pst_probe_cancel(replica);
    pst_upstream_free(replica->upstream);
    free(replica->base_path);
    replica->upstream = NULL;
    replica->base_path = NULL;
}

/* At the turn's end: the calls that GONE closed are closed by then. */
static void release_later(struct pst_later *later)
{
    struct pst_gateway_replica *replica =
        (struct pst_gateway_replica *)(void *)((char *)later -
                                               offsetof(struct pst_gateway_replica, free_later));

    if (replica->leaving && replica->upstream != NULL)
        release(replica);
    replica->leaving = false;
}

static int add(struct pst_gateway *gateway, uint16_t pool_index, const struct pst_config_pool *pool,
               const struct pst_config_replica *listed)
{
    struct pst_upstream_config config = {
        .host = listed->host,
        .port = listed->port,
        .connect_timeout = pool->connect_timeout,
        .idle_timeout = pool->upstream_idle_timeout,
        .idle_max = IDLE_MAX,
        .head_max = gateway->config->head_max,
    };
    struct pst_gateway_replica *replica;
    uint16_t index;
    int rc;

    rc = pst_registry_replica_add(gateway->registry, pool_index, listed->url,
                                  pst_loop_now(gateway->loop), &index);
    if (rc != PST_OK)
        return rc;
    replica = &gateway->replicas[index];
    if (replica->free_later.queued) { /* it went in this very turn: what is left of it is old */
        pst_later_cancel(gateway->loop, &replica->free_later);
        release_later(&replica->free_later);
    }
    if (replica->upstream != NULL) {
        pst_upstream_retime(replica->upstream, config.connect_timeout, config.idle_timeout);
        if (replica->leaving) { /* it came back before it had gone */
            struct pst_gate_event event = {.kind = PST_EVENT_UNDRAIN, .u.undrain.replica = index};

            replica->leaving = false;
            pst_gateway_event(gateway, &event);
        }
        return PST_OK;
    }
    replica->gateway = gateway;
    replica->pool = pool_index;
    replica->leaving = false;
    replica->base_path = strdup(listed->base_path == NULL ? "" : listed->base_path);
    if (replica->base_path == NULL)
        return PST_E_NOMEM;
    rc = pst_upstream_new(gateway->loop, &config, &replica->upstream);
    if (rc != PST_OK) {
        free(replica->base_path);
        replica->base_path = NULL;
        pst_registry_replica_remove(gateway->registry, index, pst_loop_now(gateway->loop));
        return rc;
    }
    tell(gateway, index, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    return PST_OK;
}

static bool is_listed(const struct pst_config *config, uint16_t pool, const char *url)
{
    for (size_t i = 0; i < config->pools[pool].replicas_count; i++)
        if (strcmp(config->pools[pool].replicas[i].url, url) == 0)
            return true;
    return false;
}

int pst_replicas_apply(struct pst_gateway *gateway)
{
    const struct pst_config *config = gateway->config;

    for (uint16_t i = 0; i < PST_REPLICAS_MAX; i++) {
        struct pst_gateway_replica *replica = &gateway->replicas[i];

        if (replica->upstream != NULL && !replica->leaving &&
            !is_listed(config, replica->pool, gateway->registry->replicas[i].url))
            drain(gateway, i);
    }
    for (uint16_t p = 0; p < config->pools_count; p++) {
        for (size_t i = 0; i < config->pools[p].replicas_count; i++) {
            int rc = add(gateway, p, &config->pools[p], &config->pools[p].replicas[i]);

            if (rc != PST_OK)
                return rc;
        }
    }
    return PST_OK;
}

void pst_replicas_drained(struct pst_gateway *gateway, uint16_t index)
{
    struct pst_gateway_replica *replica = &gateway->replicas[index];

    if (replica->upstream == NULL || !replica->leaving)
        return; /* drained on request: it stays listed, and may be undrained */
    tell(gateway, index, PST_REPLICA_GONE, PST_CAUSE_REMOVED);
    pst_registry_replica_remove(gateway->registry, index, pst_loop_now(gateway->loop));
    replica->free_later.run = release_later;
    pst_later(gateway->loop, &replica->free_later);
}

void pst_replicas_done(struct pst_gateway *gateway)
{
    for (uint16_t i = 0; i < PST_REPLICAS_MAX; i++)
        if (gateway->replicas[i].upstream != NULL)
            release(&gateway->replicas[i]);
}

void pst_replicas_progress(struct pst_gateway *gateway, uint16_t index, uint32_t events,
                           bool at_once)
{
    struct pst_gateway_replica *replica = &gateway->replicas[index];
    struct pst_gate_event event = {.kind = PST_EVENT_PROGRESS};
    pst_ns now = pst_loop_now(gateway->loop);

    replica->progress_events += events;
    if (!at_once && now - replica->progress_at < PROGRESS_EVERY)
        return;
    event.u.progress.replica = index;
    event.u.progress.held_back = replica->held_back;
    event.u.progress.tokens = replica->progress_events;
    replica->progress_at = now;
    replica->progress_events = 0;
    pst_gateway_event(gateway, &event);
}
