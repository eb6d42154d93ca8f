/* Time zones: the tz database's files, read as libc reads them; and files that no database has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "codec/day.h"
#include "codec/tzif.h"

#define FOLDER "/usr/share/zoneinfo/"

static struct pst_tzif zone; /* too large for comfort on the stack */

static size_t read_file(const char *name, uint8_t *bytes, size_t size)
{
    char path[256];
    size_t len;
    FILE *in;

    snprintf(path, sizeof path, FOLDER "%s", name);
    in = fopen(path, "rb");
    if (in == NULL)
        fail_msg("%s: not there; install tzdata", path);
    len = fread(bytes, 1, size, in);
    fclose(in);
    return len;
}

static void open_zone(const char *name)
{
    static uint8_t bytes[PST_TZIF_BYTES_MAX];
    const size_t len = read_file(name, bytes, sizeof bytes);

    assert_int_equal(pst_tzif_parse(bytes, len, &zone), PST_OK);
}

/* "2026-03-29 02:30", with or without ":00" */
static int64_t civil_of(const char *text)
{
    int year;
    unsigned month, day, hour, minute, second = 0;

    assert_true(sscanf(text, "%d-%u-%u %u:%u:%u", &year, &month, &day, &hour, &minute, &second) >=
                5);
    return pst_day_number(year, month, day) * PST_DAY_S + hour * 3600 + minute * 60 + second;
}

/* When the clock on the wall shows `civil`, it is `utc`. */
static const struct {
    const char *promise, *zone, *civil, *utc;
} rows[] = {
    {"winter", "Europe/Berlin", "2026-01-15 08:00", "2026-01-15 07:00"},
    {"summer", "Europe/Berlin", "2026-07-15 08:00", "2026-07-15 06:00"},
    {"just before the gap", "Europe/Berlin", "2026-03-29 01:59:59", "2026-03-29 00:59:59"},
    {"in the gap: its end", "Europe/Berlin", "2026-03-29 02:00", "2026-03-29 01:00"},
    {"in the gap too", "Europe/Berlin", "2026-03-29 02:59:59", "2026-03-29 01:00"},
    {"after the gap", "Europe/Berlin", "2026-03-29 03:00", "2026-03-29 01:00"},
    {"before the fold", "Europe/Berlin", "2026-10-25 01:59", "2026-10-24 23:59"},
    {"in the fold: the first", "Europe/Berlin", "2026-10-25 02:30", "2026-10-25 00:30"},
    {"after the fold", "Europe/Berlin", "2026-10-25 03:00", "2026-10-25 02:00"},
    {"past the table", "Europe/Berlin", "2100-07-01 12:00", "2100-07-01 10:00"},
    {"the gap of another country", "America/New_York", "2026-03-08 02:30", "2026-03-08 07:00"},
    {"its fold", "America/New_York", "2026-11-01 01:30", "2026-11-01 05:30"},
    {"after its fold", "America/New_York", "2026-11-01 02:00", "2026-11-01 07:00"},
    {"half an hour's gap", "Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03 15:30"},
    {"after it", "Australia/Lord_Howe", "2026-10-04 02:30", "2026-10-03 15:30"},
    {"half an hour's fold", "Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04 14:45"},
    {"after it", "Australia/Lord_Howe", "2026-04-05 02:00", "2026-04-04 15:30"},
    {"summer over the new year", "Australia/Lord_Howe", "2050-01-01 00:00", "2049-12-31 13:00"},
    {"a day that was left out", "Pacific/Apia", "2011-12-30 12:00", "2011-12-30 10:00"},
    {"three quarters", "Asia/Kathmandu", "2026-01-01 05:45", "2026-01-01 00:00"},
    {"no summer", "Asia/Tokyo", "2026-07-01 09:00", "2026-07-01 00:00"},
    {"a rule before midnight", "America/Nuuk", "2040-03-24 22:30", "2040-03-25 00:30"},
    {"a leap day", "Europe/Berlin", "2028-02-29 00:00", "2028-02-28 23:00"},
    {"UTC", "UTC", "2026-01-01 00:00", "2026-01-01 00:00"},
};

static void civil_times_have_their_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        print_message("%s: %s\n", rows[i].zone, rows[i].promise);
        open_zone(rows[i].zone);
        assert_int_equal(pst_tzif_utc(&zone, civil_of(rows[i].civil)) - civil_of(rows[i].utc), 0);
    }
}

