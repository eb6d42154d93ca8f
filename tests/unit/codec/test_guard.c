/* test_guard.c - what the guard lets pass, whole and cut at every byte. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/guard.h"

struct head_row {
    const char *promise;
    const char *head;
    const char *why; /* NULL: passes */
};

static const struct head_row request_rows[] = {
    {"plain", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", NULL},
    {"tab inside a value", "GET / HTTP/1.1\r\nA: b\tc\r\n\r\n", NULL},
    {"bytes beyond ASCII in a value", "GET / HTTP/1.1\r\nA: \xc3\xa9\xff\r\n\r\n", NULL},
    {"empty value", "GET / HTTP/1.1\r\nA:\r\n\r\n", NULL},
    {"folded with a space", "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", "folded header line"},
    {"folded with a tab", "GET / HTTP/1.1\r\nA: b\r\n\tc\r\n\r\n", "folded header line"},
    {"folded first line", "GET / HTTP/1.1\r\n A: b\r\n\r\n", "folded header line"},
    {"bare LF ends a line", "GET / HTTP/1.1\nHost: x\r\n\r\n", "bare LF in the head"},
    {"bare LF ends the head", "GET / HTTP/1.1\r\nHost: x\r\n\n", "bare LF in the head"},
    {"bare CR in a value", "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", "bare CR in the head"},
    {"CR CR LF", "GET / HTTP/1.1\r\nA: b\r\r\n\r\n", "bare CR in the head"},
    {"NUL would end here, so another control", "GET / HTTP/1.1\r\nA: \x01\r\n\r\n",
     "control character in the head"},
    {"DEL, late in a word", "GET / HTTP/1.1\r\nA: abcdefghij\x7f\r\n\r\n",
     "control character in the head"},
    {"space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "malformed header name"},
    {"space inside a name", "GET / HTTP/1.1\r\nA B: x\r\n\r\n", "malformed header name"},
    {"no colon", "GET / HTTP/1.1\r\nHost\r\n\r\n", "malformed header name"},
    {"empty name", "GET / HTTP/1.1\r\n: x\r\n\r\n", "empty header name"},
    {"bytes beyond ASCII in a name", "GET / HTTP/1.1\r\nH\xc3\xb6st: x\r\n\r\n",
     "malformed header name"},
    {"two spaces", "GET  / HTTP/1.1\r\n\r\n", "malformed request line"},
    {"a tab for a space", "GET\t/ HTTP/1.1\r\n\r\n", "malformed request line"},
    {"space in the target", "GET /a b HTTP/1.1\r\n\r\n", "malformed request line"},
    {"space at the end", "GET / HTTP/1.1 \r\n\r\n", "malformed request line"},
    {"HTTP/0.9", "GET /\r\n\r\n", "malformed request line"},
    {"no method", " / HTTP/1.1\r\n\r\n", "malformed request line"},
    {"bytes beyond ASCII in the target", "GET /\xc3\xa9 HTTP/1.1\r\n\r\n",
     "malformed request line"},
    {"no request line", "\r\n\r\n", "empty request line"},
};

static void run_head(const struct head_row *row, bool response, size_t step)
{
    struct pst_guard_head guard = {.response = response};
    size_t len = strlen(row->head), at = 0, head_len = 0;
    const char *why = NULL;
    int rc = PST_E_AGAIN;

    while (rc == PST_E_AGAIN && at < len) {
        at = at + step < len ? at + step : len;
        rc = pst_guard_head(&guard, row->head, at, &head_len, &why);
    }
    if ((rc == PST_OK) != (row->why == NULL) || (why != NULL && strcmp(why, row->why) != 0))
        fail_msg("%s (step %zu): %d, %s", row->promise, step, rc, why == NULL ? "passes" : why);
    if (rc == PST_OK)
        assert_int_equal(head_len, len);
}

static void test_heads(void **state)
{
    static const struct head_row response = {"response", "HTTP/1.1 200 \r\nA: b\r\n\r\n", NULL};
    size_t i, step;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(request_rows); i++)
        for (step = 1; step <= strlen(request_rows[i].head); step++)
            run_head(&request_rows[i], false, step);
    for (step = 1; step <= strlen(response.head); step++)
        run_head(&response, true, step);
}

/* Every control byte, at every place within a word of eight. */
static void test_control_bytes(void **state)
{
    int byte;
    size_t place;

    (void)state;
    for (byte = 0; byte < 256; byte++)
        for (place = 0; place < 16; place++) {
            char head[64];
            size_t len = (size_t)snprintf(head, sizeof head, "GET / HTTP/1.1\r\nA: %-20s\r\n\r\n",
                                          "x"),
                   head_len;
            struct pst_guard_head guard = {0};
            const char *why;
            bool bad = (byte < 0x20 && byte != '\t') || byte == 0x7f;

            head[20 + place] = (char)byte;
            assert_int_equal(pst_guard_head(&guard, head, len, &head_len, &why),
                             bad ? PST_E_SYNTAX : PST_OK);
        }
}

struct field_row {
    const char *promise;
    int minor;
    bool response;
    const char *fields; /* name=value;… */
    const char *why;
    bool chunked;
    uint64_t length;
};

static const struct field_row field_rows[] = {
    {"one host", 1, false, "Host=x:80", NULL, false, 0},
    {"no host in 1.1", 1, false, "A=b", "no Host", false, 0},
    {"no host in 1.0", 0, false, "A=b", NULL, false, 0},
    {"two hosts in 1.1", 1, false, "Host=x;hOST=x", "more than one Host", false, 0},
    {"two hosts in 1.0", 0, false, "Host=x;Host=x", "more than one Host", false, 0},
    {"IPv6 host", 1, false, "Host=[::1]:80", NULL, false, 0},
    {"host with a path", 1, false, "Host=x/y", "malformed Host", false, 0},
    {"host with a user", 1, false, "Host=a@x", "malformed Host", false, 0},
    {"two hosts in one", 1, false, "Host=x y", "malformed Host", false, 0},
    {"a response needs none", 1, true, "A=b", NULL, false, 0},
    {"length", 1, false, "Host=x;content-LENGTH=00012", NULL, false, 12},
    {"signed length", 1, false, "Host=x;Content-Length=+5", "malformed Content-Length", false, 0},
    {"negative length", 1, false, "Host=x;Content-Length=-5", "malformed Content-Length", false, 0},
    {"list of lengths", 1, false, "Host=x;Content-Length=5, 5", "malformed Content-Length", false,
     0},
    {"hexadecimal length", 1, false, "Host=x;Content-Length=0x5", "malformed Content-Length", false,
     0},
    {"empty length", 1, false, "Host=x;Content-Length=", "malformed Content-Length", false, 0},
    {"18 digits", 1, false, "Host=x;Content-Length=999999999999999999", NULL, false,
     UINT64_C(999999999999999999)},
    {"19 digits", 1, false, "Host=x;Content-Length=1000000000000000000", "malformed Content-Length",
     false, 0},
    {"the same length twice", 1, false, "Host=x;Content-Length=5;Content-Length=5",
     "more than one Content-Length", false, 0},
    {"chunked", 1, false, "Host=x;Transfer-Encoding=Chunked", NULL, true, 0},
    {"chunked in 1.0", 0, false, "Host=x;Transfer-Encoding=chunked",
     "Transfer-Encoding in HTTP/1.0", false, 0},
    {"chunked with a comma", 1, false, "Host=x;Transfer-Encoding=chunked,",
     "unknown Transfer-Encoding", false, 0},
    {"chunked then gzip", 1, false, "Host=x;Transfer-Encoding=chunked, gzip",
     "unknown Transfer-Encoding", false, 0},
    {"gzip then chunked", 1, false, "Host=x;Transfer-Encoding=gzip, chunked",
     "unknown Transfer-Encoding", false, 0},
    {"identity", 1, false, "Host=x;Transfer-Encoding=identity", "unknown Transfer-Encoding", false,
     0},
    {"xchunked", 1, false, "Host=x;Transfer-Encoding=xchunked", "unknown Transfer-Encoding", false,
     0},
    {"chunked twice", 1, false, "Host=x;Transfer-Encoding=chunked;Transfer-Encoding=chunked",
     "more than one Transfer-Encoding", false, 0},
    {"length, then chunked", 1, false, "Host=x;Content-Length=0;Transfer-Encoding=chunked",
     "both Content-Length and Transfer-Encoding", false, 0},
    {"chunked, then length, in a response", 1, true, "Transfer-Encoding=chunked;Content-Length=5",
     "both Content-Length and Transfer-Encoding", false, 0},
};

static void test_fields(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(field_rows); i++) {
        const struct field_row *row = &field_rows[i];
        struct pst_guard_fields guard = {.response = row->response};
        const char *at = row->fields, *why = NULL;

        while (*at != '\0') {
            const char *equals = strchr(at, '='), *end = strchrnul(at, ';');

            pst_guard_field(&guard, at, (size_t)(equals - at), equals + 1,
                            (size_t)(end - equals - 1));
            at = *end == ';' ? end + 1 : end;
        }
        pst_guard_fields_verdict(&guard, (uint8_t)row->minor, &why);
        if ((why == NULL) != (row->why == NULL) || (why != NULL && strcmp(why, row->why) != 0))
            fail_msg("%s: %s", row->promise, why == NULL ? "passes" : why);
        if (why == NULL) {
            assert_int_equal(guard.chunked, row->chunked);
            assert_int_equal(guard.content_length, row->length);
        }
    }
}

