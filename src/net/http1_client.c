/* http1_client.c - the bytes of one call, both ways; see upstream_connection.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "net/upstream_connection.h"

#define PIECES_MAX      (PST_OUTPUT_PIECES_MAX - 1)
#define INPUT_BYTES_MIN ((size_t)2048)

#define CONNECTION_OF(member_pointer, member)                                                      \
    ((struct pst_upstream_connection *)(void *)((char *)(member_pointer)-offsetof(                 \
        struct pst_upstream_connection, member)))

static void enter(struct pst_upstream_connection *c)
{
    c->entered++;
}

static void leave(struct pst_upstream_connection *c)
{
    PST_ASSERT(c->entered > 0);
    if (--c->entered == 0 && c->state == PST_UPSTREAM_CLOSED)
        pst_upstream_close(c); /* frees */
}

/* Takes the call off the connection and tells its end, as the last thing. */
static void tell_end(struct pst_upstream_connection *c, enum pst_call_end how)
{
    struct pst_call *call = c->call;

    if (call == NULL)
        return;
    c->call = NULL;
    call->connection = NULL;
    call->handler->end(call, how);
}

void pst_client_end(struct pst_upstream_connection *c, enum pst_call_end how)
{
    enter(c);
    pst_upstream_close(c);
    tell_end(c, how);
    leave(c);
}

static bool all_sent(const struct pst_upstream_connection *c)
{
    return pst_output_waiting(&c->head) == 0 && (c->body == NULL || c->cursor.at == c->body->bytes);
}

static void want(struct pst_upstream_connection *c)
{
    uint32_t events = c->io.events & (EPOLLIN | EPOLLRDHUP);

    if (c->reading)
        events |= EPOLLIN | EPOLLRDHUP;
    if (c->state == PST_UPSTREAM_CONNECTING || (!c->send_failed && !all_sent(c)))
        events |= EPOLLOUT;
    pst_io_want(&c->io, events);
}

/* Why nothing, or nothing more, can come. */
static enum pst_call_end lost(const struct pst_upstream_connection *c)
{
    if (c->answered)
        return PST_CALL_CUT;
    return c->reused ? PST_CALL_RESET_REUSED : PST_CALL_RESET;
}

/* One send; what the chain's pieces hold beyond it waits for EPOLLOUT. False: the socket is dead. */
static bool send_some(struct pst_upstream_connection *c)
{
    struct iovec pieces[PIECES_MAX];
    struct msghdr message = {.msg_iov = pieces};
    size_t waiting = pst_output_waiting(&c->head), count = 0, sent;
    ssize_t n;

    if (waiting > 0)
        pieces[count++] = (struct iovec){c->head.bytes + c->head.at, waiting};
    if (c->body != NULL)
        count += pst_chain_pieces(c->body, &c->cursor, pieces + count, PIECES_MAX - count);
    message.msg_iovlen = count;
    do
        n = sendmsg(c->io.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == ECONNRESET && c->state == PST_UPSTREAM_CONNECTING)
        pst_upstream_move(c, PST_UPSTREAM_BUSY); /* it was there, and hung up: no refusal */
    if (n < 0)
        return errno == EAGAIN;
    sent = (size_t)n;
    if (sent >= waiting) {
        if (waiting > 0)
            pst_output_done(&c->head);
        if (sent > waiting)
            pst_chain_advance(c->body, &c->cursor, sent - waiting);
    } else {
        c->head.at += sent;
    }
    if (c->state == PST_UPSTREAM_CONNECTING) { /* bytes went: it is connected */
        c->upstream->address_good = c->address;
        pst_upstream_move(c, PST_UPSTREAM_BUSY);
    }
    return true;
}

/*
 * A dead socket may still hold an answer (a refusal given without reading the body), so only reading
 * tells how the call ended.
 */
static void send_or_note(struct pst_upstream_connection *c)
{
    if (!c->send_failed && !all_sent(c) && !send_some(c))
        c->send_failed = true;
}

