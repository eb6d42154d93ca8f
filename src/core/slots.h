/*
 * slots.h - how many places one replica offers right now.
 *
 * Why: several parties limit a replica (configuration, what the engine says, other gateways), and
 * experience limits it further: a fresh replica fills slowly, one that fails fast must not attract, and
 * one that says "full" is believed. The least of all of them counts.
 *
 *   full:   OPEN --full--> BLOCKED --trial answered--> GROWING --as wide as the base--> OPEN
 *                           |    ^                        |
 *                           +full+ (a trial, doubling)    +--full--> BLOCKED
 *
 * Guarantee: limit <= base <= every source. After an unexplained failure it is 1 until a success. While
 * BLOCKED it never exceeds what was in flight at the refusal, plus one trial at a time, the trials at
 * least 100 ms apart, doubling to 5 s.
 */
#ifndef PST_CORE_SLOTS_H
#define PST_CORE_SLOTS_H

#include "core/gate.h"

#define PST_SLOTS_MAX UINT16_MAX /* of one replica: a larger number means this one; sums fit */

enum pst_slots_full { PST_SLOTS_OPEN, PST_SLOTS_BLOCKED, PST_SLOTS_GROWING, PST_SLOTS_FULL_COUNT };

/*
 * Attempts are told apart by the fleet's running number of places taken: what was taken before a change
 * belongs to the wave that caused it, and says nothing about what came after.
 */
struct pst_slots {
    uint32_t source[PST_SLOTS_SOURCE_COUNT]; /* UINT32_MAX: says nothing */
    pst_ns until[PST_SLOTS_SOURCE_COUNT];
    pst_ns ramp_since; /* PST_NEVER: no slow start */
    bool cautious;
    uint32_t failures;       /* in a row, each a wave of its own */
    uint64_t cautious_since; /* number of the newest place then */
    enum pst_slots_full full;
    uint32_t full_limit;
    pst_ns backoff;
    pst_ns trial_at;
    uint64_t trial;      /* first place beyond full_limit; 0: none yet */
    uint64_t full_since; /* number of the newest place then */
    bool steady; /* neither time nor experience limits it: `least` is base and limit until told */
    uint32_t least;
};

void pst_slots_init(struct pst_slots *slots, uint32_t configured);
void pst_slots_set(struct pst_slots *slots, enum pst_slots_source source, uint32_t count,
                   pst_ns until);
/* It crashed: what was learned of the old process is void, but for caution. The sources stay. */
void pst_slots_crashed(struct pst_slots *slots, uint64_t newest);
/* The length of the ramp may be another. */
void pst_slots_reconfigured(struct pst_slots *slots);
/* From now on the limit grows linearly from 1 to the base. */
void pst_slots_ramp(struct pst_slots *slots, pst_ns now);

/* The least of the sources. */
uint32_t pst_slots_base(const struct pst_slots *slots, pst_ns now);
/* What follows, looked at anew; the limit also says whether it is steady. */
uint32_t pst_slots_judge(struct pst_slots *slots, pst_ns slow_start, pst_ns now);
pst_ns pst_slots_next_change(const struct pst_slots *slots, pst_ns slow_start, pst_ns now);

/* The least of the sources, and with experience. @slow_start: length of the ramp. */
static inline uint32_t pst_slots_limit(struct pst_slots *slots, pst_ns slow_start, pst_ns now)
{
    return slots->steady ? slots->least : pst_slots_judge(slots, slow_start, now);
}

/* When the limit next changes by time alone; PST_NEVER: it does not. */
static inline pst_ns pst_slots_deadline(const struct pst_slots *slots, pst_ns slow_start,
                                        pst_ns now)
{
    return slots->steady ? PST_NEVER : pst_slots_next_change(slots, slow_start, now);
}

/* Place number @taken was given; @inflight counts it. */
void pst_slots_taken(struct pst_slots *slots, uint64_t taken, uint32_t inflight, pst_ns now);
/* The attempt of that place got an answer. */
void pst_slots_succeeded(struct pst_slots *slots, uint64_t taken, pst_ns now);
/* It failed without a reason given; @newest is the newest place of the fleet. */
void pst_slots_failed(struct pst_slots *slots, uint64_t taken, uint64_t newest);
/* One slot until a success, without counting a failure. */
void pst_slots_caution(struct pst_slots *slots, uint64_t newest);
/* That place was given in spite of a failure that no success has followed: to see whether one does. */
static inline bool pst_slots_is_trial(const struct pst_slots *slots, uint64_t taken)
{
    return slots->cautious && taken > slots->cautious_since;
}
/* It was refused as full, @inflight others being in flight; @retry_after 0: not said. */
void pst_slots_refused(struct pst_slots *slots, uint64_t taken, uint64_t newest, uint32_t inflight,
                       pst_ns retry_after, pst_ns now);

#endif
