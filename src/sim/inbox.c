/* inbox.c - see inbox.h. */
#include "sim/inbox.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_FIRST 64

void pst_inbox_done(struct pst_inbox *inbox)
{
    free(inbox->events);
    *inbox = (struct pst_inbox){0};
}

/* What was taken makes room first. */
static int make_room(struct pst_inbox *inbox)
{
    uint32_t capacity = inbox->capacity == 0 ? CAPACITY_FIRST : inbox->capacity * 2;
    struct pst_inbox_event *events;

    if (inbox->first > 0) {
        memmove(inbox->events, inbox->events + inbox->first, inbox->count * sizeof *inbox->events);
        inbox->first = 0;
        return PST_OK;
    }
    events = realloc(inbox->events, (size_t)capacity * sizeof *events);
    if (events == NULL)
        return PST_E_NOMEM;
    inbox->events = events;
    inbox->capacity = capacity;
    return PST_OK;
}

int pst_inbox_put(struct pst_inbox *inbox, const void *event, size_t size)
{
    PST_ASSERT(size <= PST_INBOX_EVENT_BYTES);
    if (inbox->first + inbox->count == inbox->capacity && make_room(inbox) != PST_OK)
        return PST_E_NOMEM;
    memcpy(inbox->events[inbox->first + inbox->count].bytes, event, size);
    inbox->count++;
    return PST_OK;
}

bool pst_inbox_take(struct pst_inbox *inbox, void *ret_event, size_t size)
{
    if (inbox->count == 0)
        return false;
    memcpy(ret_event, inbox->events[inbox->first].bytes, size);
    inbox->first++;
    inbox->count--;
    if (inbox->count == 0)
        inbox->first = 0;
    return true;
}
