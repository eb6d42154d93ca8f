/* upstream.c - the pool of connections to one replica; see upstream.h and upstream_connection.h. */
#include "net/upstream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/upstream_connection.h"

#define HEAD_BYTES_MIN 1024

#define UPSTREAM_OF_TIMER(timer_pointer)                                                           \
    ((struct pst_upstream *)(void *)((char *)(timer_pointer)-offsetof(struct pst_upstream, timer)))

static char *make_authority(const char *host, uint16_t port)
{
    char *text = NULL;
    bool literal6 = strchr(host, ':') != NULL;

    if (asprintf(&text, literal6 ? "[%s]:%u" : "%s:%u", host, (unsigned)port) < 0)
        return NULL;
    return text;
}

static void list_add(struct pst_upstream_list *list, struct pst_upstream_connection *c)
{
    c->previous = NULL;
    c->next = list->first;
    if (list->first != NULL)
        list->first->previous = c;
    else
        list->last = c;
    list->first = c;
    list->count++;
}

static void list_remove(struct pst_upstream_list *list, struct pst_upstream_connection *c)
{
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        list->first = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    else
        list->last = c->previous;
    list->count--;
}

static pst_ns deadline_of(const struct pst_upstream_connection *c, pst_ns span)
{
    return c == NULL || span == 0 ? PST_NEVER : c->since + span;
}

static void watch(struct pst_upstream *upstream)
{
    pst_ns idle =
        deadline_of(upstream->list[PST_UPSTREAM_IDLE].last, upstream->config.idle_timeout);
    pst_ns connect =
        deadline_of(upstream->list[PST_UPSTREAM_CONNECTING].last, upstream->config.connect_timeout);
    pst_ns at = idle < connect ? idle : connect;

    if (at != PST_NEVER && (upstream->timer.place == 0 || upstream->timer.at > at))
        pst_timer_set(upstream->loop, &upstream->timer, at);
}

static void timer_fired(struct pst_timer *timer)
{
    struct pst_upstream *upstream = UPSTREAM_OF_TIMER(timer);
    pst_ns now = pst_loop_now(upstream->loop);
    struct pst_upstream_connection *c;

    while (deadline_of(c = upstream->list[PST_UPSTREAM_IDLE].last, upstream->config.idle_timeout) <=
           now)
        pst_upstream_close(c);
    while (deadline_of(c = upstream->list[PST_UPSTREAM_CONNECTING].last,
                       upstream->config.connect_timeout) <= now)
        pst_client_end(c, PST_CALL_REFUSED);
    watch(upstream);
}

int pst_upstream_new(struct pst_loop *loop, const struct pst_upstream_config *config,
                     struct pst_upstream **ret_upstream)
{
    struct pst_upstream *upstream;
    int rc = PST_E_NOMEM;

    if (config->host == NULL || config->head_max < HEAD_BYTES_MIN)
        return PST_E_INVALID;
    upstream = calloc(1, sizeof *upstream);
    if (upstream == NULL)
        return PST_E_NOMEM;
    upstream->loop = loop;
    upstream->config = *config;
    upstream->config.host = NULL;
    upstream->timer.fire = timer_fired;
    upstream->authority = make_authority(config->host, config->port);
    if (upstream->authority == NULL)
        goto fail;
    rc = pst_address_resolve(config->host, config->port, upstream->addresses,
                             PST_UPSTREAM_ADDRESSES_MAX, &upstream->addresses_count);
    if (rc != PST_OK)
        goto fail;
    *ret_upstream = upstream;
    return PST_OK;

fail:
    pst_upstream_free(upstream);
    return rc;
}

void pst_upstream_free(struct pst_upstream *upstream)
{
    struct pst_upstream_connection *c;

    if (upstream == NULL)
        return;
    upstream->closing = true; /* an end() may try again at once */
    while ((c = upstream->list[PST_UPSTREAM_CONNECTING].first) != NULL ||
           (c = upstream->list[PST_UPSTREAM_BUSY].first) != NULL) {
        PST_ASSERT(c->entered == 0); /* not from a callback */
        pst_client_end(c, PST_CALL_RESET);
    }
    while ((c = upstream->list[PST_UPSTREAM_IDLE].first) != NULL)
        pst_upstream_close(c);
    pst_timer_cancel(upstream->loop, &upstream->timer);
    free(upstream->authority);
    free(upstream);
}

void pst_upstream_retime(struct pst_upstream *upstream, pst_ns connect_timeout, pst_ns idle_timeout)
{
    upstream->config.connect_timeout = connect_timeout;
    upstream->config.idle_timeout = idle_timeout;
    watch(upstream);
}

