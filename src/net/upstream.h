/*
 * upstream.h - calls to one replica over kept-alive connections.
 *
 * Why: a request must be sent as soon as the gate says so, on a connection that is already open, and a
 * client that leaves must be seen by the engine at once: cancel closes.
 *
 * Guarantee: end() comes exactly once per started call, unless cancelled; nothing is called after it.
 * Nothing is retried here. Responses are parsed strictly; a connection is reused only after a whole
 * answer with nothing behind it. Idle connections close after idle_timeout (below the engine's own).
 */
#ifndef PST_NET_UPSTREAM_H
#define PST_NET_UPSTREAM_H

#include "base/chain.h"
#include "net/head.h"
#include "net/loop.h"

struct pst_upstream;
struct pst_call;

enum pst_call_end {
    PST_CALL_DONE,         /* the whole answer was handed over */
    PST_CALL_REFUSED,      /* no connection: refused, unreachable, connect time-out */
    PST_CALL_RESET_REUSED, /* a reused connection died before any answer byte */
    PST_CALL_RESET,        /* reset, or closed before any answer byte, on a fresh one */
    PST_CALL_CUT,          /* closed inside the answer */
    PST_CALL_BAD_FRAMING,  /* not HTTP, or 101 */
    PST_CALL_END_COUNT
};

struct pst_call_handler {
    void (*head)(struct pst_call *call, const struct pst_head *head); /* 1xx are dropped before */
    void (*body)(struct pst_call *call, const char *data, size_t len);
    void (*end)(struct pst_call *call, enum pst_call_end how);
};

/* Embedded in the owner's request; zero before the first start. Fields are the room's own. */
struct pst_call {
    const struct pst_call_handler *handler;
    struct pst_upstream_connection *connection;
};

struct pst_upstream_config {
    const char *host; /* literal address or name: "10.0.0.1", "::1", "localhost" */
    uint16_t port;
    pst_ns connect_timeout;
    pst_ns idle_timeout;
    uint32_t idle_max;
    size_t head_max;
};

int pst_upstream_new(struct pst_loop *loop, const struct pst_upstream_config *config,
                     struct pst_upstream **ret_upstream);
/* Open calls end with RESET; then everything is freed. */
void pst_upstream_free(struct pst_upstream *upstream);
/* Other time-outs, for connections that are there too. */
void pst_upstream_retime(struct pst_upstream *upstream, pst_ns connect_timeout,
                         pst_ns idle_timeout);
/* "10.0.0.1:8000", "[::1]:8000": for the Host header. */
const char *pst_upstream_authority(const struct pst_upstream *upstream);

/*
 * Sends head then body. `head` is a whole request head, copied; `body` may be NULL and must live until
 * the call ends or is cancelled. fresh: never on a reused connection. end() may not come from inside.
 */
int pst_call_start(struct pst_upstream *upstream, struct pst_call *call, struct pst_slice head,
                   const struct pst_chain *body, bool fresh);
void pst_call_read(struct pst_call *call, bool on); /* off: the replica is held back */
void pst_call_cancel(struct pst_call *call);        /* closes; takes one that is not running */
bool pst_call_running(const struct pst_call *call);

/*
 * A whole small exchange: probes, commands. done() gets status 0 when nothing whole came (`how` says
 * why; a time-out is PST_CALL_CUT with timed_out). The body is bounded by body_max and ends with NUL.
 */
struct pst_fetch_result {
    uint16_t status;
    bool timed_out;
    enum pst_call_end how;
    struct pst_slice body;
};
struct pst_fetch;
int pst_fetch_start(struct pst_upstream *upstream, struct pst_loop *loop, struct pst_slice head,
                    struct pst_slice body, pst_ns timeout, size_t body_max,
                    void (*done)(void *user, const struct pst_fetch_result *result), void *user,
                    struct pst_fetch **ret_fetch);
void pst_fetch_cancel(struct pst_fetch *fetch);

#endif
