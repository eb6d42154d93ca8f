/* h2_client.h - an HTTP/2 client in the same thread as the loop under test: nghttp2's, driven by hand. */
#ifndef PST_TEST_H2_CLIENT_H
#define PST_TEST_H2_CLIENT_H

#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <openssl/ssl.h>

#include "wire.h"

#define CALLS_MAX    8192
#define BODY_KEPT    256
#define UNSENT_BYTES (1 << 20)

struct call {
    int32_t id;
    const char *body; /* of the request; whole when `whole` */
    size_t body_len, body_at;
    bool whole;
    int http_status, grpc_status; /* -1: none came */
    char message[128];
    char content_type[64];
    char got[BODY_KEPT];
    size_t got_len; /* all of them, kept or not */
    int header_blocks;
    bool closed;
    uint32_t error_code;
};

struct client {
    int fd;
    SSL *ssl;
    nghttp2_session *session;
    uint32_t calls_count, closed_count;
    size_t got_len;       /* of all calls */
    uint32_t streams_max; /* the server's */
    int goaways, pings;
    int32_t last_stream; /* of the last GOAWAY */
    uint32_t goaway_code;
    bool ended, failed;
    size_t unsent_len;
    char unsent[UNSENT_BYTES];
    struct call calls[CALLS_MAX];
};

static inline struct call *call_of(struct client *c, int32_t id)
{
    return nghttp2_session_get_stream_user_data(c->session, id);
}

static inline int client_header(nghttp2_session *session, const nghttp2_frame *frame,
                                const uint8_t *name, size_t name_len, const uint8_t *value,
                                size_t value_len, uint8_t flags, void *user)
{
    struct call *call = call_of(user, frame->hd.stream_id);
    char key[64], text[256];

    (void)session;
    (void)flags;
    if (call == NULL)
        return 0;
    snprintf(key, sizeof key, "%.*s", (int)name_len, (const char *)name);
    snprintf(text, sizeof text, "%.*s", (int)value_len, (const char *)value);
    if (strcmp(key, ":status") == 0)
        call->http_status = atoi(text);
    else if (strcmp(key, "grpc-status") == 0)
        call->grpc_status = atoi(text);
    else if (strcmp(key, "grpc-message") == 0)
        snprintf(call->message, sizeof call->message, "%.100s", text);
    else if (strcmp(key, "content-type") == 0)
        snprintf(call->content_type, sizeof call->content_type, "%.60s", text);
    return 0;
}

static inline int client_data(nghttp2_session *session, uint8_t flags, int32_t id,
                              const uint8_t *data, size_t len, void *user)
{
    struct client *c = user;
    struct call *call = call_of(c, id);
    size_t room;

    (void)session;
    (void)flags;
    c->got_len += len;
    if (call == NULL)
        return 0;
    room = call->got_len < BODY_KEPT ? BODY_KEPT - call->got_len : 0;
    memcpy(call->got + (BODY_KEPT - room), data, len < room ? len : room);
    call->got_len += len;
    return 0;
}

static inline int client_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct client *c = user;
    struct call *call;

    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        call = call_of(c, frame->hd.stream_id);
        if (call != NULL)
            call->header_blocks++;
        break;
    case NGHTTP2_SETTINGS:
        c->streams_max =
            nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
        break;
    case NGHTTP2_PING:
        c->pings += (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0;
        break;
    case NGHTTP2_GOAWAY:
        c->goaways++;
        c->last_stream = frame->goaway.last_stream_id;
        c->goaway_code = frame->goaway.error_code;
        break;
    default:
        break;
    }
    return 0;
}

static inline int client_closed(nghttp2_session *session, int32_t id, uint32_t error_code,
                                void *user)
{
    struct client *c = user;
    struct call *call = call_of(c, id);

    (void)session;
    if (call == NULL)
        return 0;
    call->closed = true;
    call->error_code = error_code;
    c->closed_count++;
    return 0;
}

