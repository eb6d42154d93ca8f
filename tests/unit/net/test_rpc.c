/* test_rpc.c - calls from an HTTP/2 client: answers, statuses, deadlines, streams, the end. */
#include <malloc.h>

#include "called.h"

#include "net/rpc_figures.h"
#include "net/rpc_text.h"

static void test_unary(void **state)
{
    struct call *call = ask("/x.X/Echo");

    (void)state;
    UNTIL(call->closed);
    assert_int_equal(call->http_status, 200);
    assert_string_equal(call->content_type, GRPC);
    assert_int_equal(call->got_len, ASK_LEN);
    assert_memory_equal(call->got, ASK, ASK_LEN);
    assert_int_equal(call->grpc_status, PST_RPC_OK);
    assert_int_equal(call->error_code, NGHTTP2_NO_ERROR);
    assert_string_equal(owner.message, "hello");
    assert_int_equal(client.streams_max, 65536);
    assert_int_equal(figures().calls, 1);
    assert_int_equal(figures().failed, 0);
    assert_int_equal(figures().open, 0);
    assert_true(figures().max_us >= figures().p99_us && figures().p99_us >= figures().p50_us);
}

static void test_stream(void **state)
{
    struct call *call = ask("/x.X/Watch");

    (void)state;
    UNTIL(owner.watched == 1);
    assert_int_equal(figures().streams, 1);
    assert_int_equal(pst_rpc_latest(owner.held[0], PST_SLICE("one")), PST_OK);
    UNTIL(call->got_len == 8);
    assert_int_equal(pst_rpc_send(owner.held[0], PST_SLICE("two")), PST_OK);
    assert_int_equal(pst_rpc_send(owner.held[0], PST_SLICE("")), PST_OK);
    UNTIL(call->got_len == 21);
    assert_memory_equal(call->got, FRAME("\3") "one" FRAME("\3") "two" FRAME("\0"), 21);
    assert_false(call->closed);
    end_held(0, PST_RPC_OK, NULL);
    UNTIL(call->closed);
    assert_int_equal(call->grpc_status, PST_RPC_OK);
    assert_int_equal(owner.unwatched, 0);
    assert_int_equal(figures().streams, 0);
}

#define BYTES(literal) literal, sizeof(literal) - 1

