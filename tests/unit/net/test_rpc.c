/* test_rpc.c - calls from an HTTP/2 client: answers, statuses, deadlines, streams, the end. */
#include "called.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_unary),
        TEST(test_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
