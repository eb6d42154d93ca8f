/*
 * api_server.h - a small HTTP server on the loop under test, whose script is the test: it answers well, or in
 * every way that an API server fails.
 */
#ifndef PST_TEST_API_SERVER_H
#define PST_TEST_API_SERVER_H

#include "../net/wire.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>

#define API_CONNECTIONS 64
#define API_REQUESTS    512
#define API_BYTES       65536

struct api_connection;

/* One request, as it came; `connection` is NULL once that is closed. */
struct api_request {
    struct api_connection *connection;
    char method[16];
    char target[4096]; /* path and query */
    char head[8192];
    char body[8192];
    pst_ns at;
};

struct api_connection {
    struct pst_io io;
    struct api_server *server;
    size_t len;
    struct api_request *request; /* the one that is served */
    char bytes[API_BYTES];
};

struct api_server {
    struct pst_io io;
    struct pst_loop *loop;
    uint16_t port;
    void (*handle)(struct api_server *server, struct api_request *request);
    struct api_connection *connections[API_CONNECTIONS];
    struct api_request *requests;
    size_t count;
    bool deaf; /* ends connections as they come */
};

static inline void api_close(struct api_connection *c)
{
    struct api_server *server = c->server;

    for (size_t i = 0; i < server->count; i++)
        if (server->requests[i].connection == c)
            server->requests[i].connection = NULL;
    for (size_t i = 0; i < API_CONNECTIONS; i++)
        if (server->connections[i] == c)
            server->connections[i] = NULL;
    pst_io_remove(&c->io);
    close(c->io.fd);
    free(c);
}

static inline void api_send(struct api_request *r, const char *bytes, size_t len)
{
    assert_non_null(r->connection);
    while (len > 0) {
        ssize_t n = send(r->connection->io.fd, bytes, len, MSG_NOSIGNAL);

        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            assert_int_equal(pst_loop_turn(r->connection->server->loop, PST_MS), PST_OK);
            if (r->connection == NULL)
                return; /* the other side had enough */
            continue;
        }
        if (n < 0)
            return;
        bytes += n;
        len -= (size_t)n;
    }
}

static inline void api_reply(struct api_request *r, int status, const char *headers,
                             const char *body)
{
    char head[1024];
    int len = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n", status,
                       strlen(body), headers);

    api_send(r, head, (size_t)len);
    api_send(r, body, strlen(body));
}

static inline void api_stream(struct api_request *r)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

    api_send(r, head, sizeof head - 1);
}

static inline void api_chunk(struct api_request *r, const char *bytes, size_t len)
{
    char size[32];

    if (r->connection == NULL)
        return;
    api_send(r, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", len));
    if (r->connection != NULL)
        api_send(r, bytes, len);
    if (r->connection != NULL)
        api_send(r, "\r\n", 2);
}

static inline void api_say(struct api_request *r, const char *text)
{
    api_chunk(r, text, strlen(text));
}

static inline void api_end(struct api_request *r)
{
    api_send(r, "0\r\n\r\n", 5);
}

/* Takes the request at the front of the buffer; false: it is not whole. */
static inline bool api_take(struct api_connection *c)
{
    struct api_server *server = c->server;
    struct api_request *r = &server->requests[server->count];
    char *end = memmem(c->bytes, c->len, "\r\n\r\n", 4), *length;
    size_t head, body = 0;

    if (end == NULL)
        return false;
    head = (size_t)(end + 4 - c->bytes);
    assert_true(server->count < API_REQUESTS);
    assert_true(head < sizeof r->head);
    memset(r, 0, sizeof *r);
    memcpy(r->head, c->bytes, head);
    length = strcasestr(r->head, "\r\nContent-Length:");
    if (length != NULL)
        body = strtoul(length + 17, NULL, 10);
    assert_true(body < sizeof r->body);
    if (c->len < head + body)
        return false;
    memcpy(r->body, c->bytes + head, body);
    assert_int_equal(sscanf(r->head, "%15s %4095s", r->method, r->target), 2);
    r->connection = c;
    r->at = pst_clock_now();
    c->len -= head + body;
    memmove(c->bytes, c->bytes + head + body, c->len);
    server->count++;
    server->handle(server, r);
    return true;
}

static inline void api_ready(struct pst_io *io, uint32_t events)
{
    struct api_connection *c = (struct api_connection *)io;
    ssize_t n = recv(io->fd, c->bytes + c->len, sizeof c->bytes - c->len, MSG_DONTWAIT);

    (void)events;
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        api_close(c);
        return;
    }
    c->len += (size_t)n;
    api_take(c); /* clients of ours do not pipeline */
}

static inline void api_accept(struct pst_io *io, uint32_t events)
{
    struct api_server *server = (struct api_server *)io;
    int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    size_t i = 0;

    (void)events;
    if (fd >= 0 && server->deaf)
        close(fd);
    if (fd < 0 || server->deaf)
        return;
    while (server->connections[i] != NULL)
        assert_true(++i < API_CONNECTIONS);
    server->connections[i] = calloc(1, sizeof *server->connections[i]);
    server->connections[i]->server = server;
    server->connections[i]->io = (struct pst_io){.fd = fd, .events = EPOLLIN, .ready = api_ready};
    assert_int_equal(pst_io_add(server->loop, &server->connections[i]->io), PST_OK);
}

static inline void api_hang_up(struct api_server *server)
{
    for (size_t i = 0; i < API_CONNECTIONS; i++)
        if (server->connections[i] != NULL)
            api_close(server->connections[i]);
}

static inline void api_open(struct api_server *server, struct pst_loop *loop,
                            void (*handle)(struct api_server *, struct api_request *))
{
    *server = (struct api_server){.loop = loop, .handle = handle};
    server->requests = calloc(API_REQUESTS, sizeof *server->requests);
    server->io =
        (struct pst_io){.fd = wire_listen(&server->port), .events = EPOLLIN, .ready = api_accept};
    assert_int_equal(pst_io_add(loop, &server->io), PST_OK);
}

static inline void api_done(struct api_server *server)
{
    api_hang_up(server);
    pst_io_remove(&server->io);
    close(server->io.fd);
    free(server->requests);
}

/* The value of a header, or "" */
static inline const char *api_header(struct api_request *r, const char *name)
{
    static char value[4096];
    char find[64], *at, *end;

    snprintf(find, sizeof find, "\r\n%s: ", name);
    at = strcasestr(r->head, find);
    if (at == NULL)
        return "";
    at += strlen(find);
    end = strstr(at, "\r\n");
    snprintf(value, sizeof value, "%.*s", (int)(end - at), at);
    return value;
}

#endif
