/*
 * inbox.h - events that wait until the state machine they are for has said all that it has to say.
 *
 * Why: whoever acts on an action may cause an event. It must not be stepped inside a step, and it must not
 * be lost: the gate would wait for the end of an attempt for ever.
 *
 * Guarantee: first in, first out; memory grows in doubling steps. Inline, for it lies on every event's way;
 * `size` is one event's, the same for all of an inbox.
 */
#ifndef PST_DRIVE_INBOX_H
#define PST_DRIVE_INBOX_H

#include <stdlib.h>
#include <string.h>

#include "pst.h"

#define PST_DRIVE_INBOX_FIRST 64 /* a power of two */

/* All zero is an empty one. */
struct pst_drive_inbox {
    char *ring;
    uint32_t size; /* events that fit, a power of two */
    uint32_t head, count;
};

static inline void pst_drive_inbox_done(struct pst_drive_inbox *inbox)
{
    free(inbox->ring);
    *inbox = (struct pst_drive_inbox){0};
}

static inline void pst_drive_inbox_grow(struct pst_drive_inbox *inbox, size_t size)
{
    uint32_t more = inbox->size == 0 ? PST_DRIVE_INBOX_FIRST : inbox->size * 2;
    char *ring = malloc(more * size);

    PST_ASSERT(ring != NULL); /* an event cannot be dropped */
    for (uint32_t i = 0; i < inbox->count; i++)
        memcpy(ring + i * size, inbox->ring + ((inbox->head + i) & (inbox->size - 1)) * size, size);
    free(inbox->ring);
    *inbox = (struct pst_drive_inbox){ring, more, 0, inbox->count};
}

static inline void pst_drive_inbox_push(struct pst_drive_inbox *inbox, const void *event,
                                        size_t size)
{
    if (inbox->count == inbox->size)
        pst_drive_inbox_grow(inbox, size);
    memcpy(inbox->ring + ((inbox->head + inbox->count++) & (inbox->size - 1)) * size, event, size);
}

/* False: it is empty. */
static inline bool pst_drive_inbox_pop(struct pst_drive_inbox *inbox, void *ret_event, size_t size)
{
    if (inbox->count == 0)
        return false;
    memcpy(ret_event, inbox->ring + inbox->head * size, size);
    inbox->head = (inbox->head + 1) & (inbox->size - 1);
    inbox->count--;
    return true;
}

#endif
