/* test_upstream.c - what a call makes of what a replica does, over real sockets. */
#include "replica.h"

struct row {
    const char *promise;
    const char *answer;
    bool closes; /* the replica, after it */
    bool resets;
    enum pst_call_end how;
    int status; /* 0: no head was told */
    const char *body;
    bool kept; /* the connection carries the next call */
};

static const struct row rows[] = {
    {"length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", false, false, PST_CALL_DONE, 200,
     "ab", true},
    {"chunked with trailers (B029)",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\nX-Foo: "
     "bar\r\n\r\n",
     false, false, PST_CALL_DONE, 200, "abc", true},
    {"no body", "HTTP/1.1 204 No Content\r\n\r\n", false, false, PST_CALL_DONE, 204, "", true},
    {"until the end", "HTTP/1.1 200 OK\r\n\r\nabc", true, false, PST_CALL_DONE, 200, "abc", false},
    {"1xx are dropped",
     "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
     false, false, PST_CALL_DONE, 200, "", true},
    {"101 is refused", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", false, false,
     PST_CALL_BAD_FRAMING, 0, "", false},
    {"asks to close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", false,
     false, PST_CALL_DONE, 200, "a", false},
    {"bytes behind the answer", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", false, false,
     PST_CALL_DONE, 200, "a", false},
    {"closes at once", "", true, false, PST_CALL_RESET, 0, "", false},
    {"resets at once", "", true, true, PST_CALL_RESET, 0, "", false},
    {"closes inside the head", "HTTP/1.1 200", true, false, PST_CALL_CUT, 0, "", false},
    {"closes after a 1xx", "HTTP/1.1 100 Continue\r\n\r\n", true, false, PST_CALL_CUT, 0, "",
     false},
    {"closes inside a body with a length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", true,
     false, PST_CALL_CUT, 200, "ab", false},
    {"closes inside a chunked body",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n", true, false, PST_CALL_CUT,
     200, "ab", false},
    {"not HTTP", "SSH-2.0-x\r\n\r\n", false, false, PST_CALL_BAD_FRAMING, 0, "", false},
    {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", false,
     false, PST_CALL_BAD_FRAMING, 0, "", false},
    {"broken chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\nX", false,
     false, PST_CALL_BAD_FRAMING, 200, "ab", false},
};

static void check(const struct row *row, size_t cut)
{
    const char *why = NULL;

    WIRE_UNTIL(loop, call.ends == 1);
    if (call.how != row->how)
        why = "end";
    else if ((call.heads > 0) != (row->status != 0) || call.status != row->status)
        why = "head";
    else if (call.len != strlen(row->body) || memcmp(call.body, row->body, call.len) != 0)
        why = "body";
    if (why != NULL)
        fail_msg("%s, cut at %zu: another %s: %d, %u, %zu", row->promise, cut, why, call.how,
                 call.status, call.len);
    /* Kept: the next call comes on the same connection. */
    pst_loop_turn(loop, 0);
    wire_forget(&replica);
    call_it(NULL, false);
    if (row->kept) {
        WIRE_UNTIL(loop, wire_heard(&replica, "GET / "));
    } else {
        WIRE_UNTIL(loop, row->closes || wire_closed(&replica));
    }
    pst_call_cancel(&call.call);
    assert_false(pst_call_running(&call.call));
    while (accept(listener, NULL, NULL) >= 0)
        continue;
}

static void test_answers_cut_anywhere(void **state)
{
    size_t i, cut;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(rows); i++) {
        size_t len = strlen(rows[i].answer);

        for (cut = 0; cut <= len; cut += rows[i].resets || len < 40 ? 1 : 3) {
            call_new();
            wire_say_bytes(&replica, rows[i].answer, cut);
            if (cut > 0 && cut < len) {
                pst_loop_turn(loop, 0);
                pst_loop_turn(loop, 0);
            }
            if (call.ends == 0 || call.how == PST_CALL_DONE)
                wire_say(&replica, rows[i].answer + cut);
            if (rows[i].resets)
                wire_reset(&replica);
            else if (rows[i].closes)
                shutdown(replica.fd, SHUT_WR);
            check(&rows[i], cut);
        }
    }
}

static int accepted_in_vain(void)
{
    return accept(listener, NULL, NULL);
}

static void answer_two(struct wire *w)
{
    wire_say(w, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    WIRE_UNTIL(loop, call.ends == 1);
    assert_int_equal(call.how, PST_CALL_DONE);
    wire_forget(w);
}

/* B050: a reused connection that dies unanswered is told apart. */
static void test_reset_of_a_reused_connection(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < 2; i++) {
        call_new();
        answer_two(&replica);
        call_it(NULL, false);
        assert_int_equal(accepted_in_vain(), -1);
        if (i == 0)
            wire_close(&replica);
        else
            wire_reset(&replica);
        WIRE_UNTIL(loop, call.ends == 1);
        assert_int_equal(call.how, PST_CALL_RESET_REUSED);
    }
}

