/* room.c - see room.h. */
#include "core/room.h"

#include <string.h>

#include "core/num.h"

int pst_room_init(struct pst_room *room, uint32_t tickets_max)
{
    memset(room, 0, sizeof *room);
    if (pst_heap_init(&room->up_due, tickets_max) != PST_OK ||
        pst_heap_init(&room->down_due, tickets_max) != PST_OK) {
        pst_room_done(room);
        return PST_E_NOMEM;
    }
    return PST_OK;
}

void pst_room_done(struct pst_room *room)
{
    pst_heap_done(&room->up_due);
    pst_heap_done(&room->down_due);
}

static pst_ns up_at(const struct pst_room *room, pst_ns now)
{
    return room->up + (room->is_up ? now - room->since : 0);
}

static pst_ns down_at(const struct pst_room *room, pst_ns now)
{
    return room->down + (room->is_up ? 0 : now - room->since);
}

void pst_room_set(struct pst_room *room, bool is_up, pst_ns now)
{
    if (room->is_up == is_up)
        return;
    room->up = up_at(room, now);
    room->down = down_at(room, now);
    room->since = now;
    room->is_up = is_up;
}

void pst_room_enter(struct pst_room *room, struct pst_ticket *ticket, pst_ns no_replica_ttl,
                    pst_ns now)
{
    pst_ns up = up_at(room, now), down = down_at(room, now);

    ticket->up_mark = up;
    ticket->down_mark = down;
    pst_heap_put(&room->up_due, ticket->id.index,
                 pst_add_sat(up, pst_sub_sat(ticket->ttl, ticket->up_spent)), ticket->rank);
    pst_heap_put(&room->down_due, ticket->id.index,
                 pst_add_sat(down, pst_sub_sat(no_replica_ttl, ticket->down_spent)), ticket->rank);
}

void pst_room_leave(struct pst_room *room, struct pst_ticket *ticket, pst_ns now)
{
    ticket->up_spent += up_at(room, now) - ticket->up_mark;
    ticket->down_spent += down_at(room, now) - ticket->down_mark;
    pst_heap_remove(&room->up_due, ticket->id.index);
    pst_heap_remove(&room->down_due, ticket->id.index);
}

uint32_t pst_room_due(const struct pst_room *room, pst_ns now)
{
    const struct pst_heap *due = room->is_up ? &room->up_due : &room->down_due;
    pst_ns clock = room->is_up ? up_at(room, now) : down_at(room, now);

    return pst_heap_top_key(due) <= clock ? pst_heap_top(due) : PST_HEAP_NONE;
}

pst_ns pst_room_deadline(const struct pst_room *room)
{
    const struct pst_heap *due = room->is_up ? &room->up_due : &room->down_due;
    pst_ns clock = room->is_up ? room->up : room->down;

    if (due->count == 0 || pst_heap_top_key(due) == UINT64_MAX)
        return PST_NEVER;
    return pst_add_sat(room->since, pst_sub_sat(pst_heap_top_key(due), clock));
}
