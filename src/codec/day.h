/*
 * day.h - days and civil time as numbers.
 *
 * Why: cron rules, time zones and a learned week all reckon with days; libc does it with a locale, an
 * environment and a lock.
 *
 * A day is its number: 0 is 1970-01-01. Civil time is seconds since that day's midnight on the clock on
 * the wall, whatever the zone: 3,600 is one o'clock of that night everywhere.
 *
 * Guarantee: pure, proleptic Gregorian, right for every day within PST_DAY_MAX of day 0.
 * Source: the Gregorian rule. Years begin in March here, so that the leap day is a year's last, and
 * months have 31, 30, 31, 30, 31 days in turn: (153 m + 2) / 5 days lie before month m.
 */
#ifndef PST_CODEC_DAY_H
#define PST_CODEC_DAY_H

#include "pst.h"

#define PST_DAY_S   INT64_C(86400)
#define PST_DAY_MAX INT64_C(1000000000)

struct pst_day {
    int32_t year;
    uint8_t month, day; /* from 1 */
    uint8_t weekday;    /* 0 is Sunday */
};

int64_t pst_day_number(int32_t year, unsigned month, unsigned day);
void pst_day_of(int64_t number, struct pst_day *ret_day);
unsigned pst_day_weekday(int64_t number);
/* The day of a civil time (or of UTC), and the seconds since its midnight. */
int64_t pst_day_split(int64_t seconds, uint32_t *ret_second);

#endif
