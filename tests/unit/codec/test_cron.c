/* Five fields: what they mean, what is wrong with them, and when the next time is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/cron.h"
#include "codec/day.h"

/* "2026-03-29 02:30" */
static int64_t civil_of(const char *text)
{
    int year;
    unsigned month, day, hour, minute;

    assert_int_equal(sscanf(text, "%d-%u-%u %u:%u", &year, &month, &day, &hour, &minute), 5);
    return pst_day_number(year, month, day) * PST_DAY_S + hour * 3600 + minute * 60;
}

static const char *text_of(int64_t civil, char buffer[32])
{
    struct pst_day day;
    uint32_t second;

    if (civil == PST_CRON_NEVER)
        return "never";
    pst_day_of(pst_day_split(civil, &second), &day);
    snprintf(buffer, 32, "%04d-%02u-%02u %02u:%02u", day.year, day.month, day.day, second / 3600,
             second / 60 % 60);
    return buffer;
}

static const struct {
    const char *promise, *cron, *after, *next, *last;
} times[] = {
    {"every minute", "* * * * *", "2026-01-01 00:00", "2026-01-01 00:01", "2026-01-01 00:00"},
    {"at eight", "0 8 * * *", "2026-01-01 08:00", "2026-01-02 08:00", "2026-01-01 08:00"},
    {"just before eight", "0 8 * * *", "2026-01-01 07:59", "2026-01-01 08:00", "2025-12-31 08:00"},
    {"over the year", "30 23 31 12 *", "2026-12-31 23:30", "2027-12-31 23:30", "2026-12-31 23:30"},
    {"a list", "0,15,45 * * * *", "2026-01-01 10:16", "2026-01-01 10:45", "2026-01-01 10:15"},
    {"a range", "0 9-11 * * *", "2026-01-01 11:00", "2026-01-02 09:00", "2026-01-01 11:00"},
    {"a step", "*/20 * * * *", "2026-01-01 10:41", "2026-01-01 11:00", "2026-01-01 10:40"},
    {"a step in a range", "0 8-18/5 * * *", "2026-01-01 13:00", "2026-01-01 18:00",
     "2026-01-01 13:00"},
    {"working days", "0 8 * * mon-fri", "2026-01-02 09:00", "2026-01-05 08:00", "2026-01-02 08:00"},
    {"names in any case", "0 8 * JAN,Jul Mon", "2026-01-26 08:00", "2026-07-06 08:00",
     "2026-01-26 08:00"},
    {"7 is Sunday", "0 8 * * 7", "2026-01-01 00:00", "2026-01-04 08:00", "2025-12-28 08:00"},
    {"0 is Sunday", "0 8 * * 0", "2026-01-01 00:00", "2026-01-04 08:00", "2025-12-28 08:00"},
    {"fri-sun goes over the week's end", "0 8 * * fri-sun", "2026-01-04 08:00", "2026-01-09 08:00",
     "2026-01-04 08:00"},
    {"day or weekday", "0 0 13 * fri", "2026-01-10 00:00", "2026-01-13 00:00", "2026-01-09 00:00"},
    {"any day: the weekday alone", "0 0 * * fri", "2026-01-10 00:00", "2026-01-16 00:00",
     "2026-01-09 00:00"},
    {"a day that begins with a star joins", "0 0 */2 * fri", "2026-01-10 00:00", "2026-01-23 00:00",
     "2026-01-09 00:00"},
    {"the leap day", "0 0 29 2 *", "2026-01-01 00:00", "2028-02-29 00:00", "2024-02-29 00:00"},
    {"no leap day in 2100", "0 0 29 2 *", "2096-02-29 00:00", "2104-02-29 00:00",
     "2096-02-29 00:00"},
    {"a leap day of one weekday", "0 0 29 2 */7", "2026-01-01 00:00", "2032-02-29 00:00",
     "2004-02-29 00:00"},
    {"the 30th of February", "0 0 30 2 *", "2026-01-01 00:00", "never", "never"},
    {"the 31st skips months", "0 0 31 * *", "2026-03-31 00:00", "2026-05-31 00:00",
     "2026-03-31 00:00"},
    {"spaces and tabs", "  0\t8  * * * ", "2026-01-01 08:00", "2026-01-02 08:00",
     "2026-01-01 08:00"},
    {"before 1970", "0 0 1 1 *", "1968-06-01 00:00", "1969-01-01 00:00", "1968-01-01 00:00"},
};

static void times_come_when_they_are_due(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(times); i++) {
        const int64_t after = civil_of(times[i].after);
        struct pst_cron_fault fault;
        struct pst_cron cron;
        char next[32], last[32];

        print_message("%s\n", times[i].promise);
        assert_int_equal(pst_cron_parse(times[i].cron, strlen(times[i].cron), &cron, &fault),
                         PST_OK);
        assert_string_equal(text_of(pst_cron_next(&cron, NULL, after), next), times[i].next);
        assert_string_equal(text_of(pst_cron_last(&cron, NULL, after), last), times[i].last);
    }
}

