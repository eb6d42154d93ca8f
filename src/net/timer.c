/* timer.c - see timer.h. */
#include "net/timer.h"

#include <stdlib.h>

#define SIZE_FIRST 64

void pst_timer_heap_done(struct pst_timer_heap *heap)
{
    free(heap->slot);
    *heap = (struct pst_timer_heap){0};
}

static void put(struct pst_timer_heap *heap, uint32_t place, struct pst_timer *timer)
{
    heap->slot[place] = timer;
    timer->place = place;
}

static void rise(struct pst_timer_heap *heap, uint32_t place)
{
    struct pst_timer *timer = heap->slot[place];

    while (place > 1 && heap->slot[place / 2]->at > timer->at) {
        put(heap, place, heap->slot[place / 2]);
        place /= 2;
    }
    put(heap, place, timer);
}

static void sink(struct pst_timer_heap *heap, uint32_t place)
{
    struct pst_timer *timer = heap->slot[place];

    for (;;) {
        uint32_t child = place * 2;

        if (child > heap->count)
            break;
        if (child < heap->count && heap->slot[child + 1]->at < heap->slot[child]->at)
            child++;
        if (heap->slot[child]->at >= timer->at)
            break;
        put(heap, place, heap->slot[child]);
        place = child;
    }
    put(heap, place, timer);
}

/* Timers guard everything else, so there is no way on without room for one. */
static void make_room(struct pst_timer_heap *heap)
{
    uint32_t size = heap->size == 0 ? SIZE_FIRST : heap->size * 2;
    struct pst_timer **slot;

    if (heap->count + 1 < heap->size)
        return;
    slot = realloc(heap->slot, size * sizeof(*slot));
    PST_ASSERT(slot != NULL);
    heap->slot = slot;
    heap->size = size;
}

void pst_timer_heap_set(struct pst_timer_heap *heap, struct pst_timer *timer, pst_ns at)
{
    if (timer->place == 0) {
        make_room(heap);
        timer->at = at;
        put(heap, ++heap->count, timer);
        rise(heap, timer->place);
    } else if (at < timer->at) {
        timer->at = at;
        rise(heap, timer->place);
    } else {
        timer->at = at;
        sink(heap, timer->place);
    }
}

void pst_timer_heap_remove(struct pst_timer_heap *heap, struct pst_timer *timer)
{
    uint32_t place = timer->place;
    struct pst_timer *last;

    if (place == 0)
        return;
    last = heap->slot[heap->count--];
    timer->place = 0;
    if (last == timer)
        return;
    put(heap, place, last);
    rise(heap, place);
    sink(heap, last->place);
}

pst_ns pst_timer_heap_next(const struct pst_timer_heap *heap)
{
    return heap->count == 0 ? PST_NEVER : heap->slot[1]->at;
}

struct pst_timer *pst_timer_heap_due(struct pst_timer_heap *heap, pst_ns now)
{
    struct pst_timer *timer;

    if (pst_timer_heap_next(heap) > now || heap->count == 0)
        return NULL;
    timer = heap->slot[1];
    pst_timer_heap_remove(heap, timer);
    return timer;
}
