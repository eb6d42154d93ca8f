/*
 * cron.h - the five fields of cron: when something is due.
 *
 *   minute 0-59 | hour 0-23 | day 1-31 | month 1-12 or jan-dec | weekday 0-7 or sun-sat, 7 is Sunday
 *
 * Each is a list of `*`, numbers and ranges, with a step after `*` or a range: "0,30 8-18/2 * * mon-fri".
 * Where day and weekday are both restricted (neither begins with `*`) a day that fits either is meant.
 *
 * Why: everyone knows the form, and everyone's reader forgives other mistakes; this one forgives none.
 *
 * Guarantee: pure, strict, bounded: a search ends after PST_CRON_YEARS. Civil time in and out (day.h):
 * what a clock change does to it is tzif.h's.
 * Source: crontab(5) of Debian's cron.
 */
#ifndef PST_CODEC_CRON_H
#define PST_CODEC_CRON_H

#include "pst.h"

#define PST_CRON_TEXT_MAX 256
#define PST_CRON_YEARS    40 /* a 29th of February that is a Monday comes after at most so many */
#define PST_CRON_NEVER    INT64_MAX

struct pst_cron {
    uint64_t minutes; /* bit n: n fits */
    uint32_t hours, days, months, weekdays;
    bool any_day, any_weekday; /* written with a `*` */
};

/* Days that count as Sundays, by number, ascending. */
struct pst_cron_holidays {
    const int64_t *days;
    size_t count;
};

struct pst_cron_fault {
    size_t at; /* in the text */
    const char *why;
};

/* PST_OK or PST_E_SYNTAX, with the first fault. */
int pst_cron_parse(const char *text, size_t len, struct pst_cron *ret_cron,
                   struct pst_cron_fault *ret_fault);

/* The first time after `civil`; PST_CRON_NEVER. NULL: no holidays. */
int64_t pst_cron_next(const struct pst_cron *cron, const struct pst_cron_holidays *holidays,
                      int64_t civil);
/* The last time that is not after `civil`; PST_CRON_NEVER. */
int64_t pst_cron_last(const struct pst_cron *cron, const struct pst_cron_holidays *holidays,
                      int64_t civil);

/* Is it one of the holidays? NULL has none. */
bool pst_cron_is_holiday(const struct pst_cron_holidays *holidays, int64_t day);

#endif
