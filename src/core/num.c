/* num.c - see num.h. */
#include "core/num.h"

#include <float.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0
#error "doubles must be evaluated as doubles, or builds would disagree"
#endif

__extension__ typedef unsigned __int128 u128;

#define LN2      0.693147180559945309417232121458
#define LN2_HIGH 6.93147180369123816490e-01 /* LN2 in two parts: n * LN2_HIGH is exact */
#define LN2_LOW  1.90821492927058770002e-10
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

uint64_t pst_muldiv(uint64_t a, uint64_t b, uint64_t c)
{
    u128 product = (u128)a * b;
    uint64_t high = (uint64_t)(product >> 64);
    uint64_t low = (uint64_t)product;

    if (high == 0 && c != 0)
        return low / c;
    if (product == 0)
        return 0;
    if (high >= c)
        return UINT64_MAX;
    return divide_wide(high, low, c);
}

uint64_t pst_mul_sat(uint64_t a, uint64_t b)
{
    u128 product = (u128)a * b;

    return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
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

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)): then ln m = 2 artanh((m - 1) / (m + 1)), |.| <= 0.172. */
double pst_ln(double x)
{
    uint64_t bits = bits_of(x);
    int exponent = 0;
    double m, s, square, sum;

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
    square = s * s;
    sum = 0;
    for (int k = 23; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * square;
    sum = 2 * s + 2 * s * sum;
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
    n = (int)(x / LN2 + (x < 0 ? -0.5 : 0.5));
    r = (x - n * LN2_HIGH) - n * LN2_LOW;
    sum = 1;
    for (int k = 14; k >= 1; k--)
        sum = 1 + sum * (r / k);
    if (n > 1023) /* 2^1024 has no place in one exponent */
        return sum * 2 * double_of(UINT64_C(0x7fe0000000000000));
    if (n < -1021) /* the result is subnormal: two steps, rounded once by the last */
        return sum * double_of((uint64_t)(n + 54 + 1023) << 52) * 5.5511151231257827e-17;
    return sum * double_of((uint64_t)(n + 1023) << 52);
}

double pst_pow(double x, double y)
{
    if (y == 0)
        return 1;
    if (x == 0)
        return y > 0 ? 0 : INFINITE;
    return pst_exp(y * pst_ln(x));
}

uint64_t pst_to_u64(double x)
{
    if (!(x > 0)) /* NaN too */
        return 0;
    if (x >= 18446744073709551616.0)
        return UINT64_MAX;
    return (uint64_t)x;
}

uint64_t pst_ceil_u64(double x)
{
    uint64_t down = pst_to_u64(x);

    return down < (UINT64_C(1) << 53) && (double)down < x ? down + 1 : down;
}
