/*
 * calendar_plan.h - what a configuration wants by the clock: each pool's rules, holidays and week, with their zones.
 *
 * Why: a reload replaces all of it or nothing; the calendar beside it keeps the clock and what was told.
 *
 * Guarantee: each zone is read once; a pool's rules are asked as one: the largest counts. The level is constant
 * between two edges, and the step that runs began at the same time whenever it is asked for.
 */
#ifndef PST_SCALE_CALENDAR_PLAN_H
#define PST_SCALE_CALENDAR_PLAN_H

#include "config/config.h"
#include "scale/calendar.h"
#include "scale/calendar_rule.h"

#define PST_CALENDAR_SOURCES 2 /* CRON and PROFILE, the first two of enum pst_floor */

/* Both ends on the scaler's clock. */
struct pst_calendar_span {
    pst_ns from, until;
    uint32_t replicas;
};
struct pst_calendar_spans {
    struct pst_calendar_span at[PST_CALENDAR_STEPS];
    uint32_t count;
};

struct pst_calendar_zone {
    const char *name; /* of the configuration, while it is read; NULL: UTC */
    struct pst_tzif tzif;
};

struct pst_calendar_seat { /* of one pool */
    struct pst_calendar_rule *rules;
    size_t rules_count;
    struct pst_cron_holidays holidays;
    int64_t *holiday_days;
    const struct pst_tzif *zone; /* of holidays and week */
    char *zone_name;
    uint8_t profile; /* enum pst_profile_source */
    uint32_t weeks;  /* that count */
    uint32_t most;   /* replicas that may be */
    pst_ns lead;     /* 0: the start time */
    pst_ns start;    /* start time, measured once there was one */
    struct pst_calendar_week week;
    char *path;    /* of its file; NULL: not kept */
    bool is_dirty; /* the file is behind */
    struct pst_calendar_spans told[PST_CALENDAR_SOURCES];
};

struct pst_calendar_plan {
    struct pst_calendar_seat *seats;
    size_t seats_count;
    struct pst_calendar_zone *zones;
    size_t zones_count;
};

/* PST_OK, PST_E_NOMEM, or PST_E_INVALID: a zone is not there any more. */
int pst_calendar_plan_init(struct pst_calendar_plan *plan, const struct pst_config *config);
void pst_calendar_plan_done(struct pst_calendar_plan *plan);

/* As of calendar_rule.h, of a source (enum pst_floor); the last edge is `utc` itself where there is none. */
uint32_t pst_calendar_seat_level(const struct pst_calendar_seat *seat, unsigned source,
                                 int64_t utc);
int64_t pst_calendar_seat_edge(const struct pst_calendar_seat *seat, unsigned source, int64_t utc);
int64_t pst_calendar_seat_last(const struct pst_calendar_seat *seat, unsigned source, int64_t utc);

#endif
