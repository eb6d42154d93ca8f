/* calendar_week.c - see calendar_week.h. */
#include "scale/calendar_week.h"

#include <string.h>

#include "codec/day.h"

#define MONDAY_BEFORE 3 /* days from Monday, 1969-12-29, to day 0 */

struct pst_calendar_hour pst_calendar_hour_of(int64_t civil,
                                              const struct pst_cron_holidays *holidays)
{
    uint32_t second;
    const int64_t day = pst_day_split(civil, &second);
    const unsigned weekday = pst_cron_is_holiday(holidays, day) ? 0 : pst_day_weekday(day);
    const int64_t since_monday = (pst_day_weekday(day) + 6) % 7;

    return (struct pst_calendar_hour){
        .week = (int32_t)((day - since_monday + MONDAY_BEFORE) / 7), /* without a rest */
        .hour = (uint8_t)(weekday * 24 + second / 3600),
    };
}

void pst_calendar_week_init(struct pst_calendar_week *week)
{
    memset(week, 0, sizeof *week);
}

bool pst_calendar_week_learn(struct pst_calendar_week *week, struct pst_calendar_hour hour,
                             uint32_t replicas)
{
    const size_t place = (size_t)(hour.week < 0 ? 0 : hour.week) % PST_CALENDAR_WEEKS;
    const uint16_t value =
        replicas < PST_CALENDAR_UNKNOWN ? (uint16_t)replicas : PST_CALENDAR_UNKNOWN - 1;
    uint16_t *known;

    PST_ASSERT(hour.hour < PST_CALENDAR_HOURS);
    if (hour.week < 0 || (week->weeks[place].is_used && week->weeks[place].number > hour.week))
        return false;
    if (!week->weeks[place].is_used || week->weeks[place].number < hour.week) {
        week->weeks[place].is_used = true;
        week->weeks[place].number = hour.week;
        for (size_t i = 0; i < PST_CALENDAR_HOURS; i++)
            week->weeks[place].replicas[i] = PST_CALENDAR_UNKNOWN;
    }
    known = &week->weeks[place].replicas[hour.hour];
    if (*known != PST_CALENDAR_UNKNOWN && *known >= value)
        return false;
    *known = value;
    return true;
}

void pst_calendar_week_forget(struct pst_calendar_week *week, int32_t after)
{
    for (size_t i = 0; i < PST_CALENDAR_WEEKS; i++) {
        if (week->weeks[i].number > after)
            week->weeks[i].is_used = false;
    }
}

uint32_t pst_calendar_week_floor(const struct pst_calendar_week *week,
                                 struct pst_calendar_hour hour, uint32_t weeks)
{
    uint16_t sorted[PST_CALENDAR_WEEKS]; /* the largest first */
    size_t count = 0;

    for (size_t i = 0; i < PST_CALENDAR_WEEKS; i++) {
        const int32_t number = week->weeks[i].number;
        const uint16_t value = week->weeks[i].replicas[hour.hour];
        size_t at = count;

        if (!week->weeks[i].is_used || value == PST_CALENDAR_UNKNOWN || number >= hour.week ||
            hour.week - number > (int32_t)weeks)
            continue;
        for (; at > 0 && sorted[at - 1] < value; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = value;
        count++;
    }
    return count == 0 ? 0 : sorted[count / 4];
}
