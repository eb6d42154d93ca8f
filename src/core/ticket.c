/* ticket.c - see ticket.h. */
#include "core/ticket.h"

#include <stdlib.h>
#include <string.h>

int pst_slab_init(struct pst_slab *slab, uint32_t max)
{
    memset(slab, 0, sizeof *slab);
    slab->tickets = calloc(max, sizeof *slab->tickets);
    if (slab->tickets == NULL)
        return PST_E_NOMEM;
    slab->max = max;
    return PST_OK;
}

void pst_slab_done(struct pst_slab *slab)
{
    free(slab->tickets);
    memset(slab, 0, sizeof *slab);
}

struct pst_ticket *pst_slab_find(const struct pst_slab *slab, struct pst_ticket_id id)
{
    struct pst_ticket *ticket;

    if (id.index >= slab->max)
        return NULL;
    ticket = &slab->tickets[id.index];
    if (ticket->state == PST_TICKET_FREE || ticket->id.generation != id.generation)
        return NULL;
    return ticket;
}

struct pst_ticket *pst_slab_open(struct pst_slab *slab, struct pst_ticket_id id)
{
    struct pst_ticket *ticket;

    PST_ASSERT(id.index < slab->max);
    ticket = &slab->tickets[id.index];
    PST_ASSERT(ticket->state == PST_TICKET_FREE);
    memset(ticket, 0, sizeof *ticket);
    ticket->id = id;
    ticket->fleet.replica = PST_REPLICA_ALL;
    ticket->fleet.last_replica = PST_REPLICA_ALL;
    ticket->fleet.failed_on = PST_REPLICA_ALL;
    ticket->fleet.sequences = 1;
    ticket->state = PST_TICKET_OFFERED;
    slab->alive++;
    slab->in_state[PST_TICKET_OFFERED]++;
    return ticket;
}

void pst_ticket_change_state(struct pst_slab *slab, struct pst_ticket *ticket,
                             enum pst_ticket_state state)
{
    static const uint8_t allowed[PST_TICKET_STATE_COUNT] = {
        [PST_TICKET_FREE] = 0, /* left by open alone */
        [PST_TICKET_OFFERED] =
            1u << PST_TICKET_PAUSED | 1u << PST_TICKET_QUEUED | 1u << PST_TICKET_FREE,
        [PST_TICKET_PAUSED] = 1u << PST_TICKET_OFFERED | 1u << PST_TICKET_FREE,
        [PST_TICKET_QUEUED] = 1u << PST_TICKET_RUNNING | 1u << PST_TICKET_FREE,
        [PST_TICKET_RUNNING] =
            1u << PST_TICKET_STREAMING | 1u << PST_TICKET_QUEUED | 1u << PST_TICKET_FREE,
        [PST_TICKET_STREAMING] = 1u << PST_TICKET_FREE,
    };

    PST_ASSERT((allowed[ticket->state] >> state & 1u) != 0);
    slab->in_state[ticket->state]--;
    ticket->state = (uint8_t)state;
    if (state == PST_TICKET_FREE)
        slab->alive--;
    else
        slab->in_state[state]++;
}

void pst_ticket_append(struct pst_ticket_list *list, enum pst_chain chain, struct pst_ticket *t)
{
    t->link[chain].prev = list->tail;
    t->link[chain].next = NULL;
    if (list->tail != NULL)
        list->tail->link[chain].next = t;
    else
        list->head = t;
    list->tail = t;
}

void pst_ticket_insert(struct pst_ticket_list *list, enum pst_chain chain, struct pst_ticket *t)
{
    struct pst_ticket *after = list->head, *before = list->tail;

    /* From both ends: retries belong near the head, many of them failed in the order of their ranks. */
    while (after != NULL && after->rank < t->rank && before->rank > t->rank) {
        after = after->link[chain].next;
        before = before->link[chain].prev;
    }
    if (after != NULL && after->rank < t->rank)
        after = before->link[chain].next;
    if (after == NULL) {
        pst_ticket_append(list, chain, t);
        return;
    }
    t->link[chain].next = after;
    t->link[chain].prev = after->link[chain].prev;
    if (after->link[chain].prev != NULL)
        after->link[chain].prev->link[chain].next = t;
    else
        list->head = t;
    after->link[chain].prev = t;
}

void pst_ticket_unlink(struct pst_ticket_list *list, enum pst_chain chain, struct pst_ticket *t)
{
    struct pst_ticket *prev = t->link[chain].prev;
    struct pst_ticket *next = t->link[chain].next;

    if (prev != NULL)
        prev->link[chain].next = next;
    else
        list->head = next;
    if (next != NULL)
        next->link[chain].prev = prev;
    else
        list->tail = prev;
    t->link[chain].prev = NULL;
    t->link[chain].next = NULL;
}
