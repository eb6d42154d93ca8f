/* num.c - see num.h. */
#include "core/num.h"

#include <float.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "doubles must be evaluated as doubles, or builds would disagree"
#endif

__extension__ typedef unsigned __int128 u128;

#define LN2_HIGH 6.93147180369123816490e-01 /* LN2 in two parts: n * LN2_HIGH is exact */
#define LN2_LOW  1.90821492927058770002e-10
#define PER_LN2  1.44269504088896340736
#define SQRT2    1.41421356237309504880168872421

/*
 * (high:low) / c for high < c, one 32-bit digit of the quotient after the other. The compiler's own
 * 128-bit division is a library call, which a pure room does without.
 */
static uint64_t divide_wide(uint64_t high, uint64_t low, uint64_t c)
{
    int shift = __builtin_clzll(c);
    uint64_t digit[2] = {0, 0};
    uint64_t c_high, c_low, rest;

    c <<= shift;
    c_high = c >> 32;
    c_low = c & UINT32_MAX;
    rest = shift == 0 ? high : (high << shift) | (low >> (64 - shift));
    low <<= shift;
    for (int i = 0; i < 2; i++) {
        uint64_t next = i == 0 ? low >> 32 : low & UINT32_MAX;
        uint64_t q = rest / c_high;
        uint64_t r = rest % c_high;

        /* The estimate is at most two too large. */
        while (q > UINT32_MAX || q * c_low > ((r << 32) | next)) {
            q--;
            r += c_high;
            if (r > UINT32_MAX)
                break;
        }
        digit[i] = q;
        rest = (rest << 32) + next - q * c; /* modulo 2^64: the true rest is below c */
    }
    return (digit[0] << 32) + digit[1];
}

uint64_t pst_muldiv_wide(uint64_t a, uint64_t b, uint64_t c)
{
    u128 product = (u128)a * b;
    uint64_t high = (uint64_t)(product >> 64);
    uint64_t low = (uint64_t)product;

    if (product == 0)
        return 0;
    if (high >= c) /* c = 0 too */
        return UINT64_MAX;
    return divide_wide(high, low, c);
}

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

#define INFINITE  double_of(UINT64_C(0x7ff0000000000000))
#define NO_NUMBER double_of(UINT64_C(0x7ff8000000000000))

/*
 * Polynomials are summed in pairs (Estrin's scheme), whose steps do not wait for one another: the order
 * is written out, so it is the same everywhere.
 */

/* artanh(s) / s - 1 for q = s^2: q / 3 + q^2 / 5 + ... + q^11 / 23. */
static double artanh_rest(double q)
{
    double q2 = q * q, q4 = q2 * q2, q8 = q4 * q4;
    double a = (1.0 / 3 + q * (1.0 / 5)) + q2 * (1.0 / 7 + q * (1.0 / 9));
    double b = (1.0 / 11 + q * (1.0 / 13)) + q2 * (1.0 / 15 + q * (1.0 / 17));
    double c = (1.0 / 19 + q * (1.0 / 21)) + q2 * (1.0 / 23);

    return q * ((a + q4 * b) + q8 * c);
}

/* (e^r - 1 - r) / r^2: 1 / 2! + r / 3! + ... + r^11 / 13!. */
static double exp_rest(double r)
{
    double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    double c =
        (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));

    return (a + r4 * b) + r8 * c;
}

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)): then ln m = 2 artanh((m - 1) / (m + 1)), |.| <= 0.172. */
double pst_ln(double x)
{
    uint64_t bits = bits_of(x);
    int exponent = 0;
    double m, s, sum;

    if (x != x || x < 0)
        return NO_NUMBER;
    if (x == 0)
        return -INFINITE;
    if (bits >= UINT64_C(0x7ff0000000000000))
        return x;
    if ((bits >> 52) == 0) { /* subnormal: scale it into the normal range */
        bits = bits_of(x * 18014398509481984.0);
        exponent = -54;
    }
    exponent += (int)(bits >> 52) - 1023;
    m = double_of((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
    if (m >= SQRT2) {
        m *= 0.5;
        exponent++;
    }
    s = (m - 1) / (m + 1);
    sum = 2 * s + 2 * s * artanh_rest(s * s);
    return exponent * LN2_HIGH + (sum + exponent * LN2_LOW);
}

double pst_exp(double x)
{
    double r, sum;
    int n;

    if (x != x)
        return x;
    if (x > 709.782712893383973096)
        return INFINITE;
    if (x < -745.13321910194110842)
        return 0;
    n = (int)(x * PER_LN2 + (x < 0 ? -0.5 : 0.5));
    r = (x - n * LN2_HIGH) - n * LN2_LOW;
    sum = 1 + (r + r * r * exp_rest(r));
    if (n > 1023) /* 2^1024 has no place in one exponent */
        return sum * 2 * double_of(UINT64_C(0x7fe0000000000000));
    if (n < -1021) /* the result is subnormal: two steps, rounded once by the last */
        return sum * double_of((uint64_t)(n + 54 + 1023) << 52) * 5.5511151231257827e-17;
    return sum * double_of((uint64_t)(n + 1023) << 52);
}

/* 1 / sqrt(x) by Newton's method from a guess at half the exponent; its last step is made on sqrt(x). */
double pst_sqrt(double x)
{
    double y, root;

    if (x != x || x < 0)
        return NO_NUMBER;
    if (x == 0 || bits_of(x) >= UINT64_C(0x7ff0000000000000))
        return x;
    if (bits_of(x) < UINT64_C(1) << 52) /* subnormal: scale it into the normal range */
        return pst_sqrt(x * 18014398509481984.0) * 7.450580596923828125e-09;
    y = double_of(UINT64_C(0x5fe6eb50c7b537a9) - (bits_of(x) >> 1));
    for (int step = 0; step < 3; step++)
        y = y * (1.5 - 0.5 * x * y * y);
    root = x * y;
    return root + 0.5 * y * (x - root * root);
}

double pst_pow(double x, double y)
{
    if (y == 0)
        return 1;
    if (x == 0)
        return y > 0 ? 0 : INFINITE;
    return pst_exp(y * pst_ln(x));
}

uint64_t pst_ceil_u64(double x)
{
    uint64_t down = pst_to_u64(x);

    return down < (UINT64_C(1) << 53) && (double)down < x ? down + 1 : down;
}
