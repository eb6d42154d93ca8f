/* test_http1_parse.c - messages in, verdicts and bodies out, the same however they are cut. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "net/http1_parse.h"

#define HEAD_MAX 1024
#define H        "Host: x\r\n"

struct row {
    const char *promise;
    const char *message;
    int status; /* 0: passes */
    const char *body;
    bool response;
    bool answers_head;
    bool until_close;
    bool last; /* the connection cannot be kept */
};

static const struct row rows[] = {
    {.promise = "get", .message = "GET /a?b HTTP/1.1\r\n" H "\r\n", .body = ""},
    {.promise = "a blank line before", .message = "\r\nGET / HTTP/1.1\r\n" H "\r\n", .body = ""},
    {.promise = "two blank lines before",
     .message = "\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n",
     .status = 400},
    {.promise = "length",
     .message = "POST / HTTP/1.1\r\n" H "Content-Length: 3\r\n\r\nabc",
     .body = "abc"},
    {.promise = "length 0",
     .message = "POST / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n",
     .body = ""},
    {.promise = "chunked",
     .message = "POST / HTTP/1.1\r\n" H
                "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
     .body = "abcde"},
    {.promise = "chunked, trailers dropped (B028)",
     .message = "POST / HTTP/1.1\r\n" H
                "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
     .body = "abc"},
    {.promise = "an empty chunked body",
     .message = "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     .body = ""},
    {.promise = "data that looks like framing",
     .message = "POST / HTTP/1.1\r\n" H
                "Transfer-Encoding: chunked\r\n\r\n7\r\n0\r\n\r\n\r\n\r\n0\r\n\r\n",
     .body = "0\r\n\r\n\r\n"},
    {.promise = "1.0 ends its connection",
     .message = "GET / HTTP/1.0\r\n\r\n",
     .body = "",
     .last = true},
    {.promise = "1.1 asks to close",
     .message = "GET / HTTP/1.1\r\n" H "Connection: foo, CLOSE\r\n\r\n",
     .body = "",
     .last = true},
    {.promise = "an upgrade is an ordinary request (B046)",
     .message =
         "GET / HTTP/1.1\r\n" H "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n",
     .body = ""},
    {.promise = "an upgrade with a body",
     .message = "POST / HTTP/1.1\r\n" H
                "Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nab",
     .body = "ab"},
    {.promise = "CONNECT", .message = "CONNECT a:1 HTTP/1.1\r\n" H "\r\n", .status = 400},
    {.promise = "absolute form", .message = "GET http://x/ HTTP/1.1\r\n" H "\r\n", .status = 400},
    {.promise = "asterisk form", .message = "OPTIONS * HTTP/1.1\r\n" H "\r\n", .status = 400},
    {.promise = "unknown method", .message = "FROB / HTTP/1.1\r\n" H "\r\n", .status = 501},
    {.promise = "lower-case method", .message = "get / HTTP/1.1\r\n" H "\r\n", .status = 501},
    {.promise = "HTTP/2.0", .message = "GET / HTTP/2.0\r\n" H "\r\n", .status = 505},
    {.promise = "HTTP/2 preface", .message = "PRI * HTTP/2.0\r\n\r\n", .status = 400},
    {.promise = "HTTP/1.2", .message = "GET / HTTP/1.2\r\n" H "\r\n", .status = 505},
    {.promise = "not HTTP", .message = "GET / ICE/1.0\r\n" H "\r\n", .status = 400},
    {.promise = "TLS", .message = "\x16\x03\x01\x02", .status = 400},
    {.promise = "no host", .message = "GET / HTTP/1.1\r\n\r\n", .status = 400},
    {.promise = "two hosts", .message = "GET / HTTP/1.1\r\n" H H "\r\n", .status = 400},
    {.promise = "folded", .message = "GET / HTTP/1.1\r\n" H " y\r\n\r\n", .status = 400},
    {.promise = "space before the colon",
     .message = "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
     .status = 400},
    {.promise = "B022 comma",
     .message = "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked,\r\nContent-Length: 50\r\n\r\n",
     .status = 400},
    {.promise = "B022 trailing space",
     .message = "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked \r\nContent-Length: 50\r\n\r\n",
     .status = 400},
    {.promise = "B022 gzip",
     .message =
         "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, gzip\r\nContent-Length: 50\r\n\r\n",
     .status = 400},
    {.promise = "B022 spaces",
     .message = "POST / HTTP/1.1\r\n" H
                "Transfer-Encoding: chunked  ,  gzip\r\nContent-Length: 50\r\n\r\n",
     .status = 400},
    {.promise = "B023",
     .message = "POST / HTTP/1.1\r\n" H
                "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nGET / H\r\n0\r\n\r\n",
     .status = 400},
    {.promise = "B025",
     .message =
         "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n2;\nxx\r\n45\r\n0\r\n\r\n",
     .status = 400,
     .body = ""},
    {.promise = "B026",
     .message =
         "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n2\r;a\r\nxx\r\n0\r\n\r\n",
     .status = 400,
     .body = ""},
    {.promise = "what came before a broken chunk was handed out",
     .message = "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncdX",
     .status = 400,
     .body = "abcd"},
    {.promise = "forbidden trailer (B028)",
     .message = "POST / HTTP/1.1\r\n" H
                "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nHost: evil\r\n\r\n",
     .status = 400,
     .body = "a"},
    {.promise = "response with a length",
     .message = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
     .response = true,
     .body = "ab"},
    {.promise = "response without a reason",
     .message = "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
     .response = true,
     .body = ""},
    {.promise = "response until the end",
     .message = "HTTP/1.1 200 OK\r\n\r\nab\r\n",
     .response = true,
     .until_close = true,
     .last = true,
     .body = "ab\r\n"},
    {.promise = "response with trailers stays reusable (B029)",
     .message =
         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-Foo: bar\r\n\r\n",
     .response = true,
     .body = "ab"},
    {.promise = "answer to HEAD",
     .message = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
     .response = true,
     .answers_head = true,
     .body = ""},
    {.promise = "chunked answer to HEAD",
     .message = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
     .response = true,
     .answers_head = true,
     .body = ""},
    {.promise = "204", .message = "HTTP/1.1 204 No Content\r\n\r\n", .response = true, .body = ""},
    {.promise = "304 with a length",
     .message = "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
     .response = true,
     .body = ""},
    {.promise = "1.0 response keeps alive if it says so",
     .message = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
     .response = true,
     .body = ""},
    {.promise = "response with both",
     .message =
         "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     .response = true,
     .status = 400},
    {.promise = "response with two lengths",
     .message = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
     .response = true,
     .status = 400},
    {.promise = "no response at all", .message = "hello\r\n\r\n", .response = true, .status = 400},
};

struct outcome {
    int status;
    bool whole;
    bool keep_alive;
    size_t used;
    size_t headers;
    char body[64];
    size_t body_len;
};

/* Feeds as a connection would: what was not used comes again with more behind it. */
static void feed(const struct row *row, size_t first, size_t step, struct outcome *ret)
{
    static struct pst_http1_head_room room;
    struct pst_http1 http;
    struct pst_http1_error error = {0};
    struct pst_head head;
    size_t len = strlen(row->message), have = 0, used, n = first;
    bool head_done = false;
    char *bytes;

    memset(ret, 0, sizeof *ret);
    pst_http1_init(&http, row->response);
    http.no_body = row->answers_head;
    while (ret->status == 0 && http.state != PST_HTTP1_END && have < len) {
        int rc;

        have = have + n < len ? have + n : len;
        n = step;
        /* Exactly as long as it is, so that reading beyond is seen by the sanitizer. */
        bytes = malloc(have - ret->used);
        memcpy(bytes, row->message + ret->used, have - ret->used);
        if (!head_done) {
            rc = pst_http1_head(&http, bytes, have - ret->used, HEAD_MAX, &room, &head, &used,
                                &error);
            if (rc == PST_OK) {
                head_done = true;
                ret->used += used;
                ret->headers = head.count;
                have = ret->used; /* the rest of the piece comes again */
                n = n > 0 ? n : 1;
            } else if (rc != PST_E_AGAIN) {
                ret->status = error.status;
            }
        } else {
            struct pst_slice body = {0};

            rc = pst_http1_body(&http, bytes, have - ret->used, &body, &used, &error);
            assert_true(ret->body_len + body.len <= sizeof ret->body);
            memcpy(ret->body + ret->body_len, body.at, body.len);
            ret->body_len += body.len;
            ret->used += used;
            if (rc != PST_OK)
                ret->status = error.status;
        }
        free(bytes);
    }
    ret->whole = http.state == PST_HTTP1_END;
    ret->keep_alive = http.keep_alive;
}

static void check(const struct row *row, size_t first, size_t step)
{
    struct outcome o;

    feed(row, first, step, &o);
    if (o.status != row->status)
        fail_msg("%s (%zu, %zu): status %d", row->promise, first, step, o.status);
    if (row->body != NULL &&
        (o.body_len != strlen(row->body) || memcmp(o.body, row->body, o.body_len) != 0))
        fail_msg("%s (%zu, %zu): body \"%.*s\"", row->promise, first, step, (int)o.body_len,
                 o.body);
    if (row->status != 0)
        return;
    if (o.whole == row->until_close || o.keep_alive == row->last || o.used != strlen(row->message))
        fail_msg("%s (%zu, %zu): whole %d, keep-alive %d, used %zu", row->promise, first, step,
                 o.whole, o.keep_alive, o.used);
}

static void test_cut_anywhere(void **state)
{
    size_t i, n;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(rows); i++)
        for (n = 1; n <= strlen(rows[i].message); n++) {
            check(&rows[i], n, 1000);
            check(&rows[i], n, n);
            check(&rows[i], n, 1);
        }
}

