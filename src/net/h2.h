/*
 * h2.h - an HTTP/2 server: connections in, one stream for each request, with or without TLS.
 *
 * Why: frames, HPACK and windows are nghttp2's. Here is what it leaves open: sockets and the loop, who is
 * closed when, what a connection may cost, and one buffer a turn to write from. It knows nothing of gRPC.
 *
 * A stream's walk: head() once, with all header lines; body()… and body_end() as the request arrives (the
 * windows open again as it is told). The owner answers with respond(), at once or later. A body is not
 * pushed but pulled, when window and socket have room for it, so that what goes out is what is true then:
 * pull() returns 0 while it has nothing, and ready() has it asked again. closed() comes last.
 *
 * Guarantee: closed() is called once for every stream that head() was called for, whichever side ended it,
 * and never from inside a function of this header, server_free() excepted; the stream is invalid after it.
 * Bounded: streams of a connection, and of all; connections; the header list (431 beyond); the time of a
 * handshake, a header block, an idle connection and a write without progress; resets of young streams, and
 * frames that carry nothing (ping, settings, empty data …). Of what was answered at most 64 KiB and the
 * frame in hand wait for a full socket, which is not read from meanwhile.
 * A turn's frames leave in one write. Not thread-safe: one owner, one loop.
 *
 * Source: RFC 9113; section 10.5 for what must be bounded.
 */
#ifndef PST_NET_H2_H
#define PST_NET_H2_H

#include "net/head.h"
#include "net/loop.h"
#include "net/tls.h"

struct pst_h2_server;
struct pst_h2_stream;

/* Slices live as long as the callback that got them. */
struct pst_h2_head {
    struct pst_slice method, scheme, authority, path;
    const struct pst_header *headers; /* without the above; names in lower case */
    size_t count;
};

struct pst_h2_handler {
    void (*head)(struct pst_h2_stream *stream, const struct pst_h2_head *head);
    void (*body)(struct pst_h2_stream *stream, const char *data, size_t len);
    void (*body_end)(struct pst_h2_stream *stream);
    /* Up to `size` bytes of the response's body. At its end, which may come with bytes: *ret_end, after
     * pst_h2_trailers() if there are any. Calls nothing else of this header. */
    size_t (*pull)(struct pst_h2_stream *stream, char *into, size_t size, bool *ret_end);
    /* The server drains: what would not end by itself should. */
    void (*drain)(struct pst_h2_stream *stream);
    void (*closed)(struct pst_h2_stream *stream);
};

struct pst_h2_config {
    const struct pst_h2_handler *handler;
    void *user;                  /* pst_h2_server_user */
    struct pst_tls_context *tls; /* NULL: plaintext with prior knowledge; borrowed */
    size_t head_max;             /* of a header list as RFC 9113 counts it: 32 bytes more a line */
    uint32_t streams_max;        /* of a connection; all of them together: twice as many */
    uint32_t connections_max;    /* at it the idlest one without a stream goes */
    pst_ns idle_timeout;         /* of a connection without a stream, a handshake, a header block */
    pst_ns write_stall;
};

/* The config is copied. */
int pst_h2_server_new(struct pst_loop *loop, const struct pst_h2_config *config,
                      struct pst_h2_server **ret_server);
int pst_h2_server_listen(struct pst_h2_server *server, const char *address); /* as pst_listener */
uint16_t pst_h2_server_port(const struct pst_h2_server *server); /* of the first listener */
uint32_t pst_h2_server_connections(const struct pst_h2_server *server);
/* No more connections; GOAWAY to those there are, which close when their streams have ended. */
void pst_h2_server_drain(struct pst_h2_server *server);
void pst_h2_server_free(struct pst_h2_server *server); /* takes NULL; closed() for open streams */

void *pst_h2_server_user(const struct pst_h2_stream *stream);
void pst_h2_set_user(struct pst_h2_stream *stream, void *user);
void *pst_h2_user(const struct pst_h2_stream *stream);

/*
 * The response's head, once. With a body it is pulled from now on. If the request has not ended when the
 * response has, the client is told to stop sending (RST_STREAM, NO_ERROR).
 */
void pst_h2_respond(struct pst_h2_stream *stream, uint16_t status, const struct pst_header *headers,
                    size_t count, bool body);
void pst_h2_ready(struct pst_h2_stream *stream);
void pst_h2_trailers(struct pst_h2_stream *stream, const struct pst_header *headers, size_t count);
/* The response cannot be made whole, or nobody takes it. */
void pst_h2_reset(struct pst_h2_stream *stream);

#endif
