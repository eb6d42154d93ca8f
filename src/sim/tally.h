/*
 * tally.h - what happened, counted while it happens: fills the report.
 *
 * Guarantee: O(1) per call and no allocation after init; only requests that arrived in the measured span
 * are in the classes' numbers, each with one outcome. The digest covers every action of gate and scaler
 * in their order.
 */
#ifndef PST_SIM_TALLY_H
#define PST_SIM_TALLY_H

#include "sim/report.h"
#include "sim/lives.h"
#include "sim/clients.h"

struct pst_tally {
    struct pst_sim_report report;
    struct pst_hist *batches; /* of waits: class, batch */
    pst_ns batch_ns;
    uint32_t classes_count;
    pst_ns target[PST_CLASSES_MAX], deadline[PST_CLASSES_MAX];
    pst_ns point_every, point_due;
    pst_ns worst_wait[PST_CLASSES_MAX]; /* since the last point */
    int8_t direction[PST_POOLS_MAX];    /* of the pool's last change */
};

/* deadlines: of the policy, by class. PST_OK or PST_E_NOMEM. */
int pst_tally_init(struct pst_tally *tally, const struct pst_scenario *scenario,
                   const pst_ns deadlines[PST_CLASSES_MAX]);
void pst_tally_done(struct pst_tally *tally); /* takes a zeroed one */

void pst_tally_arrived(struct pst_tally *tally, const struct pst_client *client);
void pst_tally_retried(struct pst_tally *tally, const struct pst_client *client);
/* Its first dispatch; whether that was in time is kept with it. */
void pst_tally_dispatched(struct pst_tally *tally, struct pst_client *client, pst_ns now);
/* The first byte of its answer. */
void pst_tally_answered(struct pst_tally *tally, const struct pst_client *client, pst_ns now);
void pst_tally_ended(struct pst_tally *tally, const struct pst_client *client,
                     enum pst_outcome outcome);

void pst_tally_gate(struct pst_tally *tally, const struct pst_gate_action *action);
void pst_tally_scaler(struct pst_tally *tally, const struct pst_scaler_action *action);

/* A decision worth keeping. */
void pst_tally_decided(struct pst_tally *tally, const struct pst_report_decision *decision);
/* The pool's number went from one to another. */
void pst_tally_moved(struct pst_tally *tally, uint16_t pool, uint32_t before, uint32_t after,
                     pst_ns now);
/* Requests that lost their replica to a scale-in. */
void pst_tally_killed(struct pst_tally *tally, uint32_t count, pst_ns now);
/* After replicas changed. */
void pst_tally_replicas(struct pst_tally *tally, const struct pst_lives *lives, pst_ns now);
/* The measured span begins: what led here (the first replicas, one by one) has no extremes. */
void pst_tally_measure(struct pst_tally *tally, const struct pst_lives *lives, pst_ns now);

/* Is a point of the course due? Then it is filled but for the worst waits, and added. */
bool pst_tally_wants_point(const struct pst_tally *tally, pst_ns now);
void pst_tally_point(struct pst_tally *tally, struct pst_report_point *point);

/* The measured span is over: the bill. replicas' books are of the span. */
void pst_tally_bill(struct pst_tally *tally, const struct pst_lives *lives);
/* All is over: quantiles of the batches. */
void pst_tally_close(struct pst_tally *tally);

#endif