/* -1: no such trailer. Calls that are not whole get their answer before they are. */
static const struct row {
    const char *promise, *method, *path, *type, *extra, *value, *body;
    size_t body_len;
    bool half; /* the client does not end its side */
    int http_status, grpc_status;
    const char *message;
} rows[] = {
    {"a format behind the type", "POST", "/x.X/Echo", GRPC "+proto", NULL, NULL, BYTES(ASK), false,
     200, PST_RPC_OK, ""},
    {"parameters behind the type", "POST", "/x.X/Echo", GRPC ";a=b", NULL, NULL, BYTES(ASK), false,
     200, PST_RPC_OK, ""},
    {"an empty message", "POST", "/x.X/Echo", GRPC, NULL, NULL, BYTES(FRAME("\0")), false, 200,
     PST_RPC_OK, ""},
    {"a message is percent-encoded", "POST", "/x.X/Refuse", GRPC, NULL, NULL, BYTES(ASK), false,
     200, PST_RPC_INVALID_ARGUMENT, "100%25 %C3%A4%0A"},
    {"POST alone", "GET", "/x.X/Echo", GRPC, NULL, NULL, BYTES(""), false, 405, -1, ""},
    {"gRPC alone", "POST", "/x.X/Echo", "application/json", NULL, NULL, BYTES(ASK), false, 415, -1,
     ""},
    {"not of the browser's kind", "POST", "/x.X/Echo", GRPC "-web", NULL, NULL, BYTES(ASK), false,
     415, -1, ""},
    {"unknown method", "POST", "/x.X/Nothing", GRPC, NULL, NULL, BYTES(ASK), false, 200,
     PST_RPC_UNIMPLEMENTED, "unknown method"},
    {"unknown method, at once", "POST", "/x.X/Ech", GRPC, NULL, NULL, BYTES(""), true, 200,
     PST_RPC_UNIMPLEMENTED, "unknown method"},
    {"compressed", "POST", "/x.X/Echo", GRPC, "grpc-encoding", "gzip", BYTES("\1\0\0\0\5hello"),
     false, 200, PST_RPC_UNIMPLEMENTED, "compressed messages are not accepted"},
    {"compression is offered, not used", "POST", "/x.X/Echo", GRPC, "grpc-encoding", "gzip",
     BYTES(ASK), false, 200, PST_RPC_OK, ""},
    {"neither compressed nor not", "POST", "/x.X/Echo", GRPC, NULL, NULL, BYTES("\2\0\0\0\5hello"),
     false, 200, PST_RPC_INTERNAL, "malformed message frame"},
    {"too large, judged by its length alone", "POST", "/x.X/Echo", GRPC, NULL, NULL,
     BYTES("\0\0\0\x10\1"), true, 200, PST_RPC_RESOURCE_EXHAUSTED, "the message is too large"},
    {"four gigabytes", "POST", "/x.X/Echo", GRPC, NULL, NULL, BYTES("\0\xff\xff\xff\xffhello"),
     false, 200, PST_RPC_RESOURCE_EXHAUSTED, "the message is too large"},
    {"cut short", "POST", "/x.X/Echo", GRPC, NULL, NULL, BYTES("\0\0\0\0\5hell"), false, 200,
     PST_RPC_INTERNAL, "the message is cut short"},
    {"cut short in the prefix", "POST", "/x.X/Echo", GRPC, NULL, NULL, BYTES("\0\0\0\0"), false,
     200, PST_RPC_INTERNAL, "the message is cut short"},
    {"no message", "POST", "/x.X/Echo", GRPC, NULL, NULL, BYTES(""), false, 200, PST_RPC_INTERNAL,
     "the message is cut short"},
    {"one byte more", "POST", "/x.X/Echo", GRPC, NULL, NULL, BYTES(ASK "x"), false, 200,
     PST_RPC_INTERNAL, "more than one message"},
    {"time enough", "POST", "/x.X/Echo", GRPC, "grpc-timeout", "99999999H", BYTES(ASK), false, 200,
     PST_RPC_OK, ""},
    {"no time at all", "POST", "/x.X/Echo", GRPC, "grpc-timeout", "0n", BYTES(ASK), false, 200,
     PST_RPC_DEADLINE_EXCEEDED, "the deadline has passed"},
    {"a broken time-out", "POST", "/x.X/Echo", GRPC, "grpc-timeout", "5 S", BYTES(ASK), false, 200,
     PST_RPC_INVALID_ARGUMENT, "malformed grpc-timeout"},
    {"the client's time", "POST", "/x.X/Hold", GRPC, "grpc-timeout", "20m", BYTES(ASK), false, 200,
     PST_RPC_DEADLINE_EXCEEDED, "the deadline has passed"},
    {"the client's time, of a stream", "POST", "/x.X/Watch", GRPC, "grpc-timeout", "20000u",
     BYTES(ASK), false, 200, PST_RPC_DEADLINE_EXCEEDED, "the deadline has passed"},
    {"the client's time, for half a request", "POST", "/x.X/Echo", GRPC, "grpc-timeout", "20m",
     BYTES("\0\0\0\0\5hel"), true, 200, PST_RPC_DEADLINE_EXCEEDED, "the deadline has passed"},
};

