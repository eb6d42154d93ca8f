/* test_server_limits.c - what the server refuses, bounds and times, over real sockets. */
#include "served.h"

#include <sys/resource.h>

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
        assert_non_null(strstr(client.bytes, "X-Request-Id: refused-1\r\n"));
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

static void answer_broken(struct pst_exchange *x, uint16_t status, const char *why)
{
    assert_string_equal(why, "malformed chunk size");
    answer(x, status, "mine");
}

/* The owner's own answer; the connection closes after it, whatever follows. */
static void test_broken_body_answered_by_its_owner(void **state)
{
    struct pst_server_handler own = handler;
    struct pst_server_config c = config();

    (void)state;
    own.broken = answer_broken;
    c.handler = &own;
    restart(&c);
    ask("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nX\r\n");
    wire_say_bytes(&client, big, sizeof big);
    WIRE_UNTIL(loop, wire_closed(&client));
    assert_non_null(strstr(client.bytes, "HTTP/1.1 400 "));
    assert_non_null(strstr(client.bytes, "Connection: close\r\n"));
    assert_non_null(strstr(client.bytes, "\r\n\r\nmine"));
    assert_false(client.reset);
    assert_int_equal(seen.gone, 0);
    assert_int_equal(seen.ends, 0);
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
    ask("GET /hold HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, seen.heads == 1);
    wire_connect(&second, pst_server_port(server));
    wire_say(&second, "GET /now HTTP/1.1\r\n" H "\r\n");
    pst_loop_turn(loop, 10 * PST_MS);
    assert_int_equal(pst_server_connections(server), 1);
    assert_int_equal(seen.heads, 1);
    answer(seen.x, 200, "held"); /* no place to be kept alive */
    WIRE_UNTIL(loop, wire_closed(&client));
    assert_non_null(strstr(client.bytes, "Connection: close\r\n"));
    WIRE_UNTIL(loop, wire_heard(&second, "now"));
    wire_close(&second);
}

/* Clients that only sit there keep nobody out. */
static void test_idle_ones_make_room(void **state)
{
    static struct wire half, second;
    struct pst_server_config c = config();

    (void)state;
    c.connections_max = 3;
    restart(&c);
    ask("GET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "now"));
    wire_connect(&half, pst_server_port(server));
    wire_say(&half, "GET /now HTTP/1.1\r\n");
    WIRE_UNTIL(loop, pst_server_connections(server) == 2);
    wire_connect(&second, pst_server_port(server));
    WIRE_UNTIL(loop, wire_closed(&client)); /* the idlest */
    wire_say(&second, "GET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&second, "now"));
    wire_say(&half, H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&half, "now"));
    wire_close(&half);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_refusals),
        TEST(test_big_heads),
        TEST(test_lingers_after_an_early_answer),
        TEST(test_refusal_keeps_the_connection),
        TEST(test_body_is_held_back),
        TEST(test_back_pressure),
        TEST(test_write_stall),
        TEST(test_time_outs),
        TEST(test_broken_body),
        TEST(test_broken_body_answered_by_its_owner),
        TEST(test_drain),
        TEST(test_connections_max),
        TEST(test_idle_ones_make_room),
        TEST(test_descriptor_shortage),
        TEST(test_free_tells_the_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
