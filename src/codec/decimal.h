/*
 * decimal.h - a decimal number as written, digit by digit.
 *
 * Why: bodies, traces and metrics are full of numbers, and every reader of the C library depends on the
 * locale or needs the whole text. Here digits arrive one at a time; what they mean is asked at the end.
 *
 * Guarantee: integers below 2^64 are exact and "8", "8.0" and "80e-1" are the same number, as they are
 * to the engines. No allocation, no locale. Doubles are exact up to 15 digits with an exponent within
 * 22, and within 4 units of the last place beyond.
 */
#ifndef PST_CODEC_DECIMAL_H
#define PST_CODEC_DECIMAL_H

#include "pst.h"

struct pst_decimal {
    uint64_t digits; /* value = digits x 10^(scale + exponent) */
    int32_t scale;
    int32_t exponent;
    bool negative;
    bool exponent_negative;
    bool is_full; /* further digits are dropped */
    bool is_cut;  /* one of them was not zero */
};

/* A zeroed struct is 0. The next digit of the integer or fraction part. */
void pst_decimal_digit(struct pst_decimal *number, char digit, bool in_fraction);
/* The next digit of the exponent; exponent_negative is set by the caller. */
void pst_decimal_exponent(struct pst_decimal *number, char digit);

/* The whole text "[+-]digits[.digits][e[+-]digits]", nothing around it. PST_E_SYNTAX otherwise. */
int pst_decimal_read(const char *text, size_t len, struct pst_decimal *ret_number);

/* False unless it is an integer >= 0; saturates at UINT64_MAX. */
bool pst_decimal_to_u64(const struct pst_decimal *number, uint64_t *ret_value);
/* value x 10^power, rounded down, saturating; false below zero. */
bool pst_decimal_to_scaled(const struct pst_decimal *number, int32_t power, uint64_t *ret_value);
double pst_decimal_to_double(const struct pst_decimal *number);

#endif
