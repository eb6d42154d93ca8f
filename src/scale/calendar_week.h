/*
 * calendar_week.h - what each hour of the week needed, week by week.
 *
 * Why: a week repeats where a day does not: Monday morning is no Sunday morning. The mean of some weeks is
 * too few in every second one; the largest pays for ever for the one day that the press came.
 *
 * Guarantee: of n weeks that are known of an hour, the largest quarter (rounded down) is left out, and the
 * largest of the rest counts: with three weeks or fewer the largest of all, with four the second. Weeks in
 * which nobody looked do not count as zero. 168 hours, PST_CALENDAR_WEEKS weeks; fixed memory, no clock.
 */
#ifndef PST_SCALE_CALENDAR_WEEK_H
#define PST_SCALE_CALENDAR_WEEK_H

#include "codec/cron.h"

#define PST_CALENDAR_HOURS   168
#define PST_CALENDAR_WEEKS   9          /* the running one, and the most that may count */
#define PST_CALENDAR_UNKNOWN UINT16_MAX /* nobody looked in that hour */

struct pst_calendar_week {
    struct {
        bool is_used;
        int32_t number;                        /* weeks since 1970 began with a Monday */
        uint16_t replicas[PST_CALENDAR_HOURS]; /* most that were needed, from Sunday 00:00 */
    } weeks[PST_CALENDAR_WEEKS];
};

/* An hour of some week: where a civil time belongs. A holiday's hours are a Sunday's. */
struct pst_calendar_hour {
    int32_t week;
    uint8_t hour;
};
struct pst_calendar_hour pst_calendar_hour_of(int64_t civil,
                                              const struct pst_cron_holidays *holidays);

void pst_calendar_week_init(struct pst_calendar_week *week);
/* True: something changed. A week older than those that are kept is ignored. */
bool pst_calendar_week_learn(struct pst_calendar_week *week, struct pst_calendar_hour hour,
                             uint32_t replicas);
/* Weeks after this one were learned by a clock that was wrong. */
void pst_calendar_week_forget(struct pst_calendar_week *week, int32_t after);
/* From the `weeks` before that hour's own; 0: nothing is known. */
uint32_t pst_calendar_week_floor(const struct pst_calendar_week *week,
                                 struct pst_calendar_hour hour, uint32_t weeks);

/*
 * The file of a week: one JSON object. Reading: PST_OK, PST_E_UNKNOWN (no file, or of another zone), PST_E_SYNTAX
 * (not one of ours; nothing of it is taken) or PST_E_SYSTEM. Writing replaces it whole.
 */
int pst_calendar_week_read(const char *path, const char *zone, struct pst_calendar_week *ret_week);
int pst_calendar_week_write(const char *path, const char *zone,
                            const struct pst_calendar_week *week);

#endif
