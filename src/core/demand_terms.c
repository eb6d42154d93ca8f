/* demand_terms.c - see demand.h: the questions, answered from the outlook. */
#include "core/demand_internal.h"
#include "core/num.h"
#include "core/reserve.h"
#include "core/staff.h"

#define LATE_FOR_S 30   /* before a late class asks for more */
#define AFTER_S    60   /* past a start time: how far bears() looks */
#define SLACK      1e-9 /* a sum of rates that fits exactly fits */

/* ---- words ---- */

static uint32_t replicas_of(const struct pst_demand *d, double slots)
{
    uint64_t replicas = pst_ceil_u64(slots * (1 - SLACK) / d->pool.slots);

    return (uint32_t)pst_min_u64(replicas, UINT16_MAX);
}

static void raise_to(uint32_t *most, uint32_t value)
{
    if (*most < value)
        *most = value;
}

static double seconds_of(pst_ns span)
{
    return (double)span / PST_S;
}

/* Of the slots, those that work which can wait is planned to fill. */
static double fillable(const struct pst_demand *d, uint32_t c)
{
    double fill = pst_demand_fill(d, c);

    return d->pool.utilisation_ppm == 0 ? fill : fill * d->pool.utilisation_ppm / PST_PPM;
}

/* Seconds that a class may wait before that is worth a word. */
static double patience_s(const struct pst_demand *d, uint32_t c)
{
    double half_s = seconds_of(d->config[c].max_wait) / 2;

    return pst_demand_can_wait(d, c) ? half_s : seconds_of(pst_demand_aim(d, c));
}

/* Slots that serve at the middle of a step from now: ready ones, and those that will be by then. */
static double supply_at(const struct pst_demand *d, const struct pst_supply *supply, uint32_t step)
{
    pst_ns at = (2 * (pst_ns)step + 1) * PST_OUTLOOK_STEP_S * PST_S / 2;
    pst_ns first = supply->starting_in;
    pst_ns last = pst_max_u64(supply->starting_all, first);
    uint64_t replicas = supply->ready;

    if (supply->starting > 0 && at >= last)
        replicas += supply->starting;
    else if (supply->starting > 0 && at >= first)
        replicas += 1 + pst_muldiv(supply->starting - 1, at - first, last - first);
    return (double)replicas * d->pool.slots;
}

/* Does what waits at a step wait for longer than that, with so many slots? */
static bool waits_longer(const struct pst_demand *d, uint32_t c, uint32_t step, double waiting,
                         double slots, double longest_s)
{
    return waiting > longest_s * pst_outlook_left(&d->outlook, c, step, slots);
}

static double queued_all(const struct pst_demand *d)
{
    return d->outlook.classes[d->classes_count - 1].queued;
}

/* ---- now ---- */

/*
 * The rate to staff for: bursts are left to `ahead`, until one of work that cannot wait has lasted for
 * a start time, and goes on for another.
 */
static double staffed_rate(const struct pst_demand *d, uint32_t c)
{
    const struct pst_demand_class *class_ = &d->classes[c];
    double start_s = seconds_of(d->start);

    if (!pst_demand_can_wait(d, c) && class_->burst.age_s >= start_s &&
        pst_burst_remaining_s(&class_->burst) >= start_s)
        return pst_burst_present(&class_->burst, &class_->window);
    return pst_burst_calm(&class_->burst);
}

/* cs^2 of what was served: 1 until known. */
static double service_variation(const struct pst_demand *d)
{
    double mean = pst_demand_service_s(d);
    double variation = 1;

    if (mean > 0)
        variation = d->service_square / d->served / (mean * mean) - 1;
    return variation < 0 ? 0 : variation;
}

/* What the gate of a pool of so many slots keeps free of the class: r_c of reserve.h. */
static uint32_t reserved_in(const struct pst_demand *d, uint32_t c, uint32_t slots)
{
    pst_ns service = pst_to_u64(pst_demand_service_s(d) * PST_S);
    double above = 0;
    uint32_t most = 0;

    for (uint32_t i = 0; i < c && d->pool.reserves != 0 && service > 0; i++) {
        above += staffed_rate(d, i);
        raise_to(&most, pst_reserve_slots(slots, pst_to_u64(above * PST_PPM), service,
                                          d->config[i].target / 2, PST_RESERVE_ONE_IN));
    }
    return most;
}

