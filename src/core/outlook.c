/* outlook.c - see outlook.h. */
#include "core/outlook.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

void pst_outlook_begin(const struct pst_outlook *outlook, double waiting[PST_CLASSES_MAX])
{
    for (uint32_t c = 0; c < outlook->classes_count; c++)
        waiting[c] = outlook->classes[c].queued;
}

void pst_outlook_advance(const struct pst_outlook *outlook, uint32_t step, double slots,
                         double waiting[PST_CLASSES_MAX])
{
    double served = slots * PST_OUTLOOK_STEP_S;
    double shed = 0;  /* in this step, by the classes so far: does not come to those below either */
    double above = 0; /* what waits of the classes above */

    PST_ASSERT(step < outlook->steps);
    for (uint32_t c = 0; c < outlook->classes_count; c++) {
        const struct pst_outlook_class *class_ = &outlook->classes[c];
        double before = waiting[c] - served;
        double after = before + class_->rates[step] * PST_OUTLOOK_STEP_S - shed;
        double room = larger(larger(class_->deadline_s * slots, before), above);

        after = larger(after, above);
        if (class_->sheds && after > room) {
            shed += after - room;
            after = room;
        }
        waiting[c] = above = after;
    }
}

double pst_outlook_least(const struct pst_outlook *outlook, uint32_t class_, uint32_t step,
                         uint32_t steps, double waiting)
{
    const struct pst_outlook_class *class_rates = &outlook->classes[class_];
    double work = waiting;
    double time_s = class_rates->deadline_s;
    double most = work / time_s;
    uint32_t end = steps < outlook->steps - step ? step + steps : outlook->steps;

    PST_ASSERT(step <= outlook->steps && time_s > 0);
    for (uint32_t v = step; v < end; v++) {
        work += class_rates->rates[v] * PST_OUTLOOK_STEP_S;
        time_s += PST_OUTLOOK_STEP_S;
        if (work > most * time_s) /* a division for each new maximum only */
            most = work / time_s;
    }
    return most;
}
