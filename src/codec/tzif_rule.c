/* tzif_rule.c - "CET-1CEST,M3.5.0,M10.5.0/3": read, and asked for any year. */
#include "codec/tzif_rule.h"

#include "codec/day.h"

#define HOUR_S       3600
#define OFFSET_HOURS 24  /* most, either side */
#define TIME_HOURS   167 /* most of a change, either side: the days of a week around */
#define CHANGE_AT    (2 * HOUR_S)
#define FEBRUARY     2

struct reader {
    const char *at, *end;
};

static char peek(const struct reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

static bool take(struct reader *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* "CET" or "<+03>": three characters at least. Only its end matters. */
static int read_name(struct reader *r)
{
    const bool quoted = take(r, '<');
    const char *begin = r->at;

    while (is_letter(peek(r)) ||
           (quoted && (is_digit(peek(r)) || peek(r) == '+' || peek(r) == '-')))
        r->at++;
    if (r->at - begin < 3 || (quoted && !take(r, '>')))
        return PST_E_SYNTAX;
    return PST_OK;
}

static int read_number(struct reader *r, int32_t least, int32_t most, int32_t *ret_number)
{
    int32_t number = 0, digits = 0;

    for (; is_digit(peek(r)) && digits < 3; r->at++, digits++)
        number = number * 10 + (peek(r) - '0');
    if (digits == 0 || is_digit(peek(r)) || number < least || number > most)
        return PST_E_SYNTAX;
    *ret_number = number;
    return PST_OK;
}

/* [+-]hh[:mm[:ss]] */
static int read_time(struct reader *r, int32_t hours_most, int32_t *ret_seconds)
{
    const bool minus = peek(r) == '-';
    int32_t hours, minutes = 0, seconds = 0;
    int rc;

    if (!take(r, '-'))
        take(r, '+');
    rc = read_number(r, 0, hours_most, &hours);
    if (rc == PST_OK && take(r, ':'))
        rc = read_number(r, 0, 59, &minutes);
    if (rc == PST_OK && take(r, ':'))
        rc = read_number(r, 0, 59, &seconds);
    if (rc != PST_OK)
        return rc;
    seconds += hours * HOUR_S + minutes * 60;
    *ret_seconds = minus ? -seconds : seconds;
    return PST_OK;
}

static int read_weekday(struct reader *r, struct pst_tzif_change *change)
{
    int32_t month, week, weekday;

    if (read_number(r, 1, 12, &month) != PST_OK || !take(r, '.') ||
        read_number(r, 1, 5, &week) != PST_OK || !take(r, '.') ||
        read_number(r, 0, 6, &weekday) != PST_OK)
        return PST_E_SYNTAX;
    change->month = (uint8_t)month;
    change->week = (uint8_t)week;
    change->weekday = (uint8_t)weekday;
    return PST_OK;
}

static int read_change(struct reader *r, struct pst_tzif_change *ret_change)
{
    struct pst_tzif_change change = {.kind = '0', .seconds = CHANGE_AT};
    int32_t day = 0;
    int rc;

    if (take(r, 'M')) {
        change.kind = 'M';
        rc = read_weekday(r, &change);
    } else {
        if (take(r, 'J'))
            change.kind = 'J';
        rc = read_number(r, change.kind == 'J', 365, &day);
        change.day = (uint16_t)day;
    }
    if (rc == PST_OK && take(r, '/'))
        rc = read_time(r, TIME_HOURS, &change.seconds);
    if (rc == PST_OK)
        *ret_change = change;
    return rc;
}

int pst_tzif_rule(const char *text, size_t len, struct pst_tzif *zone)
{
    struct reader r = {text, text + len};
    struct pst_tzif_change begin = {0}, end = {0};
    int32_t west = 0, summer_west = 0;
    bool has_summer = false;
    int rc = read_name(&r);

    if (rc == PST_OK)
        rc = read_time(&r, OFFSET_HOURS, &west);
    if (rc == PST_OK && r.at < r.end) {
        has_summer = true;
        summer_west = west - HOUR_S;
        rc = read_name(&r);
        if (rc == PST_OK && peek(&r) != ',')
            rc = read_time(&r, OFFSET_HOURS, &summer_west);
        if (rc == PST_OK)
            rc = take(&r, ',') ? read_change(&r, &begin) : PST_E_SYNTAX;
        if (rc == PST_OK)
            rc = take(&r, ',') ? read_change(&r, &end) : PST_E_SYNTAX;
    }
    if (rc != PST_OK || r.at != r.end)
        return PST_E_SYNTAX;
    zone->has_rule = true;
    zone->has_summer = has_summer;
    zone->winter = -west; /* POSIX counts west of Greenwich */
    zone->summer = -summer_west;
    zone->begin = begin;
    zone->end = end;
    return PST_OK;
}

static bool is_leap(int32_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The civil time of a year's change. */
static int64_t change_in(const struct pst_tzif_change *change, int32_t year)
{
    const int64_t new_year = pst_day_number(year, 1, 1);
    int64_t day;

    if (change->kind == 'M') {
        const int64_t first = pst_day_number(year, change->month, 1);
        const int64_t next = change->month == 12 ? pst_day_number(year + 1, 1, 1)
                                                 : pst_day_number(year, change->month + 1u, 1);

        day = first + (change->weekday + 7 - pst_day_weekday(first)) % 7 + (change->week - 1) * 7;
        if (day >= next)
            day -= 7;
    } else {
        day = new_year + change->day - (change->kind == 'J');
        if (change->kind == 'J' && is_leap(year) && day >= pst_day_number(year, FEBRUARY, 29))
            day++;
    }
    return day * PST_DAY_S + change->seconds;
}

static int32_t year_of(int64_t utc)
{
    uint32_t second;
    struct pst_day day;

    pst_day_of(pst_day_split(utc, &second), &day);
    return day.year;
}

/* The changes of the years around, in their order: times of a change may reach into another year. */
struct around {
    int64_t at[6];
    int32_t offset[6];
};

static void look_around(const struct pst_tzif *zone, int64_t utc, struct around *ret_around)
{
    const int32_t year = year_of(utc);

    for (int32_t i = 0; i < 3; i++) {
        const int64_t begin = change_in(&zone->begin, year - 1 + i) - zone->winter;
        const int64_t end = change_in(&zone->end, year - 1 + i) - zone->summer;
        const bool south = end < begin; /* summer goes over the new year */

        ret_around->at[2 * i] = south ? end : begin;
        ret_around->at[2 * i + 1] = south ? begin : end;
        ret_around->offset[2 * i] = south ? zone->winter : zone->summer;
        ret_around->offset[2 * i + 1] = south ? zone->summer : zone->winter;
    }
}

int32_t pst_tzif_rule_offset(const struct pst_tzif *zone, int64_t utc)
{
    struct around around;
    int64_t last = INT64_MIN;
    int32_t offset = zone->winter;

    if (!zone->has_summer)
        return zone->winter;
    look_around(zone, utc, &around);
    for (size_t i = 0; i < PST_COUNT_OF(around.at); i++) {
        if (around.at[i] <= utc && around.at[i] >= last) {
            last = around.at[i];
            offset = around.offset[i]; /* of two at once the later rule: summer without an end */
        }
    }
    return offset;
}

int64_t pst_tzif_rule_change(const struct pst_tzif *zone, int64_t utc)
{
    struct around around;
    int64_t next = INT64_MAX;

    if (!zone->has_summer)
        return INT64_MAX;
    look_around(zone, utc, &around);
    for (size_t i = 0; i < PST_COUNT_OF(around.at); i++) {
        if (around.at[i] > utc && around.at[i] < next)
            next = around.at[i];
    }
    return next;
}
