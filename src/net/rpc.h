/*
 * rpc.h - a gRPC server: calls in, messages out, over HTTP/2 with or without TLS.
 *
 * Why: KEDA asks by gRPC. Streams, flow control and HPACK are nghttp2's, messages are protobuf-c's; here
 * is what lies between: five-byte frames, trailers, deadlines, and who may hold how much.
 *
 * A call's walk: the whole request message arrives (<= message_max), then called() is called once. The
 * owner answers with pst_rpc_send() and pst_rpc_end(), at once or later; a stream of the server's own
 * may send for hours. gone() says that the client left or reset; the call is dead then.
 *
 * Guarantee: exactly one of end() by the owner or gone() by the server ends a call. A request that is not
 * whole within request_max, and a unary call that is not ended within deadline_max of that, are ended
 * DEADLINE_EXCEEDED here (gone() is called if called() was); any call is at the client's grpc-timeout. A slow
 * reader of pst_rpc_latest() holds one value: what has not left yet is replaced. Unknown paths get
 * UNIMPLEMENTED, a compressed or broken frame its status, and the connection lives on.
 * SETTINGS_MAX_CONCURRENT_STREAMS is streams_max; connections, header bytes, resets and pings a second are
 * bounded. Memory per parked stream: < 8 KiB.
 * Not thread-safe: one owner, one loop.
 *
 * Source: "gRPC over HTTP2" (PROTOCOL-HTTP2.md of gRPC) for paths, frames, statuses, time-outs.
 */
#ifndef PST_NET_RPC_H
#define PST_NET_RPC_H

#include "base/slice.h"
#include "net/loop.h"
#include "net/tls.h"

struct pst_rpc_server;
struct pst_rpc;

enum pst_rpc_status {
    PST_RPC_OK = 0,
    PST_RPC_CANCELLED = 1,
    PST_RPC_UNKNOWN = 2,
    PST_RPC_INVALID_ARGUMENT = 3,
    PST_RPC_DEADLINE_EXCEEDED = 4,
    PST_RPC_NOT_FOUND = 5,
    PST_RPC_RESOURCE_EXHAUSTED = 8,
    PST_RPC_UNIMPLEMENTED = 12,
    PST_RPC_INTERNAL = 13,
    PST_RPC_UNAVAILABLE = 14,
};

struct pst_rpc_method {
    const char *path; /* "/externalscaler.ExternalScaler/IsActive" */
    bool streams;     /* the server's answers are a stream, without a deadline of ours */
    void (*called)(struct pst_rpc *rpc, struct pst_slice message);
    void (*gone)(struct pst_rpc *rpc);
};

struct pst_rpc_config {
    const struct pst_rpc_method *methods; /* lives as long as the server */
    size_t methods_count;
    void *user;                  /* pst_rpc_server_user */
    struct pst_tls_context *tls; /* NULL: plaintext; borrowed */
    size_t message_max;
    pst_ns request_max;       /* from a call's head to its whole message; 0: deadline_max */
    pst_ns deadline_max;      /* from there to its end, unless it is a stream */
    uint32_t streams_max;     /* of a connection; >= 65,536 for us */
    uint32_t connections_max; /* at it the idlest one without a stream goes */
    pst_ns idle_timeout;      /* of a connection without a stream, and of a handshake */
};

/* How long answers took: from the turn that read the end of the request to the answer queued. */
struct pst_rpc_figures {
    uint64_t calls, failed; /* ended; of them not OK */
    uint64_t p50_us, p99_us, max_us;
    uint32_t open, streams, connections; /* now */
};

int pst_rpc_server_new(struct pst_loop *loop, const struct pst_rpc_config *config,
                       struct pst_rpc_server **ret_server);
int pst_rpc_server_listen(struct pst_rpc_server *server, const char *address);
uint16_t pst_rpc_server_port(const struct pst_rpc_server *server);
/*
 * GOAWAY; streams of the server's end with OK trailers (gone() is called), unary calls with their answer;
 * then each connection is closed, and figures say 0 of them when all are.
 */
void pst_rpc_server_drain(struct pst_rpc_server *server);
void pst_rpc_server_figures(const struct pst_rpc_server *server,
                            struct pst_rpc_figures *ret_figures);
void pst_rpc_server_free(struct pst_rpc_server *server); /* takes NULL; gone() for open calls */

void *pst_rpc_server_user(const struct pst_rpc *rpc);
void pst_rpc_set_user(struct pst_rpc *rpc, void *user);
void *pst_rpc_user(const struct pst_rpc *rpc);

/* Copied. Of a unary call at most one. PST_E_FULL: the client of a stream takes too little (256 KiB). */
int pst_rpc_send(struct pst_rpc *rpc, struct pst_slice message);
/* Of a stream: the same, in place of what has not begun to leave. */
int pst_rpc_latest(struct pst_rpc *rpc, struct pst_slice message);
/* Trailers; `message` may be NULL. */
void pst_rpc_end(struct pst_rpc *rpc, enum pst_rpc_status status, const char *message);

#endif
