/* test_server.c - what a client meets, over real sockets. */
#include "wire.h"

#include <sys/resource.h>

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
} seen;

static struct pst_loop *loop;
static struct pst_server *server;
static struct wire client;
static char big[64 * 1024];

static void answer(struct pst_exchange *x, uint16_t status, const char *text)
{
    pst_exchange_respond(x, status, NULL, 0, strlen(text));
    pst_exchange_write(x, text, strlen(text));
    pst_exchange_end(x);
}

static void on_head(struct pst_exchange *x, const struct pst_head *head)
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

static void on_body(struct pst_exchange *x, const char *data, size_t len)
{
    if (seen.body_bytes + len < sizeof seen.body)
        memcpy(seen.body + seen.body_bytes, data, len);
    seen.body_bytes += len;
    if (seen.step_by_step)
        pst_exchange_read(x, false);
}

static void on_body_end(struct pst_exchange *x)
{
    seen.ends++;
    answer(x, 200, "done");
}

static void on_drained(struct pst_exchange *x)
{
    (void)x;
    seen.drained++;
}

static void on_gone(struct pst_exchange *x)
{
    (void)x;
    seen.gone++;
}

static void on_refused(void *user, uint16_t status, const char *why, const struct sockaddr *peer)
{
    (void)user;
    assert_non_null(why);
    assert_int_equal(peer->sa_family, AF_INET);
    seen.refused++;
    seen.refused_status = status;
}

static size_t error_body(uint16_t status, const char *why, char *buffer, size_t size)
{
    return (size_t)snprintf(buffer, size, "{\"error\":{\"code\":%u,\"message\":\"%s\"}}", status,
                            why);
}

static const struct pst_server_handler handler = {on_head, on_body, on_body_end, on_drained,
                                                  on_gone};

static struct pst_server_config config(void)
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

static void start(const struct pst_server_config *c)
{
    memset(&seen, 0, sizeof seen);
    memset(big, 'x', sizeof big);
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    assert_int_equal(pst_server_new(loop, c, &server), PST_OK);
    assert_int_equal(pst_server_listen(server, "127.0.0.1:0"), PST_OK);
    wire_connect(&client, pst_server_port(server));
}

static int set_up(void **state)
{
    struct pst_server_config c = config();

    (void)state;
    start(&c);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (client.fd >= 0)
        wire_close(&client);
    pst_server_free(server);
    pst_loop_free(loop);
    return 0;
}

static void restart(const struct pst_server_config *c)
{
    tear_down(NULL);
    start(c);
}

static void ask(const char *text)
{
    wire_forget(&client);
    wire_say(&client, text);
}

static void test_keep_alive(void **state)
{
    int i;

    (void)state;
    for (i = 1; i <= 3; i++) {
        ask("POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc");
        WIRE_UNTIL(loop, wire_heard(&client, "\r\n\r\ndone"));
        assert_non_null(strstr(client.bytes, "HTTP/1.1 200 OK\r\n"));
        assert_non_null(strstr(client.bytes, "Content-Length: 4\r\n"));
        assert_non_null(strstr(client.bytes, "\r\nDate: "));
        assert_null(strstr(client.bytes, "Connection:"));
        assert_int_equal(seen.ends, i);
    }
    assert_int_equal(seen.body_bytes, 9);
    assert_int_equal(pst_server_connections(server), 1);
}

static void test_byte_by_byte(void **state)
{
    static const char request[] =
        "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
    size_t i;

    (void)state;
    for (i = 0; i < sizeof request - 1; i++) {
        wire_say_bytes(&client, request + i, 1);
        assert_int_equal(pst_loop_turn(loop, PST_S), PST_OK);
    }
    WIRE_UNTIL(loop, wire_heard(&client, "done"));
    assert_int_equal(seen.body_bytes, 3);
    assert_memory_equal(seen.body, "abc", 3);
}