static void test_statuses(void **state)
{
    struct call *again;
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        struct call *call = client_request(&client, r->method, r->path, r->type, r->extra, r->value,
                                           r->body, r->body_len, !r->half);

        UNTIL(call->closed || client.failed || client.ended);
        if (call->http_status != r->http_status || call->grpc_status != r->grpc_status ||
            strcmp(call->message, r->message) != 0)
            fail_msg("%s: got %d, %d, '%s'", r->promise, call->http_status, call->grpc_status,
                     call->message);
        /* an answer without a message is one header block */
        assert_int_equal(call->header_blocks, call->grpc_status == PST_RPC_OK ? 2 : 1);
        again = ask("/x.X/Echo");
        UNTIL(again->closed || client.failed || client.ended);
        assert_int_equal(again->grpc_status, PST_RPC_OK); /* the connection lives on */
    }
    assert_int_equal(owner.gone, 1);
    assert_int_equal(owner.unwatched, 1);
    assert_int_equal(figures().open + figures().streams, 0);
}

static void test_bytes_apart(void **state)
{
    struct call *call =
        client_request(&client, "POST", "/x.X/Echo", GRPC, NULL, NULL, ASK, 0, false);

    (void)state;
    UNTIL(figures().open == 1);
    while (call->body_len < ASK_LEN) {
        call->body_len++;
        assert_int_equal(nghttp2_session_resume_data(client.session, call->id), 0);
        UNTIL(call->body_at == call->body_len);
    }
    assert_int_equal(pst_loop_turn(loop, PST_MS), PST_OK);
    assert_int_equal(owner.called, 0); /* not before the client has ended its side */
    call->whole = true;
    assert_int_equal(nghttp2_session_resume_data(client.session, call->id), 0);
    UNTIL(call->closed);
    assert_int_equal(call->grpc_status, PST_RPC_OK);
    assert_string_equal(owner.message, "hello");
}

static void test_deadline(void **state)
{
    struct pst_rpc_config c = config();
    struct call *call, *stream;

    (void)state;
    c.deadline_max = 20 * PST_MS;
    restart(&c, 0);
    stream = ask("/x.X/Watch");
    UNTIL(owner.watched == 1);
    call = client_request(&client, "POST", "/x.X/Hold", GRPC, "grpc-timeout", "1H", ASK, ASK_LEN,
                          true);
    UNTIL(call->closed);
    assert_int_equal(call->grpc_status, PST_RPC_DEADLINE_EXCEEDED);
    assert_int_equal(owner.gone, 1);
    call = client_request(&client, "POST", "/x.X/Watch", GRPC, NULL, NULL, ASK, 3, false);
    UNTIL(call->closed);
    assert_int_equal(call->grpc_status, PST_RPC_DEADLINE_EXCEEDED); /* a request has its time */
    assert_false(stream->closed);                                   /* a stream has not */
    assert_int_equal(figures().failed, 2);
}

/* The owner's time begins with the whole request: a slow one is answered all the same. */
static void test_request_max(void **state)
{
    struct pst_rpc_config c = config();
    struct call *slow, *held;

    (void)state;
    c.deadline_max = 20 * PST_MS;
    c.request_max = 3600 * PST_S;
    restart(&c, 0);
    slow = client_request(&client, "POST", "/x.X/Echo", GRPC, NULL, NULL, ASK, 3, false);
    held = ask("/x.X/Hold");
    UNTIL(held->closed);
    assert_int_equal(held->grpc_status, PST_RPC_DEADLINE_EXCEEDED);
    assert_false(slow->closed);
    slow->body_len = ASK_LEN;
    slow->whole = true;
    assert_int_equal(nghttp2_session_resume_data(client.session, slow->id), 0);
    UNTIL(slow->closed);
    assert_int_equal(slow->grpc_status, PST_RPC_OK);
}