void pst_client_begin(struct pst_upstream_connection *c, struct pst_call *call,
                      struct pst_slice head, const struct pst_chain *body)
{
    call->connection = c;
    c->call = call;
    c->body = body != NULL && body->bytes > 0 ? body : NULL;
    c->cursor = (struct pst_chain_cursor){0};
    c->reading = true;
    c->answered = false;
    c->head_told = false;
    c->send_failed = false;
    c->head_method = head.len > 5 && memcmp(head.at, "HEAD ", 5) == 0;
    if (pst_output_put(&c->head, head.at, head.len) != PST_OK) {
        pst_later(c->upstream->loop, &c->later);
        return;
    }
    send_or_note(c);
    want(c);
}

void pst_client_later(struct pst_later *later)
{
    pst_client_end(CONNECTION_OF(later, later), PST_CALL_RESET);
}

void pst_call_read(struct pst_call *call, bool on)
{
    struct pst_upstream_connection *c = call->connection;

    if (c == NULL || c->reading == on)
        return;
    c->reading = on;
    if (on)
        want(c);
}

/* The answer is whole. `clean`: nothing came behind it, so the connection can carry another call. */
static void finish(struct pst_upstream_connection *c, bool clean)
{
    free(c->input);
    c->input = NULL;
    c->input_len = c->input_size = 0;
    if (clean && c->http.keep_alive && all_sent(c) && c->upstream->config.idle_max > 0) {
        c->reading = true;
        c->body = NULL;
        want(c);
        pst_upstream_move(c, PST_UPSTREAM_IDLE);
        tell_end(c, PST_CALL_DONE);
    } else {
        pst_client_end(c, PST_CALL_DONE);
    }
}

static bool is_alive(const struct pst_upstream_connection *c)
{
    return c->call != NULL && c->state == PST_UPSTREAM_BUSY;
}

/* Returns the bytes used; 0: more are needed, or the call is over. */
static size_t take_head(struct pst_upstream_connection *c, const char *bytes, size_t len)
{
    struct pst_http1_error error;
    struct pst_head head;
    size_t used;
    int rc;

    c->http.no_body = c->head_method;
    rc = pst_http1_head(&c->http, bytes, len, c->upstream->config.head_max, &c->upstream->room,
                        &head, &used, &error);
    if (rc == PST_E_AGAIN)
        return 0;
    if (rc != PST_OK || head.status == 101) {
        pst_client_end(c, PST_CALL_BAD_FRAMING);
        return 0;
    }
    if (head.status < 200) {
        pst_http1_next(&c->http);
        return used;
    }
    c->head_told = true;
    c->call->handler->head(c->call, &head);
    return used;
}

static size_t take_body(struct pst_upstream_connection *c, char *bytes, size_t len)
{
    struct pst_http1_error error;
    struct pst_slice body;
    size_t used;
    int rc = pst_http1_body(&c->http, bytes, len, &body, &used, &error);

    if (body.len > 0)
        c->call->handler->body(c->call, body.at, body.len);
    if (is_alive(c) && rc != PST_OK)
        pst_client_end(c, PST_CALL_BAD_FRAMING);
    return used;
}

/* Returns how many bytes are done with; the others are a head that is not whole. */
static size_t take(struct pst_upstream_connection *c, char *bytes, size_t len)
{
    size_t used = 0;

    while (is_alive(c)) {
        size_t step;

        if (c->http.state == PST_HTTP1_END) {
            finish(c, used == len);
            return len;
        }
        if (used == len)
            return len;
        if (c->http.state == PST_HTTP1_HEAD)
            step = take_head(c, bytes + used, len - used);
        else
            step = take_body(c, bytes + used, len - used);
        if (step == 0)
            return is_alive(c) ? used : len;
        used += step;
    }
    return len;
}

static char *read_place(struct pst_upstream_connection *c, size_t *ret_size)
{
    size_t most = c->upstream->config.head_max + 2, size = c->input_len * 2;
    char *bigger;

    if (c->input_len == 0)
        return pst_loop_scratch(c->upstream->loop, ret_size);
    if (size > most)
        size = most;
    if (size > c->input_size) {
        bigger = realloc(c->input, size);
        if (bigger == NULL)
            return NULL;
        c->input = bigger;
        c->input_size = size;
    }
    *ret_size = c->input_size - c->input_len;
    return c->input + c->input_len;
}