/* One that died while it was idle is not used at all. */
static void test_idle_death_is_noticed(void **state)
{
    (void)state;
    call_new();
    answer_two(&replica);
    wire_close(&replica);
    pst_loop_turn(loop, PST_S);
    call_it(NULL, false);
    WIRE_UNTIL(loop, wire_accept(&replica, listener));
    answer_two(&replica);
}

/* An answer that nobody asked for, there before the next request: it must not become that one's. */
static void test_answer_before_the_request(void **state)
{
    (void)state;
    call_new();
    answer_two(&replica);
    wire_say(&replica, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad");
    call_it(NULL, false);
    WIRE_UNTIL(loop, wire_closed(&replica));
    WIRE_UNTIL(loop, wire_accept(&replica, listener));
    answer_two(&replica);
}

static void test_fresh_means_new(void **state)
{
    static struct wire second;

    (void)state;
    call_new();
    answer_two(&replica);
    call_it(NULL, true);
    WIRE_UNTIL(loop, wire_accept(&second, listener));
    answer_two(&second);
    /* The last one used is used first. */
    call_it(NULL, false);
    WIRE_UNTIL(loop, wire_heard(&second, "GET / "));
    pst_call_cancel(&call.call);
    WIRE_UNTIL(loop, wire_closed(&second));
    wire_close(&second);
}

static void test_idle_connections_end(void **state)
{
    struct pst_upstream_config c = config();

    (void)state;
    pst_upstream_free(upstream);
    c.idle_timeout = 30 * PST_MS;
    start(&c);
    call_new();
    answer_two(&replica);
    WIRE_UNTIL(loop, wire_closed(&replica));
}

static void test_refused(void **state)
{
    (void)state;
    close(listener);
    call_it(NULL, false);
    WIRE_UNTIL(loop, call.ends == 1);
    assert_int_equal(call.how, PST_CALL_REFUSED);
    listener = wire_listen(&port);
}

/* A name with two addresses, of which one listens: the other is tried. */
static void test_names(void **state)
{
    struct pst_upstream_config c = config();

    (void)state;
    pst_upstream_free(upstream);
    c.host = "localhost";
    start(&c);
    assert_memory_equal(pst_upstream_authority(upstream), "localhost:", 10);
    call_new();
    answer_two(&replica);
    pst_upstream_free(upstream);

    /* B035: an IPv6 literal has brackets where it stands before a port. */
    c.host = "::1";
    c.port = 8000;
    start(&c);
    assert_string_equal(pst_upstream_authority(upstream), "[::1]:8000");
    pst_upstream_free(upstream);
    upstream = NULL;

    c.host = "no such name";
    assert_int_equal(pst_upstream_new(loop, &c, &upstream), PST_E_INVALID);
}

static void test_connect_time_out(void **state)
{
    struct pst_upstream_config c = config();
    int stuck[64], i, full, one = listen(listener, 0);

    (void)state;
    assert_int_equal(one, 0);
    pst_upstream_free(upstream);
    c.connect_timeout = 50 * PST_MS;
    start(&c);
    /* A full backlog answers no more. */
    for (i = 0, full = 0; i < 64 && !full; i++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};

        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        stuck[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(stuck[i], (struct sockaddr *)&to, sizeof to);
        full = send(stuck[i], "x", 1, MSG_NOSIGNAL) < 0 && errno == EAGAIN;
    }
    assert_true(full);
    call_it(NULL, true);
    WIRE_UNTIL(loop, call.ends == 1);
    assert_int_equal(call.how, PST_CALL_REFUSED);
    while (i > 0)
        close(stuck[--i]);
}

static void test_cancel(void **state)
{
    (void)state;
    pst_call_cancel(&call.call); /* not running: nothing */
    call_new();
    pst_call_cancel(&call.call);
    WIRE_UNTIL(loop, wire_closed(&replica));
    call_new();
    wire_say(&replica, "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\npart");
    WIRE_UNTIL(loop, call.len == 4);
    pst_call_cancel(&call.call);
    WIRE_UNTIL(loop, wire_closed(&replica));
    assert_int_equal(call.ends, 0);
}

static void cancel_now(struct recorded *r)
{
    pst_call_cancel(&r->call);
}

static void test_cancel_inside_a_callback(void **state)
{
    (void)state;
    call_new();
    call.on_body = cancel_now;
    wire_say(&replica, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab");
    WIRE_UNTIL(loop, wire_closed(&replica));
    assert_int_equal(call.ends, 0);
    assert_int_equal(call.len, 2);
}

static void fill(struct pst_chain *chain, size_t bytes)
{
    static char block[60000];
    size_t i;

    for (i = 0; i < sizeof block; i++)
        block[i] = (char)('a' + i % 26);
    pst_chain_init(chain);
    while (chain->bytes < bytes) {
        size_t n = bytes - chain->bytes < sizeof block ? bytes - chain->bytes : sizeof block;

        assert_int_equal(pst_chain_append(chain, block, n, 0), PST_OK);
    }
}

/* A body larger than any socket buffer arrives whole; the same chain serves a second try. */
static void test_large_body(void **state)
{
    struct pst_chain body;
    size_t got, total = (size_t)32 << 20;
    int i;

    (void)state;
    fill(&body, total);
    for (i = 0; i < 2; i++) {
        unsigned check_at = 0;

        if (replica.fd >= 0)
            wire_close(&replica);
        call_it(&body, true);
        WIRE_UNTIL(loop, wire_accept(&replica, listener));
        for (got = 0; got < get.len + total;) {
            size_t at;

            wire_forget(&replica);
            wire_poll(&replica);
            for (at = got < get.len ? get.len - got : 0; at < replica.len; at++)
                check_at += (unsigned)(replica.bytes[at] !=
                                       (char)('a' + (got + at - get.len) % 60000 % 26));
            got += replica.len;
            pst_loop_turn(loop, 0);
        }
        assert_int_equal(check_at, 0);
        answer_two(&replica);
    }
    pst_chain_done(&body);
}

/* An answer that does not wait for the body is an answer. */
static void test_early_answer(void **state)
{
    struct pst_chain body;

    (void)state;
    fill(&body, (size_t)32 << 20);
    call_it(&body, true);
    WIRE_UNTIL(loop, wire_accept(&replica, listener));
    wire_say(&replica, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
    WIRE_UNTIL(loop, call.ends == 1);
    assert_int_equal(call.how, PST_CALL_DONE);
    assert_int_equal(call.status, 413);
    WIRE_UNTIL(loop, wire_closed(&replica));

    /* And so if the replica hangs up behind it. */
    wire_close(&replica);
    call_it(&body, true);
    WIRE_UNTIL(loop, wire_accept(&replica, listener));
    wire_say(&replica, "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
    wire_close(&replica);
    WIRE_UNTIL(loop, call.ends == 1);
    assert_int_equal(call.status, 413);
    pst_chain_done(&body);
}

/* B019: a replica is held back while nobody takes its bytes. */
static void test_back_pressure(void **state)
{
    size_t sent = 0, held;
    static char block[65536];
    int idle = 0;

    (void)state;
    call_new();
    wire_say(&replica, "HTTP/1.1 200 OK\r\n\r\n");
    WIRE_UNTIL(loop, call.heads == 1);
    pst_call_read(&call.call, false);
    while (idle < 20) {
        ssize_t n = send(replica.fd, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL);

        idle = n > 0 ? 0 : idle + 1;
        if (n > 0)
            sent += (size_t)n;
        pst_loop_turn(loop, PST_MS);
        assert_true(sent < (size_t)64 << 20);
    }
    held = call.len;
    assert_true(held <= 65536);
    /* The end of it is not seen before its bytes. */
    shutdown(replica.fd, SHUT_WR);
    pst_loop_turn(loop, PST_MS);
    pst_loop_turn(loop, PST_MS);
    assert_int_equal(call.ends, 0);
    pst_call_read(&call.call, true);
    WIRE_UNTIL(loop, call.ends == 1);
    assert_int_equal(call.how, PST_CALL_DONE);
    assert_int_equal(call.len, sent);
}

static void test_head_bound(void **state)
{
    static char text[HEAD_MAX + 100];

    (void)state;
    snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nA: %0*d\r\n\r\n", HEAD_MAX, 1);
    call_new();
    wire_say(&replica, text);
    WIRE_UNTIL(loop, call.ends == 1);
    assert_int_equal(call.how, PST_CALL_BAD_FRAMING);
}

static void test_free_ends_calls(void **state)
{
    (void)state;
    call_new();
    pst_upstream_free(upstream);
    upstream = NULL;
    assert_int_equal(call.ends, 1);
    assert_int_equal(call.how, PST_CALL_RESET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_answers_cut_anywhere),
        TEST(test_reset_of_a_reused_connection),
        TEST(test_idle_death_is_noticed),
        TEST(test_answer_before_the_request),
        TEST(test_fresh_means_new),
        TEST(test_idle_connections_end),
        TEST(test_refused),
        TEST(test_names),
        TEST(test_connect_time_out),
        TEST(test_cancel),
        TEST(test_cancel_inside_a_callback),
        TEST(test_large_body),
        TEST(test_early_answer),
        TEST(test_back_pressure),
        TEST(test_head_bound),
        TEST(test_free_ends_calls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
