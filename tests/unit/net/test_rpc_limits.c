/* test_rpc_limits.c - what a client may not do to a gRPC server, and how many may come. */
#include "called.h"

#define PREFACE  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"
#define HELLO    PREFACE SETTINGS

#define FLOOD 30000
#define MANY  6000 /* more than may be reset young */

static struct wire wire;
static struct client others[16];

/* The frame's bytes again and again until the server has had enough: not before `least`, in the end. */
static void flood(const char *name, const char *once, size_t once_len, const char *frame,
                  size_t len, int least)
{
    int sent = 0;

    wire_connect(&wire, pst_rpc_server_port(server));
    wire_say_bytes(&wire, HELLO, sizeof HELLO - 1);
    wire_say_bytes(&wire, once, once_len);
    while (!wire_closed(&wire)) {
        if (sent > FLOOD)
            fail_msg("%s: %d were not enough", name, sent);
        if (send(wire.fd, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len)
            sent++;
        assert_int_equal(pst_loop_turn(loop, 0), PST_OK);
    }
    if (sent < least)
        fail_msg("%s: %d were too many", name, sent);
    wire_close(&wire);
    WIRE_UNTIL(loop, figures().open + figures().streams == 0);
}

#define BYTES(literal) literal, sizeof(literal) - 1

static void test_floods(void **state)
{
    /* POST http /x.X/Echo x application/grpc, in HPACK */
    static const char call[] = "\0\0\x22\1\4\0\0\0\1\x83\x86\x44\x9/x.X/Echo\x41\1x\x5f\x10" GRPC;
    static const struct {
        const char *name, *once;
        size_t once_len;
        const char *frame;
        size_t len;
        int least;
    } rows[] = {
        {"pings", BYTES(""),
         BYTES("\0\0\10\6\0\0\0\0\0"
               "12345678"),
         5000},
        {"settings", BYTES(""), BYTES(SETTINGS), 5000},
        {"priorities", BYTES(""),
         BYTES("\0\0\5\2\0\0\0\0\7"
               "\0\0\0\0\1"),
         5000},
        {"windows", BYTES(""),
         BYTES("\0\0\4\x8\0\0\0\0\0"
               "\0\0\0\1"),
         5000},
        {"empty data", BYTES(call), BYTES("\0\0\0\0\0\0\0\0\1"), 5000},
        {"a header block without end", BYTES("\0\0\1\1\0\0\0\0\1\x83"),
         BYTES("\0\0\1\x9\0\0\0\0\1\x86"), 8},
    };
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(rows); i++)
        flood(rows[i].name, rows[i].once, rows[i].once_len, rows[i].frame, rows[i].len,
              rows[i].least);
    assert_int_equal(owner.called, 0);
}

static void until_calm_is_asked_for(const char *method_path, void (*disturb)(struct call *call))
{
    int i;

    for (i = 0; i < CALLS_MAX - 1 && client.goaways == 0 && !client.ended; i++) {
        struct call *call = ask(method_path);

        client_poll(&client);
        disturb(call);
        client_poll(&client);
        assert_int_equal(pst_loop_turn(loop, 0), PST_OK);
    }
    UNTIL(client.ended || client.failed);
    assert_int_equal(client.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    assert_true(i > 1000); /* a busy client is not a flood */
    WIRE_UNTIL(loop, figures().open == 0);
}

static void reset_it(struct call *call)
{
    nghttp2_submit_rst_stream(client.session, 0, call->id, NGHTTP2_CANCEL);
}

static void test_rapid_reset(void **state)
{
    (void)state;
    until_calm_is_asked_for("/x.X/Hold", reset_it);
    assert_int_equal(owner.called, owner.gone);
}

/* A window that grows too large is a mistake for which the server resets the stream. */
static void break_it(struct call *call)
{
    char frame[] = "\0\0\4\x8\0\0\0\0\0\x7f\xff\xff\xff";

    frame[7] = (char)(call->id >> 8);
    frame[8] = (char)call->id;
    memcpy(client.unsent + client.unsent_len, frame, 13);
    client.unsent_len += 13;
}

static void test_made_to_reset(void **state)
{
    (void)state;
    until_calm_is_asked_for("/x.X/Hold", break_it);
    assert_int_equal(owner.called, owner.gone);
}

/* Who leaves what was open for a while is no flood, however much it is at once. */
static void test_many_leave(void **state)
{
    pst_ns opened_at;
    uint32_t i;

    (void)state;
    for (i = 0; i < MANY; i++)
        ask("/x.X/Watch");
    UNTIL(owner.watched == MANY);
    opened_at = pst_loop_now(loop);
    UNTIL(pst_loop_now(loop) > opened_at + PST_S);
    for (i = 0; i < MANY; i++)
        reset_it(&client.calls[i]);
    UNTIL(owner.unwatched == MANY);
    assert_int_equal(client.goaways, 0);
}

static void test_not_http2(void **state)
{
    static const char *const texts[] = {
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\x0b",
        PREFACE "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "\x16\x03\x01\x02",
    };
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(texts); i++) {
        wire_connect(&wire, pst_rpc_server_port(server));
        wire_say(&wire, texts[i]);
        WIRE_UNTIL(loop, wire_closed(&wire));
        wire_close(&wire);
    }
    assert_int_equal(figures().calls, 0);
}