/* The class has its slots beside what is kept free of it. Replica by replica: r_c falls as the pool grows. */
static uint32_t with_reserve(const struct pst_demand *d, uint32_t c, uint32_t staffed,
                             uint32_t most)
{
    uint32_t slots = staffed;

    while (slots < most && slots - reserved_in(d, c, slots) < staffed)
        slots = (slots / d->pool.slots + 1) * d->pool.slots;
    return slots < most ? slots : most;
}

void pst_demand_staff(struct pst_demand *d)
{
    struct pst_staff_load load = {.service_s = pst_demand_service_s(d)};
    uint64_t slots =
        pst_mul_sat((uint64_t)d->pool.max + 1, d->pool.slots); /* more is as well said */
    uint32_t most = (uint32_t)pst_min_u64(slots, UINT32_MAX);

    for (uint32_t c = 0; c < d->classes_count; c++) {
        struct pst_demand_class *class_ = &d->classes[c];

        load.erlangs += staffed_rate(d, c);
        load.variability = (pst_dispersion_index(&class_->dispersion) + service_variation(d)) / 2;
        if (pst_demand_can_wait(d, c) || load.service_s <= 0)
            class_->staffed = (uint32_t)pst_min_u64(
                pst_ceil_u64(load.erlangs * (1 - SLACK) / fillable(d, c)), most);
        else
            class_->staffed = pst_staff_servers(&load, seconds_of(pst_demand_aim(d, c)),
                                                PST_DEMAND_LATE_SHARE, most);
        class_->staffed = with_reserve(d, c, class_->staffed, most);
    }
}

static uint32_t need_now(const struct pst_demand *d)
{
    uint32_t need = 0;

    if (d->known_seconds < PST_OUTLOOK_STEP_S) /* a rate of a few seconds is none */
        return 0;
    for (uint32_t c = 0; c < d->classes_count; c++)
        raise_to(&need, replicas_of(d, d->classes[c].staffed));
    return need;
}

/* ---- envelope ---- */

/*
 * What is in service when a window's patience ends was served in time too: on each slot the mean
 * residual service time, S (1 + cs^2) / 2, which is S where service is exponential.
 */
void pst_demand_envelop(struct pst_demand *d)
{
    double residual_s = pst_demand_service_s(d) * (1 + service_variation(d)) / 2;

    for (uint32_t c = 0; c < d->classes_count; c++) {
        struct pst_demand_class *class_ = &d->classes[c];
        pst_ns patience = pst_add_sat(pst_demand_aim(d, c), pst_to_u64(residual_s * PST_S));

        class_->enveloped = 0;
        if (d->config[c].envelope && !pst_demand_can_wait(d, c))
            class_->enveloped =
                pst_envelope_slots(&class_->envelope, patience, PST_DEMAND_LATE_SHARE / 2);
    }
}

static uint32_t need_envelope(const struct pst_demand *d)
{
    uint32_t need = 0;

    for (uint32_t c = 0; c < d->classes_count; c++)
        raise_to(&need, replicas_of(d, d->classes[c].enveloped));
    return need;
}

/* ---- ahead and backlog, from what waits at a step ---- */

static bool meets(const struct pst_demand *d, uint32_t step, const double waiting[PST_CLASSES_MAX],
                  uint32_t replicas)
{
    double slots = (double)replicas * d->pool.slots;

    for (uint32_t c = 0; c < d->classes_count; c++) {
        if (!pst_outlook_meets(&d->outlook, c, step, pst_demand_beyond(d, c), waiting[c], slots))
            return false;
    }
    return true;
}

