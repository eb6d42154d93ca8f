/* h2_connection.c - a connection's socket, deadlines and end; see h2_inside.h for its states. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/h2_inside.h"

#define OUTPUT_MAX     ((size_t)64 * 1024)
#define READ_MAX       ((size_t)16 * 1024) /* some hundred requests: the loop is not one client's */
#define LINGER         PST_S
#define DRAIN_PATIENCE PST_S /* for the answer to our ping */

static pst_ns now_of(const struct pst_h2_connection *c)
{
    return pst_loop_now(c->server->loop);
}

static void move_to(struct pst_h2_connection *c, enum pst_h2_state state)
{
    c->state = (uint8_t)state;
    c->active_at = now_of(c);
}

static pst_ns earlier(pst_ns a, pst_ns b)
{
    return a < b ? a : b;
}

static pst_ns state_deadline(const struct pst_h2_connection *c)
{
    pst_ns idle = c->active_at + c->server->config.idle_timeout;

    switch ((enum pst_h2_state)c->state) {
    case PST_H2_OPENING:
        return idle;
    case PST_H2_OPEN:
        return c->streams_count == 0 ? idle : PST_NEVER;
    case PST_H2_DRAINING:
        return c->drain_at == PST_NEVER ? PST_NEVER : c->drain_at + DRAIN_PATIENCE;
    case PST_H2_LINGER:
        return c->active_at + LINGER;
    case PST_H2_CLOSED:
    case PST_H2_STATE_COUNT:
        break;
    }
    return PST_NEVER;
}

static pst_ns head_deadline(const struct pst_h2_connection *c)
{
    return c->head_id == 0 ? PST_NEVER : c->head_at + c->server->config.idle_timeout;
}

static pst_ns write_deadline(const struct pst_h2_connection *c)
{
    return c->output.full ? c->sent_at + c->server->config.write_stall : PST_NEVER;
}

/* The timer may fire early: it looks again. Moving it for every frame would cost more. */
static void watch(struct pst_h2_connection *c)
{
    pst_ns at = earlier(state_deadline(c), earlier(head_deadline(c), write_deadline(c)));

    if (at != PST_NEVER && (c->timer.place == 0 || c->timer.at > at))
        pst_timer_set(c->server->loop, &c->timer, at);
}

/* A full socket is not read from: what a client does not take must not grow here. */
static void want(struct pst_h2_connection *c)
{
    uint32_t tls = c->tls == NULL ? 0 : pst_tls_wants(c->tls);
    uint32_t events = c->output.full ? EPOLLOUT : EPOLLIN;

    if (!c->heard && tls != 0)
        events = tls; /* a handshake goes both ways */
    pst_io_want(&c->io, events);
}