static void test_header_list(void **state)
{
    static char value[12000];
    struct call *call;

    (void)state;
    memset(value, 'v', sizeof value - 1);
    call = client_request(&client, "POST", "/x.X/Echo", GRPC, "x-long", value, ASK, ASK_LEN, true);
    UNTIL(call->closed);
    assert_int_equal(call->grpc_status, PST_RPC_OK);
    call = client_request(&client, "POST", "/x.X/Echo", value, "x-long", value, ASK, ASK_LEN, true);
    UNTIL(call->closed);
    assert_int_equal(call->http_status, 431);
    assert_int_equal(owner.called, 1);
    call = ask("/x.X/Echo");
    UNTIL(call->closed);
    assert_int_equal(call->grpc_status, PST_RPC_OK);
}

/* Halves of requests are bounded together, by the memory that they hold: too many are refused, the others go on. */
static void test_halves(void **state)
{
    static const char half[60000] = {0, 0, 1, 0, 0};
    static const struct {
        uint32_t count;
        size_t len;
        uint32_t least, most; /* refused */
    } rows[] = {
        {400, sizeof half, 100, 200}, /* 16 MiB hold 262 of 64,000 bytes */
        {5000, 2006, 700, 900},       /* and 4,194 of 4,000 */
    };
    struct pst_rpc_config c = config();
    struct call *call;
    uint32_t i, refused;

    (void)state;
    c.message_max = 1 << 20;
    for (size_t r = 0; r < PST_COUNT_OF(rows); r++) {
        restart(&c, 0);
        for (i = 0; i < rows[r].count; i++)
            client_request(&client, "POST", "/x.X/Echo", GRPC, NULL, NULL, half, rows[r].len,
                           false);
        for (i = 0; i < rows[r].count; i++) {
            call = &client.calls[i];
            UNTIL(call->closed || call->body_at == rows[r].len);
        }
        UNTIL(client.unsent_len == 0 && figures().open + client.closed_count == rows[r].count);
        for (refused = 0, i = 0; i < rows[r].count; i++)
            refused += client.calls[i].grpc_status == PST_RPC_RESOURCE_EXHAUSTED;
        assert_in_range(refused, rows[r].least, rows[r].most);
    }
    client_close(&client);
    WIRE_UNTIL(loop, figures().open == 0);
    client_connect(&client, pst_rpc_server_port(server), 0);
    call = ask("/x.X/Echo");
    UNTIL(call->closed);
    assert_int_equal(call->grpc_status, PST_RPC_OK);
}

/* Streams beyond what one connection may have are refused, those it has go on. */
static void test_streams_max(void **state)
{
    struct pst_rpc_config c = config();
    uint32_t i;

    (void)state;
    c.streams_max = 4;
    restart(&c, 0);
    for (i = 0; i < 6; i++)
        ask("/x.X/Watch"); /* before the client knows the limit */
    UNTIL(client.closed_count == 2 && owner.watched == 4);
    for (i = 0; i < 6; i++)
        assert_int_equal(client.calls[i].closed, i >= 4);
    assert_int_equal(client.calls[5].error_code, NGHTTP2_REFUSED_STREAM);

    /* all connections together: twice as many */
    for (i = 0; i < 2; i++) {
        client_connect(&others[i], pst_rpc_server_port(server), 0);
        CLIENT_UNTIL(loop, &others[i], others[i].streams_max == 4);
        while (others[i].calls_count < 3)
            client_request(&others[i], "POST", "/x.X/Watch", GRPC, NULL, NULL, ASK, ASK_LEN, true);
        CLIENT_UNTIL(loop, &others[i], owner.watched == (i == 0 ? 7 : 8));
    }
    CLIENT_UNTIL(loop, &others[1], others[1].closed_count == 2);
    assert_int_equal(others[1].calls[2].error_code, NGHTTP2_REFUSED_STREAM);
    for (i = 0; i < 2; i++)
        client_close(&others[i]);
}

