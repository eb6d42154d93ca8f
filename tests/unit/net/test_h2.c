/* test_h2.c - HTTP/2 streams as their owner sees them, gRPC aside. */
#include "h2_client.h"

#include "net/h2.h"

/* An owner that answers by path; bodies it makes up as they are pulled. */
static struct {
    int heads, ends, closed, drained;
    size_t body_bytes;
    struct pst_h2_stream *held;
    char authority[32], line[32];
    size_t left;   /* of the response that is pulled */
    bool trailers; /* behind it */
    size_t pulled;
} owner;

static struct pst_loop *loop;
static struct pst_h2_server *server;
static struct client client;

static void on_head(struct pst_h2_stream *stream, const struct pst_h2_head *head)
{
    static const struct pst_header type = {{"content-type", 12}, {"text/plain", 10}};
    size_t i;

    owner.heads++;
    assert_ptr_equal(pst_h2_server_user(stream), &owner);
    pst_h2_set_user(stream, stream);
    snprintf(owner.authority, sizeof owner.authority, "%.*s", (int)head->authority.len,
             head->authority.at);
    for (i = 0; i < head->count; i++)
        if (pst_slice_equal(head->headers[i].name, PST_SLICE("x-line")))
            snprintf(owner.line, sizeof owner.line, "%.*s", (int)head->headers[i].value.len,
                     head->headers[i].value.at);
    if (pst_slice_equal(head->path, PST_SLICE("/body")))
        pst_h2_respond(stream, 200, &type, 1, true);
    else if (pst_slice_equal(head->path, PST_SLICE("/none")))
        pst_h2_respond(stream, 404, &type, 1, false);
    else if (pst_slice_equal(head->path, PST_SLICE("/reset")))
        pst_h2_reset(stream);
    else
        owner.held = stream;
}

static void on_body(struct pst_h2_stream *stream, const char *data, size_t len)
{
    assert_ptr_equal(pst_h2_user(stream), stream);
    assert_int_equal(data[0], 'b');
    owner.body_bytes += len;
}

static void on_body_end(struct pst_h2_stream *stream)
{
    (void)stream;
    owner.ends++;
}

static size_t on_pull(struct pst_h2_stream *stream, char *into, size_t size, bool *ret_end)
{
    static const struct pst_header sum = {{"grpc-message", 12}, {"seen as a trailer", 17}};
    size_t len = owner.left < size ? owner.left : size;

    memset(into, 'r', len);
    owner.left -= len;
    owner.pulled += len;
    if (owner.left == 0 && owner.trailers)
        pst_h2_trailers(stream, &sum, 1);
    *ret_end = owner.left == 0;
    return len;
}

static void on_drain(struct pst_h2_stream *stream)
{
    owner.drained++;
    pst_h2_respond(stream, 503, NULL, 0, false);
}

static void on_closed(struct pst_h2_stream *stream)
{
    owner.closed++;
    if (owner.held == stream)
        owner.held = NULL;
}

static const struct pst_h2_handler handler = {
    .head = on_head,
    .body = on_body,
    .body_end = on_body_end,
    .pull = on_pull,
    .drain = on_drain,
    .closed = on_closed,
};

static int start(void **state)
{
    struct pst_h2_config c = {
        .handler = &handler,
        .user = &owner,
        .head_max = 16384,
        .streams_max = 100,
        .connections_max = 10,
        .idle_timeout = 75 * PST_S,
        .write_stall = 50 * PST_MS,
    };

    (void)state;
    memset(&owner, 0, sizeof owner);
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    assert_int_equal(pst_h2_server_new(loop, &c, &server), PST_OK);
    assert_int_equal(pst_h2_server_listen(server, "127.0.0.1:0"), PST_OK);
    client_connect(&client, pst_h2_server_port(server), 0);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    client_close(&client);
    pst_h2_server_free(server);
    pst_loop_free(loop);
    assert_int_equal(owner.heads, owner.closed);
    return 0;
}

static struct call *get(const char *path, const char *body, size_t body_len, bool whole)
{
    return client_request(&client, "GET", path, "text/plain", "x-line", "a line", body, body_len,
                          whole);
}

#define UNTIL(condition) CLIENT_UNTIL(loop, &client, condition)

