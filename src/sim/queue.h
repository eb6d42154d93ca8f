/*
 * queue.h - the plain queue: so many servers, the highest class first, first come first served within
 * it, nobody refused.
 *
 * Why: textbooks know what it does, so it says what a gate adds and what a gate costs; and a planner
 * asks it thousands of times. No gate, no scaler, no replica lives: `gate: none` runs here.
 *
 * Guarantee: pure; the same arrivals, classes and service times as pst_sim gives any other policy of the
 * same scenario and seed. A job in service is never interrupted. Memory grows with the queue, in
 * doubling steps, and is given back.
 */
#ifndef PST_SIM_QUEUE_H
#define PST_SIM_QUEUE_H

#include "model/scenario.h"
#include "sim/report.h"

/*
 * Runs it to its end. Servers of a pool: the policy's replicas (0: the pool's min) x its slots.
 * *ret_report, its course and decisions empty, is written on PST_OK only. PST_E_INVALID (*ret_why:
 * English, static) where a plain queue is not what the scenario describes; PST_E_NOMEM.
 */
int pst_queue_run(const struct pst_scenario *scenario, const struct pst_scenario_policy *policy,
                  uint64_t seed, struct pst_sim_report *ret_report, const char **ret_why);

#endif
