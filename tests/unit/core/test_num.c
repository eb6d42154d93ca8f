/* test_num.c - numbers, randomness, heap and histogram: their guarantees. */
#include "harness.h"

static void products_go_through_128_bits(void **state)
{
    static const struct {
        uint64_t a, b, c, want;
    } rows[] = {
        {0, 0, 0, 0},
        {0, 5, 0, 0},
        {5, 5, 0, UINT64_MAX},
        {6, 7, 4, 10},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
        {UINT64_MAX, 2, 2, UINT64_MAX},
        {UINT64_MAX, 2, 1, UINT64_MAX},
        {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX, UINT64_MAX - 1},
        {UINT64_C(1) << 63, 3, 4, UINT64_C(3) << 61},
    };
    struct pst_prng prng;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        assert_true(pst_muldiv(rows[i].a, rows[i].b, rows[i].c) == rows[i].want);
    pst_prng_init(&prng, 9);
    for (int i = 0; i < 200000; i++) { /* against the compiler's own 128-bit division */
        uint64_t a = pst_prng_next(&prng) >> pst_prng_below(&prng, 64);
        uint64_t b = pst_prng_next(&prng) >> pst_prng_below(&prng, 64);
        uint64_t c = (pst_prng_next(&prng) >> pst_prng_below(&prng, 64)) | 1;
        __extension__ unsigned __int128 want = (unsigned __int128)a * b / c;

        assert_true(pst_muldiv(a, b, c) == (want > UINT64_MAX ? UINT64_MAX : (uint64_t)want));
    }
    assert_true(pst_mul_sat(UINT64_MAX, 2) == UINT64_MAX);
    assert_true(pst_add_sat(UINT64_MAX, 1) == UINT64_MAX);
    assert_true(pst_sub_sat(1, 2) == 0);
}

static void is_near(double got, double want)
{
    double error = got > want ? got - want : want - got;
    double size = want < 0 ? -want : want;

    assert_true(error <= 1e-14 * size);
}

static void logarithms_need_no_library(void **state)
{
    static const struct {
        double x, ln;
    } rows[] = {
        {1, 0},
        {2, 0.69314718055994530942},
        {10, 2.30258509299404568402},
        {0.5, -0.69314718055994530942},
        {1e-300, -690.77552789821370521},
        {1e300, 690.77552789821370521},
        {1.00000095367431640625, 9.53673861659188269e-07},
    };
    double infinite = 1e308 * 10, none = infinite - infinite;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        is_near(pst_ln(rows[i].x), rows[i].ln);
    is_near(pst_exp(1), 2.71828182845904523536);
    is_near(pst_exp(-1), 0.36787944117144232160);
    is_near(pst_pow(2, 0.5), 1.41421356237309504880);
    is_near(pst_sqrt(2), 1.41421356237309504880);
    is_near(pst_sqrt(1e300), 1e150);
    is_near(pst_sqrt(4.9406564584124654e-324), 2.2227587494850775e-162);
    assert_true(pst_sqrt(0) == 0 && pst_sqrt(infinite) == infinite && pst_sqrt(-1) != pst_sqrt(-1));
    is_near(pst_pow(10, -3), 0.001);
    for (double x = -700; x < 700; x += 0.37)
        is_near(1000 + pst_ln(pst_exp(x)), 1000 + x);
    assert_true(pst_exp(1000) == infinite && pst_exp(-1000) == 0);
    assert_true(pst_ln(0) == -infinite && pst_ln(-1) != pst_ln(-1));
    assert_true(pst_pow(0, 0) == 1 && pst_pow(0, 2) == 0);
    assert_true(pst_to_u64(none) == 0 && pst_to_u64(-5) == 0 && pst_to_u64(3.9) == 3);
    assert_true(pst_to_u64(infinite) == UINT64_MAX && pst_to_u64(1.9e19) == UINT64_MAX);
    assert_true(pst_ceil_u64(3.1) == 4 && pst_ceil_u64(3) == 3 && pst_ceil_u64(-3.5) == 0);
}