static void test_head_is_read(void **state)
{
    static const char text[] = "POST /v1/x?y HTTP/1.1\r\nHost: [::1]:80\r\nA:  b \t\r\nEmpty:\r\n"
                               "Connection: x, keep-alive\r\nExpect: 100-Continue\r\n"
                               "Content-Length: 7\r\n\r\n";
    static struct pst_http1_head_room room;
    struct pst_http1_error error;
    struct pst_http1 http;
    struct pst_head head;
    size_t used;

    (void)state;
    pst_http1_init(&http, false);
    assert_int_equal(
        pst_http1_head(&http, text, sizeof text - 1, HEAD_MAX, &room, &head, &used, &error),
        PST_OK);
    assert_int_equal(head.method, PST_METHOD_POST);
    assert_true(pst_slice_equal(head.target, PST_SLICE("/v1/x?y")));
    assert_true(pst_slice_equal(head.host, PST_SLICE("[::1]:80")));
    assert_true(pst_slice_equal(pst_head_find(&head, PST_SLICE("a"))->value, PST_SLICE("b")));
    assert_int_equal(pst_head_find(&head, PST_SLICE("empty"))->value.len, 0);
    assert_true(pst_head_lists(&head, PST_SLICE("connection"), PST_SLICE("Keep-Alive")));
    assert_true(head.expects_continue && head.has_body && http.keep_alive);
    assert_int_equal(head.content_length, 7);
    assert_int_equal(head.count, 6);
}

