/* gateway.c - see gateway.h. */
#include "gateway/gateway.h"

#include <stdlib.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/random.h"
#include "gateway/inside.h"

void pst_gateway_event(struct pst_gateway *gateway, struct pst_gate_event *event)
{
    event->now = pst_loop_now(gateway->loop);
    pst_drive_event(gateway->drive, event);
}

static struct pst_request *find(struct pst_gateway *gateway, struct pst_ticket_id id)
{
    struct pst_request *request = gateway->by_ticket[id.index];

    PST_ASSERT(request != NULL && request->ticket.generation == id.generation);
    return request;
}

void pst_gateway_request_action(struct pst_gateway *gateway, const struct pst_gate_action *action)
{
    struct pst_request *request;

    switch ((enum pst_gate_action_kind)action->kind) {
    case PST_ACTION_CONTINUE:
    case PST_ACTION_PAUSE:
        request = find(gateway, action->u.ticket.id);
        if (request->exchange != NULL)
            pst_exchange_read(request->exchange, action->kind == PST_ACTION_CONTINUE);
        break;
    case PST_ACTION_DISPATCH:
        pst_forward_dispatch(find(gateway, action->u.dispatch.id), action);
        break;
    case PST_ACTION_CLOSE:
        request = find(gateway, action->u.close.id);
        if (request->attempt == action->u.close.attempt)
            pst_relay_close(request);
        break;
    case PST_ACTION_FINISH:
        pst_request_conclude(find(gateway, action->u.finish.id), action);
        break;
    case PST_ACTION_CHECK:
    case PST_ACTION_DRAINED:
    case PST_ACTION_WAKE:
    case PST_ACTION_STATE:
    case PST_ACTION_COUNT:
        break;
    }
}

void pst_gateway_fleet_action(struct pst_gateway *gateway, const struct pst_gate_action *action)
{
    if (action->kind == PST_ACTION_CHECK)
        pst_probe_start(gateway, action->u.check.replica, (enum pst_probe)action->u.check.probe);
    else if (action->kind == PST_ACTION_DRAINED && action->u.drained.replica != PST_REPLICA_ALL)
        pst_replicas_drained(gateway, action->u.drained.replica);
    else if (action->kind == PST_ACTION_STATE && action->u.state.to == PST_REPLICA_LOADING)
        pst_warmup_forget(&gateway->replicas[action->u.state.replica]);
}

static int register_names(struct pst_gateway *gateway)
{
    const struct pst_config *config = gateway->config;
    uint16_t pool;
    int rc = PST_OK;

    for (uint32_t c = gateway->registry->classes_count;
         rc == PST_OK && c < config->gate.classes_count; c++)
        rc = pst_registry_class(gateway->registry, config->class_names[c]);
    for (size_t p = gateway->registry->pools_count; rc == PST_OK && p < config->pools_count; p++)
        rc = pst_registry_pool(gateway->registry, config->pools[p].name, &pool);
    return rc;
}

/* Refused by the server, before there was a request: it is counted and logged all the same. */
static void server_refused(void *user, uint16_t status, const char *why,
                           const struct sockaddr *peer, char id[static PST_SERVER_ID_BYTES])
{
    struct pst_gateway *gateway = user;
    char address[PST_REQUEST_PEER_MAX];
    pst_ns now = pst_loop_now(gateway->loop);
    struct pst_access record = {
        .started = now,
        .ended = now,
        .pool = PST_ACCESS_NO_POOL,
        .class_ = PST_ACCESS_NO_CLASS,
        .outcome = PST_OUTCOME_REFUSED,
        .refusal = pst_refuse_code(status),
        .status = status,
    };

    (void)why; /* the client was told */
    pst_request_peer(peer, address);
    record.peer = pst_slice_of(address);
    pst_request_new_id(gateway, id, PST_SERVER_ID_BYTES);
    record.request_id = pst_slice_of(id);
    gateway->finished(gateway->user, &record);
}

/* Clients leave a quarter of the descriptors to replicas, and some for logs, pages and ourselves. */
static uint32_t connections_max(const struct pst_config *config)
{
    uint64_t limit = pst_fd_limit_raise(), room = limit <= 64 ? limit / 2 : (limit - 32) / 4 * 3;

    if (room >= config->connections_max)
        return config->connections_max;
    pst_say(PST_LOG_WARN,
            "limits.connections is %u, but %llu open files leave room for %llu: raise that limit "
            "(ulimit -n, LimitNOFILE=)",
            config->connections_max, (unsigned long long)limit, (unsigned long long)room);
    return (uint32_t)room;
}

