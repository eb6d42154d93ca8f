/*
 * fit_course.h - counts over time in fixed memory, and what is regular about them: hours and bursts.
 * See fit_log.h for the rules.
 */
#ifndef PST_SIM_FIT_COURSE_H
#define PST_SIM_FIT_COURSE_H

#include "sim/fit_log.h"

#define PST_FIT_WINDOWS 16384

struct pst_fit_course {
    pst_ns width; /* of a window, from the origin on */
    uint32_t count;
    uint32_t at[PST_FIT_WINDOWS];
};

void pst_fit_course_init(struct pst_fit_course *course);
void pst_fit_course_add(struct pst_fit_course *course, pst_ns since);
/*
 * Rates, period and bursts of *found, over `span`; its per_s and dispersion are known. Windows are put together until they
 * hold enough, so the course is used up. scratch: PST_FIT_WINDOWS.
 */
void pst_fit_course_read(struct pst_fit_course *course, pst_ns origin, pst_ns span, double *scratch,
                         struct pst_fit_found *found);
/* The rate of a moment by what was found, bursts aside; negative: inside a burst or next to one. */
double pst_fit_course_rate(const struct pst_fit_course *course, pst_ns origin,
                           const struct pst_fit_found *found, pst_ns since);

#endif
