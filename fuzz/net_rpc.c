/*
 * net_rpc.c - what a gRPC server hears from a client, through real sockets and a real loop: every call ends
 * once, all that is opened is closed, and what goes out is frames.
 *
 * First byte: bit 0 the server drains half-way, bit 1 held calls are ended by their owner; the others: the
 * size of a piece, in eights.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/h2_inside.h"
#include "net/rpc_inside.h"

#define INPUT_MAX  (1 << 16)
#define HELD_MAX   64
#define OUTPUT_MAX (1 << 20)
#define TURNS_MAX  1000
#define FRAME_HEAD 9
#define FRAME_MAX  16384
#define TYPES_MAX  9 /* CONTINUATION */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct pst_loop *loop;
static struct pst_rpc *held[HELD_MAX];
static uint32_t called, ended;
static uint8_t output[OUTPUT_MAX];
static size_t output_len;

static void end(struct pst_rpc *rpc, enum pst_rpc_status status)
{
    ended++;
    pst_rpc_end(rpc, status, status == PST_RPC_OK ? NULL : "no");
}

static void on_echo(struct pst_rpc *rpc, struct pst_slice message)
{
    called++;
    PST_ASSERT(pst_rpc_send(rpc, message) == PST_OK);
    end(rpc, PST_RPC_OK);
}

static void on_hold(struct pst_rpc *rpc, struct pst_slice message)
{
    size_t i = 0;

    (void)message;
    called++;
    while (i < HELD_MAX && held[i] != NULL)
        i++;
    if (i == HELD_MAX) {
        end(rpc, PST_RPC_RESOURCE_EXHAUSTED);
        return;
    }
    held[i] = rpc;
    pst_rpc_set_user(rpc, &held[i]);
}

static void on_watch(struct pst_rpc *rpc, struct pst_slice message)
{
    PST_ASSERT(pst_rpc_latest(rpc, PST_SLICE("replaced")) == PST_OK);
    PST_ASSERT(pst_rpc_latest(rpc, message) == PST_OK);
    on_hold(rpc, message);
}

static void on_gone(struct pst_rpc *rpc)
{
    struct pst_rpc **place = pst_rpc_user(rpc);

    PST_ASSERT(*place == rpc);
    *place = NULL;
    ended++;
}

static const struct pst_rpc_method methods[] = {
    {"/x.X/Echo", false, on_echo, on_gone},
    {"/x.X/Hold", false, on_hold, on_gone},
    {"/x.X/Watch", true, on_watch, on_gone},
};

static const struct pst_rpc_config config = {
    .methods = methods,
    .methods_count = PST_COUNT_OF(methods),
    .message_max = 4096,
    .deadline_max = 3600 * PST_S,
    .streams_max = 65536,
    .connections_max = 4,
    .idle_timeout = 3600 * PST_S,
};

static void end_held(void)
{
    size_t i;

    for (i = 0; i < HELD_MAX; i++) {
        struct pst_rpc *rpc = held[i];

        held[i] = NULL;
        if (rpc != NULL)
            end(rpc, i % 2 == 0 ? PST_RPC_OK : PST_RPC_UNAVAILABLE);
    }
}

/* All of it, so that the server is never kept from going on; what is judged is its beginning. */
static void hear(int fd)
{
    static uint8_t piece[1 << 16];
    ssize_t n;

    while ((n = recv(fd, piece, sizeof piece, 0)) > 0) {
        size_t room = OUTPUT_MAX - output_len, len = (size_t)n < room ? (size_t)n : room;

        memcpy(output + output_len, piece, len);
        output_len += len;
    }
}

/* Frames of known kinds, the last one perhaps cut off by the end. */
static void judge_output(void)
{
    size_t at = 0, len;

    while (output_len - at >= FRAME_HEAD) {
        const uint8_t *head = output + at;

        len = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
        PST_ASSERT(len <= FRAME_MAX && head[3] <= TYPES_MAX);
        if (len > output_len - at - FRAME_HEAD)
            return;
        at += FRAME_HEAD + len;
    }
}

static void converse(struct pst_rpc_server *server, int fd, const uint8_t *data, size_t size,
                     uint8_t flags)
{
    size_t step = ((size_t)(flags >> 2) + 1) * 8, half = size / 2, at;
    ssize_t n;
    int i;

    for (at = 0; at < size; at += step) {
        n = send(fd, data + at, size - at < step ? size - at : step, MSG_NOSIGNAL);
        if (n < 0)
            break; /* closed, or it does not read because we do not */
        if (at <= half && at + step > half && (flags & 1) != 0)
            pst_rpc_server_drain(server);
        PST_ASSERT(pst_loop_turn(loop, 0) == PST_OK);
        if ((flags & 2) != 0)
            end_held();
        hear(fd);
    }
    shutdown(fd, SHUT_WR);
    for (i = 0; i < TURNS_MAX && pst_h2_server_connections(server->h2) > 0; i++) {
        PST_ASSERT(pst_loop_turn(loop, 0) == PST_OK);
        hear(fd);
    }
    PST_ASSERT(i < TURNS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pst_rpc_server *server;
    int fds[2];

    if (size < 1 || size > INPUT_MAX)
        return 0;
    if (loop == NULL)
        PST_ASSERT(pst_loop_new(&loop) == PST_OK);
    called = ended = 0;
    output_len = 0;
    PST_ASSERT(pst_rpc_server_new(loop, &config, &server) == PST_OK);
    PST_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
    PST_ASSERT(pst_h2_connection_new(server->h2, fds[1]) == PST_OK);
    converse(server, fds[0], data + 1, size - 1, data[0]);
    close(fds[0]);
    judge_output();
    PST_ASSERT(called == ended && server->open + server->streams == 0 && server->in_bytes == 0);
    pst_rpc_server_free(server);
    return 0;
}