/* The least replicas, at least `least`, that meet every deadline from `step` on: by doubling, halving. */
static uint32_t need_ahead(const struct pst_demand *d, uint32_t step,
                           const double waiting[PST_CLASSES_MAX], uint32_t least)
{
    uint32_t low = least, high = least + 1;

    if (meets(d, step, waiting, least))
        return least;
    while (high < UINT16_MAX && !meets(d, step, waiting, high)) {
        low = high;
        high = 2 * high;
    }
    while (high - low > 1) { /* low does not meet them, high does */
        uint32_t middle = low + (high - low) / 2;

        if (meets(d, step, waiting, middle))
            high = middle;
        else
            low = middle;
    }
    return high < UINT16_MAX ? high : UINT16_MAX;
}

/* Backlog that a class does not tolerate: beyond out_above, and beyond half its deadline. */
static double tolerated_s(const struct pst_demand *d, uint32_t c)
{
    double half_s = seconds_of(d->config[c].max_wait) / 2;
    double out_s = seconds_of(d->pool.out_above);

    return half_s > out_s ? half_s : out_s;
}

/*
 * Where a class's backlog is above what it tolerates now, and still will be at `step` with the slots
 * that will be there: those that bring it below that within its deadline.
 */
static uint32_t need_backlog(const struct pst_demand *d, double slots_now, uint32_t step,
                             double slots, const double waiting[PST_CLASSES_MAX])
{
    uint32_t need = 0;

    for (uint32_t c = 0; c < d->classes_count; c++) {
        const struct pst_outlook_class *class_ = &d->outlook.classes[c];
        double tolerated = tolerated_s(d, c);
        double work = waiting[c] + pst_outlook_above(&d->outlook, c, step) * tolerated;
        uint32_t end = step + (uint32_t)(class_->deadline_s / PST_OUTLOOK_STEP_S);

        if (!waits_longer(d, c, 0, class_->queued, slots_now, tolerated) ||
            !waits_longer(d, c, step, waiting[c], slots, tolerated))
            continue;
        for (uint32_t v = step; v < end && v < d->outlook.steps; v++)
            work += class_->rates[v] * PST_OUTLOOK_STEP_S;
        work /= class_->deadline_s + tolerated;
        raise_to(&need, replicas_of(d, work / class_->fill));
    }
    return need;
}

/* ---- sla ---- */

/*
 * A class has been late for a while, all slots are in use, and neither will the burst that makes it
 * late be over before a replica is ready, nor is the queue draining: one more. A class that can wait
 * asks only if it would still wait for too long by then.
 */
static bool is_late(const struct pst_demand *d, uint32_t c, double slots_now, double slots,
                    const double waiting[PST_CLASSES_MAX])
{
    const struct pst_demand_class *class_ = &d->classes[c];
    double patience = patience_s(d, c);
    bool late_then = waits_longer(d, c, pst_demand_lead(d), waiting[c], slots, patience);
    bool late_now = waits_longer(d, c, 0, d->outlook.classes[c].queued, slots_now, patience);

    if (class_->late_s < LATE_FOR_S)
        return false;
    for (uint32_t i = 0; i <= c; i++) {
        const struct pst_burst *burst = &d->classes[i].burst;

        if (pst_burst_is_on(burst) && pst_burst_remaining_s(burst) < seconds_of(d->start))
            return false;
    }
    if (late_then)
        return true;
    return !late_now && !pst_demand_can_wait(d, c);
}

/* ---- the questions ---- */

