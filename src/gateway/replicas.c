/*
 * replicas.c - who can be sent work, kept true: those that the configuration lists, and those that a source
 * found. Who is new is told to the gate; who leaves is drained first; who is lost is gone at once.
 */
#include <stdlib.h>

#include "config/scalar.h"
#include "gateway/inside.h"

#define IDLE_MAX       256 /* kept-alive connections to one replica */
#define PROGRESS_EVERY (100 * PST_MS)

static void tell(struct pst_gateway *gateway, uint16_t index, enum pst_replica_state state,
                 enum pst_cause cause)
{
    const struct pst_gateway_replica *replica = &gateway->replicas[index];
    struct pst_gate_event event = {.kind = PST_EVENT_REPLICA};

    event.u.replica.replica = index;
    event.u.replica.pool = replica->pool;
    event.u.replica.state = (uint8_t)state;
    event.u.replica.cause = (uint8_t)cause;
    event.u.replica.warm = replica->warm;
    event.u.replica.revision = replica->revision;
    pst_gateway_event(gateway, &event);
}

static void drain(struct pst_gateway *gateway, uint16_t index, pst_ns until)
{
    struct pst_gate_event event = {.kind = PST_EVENT_DRAIN};

    event.u.drain.replica = index;
    event.u.drain.until = until;
    gateway->replicas[index].leaving = true;
    pst_gateway_event(gateway, &event);
}

static void undrain(struct pst_gateway *gateway, uint16_t index)
{
    struct pst_gate_event event = {.kind = PST_EVENT_UNDRAIN};

    event.u.undrain.replica = index;
    gateway->replicas[index].leaving = false;
    pst_gateway_event(gateway, &event);
}

static void disconnect(struct pst_gateway_replica *replica)
{
    pst_probe_cancel(replica);
    pst_warmup_forget(replica);
    pst_scrape_stop(replica);
    if (replica->upstream != NULL)
        pst_upstream_free(replica->upstream);
    free(replica->base_path);
    replica->check_fails = false;
    replica->upstream = NULL;
    replica->base_path = NULL;
}

/* At the turn's end: the calls that GONE closed are closed by then. */
static void release_later(struct pst_later *later)
{
    struct pst_gateway_replica *replica =
        (struct pst_gateway_replica *)(void *)((char *)later -
                                               offsetof(struct pst_gateway_replica, free_later));

    disconnect(replica);
}

/* It came back in the very turn in which it went: what is left of it is old. */
static void release_now(struct pst_gateway *gateway, struct pst_gateway_replica *replica)
{
    if (!replica->free_later.queued)
        return;
    pst_later_cancel(gateway->loop, &replica->free_later);
    disconnect(replica);
}

/* In place of the connections that there were. On failure those stay. */
static int connect_to(struct pst_gateway *gateway, uint16_t index, const char *url)
{
    struct pst_gateway_replica *replica = &gateway->replicas[index];
    const struct pst_config_pool *pool = &gateway->config->pools[replica->pool];
    struct pst_upstream_config config = {
        .connect_timeout = pool->connect_timeout,
        .idle_timeout = pool->upstream_idle_timeout,
        .idle_max = IDLE_MAX,
        .head_max = gateway->config->head_max,
    };
    struct pst_upstream *upstream = NULL;
    struct pst_scalar_url parts;
    char *host, *base_path;
    int rc = PST_E_NOMEM;

    if (pst_scalar_url(url, &parts) != PST_OK)
        return PST_E_INVALID;
    host = strndup(parts.host, parts.host_len);
    base_path = strndup(parts.path, parts.path_len);
    config.host = host;
    config.port = parts.port;
    if (host != NULL && base_path != NULL)
        rc = pst_upstream_new(gateway->loop, &config, &upstream);
    if (rc == PST_OK)
        rc = pst_registry_replica_address(gateway->registry, index, url);
    free(host);
    if (rc != PST_OK) {
        if (upstream != NULL)
            pst_upstream_free(upstream);
        free(base_path);
        return rc;
    }
    disconnect(replica);
    replica->upstream = upstream;
    replica->base_path = base_path;
    pst_scrape_start(replica);
    return PST_OK;
}

static void take_values(struct pst_gateway *gateway, uint16_t index,
                        const struct pst_gateway_found *found, bool by_source)
{
    struct pst_gateway_replica *replica = &gateway->replicas[index];

    replica->gateway = gateway;
    replica->pool = found->pool;
    replica->found = by_source;
    replica->warm = found->warm;
    replica->by_address = found->by_address;
    replica->has_ended = false;
    replica->revision = found->revision;
}

/* Another process in its place, or the address that it waited for? */
static bool is_news(const struct pst_gateway *gateway, uint16_t index,
                    const struct pst_gateway_found *found)
{
    const struct pst_gateway_replica *replica = &gateway->replicas[index];
    const char *url = gateway->registry->replicas[index].url;

    if (found->url == NULL)
        return replica->upstream != NULL;
    return replica->upstream == NULL || replica->revision != found->revision ||
           strcmp(url, found->url) != 0;
}

