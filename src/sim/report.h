/*
 * report.h - what a simulation saw, and what can be said of it.
 *
 * Guarantee: everything in it is an integer or follows from integers by + - x ÷, so that it prints the
 * same everywhere. Counts and waits are of tickets that arrived after the scenario's cut.
 */
#ifndef PST_SIM_REPORT_H
#define PST_SIM_REPORT_H

#include "core/hist.h"
#include "model/scenario.h"

#define PST_REPORT_BATCHES       20 /* equal spans of time, for confidence intervals within one run */
#define PST_REPORT_POINTS        2048 /* of the course, at most */
#define PST_REPORT_DECISIONS_MAX 4096

struct pst_report_class {
    uint64_t arrived; /* tickets, a client's own retries not counted again */
    uint64_t
        outcomes[PST_OUTCOME_COUNT]; /* final ones: a refused client that came again has its last */
    uint64_t retried;                /* came again after a refusal */
    uint64_t in_target, in_deadline; /* done, and dispatched within target, max_wait */
    struct pst_hist wait, ttft;      /* ns; of those dispatched */
    struct {
        uint64_t count, sum_ns;
        uint64_t p99_ns;
    } batches[PST_REPORT_BATCHES]; /* of waits, by arrival */
};

/* One moment of the course. */
struct pst_report_point {
    pst_ns at;
    uint32_t queued[PST_CLASSES_MAX];
    uint32_t inflight, slots;
    uint32_t replicas[PST_REPLICA_STATE_COUNT];
    uint32_t desired;
    pst_ns worst_wait[PST_CLASSES_MAX]; /* of those dispatched since the last point */
};

struct pst_report_decision {
    pst_ns at;
    struct pst_scaler_action action; /* kind DECISION; of a peer: desired and before alone */
    bool peer;
};

struct pst_sim_report {
    pst_ns begin, end; /* measured span */
    struct pst_report_class classes[PST_CLASSES_MAX];
    uint64_t replica_ns[PST_REPLICA_STATE_COUNT]; /* all pools, in the measured span */
    uint64_t cost_micro;
    uint32_t ready_min, existing_max;
    uint64_t ups, downs, direction_changes, bursts; /* bursts: that began in the span */
    uint64_t killed_in_flight;
    uint64_t arrivals_total, events_total; /* whole run */
    uint64_t digest;                       /* of every action of gate and scaler */
    struct pst_report_point *points;
    uint32_t points_count;
    struct pst_report_decision *decisions; /* that changed the number, the latest kept */
    uint32_t decisions_count;
};

/* In the measure's unit: ns, counts, hours, ppm, currency. False: nothing to say (no ticket of it). */
bool pst_report_value(const struct pst_sim_report *report, const struct pst_scenario *scenario,
                      uint8_t class_, enum pst_measure measure, double *ret_value);
/*
 * Half-width of the 95 % confidence interval of the class's mean wait, or P99, by batch means: the
 * batches' values taken as independent, Student's t for as many. False: any other measure, P99 of all
 * classes together, fewer than two batches with tickets.
 */
bool pst_report_half_width(const struct pst_sim_report *report, uint8_t class_,
                           enum pst_measure measure, double *ret_half_width);
/* The same over the reports of several seeds (Student's t); count >= 2. */
bool pst_report_half_width_of_seeds(const double *values, uint32_t count, double *ret_mean,
                                    double *ret_half_width);
/*
 * Is the expectation met? reports[p] of policy p; NULL: it was not run, then nothing is said (true).
 * Where a report has nothing to say of the measure it is not met, and value or bound is negative.
 */
bool pst_report_meets(const struct pst_sim_report *const *reports,
                      const struct pst_scenario *scenario,
                      const struct pst_expectation *expectation, double *ret_value,
                      double *ret_bound);

#endif
