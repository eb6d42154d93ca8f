/* http1_server.c - the reading side of a connection; see exchange.h for its states. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "net/exchange.h"

#define LINGER_SILENCE   (2 * PST_S)
#define LINGER_TOTAL     (30 * PST_S)
#define LINGER_BYTES_MAX ((uint64_t)64 * 1024 * 1024)
#define FIRST_READ_MAX   ((size_t)16 * 1024)
#define INPUT_BYTES_MIN  ((size_t)2048)

static const struct pst_server_handler *handler_of(const struct pst_exchange *x)
{
    return x->server->config.handler;
}

static pst_ns now_of(const struct pst_exchange *x)
{
    return pst_loop_now(x->server->loop);
}

static bool wants_bytes(const struct pst_exchange *x)
{
    switch ((enum pst_exchange_state)x->state) {
    case PST_EXCHANGE_HEAD:
    case PST_EXCHANGE_LINGER:
        return true;
    case PST_EXCHANGE_OPEN:
        return x->reading && !x->body_done;
    case PST_EXCHANGE_FLUSHING:
    case PST_EXCHANGE_CLOSED:
    case PST_EXCHANGE_STATE_COUNT:
        break;
    }
    return false;
}

/* Input that nobody wants yet is switched off only when some of it arrives: most of the time none does. */
void pst_exchange_want(struct pst_exchange *x)
{
    uint32_t events = EPOLLRDHUP | (x->io.events & EPOLLIN);

    if (wants_bytes(x))
        events |= EPOLLIN;
    if (x->output.full)
        events |= EPOLLOUT;
    if (x->state == PST_EXCHANGE_LINGER)
        events &= ~(uint32_t)EPOLLRDHUP; /* the end shows when all is read */
    pst_io_want(&x->io, events);
}

static pst_ns after(pst_ns start, pst_ns span)
{
    return span == 0 ? PST_NEVER : start + span;
}

static pst_ns input_deadline(const struct pst_exchange *x)
{
    const struct pst_server_config *config = &x->server->config;

    switch ((enum pst_exchange_state)x->state) {
    case PST_EXCHANGE_HEAD:
        return after(x->active_at, x->input.len > 0 ? config->head_timeout : config->idle_timeout);
    case PST_EXCHANGE_OPEN:
        return wants_bytes(x) ? after(x->active_at, config->body_timeout) : PST_NEVER;
    case PST_EXCHANGE_LINGER:
        return x->active_at + LINGER_SILENCE < x->sent_at + LINGER_TOTAL
                   ? x->active_at + LINGER_SILENCE
                   : x->sent_at + LINGER_TOTAL;
    case PST_EXCHANGE_FLUSHING:
    case PST_EXCHANGE_CLOSED:
    case PST_EXCHANGE_STATE_COUNT:
        break;
    }
    return PST_NEVER;
}

static pst_ns output_deadline(const struct pst_exchange *x)
{
    return x->output.full ? after(x->sent_at, x->server->config.write_stall) : PST_NEVER;
}

void pst_exchange_watch(struct pst_exchange *x)
{
    pst_ns in = input_deadline(x), out = output_deadline(x), at = in < out ? in : out;

    if (at != PST_NEVER && (x->timer.place == 0 || x->timer.at > at))
        pst_timer_set(x->server->loop, &x->timer, at);
}

/* The client is not there any more. */
static void leave_client(struct pst_exchange *x)
{
    bool was_open = x->state == PST_EXCHANGE_OPEN;

    if (was_open) {
        pst_exchange_move(x, PST_EXCHANGE_FLUSHING); /* dead to its owner from here on */
        handler_of(x)->gone(x);
    }
    pst_exchange_close(x);
}

/* The request's body cannot be read to its end. */
static void fail_body(struct pst_exchange *x, uint16_t status, const char *why)
{
    bool can_answer = !x->responded && !x->broken;

    x->http.keep_alive = false; /* where the next request begins is not known */
    if (can_answer && handler_of(x)->broken != NULL) {
        handler_of(x)->broken(x, status, why);
        PST_ASSERT(x->state != PST_EXCHANGE_OPEN);
        return;
    }
    pst_exchange_move(x, PST_EXCHANGE_FLUSHING);
    handler_of(x)->gone(x);
    if (can_answer)
        pst_exchange_refuse(x, status, why, "");
    else
        pst_exchange_close(x);
}

