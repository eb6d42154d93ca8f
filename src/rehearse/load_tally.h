/*
 * load_tally.h - what became of the requests, class by class.
 *
 * Every request of the measured time is in exactly one of completed, refused, expired, failed and
 * unfinished; their sum is sent. Times are from the intended moment of sending, so that a generator or a
 * server that falls behind cannot hide it ("coordinated omission").
 */
#ifndef PST_REHEARSE_LOAD_TALLY_H
#define PST_REHEARSE_LOAD_TALLY_H

#include "core/hist.h"
#include "net/upstream.h"
#include "rehearse/load_mix.h"

#define PST_LOAD_STATUS_MAX 600

enum pst_load_outcome {
    PST_LOAD_COMPLETED,
    PST_LOAD_REFUSED,
    PST_LOAD_EXPIRED,
    PST_LOAD_FAILED,
    PST_LOAD_UNFINISHED,
    PST_LOAD_OUTCOME_COUNT
};

struct pst_load_class {
    char name[PST_LOAD_NAME_MAX]; /* "-": without a class */
    uint64_t sent;
    uint64_t outcomes[PST_LOAD_OUTCOME_COUNT];
    uint64_t refused_bare; /* refused without Retry-After */
    uint64_t retries;
    uint64_t tokens_in, tokens_out;
    struct pst_hist wait_told;  /* ns; what the gateway says: server-timing queue */
    struct pst_hist wait_seen;  /* ns; first byte - intended - the engine's service time */
    struct pst_hist wait_apart; /* ns; |told - seen| */
    struct pst_hist first;      /* ns; time to first token or byte */
    struct pst_hist between;    /* ns; between tokens of streams */
    struct pst_hist total;      /* ns */
};

struct pst_load_tally {
    struct pst_load_class *classes;
    size_t classes_count;
    uint64_t statuses[PST_LOAD_STATUS_MAX]; /* of failed ones */
    uint64_t ends[PST_CALL_END_COUNT];      /* of failed ones without a whole answer */
    uint64_t broken_streams;                /* an error event, or no end event */
    uint64_t unmeasured;                    /* of the warm-up */
    struct pst_hist late;                   /* ns; sent - intended */
    pst_ns measured;                        /* how long */
    uint64_t in_flight_max;
    uint64_t reconnects; /* sent again: the kept-alive connection had just closed */
};

int pst_load_tally_init(struct pst_load_tally *tally, const struct pst_load_traffic *mix,
                        size_t mix_count);
void pst_load_tally_done(struct pst_load_tally *tally);
/* The class of that name; there is one for every traffic. */
struct pst_load_class *pst_load_tally_class(struct pst_load_tally *tally, const char *name);
const char *pst_load_outcome_name(enum pst_load_outcome outcome);

#endif
