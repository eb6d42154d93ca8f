/*
 * forward.c - the request as the replica sees it.
 *
 * Header lines are copied once, when the head is read; only the request line, Host, credentials and
 * Content-Length are written at dispatch, because only then is the replica known.
 */
#include <stdlib.h>

#include "gateway/inside.h"
#include "gateway/writer.h"

/* Not hop-by-hop, and still not the client's to set upstream. */
static bool is_ours(struct pst_slice name)
{
    static const struct pst_slice names[] = {
        {"host", 4},     {"x-request-id", 12},   {"accept-encoding", 15},
        {"x-tenant", 8}, {"content-length", 14}, {"expect", 6},
    };

    for (size_t i = 0; i < PST_COUNT_OF(names); i++)
        if (pst_slice_equal_nocase(names[i], name))
            return true;
    return false;
}

static bool is_credential(struct pst_slice name)
{
    return pst_slice_equal_nocase(name, PST_SLICE("authorization")) ||
           pst_slice_equal_nocase(name, PST_SLICE("x-api-key"));
}

static void put_headers(struct pst_writer *text, const struct pst_head *head, bool credentials)
{
    for (size_t i = 0; i < head->count; i++) {
        struct pst_slice name = head->headers[i].name;

        if (is_credential(name) != credentials || is_ours(name) || pst_head_is_hop(head, name))
            continue;
        pst_writer_header(text, name, head->headers[i].value);
    }
}

int pst_forward_keep_head(struct pst_request *request, const struct pst_head *head)
{
    size_t size = head->target.len + 256;
    struct pst_writer text;

    for (size_t i = 0; i < head->count; i++)
        size += head->headers[i].name.len + head->headers[i].value.len + 4;
    request->head = malloc(size);
    if (request->head == NULL)
        return PST_E_NOMEM;
    text = pst_writer(request->head, size);
    pst_writer_put(&text, head->target);
    request->target = request->head;
    request->target_len = head->target.len;
    pst_writer_header(&text, PST_SLICE("X-Request-Id"), pst_slice_of(request->id));
    PST_WRITER_PUT(&text, "Accept-Encoding: identity\r\n"); /* we read what comes back */
    put_headers(&text, head, false);
    request->head_auth_at = text.len;
    put_headers(&text, head, true);
    request->head_len = text.len;
    PST_ASSERT(!text.full);
    return PST_OK;
}

/* Room for what compose() writes. False: no memory. */
static bool make_room(struct pst_gateway *gateway, size_t size)
{
    char *grown;

    if (size <= gateway->scratch_size)
        return true;
    grown = realloc(gateway->scratch, size);
    if (grown == NULL)
        return false;
    gateway->scratch = grown;
    gateway->scratch_size = size;
    return true;
}

/* The whole head, in the gateway's scratch; len 0: no memory. */
static struct pst_slice compose(struct pst_request *request)
{
    struct pst_gateway *gateway = request->gateway;
    struct pst_gateway_replica *replica = &gateway->replicas[request->replica];
    const char *auth = gateway->config->pools[request->pool].upstream_auth;
    const char *lines = request->head + request->target_len;
    struct pst_writer text;

    if (!make_room(gateway, request->head_len + strlen(replica->base_path) +
                                (auth == NULL ? 0 : strlen(auth)) + 512))
        return pst_slice(NULL, 0);
    text = pst_writer(gateway->scratch, gateway->scratch_size);
    PST_WRITER_PUT(&text, "POST ");
    pst_writer_put(&text, pst_slice_of(replica->base_path));
    pst_writer_put(&text, pst_slice(request->target, request->target_len));
    PST_WRITER_PUT(&text, " HTTP/1.1\r\n");
    pst_writer_header(&text, PST_SLICE("Host"),
                      pst_slice_of(pst_upstream_authority(replica->upstream)));
    if (auth == NULL) {
        pst_writer_put(&text, pst_slice(lines, request->head_len - request->target_len));
    } else {
        pst_writer_put(&text, pst_slice(lines, request->head_auth_at - request->target_len));
        pst_writer_header(&text, PST_SLICE("Authorization"), pst_slice_of(auth));
    }
    PST_WRITER_PUT(&text, "Content-Length: ");
    pst_writer_number(&text, request->body.bytes);
    PST_WRITER_PUT(&text, "\r\n\r\n");
    PST_ASSERT(!text.full);
    return pst_writer_slice(&text);
}

void pst_forward_dispatch(struct pst_request *request, const struct pst_gate_action *action)
{
    struct pst_gateway *gateway = request->gateway;
    const char *name = gateway->registry->replicas[action->u.dispatch.replica].name;
    struct pst_gateway_replica *replica = &gateway->replicas[action->u.dispatch.replica];
    struct pst_gate_event event = {.kind = PST_EVENT_END};
    struct pst_slice head;

    PST_ASSERT(replica->upstream != NULL && !pst_call_running(&request->call));
    pst_relay_reset(request);
    request->attempt = action->u.dispatch.attempt;
    request->replica = action->u.dispatch.replica;
    request->dispatched = pst_loop_now(gateway->loop);
    request->record.wait = action->u.dispatch.waited;
    request->record.tries++;
    if ((action->u.dispatch.flags & PST_DISPATCH_GUARD) != 0)
        pst_metric_add(gateway->metrics, PST_METRIC_GUARD,
                       (struct pst_labels){.pool = request->pool, .class_ = request->class_}, 1);
    pst_request_name(&request->replica_name, pst_slice_of(name));
    request->call.handler = &pst_relay_handler;
    head = compose(request);
    if (head.len != 0 &&
        pst_call_start(replica->upstream, &request->call, head, &request->body,
                       (action->u.dispatch.flags & PST_DISPATCH_FRESH) != 0) == PST_OK)
        return;
    /* No memory or no descriptor of ours: the replica is not to blame, the budget bounds the tries. */
    event.u.end.id = request->ticket;
    event.u.end.attempt = request->attempt;
    event.u.end.kind = PST_END_RESET;
    request->attempt = 0;
    pst_gateway_event(gateway, &event);
}