const char *pst_upstream_authority(const struct pst_upstream *upstream)
{
    return upstream->authority;
}

void pst_upstream_move(struct pst_upstream_connection *c, enum pst_upstream_state state)
{
    struct pst_upstream *upstream = c->upstream;

    if (c->state != PST_UPSTREAM_CLOSED)
        list_remove(&upstream->list[c->state], c);
    c->state = (uint8_t)state;
    if (state == PST_UPSTREAM_CLOSED)
        return;
    c->since = pst_loop_now(upstream->loop);
    list_add(&upstream->list[state], c);
    watch(upstream);
    if (upstream->list[PST_UPSTREAM_IDLE].count > upstream->config.idle_max)
        pst_upstream_close(upstream->list[PST_UPSTREAM_IDLE].last);
}

void pst_upstream_close(struct pst_upstream_connection *c)
{
    if (c->state != PST_UPSTREAM_CLOSED) {
        pst_upstream_move(c, PST_UPSTREAM_CLOSED);
        pst_later_cancel(c->upstream->loop, &c->later);
        if (c->io.fd >= 0) {
            pst_io_remove(&c->io);
            close(c->io.fd);
        }
        pst_output_done(&c->head);
        free(c->input);
        c->input = NULL;
        c->input_len = c->input_size = 0;
    }
    if (c->entered == 0)
        free(c);
}

int pst_upstream_connect(struct pst_upstream_connection *c)
{
    const struct pst_address *address = &c->upstream->addresses[c->address];
    int fd = socket(address->u.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return PST_E_SYSTEM;
    pst_fd_tune_tcp(fd);
    if (c->io.fd >= 0) { /* a next try */
        pst_io_remove(&c->io);
        close(c->io.fd);
    }
    c->io = (struct pst_io){
        .fd = fd, .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP, .ready = pst_client_ready};
    /* A refusal shows in the socket's events, at once or later. */
    if (connect(fd, &address->u.any, address->len) != 0 && errno != EINPROGRESS &&
        errno != ECONNREFUSED && errno != ENETUNREACH && errno != EHOSTUNREACH)
        return PST_E_SYSTEM;
    return pst_io_add(c->upstream->loop, &c->io);
}

static struct pst_upstream_connection *connection_new(struct pst_upstream *upstream)
{
    struct pst_upstream_connection *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->upstream = upstream;
    c->io.fd = -1;
    c->later.run = pst_client_later;
    c->state = PST_UPSTREAM_CLOSED;
    c->address = (uint8_t)upstream->address_good;
    pst_http1_init(&c->http, true);
    pst_upstream_move(c, PST_UPSTREAM_CONNECTING);
    if (pst_upstream_connect(c) != PST_OK) {
        pst_upstream_close(c);
        return NULL;
    }
    return c;
}

/* Nothing came while it lay idle, and it was not closed over there. */
static bool is_quiet(const struct pst_upstream_connection *c)
{
    char byte;

    return recv(c->io.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/*
 * The last one used. Its events of this turn may still be to be told, so it is looked at: an answer that
 * nobody asked for must not become the next call's.
 */
static struct pst_upstream_connection *take_idle(struct pst_upstream *upstream)
{
    struct pst_upstream_connection *c;

    while ((c = upstream->list[PST_UPSTREAM_IDLE].first) != NULL && !is_quiet(c))
        pst_upstream_close(c);
    return c;
}

int pst_call_start(struct pst_upstream *upstream, struct pst_call *call, struct pst_slice head,
                   const struct pst_chain *body, bool fresh)
{
    struct pst_upstream_connection *c = fresh ? NULL : take_idle(upstream);

    PST_ASSERT(call->connection == NULL);
    if (upstream->closing)
        return PST_E_SYSTEM;
    if (c != NULL) {
        c->reused = true;
        pst_http1_next(&c->http);
        pst_upstream_move(c, PST_UPSTREAM_BUSY);
    } else {
        c = connection_new(upstream);
        if (c == NULL)
            return PST_E_SYSTEM;
    }
    pst_client_begin(c, call, head, body);
    return PST_OK;
}

bool pst_call_running(const struct pst_call *call)
{
    return call->connection != NULL;
}

void pst_call_cancel(struct pst_call *call)
{
    struct pst_upstream_connection *c = call->connection;

    if (c == NULL)
        return;
    call->connection = NULL;
    c->call = NULL;
    pst_upstream_close(c);
}
