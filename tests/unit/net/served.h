/* served.h - a server whose owner notes what it is told, and a client of it; for its tests. */
#ifndef PST_TEST_SERVED_H
#define PST_TEST_SERVED_H

#include "wire.h"

#include "net/server.h"

#define H "Host: x\r\n"

/* An owner that notes what it is told and answers by the request's path. */
static struct {
    struct pst_exchange *x;
    int heads, ends, gone, drained, refused;
    uint16_t refused_status;
    size_t body_bytes;
    bool step_by_step; /* stop reading after every piece */
    char body[256];
    size_t in_room; /* of the body's bytes: given where they were asked to be */
    char room[4096];
} seen;

static struct pst_loop *loop;
static struct pst_server *server;
static struct wire client;
static char big[64 * 1024];

static inline void answer(struct pst_exchange *x, uint16_t status, const char *text)
{
    pst_exchange_respond(x, status, NULL, 0, strlen(text));
    pst_exchange_write(x, text, strlen(text));
    pst_exchange_end(x);
}

static inline void on_head(struct pst_exchange *x, const struct pst_head *head)
{
    seen.heads++;
    seen.x = x;
    if (pst_slice_equal(head->target, PST_SLICE("/now")))
        answer(x, 200, "now");
    else if (pst_slice_equal(head->target, PST_SLICE("/no")))
        answer(x, 429, "{\"no\":1}");
    else if (pst_slice_equal(head->target, PST_SLICE("/stream"))) {
        pst_exchange_respond(x, 200, NULL, 0, PST_LENGTH_UNKNOWN);
        pst_exchange_write(x, "one", 3);
        pst_exchange_write(x, "two", 3);
        pst_exchange_end(x);
    } else if (!pst_slice_equal(head->target, PST_SLICE("/hold")))
        pst_exchange_read(x, true);
}

static inline char *on_body_room(struct pst_exchange *x, size_t *ret_size)
{
    (void)x;
    *ret_size = sizeof seen.room;
    return seen.room;
}

static inline void on_body(struct pst_exchange *x, const char *data, size_t len)
{
    if (data == seen.room)
        seen.in_room += len;
    if (seen.body_bytes + len < sizeof seen.body)
        memcpy(seen.body + seen.body_bytes, data, len);
    seen.body_bytes += len;
    if (seen.step_by_step)
        pst_exchange_read(x, false);
}

static inline void on_body_end(struct pst_exchange *x)
{
    seen.ends++;
    answer(x, 200, "done");
}

static inline void on_drained(struct pst_exchange *x)
{
    (void)x;
    seen.drained++;
}

static inline void on_gone(struct pst_exchange *x)
{
    (void)x;
    seen.gone++;
}

static inline void on_refused(void *user, uint16_t status, const char *why,
                              const struct sockaddr *peer, char id[static PST_SERVER_ID_BYTES])
{
    (void)user;
    (void)snprintf(id, PST_SERVER_ID_BYTES, "%s", "refused-1");
    assert_non_null(why);
    assert_int_equal(peer->sa_family, AF_INET);
    seen.refused++;
    seen.refused_status = status;
}

static inline size_t error_body(uint16_t status, const char *why, char *buffer, size_t size)
{
    return (size_t)snprintf(buffer, size, "{\"error\":{\"code\":%u,\"message\":\"%s\"}}", status,
                            why);
}

static const struct pst_server_handler handler = {
    .head = on_head,
    .body = on_body,
    .body_room = on_body_room,
    .body_end = on_body_end,
    .drained = on_drained,
    .gone = on_gone,
};

static inline struct pst_server_config config(void)
{
    return (struct pst_server_config){
        .handler = &handler,
        .head_max = 32768,
        .connections_max = 100,
        .head_timeout = 10 * PST_S,
        .body_timeout = 10 * PST_S,
        .idle_timeout = 75 * PST_S,
        .write_stall = 10 * PST_S,
        .low_water = 16384,
        .refused = on_refused,
        .error_body = error_body,
    };
}

static inline void start(const struct pst_server_config *c)
{
    memset(&seen, 0, sizeof seen);
    memset(big, 'x', sizeof big);
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    assert_int_equal(pst_server_new(loop, c, &server), PST_OK);
    assert_int_equal(pst_server_listen(server, "127.0.0.1:0"), PST_OK);
    wire_connect(&client, pst_server_port(server));
}

static inline int set_up(void **state)
{
    struct pst_server_config c = config();

    (void)state;
    start(&c);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    if (client.fd >= 0)
        wire_close(&client);
    pst_server_free(server);
    pst_loop_free(loop);
    return 0;
}

static inline void restart(const struct pst_server_config *c)
{
    tear_down(NULL);
    start(c);
}

static inline void ask(const char *text)
{
    wire_forget(&client);
    wire_say(&client, text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
