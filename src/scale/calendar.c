/* calendar.c - see calendar.h. */
#include "scale/calendar.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "scale/calendar_plan.h"

#define AGAIN      (3600 * PST_S)
#define STEP_OF_US (2 * (int64_t)PST_S) /* the wall clock drifts by less between two ticks */
#define SLACK_S    7200 /* told so much ahead, beyond the start time: two of AGAIN */
#define EDGES_MAX  1024 /* looked at; a calendar that toggles each minute has more in a day */

struct pst_calendar {
    struct pst_calendar_handlers handlers;
    struct pst_calendar_plan plan;
    bool is_set;    /* offset holds */
    int64_t offset; /* of the scaler's clock from the wall's, ns */
    pst_ns again;   /* everything is told again by then */
    bool is_stale;  /* … or at the next tick */
};

static pst_ns to_scaler(const struct pst_calendar *c, int64_t utc)
{
    int64_t ns;

    if (__builtin_mul_overflow(utc, (int64_t)PST_S, &ns) ||
        __builtin_add_overflow(ns, c->offset, &ns))
        return utc < 0 ? 0 : PST_NEVER;
    return ns < 0 ? 0 : (pst_ns)ns;
}

/* The scaler asks one start time ahead of `from`: a longer lead is an earlier `from`, a shorter one a later. */
static pst_ns with_lead(const struct pst_calendar_seat *seat, pst_ns from, pst_ns until)
{
    if (seat->lead == 0 || seat->lead == seat->start)
        return from;
    if (seat->lead > seat->start)
        return from > seat->lead - seat->start ? from - (seat->lead - seat->start) : 0;
    from += seat->start - seat->lead;
    return from < until ? from : until - 1;
}

static void append(struct pst_calendar_spans *spans, struct pst_calendar_span span)
{
    struct pst_calendar_span *last = spans->count == 0 ? NULL : &spans->at[spans->count - 1];

    if (last != NULL && last->until == span.from && last->replicas == span.replicas) {
        last->until = span.until;
    } else if (spans->count < PST_CALENDAR_STEPS) {
        spans->at[spans->count++] = span;
    } else {
        last->until = span.until; /* no place: the largest of what is left, as one */
        if (span.replicas > last->replicas)
            last->replicas = span.replicas;
    }
}

/* The steps of a source that run or begin within the horizon. */
static void look_ahead(const struct pst_calendar *c, const struct pst_calendar_seat *seat,
                       unsigned source, int64_t utc, struct pst_calendar_spans *ret_spans)
{
    const pst_ns ahead = seat->lead > seat->start ? seat->lead : seat->start;
    const int64_t horizon = utc + SLACK_S + (int64_t)(ahead / PST_S);
    int64_t at = pst_calendar_seat_last(seat, source, utc);

    ret_spans->count = 0;
    for (unsigned edges = 0; at <= horizon && edges < EDGES_MAX; edges++) {
        const int64_t when = at > utc ? at : utc;
        const int64_t edge = pst_calendar_seat_edge(seat, source, when);
        const uint32_t level = pst_calendar_seat_level(seat, source, when);

        if (level > 0)
            append(ret_spans,
                   (struct pst_calendar_span){to_scaler(c, at), to_scaler(c, edge), level});
        at = edge;
    }
    for (uint32_t i = 0; i < ret_spans->count; i++) {
        struct pst_calendar_span *span = &ret_spans->at[i];

        span->from = with_lead(seat, span->from, span->until);
    }
}

static void tell(const struct pst_calendar *c, size_t pool, unsigned source,
                 const struct pst_calendar_span *span, pst_ns now)
{
    const struct pst_scaler_event event = {
        .now = now,
        .kind = PST_SCALER_FLOOR,
        .pool = (uint16_t)pool,
        .u.floor = {(uint8_t)source, span->replicas, span->from, span->until},
    };

    c->handlers.tell(c->handlers.user, &event);
}

static bool has_times(const struct pst_calendar_spans *spans, const struct pst_calendar_span *span)
{
    for (uint32_t i = 0; i < spans->count; i++) {
        if (spans->at[i].from == span->from && spans->at[i].until == span->until)
            return true;
    }
    return false;
}

/* What no longer follows is withdrawn first, so that the scaler's table has room. */
static void tell_pool(struct pst_calendar *c, size_t pool, pst_ns now, int64_t utc)
{
    struct pst_calendar_seat *seat = &c->plan.seats[pool];
    struct pst_calendar_spans next;

    for (unsigned source = 0; source < PST_CALENDAR_SOURCES; source++) {
        struct pst_calendar_spans *told = &seat->told[source];

        look_ahead(c, seat, source, utc, &next);
        for (uint32_t i = 0; i < told->count; i++) {
            told->at[i].replicas = 0;
            if (told->at[i].until > now && !has_times(&next, &told->at[i]))
                tell(c, pool, source, &told->at[i], now);
        }
        for (uint32_t i = 0; i < next.count; i++)
            tell(c, pool, source, &next.at[i], now);
        *told = next;
    }
}

