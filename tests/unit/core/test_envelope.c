/* test_envelope.c - what bursts of the last hour need, against a search of every window. */
#include "harness.h"

#include "core/envelope.h"

#define SLOT PST_S /* a second of work */

static bool is_near(double got, double want, double within)
{
    double error = got > want ? got - want : want - got;

    return error <= within;
}

/* Seconds of `slots`, from `from` to `until`, over a base. */
static void one_burst_asks_for_its_own_window(void **state)
{
    static const struct {
        const char *name;
        uint32_t base, slots, length_s;
        pst_ns patience;
        double want;
    } rows[] = {
        {"steady work: a window of 300 s", 10, 10, 1, PST_S, 3000 / 301.},
        {"a second's burst is spread over the patience", 0, 30, 1, 2 * PST_S, 30 / 3.},
        {"one that is a window long", 0, 30, 60, 10 * PST_S, 1800 / 70.},
        {"one between two windows: the shorter, or the longer", 0, 30, 80, 10 * PST_S, 1800 / 70.},
        {"above a base", 5, 35, 36, 4 * PST_S, 36 * 35 / 40.},
        {"patience 0: the largest second", 5, 35, 36, 0, 35},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_envelope e = {0};
        double got;

        for (uint32_t s = 0; s < 1800; s++) {
            bool is_on = s >= 1000 && s < 1000 + rows[i].length_s;

            pst_envelope_add(&e, (is_on ? rows[i].slots : rows[i].base) * SLOT);
        }
        got = pst_envelope_slots(&e, rows[i].patience, 0);
        if (!is_near(got, rows[i].want, 1e-9))
            fail_msg("%s: %g, not %g", rows[i].name, got, rows[i].want);
    }
}

/* Calm seconds of 1 slot for an hour, and bursts of 10 s of 20, at so many minutes. */
static void a_share_of_the_hour_may_be_late(void **state)
{
    static const struct {
        const char *name;
        uint32_t bursts;
        double share, want;
    } rows[] = {
        {"none may be late: the largest window, of 8 s", 1, 0, 160 / 13.},
        {"1 % of 3,790", 1, 0.01, (160 - 37.9) / 13},
        {"1 % of 3,980, over two bursts", 2, 0.01, (160 - 39.8 / 2) / 13},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_envelope e = {0};
        double got;

        for (uint32_t s = 0; s < 3600; s++) {
            bool is_on = s % 60 >= 20 && s % 60 < 30 && s / 60 < rows[i].bursts;

            pst_envelope_add(&e, (is_on ? 20 : 1) * SLOT);
        }
        got = pst_envelope_slots(&e, 5 * PST_S, rows[i].share);
        if (!is_near(got, rows[i].want, 0.01))
            fail_msg("%s: %g, not %g", rows[i].name, got, rows[i].want);
    }
}

static void an_hour_is_remembered(void **state)
{
    struct pst_envelope e = {0};

    (void)state;
    assert_true(pst_envelope_slots(&e, PST_S, 0) == 0);
    for (uint32_t s = 0; s < 100; s++)
        pst_envelope_add(&e, 0);
    pst_envelope_add(&e, 100 * SLOT);
    for (uint32_t s = 0; s < 3600; s++) {
        assert_true(is_near(pst_envelope_slots(&e, PST_S, 0), 50, 1e-9));
        pst_envelope_add(&e, 0);
    }
    for (uint32_t s = 0; s < 361; s++) /* the longest window still holds it for 5 minutes */
        pst_envelope_add(&e, 0);
    assert_true(pst_envelope_slots(&e, PST_S, 0) == 0);
}

/* Never less than the truth over its own windows, never more than over all of them. */
static void it_agrees_with_a_search_of_every_window(void **state)
{
    static const uint32_t lengths[] = {1, 2, 3, 5, 8, 13, 22, 36, 60, 100, 170, 300};
    static uint64_t work[1500];
    struct pst_envelope e = {0};
    struct pst_prng prng;
    double some = 0, all = 0;

    (void)state;
    pst_prng_init(&prng, 3);
    for (uint32_t s = 0; s < PST_COUNT_OF(work); s++) {
        work[s] = pst_prng_below(&prng, 20) == 0 ? pst_prng_below(&prng, 100 * SLOT) : SLOT;
        pst_envelope_add(&e, work[s]);
    }
    for (uint32_t w = 1; w <= 300; w++) {
        bool is_ours = false;

        for (size_t i = 0; i < PST_COUNT_OF(lengths); i++)
            is_ours = is_ours || lengths[i] == w;
        for (uint32_t s = 0; s + w <= PST_COUNT_OF(work); s++) {
            uint64_t sum = 0;
            double slots;

            for (uint32_t k = 0; k < w; k++)
                sum += work[s + k];
            slots = (double)sum / ((double)w * PST_S + 2e9);
            all = slots > all ? slots : all;
            some = is_ours && slots > some ? slots : some;
        }
    }
    assert_true(is_near(pst_envelope_slots(&e, 2 * PST_S, 0), some, 1e-9));
    assert_true(some <= all && all <= some * 1.34);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_burst_asks_for_its_own_window),
        cmocka_unit_test(a_share_of_the_hour_may_be_late),
        cmocka_unit_test(an_hour_is_remembered),
        cmocka_unit_test(it_agrees_with_a_search_of_every_window),
    };

    pst_assert_hook = harness_assert_hook;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
