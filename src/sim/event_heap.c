/* event_heap.c - see event_heap.h. */
#include "sim/event_heap.h"

#include <stdlib.h>

#define CAPACITY_FIRST 256
#define CHILDREN       4

__extension__ typedef unsigned __int128 u128;

/* Both at once: a branch here would be a coin toss. */
static u128 key_of(const struct pst_event *event)
{
    return (u128)event->at << 64 | event->order;
}

static bool before(const struct pst_event *a, const struct pst_event *b)
{
    return key_of(a) < key_of(b);
}

void pst_event_heap_done(struct pst_event_heap *heap)
{
    free(heap->events);
    *heap = (struct pst_event_heap){0};
}

static int grow(struct pst_event_heap *heap)
{
    uint32_t capacity = heap->capacity == 0 ? CAPACITY_FIRST : heap->capacity * 2;
    struct pst_event *events;

    if (capacity < heap->capacity)
        return PST_E_NOMEM;
    events = realloc(heap->events, (size_t)capacity * sizeof *events);
    if (events == NULL)
        return PST_E_NOMEM;
    heap->events = events;
    heap->capacity = capacity;
    return PST_OK;
}

int pst_event_heap_push(struct pst_event_heap *heap, pst_ns at, uint8_t kind, uint32_t subject,
                        uint32_t serial)
{
    struct pst_event event = {.at = at, .subject = subject, .serial = serial};
    uint32_t hole;

    if (heap->count == heap->capacity && grow(heap) != PST_OK)
        return PST_E_NOMEM;
    event.order = ++heap->pushed << 8 | kind;
    hole = heap->count++;
    while (hole > 0) {
        uint32_t parent = (hole - 1) / CHILDREN;

        if (!before(&event, &heap->events[parent]))
            break;
        heap->events[hole] = heap->events[parent];
        hole = parent;
    }
    heap->events[hole] = event;
    return PST_OK;
}

static uint32_t least_child(const struct pst_event_heap *heap, uint32_t first)
{
    uint32_t end = first + CHILDREN < heap->count ? first + CHILDREN : heap->count;
    uint32_t least = first;

    for (uint32_t child = first + 1; child < end; child++) {
        if (before(&heap->events[child], &heap->events[least]))
            least = child;
    }
    return least;
}

void pst_event_heap_pop(struct pst_event_heap *heap, struct pst_event *ret_event)
{
    struct pst_event last;
    uint32_t hole = 0;

    PST_ASSERT(heap->count > 0);
    *ret_event = heap->events[0];
    last = heap->events[--heap->count];
    for (uint32_t first = 1; first < heap->count; first = hole * CHILDREN + 1) {
        uint32_t child = least_child(heap, first);

        if (!before(&heap->events[child], &last))
            break;
        heap->events[hole] = heap->events[child];
        hole = child;
    }
    heap->events[hole] = last;
}
