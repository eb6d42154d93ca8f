/* server.c - listeners, the list of connections and their lifetime; see server.h and exchange.h. */
#include "net/server.h"

#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/exchange.h"

#define HEAD_BYTES_MIN 1024
#define LOOKS_MAX      64 /* at connections that are idle but for half a head */

int pst_server_new(struct pst_loop *loop, const struct pst_server_config *config,
                   struct pst_server **ret_server)
{
    struct pst_server *server;

    if (config->handler == NULL || config->head_max < HEAD_BYTES_MIN ||
        config->connections_max == 0)
        return PST_E_INVALID;
    server = calloc(1, sizeof *server);
    if (server == NULL)
        return PST_E_NOMEM;
    server->loop = loop;
    server->config = *config;
    *ret_server = server;
    return PST_OK;
}

static struct pst_exchange_list *list_of(const struct pst_exchange *x)
{
    return x->state == PST_EXCHANGE_HEAD ? &x->server->idle : &x->server->busy;
}

static void list_add(struct pst_exchange_list *list, struct pst_exchange *x)
{
    x->previous = NULL;
    x->next = list->first;
    if (x->next != NULL)
        x->next->previous = x;
    else
        list->last = x;
    list->first = x;
}

static void list_remove(struct pst_exchange_list *list, struct pst_exchange *x)
{
    if (x->previous != NULL)
        x->previous->next = x->next;
    else
        list->first = x->next;
    if (x->next != NULL)
        x->next->previous = x->previous;
    else
        list->last = x->previous;
}

void pst_exchange_move(struct pst_exchange *x, enum pst_exchange_state state)
{
    struct pst_exchange_list *from = list_of(x), *to;

    x->state = (uint8_t)state;
    to = list_of(x);
    if (from == to)
        return;
    list_remove(from, x);
    list_add(to, x);
}

bool pst_server_is_full(const struct pst_server *server)
{
    return server->connections_count >= server->config.connections_max;
}

/* The one that is idle longest gives its place to whoever comes next. False: none is idle. */
static bool make_room(struct pst_server *server, const struct pst_exchange *newest)
{
    struct pst_exchange *x = server->idle.last;
    int looks = 0;

    while (x != NULL && (x == newest || x->input.len > 0 || x->entered > 0) && looks++ < LOOKS_MAX)
        x = x->previous;
    if (x == NULL || looks > LOOKS_MAX)
        return false;
    pst_exchange_close(x);
    return true;
}

void pst_exchange_close(struct pst_exchange *x)
{
    struct pst_server *server = x->server;
    struct pst_listener *listener;

    if (x->state == PST_EXCHANGE_CLOSED)
        return;
    list_remove(list_of(x), x);
    server->connections_count--;
    x->state = PST_EXCHANGE_CLOSED;
    pst_io_remove(&x->io);
    close(x->io.fd);
    pst_timer_cancel(server->loop, &x->timer);
    pst_later_cancel(server->loop, &x->later);
    pst_output_done(&x->output);
    free(x->input.bytes);
    x->input = (struct pst_leftover){0};
    for (listener = server->listeners; listener != NULL; listener = listener->next)
        pst_listener_resume(listener);
    if (x->entered == 0)
        free(x);
}

void pst_exchange_enter(struct pst_exchange *x)
{
    x->entered++;
}

void pst_exchange_leave(struct pst_exchange *x)
{
    PST_ASSERT(x->entered > 0);
    if (--x->entered == 0 && x->state == PST_EXCHANGE_CLOSED)
        free(x);
}

