/* test_staff.c - queues in closed form, and the least servers that keep a promise. */
#include "harness.h"

#include "core/staff.h"

static double distance(double a, double b)
{
    return a > b ? a - b : b - a;
}

/* Sums of a^k / k! in exact fractions gave these. */
static void erlang_is_exact(void **state)
{
    static const struct {
        double erlangs;
        uint32_t servers;
        double b, c;
    } rows[] = {
        {8, 10, 0.1216610642529515, 0.40918015079644354},
        {5.6, 8, 0.10015184835152463, 0.27060293223000226},
        {7.2, 8, 0.19031316866395676, 0.7015329901462569},
        {0.7, 1, 0.4117647058823529, 0.7},
        {100, 110, 0.027463448449822916, 0.23700750028505274},
        {0.01, 1, 0.009900990099009901, 0.01},
        {0, 0, 1, 1},
        {0, 3, 0, 0},
        {3, 0, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        double b = pst_staff_erlang_b(rows[i].erlangs, rows[i].servers);
        double c = pst_staff_erlang_c(rows[i].erlangs, rows[i].servers);

        if (distance(b, rows[i].b) > 1e-12 || distance(c, rows[i].c) > 1e-12)
            fail_msg("a %g, n %u: B %.15g, C %.15g", rows[i].erlangs, rows[i].servers, b, c);
    }
    assert_true(pst_staff_erlang_c(8, 8) == 1);
    assert_true(pst_staff_erlang_b(1e-6, 5000) == 0); /* 1 / B overflows to infinity */
    assert_true(distance(pst_staff_erlang_b(5000, 5000), 0.0112) < 1e-3);
}

static void waits_follow_from_it(void **state)
{
    /* M/M/1 at 0.9: E[W] = rho S / (1 - rho), P(W > t) = rho exp(-(1 - rho) t / S). */
    const struct pst_staff_load one = {.erlangs = 0.9, .service_s = 2, .variability = 1};
    /* M/D/1: half of that. M/G/1 with cs^2 2.25: Pollaczek-Khinchine, times (1 + 2.25) / 2. */
    const struct pst_staff_load fixed = {.erlangs = 0.9, .service_s = 2, .variability = 0.5};
    const struct pst_staff_load wild = {.erlangs = 0.9, .service_s = 2, .variability = 1.625};
    const struct pst_staff_load none = {.erlangs = 0.9, .service_s = 2, .variability = 0};

    (void)state;
    assert_true(distance(pst_staff_wait_mean(&one, 1), 18) < 1e-9);
    assert_true(distance(pst_staff_wait_mean(&fixed, 1), 9) < 1e-9);
    assert_true(distance(pst_staff_wait_mean(&wild, 1), 29.25) < 1e-9);
    assert_true(distance(pst_staff_wait_tail(&one, 1, 20), 0.9 * pst_exp(-1)) < 1e-12);
    assert_true(distance(pst_staff_wait_exceeded(&one, 1, 0.01), 89.99619340) < 1e-6);
    assert_true(pst_staff_wait_exceeded(&one, 1, 0.95) == 0);
    assert_true(pst_staff_wait_tail(&none, 1, 0) == 0);
    assert_true(pst_staff_wait_tail(&one, 0, 1e9) == 1);
    assert_true(pst_staff_wait_mean(&one, 0) > 1e300);
    assert_true(pst_staff_wait_exceeded(&one, 0, 0.5) > 1e300);
}

static void the_least_servers_are_found(void **state)
{
    static const struct {
        const char *name;
        struct pst_staff_load load;
        double wait_s;
        uint32_t most, want;
    } rows[] = {
        {"20 slots' work of 0.1 s, target 100 ms", {20, 0.1, 1}, 0.1, 1000, 24},
        {"four times as variable", {20, 0.1, 4}, 0.1, 1000, 28},
        {"a target of five services", {35, 0.1, 0.9}, 0.5, 1000, 36},
        {"long work turns over too slowly to wait for", {64, 8, 1}, 0.1, 1000, 84},
        {"long work, and time", {64, 8, 1}, 8, 1000, 68},
        {"nobody may wait", {100, 1, 1}, 0, 1000, 125},
        {"hardly any work", {0.01, 0.1, 1}, 0.1, 1000, 1},
        {"no work", {0, 0.1, 1}, 0.1, 1000, 0},
        {"one below the bound", {100, 1, 1}, 0, 126, 125},
        {"at the bound", {100, 1, 1}, 0, 125, 125},
        {"past the bound", {100, 1, 1}, 0, 110, 110},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        uint32_t got = pst_staff_servers(&rows[i].load, rows[i].wait_s, 0.01, rows[i].most);

        if (got != rows[i].want)
            fail_msg("%s: %u, not %u", rows[i].name, got, rows[i].want);
        if (got > 1 && got < rows[i].most) {
            assert_true(pst_staff_wait_tail(&rows[i].load, got, rows[i].wait_s) <= 0.01);
            assert_true(pst_staff_wait_tail(&rows[i].load, got - 1, rows[i].wait_s) > 0.01);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(erlang_is_exact),
        cmocka_unit_test(waits_follow_from_it),
        cmocka_unit_test(the_least_servers_are_found),
    };

    pst_assert_hook = harness_assert_hook;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
