/* outlook.c - see outlook.h. */
#include "core/outlook.h"

#define SLACK 1e-9 /* what fits exactly fits, whatever the order of the sums */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* A window of D slides over the rates of the class above; past what is known the last rate goes on. */
static void draw_above(struct pst_outlook *outlook, uint32_t c)
{
    const double *rates = outlook->classes[c - 1].rates;
    uint32_t last = outlook->steps - 1;
    double steps = outlook->classes[c].deadline_s / PST_OUTLOOK_STEP_S;
    uint32_t window = steps < 1 ? 1 : steps > last ? last + 1 : (uint32_t)steps;
    double sum = 0;

    for (uint32_t k = 0; k < window; k++)
        sum += rates[k];
    for (uint32_t k = 0; k <= last; k++) {
        outlook->classes[c].above[k] = sum / window;
        sum += rates[k + window < last ? k + window : last] - rates[k];
    }
}

void pst_outlook_draw(struct pst_outlook *outlook)
{
    PST_ASSERT(outlook->steps > 0);
    for (uint32_t k = 0; k < outlook->steps; k++)
        outlook->classes[0].above[k] = 0;
    for (uint32_t c = 1; c < outlook->classes_count; c++)
        draw_above(outlook, c);
}

double pst_outlook_above(const struct pst_outlook *outlook, uint32_t class_, uint32_t step)
{
    return outlook->classes[class_].above[step < outlook->steps ? step : outlook->steps - 1];
}

double pst_outlook_left(const struct pst_outlook *outlook, uint32_t class_, uint32_t step,
                        double slots)
{
    double usable = slots * outlook->classes[class_].fill;

    return larger(usable - pst_outlook_above(outlook, class_, step), 0);
}

void pst_outlook_begin(const struct pst_outlook *outlook, double waiting[PST_CLASSES_MAX])
{
    for (uint32_t c = 0; c < outlook->classes_count; c++)
        waiting[c] = outlook->classes[c].queued;
}

void pst_outlook_advance(const struct pst_outlook *outlook, uint32_t step, double slots,
                         double waiting[PST_CLASSES_MAX])
{
    double shed = 0;  /* in this step, by the classes so far: does not come to those below either */
    double above = 0; /* what waits of the classes above */

    PST_ASSERT(step < outlook->steps);
    for (uint32_t c = 0; c < outlook->classes_count; c++) {
        const struct pst_outlook_class *class_ = &outlook->classes[c];
        double usable = slots * class_->fill;
        double before = waiting[c] - usable * PST_OUTLOOK_STEP_S;
        double after = before + class_->rates[step] * PST_OUTLOOK_STEP_S - shed;
        double bound = class_->deadline_s * pst_outlook_left(outlook, c, step, slots);
        double room = larger(larger(bound, before), above);

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
    const struct pst_outlook_class *own = &outlook->classes[class_];
    double usable = slots * own->fill;
    uint32_t end;

    PST_ASSERT(step <= outlook->steps);
    end = steps < outlook->steps - step ? step + steps : outlook->steps;
    for (uint32_t v = step;; v++) {
        double bound = own->deadline_s * pst_outlook_left(outlook, class_, v, slots);

        if (waiting > bound * (1 + SLACK))
            return false;
        if (v == end)
            return true;
        waiting += (own->rates[v] - usable) * PST_OUTLOOK_STEP_S;
        if (waiting <= SLACK * usable)
            return true;
    }
}
