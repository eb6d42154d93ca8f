/*
 * upstream_connection.h - inside of upstream.h: one connection to a replica and the pool it belongs to.
 *
 *   CONNECTING --writable--> BUSY --whole answer, all sent, keep-alive--> IDLE --next call--> BUSY
 *       |                     |                                            |
 *       | refused, time-out   | any other end, cancel                      | any event, idle_timeout
 *       v                     v                                            v
 *     closed                closed                                       closed
 *
 * Files: upstream.c owns the pool, http1_client.c moves the bytes of a call.
 */
#ifndef PST_NET_UPSTREAM_CONNECTION_H
#define PST_NET_UPSTREAM_CONNECTION_H

#include "net/address.h"
#include "net/http1_parse.h"
#include "net/output.h"
#include "net/upstream.h"

#define PST_UPSTREAM_ADDRESSES_MAX 4

enum pst_upstream_state {
    PST_UPSTREAM_CONNECTING,
    PST_UPSTREAM_BUSY,
    PST_UPSTREAM_IDLE,
    PST_UPSTREAM_CLOSED,
    PST_UPSTREAM_STATE_COUNT
};

struct pst_upstream_connection {
    struct pst_io io;
    struct pst_later later; /* a failure found while the call was being started */
    struct pst_upstream *upstream;
    struct pst_upstream_connection *next, *previous; /* in the pool's list of its state */
    struct pst_call *call;                           /* NULL: idle, or cancelled */
    struct pst_http1 http;
    struct pst_output head; /* of the request, as far as it is not sent */
    const struct pst_chain *body;
    struct pst_chain_cursor cursor; /* into the body: sent so far */
    char *input;                    /* an answer's head that is not whole yet */
    size_t input_len, input_size;
    pst_ns since; /* connecting or idle */
    uint8_t state;
    uint8_t address; /* index of the one tried */
    uint8_t entered; /* callbacks running: not to be freed */
    bool head_method;
    bool reused;
    bool reading;
    bool answered;  /* at least one byte of an answer came */
    bool head_told; /* the final head was handed over */
    bool send_failed;
};

/* Ordered by `since`: the newest first. */
struct pst_upstream_list {
    struct pst_upstream_connection *first, *last;
    uint32_t count;
};

struct pst_upstream {
    struct pst_loop *loop;
    struct pst_upstream_config config; /* host: not kept */
    struct pst_upstream_list list[PST_UPSTREAM_CLOSED];
    struct pst_timer timer; /* lazy: oldest connecting or idle one */
    struct pst_address addresses[PST_UPSTREAM_ADDRESSES_MAX];
    size_t addresses_count;
    size_t address_good; /* the one that worked last */
    char *authority;
    bool closing;
    struct pst_http1_head_room room;
};

/* upstream.c */
void pst_upstream_move(struct pst_upstream_connection *c, enum pst_upstream_state state);
void pst_upstream_close(struct pst_upstream_connection *c); /* freed when no callback runs */
/* Opens a socket to the c->address-th address and starts to connect. PST_E_SYSTEM. */
int pst_upstream_connect(struct pst_upstream_connection *c);

/* http1_client.c */
void pst_client_ready(struct pst_io *io, uint32_t events);
void pst_client_later(struct pst_later *later);
void pst_client_begin(struct pst_upstream_connection *c, struct pst_call *call,
                      struct pst_slice head, const struct pst_chain *body);
void pst_client_end(struct pst_upstream_connection *c, enum pst_call_end how); /* closes */

#endif