static int renew(struct pst_gateway *gateway, uint16_t index, const struct pst_gateway_found *found,
                 bool by_source)
{
    int rc = PST_OK;

    if (gateway->replicas[index].leaving) /* it came back before it had gone */
        undrain(gateway, index);
    if (!is_news(gateway, index, found))
        return PST_OK;
    if (found->url != NULL)
        rc = connect_to(gateway, index, found->url);
    else
        disconnect(&gateway->replicas[index]);
    if (rc != PST_OK)
        return rc;
    take_values(gateway, index, found, by_source);
    tell(gateway, index, found->url == NULL ? PST_REPLICA_STARTING : PST_REPLICA_LOADING,
         PST_CAUSE_CONFIG);
    return PST_OK;
}

static int take(struct pst_gateway *gateway, const struct pst_gateway_found *found, bool by_source,
                uint16_t *ret_replica)
{
    struct pst_gateway_replica *replica;
    uint16_t index;
    int rc;

    rc = pst_registry_replica_add(gateway->registry, found->pool, found->name,
                                  pst_loop_now(gateway->loop), &index);
    if (rc != PST_OK)
        return rc;
    replica = &gateway->replicas[index];
    release_now(gateway, replica);
    if (replica->present) {
        rc = renew(gateway, index, found, by_source);
        if (rc == PST_OK)
            *ret_replica = index;
        return rc;
    }
    take_values(gateway, index, found, by_source);
    replica->leaving = false;
    rc = found->url == NULL ? PST_OK : connect_to(gateway, index, found->url);
    if (rc != PST_OK) {
        pst_registry_replica_remove(gateway->registry, index, pst_loop_now(gateway->loop));
        return rc;
    }
    replica->present = true;
    *ret_replica = index;
    tell(gateway, index, found->url == NULL ? PST_REPLICA_STARTING : PST_REPLICA_LOADING,
         PST_CAUSE_CONFIG);
    return PST_OK;
}

static bool is_listed(const struct pst_config *config, uint16_t pool, const char *url)
{
    for (size_t i = 0; i < config->pools[pool].replicas_count; i++)
        if (strcmp(config->pools[pool].replicas[i].url, url) == 0)
            return true;
    return false;
}

/* Who is listed no more drains; the others take the new time-outs. */
static void review(struct pst_gateway *gateway)
{
    const struct pst_config *config = gateway->config;

    for (uint16_t i = 0; i < PST_REPLICAS_MAX; i++) {
        struct pst_gateway_replica *replica = &gateway->replicas[i];

        if (!replica->present)
            continue;
        if (replica->upstream != NULL) {
            pst_upstream_retime(replica->upstream, config->pools[replica->pool].connect_timeout,
                                config->pools[replica->pool].upstream_idle_timeout);
            pst_scrape_start(replica);
        }
        if (!replica->found && !replica->leaving &&
            !is_listed(config, replica->pool, gateway->registry->replicas[i].name))
            drain(gateway, i,
                  pst_loop_now(gateway->loop) + config->scaler.pools[replica->pool].drain_deadline);
    }
}

int pst_replicas_apply(struct pst_gateway *gateway)
{
    const struct pst_config *config = gateway->config;
    uint16_t index;

    review(gateway);
    for (uint16_t p = 0; p < config->pools_count; p++) {
        for (size_t i = 0; i < config->pools[p].replicas_count; i++) {
            const char *url = config->pools[p].replicas[i].url;
            const struct pst_gateway_found listed = {.pool = p, .name = url, .url = url};
            int rc = take(gateway, &listed, false, &index);

            if (rc != PST_OK)
                return rc;
        }
    }
    return PST_OK;
}

int pst_gateway_found(struct pst_gateway *gateway, const struct pst_gateway_found *found,
                      uint16_t *ret_replica)
{
    return take(gateway, found, true, ret_replica);
}

void pst_gateway_leaves(struct pst_gateway *gateway, uint16_t replica, pst_ns until)
{
    if (gateway->replicas[replica].present && !gateway->replicas[replica].leaving)
        drain(gateway, replica, until);
}

void pst_gateway_lost(struct pst_gateway *gateway, uint16_t index, enum pst_cause cause)
{
    struct pst_gateway_replica *replica = &gateway->replicas[index];

    if (!replica->present)
        return;
    replica->present = false;
    replica->leaving = false;
    tell(gateway, index, PST_REPLICA_GONE, cause);
    pst_registry_replica_remove(gateway->registry, index, pst_loop_now(gateway->loop));
    replica->free_later.run = release_later;
    pst_later(gateway->loop, &replica->free_later);
}

void pst_replicas_drained(struct pst_gateway *gateway, uint16_t index)
{
    if (gateway->replicas[index].leaving) /* else on request: it stays, and may be undrained */
        pst_gateway_lost(gateway, index, PST_CAUSE_REMOVED);
}

bool pst_replicas_another(struct pst_gateway *gateway, uint16_t index, bool refused)
{
    struct pst_gateway_replica *replica = &gateway->replicas[index];
    struct pst_gate_replica_view view;
    bool drains = replica->by_address && !replica->leaving &&
                  pst_gate_replica_view(pst_drive_gate(gateway->drive), index, &view) &&
                  view.draining;

    if (!drains)
        replica->has_ended = false;
    else if (refused)
        replica->has_ended = replica->has_ended || view.inflight == 0;
    if (!drains || refused || !replica->has_ended)
        return false;
    replica->has_ended = false;
    tell(gateway, index, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    return true;
}

void pst_replicas_done(struct pst_gateway *gateway)
{
    for (uint16_t i = 0; i < PST_REPLICAS_MAX; i++)
        disconnect(&gateway->replicas[i]);
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
