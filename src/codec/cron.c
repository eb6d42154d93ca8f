/* cron.c - see cron.h. */
#include "codec/cron.h"

#include "codec/day.h"

#define MINUTES_HOUR 60
#define MINUTES_DAY  1440
#define DAYS_MOST    (PST_CRON_YEARS * 366)
#define SUNDAY_TOO   7

struct field {
    uint8_t least, most;
    const char *names; /* three letters each, from `least`; NULL: none */
    const char *why;   /* what is wrong with a number out of range */
};

enum { MINUTE, HOUR, DAY, MONTH, WEEKDAY, FIELDS };

static const struct field fields[FIELDS] = {
    [MINUTE] = {0, 59, NULL, "a minute is 0 to 59"},
    [HOUR] = {0, 23, NULL, "an hour is 0 to 23"},
    [DAY] = {1, 31, NULL, "a day of the month is 1 to 31"},
    [MONTH] = {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", "a month is 1 to 12, or jan to dec"},
    [WEEKDAY] = {0, 7, "sunmontuewedthufrisat", "a weekday is 0 to 7, or sun to sat"},
};

struct reader {
    const char *text;
    size_t len, at;
    const char *why;
};

static char peek(const struct reader *r)
{
    return r->at < r->len ? r->text[r->at] : '\0';
}

static bool take(struct reader *r, char c)
{
    if (peek(r) != c)
        return false;
    r->at++;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int fail(struct reader *r, const char *why)
{
    r->why = why;
    return PST_E_SYNTAX;
}

/* At most three digits, so nothing overflows; whatever is larger is out of any range. */
static int read_digits(struct reader *r, unsigned *ret_number)
{
    unsigned number = 0, digits = 0;
    const size_t begin = r->at;

    for (; is_digit(peek(r)) && digits < 3; r->at++, digits++)
        number = number * 10 + (unsigned)(peek(r) - '0');
    if (digits == 0)
        return fail(r, "a number is expected");
    if (is_digit(peek(r))) {
        r->at = begin;
        return fail(r, "the number is too large");
    }
    *ret_number = number;
    return PST_OK;
}

static bool read_name(struct reader *r, const struct field *field, unsigned *ret_number)
{
    if (field->names == NULL || r->len - r->at < 3)
        return false;
    for (unsigned i = 0; field->names[3 * i] != '\0'; i++) {
        const char *name = &field->names[3 * i];

        if (lower(r->text[r->at]) != name[0] || lower(r->text[r->at + 1]) != name[1] ||
            lower(r->text[r->at + 2]) != name[2])
            continue;
        r->at += 3;
        *ret_number = field->least + i;
        return true;
    }
    return false;
}

static int read_number(struct reader *r, const struct field *field, unsigned *ret_number)
{
    const size_t begin = r->at;
    int rc;

    if (read_name(r, field, ret_number))
        return PST_OK;
    rc = read_digits(r, ret_number);
    if (rc != PST_OK) {
        r->why = field->why;
        return rc;
    }
    if (*ret_number < field->least || *ret_number > field->most) {
        r->at = begin;
        return fail(r, field->why);
    }
    return PST_OK;
}

static int read_step(struct reader *r, unsigned *ret_step)
{
    const size_t begin = r->at;
    int rc = read_digits(r, ret_step);

    if (rc == PST_OK && (*ret_step == 0 || *ret_step >= MINUTES_HOUR)) {
        r->at = begin;
        rc = fail(r, "a step is 1 to 59");
    }
    return rc;
}

/* A number, or a range; which of them is in *ret_many. */
static int read_range(struct reader *r, const struct field *field, unsigned *ret_first,
                      unsigned *ret_last, bool *ret_many)
{
    size_t begin;
    int rc = read_number(r, field, ret_first);

    if (rc != PST_OK)
        return rc;
    *ret_last = *ret_first;
    *ret_many = take(r, '-');
    if (!*ret_many)
        return PST_OK;
    begin = r->at;
    rc = read_number(r, field, ret_last);
    if (rc == PST_OK && *ret_last == 0 && field->most == SUNDAY_TOO)
        *ret_last = SUNDAY_TOO; /* fri-sun */
    if (rc == PST_OK && *ret_last < *ret_first) {
        r->at = begin;
        rc = fail(r, "the range runs backwards");
    }
    return rc;
}

/* `*`, a number or a range, with its step. */
static int read_part(struct reader *r, const struct field *field, uint64_t *bits)
{
    unsigned first = field->least, last = field->most, step = 1;
    bool many = true;
    int rc = PST_OK;

    if (!take(r, '*'))
        rc = read_range(r, field, &first, &last, &many);
    if (rc == PST_OK && peek(r) == '/') {
        if (!many)
            return fail(r, "a step needs a range or *");
        r->at++;
        rc = read_step(r, &step);
    }
    for (unsigned i = first; rc == PST_OK && i <= last; i += step)
        *bits |= UINT64_C(1) << i;
    return rc;
}

static int read_field(struct reader *r, const struct field *field, uint64_t *ret_bits)
{
    int rc;

    *ret_bits = 0;
    do {
        rc = read_part(r, field, ret_bits);
    } while (rc == PST_OK && take(r, ','));
    if (rc == PST_OK && r->at < r->len && !is_blank(peek(r)))
        rc = fail(r, "neither a number, a range, a list nor a step");
    return rc;
}

static int read_fields(struct reader *r, uint64_t bits[FIELDS], bool any[FIELDS])
{
    if (r->len > PST_CRON_TEXT_MAX)
        return fail(r, "it is too long");
    for (unsigned i = 0; i < FIELDS; i++) {
        int rc;

        while (is_blank(peek(r)))
            r->at++;
        if (r->at == r->len)
            return fail(r, "five fields are needed: minute, hour, day, month, weekday");
        any[i] = peek(r) == '*';
        rc = read_field(r, &fields[i], &bits[i]);
        if (rc != PST_OK)
            return rc;
    }
    while (is_blank(peek(r)))
        r->at++;
    return r->at == r->len ? PST_OK : fail(r, "more than five fields");
}

int pst_cron_parse(const char *text, size_t len, struct pst_cron *ret_cron,
                   struct pst_cron_fault *ret_fault)
{
    struct reader r = {text, len, 0, NULL};
    uint64_t bits[FIELDS];
    bool any[FIELDS];

    if (read_fields(&r, bits, any) != PST_OK) {
        *ret_fault = (struct pst_cron_fault){r.at, r.why};
        return PST_E_SYNTAX;
    }
    bits[WEEKDAY] |= bits[WEEKDAY] >> SUNDAY_TOO; /* 7 is 0 */
    *ret_cron = (struct pst_cron){
        .minutes = bits[MINUTE],
        .hours = (uint32_t)bits[HOUR],
        .days = (uint32_t)bits[DAY],
        .months = (uint32_t)bits[MONTH],
        .weekdays = (uint32_t)bits[WEEKDAY] & 0x7f,
        .any_day = any[DAY],
        .any_weekday = any[WEEKDAY],
    };
    return PST_OK;
}

bool pst_cron_is_holiday(const struct pst_cron_holidays *holidays, int64_t day)
{
    size_t low = 0, high = holidays == NULL ? 0 : holidays->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (holidays->days[middle] < day)
            low = middle + 1;
        else
            high = middle;
    }
    return holidays != NULL && low < holidays->count && holidays->days[low] == day;
}

static bool day_fits(const struct pst_cron *cron, const struct pst_cron_holidays *holidays,
                     int64_t number)
{
    struct pst_day day;
    bool by_day, by_weekday;

    pst_day_of(number, &day);
    if ((cron->months >> day.month & 1) == 0)
        return false;
    by_day = (cron->days >> day.day & 1) != 0;
    by_weekday =
        (cron->weekdays >> (pst_cron_is_holiday(holidays, number) ? 0 : day.weekday) & 1) != 0;
    return cron->any_day || cron->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

static bool minute_fits(const struct pst_cron *cron, unsigned minute)
{
    return (cron->hours >> minute / MINUTES_HOUR & 1) != 0 &&
           (cron->minutes >> minute % MINUTES_HOUR & 1) != 0;
}

int64_t pst_cron_next(const struct pst_cron *cron, const struct pst_cron_holidays *holidays,
                      int64_t civil)
{
    uint32_t second;
    int64_t day = pst_day_split(civil, &second);
    unsigned minute = second / 60 + 1;

    for (unsigned tried = 0; tried <= DAYS_MOST; tried++, day++, minute = 0) {
        if (minute == MINUTES_DAY || !day_fits(cron, holidays, day))
            continue;
        for (; minute < MINUTES_DAY; minute++) {
            if (minute_fits(cron, minute))
                return day * PST_DAY_S + (int64_t)minute * 60;
        }
    }
    return PST_CRON_NEVER;
}

int64_t pst_cron_last(const struct pst_cron *cron, const struct pst_cron_holidays *holidays,
                      int64_t civil)
{
    uint32_t second;
    int64_t day = pst_day_split(civil, &second);
    unsigned minutes = second / 60 + 1; /* of the day that count */

    for (unsigned tried = 0; tried <= DAYS_MOST; tried++, day--, minutes = MINUTES_DAY) {
        if (!day_fits(cron, holidays, day))
            continue;
        for (; minutes > 0; minutes--) {
            if (minute_fits(cron, minutes - 1))
                return day * PST_DAY_S + (int64_t)(minutes - 1) * 60;
        }
    }
    return PST_CRON_NEVER;
}