void pst_demand_terms(struct pst_demand *d, const struct pst_supply *supply,
                      uint32_t terms[PST_TERM_COUNT], bool *ret_worth)
{
    uint32_t lead = pst_demand_lead(d);
    uint32_t there = supply->ready + supply->starting;
    double slots_now = (double)supply->ready * d->pool.slots;
    double slots = supply_at(d, supply, lead);
    double waiting[PST_CLASSES_MAX];
    bool waits = false;

    pst_outlook_begin(&d->outlook, waiting);
    for (uint32_t k = 0; k < lead; k++)
        pst_outlook_advance(&d->outlook, k, supply_at(d, supply, k), waiting);

    terms[PST_TERM_NOW] = need_now(d);
    terms[PST_TERM_AHEAD] = need_ahead(d, lead, waiting, 0);
    terms[PST_TERM_BACKLOG] = need_backlog(d, slots_now, lead, slots, waiting);
    terms[PST_TERM_ENVELOPE] = need_envelope(d);
    terms[PST_TERM_SLA] = 0;
    for (uint32_t c = 0; c < d->classes_count; c++) {
        if (is_late(d, c, slots_now, slots, waiting))
            terms[PST_TERM_SLA] = supply->ready + 1;
        waits = waits || d->classes[c].late_s >= LATE_FOR_S ||
                waits_longer(d, c, 0, d->outlook.classes[c].queued, slots_now, patience_s(d, c));
    }
    *ret_worth = !waits || terms[PST_TERM_NOW] > there || terms[PST_TERM_AHEAD] > there ||
                 terms[PST_TERM_BACKLOG] > there || terms[PST_TERM_SLA] > there ||
                 terms[PST_TERM_ENVELOPE] > there || waiting[d->classes_count - 1] > 0;
}

uint32_t pst_demand_soon(struct pst_demand *d, const struct pst_supply *supply, pst_ns within)
{
    uint32_t step =
        (uint32_t)pst_min_u64(within / (PST_OUTLOOK_STEP_S * PST_S), pst_demand_lead(d));
    double slots_now = (double)supply->ready * d->pool.slots;
    double slots = supply_at(d, supply, step);
    double waiting[PST_CLASSES_MAX];
    uint32_t need;

    pst_outlook_begin(&d->outlook, waiting);
    for (uint32_t k = 0; k < step; k++)
        pst_outlook_advance(&d->outlook, k, supply_at(d, supply, k), waiting);
    need = need_ahead(d, step, waiting, 0);
    raise_to(&need, need_backlog(d, slots_now, step, slots, waiting));
    return need;
}

uint32_t pst_demand_most(struct pst_demand *d, const struct pst_supply *supply, uint32_t have,
                         pst_ns span)
{
    uint64_t last = span / (PST_OUTLOOK_STEP_S * PST_S) + pst_demand_lead(d);
    double slots_now = (double)supply->ready * d->pool.slots;
    double slots = (double)have * d->pool.slots;
    double waiting[PST_CLASSES_MAX];
    uint32_t need = need_now(d);

    raise_to(&need, need_envelope(d));
    pst_outlook_begin(&d->outlook, waiting);
    for (uint32_t k = 0;; k++) {
        need = need_ahead(d, k, waiting, need);
        raise_to(&need, need_backlog(d, slots_now, k, slots, waiting));
        if (k >= last || k >= d->outlook.steps)
            return need;
        pst_outlook_advance(&d->outlook, k, slots, waiting);
    }
}

bool pst_demand_bears(const struct pst_demand *d, uint32_t replicas)
{
    uint32_t last = pst_demand_lead(d) + AFTER_S / PST_OUTLOOK_STEP_S;
    double slots = (double)replicas * d->pool.slots;
    double waiting[PST_CLASSES_MAX];

    for (uint32_t c = 0; c < d->classes_count; c++) {
        if (!pst_demand_can_wait(d, c) && d->classes[c].staffed > slots)
            return false;
    }
    pst_outlook_begin(&d->outlook, waiting);
    for (uint32_t k = 0;; k++) {
        for (uint32_t c = 0; c < d->classes_count; c++) {
            if (waits_longer(d, c, k, waiting[c], slots, patience_s(d, c)))
                return false;
        }
        if (k >= last || k >= d->outlook.steps)
            return true;
        pst_outlook_advance(&d->outlook, k, slots, waiting);
    }
}

pst_ns pst_demand_backlog(const struct pst_demand *d, const struct pst_supply *supply)
{
    bool is_uncounted = d->slots == 0 && supply->ready > 0;
    uint32_t slots = is_uncounted ? d->pool.slots : d->slots; /* as the gate counts: admit.c */

    if (queued_all(d) <= 0)
        return 0;
    if (slots == 0)
        return PST_NEVER;
    return pst_to_u64(queued_all(d) * PST_S / slots);
}
