/*
 * load_request.h - inside of the generator: one request from its planned moment to its outcome.
 *
 *   due --connection free--> in flight --answer--> outcome
 *    |  ^                        |
 *    |  +------ Retry-After -----+ refused, and retries are left
 *    +-- waits in the generator while connections_max are in flight
 */
#ifndef PST_REHEARSE_LOAD_REQUEST_H
#define PST_REHEARSE_LOAD_REQUEST_H

#include "base/chain.h"
#include "net/upstream.h"
#include "rehearse/load_run.h"
#include "base/text.h"

struct pst_load_request {
    struct pst_call call;
    struct pst_load_run *run;
    struct pst_load_request *next, *previous; /* of all that are open */
    struct pst_load_request *next_waiting;
    struct pst_load_arrival arrival;
    uint64_t number;
    uint32_t tries;
    bool in_flight, reconnected;
    bool events;      /* the answer is a stream */
    bool ttl_expired; /* says the refusal */
    bool may_retry;   /* there is a Retry-After */
    uint16_t status;
    pst_ns intended, sent, first, last_event;
    pst_ns retry_after;
    pst_ns wait_told, engine_service; /* PST_NEVER: not said */
    struct pst_timer retry_timer;
    struct pst_chain body;
    struct pst_answer answer;
};

struct pst_load_run {
    struct pst_loop *loop;
    struct pst_load_config config;
    struct pst_upstream *upstream;
    struct pst_load_tally tally;
    struct pst_load_class **class_of; /* of each traffic */
    struct pst_load_request *open, *waiting_first, *waiting_last;
    uint64_t in_flight, waiting, sent;
    uint64_t outcomes[PST_LOAD_OUTCOME_COUNT];
    pst_ns start, finish; /* finish: when the last one got its outcome */
    struct pst_load_arrival next_arrival;
    bool has_next, stopped;
    struct pst_timer plan_timer, drain_timer;
    struct pst_text head, text;
};

/* load_body.c: the bytes of a request. The body's chain is filled, the head is in run->head. */
int pst_load_compose(struct pst_load_run *run, struct pst_load_request *request);

/* load_answer.c: what comes back. */
extern const struct pst_call_handler pst_load_call_handler;
void pst_load_answer_reset(struct pst_load_request *request);

/* load_run.c */
void pst_load_request_ended(struct pst_load_request *request, enum pst_call_end how);

/* load_account.c */
enum pst_load_outcome pst_load_outcome_of(const struct pst_load_request *request,
                                          enum pst_call_end how);
void pst_load_account(struct pst_load_request *request, enum pst_load_outcome outcome,
                      enum pst_call_end how, pst_ns now);
void pst_load_record_header(FILE *file);

#endif
