/*
 * flow.h - lanes: what one flow has waiting in one class of one pool, and what it was served.
 *
 * Why: fairness between tenants needs a memory per tenant, and tenants are unbounded while memory is
 * not. A lane that is idle keeps its counter until the table needs its place, oldest idle first; when
 * every lane is in use, further flows share a few hashed ones per queue: they are fair as a group.
 *
 * Guarantee: finding a lane is O(1) expected; no lane with tickets is ever taken away.
 * Source: Sheng et al., "Fairness in Serving Large Language Models" (virtual token counter).
 */
#ifndef PST_CORE_FLOW_H
#define PST_CORE_FLOW_H

#include "core/mean.h"
#include "core/ticket.h"

#define PST_FLOW_SHARED 16 /* hashed lanes per queue, for flows beyond the table */
#define PST_LANE_NONE   UINT32_MAX

struct pst_lane {
    uint64_t key;    /* queue and flow */
    uint64_t served; /* virtual token counter, 1024ths of a token at weight 1 */
    struct pst_ticket_list bin[PST_LENGTH_COUNT];
    uint64_t sequences[PST_LENGTH_COUNT]; /* slots that its bins ask for */
    uint32_t count;                       /* tickets in its bins */
    uint32_t weight;                      /* percent */
    struct pst_mean pace;                 /* slots started per 10^6 s, measured while it waits */
    pst_ns pace_begin;                    /* of the measurement that runs; 0: none */
    uint64_t pace_started;                /* in it */
    uint32_t generation;
    uint32_t index;
    uint32_t hash_next;
    uint32_t idle_prev, idle_next;
};

struct pst_flows {
    struct pst_lane *lanes; /* flows_max of the table, then the shared ones of each queue */
    uint32_t *buckets;
    uint32_t flows_max;
    uint32_t lanes_max;
    uint32_t bucket_mask;
    uint32_t used; /* of the table: those above were never needed */
    uint32_t idle_head, idle_tail;
};

int pst_flows_init(struct pst_flows *flows, uint32_t flows_max, uint32_t queues);
void pst_flows_done(struct pst_flows *flows);

/* The lane of this flow in this queue, made if need be. */
struct pst_lane *pst_flows_lane(struct pst_flows *flows, uint32_t queue, uint32_t flow);
/* The same, but NULL if one would have to be made. */
struct pst_lane *pst_flows_find(const struct pst_flows *flows, uint32_t queue, uint32_t flow);
/* The lane got its first ticket, or lost its last. */
void pst_flows_active(struct pst_flows *flows, struct pst_lane *lane);
void pst_flows_idle(struct pst_flows *flows, struct pst_lane *lane);

#endif