static void refuse_head(struct pst_exchange *x, uint16_t status, const char *why)
{
    const struct pst_server_config *config = &x->server->config;

    char id[PST_SERVER_ID_BYTES] = "";

    if (config->refused != NULL)
        config->refused(config->user, status, why, &x->peer.u.any, id);
    pst_exchange_begin_answer(x);
    pst_exchange_refuse(x, status, why, id);
}

void pst_exchange_time(struct pst_timer *timer)
{
    struct pst_exchange *x = PST_EXCHANGE_OF(timer, timer);
    pst_ns now = now_of(x);

    pst_exchange_enter(x);
    if (now >= output_deadline(x))
        leave_client(x);
    else if (now < input_deadline(x))
        pst_exchange_watch(x);
    else if (x->state == PST_EXCHANGE_OPEN)
        fail_body(x, 408, "request body timed out");
    else if (x->state == PST_EXCHANGE_HEAD && x->input.len > 0)
        refuse_head(x, 408, "request head timed out");
    else
        pst_exchange_close(x);
    pst_exchange_leave(x);
}

bool pst_exchange_body_in_hand(const struct pst_exchange *x)
{
    return x->http.state == PST_HTTP1_LENGTH && x->http.left <= x->ahead + x->input.len;
}

static void tell_body_end(struct pst_exchange *x)
{
    if (x->state != PST_EXCHANGE_OPEN || !x->reading || !x->body_done || x->body_end_told)
        return;
    x->body_end_told = true;
    handler_of(x)->body_end(x);
}

static void open_exchange(struct pst_exchange *x, const struct pst_head *head)
{
    pst_exchange_move(x, PST_EXCHANGE_OPEN);
    x->user = NULL;
    x->version_minor = head->version_minor;
    x->head_method = head->method == PST_METHOD_HEAD;
    x->expects_continue = head->expects_continue;
    x->body_done = !head->has_body;
    x->body_end_told = false;
    x->reading = false;
    x->active_at = now_of(x);
    pst_exchange_begin_answer(x);
    handler_of(x)->head(x, head);
    tell_body_end(x);
}

static size_t take_head(struct pst_exchange *x, const char *bytes, size_t len)
{
    struct pst_http1_error error;
    struct pst_head head;
    size_t used;
    int rc;

    if (x->skip > 0) {
        used = x->skip < len ? (size_t)x->skip : len;
        x->skip -= used;
        return used;
    }
    if (x->http.guard.head.at == 0)
        x->active_at = now_of(x); /* the head's first byte */
    rc = pst_http1_head(&x->http, bytes, len, x->server->config.head_max, &x->server->room, &head,
                        &used, &error);
    if (rc == PST_E_AGAIN)
        return 0;
    if (rc != PST_OK) {
        refuse_head(x, error.status, error.why);
        return len;
    }
    x->ahead = len - used;
    open_exchange(x, &head);
    return used;
}

static size_t take_body(struct pst_exchange *x, char *bytes, size_t len)
{
    struct pst_http1_error error;
    struct pst_slice body;
    size_t used;
    int rc;

    if (!wants_bytes(x))
        return 0;
    rc = pst_http1_body(&x->http, bytes, len, &body, &used, &error);
    x->expects_continue = false; /* it did not wait */
    x->active_at = now_of(x);
    x->ahead = len - used;
    x->body_done = x->http.state == PST_HTTP1_END;
    if (body.len > 0)
        handler_of(x)->body(x, body.at, body.len);
    if (x->state == PST_EXCHANGE_OPEN && rc != PST_OK) {
        fail_body(x, error.status, error.why);
        return len;
    }
    tell_body_end(x);
    return used;
}

/* Returns how many bytes are done with; the others wait. */
static size_t take(struct pst_exchange *x, char *bytes, size_t len)
{
    size_t used = 0, step = 1;

    x->taking = true;
    while (used < len && step > 0) {
        switch ((enum pst_exchange_state)x->state) {
        case PST_EXCHANGE_HEAD:
            step = take_head(x, bytes + used, len - used);
            break;
        case PST_EXCHANGE_OPEN:
            step = take_body(x, bytes + used, len - used);
            break;
        case PST_EXCHANGE_FLUSHING:
            step = 0; /* the next request waits for the answer to leave */
            break;
        case PST_EXCHANGE_LINGER:
        case PST_EXCHANGE_CLOSED:
        case PST_EXCHANGE_STATE_COUNT:
            step = len - used;
            break;
        }
        used += step;
    }
    x->taking = false;
    x->ahead = 0;
    return used;
}

