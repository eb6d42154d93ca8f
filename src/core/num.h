/*
 * num.h - numbers that come out the same on every compiler and build.
 *
 * Why: a recording must step to identical actions under gcc and clang, debug and release. State is
 * integers; products of two of them go through 128 bits; where a logarithm is wanted, libm (whose last
 * bits differ between versions) is not asked.
 *
 * Guarantee: nothing here overflows, traps or depends on the rounding of a library. ln, exp and
 * sqrt are within 4 ulp over their whole range; pow within (4 + |y ln x|) ulp.
 */
#ifndef PST_CORE_NUM_H
#define PST_CORE_NUM_H

#include "pst.h"

/* The same for any product; the rest of the inline one below. */
uint64_t pst_muldiv_wide(uint64_t a, uint64_t b, uint64_t c);

/* floor(a * b / c), saturating at UINT64_MAX; so does c = 0, unless the product is 0, which gives 0. */
static inline uint64_t pst_muldiv(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t product;

    if (c == 0 || __builtin_mul_overflow(a, b, &product))
        return pst_muldiv_wide(a, b, c);
    return product / c;
}

static inline uint64_t pst_mul_sat(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static inline uint64_t pst_add_sat(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* a - b, never below 0. */
static inline uint64_t pst_sub_sat(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline uint64_t pst_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t pst_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Natural logarithm: of 0 -infinity, of less NaN. */
double pst_ln(double x);
/* e to the x: saturates at 0 and +infinity. */
double pst_exp(double x);
/* Square root: of less than 0 NaN. */
double pst_sqrt(double x);
/* x to the y for x >= 0; NaN for x < 0. pow(0, 0) = 1. */
double pst_pow(double x, double y);

/* The one way back to integers: toward zero; NaN and negatives give 0, too large UINT64_MAX. */
static inline uint64_t pst_to_u64(double x)
{
    if (!(x > 0)) /* NaN too */
        return 0;
    if (x < 9223372036854775808.0) /* nearly always, and the cheaper conversion */
        return (uint64_t)(int64_t)x;
    return x >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)x;
}

/* The same, rounded up. */
uint64_t pst_ceil_u64(double x);

/* A well-mixed 64-bit hash of an integer: for tables whose keys are not an attacker's. */
static inline uint64_t pst_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

#endif