/* `bytes` lie in the loop's buffer. */
static void keep_input(struct pst_upstream_connection *c, const char *bytes, size_t len)
{
    size_t size = len < INPUT_BYTES_MIN ? INPUT_BYTES_MIN : len;

    if (len == 0 || !is_alive(c))
        return;
    c->input = malloc(size);
    if (c->input == NULL) {
        pst_client_end(c, PST_CALL_RESET);
        return;
    }
    memcpy(c->input, bytes, len);
    c->input_len = len;
    c->input_size = size;
}

static void take_leftover(struct pst_upstream_connection *c)
{
    char *bytes = c->input;
    size_t len = c->input_len, size = c->input_size, used;

    c->input = NULL;
    c->input_len = c->input_size = 0;
    used = take(c, bytes, len);
    if (used == len || !is_alive(c)) {
        free(bytes);
        return;
    }
    memmove(bytes, bytes + used, len - used);
    c->input = bytes;
    c->input_len = len - used;
    c->input_size = size;
}

static void readable(struct pst_upstream_connection *c)
{
    size_t size;
    char *place = read_place(c, &size);
    ssize_t n;

    if (place == NULL) {
        pst_client_end(c, PST_CALL_RESET);
        return;
    }
    do
        n = recv(c->io.fd, place, size, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n == 0 && c->http.state == PST_HTTP1_UNTIL_CLOSE) {
        pst_client_end(c, PST_CALL_DONE);
    } else if (n <= 0) {
        pst_client_end(c, lost(c));
    } else if (c->input_len > 0) {
        c->input_len += (size_t)n;
        take_leftover(c);
    } else {
        size_t used;

        c->answered = true;
        used = take(c, place, (size_t)n);
        keep_input(c, place + used, (size_t)n - used);
    }
}

/* Refused or unreachable here: the next address of the name, then give up. */
static void connect_failed(struct pst_upstream_connection *c)
{
    struct pst_upstream *upstream = c->upstream;
    size_t next = (c->address + 1u) % upstream->addresses_count;

    if (next == upstream->address_good || upstream->addresses_count == 1) {
        pst_client_end(c, PST_CALL_REFUSED);
        return;
    }
    c->address = (uint8_t)next;
    if (pst_upstream_connect(c) != PST_OK) {
        pst_client_end(c, PST_CALL_REFUSED);
        return;
    }
    c->send_failed = false;
    send_or_note(c);
    want(c);
}

static void connecting_ready(struct pst_upstream_connection *c)
{
    int error = 0;
    socklen_t len = sizeof error;

    getsockopt(c->io.fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error == ECONNRESET) {
        pst_client_end(c, PST_CALL_RESET);
        return;
    }
    if (error != 0 || c->send_failed) {
        connect_failed(c);
        return;
    }
    c->upstream->address_good = c->address;
    pst_upstream_move(c, PST_UPSTREAM_BUSY);
}

void pst_client_ready(struct pst_io *io, uint32_t events)
{
    struct pst_upstream_connection *c = CONNECTION_OF(io, io);

    if (c->state == PST_UPSTREAM_IDLE) {
        pst_upstream_close(c); /* closed over there, or bytes that nobody asked for */
        return;
    }
    enter(c);
    if (c->state == PST_UPSTREAM_CONNECTING)
        connecting_ready(c);
    if (is_alive(c) && (events & EPOLLOUT) != 0)
        send_or_note(c);
    if (is_alive(c) && (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
        if (c->reading || (events & (EPOLLHUP | EPOLLERR)) != 0)
            readable(c);
        else
            pst_io_want(&c->io, c->io.events & ~(uint32_t)(EPOLLIN | EPOLLRDHUP));
    }
    if (is_alive(c))
        want(c);
    leave(c);
}
