/* test_fetch.c - a small exchange, whole or not at all. */
#include "replica.h"

static struct {
    int done;
    uint16_t status;
    bool timed_out;
    enum pst_call_end how;
    char body[64];
} fetched;

static void on_done(void *user, const struct pst_fetch_result *result)
{
    assert_ptr_equal(user, &fetched);
    fetched.done++;
    fetched.status = result->status;
    fetched.timed_out = result->timed_out;
    fetched.how = result->how;
    snprintf(fetched.body, sizeof fetched.body, "%s",
             result->body.at == NULL ? "" : result->body.at);
}

static struct pst_fetch *fetch(pst_ns timeout)
{
    struct pst_fetch *f;

    memset(&fetched, 0, sizeof fetched);
    assert_int_equal(
        pst_fetch_start(upstream, loop, get, PST_SLICE("body"), timeout, 8, on_done, &fetched, &f),
        PST_OK);
    WIRE_UNTIL(loop, wire_accept(&replica, listener));
    WIRE_UNTIL(loop, wire_heard(&replica, "\r\n\r\nbody"));
    return f;
}

static void test_fetch(void **state)
{
    (void)state;
    fetch(5 * PST_S);
    wire_say(&replica, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\n12345678");
    WIRE_UNTIL(loop, fetched.done == 1);
    assert_int_equal(fetched.status, 200);
    assert_string_equal(fetched.body, "12345678");
    wire_close(&replica);

    fetch(5 * PST_S);
    wire_say(&replica, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n123456789");
    WIRE_UNTIL(loop, fetched.done == 1);
    assert_int_equal(fetched.status, 0); /* larger than asked for */
    wire_close(&replica);

    fetch(30 * PST_MS);
    WIRE_UNTIL(loop, fetched.done == 1);
    assert_true(fetched.timed_out && fetched.status == 0);
    WIRE_UNTIL(loop, wire_closed(&replica));
    wire_close(&replica);

    pst_fetch_cancel(fetch(5 * PST_S));
    WIRE_UNTIL(loop, wire_closed(&replica));
    assert_int_equal(fetched.done, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_fetch)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