static bool reserve_input(struct pst_leftover *input, size_t size)
{
    char *bytes;

    if (input->size >= size)
        return true;
    bytes = realloc(input->bytes, size);
    if (bytes == NULL)
        return false;
    input->bytes = bytes;
    input->size = size;
    return true;
}

static void keep_input(struct pst_exchange *x, const char *bytes, size_t len)
{
    if (len == 0 || x->state == PST_EXCHANGE_CLOSED || x->state == PST_EXCHANGE_LINGER)
        return;
    PST_ASSERT(x->input.len == 0);
    if (!reserve_input(&x->input, len < INPUT_BYTES_MIN ? INPUT_BYTES_MIN : len)) {
        leave_client(x);
        return;
    }
    memcpy(x->input.bytes, bytes, len);
    x->input.len = len;
}

/* Tries again with what was left over. */
static void take_leftover(struct pst_exchange *x)
{
    struct pst_leftover input = x->input;
    size_t used;

    x->input = (struct pst_leftover){0};
    used = take(x, input.bytes, input.len);
    if (x->state == PST_EXCHANGE_CLOSED || x->state == PST_EXCHANGE_LINGER || used == input.len) {
        free(input.bytes);
        return;
    }
    memmove(input.bytes, input.bytes + used, input.len - used);
    input.len -= used;
    x->input = input;
}

static ssize_t receive(int fd, char *into, size_t size)
{
    ssize_t n;

    do
        n = recv(fd, into, size, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n;
}

static void drop_bytes(struct pst_exchange *x)
{
    size_t size;
    char *scratch = pst_loop_scratch(x->server->loop, &size);
    ssize_t n = receive(x->io.fd, scratch, size);

    if (n < 0 && errno == EAGAIN)
        return;
    x->active_at = now_of(x);
    if (n > 0)
        x->answer_sent += (uint64_t)n;
    if (n <= 0 || x->answer_sent > LINGER_BYTES_MAX)
        pst_exchange_close(x);
}

/* Where its owner wants the body; NULL: it does not say, or the bytes are not the body's alone. */
static char *body_room(struct pst_exchange *x, size_t *ret_size)
{
    char *room;

    if (x->state != PST_EXCHANGE_OPEN || x->http.state != PST_HTTP1_LENGTH ||
        handler_of(x)->body_room == NULL)
        return NULL;
    room = handler_of(x)->body_room(x, ret_size);
    if (room != NULL && *ret_size > x->http.left)
        *ret_size = (size_t)x->http.left;
    return room;
}

/*
 * Where the next read goes: behind a head that is not whole yet, where the body shall lie, or into the
 * loop's buffer. A first read is for a head and a short body: what it takes of a long one is copied.
 */
static char *read_place(struct pst_exchange *x, size_t *ret_size)
{
    size_t most = x->server->config.head_max + 2, size = x->input.len * 2;
    char *place;

    if (x->input.len == 0) {
        place = body_room(x, ret_size);
        if (place != NULL)
            return place;
        place = pst_loop_scratch(x->server->loop, ret_size);
        if (x->state == PST_EXCHANGE_HEAD && *ret_size > FIRST_READ_MAX)
            *ret_size = FIRST_READ_MAX;
        return place;
    }
    if (!reserve_input(&x->input, size < most ? size : most))
        return NULL;
    *ret_size = x->input.size - x->input.len;
    return x->input.bytes + x->input.len;
}

static void readable(struct pst_exchange *x)
{
    char *place;
    size_t size;
    ssize_t n;

    if (x->state == PST_EXCHANGE_LINGER) {
        drop_bytes(x);
        return;
    }
    if (!wants_bytes(x)) {
        pst_io_want(&x->io, x->io.events & ~(uint32_t)EPOLLIN);
        return;
    }
    if (x->input.len > 0 && (x->state == PST_EXCHANGE_OPEN || x->later.queued)) {
        take_leftover(x); /* what lies in the socket comes after it, in the next turn */
        return;
    }
    place = read_place(x, &size);
    if (place == NULL) {
        leave_client(x);
        return;
    }
    n = receive(x->io.fd, place, size);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        leave_client(x);
    } else if (x->input.len > 0) {
        x->input.len += (size_t)n;
        take_leftover(x);
    } else {
        size_t used = take(x, place, (size_t)n);

        keep_input(x, place + used, (size_t)n - used);
    }
}

