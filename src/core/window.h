/*
 * window.h - the last minute of a class, second by second.
 *
 * Why: the present rate is a mean over seconds, not the last one; and a second of which nothing is known
 * must not count as an idle one.
 *
 * Guarantee: fixed memory; adding is O(1), a mean O(seconds); exact. All zero is an empty one.
 */
#ifndef PST_CORE_WINDOW_H
#define PST_CORE_WINDOW_H

#include "pst.h"

#define PST_WINDOW_SECONDS 64
#define PST_WINDOW_GAP     UINT64_MAX

struct pst_window {
    uint64_t work[PST_WINDOW_SECONDS]; /* slot-time that came in that second, ns */
    uint32_t count;                    /* up to PST_WINDOW_SECONDS */
    uint32_t next;
};

/* The second that ended; PST_WINDOW_GAP: not known. */
void pst_window_add(struct pst_window *window, uint64_t work);
/* Slots that the work of so many seconds keeps busy, the last of them `ago` seconds ago; of known ones. */
double pst_window_mean_ago(const struct pst_window *window, uint32_t ago, uint32_t seconds);
/* … of the last seconds. */
double pst_window_mean(const struct pst_window *window, uint32_t seconds);
/* Was anything known `ago` seconds ago? The second that ended last is 0. */
bool pst_window_knows(const struct pst_window *window, uint32_t ago);

#endif
