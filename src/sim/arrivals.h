/*
 * arrivals.h - who comes when, and what they bring: all streams of a scenario as one sequence.
 *
 * Why: policies can only be compared on the same requests. Everything that is random about a request
 * (when it comes, its class, its tokens, its service time) is drawn here, by the stream and the
 * purpose, before any policy has seen it.
 *
 * Guarantee: the sequence is a function of the scenario and the seed. Times do not decrease; of equal
 * times the stream that is listed first comes first. No allocation after new(). O(log streams).
 * Source: a renewal process in operational time: gaps with mean one, stretched by the inverse of the
 * cumulative rate (Çinlar, "Introduction to stochastic processes", for the Poisson case).
 */
#ifndef PST_SIM_ARRIVALS_H
#define PST_SIM_ARRIVALS_H

#include "model/scenario.h"

struct pst_arrival {
    pst_ns at;
    pst_ns service;    /* slot-time; token mode: not meant */
    pst_ns first_part; /* of it, until the first token */
    uint32_t prompt_tokens, output_tokens;
    uint32_t flow;
    uint8_t stream;
    uint8_t class_;
};

struct pst_arrivals;

/*
 * past 0: the scenario's own arrivals, up to its horizon. Else what came in so long before: the same laws
 * with other draws; times count from the beginning of that past. Recorded streams have none.
 * PST_E_INVALID: rows that are not in order, or of a class that is none; PST_E_NOMEM.
 */
int pst_arrivals_new(const struct pst_scenario *scenario, uint64_t seed, pst_ns past,
                     struct pst_arrivals **ret_arrivals);
void pst_arrivals_free(struct pst_arrivals *arrivals); /* takes NULL */

/* When the next one comes; PST_NEVER: nobody does. */
pst_ns pst_arrivals_due(const struct pst_arrivals *arrivals);
/* Takes it; one must be due. */
void pst_arrivals_take(struct pst_arrivals *arrivals, struct pst_arrival *ret_arrival);

/* Bursts that begin in [from, until): counted from the seed, without a walk through the arrivals. */
uint64_t pst_arrivals_bursts(const struct pst_scenario *scenario, uint64_t seed, pst_ns from,
                             pst_ns until);

#endif