static void take_timeouts(const struct pst_config *config, struct pst_server_config *server)
{
    server->head_timeout = config->head_timeout;
    server->body_timeout = config->body_timeout;
    server->idle_timeout = config->idle_timeout;
    server->write_stall = config->write_stall;
}

static int listen_here(struct pst_gateway *gateway)
{
    const struct pst_config *config = gateway->config;
    struct pst_server_config server = {
        .handler = &pst_intake_handler,
        .user = gateway,
        .head_max = config->head_max,
        .connections_max = connections_max(config),
        .low_water = PST_GATEWAY_LOW_WATER,
        .refused = server_refused,
        .error_body = pst_refuse_body,
    };
    int rc;

    take_timeouts(config, &server);
    rc = pst_server_new(gateway->loop, &server, &gateway->server);
    return rc == PST_OK ? pst_server_listen(gateway->server, config->listen) : rc;
}

int pst_gateway_new(const struct pst_gateway_config *config, struct pst_gateway **ret_gateway)
{
    struct pst_gateway *gateway = calloc(1, sizeof *gateway);
    struct pst_random random = {.left = 0};
    int rc = PST_E_NOMEM;

    if (gateway == NULL)
        return PST_E_NOMEM;
    gateway->loop = config->loop;
    gateway->drive = config->drive;
    gateway->registry = config->registry;
    gateway->metrics = config->metrics;
    gateway->config = config->config;
    gateway->finished = config->finished;
    gateway->user = config->user;
    gateway->created = (uint64_t)time(NULL);
    gateway->scratch_size = 2 * (size_t)config->config->head_max + 8192;
    gateway->scratch = malloc(gateway->scratch_size);
    gateway->by_ticket = calloc(config->config->gate.tickets_max, sizeof(struct pst_request *));
    if (gateway->scratch == NULL || gateway->by_ticket == NULL)
        goto fail;
    pst_random_fill(&random, &gateway->id_prefix, sizeof gateway->id_prefix);
    rc = pst_catalog_build(gateway->config, &gateway->catalog);
    if (rc != PST_OK)
        goto fail;
    rc = register_names(gateway);
    if (rc != PST_OK)
        goto fail;
    rc = listen_here(gateway);
    if (rc != PST_OK)
        goto fail;

    *ret_gateway = gateway;
    return PST_OK;

fail:
    pst_gateway_free(gateway);
    return rc;
}

int pst_gateway_start(struct pst_gateway *gateway)
{
    return pst_replicas_apply(gateway);
}

void pst_gateway_free(struct pst_gateway *gateway)
{
    if (gateway == NULL)
        return;
    pst_server_free(gateway->server);
    pst_replicas_done(gateway);
    while (gateway->free != NULL) {
        struct pst_request *next = gateway->free->next_free;

        free(gateway->free);
        gateway->free = next;
    }
    pst_catalog_done(&gateway->catalog);
    free(gateway->by_ticket);
    free(gateway->scratch);
    free(gateway);
}

int pst_gateway_reload(struct pst_gateway *gateway, const struct pst_config *config)
{
    struct pst_server_config timeouts = {.handler = NULL};
    struct pst_catalog catalog;
    int rc = pst_catalog_build(config, &catalog);

    if (rc != PST_OK)
        return rc;
    pst_catalog_done(&gateway->catalog);
    gateway->catalog = catalog;
    gateway->config = config;
    take_timeouts(config, &timeouts);
    pst_server_retime(gateway->server, &timeouts);
    rc = register_names(gateway);
    return rc == PST_OK ? pst_replicas_apply(gateway) : rc;
}

void pst_gateway_close_after(struct pst_gateway *gateway)
{
    pst_server_close_after(gateway->server, true);
}

void pst_gateway_stop(struct pst_gateway *gateway)
{
    pst_server_drain(gateway->server);
}

void pst_gateway_cut(struct pst_gateway *gateway)
{
    for (uint32_t i = 0; i < gateway->config->gate.tickets_max; i++) {
        struct pst_request *request = gateway->by_ticket[i];

        if (request == NULL || request->exchange == NULL)
            continue;
        if (request->committed)
            pst_relay_break(request, PST_REASON_DRAINING);
        else
            pst_refuse_finished(request, PST_REASON_DRAINING, 0);
        pst_request_cancel(request);
    }
}

uint32_t pst_gateway_open(const struct pst_gateway *gateway)
{
    return gateway->open;
}

uint32_t pst_gateway_connections(const struct pst_gateway *gateway)
{
    return pst_server_connections(gateway->server);
}

uint16_t pst_gateway_port(const struct pst_gateway *gateway)
{
    return pst_server_port(gateway->server);
}