static const struct {
    const char *cron;
    size_t at;
    const char *why;
} faults[] = {
    {"", 0, "five fields"},
    {"0 8 * *", 7, "five fields"},
    {"0 8 * * * *", 10, "more than five"},
    {"60 * * * *", 0, "0 to 59"},
    {"0 24 * * *", 2, "0 to 23"},
    {"0 0 0 * *", 4, "1 to 31"},
    {"0 0 32 * *", 4, "1 to 31"},
    {"0 0 * 13 *", 6, "jan to dec"},
    {"0 0 * foo *", 6, "jan to dec"},
    {"0 0 * * 8", 8, "sun to sat"},
    {"0 0 * * monday", 11, "neither"},
    {"0 18-8 * * *", 5, "backwards"},
    {"0 8- * * *", 4, "0 to 23"},
    {"0 8/2 * * *", 3, "a step needs a range"},
    {"0 */0 * * *", 4, "a step is 1 to 59"},
    {"*/60 * * * *", 2, "a step is 1 to 59"},
    {"*/ * * * *", 2, "a number is expected"},
    {"0,, * * * *", 2, "0 to 59"},
    {"1000 * * * *", 0, "0 to 59"},
    {"-1 * * * *", 0, "0 to 59"},
    {"@daily", 0, "0 to 59"},
    {"0 8 * * * # x", 10, "more than five"},
    {"** * * * *", 1, "neither"},
};

static void every_fault_has_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(faults); i++) {
        struct pst_cron_fault fault = {0, "nothing"};
        struct pst_cron cron;

        assert_int_equal(pst_cron_parse(faults[i].cron, strlen(faults[i].cron), &cron, &fault),
                         PST_E_SYNTAX);
        if (fault.at != faults[i].at || strstr(fault.why, faults[i].why) == NULL)
            fail_msg("'%s': %zu: %s", faults[i].cron, fault.at, fault.why);
    }
}

static void a_long_text_is_refused(void **state)
{
    struct pst_cron_fault fault;
    struct pst_cron cron;
    char text[PST_CRON_TEXT_MAX + 2];

    (void)state;
    memset(text, ' ', sizeof text);
    memcpy(text, "* * * * *", 9);
    assert_int_equal(pst_cron_parse(text, PST_CRON_TEXT_MAX, &cron, &fault), PST_OK);
    assert_int_equal(pst_cron_parse(text, PST_CRON_TEXT_MAX + 1, &cron, &fault), PST_E_SYNTAX);
}

static void a_holiday_is_a_sunday(void **state)
{
    const int64_t days[] = {pst_day_number(2026, 12, 25), pst_day_number(2026, 12, 28)};
    const struct pst_cron_holidays holidays = {days, PST_COUNT_OF(days)};
    static const struct {
        const char *cron, *after, *next;
    } rows[] = {
        {"0 8 * * mon-fri", "2026-12-24 08:00", "2026-12-29 08:00"},
        {"0 8 * * sun", "2026-12-24 08:00", "2026-12-25 08:00"},
        {"0 8 * * *", "2026-12-24 08:00", "2026-12-25 08:00"},
        {"0 8 25 12 *", "2026-12-24 08:00", "2026-12-25 08:00"},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_cron_fault fault;
        struct pst_cron cron;
        char next[32];

        assert_int_equal(pst_cron_parse(rows[i].cron, strlen(rows[i].cron), &cron, &fault), PST_OK);
        assert_string_equal(text_of(pst_cron_next(&cron, &holidays, civil_of(rows[i].after)), next),
                            rows[i].next);
    }
}

/* Next and last are each other's inverse, whatever the rule. */
static void next_and_last_agree(void **state)
{
    static const char *const rules[] = {"*/7 3-9 * * *", "5 4 1-7 * mon", "0 0 29 2 *",
                                        "59 23 * 1,12 sat"};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rules); i++) {
        int64_t civil = civil_of("2023-12-01 00:00");
        struct pst_cron_fault fault;
        struct pst_cron cron;

        assert_int_equal(pst_cron_parse(rules[i], strlen(rules[i]), &cron, &fault), PST_OK);
        for (unsigned n = 0; n < 500; n++) {
            const int64_t next = pst_cron_next(&cron, NULL, civil);

            assert_true(next > civil);
            assert_int_equal(pst_cron_last(&cron, NULL, next), next);
            assert_int_equal(pst_cron_last(&cron, NULL, next + 59), next);
            assert_int_equal(pst_cron_next(&cron, NULL, next - 1), next);
            civil = next;
        }
    }
}

static void days_and_numbers_agree(void **state)
{
    struct pst_day day, before = {0};

    (void)state;
    assert_int_equal(pst_day_number(1970, 1, 1), 0);
    assert_int_equal(pst_day_number(2000, 2, 29), 11016);
    assert_int_equal(pst_day_weekday(0), 4);
    pst_day_of(-800000, &before);
    for (int64_t number = -799999; number < 800000; number++) {
        pst_day_of(number, &day);
        assert_int_equal(pst_day_number(day.year, day.month, day.day), number);
        assert_int_equal(day.weekday, (before.weekday + 1) % 7);
        assert_true(day.day == before.day + 1 || (day.day == 1 && before.day >= 28));
        before = day;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_come_when_they_are_due), cmocka_unit_test(every_fault_has_its_place),
        cmocka_unit_test(a_long_text_is_refused),       cmocka_unit_test(a_holiday_is_a_sunday),
        cmocka_unit_test(next_and_last_agree),          cmocka_unit_test(days_and_numbers_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
