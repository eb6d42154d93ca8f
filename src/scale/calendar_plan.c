/* calendar_plan.c - see calendar_plan.h. */
#include "scale/calendar_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "codec/day.h"
#include "config/scalar.h"
#include "config/zone.h"
#include "scale/state.h"

#define PATH_SIZE 4096

/* Zones of a file are few; each is read once. */
static int zone_of(struct pst_calendar_plan *plan, const char *name,
                   const struct pst_tzif **ret_zone)
{
    struct pst_calendar_zone *zone = &plan->zones[plan->zones_count];
    const char *fault;

    for (size_t i = 0; i < plan->zones_count; i++) {
        const char *known = plan->zones[i].name;

        if (known == name || (known != NULL && name != NULL && strcmp(known, name) == 0)) {
            *ret_zone = &plan->zones[i].tzif;
            return PST_OK;
        }
    }
    if (pst_zone_read(name, &zone->tzif, &fault) != PST_OK)
        return PST_E_INVALID;
    zone->name = name;
    plan->zones_count++;
    *ret_zone = &zone->tzif;
    return PST_OK;
}

static int take_rules(struct pst_calendar_plan *plan, const struct pst_config_prescale *prescale,
                      struct pst_calendar_seat *seat)
{
    struct pst_cron_fault fault;

    seat->rules = calloc(prescale->cron_count + 1, sizeof *seat->rules);
    if (seat->rules == NULL)
        return PST_E_NOMEM;
    for (size_t i = 0; i < prescale->cron_count; i++) {
        const struct pst_config_cron *cron = &prescale->cron[i];
        struct pst_calendar_rule *rule = &seat->rules[i];

        if (pst_cron_parse(cron->from, strlen(cron->from), &rule->from, &fault) != PST_OK ||
            pst_cron_parse(cron->until, strlen(cron->until), &rule->until, &fault) != PST_OK ||
            zone_of(plan, cron->zone, &rule->zone) != PST_OK)
            return PST_E_INVALID;
        rule->replicas = cron->replicas;
        seat->rules_count++;
    }
    return PST_OK;
}

