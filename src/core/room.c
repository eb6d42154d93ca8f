/* room.c - see room.h. */
#include "core/room.h"

#include <string.h>

#include "core/num.h"

int pst_room_init(struct pst_room *room, uint32_t tickets_max)
{
    memset(room, 0, sizeof *room);
    room->last.index = PST_HEAP_NONE;
    room->due = PST_NEVER;
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

uint32_t pst_room_first(const struct pst_room *room)
{
    const struct pst_heap *heap = room->is_up ? &room->up_due : &room->down_due;
    pst_ns key = room->is_up ? room->last.up_due : room->last.down_due;

    if (room->last.index == PST_HEAP_NONE || heap->count == 0)
        return room->last.index == PST_HEAP_NONE ? pst_heap_top(heap) : room->last.index;
    if (key != heap->entries[0].key)
        return key < heap->entries[0].key ? room->last.index : pst_heap_top(heap);
    return room->last.rank < heap->entries[0].seq ? room->last.index : pst_heap_top(heap);
}

/* When the first is due, by the clock that runs. */
static void find_due(struct pst_room *room)
{
    pst_ns first = pst_heap_top_key(room->is_up ? &room->up_due : &room->down_due);

    if (room->last.index != PST_HEAP_NONE)
        first = pst_min_u64(first, room->is_up ? room->last.up_due : room->last.down_due);
    room->due =
        first == PST_NEVER
            ? PST_NEVER
            : pst_add_sat(room->since, pst_sub_sat(first, room->is_up ? room->up : room->down));
}

void pst_room_set(struct pst_room *room, bool is_up, pst_ns now)
{
    if (room->is_up == is_up)
        return;
    room->up = up_at(room, now);
    room->down = down_at(room, now);
    room->since = now;
    room->is_up = is_up;
    find_due(room);
}

static void sort_in_last(struct pst_room *room)
{
    uint32_t index = room->last.index;

    if (index == PST_HEAP_NONE)
        return;
    pst_heap_put(&room->up_due, index, room->last.up_due, room->last.rank);
    pst_heap_put(&room->down_due, index, room->last.down_due, room->last.rank);
}

void pst_room_enter(struct pst_room *room, struct pst_ticket *ticket, pst_ns no_replica_ttl,
                    pst_ns now)
{
    pst_ns up = up_at(room, now), down = down_at(room, now);

    ticket->up_mark = up;
    ticket->down_mark = down;
    sort_in_last(room);
    room->last.index = ticket->id.index;
    room->last.up_due = pst_add_sat(up, pst_sub_sat(ticket->ttl, ticket->up_spent));
    room->last.down_due = pst_add_sat(down, pst_sub_sat(no_replica_ttl, ticket->down_spent));
    room->last.rank = ticket->rank;
    find_due(room);
}

void pst_room_leave(struct pst_room *room, struct pst_ticket *ticket, pst_ns now)
{
    ticket->up_spent += up_at(room, now) - ticket->up_mark;
    ticket->down_spent += down_at(room, now) - ticket->down_mark;
    if (room->last.index == ticket->id.index) {
        room->last.index = PST_HEAP_NONE;
    } else {
        pst_heap_remove(&room->up_due, ticket->id.index);
        pst_heap_remove(&room->down_due, ticket->id.index);
    }
    find_due(room);
}

void pst_room_verify(const struct pst_room *room, uint32_t tickets)
{
    uint32_t apart = room->last.index == PST_HEAP_NONE ? 0 : 1;

    PST_ASSERT(room->up_due.count + apart == tickets && room->down_due.count + apart == tickets);
    pst_heap_verify(&room->up_due);
    pst_heap_verify(&room->down_due);
}
