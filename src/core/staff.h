/*
 * staff.h - how many servers a queue needs, in closed form.
 *
 * Why: between "every slot is busy" and "most requests find one free" lie only a few slots, and how
 * many follows from load, service time and variability alone: a fixed utilisation target wastes a
 * third of a large pool and lets a small one queue.
 *
 *   B(0) = 1,  B(n) = a B(n-1) / (n + a B(n-1))             Erlang B, by recursion
 *   C = n B / (n - a (1 - B))                               P(wait > 0), M/M/n
 *   V = (ca^2 + cs^2) / 2                                   Allen-Cunneen
 *   E[wait] = C V S / (n - a),  P(wait > t) = C exp(-(n - a) t / (V S))
 *
 * a the load in erlangs (servers busy on average), S the mean service time, ca and cs the coefficients
 * of variation of the times between arrivals and of service. Exact for M/M/n, and in the mean for M/G/1.
 *
 * Guarantee: pure; O(servers); the number of servers found is the least that meets the promise.
 * Sources: Erlang (1917); Allen, "Probability, Statistics and Queueing Theory", 2nd ed., 5.2 (GI/G/m);
 * Cooper, "Introduction to Queueing Theory", 2nd ed., 3.3 (recursion).
 */
#ifndef PST_CORE_STAFF_H
#define PST_CORE_STAFF_H

#include "pst.h"

struct pst_staff_load {
    double erlangs;     /* a */
    double service_s;   /* S, > 0 */
    double variability; /* V: 1 for Poisson arrivals and exponential service */
};

/* The share of arrivals that find all servers busy, were they turned away. servers 0: 1. */
double pst_staff_erlang_b(double erlangs, uint32_t servers);
/* … that must wait, where they queue; 1 once the load is not below the servers. */
double pst_staff_erlang_c(double erlangs, uint32_t servers);

/* Seconds, over all arrivals; infinite once the load is not below the servers. */
double pst_staff_wait_mean(const struct pst_staff_load *load, uint32_t servers);
/* P(wait > wait_s); 1 once the load is not below the servers. */
double pst_staff_wait_tail(const struct pst_staff_load *load, uint32_t servers, double wait_s);
/* The wait, in seconds, that this share of arrivals (0 < share < 1) exceeds: 0.01 gives the P99. */
double pst_staff_wait_exceeded(const struct pst_staff_load *load, uint32_t servers, double share);

/* The least servers with P(wait > wait_s) <= share; `most` if that is not enough. */
uint32_t pst_staff_servers(const struct pst_staff_load *load, double wait_s, double share,
                           uint32_t most);

#endif