static inline ssize_t client_body(nghttp2_session *session, int32_t id, uint8_t *into, size_t size,
                                  uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct call *call = source->ptr;
    size_t left = call->body_len - call->body_at, n = left < size ? left : size;

    (void)session;
    (void)id;
    (void)user;
    if (n == 0 && !call->whole)
        return NGHTTP2_ERR_DEFERRED;
    if (n > 0)
        memcpy(into, call->body + call->body_at, n);
    call->body_at += n;
    if (call->whole && call->body_at == call->body_len)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

/* window: of each stream, as the client grants it; 0: the usual one. */
static inline void client_begin(struct client *c, int fd, int32_t window)
{
    nghttp2_settings_entry settings = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, (uint32_t)window};
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;

    memset(c, 0, offsetof(struct client, unsent));
    c->fd = fd;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, client_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, client_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, client_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, client_closed);
    assert_int_equal(nghttp2_option_new(&option), 0);
    nghttp2_option_set_no_auto_window_update(option, window > 0);
    nghttp2_option_set_peer_max_concurrent_streams(option, CALLS_MAX);
    assert_int_equal(nghttp2_session_client_new2(&c->session, callbacks, c, option), 0);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    assert_int_equal(nghttp2_submit_settings(c->session, 0, &settings, window > 0 ? 1 : 0), 0);
}

static inline int client_socket(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static inline void client_connect(struct client *c, uint16_t port, int32_t window)
{
    client_begin(c, client_socket(port), window);
}

static inline void client_close(struct client *c)
{
    if (c->session == NULL)
        return;
    if (c->ssl != NULL)
        SSL_free(c->ssl);
    nghttp2_session_del(c->session);
    close(c->fd);
    c->session = NULL;
}

static inline ssize_t client_move(struct client *c, char *bytes, size_t len, bool out)
{
    ssize_t n;
    int rc;

    if (c->ssl == NULL)
        return out ? send(c->fd, bytes, len, MSG_NOSIGNAL) : recv(c->fd, bytes, len, 0);
    rc = out ? SSL_write(c->ssl, bytes, (int)len) : SSL_read(c->ssl, bytes, (int)len);
    if (rc > 0)
        return rc;
    n = SSL_get_error(c->ssl, rc);
    errno = n == SSL_ERROR_WANT_READ || n == SSL_ERROR_WANT_WRITE ? EAGAIN : EPROTO;
    return n == SSL_ERROR_ZERO_RETURN ? 0 : -1;
}

static inline void client_send(struct client *c)
{
    const uint8_t *data;
    ssize_t n;

    while (c->unsent_len < UNSENT_BYTES / 2 &&
           (n = nghttp2_session_mem_send(c->session, &data)) > 0) {
        memcpy(c->unsent + c->unsent_len, data, (size_t)n);
        c->unsent_len += (size_t)n;
    }
    if (c->unsent_len == 0)
        return;
    n = client_move(c, c->unsent, c->unsent_len, true);
    if (n > 0) {
        c->unsent_len -= (size_t)n;
        memmove(c->unsent, c->unsent + n, c->unsent_len);
    } else if (errno != EAGAIN) {
        c->failed = true;
    }
}

static inline void client_receive(struct client *c)
{
    static char bytes[1 << 16];
    ssize_t n;

    while ((n = client_move(c, bytes, sizeof bytes, false)) > 0)
        if (nghttp2_session_mem_recv(c->session, (uint8_t *)bytes, (size_t)n) < 0)
            c->failed = true;
    c->ended |= n == 0;
    c->failed |= n < 0 && errno != EAGAIN;
}

/* True, so that it can stand in a condition. */
static inline bool client_poll(struct client *c)
{
    if (!c->failed)
        client_send(c);
    if (!c->failed && !c->ended)
        client_receive(c);
    return true;
}

static inline nghttp2_nv nv(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)value, strlen(name),
                        strlen(value), 0};
}

/* A request: its method, path, content type, and one more line unless extra is NULL. */
static inline struct call *client_request(struct client *c, const char *method, const char *path,
                                          const char *type, const char *extra,
                                          const char *extra_value, const char *body,
                                          size_t body_len, bool whole)
{
    struct call *call = &c->calls[c->calls_count++];
    nghttp2_data_provider provider = {.source.ptr = call, .read_callback = client_body};
    nghttp2_nv lines[6] = {nv(":method", method), nv(":scheme", "http"), nv(":authority", "x"),
                           nv(":path", path), nv("content-type", type)};
    size_t count = 5;

    assert_true(c->calls_count <= CALLS_MAX);
    *call = (struct call){
        .body = body, .body_len = body_len, .whole = whole, .http_status = -1, .grpc_status = -1};
    if (extra != NULL)
        lines[count++] = nv(extra, extra_value);
    call->id = nghttp2_submit_request(c->session, NULL, lines, count,
                                      whole && body_len == 0 ? NULL : &provider, call);
    assert_true(call->id > 0);
    return call;
}

#define CLIENT_UNTIL(loop, client, condition) WIRE_UNTIL(loop, client_poll(client) && (condition))

#endif
