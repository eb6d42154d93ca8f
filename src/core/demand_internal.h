/*
 * demand_internal.h - what the rooms of demand.h share: what is known of one pool.
 *
 * A second's walk: OBSERVE_* events add up in `seen`; the tick that ends the second closes it: window,
 * burst, envelope and dispersion of each class take it, every tenth closes a step of the forecasts, and
 * the outlook is drawn anew. The questions (demand_terms.c) only read.
 */
#ifndef PST_CORE_DEMAND_INTERNAL_H
#define PST_CORE_DEMAND_INTERNAL_H

#include "core/burst.h"
#include "core/demand.h"
#include "core/dispersion.h"
#include "core/envelope.h"
#include "core/forecast.h"
#include "core/outlook.h"
#include "core/window.h"

/* One class's part of what was observed. */
struct pst_demand_seen {
    double arrived, waited, late; /* tickets */
    uint64_t work, refused;       /* slot-time that came, and the refused part of it; ns */
    bool unknown;                 /* nothing was told, of the past */
};

struct pst_demand_class {
    struct pst_demand_seen seen; /* since the last second that was closed */
    uint64_t queued_work;        /* now; ns */
    uint32_t queued;
    double fill;        /* share of slots in use while it waits */
    uint32_t fill_s;    /* seconds that it was seen for, up to its memory */
    uint32_t waiting_s; /* it has been queued for so long, saturating */

    /* Of its own work. */
    struct pst_window window, refusals; /* all that came, and what was refused of it */
    struct pst_burst burst;
    struct pst_forecast *forecast;
    uint64_t step_work;  /* of the step that runs; ns */
    uint32_t step_known; /* seconds of it of which something is known */
    double path[PST_OUTLOOK_STEPS];
    bool speaks; /* the forecast; path is what it says */

    /* Of its work and that of the classes above. */
    struct pst_envelope envelope;
    struct pst_dispersion dispersion;
    uint32_t staffed; /* slots that hold its target, by queueing */
    double enveloped; /* … and through the bursts of the last hour */

    double waited, late; /* tickets, fading over 30 s */
    uint32_t late_s;     /* so long has too large a share been late while all slots were in use */

    double history; /* rate of the step that is being told, slots; negative: not known */
    bool has_history;
};

struct pst_demand {
    struct pst_scaler_class config[PST_CLASSES_MAX];
    struct pst_scaler_pool pool;
    uint32_t classes_count;
    uint16_t index; /* of the pool */

    pst_ns start;     /* measured start time */
    pst_ns second_at; /* seconds are closed up to here */
    bool begun;
    bool tickets;
    uint64_t silent_s;      /* nothing was told for so long */
    uint32_t step_seconds;  /* of the forecasts' step that runs */
    uint32_t known_seconds; /* saturating: has enough been seen to staff for? */
    bool stale;             /* a step was closed: forecasts and staffing are to be asked again */
    pst_ns history_span;    /* of the step that is being told */
    pst_ns history_left;    /* of the last one: less than a second */

    uint32_t slots, inflight;               /* of the pool, now */
    double occupancy;                       /* share of slots in use, mean over 30 s */
    double served, service, service_square; /* fading: attempts, s, s^2 */
    uint64_t seen_served, seen_service, seen_square;
    struct pst_window requests; /* all classes; PST_S for each */

    uint32_t path_steps; /* in each class's path */
    struct pst_outlook outlook;
    struct pst_demand_class classes[PST_CLASSES_MAX];
};

/* Of a class's requests so many may wait past its target. */
#define PST_DEMAND_LATE_SHARE 0.01

/* Mean slot-time, s; 0: not known. */
double pst_demand_service_s(const struct pst_demand *demand);
/* The wait that a class aims for: its target, or its deadline if that is shorter. */
pst_ns pst_demand_aim(const struct pst_demand *demand, uint32_t class_);
/* A class that can wait is served by a replica that is started when its work comes. */
bool pst_demand_can_wait(const struct pst_demand *demand, uint32_t class_);
/* Of the slots, so many serve a class while it waits, as measured. */
double pst_demand_fill(const struct pst_demand *demand, uint32_t class_);
/* The start time in steps, to the nearest. */
uint32_t pst_demand_lead(const struct pst_demand *demand);

/* demand_outlook.c: draws it anew, after a second was closed or the queues changed. */
void pst_demand_look(struct pst_demand *demand);
/* Steps past a start time that are looked at for a class: its deadline and ten minutes. */
uint32_t pst_demand_beyond(const struct pst_demand *demand, uint32_t class_);

/* demand_terms.c: the slots that queueing asks for, of every class; O(slots), once per step. */
void pst_demand_staff(struct pst_demand *demand);
/* … and those that the bursts of the last hour ask for; O(minutes), once per step. */
void pst_demand_envelop(struct pst_demand *demand);

#endif
