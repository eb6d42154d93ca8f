/* Numbers as people read them: three digits that count, and nothing that reads as more than it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cmd/units.h"

static const struct {
    double value;
    enum pst_unit unit;
    const char *text;
} rows[] = {
    {0, PST_UNIT_TIME, "0 s"},
    {1, PST_UNIT_TIME, "0.00 us"},
    {12340, PST_UNIT_TIME, "12.3 us"},
    {999.4e3, PST_UNIT_TIME, "999 us"},
    {999.6e3, PST_UNIT_TIME, "1.00 ms"},
    {12.34e6, PST_UNIT_TIME, "12.3 ms"},
    {9.996e9, PST_UNIT_TIME, "10.0 s"},
    {599.9e9, PST_UNIT_TIME, "600 s"},
    {600e9, PST_UNIT_TIME, "10.0 min"},
    {8 * 3600e9, PST_UNIT_TIME, "8.00 h"},
    {0, PST_UNIT_COUNT, "0"},
    {2.333, PST_UNIT_COUNT, "2.33"},
    {999, PST_UNIT_COUNT, "999"},
    {1000, PST_UNIT_COUNT, "1,000"},
    {123456, PST_UNIT_COUNT, "123,456"},
    {1234567, PST_UNIT_COUNT, "1.23 M"},
    {2.5e9, PST_UNIT_COUNT, "2.50 G"},
    {0, PST_UNIT_HOURS, "0"},
    {0.0001, PST_UNIT_HOURS, "<0.001"},
    {0.0123, PST_UNIT_HOURS, "0.012"},
    {76.34, PST_UNIT_HOURS, "76.3"},
    {1234.4, PST_UNIT_HOURS, "1,234"},
    {1e6, PST_UNIT_SHARE, "100 %"},
    {999999, PST_UNIT_SHARE, "99.99 %"},
    {537156, PST_UNIT_SHARE, "53.71 %"},
    {0, PST_UNIT_SHARE, "0.00 %"},
    {-1, PST_UNIT_TIME, "-"},
    {1e301, PST_UNIT_COUNT, "-"},
};

static const struct {
    pst_ns span;
    const char *text;
} spans[] = {
    {8 * 3600 * PST_S, "8 h"}, {9000 * PST_S, "2 h 30 min"},
    {600 * PST_S, "10 min"},   {90 * PST_S, "90 s"},
    {60 * PST_S, "1 min"},     {3436 * PST_S, "57 min 16 s"},
    {20 * PST_MS, "20 ms"},    {1500 * PST_MS, "1.50 s"},
    {36400, "36.4 us"},        {0, "0 s"},
};

static void figures_read_as_they_should(void **state)
{
    char text[PST_UNITS_MAX];

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        assert_string_equal(pst_units(rows[i].value, rows[i].unit, text), rows[i].text);
}

static void spans_read_as_they_should(void **state)
{
    char text[PST_UNITS_MAX];

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(spans); i++)
        assert_string_equal(pst_units_span(spans[i].span, text), spans[i].text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_read_as_they_should),
        cmocka_unit_test(spans_read_as_they_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