static void the_sequence_is_the_published_one(void **state)
{
    struct pst_prng prng;
    uint32_t counts[10] = {0};

    (void)state;
    /* splitmix64 of 0 begins so; xoshiro256** of the state 1, 2, 3, 4 too. */
    pst_prng_init(&prng, 0);
    assert_true(prng.state[0] == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(prng.state[1] == UINT64_C(0x6e789e6aa1b965f4));
    prng = (struct pst_prng){{1, 2, 3, 4}};
    assert_true(pst_prng_next(&prng) == 11520);
    assert_true(pst_prng_next(&prng) == 0);
    assert_true(pst_prng_next(&prng) == 1509978240);
    for (int i = 0; i < 100000; i++)
        counts[pst_prng_below(&prng, 10)]++;
    for (int i = 0; i < 10; i++)
        assert_in_range(counts[i], 9600, 10400);
    assert_true(pst_prng_below(&prng, 0) == 0 && pst_prng_below(&prng, 1) == 0);
}

static void the_heap_is_ordered_and_movable(void **state)
{
    struct pst_heap heap;
    struct pst_prng prng;
    uint64_t key[100];
    bool in[100] = {false};

    (void)state;
    pst_prng_init(&prng, 3);
    assert_int_equal(pst_heap_init(&heap, 100), PST_OK);
    assert_int_equal(pst_heap_top(&heap), PST_HEAP_NONE);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t m = (uint32_t)pst_prng_below(&prng, 100);
        uint32_t least = PST_HEAP_NONE;

        if (pst_prng_below(&prng, 3) > 0) {
            key[m] = pst_prng_below(&prng, 50) * 100 + m; /* the seq below makes it total */
            pst_heap_put(&heap, m, key[m] / 100, key[m] % 100);
            in[m] = true;
        } else {
            pst_heap_remove(&heap, m);
            in[m] = false;
        }
        pst_heap_verify(&heap);
        for (uint32_t j = 0; j < 100; j++) {
            assert_int_equal(pst_heap_contains(&heap, j), in[j]);
            if (in[j] && (least == PST_HEAP_NONE || key[j] < key[least]))
                least = j;
        }
        assert_int_equal(pst_heap_top(&heap), least);
    }
    pst_heap_done(&heap);
}

static void quantiles_are_within_a_64th(void **state)
{
    static struct pst_hist hist, other;
    static const uint32_t quantiles[] = {0, 10000, 500000, 900000, 990000, 999000};

    (void)state;
    assert_int_equal(pst_hist_quantile(&hist, 500000), 0);
    for (uint64_t v = 1; v <= 100000; v++)
        pst_hist_add(v % 2 ? &hist : &other, v * v);
    pst_hist_merge(&hist, &other);
    assert_int_equal(hist.count, 100000);
    for (size_t i = 0; i < PST_COUNT_OF(quantiles); i++) {
        uint64_t rank = quantiles[i] / 10 + 1;
        uint64_t want = rank * rank;
        uint64_t got = pst_hist_quantile(&hist, quantiles[i]);

        assert_true(got <= want + want / 64 + 1 && got + want / 64 + 1 >= want);
    }
    assert_true(pst_hist_quantile(&hist, PST_PPM) == UINT64_C(10000000000));
    pst_hist_fade(&hist);
    assert_in_range(hist.count, 45000, 50000);
    pst_hist_add(&hist, UINT64_MAX);
    assert_true(pst_hist_quantile(&hist, PST_PPM) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_go_through_128_bits),
        cmocka_unit_test(logarithms_need_no_library),
        cmocka_unit_test(the_sequence_is_the_published_one),
        cmocka_unit_test(the_heap_is_ordered_and_movable),
        cmocka_unit_test(quantiles_are_within_a_64th),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
