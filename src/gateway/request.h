/*
 * request.h - a request in flight: what the gateway keeps from its head to its access record.
 *
 *   intake.c   head -> OFFER -> body -> ARRIVE
 *   forward.c  DISPATCH -> a call to the replica
 *   relay.c    the replica's answer -> FIRST, END; bytes to the client
 *   refuse.c   answers of our own
 *   request.c  FINISH -> the response's end, the record, and back to the free list
 *
 * A request has up to two lives outside the gateway, and ends when both have: its exchange (the
 * client's side; NULL once answered or gone) and its ticket (the gate's side, until FINISH).
 */
#ifndef PST_GATEWAY_REQUEST_H
#define PST_GATEWAY_REQUEST_H

#include "base/access.h"
#include "base/chain.h"
#include "codec/answer.h"
#include "codec/peek.h"
#include "core/gate.h"
#include "gateway/kept_head.h"
#include "gateway/route.h"
#include "net/server.h"
#include "net/upstream.h"

#define PST_REQUEST_PEER_MAX   48 /* an address as text */
#define PST_REQUEST_TIMING_MAX 40 /* "queue;dur=", 14 digits of milliseconds, three more */
#define PST_REQUEST_NAME_MAX   64 /* names kept for the record are cut there */

struct pst_gateway;

struct pst_name {
    char at[PST_REQUEST_NAME_MAX];
    uint8_t len;
};

struct pst_request {
    struct pst_gateway *gateway;
    struct pst_request *next_free;

    /* The client's side. */
    struct pst_exchange *exchange; /* NULL: answered, or the client left */
    const struct pst_route *route; /* of a static table, or of pools: never freed */
    char id[129];                  /* X-Request-Id */
    char *head; /* header lines to send upstream, without request line and Host */
    size_t head_len, head_auth_at; /* from there on: the client's own credentials */
    char *target;                  /* inside head's allocation */
    size_t target_len;
    uint64_t body_told; /* HELD said so many bytes */
    uint64_t content_length;
    struct pst_chain body;

    /* The gate's side. */
    struct pst_ticket_id ticket;
    bool ticketed;
    uint16_t pool;
    uint16_t tenant, model_number;
    uint32_t tenant_weight, model_weight; /* as they were: a reload may take either away */
    uint8_t class_, type;
    bool authenticated, labelled, client_retry, stream;
    uint32_t ttl_ms, flow_key;
    struct pst_access record; /* filled as things are known; its slices point in here */

    /* The running attempt. */
    uint32_t attempt; /* 0: none */
    uint16_t replica;
    pst_ns dispatched;
    struct pst_call call;
    char *held; /* answer bytes before the first byte that counts */
    size_t held_len, held_size;
    bool error_answer; /* a refusal or error status: held whole, judged at its end */
    bool oversized;    /* … and larger than may be held */
    bool begun;        /* FIRST was said */
    bool whole;        /* the replica's message ended as HTTP says it must */
    bool committed;    /* the client has seen a status line */
    bool paused;       /* the replica is held back by a slow client */
    bool events;       /* the response to the client is a stream of events */
    pst_ns last_event;
    struct pst_timer stall;
    struct pst_timer keepalive;

    struct pst_name model, tenant_name, claimed, path, replica_name, trace;
    char peer[PST_REQUEST_PEER_MAX];

    /* From here on nothing is cleared: each is set up before its use. */
    struct pst_peek peek;
    struct pst_answer answer;
    struct pst_kept_head kept;
};

/* request.c */
struct pst_request *pst_request_new(struct pst_gateway *gateway); /* NULL: no memory */
/* No response is owed and no ticket lives: record it, put it back. The pointer is invalid after. */
void pst_request_finished(struct pst_request *request);
/* An X-Request-Id of ours: no two gateways give the same. */
void pst_request_new_id(struct pst_gateway *gateway, char *id, size_t size);
/* The peer's address as text; "" for what has none. */
void pst_request_peer(const struct sockaddr *peer, char buffer[PST_REQUEST_PEER_MAX]);
/* The value of server-timing: how long it waited here. */
struct pst_slice pst_request_timing(const struct pst_request *request,
                                    char buffer[PST_REQUEST_TIMING_MAX]);
void pst_request_name(struct pst_name *name, struct pst_slice text);
/* The gate's word: FINISH. */
void pst_request_conclude(struct pst_request *request, const struct pst_gate_action *action);
/* Gives the ticket back: CANCEL. The FINISH that follows ends the request. */
void pst_request_cancel(struct pst_request *request);

/* intake.c: handlers of the server. */
extern const struct pst_server_handler pst_intake_handler;

/* forward.c */
void pst_forward_dispatch(struct pst_request *request, const struct pst_gate_action *action);
/* Header lines of the head that go upstream; PST_E_NOMEM, PST_E_FULL. */
int pst_forward_keep_head(struct pst_request *request, const struct pst_head *head);

/* relay.c */
extern const struct pst_call_handler pst_relay_handler;
void pst_relay_reset(struct pst_request *request);   /* forget the attempt's answer */
void pst_relay_close(struct pst_request *request);   /* CLOSE: the gate ended the attempt */
void pst_relay_drained(struct pst_request *request); /* the client took its bytes */
void pst_relay_pass_on(struct pst_request *request); /* the held error answer goes to the client */
/* After a committed response failed: in-band where that is possible, else the connection breaks. */
void pst_relay_break(struct pst_request *request, enum pst_reason reason);
/* Status line, headers of the kept answer and ours. */
void pst_relay_respond(struct pst_request *request);

/* keepalive.c: comments on a waiting stream. */
void pst_keepalive_start(struct pst_request *request);
void pst_keepalive_stop(struct pst_request *request);

/* refuse.c: answers of our own. Each sends, ends the exchange and notes the record's status. */
struct pst_refusal {
    uint16_t status;
    const char *type;    /* OpenAI's error type */
    const char *code;    /* machine-readable */
    const char *message; /* what was wrong, and what to do */
    const char *param;   /* NULL: null */
    const char *dropped; /* x-llm-d-request-dropped-reason; NULL: not sent */
    int8_t retry;        /* x-should-retry: 1 true, 0 false, -1 not said */
    uint32_t retry_after_ms;
};
void pst_refuse(struct pst_request *request, const struct pst_refusal *refusal);
/* What FINISH's reason means to a client that has seen nothing yet. */
void pst_refuse_finished(struct pst_request *request, enum pst_reason reason,
                         uint32_t retry_after_ms);
/* For what the server refuses by itself: a word for the status, and the body around `why`. */
const char *pst_refuse_code(uint16_t status);
size_t pst_refuse_body(uint16_t status, const char *why, char *buffer, size_t size);
/* An event in a stream, in the route's own shape. Returns its length. */
size_t pst_refuse_event(const struct pst_route *route, const struct pst_refusal *refusal,
                        char *buffer, size_t size);
/* The reason as error words. */
struct pst_refusal pst_refuse_words(const struct pst_gateway *gateway, enum pst_reason reason,
                                    uint32_t retry_after_ms);

#endif
