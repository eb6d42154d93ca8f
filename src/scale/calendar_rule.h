/*
 * calendar_rule.h - what a pool's rules and week say at a time, and when that may change next.
 *
 * Why: rules overlap, cross midnight and meet clock changes; asked for its level at a time and for the next
 * edge, any of them is a row of steps, and the calendar need not know which is which.
 *
 * Guarantee: between two edges the level is constant. A rule holds from the time that `from` is first shown
 * on the clock until `until` is first shown: what a change skips is shown when it happens, what is shown
 * twice does not begin twice. No memory, no clock.
 */
#ifndef PST_SCALE_CALENDAR_RULE_H
#define PST_SCALE_CALENDAR_RULE_H

#include "codec/cron.h"
#include "codec/tzif.h"
#include "scale/calendar_week.h"

struct pst_calendar_rule {
    struct pst_cron from, until;
    const struct pst_tzif *zone;
    uint32_t replicas;
};

/* The learned week as one rule. */
struct pst_calendar_hours {
    const struct pst_calendar_week *week;
    const struct pst_tzif *zone;
    uint32_t weeks, most; /* weeks that count; replicas that may be */
};

/* Times are UTC, seconds. `utc` is the time asked for; an edge is later, INT64_MAX: none. */
uint32_t pst_calendar_rule_level(const struct pst_calendar_rule *rule,
                                 const struct pst_cron_holidays *holidays, int64_t utc);
int64_t pst_calendar_rule_edge(const struct pst_calendar_rule *rule,
                               const struct pst_cron_holidays *holidays, int64_t utc);
/* The last edge that is not after `utc`; INT64_MIN: none. */
int64_t pst_calendar_rule_last(const struct pst_calendar_rule *rule,
                               const struct pst_cron_holidays *holidays, int64_t utc);

uint32_t pst_calendar_hours_level(const struct pst_calendar_hours *hours,
                                  const struct pst_cron_holidays *holidays, int64_t utc);
int64_t pst_calendar_hours_edge(const struct pst_calendar_hours *hours, int64_t utc);
int64_t pst_calendar_hours_last(const struct pst_calendar_hours *hours, int64_t utc);

#endif
