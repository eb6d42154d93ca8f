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

static void set(struct pst_heap *heap, uint32_t at, struct pst_heap_entry entry)
{
    heap->entries[at] = entry;
    heap->place[entry.member] = at + 1;
}

static void sift_up(struct pst_heap *heap, uint32_t at, struct pst_heap_entry entry)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;

        if (!before(&entry, &heap->entries[parent]))
            break;
        set(heap, at, heap->entries[parent]);
        at = parent;
    }
    set(heap, at, entry);
}

static void sift_down(struct pst_heap *heap, uint32_t at, struct pst_heap_entry entry)
{
    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && before(&heap->entries[child + 1], &heap->entries[child]))
            child++;
        if (!before(&heap->entries[child], &entry))
            break;
        set(heap, at, heap->entries[child]);
        at = child;
    }
    set(heap, at, entry);
}

static void settle(struct pst_heap *heap, uint32_t at, struct pst_heap_entry entry)
{
    if (at > 0 && before(&entry, &heap->entries[(at - 1) / 2]))
        sift_up(heap, at, entry);
    else
        sift_down(heap, at, entry);
}

void pst_heap_put(struct pst_heap *heap, uint32_t member, uint64_t key, uint64_t seq)
{
    struct pst_heap_entry entry = {.key = key, .seq = seq, .member = member};

    PST_ASSERT(member < heap->members_max);
    if (heap->place[member] == 0)
        sift_up(heap, heap->count++, entry);
    else
        settle(heap, heap->place[member] - 1, entry);
}

void pst_heap_remove(struct pst_heap *heap, uint32_t member)
{
    uint32_t at;

    PST_ASSERT(member < heap->members_max);
    if (heap->place[member] == 0)
        return;
    at = heap->place[member] - 1;
    heap->place[member] = 0;
    heap->count--;
    if (at != heap->count)
        settle(heap, at, heap->entries[heap->count]);
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
