/*
 * ticket.h - a request as the core knows it, and the slab that holds them all.
 *
 * Why: the driver names tickets by {index, generation}; the slab is an array by index, so no event
 * needs a search, and an event for a ticket that is gone is recognised and not acted upon.
 *
 *   FREE -> OFFERED <-> PAUSED
 *             |           |        each state but RUNNING and STREAMING is a list the ticket is on:
 *             v           v        offered, paused, or the age list of its class
 *           QUEUED <-> RUNNING -> STREAMING
 *             \___________|__________/
 *                         v
 *                        FREE
 *
 * Guarantee: a ticket moves only along these arrows (asserted by change_state); memory is allocated by
 * init alone.
 */
#ifndef PST_CORE_TICKET_H
#define PST_CORE_TICKET_H

#include "core/fleet.h"

enum pst_ticket_state {
    PST_TICKET_FREE,
    PST_TICKET_OFFERED,
    PST_TICKET_PAUSED,
    PST_TICKET_QUEUED,
    PST_TICKET_RUNNING,
    PST_TICKET_STREAMING,
    PST_TICKET_STATE_COUNT
};

/* A ticket is on at most one list of each chain. */
enum pst_chain {
    PST_CHAIN_AGE, /* offered, paused, or queued in its class */
    PST_CHAIN_BIN, /* a length bin of its lane, or set aside */
    PST_CHAIN_COUNT
};

struct pst_lane;

struct pst_ticket {
    struct pst_ticket_id id;
    struct {
        struct pst_ticket *prev, *next;
    } link[PST_CHAIN_COUNT];
    struct pst_fleet_ticket fleet;

    /* queueing */
    struct pst_lane *lane;    /* policy adaptive */
    uint32_t lane_generation; /* of the lane when the ticket joined it */
    uint32_t charged_tokens;  /* what its lane paid at the last dispatch */
    uint64_t rank;            /* grows with each joining of a tail; kept by a retry */
    uint64_t aside_mark;      /* the pool's `started` when it was set aside */
    pst_ns queued_at;         /* begin of this stay in the queue */
    pst_ns waited;            /* earlier stays */
    pst_ns started_at;        /* of the attempt */
    pst_ns ttl;
    pst_ns up_spent, down_spent; /* time queued with and without a ready replica, earlier stays */
    pst_ns up_mark, down_mark;   /* the room's clocks when this stay began */

    /* what it is */
    uint64_t bytes_reserved;
    uint64_t bytes_held;
    uint32_t prompt_bytes;
    uint32_t tokens_prompt; /* estimated */
    uint32_t tokens_output; /* estimated, of all sequences */
    uint32_t flow;
    uint32_t weight;
    uint32_t attempt;
    uint16_t pool;
    uint8_t class_;
    uint8_t queue_class; /* policy fixed: a promoted ticket queues above its class */
    uint8_t type;
    uint8_t length;
    uint8_t state;
    bool chunked : 1;
    bool grown : 1; /* a chunked body holds its full reservation */
    bool stream : 1;
    bool aside : 1;
    bool described : 1;    /* its body told what is estimated of it */
    bool client_retry : 1; /* it is no new demand */
};

struct pst_ticket_list {
    struct pst_ticket *head, *tail;
};

struct pst_slab {
    struct pst_ticket *tickets;
    uint32_t max;
    uint32_t alive;
    uint32_t in_state[PST_TICKET_STATE_COUNT];
};

int pst_slab_init(struct pst_slab *slab, uint32_t max);
void pst_slab_done(struct pst_slab *slab);

/* The living ticket of that id; NULL: an index out of range, a ticket that ended, or another one. */
struct pst_ticket *pst_slab_find(const struct pst_slab *slab, struct pst_ticket_id id);
/* Makes the free ticket at this index a new one, OFFERED. */
struct pst_ticket *pst_slab_open(struct pst_slab *slab, struct pst_ticket_id id);
/* The only way a ticket's state changes. */
void pst_ticket_change_state(struct pst_slab *slab, struct pst_ticket *ticket,
                             enum pst_ticket_state state);

void pst_ticket_append(struct pst_ticket_list *list, enum pst_chain chain, struct pst_ticket *t);
/* Before the first member of a higher rank: where a retried ticket belongs, near the head. */
void pst_ticket_insert(struct pst_ticket_list *list, enum pst_chain chain, struct pst_ticket *t);
void pst_ticket_unlink(struct pst_ticket_list *list, enum pst_chain chain, struct pst_ticket *t);

/* Time in the queue, all stays added. */
static inline pst_ns pst_ticket_waited(const struct pst_ticket *ticket, pst_ns now)
{
    return ticket->waited + (ticket->state == PST_TICKET_QUEUED ? now - ticket->queued_at : 0);
}

static inline uint64_t pst_ticket_tokens(const struct pst_ticket *ticket)
{
    return (uint64_t)ticket->tokens_prompt + ticket->tokens_output;
}

#endif