static void test_gone(void **state)
{
    struct call *call = ask("/x.X/Hold"), *stream = ask("/x.X/Watch");

    (void)state;
    UNTIL(owner.held_count == 2);
    nghttp2_submit_rst_stream(client.session, 0, call->id, NGHTTP2_CANCEL);
    UNTIL(owner.gone == 1);
    nghttp2_submit_rst_stream(client.session, 0, stream->id, NGHTTP2_CANCEL);
    UNTIL(owner.unwatched == 1);
    ask("/x.X/Hold");
    ask("/x.X/Watch");
    UNTIL(owner.held_count == 4);
    client_close(&client);
    WIRE_UNTIL(loop, owner.gone == 2 && owner.unwatched == 2);
    assert_int_equal(figures().connections, 0);

    client_connect(&client, pst_rpc_server_port(server), 0);
    ask("/x.X/Hold");
    UNTIL(owner.held_count == 5);
    pst_rpc_server_free(server);
    server = NULL;
    assert_int_equal(owner.gone, 3);
}

/* A window that takes the first message and two bytes: the others replace each other. */
static void test_latest(void **state)
{
    struct pst_rpc_config c = config();
    struct call *call;
    int i;

    (void)state;
    restart(&c, 12);
    call = ask("/x.X/Watch");
    UNTIL(owner.watched == 1);
    pst_rpc_latest(owner.held[0], PST_SLICE("first"));
    UNTIL(call->got_len == 10);
    for (i = 0; i < 1000; i++)
        pst_rpc_latest(owner.held[0], PST_SLICE("never seen"));
    pst_rpc_latest(owner.held[0], PST_SLICE("halved"));
    UNTIL(call->got_len == 12);
    for (i = 0; i < 1000; i++) {
        pst_rpc_latest(owner.held[0], PST_SLICE("never seen"));
        assert_int_equal(pst_loop_turn(loop, 0), PST_OK);
    }
    pst_rpc_latest(owner.held[0], PST_SLICE("last"));
    nghttp2_submit_window_update(client.session, 0, call->id, 1000);
    UNTIL(call->got_len == 30);
    assert_memory_equal(call->got, FRAME("\5") "first" FRAME("\6") "halved" FRAME("\4") "last", 30);
    end_held(0, PST_RPC_OK, NULL);
    UNTIL(call->closed);
    assert_int_equal(call->got_len, 30);
}

/* What is sent, not replaced, is bounded. */
static void test_send_is_bounded(void **state)
{
    static const char text[1000];
    struct pst_rpc_config c = config();
    int sent = 0;

    (void)state;
    restart(&c, 1);
    ask("/x.X/Watch");
    UNTIL(owner.watched == 1);
    while (pst_rpc_send(owner.held[0], pst_slice(text, sizeof text)) == PST_OK)
        assert_true(++sent < 1000);
    assert_true(sent > 100);
}

