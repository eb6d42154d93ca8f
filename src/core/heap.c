/* heap.c - see heap.h. */
#include "core/heap.h"

#include <stdlib.h>
#include <string.h>

int pst_heap_init(struct pst_heap *heap, uint32_t members_max)
{
    size_t places = members_max == 0 ? 1 : members_max;

    memset(heap, 0, sizeof *heap);
    heap->entries = calloc(places, sizeof *heap->entries);
    heap->place = calloc(places, sizeof *heap->place);
    heap->members_max = members_max;
    if (heap->entries == NULL || heap->place == NULL) {
        pst_heap_done(heap);
        return PST_E_NOMEM;
    }
    return PST_OK;
}

void pst_heap_done(struct pst_heap *heap)
{
    free(heap->entries);
    free(heap->place);
    memset(heap, 0, sizeof *heap);
}

static bool before(const struct pst_heap_entry *a, const struct pst_heap_entry *b)
{
    return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}

static void move(struct pst_heap *heap, uint32_t from, uint32_t to)
{
    heap->entries[to] = heap->entries[from];
    heap->place[heap->entries[to].member] = to + 1;
}

/* Where an entry belongs that goes up from the free place @at; those on its way make room. */
static uint32_t way_up(struct pst_heap *heap, uint32_t at, uint64_t key, uint64_t seq)
{
    struct pst_heap_entry entry = {.key = key, .seq = seq};

    while (at > 0 && before(&entry, &heap->entries[(at - 1) / 2])) {
        move(heap, (at - 1) / 2, at);
        at = (at - 1) / 2;
    }
    return at;
}

/* The same, down. */
static uint32_t way_down(struct pst_heap *heap, uint32_t at, uint64_t key, uint64_t seq)
{
    struct pst_heap_entry entry = {.key = key, .seq = seq};
    uint32_t child;

    while ((child = 2 * at + 1) < heap->count) {
        if (child + 1 < heap->count && before(&heap->entries[child + 1], &heap->entries[child]))
            child++;
        if (!before(&heap->entries[child], &entry))
            break;
        move(heap, child, at);
        at = child;
    }
    return at;
}

static void put(struct pst_heap *heap, uint32_t at, uint32_t member, uint64_t key, uint64_t seq)
{
    uint32_t up = way_up(heap, at, key, seq);
    struct pst_heap_entry *entry;

    at = up == at ? way_down(heap, at, key, seq) : up;
    entry = &heap->entries[at];
    entry->key = key;
    entry->seq = seq;
    entry->member = member;
    heap->place[member] = at + 1;
}

void pst_heap_put(struct pst_heap *heap, uint32_t member, uint64_t key, uint64_t seq)
{
    PST_ASSERT(member < heap->members_max);
    put(heap, heap->place[member] == 0 ? heap->count++ : heap->place[member] - 1, member, key, seq);
}

void pst_heap_remove(struct pst_heap *heap, uint32_t member)
{
    const struct pst_heap_entry *last;
    uint32_t at;

    PST_ASSERT(member < heap->members_max);
    if (heap->place[member] == 0)
        return;
    at = heap->place[member] - 1;
    heap->place[member] = 0;
    last = &heap->entries[--heap->count];
    if (at != heap->count)
        put(heap, at, last->member, last->key, last->seq);
}

void pst_heap_verify(const struct pst_heap *heap)
{
    PST_ASSERT(heap->count <= heap->members_max);
    for (uint32_t i = 0; i < heap->count; i++) {
        PST_ASSERT(heap->place[heap->entries[i].member] == i + 1);
        if (i > 0)
            PST_ASSERT(!before(&heap->entries[i], &heap->entries[(i - 1) / 2]));
    }
}
