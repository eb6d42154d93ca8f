/* slots.c - see slots.h. */
#include "core/slots.h"

#include "core/num.h"

#define BACKOFF_MIN     (100 * PST_MS)
#define BACKOFF_MAX     (5 * PST_S)
#define RETRY_AFTER_MAX (60 * PST_S) /* a stranger's number: believed up to here */

void pst_slots_init(struct pst_slots *slots, uint32_t configured)
{
    *slots = (struct pst_slots){.ramp_since = PST_NEVER};
    for (uint32_t i = 0; i < PST_SLOTS_SOURCE_COUNT; i++) {
        slots->source[i] = UINT32_MAX;
        slots->until[i] = PST_NEVER;
    }
    pst_slots_set(slots, PST_SLOTS_CONFIG, configured, PST_NEVER);
}

void pst_slots_set(struct pst_slots *slots, enum pst_slots_source source, uint32_t count,
                   pst_ns until)
{
    PST_ASSERT(source < PST_SLOTS_SOURCE_COUNT);
    slots->source[source] = (uint32_t)pst_min_u64(count, PST_SLOTS_MAX);
    slots->until[source] = until;
    slots->steady = false;
}

void pst_slots_crashed(struct pst_slots *slots, uint64_t newest)
{
    slots->ramp_since = PST_NEVER;
    slots->full = PST_SLOTS_OPEN;
    slots->failures = 0;
    pst_slots_caution(slots, newest);
}

void pst_slots_reconfigured(struct pst_slots *slots)
{
    slots->steady = false;
}

void pst_slots_ramp(struct pst_slots *slots, pst_ns now)
{
    slots->steady = false;
    slots->ramp_since = now;
}

uint32_t pst_slots_base(const struct pst_slots *slots, pst_ns now)
{
    uint32_t least = PST_SLOTS_MAX;

    if (slots->steady)
        return slots->least;
    for (uint32_t i = 0; i < PST_SLOTS_SOURCE_COUNT; i++) {
        if (slots->until[i] > now && slots->source[i] < least)
            least = slots->source[i];
    }
    return least;
}

static bool is_ramping(const struct pst_slots *slots, pst_ns slow_start, pst_ns now)
{
    return slots->ramp_since != PST_NEVER && now - slots->ramp_since < slow_start;
}

/* Slots of the ramp at @now, in 1 .. base; base when it is over. */
static uint32_t ramp(const struct pst_slots *slots, uint32_t base, pst_ns slow_start, pst_ns now)
{
    uint64_t grown;

    if (!is_ramping(slots, slow_start, now))
        return base;
    grown = pst_muldiv(base, now - slots->ramp_since, slow_start);
    return grown == 0 ? 1 : (uint32_t)pst_min_u64(grown, base);
}

static uint32_t full_limit(const struct pst_slots *slots, pst_ns now)
{
    switch (slots->full) {
    case PST_SLOTS_OPEN:
        return UINT32_MAX;
    case PST_SLOTS_BLOCKED:
        return slots->full_limit + (now >= slots->trial_at ? 1 : 0);
    case PST_SLOTS_GROWING:
        return slots->full_limit;
    case PST_SLOTS_FULL_COUNT:
        break;
    }
    PST_ASSERT(!"a state of slots.h");
    return 0;
}

static bool is_timed(const struct pst_slots *slots, pst_ns now)
{
    for (uint32_t i = 0; i < PST_SLOTS_SOURCE_COUNT; i++) {
        if (slots->until[i] > now && slots->until[i] != PST_NEVER)
            return true;
    }
    return false;
}

uint32_t pst_slots_judge(struct pst_slots *slots, pst_ns slow_start, pst_ns now)
{
    uint32_t base = pst_slots_base(slots, now);
    uint64_t limit;

    if (base == 0)
        return 0;
    limit = pst_min_u64(base, full_limit(slots, now));
    limit = pst_min_u64(limit, ramp(slots, base, slow_start, now));
    if (slots->cautious)
        limit = pst_min_u64(limit, 1);
    slots->steady = !slots->cautious && slots->full == PST_SLOTS_OPEN &&
                    !is_ramping(slots, slow_start, now) && !is_timed(slots, now);
    slots->least = base;
    return (uint32_t)limit;
}

