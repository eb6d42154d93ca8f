/* test_server.c - what a client meets, over real sockets. */
#include "served.h"

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

/* Behind the head, the body is read to where its owner wants it, and nothing but the body is. */
static void test_body_is_read_in_place(void **state)
{
    (void)state;
    ask("POST / HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\n01");
    WIRE_UNTIL(loop, seen.body_bytes == 2);
    assert_int_equal(seen.in_room, 0);
    wire_say(&client, "2345");
    WIRE_UNTIL(loop, seen.body_bytes == 6);
    assert_int_equal(seen.in_room, 4);
    wire_say(&client, "6789GET /now HTTP/1.1\r\n" H "\r\n");
    WIRE_UNTIL(loop, wire_heard(&client, "now"));
    assert_int_equal(seen.in_room, 8);
    assert_memory_equal(seen.body, "0123456789", 10);
    assert_int_equal(seen.heads, 2);
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

/* More of them than a head may be long, met by more bytes in the socket. */
static void test_many_pipelined(void **state)
{
    static const char one[] = "GET /now HTTP/1.1\r\n" H "\r\n";
    int i, count = 2000;

    (void)state;
    ask("GET /hold HTTP/1.1\r\n" H "\r\n");
    for (i = 0; i < count; i++)
        wire_say_bytes(&client, one, sizeof one - 1);
    WIRE_UNTIL(loop, seen.heads == 1);
    answer(seen.x, 200, "held");
    WIRE_UNTIL(loop, (wire_poll(&client), seen.heads == count + 1));
    assert_int_equal(seen.gone, 0);
    assert_false(wire_closed(&client));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_keep_alive),
        TEST(test_byte_by_byte),
        TEST(test_pipelined),
        TEST(test_pipelined_behind_a_held_one),
        TEST(test_many_pipelined),
        TEST(test_client_leaves),
        TEST(test_expect),
        TEST(test_http10),
        TEST(test_abort),
        TEST(test_bodyless),
        TEST(test_body_is_read_in_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