static int compare_days(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

static int take_holidays(const struct pst_config_prescale *prescale, struct pst_calendar_seat *seat)
{
    struct pst_scalar_date date;

    seat->holiday_days = calloc(prescale->holidays_count + 1, sizeof *seat->holiday_days);
    if (seat->holiday_days == NULL)
        return PST_E_NOMEM;
    for (size_t i = 0; i < prescale->holidays_count; i++) {
        if (pst_scalar_date(prescale->holidays[i], &date) != PST_OK)
            return PST_E_INVALID;
        seat->holiday_days[i] = pst_day_number(date.year, date.month, date.day);
    }
    qsort(seat->holiday_days, prescale->holidays_count, sizeof *seat->holiday_days, compare_days);
    seat->holidays = (struct pst_cron_holidays){seat->holiday_days, prescale->holidays_count};
    return PST_OK;
}

static int take_week(const struct pst_config *config, const struct pst_config_pool *pool,
                     struct pst_calendar_seat *seat)
{
    char path[PATH_SIZE];
    int rc;

    pst_calendar_week_init(&seat->week);
    seat->zone_name = strdup(pool->prescale.zone == NULL ? "UTC" : pool->prescale.zone);
    if (seat->zone_name == NULL)
        return PST_E_NOMEM;
    if (seat->profile != PST_PROFILE_HISTORY)
        return PST_OK;
    (void)mkdir(config->state, 0700); /* where they cannot be, writing will say so */
    if (snprintf(path, sizeof path, "%s/" PST_STATE_OF_GATEWAY, config->state) >= (int)sizeof path)
        return PST_E_INVALID;
    (void)mkdir(path, 0750);
    if (snprintf(path, sizeof path, "%s/" PST_STATE_OF_GATEWAY "/profile-%s.json", config->state,
                 pool->name) >= (int)sizeof path)
        return PST_E_INVALID;
    seat->path = strdup(path);
    if (seat->path == NULL)
        return PST_E_NOMEM;
    rc = pst_calendar_week_read(path, seat->zone_name, &seat->week);
    if (rc == PST_E_SYNTAX || rc == PST_E_SYSTEM)
        pst_say(PST_LOG_WARN, "%s cannot be read: the week is learned anew", path);
    return PST_OK;
}

static int take_pool(struct pst_calendar_plan *plan, const struct pst_config *config, size_t i)
{
    const struct pst_config_pool *pool = &config->pools[i];
    struct pst_calendar_seat *seat = &plan->seats[i];
    int rc;

    seat->profile = pool->prescale.profile;
    seat->weeks = pool->prescale.weeks;
    seat->most = config->scaler.pools[i].max;
    seat->lead = pool->prescale.lead;
    seat->start = config->scaler.pools[i].start_time;
    rc = zone_of(plan, pool->prescale.zone, &seat->zone);
    if (rc == PST_OK)
        rc = take_rules(plan, &pool->prescale, seat);
    if (rc == PST_OK)
        rc = take_holidays(&pool->prescale, seat);
    if (rc == PST_OK)
        rc = take_week(config, pool, seat);
    return rc;
}

void pst_calendar_plan_done(struct pst_calendar_plan *plan)
{
    for (size_t i = 0; i < plan->seats_count; i++) {
        free(plan->seats[i].rules);
        free(plan->seats[i].holiday_days);
        free(plan->seats[i].path);
        free(plan->seats[i].zone_name);
    }
    free(plan->seats);
    free(plan->zones);
}

static int take_config(const struct pst_config *config, struct pst_calendar_plan *plan)
{
    size_t zones = config->pools_count;
    int rc = PST_OK;

    for (size_t i = 0; i < config->pools_count; i++)
        zones += config->pools[i].prescale.cron_count;
    PST_ASSERT(config->pools_count > 0);
    plan->seats = calloc(config->pools_count, sizeof *plan->seats);
    plan->zones = calloc(zones, sizeof *plan->zones);
    if (plan->seats == NULL || plan->zones == NULL)
        return PST_E_NOMEM;
    plan->seats_count = config->pools_count;
    for (size_t i = 0; i < config->pools_count && rc == PST_OK; i++)
        rc = take_pool(plan, config, i);
    return rc;
}

int pst_calendar_plan_init(struct pst_calendar_plan *plan, const struct pst_config *config)
{
    struct pst_calendar_plan taken = {0};
    int rc = take_config(config, &taken);

    if (rc != PST_OK)
        pst_calendar_plan_done(&taken);
    else
        *plan = taken;
    return rc;
}

/* Asks each rule of a source. */
uint32_t pst_calendar_seat_level(const struct pst_calendar_seat *seat, unsigned source, int64_t utc)
{
    const struct pst_calendar_hours hours = {&seat->week, seat->zone, seat->weeks, seat->most};
    uint32_t level = 0;

    if (source == PST_FLOOR_PROFILE)
        return seat->profile == PST_PROFILE_NONE
                   ? 0
                   : pst_calendar_hours_level(&hours, &seat->holidays, utc);
    for (size_t i = 0; i < seat->rules_count; i++) {
        const uint32_t one = pst_calendar_rule_level(&seat->rules[i], &seat->holidays, utc);

        if (one > level)
            level = one;
    }
    return level;
}

int64_t pst_calendar_seat_edge(const struct pst_calendar_seat *seat, unsigned source, int64_t utc)
{
    const struct pst_calendar_hours hours = {&seat->week, seat->zone, seat->weeks, seat->most};
    int64_t edge = INT64_MAX;

    if (source == PST_FLOOR_PROFILE)
        return pst_calendar_hours_edge(&hours, utc);
    for (size_t i = 0; i < seat->rules_count; i++) {
        const int64_t one = pst_calendar_rule_edge(&seat->rules[i], &seat->holidays, utc);

        if (one < edge)
            edge = one;
    }
    return edge;
}

int64_t pst_calendar_seat_last(const struct pst_calendar_seat *seat, unsigned source, int64_t utc)
{
    const struct pst_calendar_hours hours = {&seat->week, seat->zone, seat->weeks, seat->most};
    int64_t edge = INT64_MIN;

    if (source == PST_FLOOR_PROFILE)
        return pst_calendar_hours_last(&hours, utc);
    for (size_t i = 0; i < seat->rules_count; i++) {
        const int64_t one = pst_calendar_rule_last(&seat->rules[i], &seat->holidays, utc);

        if (one > edge)
            edge = one;
    }
    return edge == INT64_MIN ? utc : edge;
}
