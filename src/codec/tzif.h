/*
 * tzif.h - a time zone: what the clock on the wall shows, and when it shows a time.
 *
 * Why: cron rules and learned weeks are civil time; the scaler lives on one clock that never changes. libc
 * knows one zone per process, by its environment.
 *
 * Guarantee: takes the TZif files of the tz database, versions 1 to 4, with their footer for the years past
 * the table; every count and length is checked before use, and what breaks the format is PST_E_SYNTAX. Pure,
 * no memory taken. Zones that count leap seconds ("right/…") are refused: the system's clock does not.
 *
 * A civil time that a clock change skips is reached when the change happens; one that comes twice is the first.
 * Source: RFC 8536 (TZif), POSIX 8.3 (TZ), RFC 9636 (hours to 167).
 */
#ifndef PST_CODEC_TZIF_H
#define PST_CODEC_TZIF_H

#include "pst.h"

#define PST_TZIF_BYTES_MAX (64u << 10) /* of a file; the largest of the database has 4 KiB */
#define PST_TZIF_TIMES_MAX 2000
#define PST_TZIF_TYPES_MAX 256
#define PST_TZIF_TIME_MAX  (INT64_C(1) << 40) /* times asked for lie within, either side of 1970 */

/* One clock change of each year. */
struct pst_tzif_change {
    uint8_t kind; /* 'M': month, week, weekday; 'J': 1 … 365, without the leap day; '0': 0 … 365 */
    uint8_t month; /* 'M': 1 … 12 */
    uint8_t week;  /* 1 … 5, 5 is the last */
    uint8_t weekday;
    uint16_t day;    /* 'J', '0' */
    int32_t seconds; /* civil time, from that day's midnight */
};

/* All zero: UTC. */
struct pst_tzif {
    uint32_t times_count;
    int64_t times[PST_TZIF_TIMES_MAX]; /* UTC, ascending: from then on … */
    uint8_t types[PST_TZIF_TIMES_MAX]; /* … this offset counts */
    int32_t
        offsets[PST_TZIF_TYPES_MAX]; /* seconds east of Greenwich; the first one before all times */
    bool has_rule;                   /* for what follows the last of the times */
    bool has_summer;
    int32_t winter, summer;            /* offsets */
    struct pst_tzif_change begin, end; /* of summer */
};

/* PST_OK or PST_E_SYNTAX; nothing is written then. */
int pst_tzif_parse(const uint8_t *bytes, size_t len, struct pst_tzif *ret_zone);
/* A rule as in the footer and in $TZ: "CET-1CEST,M3.5.0,M10.5.0/3". Sets the rule alone. */
int pst_tzif_rule(const char *text, size_t len, struct pst_tzif *zone);

/* Seconds east of Greenwich at that time. */
int32_t pst_tzif_offset(const struct pst_tzif *zone, int64_t utc);
/* When the offset may change next; INT64_MAX: not any more. */
int64_t pst_tzif_next_change(const struct pst_tzif *zone, int64_t utc);
/* The civil time (day.h) of a time, and the first time at which the clock shows `civil` or more. */
int64_t pst_tzif_civil(const struct pst_tzif *zone, int64_t utc);
int64_t pst_tzif_utc(const struct pst_tzif *zone, int64_t civil);
/* The latest civil time that was shown by then: an hour that comes twice does not go back. */
int64_t pst_tzif_shown(const struct pst_tzif *zone, int64_t utc);

#endif
