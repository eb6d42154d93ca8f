/* rpc_answer.c - a call's answer: messages, then trailers; see rpc.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/rpc_inside.h"

#define PATIENCE    (5 * PST_S)          /* for a client to take an answer that is whole */
#define WAITING_MAX ((size_t)256 * 1024) /* of messages of one stream */

static const struct pst_header content_type = {{"content-type", 12}, {"application/grpc", 16}};
/* With it, the client of a compressed message knows how to ask again. */
static const struct pst_header accepts = {{"grpc-accept-encoding", 20}, {"identity", 8}};

struct trailers {
    struct pst_header lines[4];
    size_t count;
    char status[8];
};

/* `message` is encoded, or NULL. */
static void write_trailers(struct trailers *t, bool alone, enum pst_rpc_status status,
                           const char *message)
{
    t->count = 0;
    if (alone) {
        t->lines[t->count++] = content_type;
        t->lines[t->count++] = accepts;
    }
    (void)snprintf(t->status, sizeof t->status, "%d", (int)status);
    t->lines[t->count++] = (struct pst_header){PST_SLICE("grpc-status"), pst_slice_of(t->status)};
    if (message != NULL)
        t->lines[t->count++] =
            (struct pst_header){PST_SLICE("grpc-message"), pst_slice_of(message)};
}

static void respond_alone(struct pst_h2_stream *stream, enum pst_rpc_status status,
                          const char *message)
{
    struct trailers t;

    write_trailers(&t, true, status, message);
    pst_h2_respond(stream, 200, t.lines, t.count, false);
}

void pst_rpc_refuse(struct pst_h2_stream *stream, enum pst_rpc_status status, const char *message)
{
    char text[PST_RPC_MESSAGE_BYTES];

    (void)pst_rpc_message_encode(message, text, sizeof text);
    respond_alone(stream, status, text);
}

void pst_rpc_answered(struct pst_rpc *rpc)
{
    struct pst_rpc_server *server = rpc->server;

    if (rpc->state == PST_RPC_CALLED && rpc->method->streams)
        server->streams--;
    else
        server->open--;
    server->calls++;
    server->failed += rpc->status != PST_RPC_OK;
    rpc->state = PST_RPC_ENDED;
}

/* Whether the client makes room for it is no time of ours. */
static void count_time(struct pst_rpc *rpc)
{
    if (rpc->asked_at != 0 && !rpc->method->streams)
        pst_rpc_times_add(&rpc->server->times, pst_clock_now() - rpc->asked_at);
}

/* Trailers behind what is on its way, or alone. */
static void end_call(struct pst_rpc *rpc, enum pst_rpc_status status, const char *message)
{
    char text[PST_RPC_MESSAGE_BYTES];

    rpc->status = status;
    pst_rpc_answered(rpc);
    count_time(rpc);
    if (message != NULL)
        (void)pst_rpc_message_encode(message, text, sizeof text);
    pst_timer_set(rpc->server->loop, &rpc->timer, pst_loop_now(rpc->server->loop) + PATIENCE);
    if (!rpc->responded) {
        rpc->responded = true;
        respond_alone(rpc->stream, status, message == NULL ? NULL : text);
        return;
    }
    rpc->message = message == NULL ? NULL : strdup(text); /* without memory: the status alone */
    pst_h2_ready(rpc->stream);
}

void pst_rpc_end(struct pst_rpc *rpc, enum pst_rpc_status status, const char *message)
{
    PST_ASSERT(rpc->state == PST_RPC_CALLED);
    end_call(rpc, status, message);
}

void pst_rpc_finish(struct pst_rpc *rpc, enum pst_rpc_status status, const char *message)
{
    bool called = rpc->state == PST_RPC_CALLED;

    PST_ASSERT(rpc->state != PST_RPC_ENDED);
    end_call(rpc, status, message);
    if (called)
        rpc->method->gone(rpc);
}

static int put_message(struct pst_rpc *rpc, struct pst_slice message)
{
    char *frame;

    if (message.len > UINT32_MAX)
        return PST_E_INVALID;
    frame = pst_output_grow(&rpc->out, PST_RPC_PREFIX + message.len);
    if (frame == NULL)
        return PST_E_NOMEM;
    pst_rpc_prefix((uint8_t *)frame, (uint32_t)message.len);
    if (message.len > 0)
        memcpy(frame + PST_RPC_PREFIX, message.at, message.len);
    if (rpc->responded) {
        pst_h2_ready(rpc->stream);
    } else {
        rpc->responded = true;
        pst_h2_respond(rpc->stream, 200, &content_type, 1, true);
    }
    return PST_OK;
}

int pst_rpc_send(struct pst_rpc *rpc, struct pst_slice message)
{
    PST_ASSERT(rpc->state == PST_RPC_CALLED);
    PST_ASSERT(rpc->method->streams || !rpc->responded);
    if (pst_output_waiting(&rpc->out) > WAITING_MAX)
        return PST_E_FULL;
    return put_message(rpc, message);
}

int pst_rpc_latest(struct pst_rpc *rpc, struct pst_slice message)
{
    PST_ASSERT(rpc->state == PST_RPC_CALLED && rpc->method->streams);
    rpc->out.len = rpc->out.at + rpc->leaving; /* half a message cannot be called back */
    return put_message(rpc, message);
}

/* Keeps account of where the message that is leaving ends. */
static void take_out(struct pst_rpc *rpc, char *into, size_t len)
{
    while (len > 0) {
        const char *from = rpc->out.bytes + rpc->out.at;
        size_t step;

        if (rpc->leaving == 0)
            rpc->leaving = PST_RPC_PREFIX + pst_rpc_prefix_length((const uint8_t *)from);
        step = len < rpc->leaving ? len : rpc->leaving;
        memcpy(into, from, step);
        rpc->out.at += step;
        rpc->leaving -= (uint32_t)step;
        into += step;
        len -= step;
    }
}

size_t pst_rpc_pull(struct pst_h2_stream *stream, char *into, size_t size, bool *ret_end)
{
    struct pst_rpc *rpc = pst_h2_user(stream);
    size_t waiting = pst_output_waiting(&rpc->out), len = waiting < size ? waiting : size;
    struct trailers t;

    take_out(rpc, into, len);
    if (len < waiting)
        return len;
    pst_output_done(&rpc->out);
    if (rpc->state == PST_RPC_ENDED) {
        write_trailers(&t, false, rpc->status, rpc->message);
        pst_h2_trailers(stream, t.lines, t.count);
        *ret_end = true;
    }
    return len;
}

void *pst_rpc_server_user(const struct pst_rpc *rpc)
{
    return rpc->server->config.user;
}

void pst_rpc_set_user(struct pst_rpc *rpc, void *user)
{
    rpc->user = user;
}

void *pst_rpc_user(const struct pst_rpc *rpc)
{
    return rpc->user;
}
