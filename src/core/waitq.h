/*
 * waitq.h - who waits in one class of one pool, and who of them is next.
 *
 * Why: three orders at once. Between tenants: the flow that was served least (its virtual token
 * counter) is next, so a burst delays its own tenant. Within a flow: short prompts first, unless one
 * of its heads nears its deadline. And by age: for promotion, guard and the oldest wait.
 *
 *   class -> heap of lanes by served tokens -> FIFO per length bin
 *       \--> age list of all           \--> aside: cannot be placed now for a reason of their own
 *
 * Guarantee: push, remove and next are O(log lanes); a lane that becomes active starts no lower than
 * the least served active one, so being away earns nothing.
 */
#ifndef PST_CORE_WAITQ_H
#define PST_CORE_WAITQ_H

#include "core/flow.h"
#include "core/heap.h"

/* Lanes with short or mid prompts, and lanes with long ones: a lane may be in both. */
enum pst_waitq_side { PST_WAITQ_SHORTER, PST_WAITQ_LONG, PST_WAITQ_SIDES };

struct pst_waitq {
    struct pst_ticket_list age;
    struct pst_ticket_list aside;
    struct pst_heap lanes[PST_WAITQ_SIDES]; /* policy adaptive */
    struct pst_flows *flows;
    uint64_t floor;   /* what the lane last chosen was served */
    uint64_t turn;    /* breaks ties: who was charged longest ago */
    uint64_t weights; /* of the active lanes, percent */
    uint32_t number;
    uint32_t count;
    uint32_t tickets[PST_LENGTH_COUNT];
    uint64_t sequences[PST_LENGTH_COUNT];
    uint64_t bytes;
    uint64_t tokens;
    bool fifo; /* policy fixed: the age list is the queue */
};

int pst_waitq_init(struct pst_waitq *q, struct pst_flows *flows, uint32_t number, bool fifo);
void pst_waitq_done(struct pst_waitq *q);

/* Joins the tail (the caller has given it a rank), or where its rank belongs: a retry. */
void pst_waitq_push(struct pst_waitq *q, struct pst_ticket *ticket, bool retry);
void pst_waitq_remove(struct pst_waitq *q, struct pst_ticket *ticket);
/* Out of its lane, but waiting on: narrower or innocent ones go ahead. */
void pst_waitq_set_aside(struct pst_waitq *q, struct pst_ticket *ticket, uint64_t mark);

/*
 * The next in fair order, or NULL. no_long: long prompts may not start now. near: a head that waited
 * so long is near its deadline.
 */
struct pst_ticket *pst_waitq_next(const struct pst_waitq *q, bool no_long, pst_ns near, pst_ns now);

/* What waits in the flow's own lane, and of how many weights in all its own would be one. */
struct pst_waitq_share {
    uint64_t sequences[PST_LENGTH_COUNT];
    uint64_t weights;
    uint32_t weight;
    uint64_t pace; /* measured: slots started per 10^6 s; 0: not known */
};
void pst_waitq_share(const struct pst_waitq *q, uint32_t flow, uint32_t weight,
                     struct pst_waitq_share *ret_share);

/*
 * The ticket's lane is served these weighted tokens more; then, at its end, what they really were.
 * tokens_in 0: not told.
 */
void pst_waitq_charge(struct pst_waitq *q, struct pst_ticket *ticket, pst_ns now);
void pst_waitq_settle(struct pst_waitq *q, struct pst_ticket *ticket, uint32_t tokens_in,
                      uint32_t tokens_out);

void pst_waitq_verify(const struct pst_waitq *q);

#endif