static void test_drain(void **state)
{
    struct call *held, *stream, *late;

    (void)state;
    held = ask("/x.X/Hold");
    stream = ask("/x.X/Watch");
    UNTIL(owner.held_count == 2);
    late = ask("/x.X/Echo"); /* on its way when the server says that it goes */
    client_send(&client);
    pst_rpc_server_drain(server);
    assert_int_equal(owner.unwatched, 1);
    UNTIL(stream->closed && late->closed && client.goaways == 2);
    assert_int_equal(stream->grpc_status, PST_RPC_OK);
    assert_int_equal(late->grpc_status, PST_RPC_OK);
    assert_int_equal(client.goaway_code, NGHTTP2_NO_ERROR);
    assert_int_equal(client.last_stream, late->id);
    assert_false(held->closed || client.ended);
    end_held(0, PST_RPC_OK, NULL);
    UNTIL(held->closed && client.ended);
    assert_int_equal(held->grpc_status, PST_RPC_OK);
    assert_false(client.failed);
    client_close(&client);
    WIRE_UNTIL(loop, figures().connections == 0);
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

static size_t heap_bytes(void)
{
#ifdef SANITIZED
    return 0; /* its allocator keeps no such count */
#else
    return mallinfo2().uordblks;
#endif
}

#define PARKED 5000

/* The client's own memory counts too: the server's share is less. */
static void test_parked(void **state)
{
    size_t before, i;

    (void)state;
    ask("/x.X/Watch");
    UNTIL(owner.watched == 1);
    before = heap_bytes();
    for (i = 1; i < PARKED; i++)
        ask("/x.X/Watch");
    UNTIL(owner.watched == PARKED);
    assert_int_equal(figures().streams, PARKED);
    assert_true((heap_bytes() - before) / (PARKED - 1) < 8192);
    for (i = 0; i < PARKED; i++)
        assert_int_equal(pst_rpc_latest(owner.held[i], PST_SLICE("all")), PST_OK);
    for (i = 0; i < 2000; i++)
        ask("/x.X/Echo");
    UNTIL(client.closed_count == 2000 && client.got_len == PARKED * 8 + 2000 * ASK_LEN);
    for (i = 0; i < PARKED + 2000; i++)
        assert_int_equal(client.calls[i].got_len, i < PARKED ? 8 : 10);
    pst_rpc_server_drain(server);
    UNTIL(client.closed_count == PARKED + 2000);
    for (i = 0; i < PARKED + 2000; i++)
        assert_int_equal(client.calls[i].grpc_status, PST_RPC_OK);
}

static void test_timeouts(void **state)
{
    static const struct {
        const char *text;
        bool ok;
        pst_ns timeout;
    } texts[] = {
        {"1H", true, 3600 * PST_S},
        {"2M", true, 120 * PST_S},
        {"3S", true, 3 * PST_S},
        {"4m", true, 4 * PST_MS},
        {"5u", true, 5 * PST_US},
        {"00000006n", true, 6},
        {"99999999H", true, PST_NEVER},
        {"0S", true, 0},
        {"", false, 0},
        {"S", false, 0},
        {"1", false, 0},
        {"1h", false, 0},
        {"1 S", false, 0},
        {"-1S", false, 0},
        {"+1S", false, 0},
        {"1.5S", false, 0},
        {"1SS", false, 0},
        {"123456789S", false, 0},
        {"0x1S", false, 0},
    };
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(texts); i++) {
        pst_ns timeout = 7;

        if (pst_rpc_timeout(pst_slice_of(texts[i].text), &timeout) != texts[i].ok ||
            timeout != (texts[i].ok ? texts[i].timeout : 7))
            fail_msg("'%s'", texts[i].text);
    }
}

static void test_messages(void **state)
{
    char text[8];

    (void)state;
    assert_int_equal(pst_rpc_message_encode("abcdefghij", text, sizeof text), 7);
    assert_string_equal(text, "abcdefg");
    assert_int_equal(pst_rpc_message_encode("abcde%", text, sizeof text), 5); /* no half escapes */
    assert_string_equal(text, "abcde");
    assert_int_equal(pst_rpc_message_encode("", text, 1), 0);
}

static void test_times(void **state)
{
    struct pst_rpc_times times = {0};
    uint64_t us;

    (void)state;
    assert_int_equal(pst_rpc_times_quantile(&times, PST_PPM), 0);
    for (us = 1; us <= 100000; us++)
        pst_rpc_times_add(&times, us * PST_US);
    assert_in_range(pst_rpc_times_quantile(&times, PST_PPM / 2), 50000, 50000 + 50000 / 8);
    assert_in_range(pst_rpc_times_quantile(&times, 990000), 99000, 100000);
    assert_int_equal(pst_rpc_times_quantile(&times, PST_PPM), 100000);
    pst_rpc_times_add(&times, 3600 * PST_S);
    assert_int_equal(pst_rpc_times_quantile(&times, PST_PPM), 3600 * UINT64_C(1000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_unary),
        TEST(test_stream),
        TEST(test_statuses),
        TEST(test_bytes_apart),
        TEST(test_deadline),
        TEST(test_request_max),
        TEST(test_gone),
        TEST(test_latest),
        TEST(test_send_is_bounded),
        TEST(test_drain),
        TEST(test_parked),
        cmocka_unit_test(test_timeouts),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
