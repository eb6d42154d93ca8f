/* test_head.c - lists, and what stops at this hop (B049). */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "net/head.h"

static const struct pst_header headers[] = {
    {{"Connection", 10}, {"close, X-Secret ,authorization", 30}},
    {{"connection", 10}, {"X-Priority,,\tx-other", 20}},
    {{"Accept", 6}, {"a, b", 4}},
};
static const struct pst_head head = {.headers = headers, .count = PST_COUNT_OF(headers)};

static void test_hop(void **state)
{
    static const struct {
        const char *name;
        bool hop;
    } rows[] = {
        {"Connection", true},
        {"keep-alive", true},
        {"Proxy-Connection", true},
        {"proxy-authorization", true},
        {"TE", true},
        {"Trailer", true},
        {"Transfer-Encoding", true},
        {"Upgrade", true},
        {"Content-Length", true},
        {"Expect", true},
        {"x-secret", true},
        {"X-Other", true},
        {"Authorization", false},
        {"X-Priority", false},
        {"X-Third", false},
        {"Accept", false},
        {"Content-Type", false},
        {"close", true},
        {"X-LLM-D-Inference-Objective", false},
    };
    size_t i;

    (void)state;
    for (i = 0; i < PST_COUNT_OF(rows); i++)
        if (pst_head_is_hop(&head, pst_slice_of(rows[i].name)) != rows[i].hop)
            fail_msg("%s", rows[i].name);
}

static void test_lists(void **state)
{
    (void)state;
    assert_true(pst_head_lists(&head, PST_SLICE("Connection"), PST_SLICE("CLOSE")));
    assert_true(pst_head_lists(&head, PST_SLICE("Connection"), PST_SLICE("x-priority")));
    assert_false(pst_head_lists(&head, PST_SLICE("Connection"), PST_SLICE("x-prio")));
    assert_false(pst_head_lists(&head, PST_SLICE("Accept"), PST_SLICE("a, b")));
    assert_null(pst_head_find(&head, PST_SLICE("Acc")));
    assert_ptr_equal(pst_head_find(&head, PST_SLICE("ACCEPT")), &headers[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hop), cmocka_unit_test(test_lists)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