static ssize_t receive(struct pst_h2_connection *c, char *into, size_t size)
{
    ssize_t n;

    if (c->tls != NULL)
        return pst_tls_read(c->tls, into, size);
    do
        n = recv(c->io.fd, into, size, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n;
}

static ssize_t send_some(struct pst_h2_connection *c, const char *data, size_t len)
{
    ssize_t n;

    if (c->tls != NULL)
        return pst_tls_write(c->tls, data, len);
    do
        n = send(c->io.fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Empties the output as far as the socket takes it. */
static void flush(struct pst_h2_connection *c)
{
    struct pst_output *output = &c->output;

    while (!c->broken && pst_output_waiting(output) > 0) {
        ssize_t n = send_some(c, output->bytes + output->at, pst_output_waiting(output));

        if (n > 0) {
            output->at += (size_t)n;
            c->sent_at = now_of(c);
        } else if (n < 0 && errno == EAGAIN) {
            if (!output->full)
                c->sent_at = now_of(c);
            output->full = true;
            return;
        } else {
            c->broken = true;
        }
    }
    pst_output_done(output);
}

/* What the session has to say, into the output. False: it has no more. */
static bool fill(struct pst_h2_connection *c)
{
    while (pst_output_waiting(&c->output) < OUTPUT_MAX) {
        const uint8_t *frame;
        ssize_t len = nghttp2_session_mem_send(c->session, &frame);

        if (len == 0)
            return false;
        if (len < 0 || pst_output_put(&c->output, frame, (size_t)len) != PST_OK) {
            c->broken = true;
            return false;
        }
    }
    return true;
}

static bool is_finished(const struct pst_h2_connection *c)
{
    return nghttp2_session_want_read(c->session) == 0 &&
           nghttp2_session_want_write(c->session) == 0;
}

/* All is said. What the client still sends must not make its kernel drop what it has not read. */
static void linger(struct pst_h2_connection *c)
{
    while (c->streams != NULL)
        pst_h2_stream_free(c->streams);
    if (c->tls != NULL)
        pst_tls_free(c->tls); /* says close_notify */
    c->tls = NULL;
    shutdown(c->io.fd, SHUT_WR);
    move_to(c, PST_H2_LINGER);
}

static void write_out(struct pst_h2_connection *c)
{
    bool more = true;

    if (!c->heard || c->state == PST_H2_LINGER)
        return;
    while (more && !c->broken && !c->output.full) {
        more = fill(c);
        flush(c);
    }
    if (!c->broken && !c->output.full && is_finished(c))
        linger(c);
}

static void free_room(struct pst_h2_connection *c)
{
    if (c->head_id != 0)
        return;
    free(c->room);
    c->room = NULL;
}

static void settle(struct pst_h2_connection *c)
{
    if (c->broken) {
        pst_h2_connection_close(c);
        return;
    }
    want(c);
    watch(c);
}

static void turn_ends(struct pst_later *later)
{
    struct pst_h2_connection *c = PST_H2_OF(struct pst_h2_connection, later, later);

    free_room(c);
    write_out(c);
    settle(c);
}

void pst_h2_connection_stir(struct pst_h2_connection *c)
{
    if (c->state != PST_H2_CLOSED)
        pst_later(c->server->loop, &c->later);
}

static void take(struct pst_h2_connection *c, const char *bytes, size_t len)
{
    c->heard = true;
    if (c->state == PST_H2_LINGER)
        return; /* dropped */
    if (nghttp2_session_mem_recv(c->session, (const uint8_t *)bytes, len) < 0)
        c->broken = true; /* not HTTP/2, or a flood */
    pst_h2_connection_stir(c);
}

static void readable(struct pst_h2_connection *c)
{
    size_t size;
    char *scratch = pst_loop_scratch(c->server->loop, &size);
    ssize_t n = receive(c, scratch, size < READ_MAX ? size : READ_MAX);

    if (n > 0)
        take(c, scratch, (size_t)n);
    else if (n == 0 || errno != EAGAIN)
        c->broken = true;
}

static void connection_ready(struct pst_io *io, uint32_t events)
{
    struct pst_h2_connection *c = PST_H2_OF(struct pst_h2_connection, io, io);

    if (c->heard && (events & EPOLLOUT) != 0) {
        c->output.full = false;
        flush(c);
        pst_h2_connection_stir(c);
    } else if ((events & (EPOLLIN | EPOLLOUT)) != 0) {
        readable(c);
    } else {
        c->broken = true;
    }
    settle(c);
}

static void time_out(struct pst_timer *timer)
{
    struct pst_h2_connection *c = PST_H2_OF(struct pst_h2_connection, timer, timer);
    pst_ns now = now_of(c);

    if (now >= write_deadline(c) || now >= head_deadline(c) ||
        (now >= state_deadline(c) && c->state != PST_H2_OPEN && c->state != PST_H2_DRAINING)) {
        c->broken = true;
    } else if (now >= state_deadline(c) && c->state == PST_H2_DRAINING) {
        pst_h2_connection_ping_came(c);
    } else if (now >= state_deadline(c)) {
        c->broken |= nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR) != 0;
        move_to(c, PST_H2_DRAINING);
        pst_h2_connection_stir(c);
    }
    settle(c);
}

int pst_h2_connection_new(struct pst_h2_server *server, int fd)
{
    struct pst_h2_connection *c = calloc(1, sizeof *c);
    int rc = PST_E_NOMEM;

    if (c == NULL)
        goto fail;
    c->server = server;
    c->io = (struct pst_io){.fd = fd, .events = EPOLLIN, .ready = connection_ready};
    c->timer.fire = time_out;
    c->later.run = turn_ends;
    c->drain_at = PST_NEVER;
    move_to(c, PST_H2_OPENING);
    rc = pst_h2_session_new(c);
    if (rc == PST_OK && server->config.tls != NULL)
        rc = pst_tls_accept(server->config.tls, fd, &c->tls);
    if (rc == PST_OK)
        rc = pst_io_add(server->loop, &c->io);
    if (rc != PST_OK)
        goto fail;
    server->connections_count++;
    pst_h2_list_add(c);
    watch(c);
    return PST_OK;

fail:
    if (c != NULL) {
        pst_tls_free(c->tls);
        nghttp2_session_del(c->session);
    }
    free(c);
    close(fd);
    return rc;
}

void pst_h2_connection_close(struct pst_h2_connection *c)
{
    struct pst_h2_server *server = c->server;

    PST_ASSERT(c->state != PST_H2_CLOSED);
    c->state = PST_H2_CLOSED; /* what closed() does has no more effect */
    while (c->streams != NULL)
        pst_h2_stream_free(c->streams);
    pst_h2_list_remove(c);
    server->connections_count--;
    pst_io_remove(&c->io);
    pst_timer_cancel(server->loop, &c->timer);
    pst_later_cancel(server->loop, &c->later);
    pst_tls_free(c->tls);
    close(c->io.fd);
    nghttp2_session_del(c->session);
    pst_output_done(&c->output);
    free(c->room);
    free(c);
    pst_h2_server_left(server);
}

void pst_h2_connection_farewell(struct pst_h2_connection *c)
{
    bool hears = c->heard && c->state != PST_H2_LINGER && !c->output.full;

    if (hears && nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR) == 0) {
        fill(c);
        flush(c);
    }
    pst_h2_connection_close(c);
}

void pst_h2_connection_settings_came(struct pst_h2_connection *c)
{
    if (c->state == PST_H2_OPENING)
        move_to(c, PST_H2_OPEN);
}

/*
 * A GOAWAY that names no last stream, and a ping behind it (nghttp2 would let it overtake: it is made when
 * the GOAWAY went). When the ping is answered the client knows, and what it had sent until then was served.
 */
void pst_h2_connection_drain(struct pst_h2_connection *c)
{
    struct pst_h2_stream *stream;
    int rc;

    if (c->state == PST_H2_OPENING) {
        c->broken |= !c->heard; /* who said nothing is owed nothing */
        rc = nghttp2_session_terminate_session(c->session, NGHTTP2_NO_ERROR);
    } else if (c->state == PST_H2_OPEN) {
        rc = nghttp2_submit_shutdown_notice(c->session);
        c->drain_at = now_of(c);
        move_to(c, PST_H2_DRAINING);
    } else {
        return;
    }
    c->broken |= rc != 0;
    for (stream = c->streams; stream != NULL; stream = stream->next)
        if (stream->told)
            c->server->config.handler->drain(stream);
    pst_h2_connection_stir(c);
    watch(c);
}

void pst_h2_connection_ping_came(struct pst_h2_connection *c)
{
    if (c->drain_at == PST_NEVER)
        return;
    c->drain_at = PST_NEVER;
    c->broken |= nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
                                       nghttp2_session_get_last_proc_stream_id(c->session),
                                       NGHTTP2_NO_ERROR, NULL, 0) != 0;
    pst_h2_connection_stir(c);
}