static void test_pipelined(void **state)
{
    (void)state;
    ask("GET /now HTTP/1.1\r\n" H "\r\nPOST / HTTP/1.1\r\n" H
        "Content-Length: 1\r\n\r\naGET /stream "
        "HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "0\r\n\r\n"));
    assert_int_equal(seen.heads, 3);
    assert_true(strstr(client.bytes, "now") < strstr(client.bytes, "done"));
    assert_true(strstr(client.bytes, "done") <
                strstr(client.bytes, "3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"));
}

/* The second request waits for the first one's answer, and is read then. */
static void test_pipelined_behind_a_held_one(void **state)
{
    (void)state;
    ask("GET /hold HTTP/1.1\r\n" H "\r\nGET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, seen.heads == 1);
    wire_say(&client, "GET /stream HTTP/1.1\r\n" H "\r\n");
    pst_loop_turn(loop, PST_MS);
    pst_loop_turn(loop, PST_MS);
    assert_int_equal(seen.heads, 1);
    answer(seen.x, 200, "held");
    WIRE_UNTIL(loop, wire_heard(&client, "0\r\n\r\n"));
    assert_int_equal(seen.heads, 3);
    assert_true(strstr(client.bytes, "held") < strstr(client.bytes, "now"));
}

static void test_client_leaves(void **state)
{
    static const char *const how[] = {"close", "half-close", "reset"};
    static const char *const what[] = {
        "GET /hold HTTP/1.1\r\n" H "\r\n",                               /* waiting */
        "POST / HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nabc",          /* its body */
        "POST /hold HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nabc",      /* body not read */
        "GET /hold HTTP/1.1\r\n" H "\r\nGET /now HTTP/1.1\r\n" H "\r\n", /* pipelined */
        "GET /hold HTTP/1.1\r\nAnswer: 1\r\n" H "\r\n",                  /* mid-response */
    };
    size_t i, j;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(how); i++)
        for (j = 0; j < PST_COUNT_OF(what); j++) {
            int gone = seen.gone, heads = seen.heads, turns = 0;

            ask(what[j]);
            WIRE_UNTIL(loop, seen.heads == heads + 1);
            if (strstr(what[j], "Answer") != NULL) {
                pst_exchange_respond(seen.x, 200, NULL, 0, PST_LENGTH_UNKNOWN);
                pst_exchange_write(seen.x, "part", 4);
            }
            if (strcmp(how[i], "close") == 0)
                wire_close(&client);
            else if (strcmp(how[i], "half-close") == 0)
                shutdown(client.fd, SHUT_WR);
            else
                wire_reset(&client);
            /* Seen by the next turn that has an event of this socket. */
            while (seen.gone == gone && turns < 3) {
                pst_loop_turn(loop, PST_S);
                turns++;
            }
            if (seen.gone != gone + 1)
                fail_msg("%s of %s is not seen", how[i], what[j]);
            assert_int_equal(pst_server_connections(server), 0);
            if (client.fd >= 0)
                wire_close(&client);
            wire_connect(&client, pst_server_port(server));
        }
}

static void test_expect(void **state)
{
    (void)state;
    ask("POST / HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "HTTP/1.1 100 Continue\r\n\r\n"));
    ask("abc");
    WIRE_UNTIL(loop, wire_heard(&client, "done"));
    assert_null(strstr(client.bytes, "100 Continue"));

    /* A verdict that comes first stands instead of it (B044). */
    ask("POST /no HTTP/1.1\r\n" H "Expect: 100-continue\r\nContent-Length: 10000000\r\n\r\n");
    WIRE_UNTIL(loop, wire_closed(&client));
    assert_null(strstr(client.bytes, "100 Continue"));
    assert_non_null(strstr(client.bytes, "HTTP/1.1 429 Too Many Requests\r\n"));
    assert_non_null(strstr(client.bytes, "Connection: close\r\n"));
    assert_true(client.ended && !client.reset);
}

static void test_http10(void **state)
{
    static const char *const requests[] = {
        "GET /stream HTTP/1.0\r\n\r\n",
        "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    };
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(requests); i++) {
        ask(requests[i]);
        WIRE_UNTIL(loop, wire_closed(&client));
        assert_null(strstr(client.bytes, "Transfer-Encoding"));
        assert_non_null(strstr(client.bytes, "Connection: close\r\n"));
        assert_string_equal(strstr(client.bytes, "\r\n\r\n"), "\r\n\r\nonetwo");
        wire_close(&client);
        wire_connect(&client, pst_server_port(server));
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *request;
        uint16_t status;
    } rows[] = {
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: x\n\n", 400},
        {"GET / HTTP/1.1\r\n" H "Transfer-Encoding: gzip\r\n\r\n", 400},
        {"FROB / HTTP/1.1\r\n" H "\r\n", 501},
        {"GET / HTTP/3.0\r\n" H "\r\n", 505},
    };
    char line[64];
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(rows); i++) {
        ask(rows[i].request);
        /* More bytes behind it must not turn the answer into a reset. */
        wire_say_bytes(&client, big, sizeof big);
        WIRE_UNTIL(loop, wire_closed(&client));
        snprintf(line, sizeof line, "HTTP/1.1 %u ", rows[i].status);
        if (strstr(client.bytes, line) != client.bytes || client.reset)
            fail_msg("row %zu: %s", i, client.bytes);
        snprintf(line, sizeof line, "{\"error\":{\"code\":%u,", rows[i].status);
        assert_non_null(strstr(client.bytes, line));
        assert_non_null(strstr(client.bytes, "Connection: close\r\n"));
        assert_int_equal(seen.refused, (int)i + 1);
        assert_int_equal(seen.refused_status, rows[i].status);
        wire_close(&client);
        wire_connect(&client, pst_server_port(server));
    }
    assert_int_equal(seen.heads, 0);
}

/* B038: 12 KiB of Authorization and 6 KiB of cookies pass by default; beyond the bound it is 431. */
static void test_big_heads(void **state)
{
    static char text[70000];
    int i;

    (void)state;
    snprintf(text, sizeof text,
             "GET /now HTTP/1.1\r\n" H "Authorization: %012288d\r\nCookie: %06144d\r\n\r\n", 1, 2);
    ask(text);
    WIRE_UNTIL(loop, wire_heard(&client, "\r\n\r\nnow"));
    snprintf(text, sizeof text, "GET /now HTTP/1.1\r\n" H "Authorization: %033000d\r\n\r\n", 1);
    for (i = 0; i < 2; i++) {
        if (i == 0) {
            ask(text);
        } else { /* in pieces */
            wire_forget(&client);
            wire_say_bytes(&client, text, 20000);
            pst_loop_turn(loop, PST_S);
            pst_loop_turn(loop, 10 * PST_MS);
            wire_say(&client, text + 20000);
        }
        WIRE_UNTIL(loop, wire_closed(&client));
        assert_non_null(strstr(client.bytes, "HTTP/1.1 431 "));
        assert_int_equal(seen.refused_status, 431);
        wire_close(&client);
        wire_connect(&client, pst_server_port(server));
    }
    assert_int_equal(seen.refused, 2);
}

/* B041, B043: the answer reaches a client that is still sending. */
static void test_lingers_after_an_early_answer(void **state)
{
    size_t sent = 0, total = 11 * 1024 * 1024;
    pst_ns until = pst_clock_now() + WIRE_PATIENCE;

    (void)state;
    ask("POST /no HTTP/1.1\r\n" H "Content-Length: 11534336\r\n\r\n");
    while (sent < total) {
        ssize_t n = send(client.fd, big, sizeof big, MSG_DONTWAIT | MSG_NOSIGNAL);

        assert_true(n > 0 || errno == EAGAIN);
        if (n > 0)
            sent += (size_t)n;
        pst_loop_turn(loop, 0);
        assert_true(pst_clock_now() < until);
    }
    WIRE_UNTIL(loop, wire_closed(&client));
    assert_false(client.reset);
    assert_non_null(strstr(client.bytes, "Connection: close\r\n"));
    assert_non_null(strstr(client.bytes, "{\"no\":1}"));
    assert_int_equal(seen.body_bytes, 0);
    wire_close(&client);
    WIRE_UNTIL(loop, pst_server_connections(server) == 0);
}

/* A small body that came with its head is passed over: a refusal must not cost a connection. */
static void test_refusal_keeps_the_connection(void **state)
{
    (void)state;
    ask("POST /no HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nGET /GET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "now"));
    assert_null(strstr(client.bytes, "Connection: close"));
    assert_int_equal(seen.heads, 2);
}

/* Nothing of a body comes while its owner does not want it, and all of it in the end. */
static void test_body_is_held_back(void **state)
{
    size_t sent = 0, total = (size_t)4 << 20, before;

    (void)state;
    seen.step_by_step = true;
    ask("POST / HTTP/1.1\r\n" H "Content-Length: 4194304\r\n\r\n");
    WIRE_UNTIL(loop, seen.heads == 1);
    while (seen.ends == 0) {
        size_t left = total - sent;
        ssize_t n = send(client.fd, big, left < sizeof big ? left : sizeof big,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        sent += n > 0 ? (size_t)n : 0;
        before = seen.body_bytes;
        pst_loop_turn(loop, PST_MS);
        pst_loop_turn(loop, 0);
        if (seen.ends == 0 && seen.body_bytes > before) {
            before = seen.body_bytes;
            pst_loop_turn(loop, 0);
            assert_int_equal(seen.body_bytes, before);
            pst_exchange_read(seen.x, true);
        }
    }
    assert_int_equal(seen.body_bytes, total);
    WIRE_UNTIL(loop, wire_heard(&client, "done"));
}

/* B019: what the client does not read is bounded by what the owner writes; it goes on when drained. */
static void test_back_pressure(void **state)
{
    size_t written = 0, pending = 0, got;

    (void)state;
    ask("GET /hold HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, seen.heads == 1);
    pst_exchange_respond(seen.x, 200, NULL, 0, PST_LENGTH_UNKNOWN);
    while (pending < 256 * 1024) {
        pending = pst_exchange_write(seen.x, big, sizeof big);
        written += sizeof big;
        assert_true(written < (size_t)64 << 20);
    }
    pst_loop_turn(loop, 0);
    assert_int_equal(seen.drained, 0);
    for (got = 0; seen.drained == 0; wire_forget(&client)) {
        wire_poll(&client);
        got += client.len;
        pst_loop_turn(loop, PST_MS);
    }
    assert_true(pst_exchange_pending(seen.x) <= 16384);
    pst_exchange_end(seen.x);
    while (!wire_heard(&client, "\r\n0\r\n\r\n")) {
        got += client.len;
        wire_forget(&client);
        pst_loop_turn(loop, PST_MS);
    }
    got += client.len;
    assert_true(got > written);
    assert_int_equal(seen.drained, 1);
    ask("GET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "now"));
}

static void test_write_stall(void **state)
{
    struct pst_server_config c = config();
    size_t pending = 0;

    (void)state;
    c.write_stall = 30 * PST_MS;
    restart(&c);
    ask("GET /hold HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, seen.heads == 1);
    pst_exchange_respond(seen.x, 200, NULL, 0, PST_LENGTH_UNKNOWN);
    while (pending == 0)
        pending = pst_exchange_write(seen.x, big, sizeof big);
    WIRE_UNTIL(loop, seen.gone == 1);
    assert_int_equal(pst_server_connections(server), 0);
}

static void test_time_outs(void **state)
{
    struct pst_server_config c = config();

    (void)state;
    c.head_timeout = c.body_timeout = 30 * PST_MS;
    restart(&c);
    ask("GET / HT");
    WIRE_UNTIL(loop, wire_closed(&client));
    assert_non_null(strstr(client.bytes, "HTTP/1.1 408 "));
    assert_int_equal(seen.refused_status, 408);
    wire_close(&client);

    wire_connect(&client, pst_server_port(server));
    ask("POST / HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nabc");
    WIRE_UNTIL(loop, wire_closed(&client));
    assert_non_null(strstr(client.bytes, "HTTP/1.1 408 "));
    assert_int_equal(seen.gone, 1);
    wire_close(&client);

    c = config();
    c.idle_timeout = 30 * PST_MS;
    restart(&c);
    ask("GET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_closed(&client));
    assert_non_null(strstr(client.bytes, "now"));
    assert_null(strstr(client.bytes, "408"));
}

static void test_broken_body(void **state)
{
    (void)state;
    ask("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nX\r\n");
    WIRE_UNTIL(loop, wire_closed(&client));
    assert_non_null(strstr(client.bytes, "HTTP/1.1 400 "));
    assert_int_equal(seen.gone, 1);
    assert_int_equal(seen.body_bytes, 3);
    assert_int_equal(seen.ends, 0);
}

static void test_abort(void **state)
{
    static const struct {
        const char *request;
        uint64_t length;
        bool reset;
    } rows[] = {
        {"GET /hold HTTP/1.1\r\n" H "\r\n", PST_LENGTH_UNKNOWN, false},
        {"GET /hold HTTP/1.1\r\n" H "\r\n", 10, false},
        {"GET /hold HTTP/1.0\r\n\r\n", PST_LENGTH_UNKNOWN, true},
    };
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(rows); i++) {
        ask(rows[i].request);
        WIRE_UNTIL(loop, seen.heads == (int)i + 1);
        pst_exchange_respond(seen.x, 200, NULL, 0, rows[i].length);
        pst_exchange_write(seen.x, "part", 4);
        pst_exchange_abort(seen.x);
        WIRE_UNTIL(loop, wire_closed(&client));
        assert_int_equal(client.reset, rows[i].reset);
        assert_null(strstr(client.bytes, "\r\n0\r\n\r\n"));
        wire_close(&client);
        wire_connect(&client, pst_server_port(server));
    }
    assert_int_equal(seen.gone, 0);
}

static void test_bodyless(void **state)
{
    (void)state;
    ask("HEAD /now HTTP/1.1\r\n" H "\r\nGET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "\r\n\r\nnow"));
    assert_int_equal(seen.heads, 2);
    assert_non_null(strstr(client.bytes, "Content-Length: 3\r\n\r\nHTTP/1.1 200"));
}

static void test_drain(void **state)
{
    static struct wire busy;

    (void)state;
    ask("GET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "now"));
    wire_connect(&busy, pst_server_port(server));
    wire_say(&busy, "GET /hold HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, seen.heads == 2);
    pst_server_close_after(server, true);
    pst_server_drain(server);
    WIRE_UNTIL(loop, wire_closed(&client));
    assert_int_equal(pst_server_connections(server), 1);
    answer(seen.x, 200, "last");
    WIRE_UNTIL(loop, wire_closed(&busy));
    assert_non_null(strstr(busy.bytes, "Connection: close\r\n"));
    assert_non_null(strstr(busy.bytes, "last"));
    wire_close(&busy);
    WIRE_UNTIL(loop, pst_server_connections(server) == 0);
}

/* At the bound accepting pauses, and goes on when a connection closes. */
static void test_connections_max(void **state)
{
    static struct wire second;
    struct pst_server_config c = config();

    (void)state;
    c.connections_max = 1;
    restart(&c);
    ask("GET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "now"));
    wire_connect(&second, pst_server_port(server));
    wire_say(&second, "GET /now HTTP/1.1\r\n" H "\r\n");
    pst_loop_turn(loop, 10 * PST_MS);
    assert_int_equal(pst_server_connections(server), 1);
    assert_int_equal(seen.heads, 1);
    wire_close(&client);
    WIRE_UNTIL(loop, wire_heard(&second, "now"));
    wire_close(&second);
}

/* Out of descriptors: nothing is lost, accepting goes on when one is free. */
static void test_descriptor_shortage(void **state)
{
    static struct wire second;
    struct rlimit before, none;

    (void)state;
    ask("GET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "now"));
    wire_connect(&second, pst_server_port(server));
    wire_say(&second, "GET /now HTTP/1.1\r\n" H "\r\n");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    pst_loop_turn(loop, PST_S);
    assert_int_equal(pst_server_connections(server), 1);
    pst_loop_turn(loop, 10 * PST_MS); /* no event of the listener while it pauses */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    wire_close(&client);
    WIRE_UNTIL(loop, wire_heard(&second, "now"));
    wire_close(&second);
}

static void test_free_tells_the_owner(void **state)
{
    (void)state;
    ask("GET /hold HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, seen.heads == 1);
    pst_server_free(server);
    server = NULL;
    assert_int_equal(seen.gone, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_keep_alive),
        TEST(test_byte_by_byte),
        TEST(test_pipelined),
        TEST(test_pipelined_behind_a_held_one),
        TEST(test_client_leaves),
        TEST(test_expect),
        TEST(test_http10),
        TEST(test_refusals),
        TEST(test_big_heads),
        TEST(test_lingers_after_an_early_answer),
        TEST(test_refusal_keeps_the_connection),
        TEST(test_body_is_held_back),
        TEST(test_back_pressure),
        TEST(test_write_stall),
        TEST(test_time_outs),
        TEST(test_broken_body),
        TEST(test_abort),
        TEST(test_bodyless),
        TEST(test_drain),
        TEST(test_connections_max),
        TEST(test_descriptor_shortage),
        TEST(test_free_tells_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
