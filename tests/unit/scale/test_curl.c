/* test_curl.c - requests of the control plane: bounds, time-outs, tokens, and callbacks that do as they like. */
#include "api_server.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "scale/curl.h"

static struct pst_loop *loop;
static struct pst_curl *curl;
static struct api_server server;
static char url[128], token_path[64];

/* What came of one call. */
struct outcome {
    struct pst_curl_call *call;
    bool done;
    struct pst_curl_answer answer;
    char body[1024], error[256];
    size_t pieces_len;
    char pieces[1024];
    bool stop, cancel;
};

static void done(void *user, const struct pst_curl_answer *answer)
{
    struct outcome *o = user;

    assert_false(o->done);
    o->done = true;
    o->answer = *answer;
    snprintf(o->body, sizeof o->body, "%s", answer->body);
    snprintf(o->error, sizeof o->error, "%s", answer->error);
}

static bool data(void *user, const char *bytes, size_t len)
{
    struct outcome *o = user;

    memcpy(o->pieces + o->pieces_len, bytes, len);
    o->pieces_len += len;
    if (o->cancel)
        pst_curl_cancel(o->call);
    return !o->stop;
}

static struct pst_curl_request request_for(const char *path, struct outcome *o)
{
    memset(o, 0, sizeof *o);
    snprintf(url, sizeof url, "http://127.0.0.1:%u%s", server.port, path);
    return (struct pst_curl_request){.url = url,
                                     .connect_timeout = 5 * PST_S,
                                     .timeout = 5 * PST_S,
                                     .bytes_max = 100,
                                     .done = done,
                                     .user = o};
}

static void start(const struct pst_curl_request *request)
{
    struct outcome *o = request->user;

    assert_int_equal(pst_curl_start(curl, request, &o->call), PST_OK);
    assert_false(o->done); /* never from inside */
}

static void get(const char *path, struct outcome *o)
{
    struct pst_curl_request request = request_for(path, o);

    start(&request);
    WIRE_UNTIL(loop, o->done);
}

static bool asks(const struct api_request *r, const char *path)
{
    return strcmp(r->target, path) == 0;
}

static void handle(struct api_server *s, struct api_request *r)
{
    char *long_head;

    (void)s;
    if (asks(r, "/empty")) {
        api_reply(r, 200, "", "");
    } else if (asks(r, "/busy")) {
        api_reply(r, 429, "Retry-After: 7\r\n", "later");
    } else if (asks(r, "/away")) {
        api_reply(r, 503, "Retry-After: 86400\r\n", "");
    } else if (asks(r, "/moved")) {
        api_reply(r, 302, "Location: /hello\r\n", "moved");
    } else if (asks(r, "/100") || asks(r, "/101")) {
        char body[128] = {0};

        memset(body, 'x', asks(r, "/100") ? 100 : 101);
        api_reply(r, 200, "", body);
    } else if (asks(r, "/cut")) {
        api_send(r, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", 42);
        api_close(r->connection);
    } else if (asks(r, "/garbage")) {
        api_send(r, "\x01\x02\x03 what\r\n\r\n", 12);
        api_close(r->connection);
    } else if (asks(r, "/head")) {
        long_head = malloc(80000);
        memset(long_head, 'h', 80000);
        api_send(r, "HTTP/1.1 200 OK\r\nX: ", 20);
        api_send(r, long_head, 80000);
        if (r->connection != NULL)
            api_send(r, "\r\nContent-Length: 0\r\n\r\n", 23);
        free(long_head);
    } else if (!asks(r, "/silent") && !asks(r, "/stream")) {
        api_reply(r, 200, "", "hello");
    }
}

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    assert_int_equal(pst_curl_new(loop, &curl), PST_OK);
    api_open(&server, loop, handle);
    snprintf(token_path, sizeof token_path, "/tmp/pst-token-%d", (int)getpid());
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pst_curl_free(curl);
    api_done(&server);
    pst_loop_free(loop);
    unlink(token_path);
    return 0;
}

