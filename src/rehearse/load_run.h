/*
 * load_run.h - the open-loop generator: sends by plan, whatever the server does, and keeps account.
 *
 * Why: what a user waits is counted from the moment the request was meant to be sent. A generator that
 * waits for answers before it sends more measures its own politeness.
 *
 * Guarantee: every planned request of the duration is sent once (or again after a refusal, if retries
 * are asked for, or once more when a kept-alive connection had just closed) and counted once. How late
 * the sends themselves were is reported: a generator that cannot keep up shows.
 */
#ifndef PST_REHEARSE_LOAD_RUN_H
#define PST_REHEARSE_LOAD_RUN_H

#include <stdio.h>

#include "net/loop.h"
#include "rehearse/load_plan.h"
#include "rehearse/load_tally.h"

struct pst_load_run;

struct pst_load_config {
    const char *host;
    uint16_t port;
    const struct pst_load_traffic *mix;
    size_t mix_count;
    struct pst_load_plan *plan; /* the caller's */
    pst_ns duration;            /* arrivals after it are not sent */
    pst_ns warmup;              /* arrivals before it are sent and not counted */
    pst_ns drain;               /* how long to wait for the last answers */
    uint64_t seed;              /* of request ids */
    uint32_t connections_max;   /* in flight; what is due beyond waits here, and its clock runs */
    uint32_t retries_max;       /* of a refused request, after its Retry-After */
    FILE *record;               /* a CSV line per request; may be NULL */
    void (*ended)(void *user);  /* all is answered; not from inside new() */
    void *user;
};

/* What can be seen while it runs. */
struct pst_load_progress {
    pst_ns elapsed;
    uint64_t sent, in_flight, waiting;
    uint64_t outcomes[PST_LOAD_OUTCOME_COUNT]; /* the warm-up too */
};

int pst_load_run_new(struct pst_loop *loop, const struct pst_load_config *config,
                     struct pst_load_run **ret_run);
void pst_load_run_free(struct pst_load_run *run); /* takes NULL */
/* Ends now: what is in flight is unfinished. ended() is not called. */
void pst_load_run_stop(struct pst_load_run *run);
void pst_load_run_progress(const struct pst_load_run *run, struct pst_load_progress *ret_progress);
const struct pst_load_tally *pst_load_run_tally(const struct pst_load_run *run);

#endif