struct chunk_row {
    const char *promise;
    const char *body;
    const char *why;
    bool response;
};

static const struct chunk_row chunk_rows[] = {
    {"two chunks", "3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", NULL, false},
    {"leading zeros", "0003\r\nabc\r\n000\r\n\r\n", NULL, false},
    {"extension", "3;a=b;c=\"d e\"\r\nabc\r\n0;x\r\n\r\n", NULL, false},
    {"trailer", "0\r\nX-Foo: bar\r\nY:\r\n\r\n", NULL, false},
    {"LF in an extension (B025)", "2;\nxx\r\n45\r\n0\r\n\r\n", "bare LF in a chunk extension",
     false},
    {"CR in an extension", "2;a\rb\r\nxx\r\n0\r\n\r\n", "bare CR in a chunk line", false},
    {"CR before an extension (B026)", "2\r;a\r\nxx\r\n0\r\n\r\n", "bare CR in a chunk line", false},
    {"LF ends a size", "2\nxx\r\n0\r\n\r\n", "malformed chunk size", false},
    {"space behind a size", "2 \r\nxx\r\n0\r\n\r\n", "malformed chunk size", false},
    {"space before a size", " 2\r\nxx\r\n0\r\n\r\n", "malformed chunk size", false},
    {"no size", ";a\r\nxx\r\n0\r\n\r\n", "malformed chunk size", false},
    {"signed size", "+2\r\nxx\r\n0\r\n\r\n", "malformed chunk size", false},
    {"0x", "0x2\r\nxx\r\n0\r\n\r\n", "malformed chunk size", false},
    {"sixteen digits", "0000000000000002\r\nxx\r\n0\r\n\r\n", "chunk size too large", false},
    {"too much data", "2\r\nxxx\r\n0\r\n\r\n", "chunk longer than its size", false},
    {"LF behind data", "2\r\nxx\n0\r\n\r\n", "chunk longer than its size", false},
    {"CR behind data", "2\r\nxx\r0\r\n\r\n", "bare CR after a chunk", false},
    {"LF ends the body", "0\r\n\n", "malformed trailer name", false},
    {"CR ends the body", "0\r\n\rx", "bare CR after the last chunk", false},
    {"trailer Content-Length (B028)", "0\r\nContent-Length: 5\r\n\r\n", "forbidden trailer", false},
    {"trailer Host (B028)", "0\r\nX: y\r\nhOST: evil\r\n\r\n", "forbidden trailer", false},
    {"trailer Transfer-Encoding", "0\r\nTransfer-Encoding: chunked\r\n\r\n", "forbidden trailer",
     false},
    {"trailer Authorization", "0\r\nAuthorization: x\r\n\r\n", "forbidden trailer", false},
    {"a response's are dropped anyway", "0\r\nContent-Length: 5\r\n\r\n", NULL, true},
    {"folded trailer (B028)", "0\r\n bad\r\n\r\n", "malformed trailer name", false},
    {"trailer without a colon", "0\r\nbad\r\n\r\n", "malformed trailer name", false},
    {"trailer with a control", "0\r\na: \x02\r\n\r\n", "control character in a trailer", false},
    {"trailer with a bare CR", "0\r\na: b\rc\r\n\r\n", "bare CR in a trailer", false},
};

