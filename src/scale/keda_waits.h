/*
 * keda_waits.h - P99 of what tickets waited in the last minutes, per pool and class.
 *
 * Why: metric cells only grow, so a quantile of them is of the whole life of the process and soon moves
 * no more. The difference to what they were some minutes ago is what a controller may act upon.
 *
 * Guarantee: the window is PST_KEDA_WAITS_KEPT x PST_KEDA_WAITS_STEP long, less at the start; fixed memory.
 * Within a bucket waits count as evenly spread; above the last bound they count as the bound. Nobody is
 * told that nothing waits while more than one ticket in a hundred still does: their age counts too.
 */
#ifndef PST_SCALE_KEDA_WAITS_H
#define PST_SCALE_KEDA_WAITS_H

#include "base/metric.h"
#include "core/gate.h"

#define PST_KEDA_WAITS_KEPT 12
#define PST_KEDA_WAITS_STEP (15 * PST_S)

struct pst_keda_waits_counts {
    uint32_t buckets[PST_METRIC_BOUNDS + 1]; /* modulo 2^32: differences are right */
};

/* All zero: nothing was seen yet. */
struct pst_keda_waits {
    pst_ns turned; /* when the newest was kept */
    uint32_t kept; /* how many there are */
    uint32_t next; /* is written next, the oldest when all are there */
    struct pst_keda_waits_counts now[PST_POOLS_MAX][PST_CLASSES_MAX];
    struct pst_keda_waits_counts past[PST_KEDA_WAITS_KEPT][PST_POOLS_MAX][PST_CLASSES_MAX];
};

/* Reads the cells of queue_wait_seconds; call it about once a second. */
void pst_keda_waits_note(struct pst_keda_waits *waits, const struct pst_metrics *metrics,
                         pst_ns now);
/* ms; UINT64_MAX: nothing waited. `queued` tickets wait now, the oldest of them for `oldest`. */
uint64_t pst_keda_waits_p99_ms(const struct pst_keda_waits *waits, uint16_t pool, uint8_t class_,
                               uint32_t queued, pst_ns oldest);

#endif
