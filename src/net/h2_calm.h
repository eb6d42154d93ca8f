/*
 * h2_calm.h - how much that is free to send may be sent: a bucket of tokens.
 *
 * Why: resets, pings and empty frames cost their sender nothing and us some work each. A client that is
 * merely busy sends them in bursts; one that floods sends them without end.
 *
 * Guarantee: within any t seconds at most burst + t * per_second are taken. Never fails, never allocates.
 */
#ifndef PST_NET_H2_CALM_H
#define PST_NET_H2_CALM_H

#include "pst.h"

struct pst_h2_calm {
    uint32_t tokens, burst, per_second;
    pst_ns at; /* tokens were counted */
};

void pst_h2_calm_init(struct pst_h2_calm *calm, uint32_t burst, uint32_t per_second, pst_ns now);
bool pst_h2_calm_take(struct pst_h2_calm *calm, pst_ns now); /* false: there is none left */
/* Work that was asked for brings its own. */
void pst_h2_calm_give(struct pst_h2_calm *calm, uint32_t tokens);

#endif