static void write_token(const char *text)
{
    char next[80];
    int fd;

    snprintf(next, sizeof next, "%s.next", token_path);
    fd = open(next, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    assert_int_equal(rename(next, token_path), 0); /* as a kubelet does: another file */
}

static void test_answers(void **state)
{
    static const struct {
        const char *path;
        int rc;
        long status;
        const char *body;
    } rows[] = {
        {"/hello", PST_OK, 200, "hello"},   {"/empty", PST_OK, 200, ""},
        {"/moved", PST_OK, 302, "moved"}, /* not followed */
        {"/busy", PST_OK, 429, "later"},    {"/101", PST_E_FULL, 200, ""},
        {"/cut", PST_E_SYSTEM, 200, "abc"}, {"/garbage", PST_E_SYSTEM, 0, ""},
        {"/head", PST_E_FULL, 200, ""},
    };
    struct outcome o;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        get(rows[i].path, &o);
        if (o.answer.rc != rows[i].rc || strcmp(o.body, rows[i].body) != 0 ||
            o.answer.status != rows[i].status)
            fail_msg("%s: rc %d, status %ld, \"%s\", %s", rows[i].path, o.answer.rc,
                     o.answer.status, o.body, o.error);
        assert_int_equal(o.answer.rc == PST_OK, o.error[0] == '\0');
    }
    get("/100", &o);
    assert_int_equal(o.answer.rc, PST_OK);
    assert_int_equal(o.answer.len, 100);
    get("/busy", &o);
    assert_int_equal(o.answer.retry_after, 7 * PST_S);
    get("/away", &o);
    assert_int_equal(o.answer.retry_after, 60 * PST_S); /* nobody is waited for all day */
}

static void test_nobody_and_nothing_but_http(void **state)
{
    struct outcome o;
    struct pst_curl_request request = request_for("/silent", &o);
    uint16_t nobody;
    int fd = wire_listen(&nobody);

    (void)state;
    request.timeout = 50 * PST_MS;
    start(&request);
    WIRE_UNTIL(loop, o.done);
    assert_int_equal(o.answer.rc, PST_E_AGAIN);
    close(fd);
    request = request_for("/", &o);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", nobody);
    start(&request);
    WIRE_UNTIL(loop, o.done);
    assert_int_equal(o.answer.rc, PST_E_SYSTEM);
    request = request_for("/", &o);
    request.url = "file:///etc/hostname";
    start(&request);
    WIRE_UNTIL(loop, o.done);
    assert_int_equal(o.answer.rc, PST_E_SYSTEM);
    assert_int_equal(o.answer.len, 0);
}

static void test_no_proxy(void **state)
{
    struct outcome o;

    (void)state;
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
    get("/hello", &o);
    unsetenv("http_proxy");
    unsetenv("ALL_PROXY");
    assert_int_equal(o.answer.rc, PST_OK);
}

static void test_patch(void **state)
{
    struct outcome o;
    struct pst_curl_request request = request_for("/hello", &o);

    (void)state;
    request.method = "PATCH";
    request.headers[0] = "Content-Type: application/merge-patch+json";
    request.body = "{\"a\":1}, and more";
    request.body_len = 7;
    start(&request);
    WIRE_UNTIL(loop, o.done);
    assert_string_equal(server.requests[0].method, "PATCH");
    assert_string_equal(server.requests[0].body, "{\"a\":1}");
    assert_string_equal(api_header(&server.requests[0], "Content-Type"),
                        "application/merge-patch+json");
    assert_string_equal(api_header(&server.requests[0], "Authorization"), "");
}

static const char *asked_with(struct pst_curl_access *access, struct outcome *o)
{
    struct pst_curl_request request = request_for("/hello", o);
    size_t before = server.count;

    request.access = access;
    start(&request);
    WIRE_UNTIL(loop, o->done);
    if (server.count == before)
        return NULL;
    return api_header(&server.requests[server.count - 1], "Authorization");
}

