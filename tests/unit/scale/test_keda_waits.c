/* P99 of the last minutes: what is older is forgotten, what waits now counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "scale/keda_waits.h"

static struct pst_metrics *metrics;
static struct pst_keda_waits *waits;
static pst_ns now;

static int set_up(void **state)
{
    const struct pst_metric_sizes sizes = {.pools = 2, .classes = 3, .lengths = 3};

    (void)state;
    assert_int_equal(pst_metrics_new(&sizes, &metrics), PST_OK);
    waits = calloc(1, sizeof *waits);
    assert_non_null(waits);
    now = 100 * PST_S;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    pst_metrics_free(metrics);
    free(waits);
    return 0;
}

static void note(pst_ns after)
{
    for (pst_ns until = now + after; now < until; now += PST_S)
        pst_keda_waits_note(waits, metrics, now);
    pst_keda_waits_note(waits, metrics, now);
}

static void wait(uint32_t times, uint16_t pool, uint8_t class_, uint8_t length, pst_ns ns)
{
    const struct pst_labels labels = {.pool = pool, .class_ = class_, .length = length};

    for (uint32_t i = 0; i < times; i++)
        pst_metric_observe(metrics, PST_METRIC_QUEUE_WAIT, labels, ns);
}

static uint64_t p99(uint16_t pool, uint8_t class_)
{
    return pst_keda_waits_p99_ms(waits, pool, class_, 0, 0);
}

static void test_nothing_waited(void **state)
{
    (void)state;
    assert_true(p99(0, 0) == UINT64_MAX);
    note(0);
    assert_true(p99(0, 0) == UINT64_MAX);
    note(600 * PST_S);
    assert_true(p99(1, 2) == UINT64_MAX);
}

static void test_rank(void **state)
{
    (void)state;
    note(0);
    wait(99, 0, 1, 0, 3 * PST_MS);
    wait(1, 0, 1, 2, 4 * PST_S);
    note(PST_S);
    assert_in_range(p99(0, 1), 2, 5); /* 99 of 100 lie there */
    wait(1, 0, 1, 1, 4 * PST_S);
    note(PST_S);
    assert_in_range(p99(0, 1), 2000, 5000); /* not of 101 */
    assert_true(p99(0, 0) == UINT64_MAX);
    assert_true(p99(1, 1) == UINT64_MAX);
}

static void test_even_spread(void **state)
{
    (void)state;
    note(0);
    wait(1, 0, 0, 0, 1500 * PST_MS); /* between 1 and 2 s */
    note(PST_S);
    assert_int_equal(p99(0, 0), 2000);
    wait(1, 1, 0, 0, 7200 * PST_S); /* above every bound */
    note(PST_S);
    assert_int_equal(p99(1, 0), 1800 * 1000);
}

static void test_forgets(void **state)
{
    const pst_ns window = PST_KEDA_WAITS_KEPT * PST_KEDA_WAITS_STEP;

    (void)state;
    wait(1000, 0, 0, 0, 40 * PST_S); /* before we began to look */
    note(0);
    assert_true(p99(0, 0) == UINT64_MAX);
    wait(1000, 0, 0, 0, 40 * PST_S);
    note(PST_S);
    assert_in_range(p99(0, 0), 30000, 60000);
    note(window - PST_KEDA_WAITS_STEP - 2 * PST_S);
    assert_in_range(p99(0, 0), 30000, 60000);
    wait(10, 0, 0, 0, 5 * PST_MS);
    note(PST_KEDA_WAITS_STEP + PST_S);
    assert_in_range(p99(0, 0), 1, 5);
    note(window + PST_S);
    assert_true(p99(0, 0) == UINT64_MAX);
}

static void test_what_waits_now(void **state)
{
    (void)state;
    note(0);
    assert_int_equal(pst_keda_waits_p99_ms(waits, 0, 0, 1, 250 * PST_MS), 250);
    wait(100, 0, 0, 0, 3 * PST_MS);
    note(PST_S);
    assert_in_range(pst_keda_waits_p99_ms(waits, 0, 0, 1, 60 * PST_S), 2, 5); /* 1 of 101 */
    assert_int_equal(pst_keda_waits_p99_ms(waits, 0, 0, 2, 60 * PST_S), 60000);
    assert_in_range(pst_keda_waits_p99_ms(waits, 0, 0, 2, PST_MS), 2, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_waited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rank, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_even_spread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forgets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_waits_now, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
