/* rpc_call.c - a call's request: its head, its one message, its deadline; see rpc_inside.h. */
#include <stdlib.h>

#include "net/rpc_inside.h"

/* Of all requests that are not whole, together: who sends many halves does not fill the memory. */
#define IN_BYTES_MAX ((size_t)16 * 1024 * 1024)

static struct pst_slice value_of(const struct pst_h2_head *head, struct pst_slice name)
{
    size_t i;

    for (i = 0; i < head->count; i++)
        if (pst_slice_equal(head->headers[i].name, name))
            return head->headers[i].value;
    return pst_slice(NULL, 0);
}

static const struct pst_rpc_method *method_of(const struct pst_rpc_server *server,
                                              struct pst_slice path)
{
    size_t i;

    for (i = 0; i < server->config.methods_count; i++)
        if (pst_slice_equal(path, pst_slice_of(server->config.methods[i].path)))
            return &server->config.methods[i];
    return NULL;
}

static void time_out(struct pst_timer *timer)
{
    struct pst_rpc *rpc =
        (struct pst_rpc *)(void *)((char *)timer - offsetof(struct pst_rpc, timer));

    if (rpc->state == PST_RPC_ENDED)
        pst_h2_reset(rpc->stream); /* nobody takes the answer */
    else
        pst_rpc_finish(rpc, PST_RPC_DEADLINE_EXCEEDED, "the deadline has passed");
}

/* PST_NEVER stays so: the clock does not wrap. */
static pst_ns from_now(const struct pst_rpc *rpc, pst_ns span)
{
    pst_ns now = pst_loop_now(rpc->server->loop);

    return span > PST_NEVER - now ? PST_NEVER : now + span;
}

/* Within `span`, or by the client's own deadline. */
static void set_deadline(struct pst_rpc *rpc, pst_ns span)
{
    pst_ns until = from_now(rpc, span);

    pst_timer_set(rpc->server->loop, &rpc->timer, until < rpc->until ? until : rpc->until);
}

static void open_call(struct pst_rpc_server *server, struct pst_h2_stream *stream,
                      const struct pst_rpc_method *method, pst_ns timeout)
{
    struct pst_rpc *rpc = calloc(1, sizeof *rpc);

    if (rpc == NULL) {
        pst_h2_reset(stream);
        return;
    }
    rpc->server = server;
    rpc->stream = stream;
    rpc->method = method;
    rpc->timer.fire = time_out;
    rpc->until = from_now(rpc, timeout);
    rpc->state = PST_RPC_READING;
    pst_h2_set_user(stream, rpc);
    server->open++;
    set_deadline(rpc, server->config.request_max != 0 ? server->config.request_max
                                                      : server->config.deadline_max);
    if (timeout == 0)
        pst_rpc_finish(rpc, PST_RPC_DEADLINE_EXCEEDED, "the deadline has passed");
}

static void head_came(struct pst_h2_stream *stream, const struct pst_h2_head *head)
{
    static const struct pst_header allow = {{"allow", 5}, {"POST", 4}};
    struct pst_rpc_server *server = pst_h2_server_user(stream);
    const struct pst_rpc_method *method = method_of(server, head->path);
    struct pst_slice limit = value_of(head, PST_SLICE("grpc-timeout"));
    pst_ns timeout = PST_NEVER;

    if (!pst_slice_equal(head->method, PST_SLICE("POST")))
        pst_h2_respond(stream, 405, &allow, 1, false);
    else if (!pst_rpc_is_grpc(value_of(head, PST_SLICE("content-type"))))
        pst_h2_respond(stream, 415, NULL, 0, false);
    else if (method == NULL)
        pst_rpc_refuse(stream, PST_RPC_UNIMPLEMENTED, "unknown method");
    else if (limit.at != NULL && !pst_rpc_timeout(limit, &timeout))
        pst_rpc_refuse(stream, PST_RPC_INVALID_ARGUMENT, "malformed grpc-timeout");
    else
        open_call(server, stream, method, timeout);
}

