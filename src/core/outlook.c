/* outlook.c - see outlook.h. */
#include "core/outlook.h"

#define SLACK 1e-9 /* what fits exactly fits, whatever the order of the sums */

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

bool pst_outlook_meets(const struct pst_outlook *outlook, uint32_t class_, uint32_t step,
                       uint32_t steps, double waiting, double slots)
{
    const struct pst_outlook_class *rates = &outlook->classes[class_];
    double bound = slots * rates->deadline_s * (1 + SLACK);
    uint32_t end;

    PST_ASSERT(step <= outlook->steps);
    end = steps < outlook->steps - step ? step + steps : outlook->steps;
    for (uint32_t v = step;; v++) {
        if (waiting > bound)
            return false;
        if (v == end)
            return true;
        waiting += (rates->rates[v] - slots) * PST_OUTLOOK_STEP_S;
        if (waiting <= SLACK * bound)
            return true;
    }
}
