/* decimal.c - see decimal.h. */
#include "codec/decimal.h"

#include <float.h>

enum {
    EXPONENT_MAX = 100000, /* beyond it only zero and infinity are left */
    POWERS_EXACT = 22,     /* 10^22 is the last power of ten a double holds exactly */
};

static const double powers[POWERS_EXACT + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

void pst_decimal_digit(struct pst_decimal *number, char digit, bool in_fraction)
{
    uint64_t value = (uint64_t)(digit - '0');

    number->is_full |= number->digits > (UINT64_MAX - value) / 10;
    if (!number->is_full) {
        number->digits = number->digits * 10 + value;
        if (in_fraction && number->scale > -EXPONENT_MAX)
            number->scale--;
        return;
    }
    number->is_cut |= value != 0;
    if (!in_fraction && number->scale < EXPONENT_MAX)
        number->scale++;
}

void pst_decimal_exponent(struct pst_decimal *number, char digit)
{
    if (number->exponent < EXPONENT_MAX)
        number->exponent = number->exponent * 10 + (digit - '0');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int pst_decimal_read(const char *text, size_t len, struct pst_decimal *ret_number)
{
    struct pst_decimal number = {0};
    const char *at = text, *end = text + len;
    size_t seen = 0;

    if (at < end && (*at == '+' || *at == '-'))
        number.negative = *at++ == '-';
    for (; at < end && is_digit(*at); at++, seen++)
        pst_decimal_digit(&number, *at, false);
    if (at < end && *at == '.')
        for (at++; at < end && is_digit(*at); at++, seen++)
            pst_decimal_digit(&number, *at, true);
    if (seen == 0)
        return PST_E_SYNTAX;
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            number.exponent_negative = *at++ == '-';
        if (at == end)
            return PST_E_SYNTAX;
        for (; at < end && is_digit(*at); at++)
            pst_decimal_exponent(&number, *at);
    }
    if (at != end)
        return PST_E_SYNTAX;
    *ret_number = number;
    return PST_OK;
}

static int32_t power_of(const struct pst_decimal *number)
{
    return number->scale + (number->exponent_negative ? -number->exponent : number->exponent);
}

/* digits x 10^power; *ret_exact is false when something was rounded away. */
static uint64_t shifted(const struct pst_decimal *number, int32_t power, bool *ret_exact)
{
    uint64_t value = number->digits;

    *ret_exact = !number->is_cut;
    if (number->is_full && power > 0)
        return UINT64_MAX;
    for (; power > 0 && value != 0; power--) {
        if (value > UINT64_MAX / 10)
            return UINT64_MAX;
        value *= 10;
    }
    for (; power < 0 && value != 0; power++) {
        *ret_exact &= value % 10 == 0;
        value /= 10;
    }
    return value;
}

bool pst_decimal_to_u64(const struct pst_decimal *number, uint64_t *ret_value)
{
    bool exact;
    uint64_t value = shifted(number, power_of(number), &exact);

    if (value != UINT64_MAX && !exact)
        return false;
    if (number->negative && number->digits != 0)
        return false;
    *ret_value = value;
    return true;
}

bool pst_decimal_to_scaled(const struct pst_decimal *number, int32_t power, uint64_t *ret_value)
{
    bool exact;

    if (number->negative && number->digits != 0)
        return false;
    *ret_value = shifted(number, power_of(number) + power, &exact);
    return true;
}

double pst_decimal_to_double(const struct pst_decimal *number)
{
    int32_t power = power_of(number);
    double value = (double)number->digits;

    while (power != 0 && value != 0 && value <= DBL_MAX) {
        int32_t step = power > 0 ? power : -power;

        if (step > POWERS_EXACT)
            step = POWERS_EXACT;
        value = power > 0 ? value * powers[step] : value / powers[step];
        power -= power > 0 ? step : -step;
    }
    return number->negative ? -value : value;
}
