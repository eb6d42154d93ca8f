/*
 * heap.h - an indexed binary heap: the least key first, any member movable.
 *
 * Why: deadlines, flows and events are all "who is next", and members leave from the middle when a
 * client hangs up. The heap knows where each member sits, so that needs no search.
 *
 * Guarantee: put, remove and pop are O(log n), top is O(1); equal keys leave by ascending `seq`, so the
 * order never depends on history. Memory is allocated by init alone.
 */
#ifndef PST_CORE_HEAP_H
#define PST_CORE_HEAP_H

#include "pst.h"

#define PST_HEAP_NONE UINT32_MAX

struct pst_heap_entry {
    uint64_t key;
    uint64_t seq;
    uint32_t member;
};

struct pst_heap {
    struct pst_heap_entry *entries;
    uint32_t *place; /* member -> its entry, plus one; 0: not in the heap */
    uint32_t count;
    uint32_t members_max;
};

/* Members are the numbers below members_max. PST_OK or PST_E_NOMEM. */
int pst_heap_init(struct pst_heap *heap, uint32_t members_max);
void pst_heap_done(struct pst_heap *heap); /* takes a zeroed one */

/* Puts the member in, or moves it to its new key. */
void pst_heap_put(struct pst_heap *heap, uint32_t member, uint64_t key, uint64_t seq);
/* Takes it out; nothing happens if it is not in. */
void pst_heap_remove(struct pst_heap *heap, uint32_t member);

/* The member with the least key, or PST_HEAP_NONE. */
static inline uint32_t pst_heap_top(const struct pst_heap *heap)
{
    return heap->count == 0 ? PST_HEAP_NONE : heap->entries[0].member;
}

/* Its key, or UINT64_MAX. */
static inline uint64_t pst_heap_top_key(const struct pst_heap *heap)
{
    return heap->count == 0 ? UINT64_MAX : heap->entries[0].key;
}

static inline bool pst_heap_contains(const struct pst_heap *heap, uint32_t member)
{
    return heap->place[member] != 0;
}

/* Asserts order and places. O(n). */
void pst_heap_verify(const struct pst_heap *heap);

#endif
