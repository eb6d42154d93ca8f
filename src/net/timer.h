/*
 * timer.h - the loop's deadlines: a binary heap of pointers into their owners.
 *
 * Guarantee: set, move and cancel in O(log n); equal deadlines fire in heap order. Fired timers are out of
 * the heap before they are told, so that they may set themselves again.
 */
#ifndef PST_NET_TIMER_H
#define PST_NET_TIMER_H

#include "net/loop.h"

struct pst_timer_heap {
    struct pst_timer **slot; /* from 1 */
    uint32_t count, size;
};

void pst_timer_heap_done(struct pst_timer_heap *heap);
void pst_timer_heap_set(struct pst_timer_heap *heap, struct pst_timer *timer, pst_ns at);
void pst_timer_heap_remove(struct pst_timer_heap *heap, struct pst_timer *timer);
pst_ns pst_timer_heap_next(const struct pst_timer_heap *heap); /* PST_NEVER: none */
/* Takes out the earliest timer that is due; NULL if none is. */
struct pst_timer *pst_timer_heap_due(struct pst_timer_heap *heap, pst_ns now);

#endif
