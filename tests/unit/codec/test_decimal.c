/* Numbers as written: what they are as integers, scaled and as doubles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/decimal.h"

static const struct integer_row {
    const char *text;
    bool is_integer;
    uint64_t value;
} integers[] = {
    {"0", true, 0},
    {"-0", true, 0},
    {"8", true, 8},
    {"8.0", true, 8},
    {"80e-1", true, 8},
    {"0.8e1", true, 8},
    {"8.5", false, 0},
    {"-1", false, 0},
    {"1e3", true, 1000},
    {"1e-1", false, 0},
    {"18446744073709551614", true, UINT64_MAX - 1},
    {"18446744073709551615", true, UINT64_MAX},
    {"18446744073709551616", true, UINT64_MAX},
    {"1e999999999", true, UINT64_MAX},
    {"0e999999999", true, 0},
    {"1e-999999999", false, 0},
    {"100000000000000000000.5", true, UINT64_MAX},
    {"0.00000000000000000000000000000000000001", false, 0},
};

static void integers_are_exact_and_saturate(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(integers); i++) {
        const struct integer_row *row = &integers[i];
        struct pst_decimal number;
        uint64_t value = 0;

        assert_int_equal(pst_decimal_read(row->text, strlen(row->text), &number), PST_OK);
        if (pst_decimal_to_u64(&number, &value) != row->is_integer || value != row->value)
            fail_msg("%s: %llu", row->text, (unsigned long long)value);
    }
}

static void wrong_texts_are_refused(void **state)
{
    static const char *const wrong[] = {"",   "+",  "-",  ".",   "e1",    "1e",  "1e+",
                                        "1x", " 1", "1 ", "0x1", "1.2.3", "--1", "inf"};
    struct pst_decimal number;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(wrong); i++)
        if (pst_decimal_read(wrong[i], strlen(wrong[i]), &number) != PST_E_SYNTAX)
            fail_msg("'%s' was read", wrong[i]);
}

static void scaled_values_round_down(void **state)
{
    static const struct {
        const char *text;
        int32_t power;
        uint64_t value;
    } rows[] = {
        {"212.7800", 6, 212780000}, {"0.0000019", 6, 1},     {"1.5", 9, 1500000000},
        {"12", 3, 12000},           {"1e30", 9, UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_decimal number;
        uint64_t value = 0;

        assert_int_equal(pst_decimal_read(rows[i].text, strlen(rows[i].text), &number), PST_OK);
        assert_true(pst_decimal_to_scaled(&number, rows[i].power, &value));
        assert_int_equal(value, rows[i].value);
    }
}

/* The C library in its C locale is the judge. */
static void doubles_agree_with_strtod(void **state)
{
    static const char *const exact[] = {"0",     "1",      "0.5",   "-2.25",   "1e22",
                                        "1e-22", "123456", "0.001", "3.14159", "9007199254740991"};
    static const char *const close[] = {"1.7976931348623157e308", "2.2250738585072014e-308",
                                        "1234567890123456789012345", "6.02214076e23", "1e-300"};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(exact); i++) {
        struct pst_decimal number;

        assert_int_equal(pst_decimal_read(exact[i], strlen(exact[i]), &number), PST_OK);
        assert_true(pst_decimal_to_double(&number) == strtod(exact[i], NULL));
    }
    for (size_t i = 0; i < PST_COUNT_OF(close); i++) {
        struct pst_decimal number;
        double want = strtod(close[i], NULL), got;

        assert_int_equal(pst_decimal_read(close[i], strlen(close[i]), &number), PST_OK);
        got = pst_decimal_to_double(&number);
        if (!(got >= want * (1 - 1e-14) && got <= want * (1 + 1e-14)) && got != want)
            fail_msg("%s: %.17g, not %.17g", close[i], got, want);
    }
}

static void far_exponents_end_in_zero_or_infinity(void **state)
{
    struct pst_decimal number;

    (void)state;
    assert_int_equal(pst_decimal_read("1e999999", 8, &number), PST_OK);
    assert_true(pst_decimal_to_double(&number) > 1.7e308);
    assert_int_equal(pst_decimal_read("1e-999999", 9, &number), PST_OK);
    assert_true(pst_decimal_to_double(&number) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact_and_saturate),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(scaled_values_round_down),
        cmocka_unit_test(doubles_agree_with_strtod),
        cmocka_unit_test(far_exponents_end_in_zero_or_infinity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