/* libc as the oracle, every day or so at another hour, and at every change, 1900 to 2150. */
static void offsets_are_those_of_libc(void **state)
{
    static const char *const names[] = {
        "Europe/Berlin",     "Europe/London",       "Europe/Dublin",     "America/New_York",
        "America/Sao_Paulo", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia",
        "Asia/Gaza",         "America/Nuuk",        "Antarctica/Troll",  "Asia/Kathmandu",
        "America/Santiago",  "Pacific/Kiritimati",  "Etc/GMT+12"};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(names); i++) {
        const int64_t end = civil_of("2150-01-01 00:00");
        int64_t change;

        open_zone(names[i]);
        setenv("TZ", names[i], 1);
        tzset();
        change = civil_of("1905-01-01 00:00");
        for (int64_t at = change; at < end; at += 31 * 3600) {
            const time_t both[] = {at, change < end ? change : at, change - 1};

            for (size_t j = 0; j < PST_COUNT_OF(both); j++) {
                struct tm tm;

                localtime_r(&both[j], &tm);
                if (tm.tm_gmtoff != pst_tzif_offset(&zone, both[j]))
                    fail_msg("%s at %lld: %ld, not %d", names[i], (long long)both[j], tm.tm_gmtoff,
                             pst_tzif_offset(&zone, both[j]));
            }
            if (at >= change)
                change = pst_tzif_next_change(&zone, at);
        }
    }
}

/* The first time at which the clock shows so much: it does then, and did not before. */
static void the_first_time_is_the_first(void **state)
{
    static const char *const names[] = {"Europe/Berlin", "Australia/Lord_Howe", "Pacific/Apia"};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(names); i++) {
        int64_t before = INT64_MIN;

        open_zone(names[i]);
        for (int64_t civil = civil_of("2011-01-01 00:00"); civil < civil_of("2013-01-01 00:00");
             civil += 600) {
            const int64_t utc = pst_tzif_utc(&zone, civil);

            assert_true(utc >= before);
            assert_true(pst_tzif_civil(&zone, utc) >= civil);
            assert_true(pst_tzif_civil(&zone, utc - 1) < civil);
            assert_true(pst_tzif_shown(&zone, utc) >= civil);
            assert_true(pst_tzif_shown(&zone, utc - 1) < civil);
            before = utc;
        }
    }
}

static const struct {
    const char *rule;
    bool is_good;
} rules[] = {
    {"CET-1CEST,M3.5.0,M10.5.0/3", true},
    {"EST5EDT,M3.2.0,M11.1.0", true},
    {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", true},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", true},
    {"EET-2EEST,M3.4.4/50,M10.4.4/50", true},
    {"XXX3EDT4,0/0,J365/23", true},
    {"JST-9", true},
    {"<+03>-3", true},
    {"", false},
    {"CET", false},
    {"CE-1", false},
    {"<CET-1", false},
    {"CET-25", false},
    {"CET-1:60", false},
    {"CET-1CEST", false},
    {"CET-1CEST,M3.5.0", false},
    {"CET-1CEST,M13.5.0,M10.5.0", false},
    {"CET-1CEST,M3.6.0,M10.5.0", false},
    {"CET-1CEST,M3.5.7,M10.5.0", false},
    {"CET-1CEST,M3.5.0/168,M10.5.0", false},
    {"CET-1CEST,J0,J365", false},
    {"CET-1CEST,0,366", false},
    {"CET-1CEST,M3.5.0,M10.5.0 ", false},
    {"CET-1CEST,M3.5.0,M10.5.0/", false},
    {"CET-0000000001", false},
};

static void rules_are_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rules); i++) {
        memset(&zone, 0, sizeof zone);
        if ((pst_tzif_rule(rules[i].rule, strlen(rules[i].rule), &zone) == PST_OK) !=
            rules[i].is_good)
            fail_msg("'%s'", rules[i].rule);
        assert_int_equal(zone.has_rule, rules[i].is_good);
    }
}

/* J60 is the first of March in every year; 60 is in a leap year the 29th of February's next. */
static void days_of_the_year_are_counted_both_ways(void **state)
{
    static const struct {
        const char *rule, *begin;
    } cases[] = {
        {"AAA0BBB,J60/0,J300/0", "2027-03-01 00:00"}, {"AAA0BBB,J60/0,J300/0", "2028-03-01 00:00"},
        {"AAA0BBB,59/0,300/0", "2027-03-01 00:00"},   {"AAA0BBB,59/0,300/0", "2028-02-29 00:00"},
        {"AAA0BBB,J59/0,J300/0", "2028-02-28 00:00"},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(cases); i++) {
        const int64_t begin = civil_of(cases[i].begin);

        memset(&zone, 0, sizeof zone);
        assert_int_equal(pst_tzif_rule(cases[i].rule, strlen(cases[i].rule), &zone), PST_OK);
        assert_int_equal(pst_tzif_offset(&zone, begin - 1), 0);
        assert_int_equal(pst_tzif_offset(&zone, begin), 3600);
        assert_int_equal(pst_tzif_next_change(&zone, begin - 1) - begin, 0);
    }
}

