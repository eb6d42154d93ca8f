/*
 * backoff.h - starts that fail are not asked for again and again.
 *
 * Why: where there is no quota, or an image is broken, each try fails as the last one did; a try a second
 * would bury whoever hands out replicas, and find nothing out.
 *
 * Guarantee: after a failure no start is asked for for 5 s, doubling to 5 min; then one at a time until
 * one succeeds. Failures of starts that were asked for together count once.
 */
#ifndef PST_CORE_BACKOFF_H
#define PST_CORE_BACKOFF_H

#include "pst.h"

#define PST_BACKOFF_FIRST (5 * PST_S)
#define PST_BACKOFF_MAX   (300 * PST_S)

/* All zero: nothing failed. */
struct pst_backoff {
    pst_ns until;
    pst_ns failed_at;
    pst_ns wait; /* the last one; 0: nothing failed since a success */
    bool wall;   /* it failed for want of quota: being had at all is success */
};

/* A start that was asked for at that time failed. */
void pst_backoff_failed(struct pst_backoff *backoff, pst_ns asked_at, bool quota, pst_ns now);
/* A replica came into being (created), or became ready. */
void pst_backoff_created(struct pst_backoff *backoff);
void pst_backoff_succeeded(struct pst_backoff *backoff);
/* How many may be asked for; UINT32_MAX: no bound. trying: starts still open, asked for after a failure. */
uint32_t pst_backoff_allows(const struct pst_backoff *backoff, uint32_t trying, pst_ns now);

#endif
