/* demand_outlook.c - see demand.h: what will come, by persistence and by forecast. */
#include "core/demand_internal.h"
#include "core/num.h"

#define BEYOND_S 600 /* looked at past a class's deadline */

static uint32_t steps_of(pst_ns span)
{
    return (uint32_t)pst_min_u64(span / (PST_OUTLOOK_STEP_S * PST_S), PST_OUTLOOK_STEPS);
}

uint32_t pst_demand_beyond(const struct pst_demand *d, uint32_t class_)
{
    return steps_of(pst_add_sat(d->config[class_].max_wait, BEYOND_S * PST_S));
}

/* Two start times, and what lies beyond for the class that can wait longest. */
static uint32_t horizon(const struct pst_demand *d)
{
    uint32_t beyond = 0;

    for (uint32_t c = 0; c < d->classes_count; c++) {
        if (pst_demand_beyond(d, c) > beyond)
            beyond = pst_demand_beyond(d, c);
    }
    return (uint32_t)pst_min_u64(2 * pst_demand_lead(d) + 6 + beyond, PST_OUTLOOK_STEPS);
}

/* A step was closed: what do the forecasts say now? */
static void ask_forecasts(struct pst_demand *d)
{
    d->path_steps = (uint32_t)pst_min_u64(d->outlook.steps + 1, PST_OUTLOOK_STEPS);
    for (uint32_t c = 0; c < d->classes_count; c++) {
        struct pst_demand_class *class_ = &d->classes[c];
        uint32_t lead = pst_demand_lead(d);

        pst_forecast_lead(class_->forecast, lead > 0 ? lead : 1);
        class_->speaks = pst_forecast_path(class_->forecast, d->path_steps, class_->path);
    }
}

/*
 * Adds a class's own work: what is, for as long as the burst that is on will last, then what comes
 * outside of bursts; or what the forecast says, if that is more. The forecast's steps began up to one
 * step ago: the nearest is taken.
 */
static void add_class(struct pst_demand *d, uint32_t c, double rates[PST_OUTLOOK_STEPS])
{
    const struct pst_demand_class *class_ = &d->classes[c];
    double calm = pst_burst_calm(&class_->burst);
    double present = pst_burst_present(&class_->burst, &class_->window);
    double remaining = pst_burst_remaining_s(&class_->burst) / PST_OUTLOOK_STEP_S;
    uint32_t skip = 2 * d->step_seconds >= PST_OUTLOOK_STEP_S ? 1 : 0;

    for (uint32_t k = 0; k < d->outlook.steps; k++) {
        double share = remaining - k; /* of this step that the burst still lasts */
        double rate;

        share = share < 0 ? 0 : share > 1 ? 1 : share;
        rate = calm + share * (present - calm);
        if (class_->speaks && k + skip < d->path_steps && class_->path[k + skip] > rate)
            rate = class_->path[k + skip];
        rates[k] += rate;
    }
}

void pst_demand_look(struct pst_demand *d)
{
    double queued = 0;

    d->outlook.classes_count = d->classes_count;
    d->outlook.steps = horizon(d);
    if (d->stale || d->outlook.steps >= d->path_steps + PST_OUTLOOK_STEP_S)
        ask_forecasts(d);
    if (d->stale) {
        pst_demand_staff(d);
        pst_demand_envelop(d);
    }
    d->stale = false;
    for (uint32_t c = 0; c < d->classes_count; c++) {
        struct pst_outlook_class *class_ = &d->outlook.classes[c];
        double deadline_s = (double)d->config[c].max_wait / PST_S;

        class_->deadline_s = deadline_s < 1 ? 1 : deadline_s; /* a start is never that exact */
        class_->fill = pst_demand_fill(d, c);
        class_->sheds = d->config[c].sheds != 0;
        queued += (double)d->classes[c].queued_work / PST_S;
        class_->queued = queued;
        for (uint32_t k = 0; k < d->outlook.steps; k++)
            class_->rates[k] = c > 0 ? d->outlook.classes[c - 1].rates[k] : 0;
        add_class(d, c, class_->rates);
    }
    pst_outlook_draw(&d->outlook);
}
