/*
 * sim.h - one policy against one scenario, in virtual time: the facade of the simulator.
 *
 * Why: "what would this policy have done to last Tuesday?" The gate and the scaler are the ones that
 * run in production, driven through the same events; only the world around them is a model: arrivals,
 * replicas, and whoever turns a number into replicas.
 *
 *   arrivals ─► gate ─► replicas (slots with a law, or the engine model)
 *                │ observe, once a second          ▲ start, drain, remove
 *                ▼                                 │
 *              scaler, or a peer's rule ─► actuator
 *
 * Guarantee: pure; the same scenario, policy and seed give the same report on any compiler and build.
 * Every policy of one seed sees the same arrivals, classes, token counts, service times and cold
 * starts (common random numbers). Events of one instant happen in the order in which they were caused.
 * Memory is allocated by new() and, in doubling steps, while it runs.
 */
#ifndef PST_SIM_SIM_H
#define PST_SIM_SIM_H

#include "model/scenario.h"
#include "sim/report.h"

struct pst_sim;

/* The scenario and the policy must outlive it. PST_E_INVALID (*ret_why: English, static), PST_E_NOMEM. */
int pst_sim_new(const struct pst_scenario *scenario, const struct pst_scenario_policy *policy,
                uint64_t seed, struct pst_sim **ret_sim, const char **ret_why);
void pst_sim_free(struct pst_sim *sim); /* takes NULL */

/* Lets virtual time pass up to `until`. PST_OK: there is more; PST_E_FULL: it is over; PST_E_NOMEM. */
int pst_sim_run(struct pst_sim *sim, pst_ns until);
pst_ns pst_sim_now(const struct pst_sim *sim);

/* Valid until the sim is freed; complete once it is over. */
const struct pst_sim_report *pst_sim_report(const struct pst_sim *sim);

#endif