static void run_chunks(const struct chunk_row *row, const char *body, size_t step)
{
    struct pst_guard_chunk guard = {.response = row->response};
    size_t len = strlen(body), at = 0;
    const char *why = NULL;
    int rc = PST_OK;

    while (rc == PST_OK && at < len && guard.state != PST_GUARD_CHUNK_END) {
        size_t n = len - at < step ? len - at : step, used;

        rc = pst_guard_chunk(&guard, body + at, n, &used, &why);
        at += used;
    }
    if ((rc == PST_OK) != (row->why == NULL) || (why != NULL && strcmp(why, row->why) != 0))
        fail_msg("%s (step %zu): %s", row->promise, step, why == NULL ? "passes" : why);
    if (rc == PST_OK) {
        assert_int_equal(guard.state, PST_GUARD_CHUNK_END);
        assert_int_equal(at, len);
    }
}

static void test_chunks(void **state)
{
    size_t i, step;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(chunk_rows); i++)
        for (step = 1; step <= strlen(chunk_rows[i].body); step++)
            run_chunks(&chunk_rows[i], chunk_rows[i].body, step);
}

static void test_chunk_bounds(void **state)
{
    static const struct chunk_row passes = {"at the bound", NULL, NULL, false};
    static const struct chunk_row extension = {"one line", NULL, "chunk extensions too long",
                                               false};
    static const struct chunk_row trailer = {"trailers", NULL, "trailers too long", false};
    char body[PST_GUARD_TRAILERS_BYTES_MAX + 64], *many, *end;
    size_t i;

    (void)state;
    snprintf(body, sizeof body, "1;%0*d\r\nx\r\n0\r\n\r\n", PST_GUARD_EXTENSION_BYTES_MAX, 1);
    run_chunks(&passes, body, 7);
    snprintf(body, sizeof body, "1;%0*d\r\nx\r\n0\r\n\r\n", PST_GUARD_EXTENSION_BYTES_MAX + 1, 1);
    run_chunks(&extension, body, 7);

    /* A drip of short extensions is bounded for the body as a whole. */
    many = end = calloc(1, 65536);
    for (i = 0; i < PST_GUARD_EXTENSIONS_BYTES_MAX / 64; i++)
        end += sprintf(end, "1;%064d\r\nx\r\n", 1);
    strcpy(end, "0\r\n\r\n");
    run_chunks(&passes, many, 4096);
    strcpy(end, "0;x\r\n\r\n");
    run_chunks(&extension, many, 4096);
    free(many);

    snprintf(body, sizeof body, "0\r\na:%0*d\r\n\r\n", PST_GUARD_TRAILERS_BYTES_MAX - 5, 1);
    run_chunks(&passes, body, 1000);
    snprintf(body, sizeof body, "0\r\na:%0*d\r\n\r\n", PST_GUARD_TRAILERS_BYTES_MAX - 4, 1);
    run_chunks(&trailer, body, 1000);
}

static void test_targets(void **state)
{
    static const struct {
        const char *target;
        bool passes;
    } rows[] = {{"/", true},           {"/v1/models?x=%20", true},
                {"//a", true},         {"*", false},
                {"http://a/b", false}, {"/a#b", false},
                {"", false},           {"a:443", false}};
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(rows); i++)
        if (pst_guard_target(rows[i].target, strlen(rows[i].target)) != rows[i].passes)
            fail_msg("%s", rows[i].target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heads),        cmocka_unit_test(test_control_bytes),
        cmocka_unit_test(test_fields),       cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_chunk_bounds), cmocka_unit_test(test_targets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
