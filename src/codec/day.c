/* day.c - see day.h. */
#include "codec/day.h"

#define CYCLE_DAYS  146097 /* of 400 years */
#define EPOCH       719468 /* days from 0000-03-01 to 1970-01-01 */
#define EPOCH_IS    4      /* a Thursday */
#define MARCH       3
#define MONTHS      12
#define CYCLE_YEARS 400

/* Rounds down, below zero too. */
static int64_t divide(int64_t a, int64_t b, int64_t *ret_rest)
{
    int64_t quotient = a / b, rest = a % b;

    if (rest < 0) {
        quotient--;
        rest += b;
    }
    *ret_rest = rest;
    return quotient;
}

int64_t pst_day_number(int32_t year, unsigned month, unsigned day)
{
    const unsigned from_march = (month + MONTHS - MARCH) % MONTHS;
    int64_t in_cycle;
    const int64_t cycle = divide((int64_t)year - (month < MARCH), CYCLE_YEARS, &in_cycle);

    return cycle * CYCLE_DAYS + in_cycle * 365 + in_cycle / 4 - in_cycle / 100 +
           (153 * from_march + 2) / 5 + day - 1 - EPOCH;
}

void pst_day_of(int64_t number, struct pst_day *ret_day)
{
    int64_t day;
    int64_t cycle;
    unsigned year, month;

    PST_ASSERT(number >= -PST_DAY_MAX && number <= PST_DAY_MAX);
    cycle = divide(number + EPOCH, CYCLE_DAYS, &day);
    /* each leap day gone by, and each that a century left out, taken away: years of 365 days remain */
    year = (unsigned)((day - day / 1460 + day / 36524 - day / 146096) / 365);
    day -= 365 * year + year / 4 - year / 100;
    month = (unsigned)(5 * day + 2) / 153;
    *ret_day = (struct pst_day){
        .year = (int32_t)(cycle * CYCLE_YEARS + year + (month >= 10)),
        .month = (uint8_t)((month + MARCH - 1) % MONTHS + 1),
        .day = (uint8_t)(day - (153 * month + 2) / 5 + 1),
        .weekday = (uint8_t)pst_day_weekday(number),
    };
}

unsigned pst_day_weekday(int64_t number)
{
    int64_t weekday;

    divide(number + EPOCH_IS, 7, &weekday);
    return (unsigned)weekday;
}

int64_t pst_day_split(int64_t seconds, uint32_t *ret_second)
{
    int64_t second;
    const int64_t number = divide(seconds, PST_DAY_S, &second);

    *ret_second = (uint32_t)second;
    return number;
}
