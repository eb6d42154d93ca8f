/*
 * rpc_inside.h - what the files of rpc share: server and call.
 *
 * A call's walk. gone() is called when a call leaves CALLED by anything but pst_rpc_end():
 *
 *   READING --the message is whole--> CALLED --end() | deadline | drain--> ENDED --all sent | patience-->
 *      +------------- broken, deadline --------------------------------------^
 */
#ifndef PST_NET_RPC_INSIDE_H
#define PST_NET_RPC_INSIDE_H

#include "net/h2.h"
#include "net/output.h"
#include "net/rpc.h"
#include "net/rpc_figures.h"
#include "net/rpc_text.h"

#define PST_RPC_MESSAGE_BYTES 256 /* of an encoded grpc-message */

enum pst_rpc_state { PST_RPC_READING, PST_RPC_CALLED, PST_RPC_ENDED, PST_RPC_STATE_COUNT };

struct pst_rpc {
    struct pst_rpc_server *server;
    struct pst_h2_stream *stream;
    const struct pst_rpc_method *method;
    void *user;
    struct pst_timer timer;
    pst_ns until;    /* the client's deadline; PST_NEVER: none */
    pst_ns asked_at; /* the request was whole */
    uint8_t state;
    uint8_t prefix_len;
    uint8_t prefix[PST_RPC_PREFIX];
    bool responded;
    struct pst_output in;       /* the request's message as far as it came */
    struct pst_output out;      /* framed messages on their way */
    uint32_t leaving;           /* bytes of the message in `out` that has begun to leave */
    enum pst_rpc_status status; /* when ENDED */
    char *message;              /* encoded; NULL: none */
};

struct pst_rpc_server {
    struct pst_loop *loop;
    struct pst_rpc_config config;
    struct pst_h2_server *h2;
    struct pst_rpc_times times;
    uint64_t calls, failed;
    uint32_t open, streams;
    size_t in_bytes; /* of requests that are not whole, all calls together */
    bool draining;
};

/* rpc_call.c */
extern const struct pst_h2_handler pst_rpc_handler;

/* rpc_answer.c */
size_t pst_rpc_pull(struct pst_h2_stream *stream, char *into, size_t size, bool *ret_end);
/* An answer to what is no call of ours: trailers without a message. */
void pst_rpc_refuse(struct pst_h2_stream *stream, enum pst_rpc_status status, const char *message);
/* Ends a call from this side: the owner's gone() if it was called, then trailers. */
void pst_rpc_finish(struct pst_rpc *rpc, enum pst_rpc_status status, const char *message);
void pst_rpc_answered(struct pst_rpc *rpc); /* counts it, once, when it leaves READING or CALLED */

#endif