/* The five bytes in front of the message, when all are there. */
static void judge_prefix(struct pst_rpc *rpc)
{
    uint32_t length = pst_rpc_prefix_length(rpc->prefix);

    if (rpc->prefix[0] == 1)
        pst_rpc_finish(rpc, PST_RPC_UNIMPLEMENTED, "compressed messages are not accepted");
    else if (rpc->prefix[0] != 0)
        pst_rpc_finish(rpc, PST_RPC_INTERNAL, "malformed message frame");
    else if (length > rpc->server->config.message_max)
        pst_rpc_finish(rpc, PST_RPC_RESOURCE_EXHAUSTED, "the message is too large");
}

static size_t in_left(const struct pst_rpc *rpc)
{
    return pst_rpc_prefix_length(rpc->prefix) - rpc->in.len;
}

static void drop_in(struct pst_rpc *rpc)
{
    rpc->server->in_bytes -= rpc->in.size;
    pst_output_done(&rpc->in);
}

static void keep_in(struct pst_rpc *rpc, const char *data, size_t len)
{
    size_t size = rpc->in.size; /* what is held counts: one byte holds a buffer */

    if (rpc->server->in_bytes + len > IN_BYTES_MAX || pst_output_put(&rpc->in, data, len) != PST_OK)
        pst_rpc_finish(rpc, PST_RPC_RESOURCE_EXHAUSTED, "too many requests are under way");
    else
        rpc->server->in_bytes += rpc->in.size - size;
}

static void body_came(struct pst_h2_stream *stream, const char *data, size_t len)
{
    struct pst_rpc *rpc = pst_h2_user(stream);

    if (rpc == NULL || rpc->state != PST_RPC_READING)
        return;
    while (len > 0 && rpc->prefix_len < PST_RPC_PREFIX) {
        rpc->prefix[rpc->prefix_len++] = (uint8_t)*data++;
        len--;
        if (rpc->prefix_len == PST_RPC_PREFIX)
            judge_prefix(rpc);
    }
    if (len == 0 || rpc->state != PST_RPC_READING)
        return;
    if (len > in_left(rpc))
        pst_rpc_finish(rpc, PST_RPC_INTERNAL, "more than one message");
    else
        keep_in(rpc, data, len);
}

static void body_ended(struct pst_h2_stream *stream)
{
    struct pst_rpc *rpc = pst_h2_user(stream);
    struct pst_output in;

    if (rpc == NULL || rpc->state != PST_RPC_READING)
        return;
    if (rpc->prefix_len < PST_RPC_PREFIX || in_left(rpc) > 0) {
        pst_rpc_finish(rpc, PST_RPC_INTERNAL, "the message is cut short");
        return;
    }
    if (rpc->server->draining && rpc->method->streams) {
        pst_rpc_finish(rpc, PST_RPC_UNAVAILABLE, "shutting down");
        return;
    }
    rpc->state = PST_RPC_CALLED;
    rpc->asked_at = pst_loop_now(rpc->server->loop);
    if (rpc->method->streams) {
        rpc->server->open--;
        rpc->server->streams++;
    }
    set_deadline(rpc, rpc->method->streams ? PST_NEVER : rpc->server->config.deadline_max);
    in = rpc->in; /* the call may end, and more, before called() returns */
    rpc->in = (struct pst_output){0};
    rpc->server->in_bytes -= in.size;
    rpc->method->called(rpc, pst_slice(in.bytes, in.len));
    pst_output_done(&in);
}

static void drain(struct pst_h2_stream *stream)
{
    struct pst_rpc *rpc = pst_h2_user(stream);

    if (rpc != NULL && rpc->state == PST_RPC_CALLED && rpc->method->streams)
        pst_rpc_finish(rpc, PST_RPC_OK, NULL);
}

static void closed(struct pst_h2_stream *stream)
{
    struct pst_rpc *rpc = pst_h2_user(stream);
    bool called;

    if (rpc == NULL)
        return;
    called = rpc->state == PST_RPC_CALLED;
    if (rpc->state != PST_RPC_ENDED) {
        rpc->status = PST_RPC_CANCELLED;
        pst_rpc_answered(rpc);
    }
    if (called)
        rpc->method->gone(rpc);
    pst_timer_cancel(rpc->server->loop, &rpc->timer);
    drop_in(rpc);
    pst_output_done(&rpc->out);
    free(rpc->message);
    free(rpc);
}

const struct pst_h2_handler pst_rpc_handler = {
    .head = head_came,
    .body = body_came,
    .body_end = body_ended,
    .pull = pst_rpc_pull,
    .drain = drain,
    .closed = closed,
};
