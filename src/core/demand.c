/* demand.c - see demand.h: what is observed, second by second, and step by step. */
#include <stdlib.h>

#include "core/demand_internal.h"
#include "core/num.h"

#define STEP        (PST_OUTLOOK_STEP_S * PST_S)
#define FADE_S      30  /* lateness and occupancy */
#define FILL_S      300 /* … of how many slots a class gets */
#define FILL_MIN    0.5
#define QUEUED_S    5   /* a class that has been queued for so long takes what it can */
#define SERVICE_S   600 /* service times are remembered for about so long */
#define MEMORY_S    60  /* of calm rates, at least */
#define SAMPLES_MIN 10  /* waits, below which a share of them says nothing */
#define FULL_SHARE  0.9 /* of slots in use: more would help */
#define CATCH_UP_S  (14 * 24 * 3600) /* a longer pause is as good as this one */

int pst_demand_new(const struct pst_scaler_config *config, uint16_t pool,
                   struct pst_demand **ret_demand)
{
    struct pst_demand *d;
    int rc = PST_E_NOMEM;

    if (pool >= config->pools_count || config->pools_count > PST_POOLS_MAX ||
        config->classes_count == 0 || config->classes_count > PST_CLASSES_MAX ||
        config->pools[pool].slots == 0)
        return PST_E_INVALID;

    d = calloc(1, sizeof *d);
    if (d == NULL)
        return PST_E_NOMEM;
    d->classes_count = config->classes_count;
    for (uint32_t c = 0; c < d->classes_count; c++) {
        rc = pst_forecast_new(STEP, &d->classes[c].forecast);
        if (rc != PST_OK)
            goto fail;
    }
    d->index = pool;
    pst_demand_reconfigure(d, config);
    d->start = d->pool.start_time;
    *ret_demand = d;
    return PST_OK;

fail:
    pst_demand_free(d);
    return rc;
}

void pst_demand_free(struct pst_demand *d)
{
    if (d == NULL)
        return;
    for (uint32_t c = 0; c < d->classes_count; c++)
        pst_forecast_free(d->classes[c].forecast);
    free(d);
}

void pst_demand_reconfigure(struct pst_demand *d, const struct pst_scaler_config *config)
{
    PST_ASSERT(config->classes_count == d->classes_count && d->index < config->pools_count);
    for (uint32_t c = 0; c < d->classes_count; c++)
        d->config[c] = config->classes[c];
    d->pool = config->pools[d->index];
    d->stale = true;
}

/* ---- what is told ---- */

static void observe_class(struct pst_demand *d, const struct pst_scaler_event *event)
{
    struct pst_demand_class *class_ = &d->classes[event->class_];

    class_->seen.arrived += event->u.observe_class.arrived;
    class_->seen.waited += event->u.observe_class.waited;
    class_->seen.late += event->u.observe_class.late;
    class_->seen.work = pst_add_sat(class_->seen.work, event->u.observe_class.arrived_work);
    class_->seen.refused = pst_add_sat(class_->seen.refused, event->u.observe_class.refused_work);
    class_->queued_work = event->u.observe_class.queued_work;
    class_->queued = event->u.observe_class.queued;
}

static void observe_pool(struct pst_demand *d, const struct pst_scaler_event *event)
{
    d->seen_served += event->u.observe_pool.served;
    d->seen_service = pst_add_sat(d->seen_service, event->u.observe_pool.service);
    d->seen_square = pst_add_sat(d->seen_square, event->u.observe_pool.service_square);
    d->slots = event->u.observe_pool.slots;
    d->inflight = event->u.observe_pool.inflight;
    d->tickets = event->u.observe_pool.tickets != 0;
}

/* ---- steps: what the forecasts learn ---- */

static void close_step(struct pst_demand *d)
{
    for (uint32_t c = 0; c < d->classes_count; c++) {
        struct pst_demand_class *class_ = &d->classes[c];

        if (2 * class_->step_known >= d->step_seconds)
            pst_forecast_add(class_->forecast,
                             (double)class_->step_work / PST_S / class_->step_known);
        else
            pst_forecast_gap(class_->forecast);
        class_->step_work = 0;
        class_->step_known = 0;
    }
    d->step_seconds = 0;
    d->stale = true;
}

static void pass_second(struct pst_demand *d)
{
    if (++d->step_seconds == PST_OUTLOOK_STEP_S)
        close_step(d);
}

/* ---- seconds ---- */

static struct pst_burst_config burst_config(const struct pst_demand *d, uint32_t c)
{
    uint32_t start_s = (uint32_t)pst_min_u64(d->start / PST_S, UINT32_MAX);
    uint32_t wait_s = (uint32_t)pst_min_u64(d->config[c].max_wait / PST_S, UINT32_MAX);
    uint32_t memory_s = start_s > MEMORY_S ? start_s : MEMORY_S;

    return (struct pst_burst_config){
        .floor = (double)d->pool.slots / 4,
        .memory_s = memory_s,
        .refused_s = wait_s < memory_s ? wait_s : memory_s,
    };
}