static void test_token_rotates(void **state)
{
    struct pst_curl_access access = {.token_file = token_path};
    struct timespec times[2];
    struct stat about;
    struct outcome o;
    int fd;

    (void)state;
    assert_null(asked_with(&access, &o)); /* there is no file yet */
    assert_int_equal(o.answer.rc, PST_E_INVALID);
    assert_non_null(strstr(o.error, token_path));
    write_token(" one\n");
    assert_string_equal(asked_with(&access, &o), "Bearer one");
    write_token("two\n");
    assert_string_equal(asked_with(&access, &o), "Bearer two");
    write_token("a token\nof two lines"); /* half-written: the last good one stays */
    assert_string_equal(asked_with(&access, &o), "Bearer two");
    write_token("three");
    assert_string_equal(asked_with(&access, &o), "Bearer three");
    /* In place and within one tick of the clock, nothing shows; a refused token is read again. */
    assert_int_equal(stat(token_path, &about), 0);
    fd = open(token_path, O_WRONLY | O_TRUNC);
    assert_int_equal(write(fd, "four", 4), 4);
    close(fd);
    times[0] = times[1] = about.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, token_path, times, 0), 0);
    assert_string_equal(asked_with(&access, &o), "Bearer three");
    pst_curl_access_forget(&access);
    assert_string_equal(asked_with(&access, &o), "Bearer four");
    unlink(token_path); /* gone for a moment: it may still be good */
    assert_string_equal(asked_with(&access, &o), "Bearer four");
    pst_curl_access_done(&access);
}

static void test_stream(void **state)
{
    struct outcome o;
    struct pst_curl_request request = request_for("/stream", &o);

    (void)state;
    request.data = data;
    start(&request);
    WIRE_UNTIL(loop, server.count == 1);
    api_stream(&server.requests[0]);
    api_say(&server.requests[0], "one ");
    WIRE_UNTIL(loop, o.pieces_len == 4); /* at once, not at the end */
    assert_false(o.done);
    api_say(&server.requests[0], "two");
    api_end(&server.requests[0]);
    WIRE_UNTIL(loop, o.done);
    assert_memory_equal(o.pieces, "one two", 7);
    assert_int_equal(o.answer.len, 0);
    assert_int_equal(o.answer.rc, PST_OK);
    request = request_for("/busy", &o); /* no stream: collected */
    request.data = data;
    start(&request);
    WIRE_UNTIL(loop, o.done);
    assert_int_equal(o.pieces_len, 0);
    assert_string_equal(o.body, "later");
}

static void test_enough(void **state)
{
    struct outcome o, other;
    struct pst_curl_request request;

    (void)state;
    for (int way = 0; way < 2; way++) {
        struct api_request *r;

        request = request_for("/stream", &o);
        request.data = data;
        o.stop = way == 0;
        o.cancel = way == 1;
        start(&request);
        r = &server.requests[server.count];
        WIRE_UNTIL(loop, r->connection != NULL);
        api_stream(r);
        api_say(r, "enough");
        WIRE_UNTIL(loop, r->connection == NULL); /* and the connection is closed */
        assert_int_equal(o.pieces_len, 6);
        assert_false(o.done);
    }
    request = request_for("/silent", &o);
    start(&request);
    get("/hello", &other);
    pst_curl_cancel(o.call);
    get("/hello", &other);
    assert_false(o.done);
}

static void done_and_again(void *user, const struct pst_curl_answer *answer)
{
    struct outcome *o = user;
    struct pst_curl_request request;

    done(user, answer);
    pst_curl_cancel(o[1].call); /* another one */
    request = request_for("/hello", &o[2]);
    start(&request);
}

static void test_callbacks_start_and_cancel(void **state)
{
    struct outcome o[3];
    struct pst_curl_request request = request_for("/silent", &o[1]);

    (void)state;
    start(&request);
    request = request_for("/hello", &o[0]);
    request.done = done_and_again;
    start(&request);
    WIRE_UNTIL(loop, o[0].done && o[2].done);
    assert_false(o[1].done);
    request = request_for("/silent", &o[0]); /* is cancelled with its curl */
    start(&request);
    WIRE_UNTIL(loop, server.requests[server.count - 1].connection != NULL &&
                         asks(&server.requests[server.count - 1], "/silent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_and_nothing_but_http, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_proxy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_patch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_token_rotates, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stream, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_enough, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_callbacks_start_and_cancel, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