static void write_weeks(struct pst_calendar *c)
{
    for (size_t i = 0; i < c->plan.seats_count; i++) {
        struct pst_calendar_seat *seat = &c->plan.seats[i];

        if (seat->path == NULL || !seat->is_dirty)
            continue;
        seat->is_dirty = false;
        if (pst_calendar_week_write(seat->path, seat->zone_name, &seat->week) != PST_OK)
            pst_say(PST_LOG_WARN, "%s cannot be written: %m", seat->path);
    }
}

static void forget_future(struct pst_calendar *c, int64_t utc)
{
    for (size_t i = 0; i < c->plan.seats_count; i++) {
        struct pst_calendar_seat *seat = &c->plan.seats[i];
        const int64_t shown = pst_tzif_shown(seat->zone, utc);

        pst_calendar_week_forget(&seat->week, pst_calendar_hour_of(shown, NULL).week);
    }
}

void pst_calendar_tick(struct pst_calendar *c, pst_ns now, uint64_t wall_ns)
{
    const int64_t offset = (int64_t)(now - wall_ns); /* either may be the larger */
    const int64_t drift = offset - c->offset;
    const int64_t utc = (int64_t)(wall_ns / PST_S);

    if (wall_ns == 0 || utc >= PST_TZIF_TIME_MAX / 2)
        return;
    if (!c->is_set || drift > STEP_OF_US || drift < -STEP_OF_US) {
        c->is_set = true;
        c->offset = offset;
        c->is_stale = true;
    }
    if (!c->is_stale && now < c->again)
        return;
    c->is_stale = false;
    c->again = now + AGAIN;
    forget_future(c, utc);
    for (size_t i = 0; i < c->plan.seats_count; i++)
        tell_pool(c, i, now, utc);
    write_weeks(c);
}

void pst_calendar_learn(struct pst_calendar *c, uint16_t pool, uint64_t wall_s, uint32_t replicas)
{
    struct pst_calendar_seat *seat;
    int64_t shown;

    if (pool >= c->plan.seats_count || wall_s == 0 || wall_s >= (uint64_t)PST_TZIF_TIME_MAX / 2)
        return;
    seat = &c->plan.seats[pool];
    if (seat->profile == PST_PROFILE_NONE)
        return;
    shown = pst_tzif_shown(seat->zone, (int64_t)wall_s);
    if (!pst_calendar_week_learn(&seat->week, pst_calendar_hour_of(shown, &seat->holidays),
                                 replicas))
        return;
    seat->is_dirty = true;
    if (seat->profile == PST_PROFILE_PROMETHEUS)
        c->is_stale = true; /* the past came at once, and what follows from it is wanted now */
}

void pst_calendar_decided(struct pst_calendar *c, uint64_t wall_s,
                          const struct pst_scaler_action *decision)
{
    const pst_ns start = decision->u.decision.start_ms * PST_MS;
    struct pst_calendar_seat *seat;
    uint32_t needed;

    if (decision->kind != PST_SCALER_DECISION || decision->pool >= c->plan.seats_count)
        return;
    seat = &c->plan.seats[decision->pool];
    if (start > 0 && start != seat->start) {
        c->is_stale = c->is_stale || seat->lead > 0 || start > seat->start;
        seat->start = start;
    }
    /* Floors left out, else a week would learn its own floor and never unlearn it. */
    if (seat->profile == PST_PROFILE_HISTORY && pst_scaler_needed(decision, &needed))
        pst_calendar_learn(c, decision->pool, wall_s, needed);
}

int pst_calendar_new(const struct pst_config *config, const struct pst_calendar_handlers *handlers,
                     struct pst_calendar **ret_calendar)
{
    struct pst_calendar *c = calloc(1, sizeof *c);
    int rc;

    if (c == NULL)
        return PST_E_NOMEM;
    c->handlers = *handlers;
    rc = pst_calendar_plan_init(&c->plan, config);
    if (rc == PST_OK)
        *ret_calendar = c;
    else
        free(c);
    return rc;
}

void pst_calendar_free(struct pst_calendar *c)
{
    if (c == NULL)
        return;
    write_weeks(c);
    pst_calendar_plan_done(&c->plan);
    free(c);
}

int pst_calendar_reload(struct pst_calendar *c, const struct pst_config *config)
{
    struct pst_calendar_plan next;
    int rc;

    write_weeks(c); /* a pool that keeps its file finds it there; others below */
    rc = pst_calendar_plan_init(&next, config);
    if (rc != PST_OK)
        return rc;
    for (size_t i = 0; i < c->plan.seats_count && i < next.seats_count; i++) {
        struct pst_calendar_seat *old = &c->plan.seats[i], *seat = &next.seats[i];

        memcpy(seat->told, old->told, sizeof seat->told);
        seat->start = old->start;
        if (seat->profile == old->profile && strcmp(old->zone_name, seat->zone_name) == 0)
            seat->week = old->week;
    }
    pst_calendar_plan_done(&c->plan);
    c->plan = next;
    c->is_stale = true;
    return PST_OK;
}