/* A class's own work. */
static void close_own(struct pst_demand *d, uint32_t c, const struct pst_demand_seen *seen)
{
    struct pst_demand_class *class_ = &d->classes[c];
    struct pst_burst_config config = burst_config(d, c);

    pst_window_add(&class_->window, seen->unknown ? PST_WINDOW_GAP : seen->work);
    pst_window_add(&class_->refusals, seen->unknown ? PST_WINDOW_GAP : seen->refused);
    if (seen->unknown)
        return;
    pst_burst_add(&class_->burst, &config, &class_->window, &class_->refusals);
    class_->step_work = pst_add_sat(class_->step_work, seen->work);
    class_->step_known++;
}

/* The work of a second, of each class alone, and of it and those above. */
static void close_work(struct pst_demand *d, const struct pst_demand_seen seen[PST_CLASSES_MAX])
{
    uint64_t work = 0;

    for (uint32_t c = 0; c < d->classes_count; c++) {
        close_own(d, c, &seen[c]);
        work = pst_add_sat(work, seen[c].work);
        pst_envelope_add(&d->classes[c].envelope, work);
    }
    if (d->known_seconds < UINT32_MAX)
        d->known_seconds++;
    pass_second(d);
}

/* Arrivals outside bursts tell how irregular they are; within one they tell of the burst. */
static void close_arrivals(struct pst_demand *d, const struct pst_demand_seen seen[PST_CLASSES_MAX])
{
    double arrived = 0;
    bool calm = true;

    for (uint32_t c = 0; c < d->classes_count; c++) {
        struct pst_demand_class *class_ = &d->classes[c];

        arrived += seen[c].arrived;
        calm = calm && !pst_burst_is_on(&class_->burst);
        if (calm)
            pst_dispersion_add(&class_->dispersion, arrived);
        else
            pst_dispersion_gap(&class_->dispersion);
    }
    pst_window_add(&d->requests, pst_to_u64(arrived * PST_S));
}

/*
 * A class that has been queued for seconds gets all the slots that it can: how many that is, is seen. A
 * gate reserves no more than half.
 */
static void close_fill(const struct pst_demand *d, struct pst_demand_class *class_, double used)
{
    used = used > 1 ? 1 : used < FILL_MIN ? FILL_MIN : used;
    class_->waiting_s = class_->queued > 0 ? class_->waiting_s + (class_->waiting_s < FADE_S) : 0;
    if (class_->waiting_s < QUEUED_S || d->slots == 0)
        return;
    class_->fill_s += class_->fill_s < FILL_S;
    class_->fill += (used - class_->fill) / class_->fill_s;
}

/* Lateness counts for as long as more slots would have helped: while all are in use. */
static void close_waits(struct pst_demand *d, const struct pst_demand_seen seen[PST_CLASSES_MAX])
{
    double used = d->slots > 0 ? (double)d->inflight / d->slots : 0;

    d->occupancy += (used - d->occupancy) / FADE_S;
    for (uint32_t c = 0; c < d->classes_count; c++) {
        struct pst_demand_class *class_ = &d->classes[c];
        bool is_late;

        close_fill(d, class_, used);
        class_->waited += seen[c].waited - class_->waited / FADE_S;
        class_->late += seen[c].late - class_->late / FADE_S;
        is_late = class_->waited >= SAMPLES_MIN &&
                  class_->late > PST_DEMAND_LATE_SHARE * class_->waited &&
                  d->occupancy >= FULL_SHARE;
        class_->late_s = is_late ? class_->late_s + 1 : 0;
    }
}

static void close_gap(struct pst_demand *d)
{
    for (uint32_t c = 0; c < d->classes_count; c++) {
        pst_window_add(&d->classes[c].window, PST_WINDOW_GAP);
        pst_window_add(&d->classes[c].refusals, PST_WINDOW_GAP);
        pst_dispersion_gap(&d->classes[c].dispersion);
    }
    pst_window_add(&d->requests, PST_WINDOW_GAP);
    pass_second(d);
}

/* What came since the last telling, evenly over the seconds that it came in. */
static void close_seconds(struct pst_demand *d, uint64_t seconds)
{
    uint64_t spread = d->silent_s + seconds;
    struct pst_demand_seen seen[PST_CLASSES_MAX] = {0};

    for (uint32_t c = 0; c < d->classes_count; c++) {
        struct pst_demand_seen *all = &d->classes[c].seen;

        seen[c].arrived = all->arrived / (double)spread;
        seen[c].waited = all->waited / (double)spread;
        seen[c].late = all->late / (double)spread;
        seen[c].work = all->work / spread;
        seen[c].refused = pst_min_u64(all->refused, all->work) / spread;
        *all = (struct pst_demand_seen){0};
    }
    d->silent_s = 0;
    for (uint64_t i = 0; i < seconds; i++) {
        close_work(d, seen);
        close_arrivals(d, seen);
        close_waits(d, seen);
    }
}