static void writable(struct pst_exchange *x)
{
    size_t before = pst_output_waiting(&x->output);

    if (pst_output_flush(&x->output, x->io.fd) != PST_OK) {
        leave_client(x);
        return;
    }
    if (pst_output_waiting(&x->output) < before)
        x->sent_at = now_of(x);
    if (x->state == PST_EXCHANGE_FLUSHING && !x->output.full) {
        pst_exchange_finished(x);
    } else if (x->state == PST_EXCHANGE_OPEN && x->above_low_water &&
               pst_output_waiting(&x->output) <= x->server->config.low_water) {
        x->above_low_water = false;
        handler_of(x)->drained(x);
    }
}

static void settle(struct pst_exchange *x)
{
    if (x->state != PST_EXCHANGE_CLOSED) {
        pst_exchange_want(x);
        pst_exchange_watch(x);
    }
    pst_exchange_leave(x);
}

void pst_exchange_ready(struct pst_io *io, uint32_t events)
{
    struct pst_exchange *x = PST_EXCHANGE_OF(io, io);

    pst_exchange_enter(x);
    if ((events & EPOLLOUT) != 0)
        writable(x);
    if ((events & EPOLLIN) != 0 && x->state != PST_EXCHANGE_CLOSED)
        readable(x);
    if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0 && x->state != PST_EXCHANGE_CLOSED &&
        x->state != PST_EXCHANGE_LINGER)
        leave_client(x);
    settle(x);
}

void pst_exchange_later(struct pst_later *later)
{
    struct pst_exchange *x = PST_EXCHANGE_OF(later, later);

    pst_exchange_enter(x);
    if (x->broken)
        leave_client(x);
    else if (x->input.len > 0 && wants_bytes(x))
        take_leftover(x);
    if (x->state != PST_EXCHANGE_CLOSED)
        tell_body_end(x);
    settle(x);
}

static void linger(struct pst_exchange *x)
{
    shutdown(x->io.fd, SHUT_WR);
    pst_exchange_move(x, PST_EXCHANGE_LINGER);
    x->answer_sent = 0;
    x->active_at = x->sent_at = now_of(x);
    free(x->input.bytes);
    x->input = (struct pst_leftover){0};
    pst_exchange_want(x);
    pst_exchange_watch(x);
}

void pst_exchange_finished(struct pst_exchange *x)
{
    bool unread = !x->body_done || x->input.len > 0 || (x->io.events & EPOLLIN) == 0;

    if (x->broken || ((x->closing || x->server->draining) && !unread && x->ahead == 0)) {
        pst_exchange_close(x);
        return;
    }
    if (x->closing || x->server->draining) {
        linger(x);
        return;
    }
    x->skip = x->body_done ? 0 : x->http.left;
    pst_exchange_move(x, PST_EXCHANGE_HEAD);
    x->active_at = now_of(x);
    pst_http1_next(&x->http);
    if (x->taking)
        return; /* the loop there goes on with the next request */
    if (x->input.len > 0)
        pst_later(x->server->loop, &x->later);
    pst_exchange_want(x);
    pst_exchange_watch(x);
}

void pst_exchange_read(struct pst_exchange *x, bool on)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

    PST_ASSERT(x->state == PST_EXCHANGE_OPEN);
    if (x->reading == on)
        return;
    x->reading = on;
    if (!on)
        return;
    x->active_at = now_of(x);
    if (x->expects_continue && !x->responded && x->ahead == 0 && x->input.len == 0)
        pst_exchange_send(x, go_on, sizeof go_on - 1);
    x->expects_continue = false;
    if (x->taking)
        return;
    if (x->input.len > 0 || x->body_done)
        pst_later(x->server->loop, &x->later);
    pst_exchange_want(x);
    pst_exchange_watch(x);
}