/* The bound counts every byte of the head, and holds whatever the pieces. */
static void test_head_bounds(void **state)
{
    static struct pst_http1_head_room room;
    struct pst_http1_error error = {0};
    struct pst_http1 http;
    struct pst_head head;
    char text[HEAD_MAX + 64];
    size_t len, used, i;

    (void)state;
    for (i = 0; i < 2; i++) {
        int pad = HEAD_MAX - (int)strlen("GET / HTTP/1.1\r\n" H "A: \r\n\r\n") + (int)i;

        len = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" H "A: %0*d\r\n\r\n", pad, 1);
        pst_http1_init(&http, false);
        assert_int_equal(pst_http1_head(&http, text, len, HEAD_MAX, &room, &head, &used, &error),
                         i == 0 ? PST_OK : PST_E_SYNTAX);
    }
    assert_int_equal(error.status, 431);

    len = (size_t)snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" H);
    for (i = 0; i < PST_HTTP1_HEADERS_MAX; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "a:\r\n");
    len += (size_t)snprintf(text + len, sizeof text - len, "\r\n");
    pst_http1_init(&http, false);
    assert_int_equal(pst_http1_head(&http, text, len, HEAD_MAX, &room, &head, &used, &error),
                     PST_E_SYNTAX);
    assert_int_equal(error.status, 431);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_head_is_read),
        cmocka_unit_test(test_head_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
