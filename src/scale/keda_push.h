/*
 * keda_push.h - when the streams of a pool are told that it is active, and when that it is not.
 *
 * Why: a pushed `true` starts the first replica, and may be lost behind our back (KEDA's update can
 * conflict); a pushed `false` deactivates the target at once in some versions and does nothing in others.
 *
 *   QUIET --active--> ACTIVE: `true` at once, and again after 1, 2, 4 … 30 s while no replica is there
 *   ACTIVE --idle for `hold`--> QUIET: `false` once; what became active before that is told nothing
 *
 * Guarantee: between two `false` lies a `true`; `false` comes only after the pool was known to be idle
 * for the whole of `hold`. What is not known changes nothing, and idleness is counted anew after it. Pure.
 */
#ifndef PST_SCALE_KEDA_PUSH_H
#define PST_SCALE_KEDA_PUSH_H

#include "pst.h"

#define PST_KEDA_PUSH_AGAIN_LEAST (1 * PST_S)
#define PST_KEDA_PUSH_AGAIN_MOST  (30 * PST_S)
#define PST_KEDA_PUSH_HOLD_LEAST  (5 * PST_S)

enum pst_keda_say { PST_KEDA_SAY_NOTHING, PST_KEDA_SAY_TRUE, PST_KEDA_SAY_FALSE };

/* All zero: nothing is known yet. */
struct pst_keda_push {
    enum pst_keda_say said; /* last */
    bool known;             /* at the last step */
    bool idles;
    pst_ns idle_since;
    pst_ns again_at, again_after; /* again_after 0: there are replicas, nothing is told again */
};

struct pst_keda_push_input {
    bool known, active;
    bool staffed; /* there is a replica, in whatever state */
    pst_ns hold;  /* at least PST_KEDA_PUSH_HOLD_LEAST is taken */
};

/* What all streams of the pool are to be told now. */
enum pst_keda_say pst_keda_push_step(struct pst_keda_push *push,
                                     const struct pst_keda_push_input *input, pst_ns now);

/* What a new stream is told first: the last word. `false` is none while nothing is known. */
enum pst_keda_say pst_keda_push_first(const struct pst_keda_push *push);

#endif
