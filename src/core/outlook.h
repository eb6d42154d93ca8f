/*
 * outlook.h - what is queued, what will come, and what capacity that takes: the fluid model.
 *
 * Why: a replica that is asked for now serves one start time later. Over minutes, queues of many
 * requests move like water: rate in, slots out, never below zero. What stands at the time u when a
 * replica could be there, and what comes after, say how many slots meet every deadline:
 *
 *   mu (v - u + D) >= B(u) + A(u, v) + H(v, v + D)   for every v >= u, for as long as mu stay busy
 *
 * B(u) the work that waits at u, A(u, v) the work that comes between u and v, both of the class and those
 * above it; D the class's deadline; H the work of the classes above alone. All that has come by v must
 * have been served by v + D, and what comes later to a higher class is served before it. Once nothing waits
 * the question ends: slots that idle before a burst do not serve it, and what comes later can be asked for
 * later, still a start time ahead.
 *
 * The gate keeps slots free of a class for those above it, and a fresh replica fills slowly: `fill` says
 * how much of the slots a class is served by, as measured.
 *
 * A class that sheds refuses what would wait longer than D: such work is gone, and does not wait at u.
 *
 * Guarantee: pure; advancing is O(classes), a question O(steps). Steps are of 10 s.
 * Source: service curves and deadlines of network calculus (Le Boudec & Thiran, 1.4).
 */
#ifndef PST_CORE_OUTLOOK_H
#define PST_CORE_OUTLOOK_H

#include "core/forecast.h"
#include "core/gate.h"

#define PST_OUTLOOK_STEP_S 10
#define PST_OUTLOOK_STEPS  PST_FORECAST_AHEAD_MAX

struct pst_outlook_class {
    double deadline_s; /* D, > 0 */
    double fill;       /* of the slots it gets so many where it waits: 0 < fill <= 1 */
    bool sheds;
    double queued; /* of it and those above, now; slot-seconds */
    /* Step by step, slots: the work that comes, of it and those above; what those take in D from then. */
    double rates[PST_OUTLOOK_STEPS];
    double above[PST_OUTLOOK_STEPS];
};

struct pst_outlook {
    uint32_t classes_count;
    uint32_t steps; /* known */
    struct pst_outlook_class classes[PST_CLASSES_MAX];
};

/* Once the rates are known: what the classes above take. */
void pst_outlook_draw(struct pst_outlook *outlook);
/* Slots that the classes above take, from a step on; of so many slots, those that are left. */
double pst_outlook_above(const struct pst_outlook *outlook, uint32_t class_, uint32_t step);
double pst_outlook_left(const struct pst_outlook *outlook, uint32_t class_, uint32_t step,
                        double slots);
/* waiting[class]: slot-seconds that wait now. */
void pst_outlook_begin(const struct pst_outlook *outlook, double waiting[PST_CLASSES_MAX]);
/* From the beginning of the step to its end, with so many slots. step < outlook->steps. */
void pst_outlook_advance(const struct pst_outlook *outlook, uint32_t step, double slots,
                         double waiting[PST_CLASSES_MAX]);
/*
 * Do so many slots meet the class's deadline, from the beginning of `step` for so many steps (or as many
 * as are known), with so much waiting at the beginning? More slots never do worse.
 */
bool pst_outlook_meets(const struct pst_outlook *outlook, uint32_t class_, uint32_t step,
                       uint32_t steps, double waiting, double slots);

#endif
