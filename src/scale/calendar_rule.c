/* calendar_rule.c - see calendar_rule.h. */
#include "scale/calendar_rule.h"

#include "codec/day.h"

#define HOUR_S 3600

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* NEVER stays never in either clock. */
static int64_t utc_of(const struct pst_tzif *zone, int64_t civil)
{
    return civil == PST_CRON_NEVER ? INT64_MAX : pst_tzif_utc(zone, civil);
}

/* A rule that runs must end: as the plain calendar has it, too. */
static int64_t next_until(const struct pst_calendar_rule *rule,
                          const struct pst_cron_holidays *holidays, int64_t civil)
{
    return least(pst_cron_next(&rule->until, NULL, civil),
                 pst_cron_next(&rule->until, holidays, civil));
}

uint32_t pst_calendar_rule_level(const struct pst_calendar_rule *rule,
                                 const struct pst_cron_holidays *holidays, int64_t utc)
{
    const int64_t from = pst_cron_last(&rule->from, holidays, pst_tzif_shown(rule->zone, utc));

    if (from == PST_CRON_NEVER || utc >= utc_of(rule->zone, next_until(rule, holidays, from)))
        return 0;
    return rule->replicas;
}

int64_t pst_calendar_rule_edge(const struct pst_calendar_rule *rule,
                               const struct pst_cron_holidays *holidays, int64_t utc)
{
    const int64_t shown = pst_tzif_shown(rule->zone, utc);

    return utc_of(rule->zone, least(pst_cron_next(&rule->from, holidays, shown),
                                    next_until(rule, holidays, shown)));
}

static int64_t last_of(const struct pst_cron *cron, const struct pst_cron_holidays *holidays,
                       int64_t civil)
{
    const int64_t last = pst_cron_last(cron, holidays, civil);

    return last == PST_CRON_NEVER ? INT64_MIN : last;
}

int64_t pst_calendar_rule_last(const struct pst_calendar_rule *rule,
                               const struct pst_cron_holidays *holidays, int64_t utc)
{
    const int64_t shown = pst_tzif_shown(rule->zone, utc);
    const int64_t last =
        most(last_of(&rule->from, holidays, shown),
             most(last_of(&rule->until, holidays, shown), last_of(&rule->until, NULL, shown)));

    return last == INT64_MIN ? last : pst_tzif_utc(rule->zone, last);
}

uint32_t pst_calendar_hours_level(const struct pst_calendar_hours *hours,
                                  const struct pst_cron_holidays *holidays, int64_t utc)
{
    const int64_t shown = pst_tzif_shown(hours->zone, utc);
    const uint32_t level =
        pst_calendar_week_floor(hours->week, pst_calendar_hour_of(shown, holidays), hours->weeks);

    return level < hours->most ? level : hours->most;
}

/* The full hour on the clock that lies `ahead` of the one that runs. */
static int64_t full_hour(const struct pst_calendar_hours *hours, int64_t utc, int64_t ahead)
{
    uint32_t second;
    const int64_t day = pst_day_split(pst_tzif_shown(hours->zone, utc), &second);

    return pst_tzif_utc(hours->zone,
                        day * PST_DAY_S + ((int64_t)(second / HOUR_S) + ahead) * HOUR_S);
}

int64_t pst_calendar_hours_edge(const struct pst_calendar_hours *hours, int64_t utc)
{
    return full_hour(hours, utc, 1);
}

int64_t pst_calendar_hours_last(const struct pst_calendar_hours *hours, int64_t utc)
{
    return full_hour(hours, utc, 0);
}
