/*
 * clients.h - the requests that are somewhere: their clients wait for an answer, or to come again.
 *
 * Guarantee: an index is used again only after it was given back, the last one first, so that a short
 * queue stays in few cache lines. O(1); memory grows in doubling steps up to max.
 */
#ifndef PST_SIM_CLIENTS_H
#define PST_SIM_CLIENTS_H

#include "pst.h"

#define PST_CLIENT_NONE UINT32_MAX

/* Where it is, as its client sees it. */
enum pst_client_state {
    PST_CLIENT_FREE,
    PST_CLIENT_QUEUED,
    PST_CLIENT_RUNNING,
    PST_CLIENT_AWAY /* refused, and will come again */
};

struct pst_client {
    pst_ns arrived; /* the first time */
    pst_ns service;
    pst_ns first_part;
    pst_ns frozen; /* of its replica's time, when it was last looked at */
    uint32_t prompt_tokens, output_tokens;
    uint32_t flow;
    uint32_t generation; /* of the ticket index */
    uint32_t attempt;    /* the gate's, of the run */
    uint32_t run;        /* serial of the run; events of older ones are void */
    uint32_t next_free;
    uint32_t engine; /* its number there; token mode */
    uint16_t replica;
    uint16_t tries; /* times it came */
    uint8_t stream;
    uint8_t class_;
    uint8_t state;                  /* enum pst_client_state */
    uint8_t dispatched;             /* its first dispatch is counted */
    uint8_t answered;               /* so is its first byte */
    uint8_t in_target, in_deadline; /* its first dispatch was */
    uint8_t streams;                /* its answer is under way, token by token */
};

struct pst_clients {
    struct pst_client *items;
    uint32_t made, capacity, max; /* items used so far, allocated, allowed */
    uint32_t free, alive;
};

void pst_clients_init(struct pst_clients *clients, uint32_t max);
void pst_clients_done(struct pst_clients *clients);

/* PST_OK, PST_E_FULL (max are alive) or PST_E_NOMEM. Its generation is a new one; the rest is 0. */
int pst_clients_take(struct pst_clients *clients, uint32_t *ret_index);
void pst_clients_give(struct pst_clients *clients, uint32_t index);

#endif