static bool connection_accepted(struct pst_listener *listener, int fd,
                                const struct pst_address *peer)
{
    struct pst_server *server = listener->user;
    struct pst_exchange *x = calloc(1, sizeof *x);

    if (x == NULL) {
        close(fd);
        return true;
    }
    x->io = (struct pst_io){.fd = fd, .events = EPOLLIN | EPOLLRDHUP, .ready = pst_exchange_ready};
    x->timer.fire = pst_exchange_time;
    x->later.run = pst_exchange_later;
    x->server = server;
    x->peer = *peer;
    x->active_at = pst_loop_now(server->loop);
    pst_http1_init(&x->http, false);
    if (pst_io_add(server->loop, &x->io) != PST_OK) {
        close(fd);
        free(x);
        return true;
    }
    list_add(&server->idle, x);
    server->connections_count++;
    pst_exchange_watch(x);
    pst_exchange_ready(&x->io,
                       EPOLLIN); /* the request is usually there already, and x may be gone */
    return !pst_server_is_full(server) || make_room(server, x);
}

int pst_server_listen(struct pst_server *server, const char *address)
{
    struct pst_listener *listener = calloc(1, sizeof *listener), **last = &server->listeners;
    int rc;

    if (listener == NULL)
        return PST_E_NOMEM;
    listener->accepted = connection_accepted;
    listener->user = server;
    rc = pst_listener_open(listener, server->loop, address);
    if (rc != PST_OK) {
        free(listener);
        return rc;
    }
    while (*last != NULL)
        last = &(*last)->next;
    *last = listener;
    return PST_OK;
}

uint16_t pst_server_port(const struct pst_server *server)
{
    return server->listeners == NULL ? 0 : pst_listener_port(server->listeners);
}

static void close_listeners(struct pst_server *server)
{
    struct pst_listener *listener;

    for (listener = server->listeners; listener != NULL; listener = listener->next)
        pst_listener_close(listener);
}

void pst_server_retime(struct pst_server *server, const struct pst_server_config *config)
{
    server->config.head_timeout = config->head_timeout;
    server->config.body_timeout = config->body_timeout;
    server->config.idle_timeout = config->idle_timeout;
    server->config.write_stall = config->write_stall;
}

void pst_server_drain(struct pst_server *server)
{
    struct pst_exchange *x, *next;

    server->draining = true;
    close_listeners(server);
    for (x = server->idle.first; x != NULL; x = next) {
        next = x->next;
        if (x->input.len == 0 && x->entered == 0)
            pst_exchange_close(x);
    }
}

void pst_server_close_after(struct pst_server *server, bool on)
{
    server->close_after = on;
}

uint32_t pst_server_connections(const struct pst_server *server)
{
    return server->connections_count;
}

void pst_server_free(struct pst_server *server)
{
    struct pst_listener *listener;
    struct pst_exchange *x;

    if (server == NULL)
        return;
    close_listeners(server);
    while ((x = server->busy.first) != NULL || (x = server->idle.first) != NULL) {
        PST_ASSERT(x->entered == 0); /* not from a callback */
        pst_exchange_enter(x);
        if (x->state == PST_EXCHANGE_OPEN) {
            pst_exchange_move(x, PST_EXCHANGE_FLUSHING); /* the owner must not end it now */
            server->config.handler->gone(x);
        }
        pst_exchange_close(x);
        pst_exchange_leave(x);
    }
    while ((listener = server->listeners) != NULL) {
        server->listeners = listener->next;
        free(listener);
    }
    free(server);
}

/* At most a second old: made anew when the loop's clock passed into another second. */
void pst_server_date(struct pst_server *server)
{
    pst_ns now = pst_loop_now(server->loop);
    time_t wall;
    struct tm utc;

    if (server->date_len > 0 && now / PST_S == server->date_at / PST_S)
        return;
    wall = (time_t)(pst_clock_wall_ns() / PST_S);
    gmtime_r(&wall, &utc);
    server->date_at = now;
    server->date_len =
        strftime(server->date, sizeof server->date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
}

void *pst_exchange_server_user(const struct pst_exchange *x)
{
    return x->server->config.user;
}

void pst_exchange_set_user(struct pst_exchange *x, void *user)
{
    x->user = user;
}

void *pst_exchange_user(const struct pst_exchange *x)
{
    return x->user;
}

const struct sockaddr *pst_exchange_peer(const struct pst_exchange *x)
{
    return &x->peer.u.any;
}
