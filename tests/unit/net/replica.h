/* replica.h - calls to a replica whose end the test holds; for tests of the upstream. */
#ifndef PST_TEST_REPLICA_H
#define PST_TEST_REPLICA_H

#include "wire.h"

#include "net/upstream.h"

#define HEAD_MAX 4096

static struct pst_loop *loop;
static struct pst_upstream *upstream;
static struct wire replica; /* the replica's end of the last accepted connection */
static int listener;
static uint16_t port;

static const struct pst_slice get = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27};

struct recorded {
    struct pst_call call; /* first */
    int heads, ends;
    uint16_t status;
    enum pst_call_end how;
    size_t len;
    char body[1 << 16];
    void (*on_body)(struct recorded *r);
};

static inline void on_head(struct pst_call *call, const struct pst_head *head)
{
    struct recorded *r = (struct recorded *)(void *)call;

    r->heads++;
    r->status = head->status;
}

static inline void on_body(struct pst_call *call, const char *data, size_t len)
{
    struct recorded *r = (struct recorded *)(void *)call;

    if (r->len + len < sizeof r->body)
        memcpy(r->body + r->len, data, len);
    r->len += len;
    if (r->on_body != NULL)
        r->on_body(r);
}

static inline void on_end(struct pst_call *call, enum pst_call_end how)
{
    struct recorded *r = (struct recorded *)(void *)call;

    assert_false(pst_call_running(call));
    r->ends++;
    r->how = how;
}

static const struct pst_call_handler handler = {on_head, on_body, on_end};
static struct recorded call;

static inline void renew(struct recorded *r)
{
    memset(r, 0, offsetof(struct recorded, body));
    r->on_body = NULL;
    r->call.handler = &handler;
}

static inline struct pst_upstream_config config(void)
{
    return (struct pst_upstream_config){
        .host = "127.0.0.1",
        .port = port,
        .connect_timeout = 5 * PST_S,
        .idle_timeout = 60 * PST_S,
        .idle_max = 4,
        .head_max = HEAD_MAX,
    };
}

static inline void start(const struct pst_upstream_config *c)
{
    assert_int_equal(pst_upstream_new(loop, c, &upstream), PST_OK);
}

static inline int set_up(void **state)
{
    struct pst_upstream_config c;

    (void)state;
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    listener = wire_listen(&port);
    replica.fd = -1;
    renew(&call);
    c = config();
    start(&c);
    return 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    if (replica.fd >= 0)
        wire_close(&replica);
    pst_upstream_free(upstream);
    close(listener);
    pst_loop_free(loop);
    return 0;
}

static inline void call_it(const struct pst_chain *body, bool fresh)
{
    renew(&call);
    assert_int_equal(pst_call_start(upstream, &call.call, get, body, fresh), PST_OK);
    assert_int_equal(call.ends, 0);
}

/* Until the replica has the request, on a new connection. */
static inline void call_new(void)
{
    if (replica.fd >= 0)
        wire_close(&replica);
    call_it(NULL, true);
    WIRE_UNTIL(loop, wire_accept(&replica, listener));
    WIRE_UNTIL(loop, wire_heard(&replica, "\r\n\r\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
