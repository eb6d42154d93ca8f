/*
 * envelope.h - the slots that the bursts of the last hour would have needed.
 *
 * Why: a class that cannot wait for a replica to start is served by what is there when its burst comes,
 * or not in time. Bursts recur: what the last hour brought is kept ready for the next. A burst of 2 s
 * and a drift over 5 minutes ask for different numbers, so every length of window is looked at.
 *
 *   slots = max over w of (largest work in any window of w seconds, of the last hour) / (w + patience)
 *
 * The aim is a quantile: of all work of the hour a share may be late, and the largest bursts may exceed
 * the envelope by that much in all. So the least slots are taken for which
 *
 *   sum over minutes of max over w of (largest work in a window of w - slots x (w + patience))+ <= share x work
 *
 * patience: the wait that is aimed for, and the mean residual service time, for which what was begun in
 * time still runs. Work that fits a window plus its patience was served in time.
 *
 * Guarantee: fixed memory; O(windows) per second. Windows are 12 of 1 … 300 s; the hour is kept minute
 * by minute, so a maximum is forgotten after 60 to 61 minutes. Unknown seconds are left out: they age
 * nothing.
 * Source: the arrival envelope of network calculus (Le Boudec & Thiran, "Network Calculus", 1.2).
 */
#ifndef PST_CORE_ENVELOPE_H
#define PST_CORE_ENVELOPE_H

#include "pst.h"

#define PST_ENVELOPE_WINDOWS 12
#define PST_ENVELOPE_LONGEST 300 /* seconds */
#define PST_ENVELOPE_MINUTES 60

/* All zero is an empty one. */
struct pst_envelope {
    uint64_t total;                            /* work since the beginning, modulo 2^64 */
    uint64_t totals[PST_ENVELOPE_LONGEST + 1]; /* … at the end of each of the last seconds */
    uint32_t seconds;                          /* seen; up to PST_ENVELOPE_LONGEST */
    uint32_t at;                               /* of `total` in `totals` */
    uint32_t second;                           /* of the minute that runs */
    uint32_t minute;                           /* where it goes in `minutes` */
    uint64_t running[PST_ENVELOPE_WINDOWS];    /* largest of the minute that runs */
    uint64_t hour[PST_ENVELOPE_WINDOWS];       /* largest of the minutes before it */
    uint64_t minutes[PST_ENVELOPE_MINUTES][PST_ENVELOPE_WINDOWS];
    uint64_t running_work;                /* of the minute that runs */
    uint64_t works[PST_ENVELOPE_MINUTES]; /* of the minutes before it */
};

/* A second that ended: the slot-time that came in it, ns. */
void pst_envelope_add(struct pst_envelope *envelope, uint64_t work);
/* Slots, when such a share of the work may be late; 0 of nothing. O(minutes x windows). */
double pst_envelope_slots(const struct pst_envelope *envelope, pst_ns patience, double late_share);

#endif