static void test_bodies(void **state)
{
    static char body[300000];
    struct call *call;

    (void)state;
    memset(body, 'b', sizeof body);
    owner.left = 1000000; /* many windows and many writes */
    owner.trailers = true;
    call = get("/body", body, sizeof body, true);
    UNTIL(call->closed);
    assert_int_equal(call->http_status, 200);
    assert_string_equal(call->content_type, "text/plain");
    assert_int_equal(call->got_len, 1000000);
    assert_int_equal(call->header_blocks, 2);
    assert_string_equal(call->message, "seen as a trailer");
    assert_string_equal(owner.authority, "x");
    assert_string_equal(owner.line, "a line");
    assert_int_equal(owner.ends, 1);
    assert_int_equal(owner.body_bytes, sizeof body);
    assert_int_equal(owner.closed, 1);

    owner.trailers = false;
    call = get("/body", "", 0, true);
    UNTIL(call->closed);
    assert_int_equal(call->header_blocks, 1);
    assert_int_equal(call->got_len, 0);
    assert_int_equal(call->error_code, NGHTTP2_NO_ERROR);
}

/* An answer before the request has ended: whole, then the client is told to stop. */
static void test_early_answer(void **state)
{
    struct call *call = get("/none", "bbb", 3, false), *other = get("/hold", "", 0, true);

    (void)state;
    UNTIL(call->closed);
    assert_int_equal(call->http_status, 404);
    assert_int_equal(call->error_code, NGHTTP2_NO_ERROR);
    UNTIL(owner.held != NULL && owner.closed == 1);
    assert_false(other->closed);
    pst_h2_respond(owner.held, 200, NULL, 0, false);
    UNTIL(other->closed);
    call = get("/reset", "", 0, true);
    UNTIL(call->closed);
    assert_int_equal(call->http_status, -1);
    assert_int_equal(call->error_code, NGHTTP2_CANCEL);
}

/* Nothing is pulled that the client gave no window for. */
static void test_window(void **state)
{
    struct call *call;

    (void)state;
    client_close(&client);
    client_connect(&client, pst_h2_server_port(server), 1000);
    owner.left = 5000;
    call = get("/body", "", 0, true);
    UNTIL(call->got_len == 1000);
    assert_int_equal(pst_loop_turn(loop, PST_MS), PST_OK);
    assert_int_equal(owner.pulled, 1000);
    nghttp2_submit_window_update(client.session, 0, call->id, 4000);
    UNTIL(call->closed);
    assert_int_equal(call->got_len, 5000);
}

/* A client with all the windows in the world that does not read: bounded, and closed after a while. */
static void test_write_stall(void **state)
{
    (void)state;
    client_close(&client);
    client_connect(&client, pst_h2_server_port(server), INT32_MAX);
    nghttp2_submit_window_update(client.session, 0, 0, INT32_MAX - 65535);
    owner.left = (size_t)1 << 30;
    get("/body", "", 0, true);
    client_send(&client);
    WIRE_UNTIL(loop, owner.closed == 1);
    assert_in_range(owner.pulled, 1, (size_t)64 << 20); /* what kernels hold, and no more */
    assert_int_equal(pst_h2_server_connections(server), 0);
}

static void test_drain(void **state)
{
    struct call *call = get("/hold", "", 0, true);

    (void)state;
    UNTIL(owner.held != NULL);
    pst_h2_server_drain(server);
    pst_h2_server_drain(server);
    assert_int_equal(owner.drained, 1);
    UNTIL(client.ended);
    assert_int_equal(call->http_status, 503);
    assert_true(client.goaways > 0);
    client_close(&client);
    WIRE_UNTIL(loop, pst_h2_server_connections(server) == 0);
}

/* A client that does not close on its side is waited for, but not for long. */
static void test_linger(void **state)
{
    (void)state;
    UNTIL(client.streams_max == 100);
    pst_h2_server_drain(server);
    UNTIL(client.ended);
    WIRE_UNTIL(loop, pst_h2_server_connections(server) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bodies, start, stop),
        cmocka_unit_test_setup_teardown(test_early_answer, start, stop),
        cmocka_unit_test_setup_teardown(test_window, start, stop),
        cmocka_unit_test_setup_teardown(test_write_stall, start, stop),
        cmocka_unit_test_setup_teardown(test_drain, start, stop),
        cmocka_unit_test_setup_teardown(test_linger, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