/* When the ramp next gives one more. */
static pst_ns ramp_deadline(const struct pst_slots *slots, pst_ns slow_start, pst_ns now)
{
    uint32_t base = pst_slots_base(slots, now);
    uint32_t have = ramp(slots, base, slow_start, now);

    if (have >= base)
        return PST_NEVER;
    /* The least t with floor(base * t / slow_start) > have. */
    return pst_add_sat(slots->ramp_since, pst_add_sat(pst_muldiv(slow_start, have + 1, base), 1));
}

pst_ns pst_slots_next_change(const struct pst_slots *slots, pst_ns slow_start, pst_ns now)
{
    pst_ns due = ramp_deadline(slots, slow_start, now);

    if (slots->full == PST_SLOTS_BLOCKED && slots->trial_at > now)
        due = pst_min_u64(due, slots->trial_at);
    for (uint32_t i = 0; i < PST_SLOTS_SOURCE_COUNT; i++) {
        if (slots->until[i] > now)
            due = pst_min_u64(due, slots->until[i]);
    }
    return due;
}

void pst_slots_taken(struct pst_slots *slots, uint64_t taken, uint32_t inflight, pst_ns now)
{
    if (slots->full == PST_SLOTS_BLOCKED && now >= slots->trial_at && slots->trial == 0 &&
        inflight > slots->full_limit)
        slots->trial = taken;
}

void pst_slots_succeeded(struct pst_slots *slots, uint64_t taken, pst_ns now)
{
    slots->cautious = false;
    slots->failures = 0;

    if (slots->full == PST_SLOTS_BLOCKED && slots->trial != 0 && taken >= slots->trial)
        slots->full = PST_SLOTS_GROWING;
    if (slots->full == PST_SLOTS_GROWING && taken > slots->full_since) {
        /* One more per answer: what runs doubles with every service time. */
        slots->full_limit++;
        if (slots->full_limit >= pst_slots_base(slots, now))
            slots->full = PST_SLOTS_OPEN;
    }
}

void pst_slots_failed(struct pst_slots *slots, uint64_t taken, uint64_t newest)
{
    if (slots->cautious && taken <= slots->cautious_since)
        return; /* of the wave that is counted already */
    slots->failures++;
    pst_slots_caution(slots, newest);
}

void pst_slots_caution(struct pst_slots *slots, uint64_t newest)
{
    slots->steady = false;
    slots->cautious = true;
    slots->cautious_since = newest;
}

void pst_slots_refused(struct pst_slots *slots, uint64_t taken, uint64_t newest, uint32_t inflight,
                       pst_ns retry_after, pst_ns now)
{
    bool blocked = slots->full == PST_SLOTS_BLOCKED;
    bool trial = blocked && slots->trial != 0 && taken >= slots->trial;
    pst_ns wait;

    slots->steady = false;
    if (blocked && !trial) { /* of the wave that is blocked already: it only says more exactly */
        slots->full_limit = (uint32_t)pst_min_u64(slots->full_limit, inflight);
        wait = retry_after;
    } else {
        slots->backoff = trial ? pst_min_u64(2 * slots->backoff, BACKOFF_MAX) : BACKOFF_MIN;
        slots->full = PST_SLOTS_BLOCKED;
        slots->full_limit = inflight;
        slots->full_since = newest;
        slots->trial = 0;
        slots->trial_at = now;
        wait = retry_after == 0 ? slots->backoff : retry_after;
    }
    wait = pst_min_u64(wait, RETRY_AFTER_MAX);
    slots->trial_at = pst_max_u64(slots->trial_at, pst_add_sat(now, wait));
}