static void summer_may_have_no_end(void **state)
{
    const int64_t from = civil_of("2026-01-01 00:00");

    (void)state;
    memset(&zone, 0, sizeof zone);
    assert_int_equal(pst_tzif_rule("XXX3EDT4,0/0,J365/23", 20, &zone), PST_OK);
    for (int64_t at = from; at < from + 800 * PST_DAY_S; at += 1800)
        assert_int_equal(pst_tzif_offset(&zone, at), -4 * 3600);
}

static void a_file_cut_short_is_refused(void **state)
{
    static uint8_t bytes[PST_TZIF_BYTES_MAX];
    const size_t len = read_file("Europe/Berlin", bytes, sizeof bytes);

    (void)state;
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *copy = malloc(cut + 1); /* so that a sanitizer sees one byte too many */

        memcpy(copy, bytes, cut);
        assert_int_equal(pst_tzif_parse(copy, cut, &zone), PST_E_SYNTAX);
        free(copy);
    }
}

/* Headers that promise more than there is, and tables that break their own rules. */
static void a_table_that_lies_is_refused(void **state)
{
    static uint8_t bytes[PST_TZIF_BYTES_MAX], spoilt[PST_TZIF_BYTES_MAX];
    const size_t len = read_file("Europe/Berlin", bytes, sizeof bytes);
    size_t second = 44;

    (void)state;
    while (memcmp(bytes + second, "TZif", 4) != 0)
        second++;
    for (size_t at = 20; at < 44; at += 4) {
        memcpy(spoilt, bytes, len);
        memset(spoilt + second + at, 0xff, 4);
        assert_int_equal(pst_tzif_parse(spoilt, len, &zone), PST_E_SYNTAX);
        memcpy(spoilt, bytes, len);
        memset(spoilt + at, 0xff, 4);
        assert_int_equal(pst_tzif_parse(spoilt, len, &zone), PST_E_SYNTAX);
    }
    memcpy(spoilt, bytes, len); /* two times of which the second is not later */
    memcpy(spoilt + second + 44 + 8, spoilt + second + 44, 8);
    assert_int_equal(pst_tzif_parse(spoilt, len, &zone), PST_E_SYNTAX);
    memcpy(spoilt, bytes, len);
    spoilt[0] = 't';
    assert_int_equal(pst_tzif_parse(spoilt, len, &zone), PST_E_SYNTAX);
}

/* A slim file of the first version: two types, one change, no footer. */
static void the_first_version_has_no_footer(void **state)
{
    static const uint8_t bytes[] = {
        'T', 'Z', 'i',  'f', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,    0, 0, 0,   0,   0,   0, 0,
        0,   0,   0,    0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 1,    0,    0, 0, 2,   0,   0,   0, 4,
        0,   0,   0x10, 0,   1, 0, 0, 0, 0, 0, 0, 0, 0, 0x0e, 0x10, 1, 0, 'A', 'B', 'C', 0};

    (void)state;
    assert_int_equal(pst_tzif_parse(bytes, sizeof bytes, &zone), PST_OK);
    assert_int_equal(pst_tzif_offset(&zone, 0x0fff), 0);
    assert_int_equal(pst_tzif_offset(&zone, 0x1000), 3600);
    assert_int_equal(pst_tzif_next_change(&zone, 0x1000), INT64_MAX);
    assert_int_equal(pst_tzif_utc(&zone, 0x1000 + 100), 0x1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(civil_times_have_their_time),
        cmocka_unit_test(offsets_are_those_of_libc),
        cmocka_unit_test(the_first_time_is_the_first),
        cmocka_unit_test(rules_are_strict),
        cmocka_unit_test(days_of_the_year_are_counted_both_ways),
        cmocka_unit_test(summer_may_have_no_end),
        cmocka_unit_test(a_file_cut_short_is_refused),
        cmocka_unit_test(a_table_that_lies_is_refused),
        cmocka_unit_test(the_first_version_has_no_footer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
