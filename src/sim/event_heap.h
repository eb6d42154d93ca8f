/*
 * event_heap.h - what happens next, in virtual time.
 *
 * Why: a simulation lives in this structure. Entries are small and lie side by side, four children to a
 * parent, so that a push or a pop touches few cache lines; nobody is taken out of the middle: what has
 * become void is known by its serial when it comes up.
 *
 * Guarantee: pop gives the least time first, and of equal times the one that was pushed first. O(log n).
 * Memory grows in doubling steps; a failed push leaves all as it was.
 */
#ifndef PST_SIM_EVENT_HEAP_H
#define PST_SIM_EVENT_HEAP_H

#include "pst.h"

/* What an event is about is its owner's business: a kind below 256, and two numbers. */
struct pst_event {
    pst_ns at;
    uint64_t order; /* sequence, then kind in the low byte */
    uint32_t subject;
    uint32_t serial;
};

/* All zero is an empty one. */
struct pst_event_heap {
    struct pst_event *events;
    uint32_t count, capacity;
    uint64_t pushed;
};

void pst_event_heap_done(struct pst_event_heap *heap);

/* PST_OK or PST_E_NOMEM. */
int pst_event_heap_push(struct pst_event_heap *heap, pst_ns at, uint8_t kind, uint32_t subject,
                        uint32_t serial);
/* The heap must not be empty. */
void pst_event_heap_pop(struct pst_event_heap *heap, struct pst_event *ret_event);

static inline uint8_t pst_event_kind(const struct pst_event *event)
{
    return (uint8_t)(event->order & 0xff);
}

/* When the next one is; PST_NEVER: there is none. */
static inline pst_ns pst_event_heap_due(const struct pst_event_heap *heap)
{
    return heap->count == 0 ? PST_NEVER : heap->events[0].at;
}

#endif
