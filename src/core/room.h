/*
 * room.h - how long a ticket may wait: two clocks per pool, of which one runs at a time.
 *
 * Why: while a replica is ready, waiting counts against the ticket's ttl; while none is, against the
 * pool's no_replica_ttl. When the last replica goes, every waiting ticket changes its deadline at
 * once. Instead of touching them all, each deadline is kept on the clock it belongs to, and the clock
 * that does not apply stands still.
 *
 * Most tickets leave at once: the one that came last is held apart, and goes to where deadlines are
 * sorted when the next one comes.
 *
 * Guarantee: entering and leaving are O(log n), a change of readiness is O(1). A ticket is due exactly
 * when its time queued with (without) a ready replica reaches its ttl (the room's).
 */
#ifndef PST_CORE_ROOM_H
#define PST_CORE_ROOM_H

#include "core/heap.h"
#include "core/ticket.h"

struct pst_room {
    struct pst_heap up_due;   /* by the up clock; all but the last */
    struct pst_heap down_due; /* by the down clock */
    struct {
        uint32_t index; /* of the ticket; PST_HEAP_NONE: nobody came, or it left */
        pst_ns up_due, down_due;
        uint64_t rank;
    } last;
    pst_ns up, down; /* the clocks, at `since` */
    pst_ns since;
    pst_ns due; /* when the first is; PST_NEVER: none */
    bool is_up;
};

int pst_room_init(struct pst_room *room, uint32_t tickets_max);
void pst_room_done(struct pst_room *room);

/* Whether a replica is ready, from now on. */
void pst_room_set(struct pst_room *room, bool is_up, pst_ns now);
void pst_room_enter(struct pst_room *room, struct pst_ticket *ticket, pst_ns no_replica_ttl,
                    pst_ns now);
void pst_room_leave(struct pst_room *room, struct pst_ticket *ticket, pst_ns now);

/* The ticket (its index) that is due first, or PST_HEAP_NONE. */
uint32_t pst_room_first(const struct pst_room *room);
static inline pst_ns pst_room_deadline(const struct pst_room *room)
{
    return room->due;
}

/* All tickets in it, by both clocks, asserted. */
void pst_room_verify(const struct pst_room *room, uint32_t tickets);

#endif