static void park(struct client *c)
{
    int before = owner.watched;

    client_connect(c, pst_rpc_server_port(server), 0);
    client_request(c, "POST", "/x.X/Watch", GRPC, NULL, NULL, ASK, ASK_LEN, true);
    CLIENT_UNTIL(loop, c, owner.watched == before + 1);
}

/* At the bound the idlest connection without a stream says goodbye; those with streams stay. */
static void test_connections_max(void **state)
{
    struct pst_rpc_config c = config();
    struct call *call;

    (void)state;
    c.connections_max = 3;
    restart(&c, 0);
    call = ask("/x.X/Echo");
    UNTIL(call->closed);
    park(&others[0]);
    park(&others[1]);
    UNTIL(client.ended);
    assert_int_equal(client.goaways, 1);
    assert_int_equal(client.goaway_code, NGHTTP2_NO_ERROR);
    park(&others[2]);
    /* all three have streams: the next one waits in the backlog until one leaves */
    client_connect(&others[3], pst_rpc_server_port(server), 0);
    client_request(&others[3], "POST", "/x.X/Echo", GRPC, NULL, NULL, ASK, ASK_LEN, true);
    client_poll(&others[3]);
    assert_int_equal(pst_loop_turn(loop, PST_MS), PST_OK);
    assert_int_equal(figures().connections, 3);
    assert_int_equal(owner.called, 1);
    client_close(&others[0]);
    CLIENT_UNTIL(loop, &others[3], others[3].calls[0].closed);
    assert_int_equal(others[3].calls[0].grpc_status, PST_RPC_OK);
    client_close(&others[1]);
    client_close(&others[2]);
    client_close(&others[3]);
}

/* One call a connection, many more connections than may be open: none is dropped. */
static void test_one_call_each(void **state)
{
    struct pst_rpc_config c = config();
    uint32_t done = 0, round, i;

    (void)state;
    c.connections_max = 6;
    restart(&c, 0);
    client_close(&client);
    for (round = 0; round < 20; round++) {
        for (i = 0; i < PST_COUNT_OF(others); i++) {
            client_connect(&others[i], pst_rpc_server_port(server), 0);
            client_request(&others[i], "POST", "/x.X/Echo", GRPC, NULL, NULL, ASK, ASK_LEN, true);
        }
        for (i = 0; i < PST_COUNT_OF(others); i++) {
            CLIENT_UNTIL(loop, &others[i], others[i].calls[0].closed || others[i].failed);
            done += others[i].calls[0].grpc_status == PST_RPC_OK;
            client_close(&others[i]);
        }
    }
    assert_int_equal(done, 20 * PST_COUNT_OF(others));
}

/* A half-open handshake, a connection without a call, a header block without an end. */
static void test_idle(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
    } rows[] = {
        {BYTES("")},    {BYTES("PRI * HTTP/2.0\r\n")},           {BYTES(PREFACE)},
        {BYTES(HELLO)}, {BYTES(HELLO "\0\0\1\1\0\0\0\0\1\x83")},
    };
    struct pst_rpc_config c = config();
    struct call *stream;
    size_t i;

    (void)state;
    c.idle_timeout = 30 * PST_MS;
    restart(&c, 0);
    stream = ask("/x.X/Watch");
    UNTIL(owner.watched == 1);
    for (i = 0; i < PST_COUNT_OF(rows); i++) {
        wire_connect(&wire, pst_rpc_server_port(server));
        wire_say_bytes(&wire, rows[i].bytes, rows[i].len);
        WIRE_UNTIL(loop, wire_closed(&wire));
        wire_close(&wire);
    }
    assert_false(stream->closed || client.goaways > 0); /* a parked stream is no idleness */
    end_held(0, PST_RPC_OK, NULL);
    UNTIL(client.ended);
    assert_int_equal(stream->grpc_status, PST_RPC_OK);
    assert_int_equal(client.goaway_code, NGHTTP2_NO_ERROR);
}

static void test_pings_are_answered(void **state)
{
    int i;

    (void)state;
    for (i = 0; i < 100; i++)
        nghttp2_submit_ping(client.session, 0, NULL);
    UNTIL(client.pings == 100);
    assert_int_equal(client.goaways, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_floods),        TEST(test_rapid_reset), TEST(test_made_to_reset),
        TEST(test_many_leave),    TEST(test_not_http2),   TEST(test_header_list),
        TEST(test_halves),        TEST(test_streams_max), TEST(test_connections_max),
        TEST(test_one_call_each), TEST(test_idle),        TEST(test_pings_are_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
