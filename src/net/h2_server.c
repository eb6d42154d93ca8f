/* h2_server.c - listeners, the lists of connections, and who makes room; see h2.h. */
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "net/h2_inside.h"

#define HEAD_BYTES_MIN 1024
#define NEW            PST_S /* a connection so young may be about to ask */
#define RETRY_PAUSE    (100 * PST_MS)

static void retry_fired(struct pst_timer *timer);

int pst_h2_server_new(struct pst_loop *loop, const struct pst_h2_config *config,
                      struct pst_h2_server **ret_server)
{
    struct pst_h2_server *server;
    int rc;

    if (config->handler == NULL || config->head_max < HEAD_BYTES_MIN ||
        config->head_max > UINT32_MAX || config->streams_max == 0 || config->connections_max == 0 ||
        config->idle_timeout == 0 || config->write_stall == 0)
        return PST_E_INVALID;
    server = calloc(1, sizeof *server);
    if (server == NULL)
        return PST_E_NOMEM;
    server->loop = loop;
    server->config = *config;
    server->retry.fire = retry_fired;
    rc = pst_h2_session_prepare(&server->callbacks, &server->option, config->streams_max);
    if (rc != PST_OK) {
        free(server);
        return rc;
    }
    *ret_server = server;
    return PST_OK;
}

static struct pst_h2_list *list_of(struct pst_h2_connection *c)
{
    return c->streams_count == 0 ? &c->server->idle : &c->server->busy;
}

void pst_h2_list_add(struct pst_h2_connection *c)
{
    struct pst_h2_list *list = list_of(c);

    c->previous = NULL;
    c->next = list->first;
    if (c->next != NULL)
        c->next->previous = c;
    else
        list->last = c;
    list->first = c;
}

void pst_h2_list_remove(struct pst_h2_connection *c)
{
    struct pst_h2_list *list = list_of(c);

    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        list->first = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    else
        list->last = c->previous;
}

/* The one that is idle longest goes, unless it is so new that its first call may be on the way. */
static bool make_room(struct pst_h2_server *server)
{
    struct pst_h2_connection *c = server->idle.last;

    if (server->connections_count < server->config.connections_max)
        return true;
    while (c != NULL && !c->served && pst_loop_now(server->loop) - c->active_at < NEW)
        c = c->previous;
    if (c == NULL)
        return false;
    pst_h2_connection_farewell(c);
    return true;
}

static void resume_listeners(struct pst_h2_server *server)
{
    struct pst_listener *listener;

    for (listener = server->listeners; listener != NULL; listener = listener->next)
        pst_listener_resume(listener);
}

void pst_h2_server_left(struct pst_h2_server *server)
{
    pst_timer_cancel(server->loop, &server->retry);
    resume_listeners(server);
}

/* There is room for one more, or accepting waits until there is. */
static bool has_room(struct pst_h2_server *server)
{
    if (make_room(server))
        return true;
    pst_timer_set(server->loop, &server->retry, pst_loop_now(server->loop) + RETRY_PAUSE);
    return false;
}

static void retry_fired(struct pst_timer *timer)
{
    struct pst_h2_server *server = PST_H2_OF(struct pst_h2_server, timer, retry);

    if (has_room(server))
        resume_listeners(server);
}

static bool connection_accepted(struct pst_listener *listener, int fd,
                                const struct pst_address *peer)
{
    struct pst_h2_server *server = listener->user;

    (void)peer;
    (void)pst_h2_connection_new(server, fd); /* without memory it is closed */
    return has_room(server);
}

int pst_h2_server_listen(struct pst_h2_server *server, const char *address)
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

uint16_t pst_h2_server_port(const struct pst_h2_server *server)
{
    return server->listeners == NULL ? 0 : pst_listener_port(server->listeners);
}

uint32_t pst_h2_server_connections(const struct pst_h2_server *server)
{
    return server->connections_count;
}

static void close_listeners(struct pst_h2_server *server)
{
    struct pst_listener *listener;

    for (listener = server->listeners; listener != NULL; listener = listener->next)
        pst_listener_close(listener);
    pst_timer_cancel(server->loop, &server->retry);
}

static void drain_list(struct pst_h2_list *list)
{
    struct pst_h2_connection *c;

    for (c = list->first; c != NULL; c = c->next)
        pst_h2_connection_drain(c);
}

void pst_h2_server_drain(struct pst_h2_server *server)
{
    if (server->draining)
        return;
    server->draining = true;
    close_listeners(server);
    drain_list(&server->idle);
    drain_list(&server->busy);
}

void pst_h2_server_free(struct pst_h2_server *server)
{
    struct pst_listener *listener;

    if (server == NULL)
        return;
    close_listeners(server);
    while (server->busy.first != NULL)
        pst_h2_connection_close(server->busy.first);
    while (server->idle.first != NULL)
        pst_h2_connection_close(server->idle.first);
    while ((listener = server->listeners) != NULL) {
        server->listeners = listener->next;
        free(listener);
    }
    nghttp2_session_callbacks_del(server->callbacks);
    nghttp2_option_del(server->option);
    free(server);
}
