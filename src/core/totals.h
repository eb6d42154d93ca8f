/*
 * totals.h - what came, what was refused and what was served, in one pool since the beginning.
 *
 * Why: the scaler must see demand that the queue did not take, and must not be led by it: a client that
 * tries again is no new demand, and one tenant's flood is not worth more replicas than its share of
 * them. Nothing here is read by the policy.
 *
 * Guarantee: of the work that one flow had refused in a second no more is counted than its weight's share
 * of all that was offered to the pool in that second; for that the second is counted when it is over.
 * Flows that share a cell by hash count as one. O(1), and O(cells) once a second. Sums are modulo 2^64:
 * differences are right.
 */
#ifndef PST_CORE_TOTALS_H
#define PST_CORE_TOTALS_H

#include "core/gate.h"

#define PST_TOTALS_CELLS 64

/* A flow, or several of the same hash, in the second that runs. */
struct pst_totals_cell {
    uint64_t second; /* the last in which it was seen */
    uint32_t weight; /* percent */
    uint32_t refused[PST_CLASSES_MAX];
    uint64_t refused_work[PST_CLASSES_MAX];
};

/* All zero is a fresh one. */
struct pst_totals {
    struct pst_gate_class_totals classes[PST_CLASSES_MAX]; /* refused: of seconds that are over */
    struct pst_gate_pool_totals pool;
    uint64_t second;  /* that runs, from 1 */
    uint64_t weights; /* of the cells seen in it */
    uint64_t offered; /* work, in it */
    bool refusing;    /* something was refused in it */
    struct pst_totals_cell cells[PST_TOTALS_CELLS];
};

/* One ticket, as it is judged. */
struct pst_totals_ticket {
    pst_ns work; /* estimated slot-time */
    uint32_t flow;
    uint32_t weight; /* of the flow, percent; 0: 100 */
    uint8_t class_;
};

void pst_totals_admitted(struct pst_totals *totals, const struct pst_totals_ticket *ticket,
                         pst_ns now);
/* For want of capacity. */
void pst_totals_refused(struct pst_totals *totals, const struct pst_totals_ticket *ticket,
                        pst_ns now);
/* Its waiting is over: it goes to a replica for the first time, or expired. */
void pst_totals_waited(struct pst_totals *totals, uint8_t class_, bool late);
/* An attempt ended by itself. */
void pst_totals_ended(struct pst_totals *totals, bool done, pst_ns slot_time);

/* The class's totals at @now. */
void pst_totals_class(const struct pst_totals *totals, uint8_t class_, pst_ns now,
                      struct pst_gate_class_totals *ret_totals);

#endif
