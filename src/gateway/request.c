/* request.c - see request.h. */
#include "gateway/request.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "gateway/inside.h"
#include "gateway/writer.h"

#define FREE_MAX 1024 /* requests kept for the next; beyond, memory goes back */

struct pst_request *pst_request_new(struct pst_gateway *gateway)
{
    struct pst_request *request = gateway->free;

    if (request != NULL) {
        gateway->free = request->next_free;
        gateway->free_count--;
    } else {
        request = malloc(sizeof *request);
        if (request == NULL)
            return NULL;
    }
    memset(request, 0, offsetof(struct pst_request, peek));
    request->kept.bytes = NULL;
    request->gateway = gateway;
    request->pool = PST_POOL_NONE;
    request->replica = PST_REPLICA_ALL;
    request->model_weight = 100; /* of a request that names no model */
    request->record.class_ = PST_ACCESS_NO_CLASS;
    request->record.pool = PST_ACCESS_NO_POOL;
    pst_chain_init(&request->body);
    gateway->open++;
    return request;
}

void pst_request_new_id(struct pst_gateway *gateway, char *id, size_t size)
{
    struct pst_writer text = pst_writer(id, size);

    PST_WRITER_PUT(&text, "req-");
    pst_writer_hex(&text, gateway->id_prefix, 16);
    pst_writer_hex(&text, gateway->id_next++, 12);
    pst_writer_put(&text, pst_slice("", 1));
    PST_ASSERT(!text.full);
}

struct pst_slice pst_request_timing(const struct pst_request *request,
                                    char buffer[PST_REQUEST_TIMING_MAX])
{
    struct pst_writer text = pst_writer(buffer, PST_REQUEST_TIMING_MAX);

    PST_WRITER_PUT(&text, "queue;dur=");
    pst_writer_ms(&text, request->record.wait);
    PST_ASSERT(!text.full);
    return pst_writer_slice(&text);
}

/* By hand: inet_ntop goes through printf, for every request. */
static void put_ipv4(const struct sockaddr *peer, char buffer[PST_REQUEST_PEER_MAX])
{
    struct pst_writer text = pst_writer(buffer, PST_REQUEST_PEER_MAX);
    uint8_t part[4];

    memcpy(part, &((const struct sockaddr_in *)(const void *)peer)->sin_addr, sizeof part);
    for (size_t i = 0; i < sizeof part; i++) {
        if (i > 0)
            PST_WRITER_PUT(&text, ".");
        pst_writer_number(&text, part[i]);
    }
    pst_writer_put(&text, pst_slice("", 1));
}

void pst_request_peer(const struct sockaddr *peer, char buffer[PST_REQUEST_PEER_MAX])
{
    buffer[0] = '\0';
    if (peer->sa_family == AF_INET)
        put_ipv4(peer, buffer);
    else if (peer->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, buffer,
                  PST_REQUEST_PEER_MAX);
}

void pst_request_name(struct pst_name *name, struct pst_slice text)
{
    size_t len = text.len < sizeof name->at ? text.len : sizeof name->at;

    if (len != 0)
        memcpy(name->at, text.at, len);
    name->len = (uint8_t)len;
}

static struct pst_slice slice_of(const struct pst_name *name)
{
    return pst_slice(name->at, name->len);
}

static void tell(struct pst_request *request)
{
    struct pst_gateway *gateway = request->gateway;
    struct pst_access *record = &request->record;

    record->ended = pst_loop_now(gateway->loop);
    record->request_id = pst_slice_of(request->id);
    record->trace_id = slice_of(&request->trace);
    record->path = slice_of(&request->path);
    record->model = slice_of(&request->model);
    record->tenant = slice_of(&request->tenant_name);
    record->class_claimed = slice_of(&request->claimed);
    record->replica = slice_of(&request->replica_name);
    record->peer = pst_slice_of(request->peer);
    if (request->pool != PST_POOL_NONE)
        record->pool = request->pool;
    if (request->type < gateway->config->types_count)
        record->type = pst_slice_of(gateway->config->types[request->type].name);
    gateway->finished(gateway->user, record);
}

void pst_request_finished(struct pst_request *request)
{
    struct pst_gateway *gateway = request->gateway;

    PST_ASSERT(request->exchange == NULL && !request->ticketed);
    PST_ASSERT(!pst_call_running(&request->call));
    tell(request);
    pst_timer_cancel(gateway->loop, &request->stall);
    pst_timer_cancel(gateway->loop, &request->keepalive);
    pst_relay_reset(request);
    pst_chain_done(&request->body);
    free(request->head);
    free(request->held);
    gateway->open--;
    if (gateway->free_count >= FREE_MAX) {
        free(request);
        return;
    }
    request->next_free = gateway->free;
    gateway->free = request;
    gateway->free_count++;
}

void pst_request_cancel(struct pst_request *request)
{
    struct pst_gate_event event = {.kind = PST_EVENT_CANCEL, .u.cancel.id = request->ticket};

    PST_ASSERT(request->ticketed);
    pst_gateway_event(request->gateway, &event);
}

/* The response, as far as it is still owed. */
static void answer_client(struct pst_request *request, enum pst_reason reason,
                          uint32_t retry_after_ms)
{
    if (request->exchange == NULL)
        return;
    if (request->committed && request->whole) {
        /* Done; or the engine itself said in its answer that it failed, and that went on. */
        pst_exchange_end(request->exchange);
        request->exchange = NULL;
        return;
    }
    if (request->committed) {
        pst_relay_break(request, reason);
        return;
    }
    if (reason == PST_REASON_PASSED_ON && request->error_answer && !request->oversized) {
        pst_relay_pass_on(request);
        return;
    }
    pst_refuse_finished(request, reason, retry_after_ms);
}

void pst_request_conclude(struct pst_request *request, const struct pst_gate_action *action)
{
    enum pst_outcome outcome = (enum pst_outcome)action->u.finish.outcome;
    enum pst_reason reason = (enum pst_reason)action->u.finish.reason;
    struct pst_access *record = &request->record;

    pst_keepalive_stop(request);
    pst_call_cancel(&request->call);
    record->wait = action->u.finish.waited;
    record->length = action->u.finish.length;
    record->tokens_estimated = action->u.finish.tokens_estimated;
    record->outcome = (uint8_t)outcome;
    record->reason = (uint8_t)reason;
    if (record->refusal == NULL && request->gateway->config->pools_count == 1)
        record->pool = 0;        /* the head was judged for it, whatever the body would have said */
    if (record->refusal != NULL) /* refused by us while it had a ticket */
        record->outcome = PST_OUTCOME_REFUSED;
    answer_client(request, reason, action->u.finish.retry_after_ms);
    if (record->refusal == NULL && outcome == PST_OUTCOME_CANCELLED)
        record->status = 499;
    request->gateway->by_ticket[request->ticket.index] = NULL;
    request->ticketed = false;
    pst_request_finished(request);
}