static void close_service(struct pst_demand *d, uint64_t seconds)
{
    double kept = 1 - (double)pst_min_u64(seconds, SERVICE_S) / SERVICE_S;

    d->served = d->served * kept + (double)d->seen_served;
    d->service = d->service * kept + (double)d->seen_service / PST_S;
    d->service_square = d->service_square * kept + (double)d->seen_square / 1e12;
    d->seen_served = d->seen_service = d->seen_square = 0;
}

/* ---- the past ---- */

/* All classes have told of a step: it passes like any other time, but for what only requests tell. */
static void close_history(struct pst_demand *d)
{
    struct pst_demand_seen seen[PST_CLASSES_MAX] = {0};
    pst_ns span = pst_add_sat(d->history_span, d->history_left);
    uint64_t seconds = pst_min_u64(span / PST_S, CATCH_UP_S);
    bool known = false;

    for (uint32_t c = 0; c < d->classes_count; c++) {
        struct pst_demand_class *class_ = &d->classes[c];

        seen[c].unknown = !class_->has_history || class_->history < 0;
        if (!seen[c].unknown)
            seen[c].work = pst_to_u64(class_->history * PST_S);
        known = known || !seen[c].unknown;
        class_->has_history = false;
    }
    d->history_left = span % PST_S;
    d->history_span = 0;
    for (uint64_t i = 0; i < seconds; i++) {
        if (known)
            close_work(d, seen);
        else
            close_gap(d);
    }
}

static void observe_history(struct pst_demand *d, const struct pst_scaler_event *event)
{
    struct pst_demand_class *class_ = &d->classes[event->class_];
    pst_ns span = event->u.history.span;

    if (d->begun || span == 0) /* the past is told before the present */
        return;
    if (class_->has_history)
        close_history(d);
    class_->has_history = true;
    class_->history =
        event->u.history.work == UINT64_MAX ? -1 : (double)event->u.history.work / (double)span;
    d->history_span = span;
}

void pst_demand_observe(struct pst_demand *d, const struct pst_scaler_event *event)
{
    PST_ASSERT(event->class_ < d->classes_count);
    if (event->kind == PST_SCALER_OBSERVE_CLASS)
        observe_class(d, event);
    else if (event->kind == PST_SCALER_OBSERVE_POOL)
        observe_pool(d, event);
    else if (event->kind == PST_SCALER_HISTORY)
        observe_history(d, event);
}

/* The first: what was told before it is of a time that nobody knows the length of. */
static void begin(struct pst_demand *d, pst_ns now)
{
    if (d->history_span > 0)
        close_history(d);
    for (uint32_t c = 0; c < d->classes_count; c++)
        d->classes[c].seen = (struct pst_demand_seen){0};
    d->seen_served = d->seen_service = d->seen_square = 0;
    d->second_at = now;
    d->begun = true;
}

void pst_demand_tick(struct pst_demand *d, pst_ns now, pst_ns start, bool observed)
{
    uint64_t seconds;

    d->start = start;
    if (!d->begun)
        begin(d, now);
    /* To the nearest second: a clock's jitter must not make one second of two. */
    seconds = pst_sub_sat(pst_add_sat(now, PST_S / 2), d->second_at) / PST_S;
    d->second_at += seconds * PST_S;
    seconds = pst_min_u64(seconds, CATCH_UP_S);
    if (seconds > 0 && observed) {
        close_service(d, seconds);
        close_seconds(d, seconds);
    } else if (seconds > 0) {
        d->silent_s += seconds;
        for (uint64_t i = 0; i < seconds; i++)
            close_gap(d);
    }
    pst_demand_look(d);
}

double pst_demand_service_s(const struct pst_demand *d)
{
    return d->served > 0 ? d->service / d->served : 0;
}

pst_ns pst_demand_aim(const struct pst_demand *d, uint32_t class_)
{
    return pst_min_u64(d->config[class_].target, d->config[class_].max_wait);
}

double pst_demand_fill(const struct pst_demand *d, uint32_t class_)
{
    return d->classes[class_].fill_s > 0 ? d->classes[class_].fill : 1;
}

bool pst_demand_can_wait(const struct pst_demand *d, uint32_t class_)
{
    return d->config[class_].max_wait > d->start;
}

uint32_t pst_demand_lead(const struct pst_demand *d)
{
    return (uint32_t)pst_min_u64(pst_add_sat(d->start, STEP / 2) / STEP, PST_OUTLOOK_STEPS / 2);
}

void pst_demand_view(const struct pst_demand *d, struct pst_demand_view *ret_view)
{
    *ret_view = (struct pst_demand_view){
        .rate_milli = pst_to_u64(pst_window_mean(&d->requests, 60) * 1000),
        .inflight = d->inflight,
        .tickets = d->tickets,
    };
    for (uint32_t c = 0; c < d->classes_count; c++)
        ret_view->queued[c] = d->classes[c].queued;
}
