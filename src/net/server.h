/*
 * server.h - listeners and the requests that come in: one exchange is one request and its response.
 *
 * Why: the relay must not know which HTTP it speaks. HTTP/1.0 and 1.1 now; others implement the same
 * exchange.
 *
 * An exchange's walk: head() is called when a head was read and judged well-formed (a malformed one is
 * answered 400/413/431/501/505 here, and the connection closed); the owner answers later or at once.
 * No body byte is read before pst_exchange_read(x, true), which also sends 100 Continue if that was
 * asked for and nothing was answered. body() hands decoded bytes, body_end() ends them; after a read(x,
 * true) body_end() comes for a request without a body too. The response is
 * respond(), write()…, end(). gone() says that the client left (half-closed, reset, or did not read for
 * `write_stall`); the exchange is dead then. broken() says that the request's body broke framing or a
 * time-out, before anything was answered.
 *
 * Guarantee: exactly one of end(), abort() by the owner or gone() by the server ends an exchange; after
 * it the pointer is invalid. Callbacks may call any function here, end() and abort() included.
 * Memory of an exchange: its head (<= head_max) only until head() returns; output beyond the socket's
 * buffer is copied and bounded by the owner, who stops reading while pending > high water.
 */
#ifndef PST_NET_SERVER_H
#define PST_NET_SERVER_H

#include <sys/socket.h>

#include "net/head.h"
#include "net/loop.h"

struct pst_server;
struct pst_exchange;

struct pst_server_handler {
    void (*head)(struct pst_exchange *x, const struct pst_head *head);
    void (*body)(struct pst_exchange *x, const char *data, size_t len);
    void (*body_end)(struct pst_exchange *x);
    void (*drained)(struct pst_exchange *x); /* pending output fell to low water or below */
    void (*gone)(struct pst_exchange *x);
    /* respond() and end() at once, with this status. NULL: the server answers, after gone(). */
    void (*broken)(struct pst_exchange *x, uint16_t status, const char *why);
    /*
     * Where the next bytes of a body of known length shall be read to; body() is then given them where
     * they lie. Optional, and may return NULL: they are read into a buffer of the server's.
     */
    char *(*body_room)(struct pst_exchange *x, size_t *ret_size);
};

#define PST_SERVER_ID_BYTES 64

struct pst_server_config {
    const struct pst_server_handler *handler;
    void *user;               /* pst_exchange_server_user */
    size_t head_max;          /* >= 32 KiB by default; beyond: 431 */
    uint32_t connections_max; /* at it the idlest one goes, and answers say Connection: close */
    pst_ns head_timeout;      /* first byte of a head to its end; 408 */
    pst_ns body_timeout;      /* silence inside a body that we want to read; 408 */
    pst_ns idle_timeout;      /* keep-alive, default 75 s or more */
    pst_ns write_stall;       /* pending output without progress */
    size_t low_water;         /* bytes */
    /*
     * Told of every refusal made here, before any exchange exists; may be NULL. What it leaves in `id`
     * goes out as X-Request-Id.
     */
    void (*refused)(void *user, uint16_t status, const char *why, const struct sockaddr *peer,
                    char id[static PST_SERVER_ID_BYTES]);
    /* Renders the JSON body of a refusal made here; NULL: an empty body. Returns its length. */
    size_t (*error_body)(uint16_t status, const char *why, char *buffer, size_t size);
};

/* `address`: "127.0.0.1:8080", "[::]:8080"; port 0 picks one. The config is copied. */
int pst_server_new(struct pst_loop *loop, const struct pst_server_config *config,
                   struct pst_server **ret_server);
int pst_server_listen(struct pst_server *server, const char *address);
uint16_t pst_server_port(const struct pst_server *server); /* of the first listener */
/* The time-outs of `config`, for whatever connections do next; nothing else of it. */
void pst_server_retime(struct pst_server *server, const struct pst_server_config *config);
/* Stops accepting; idle connections close, busy ones after their response (Connection: close). */
void pst_server_drain(struct pst_server *server);
/* From now on responses carry Connection: close (still accepting). */
void pst_server_close_after(struct pst_server *server, bool on);
uint32_t pst_server_connections(const struct pst_server *server);
void pst_server_free(
    struct pst_server *server); /* closes all; gone() is called for open exchanges */

void *pst_exchange_server_user(const struct pst_exchange *x);
void pst_exchange_set_user(struct pst_exchange *x, void *user);
void *pst_exchange_user(const struct pst_exchange *x);
const struct sockaddr *pst_exchange_peer(const struct pst_exchange *x);

void pst_exchange_read(struct pst_exchange *x, bool on); /* off: back-pressure on the body */

/*
 * Status line and headers. length: of the body, or PST_LENGTH_UNKNOWN (chunked; to an HTTP/1.0 client
 * until the connection closes). Date, Content-Length/Transfer-Encoding and Connection are added here;
 * hop-by-hop names in `headers` are the caller's fault. The bytes go out with the first write or end.
 */
void pst_exchange_respond(struct pst_exchange *x, uint16_t status, const struct pst_header *headers,
                          size_t count, uint64_t length);
bool pst_exchange_responded(const struct pst_exchange *x);
/* The head goes out now, ahead of the first body byte. */
void pst_exchange_flush(struct pst_exchange *x);
/* Goes out at once, what the socket does not take is copied. Returns the bytes pending. */
size_t pst_exchange_write(struct pst_exchange *x, const void *data, size_t len);
size_t pst_exchange_pending(const struct pst_exchange *x);
/*
 * The response is whole. An unread request body: Connection: close and a lingering close, unless all of
 * it arrived with the head; then it is passed over and the connection stays.
 */
void pst_exchange_end(struct pst_exchange *x);
/*
 * The response cannot be made whole: the connection ends visibly. Chunked or with a length it closes
 * short of the end, so that what was sent still arrives; until-close it is reset.
 */
void pst_exchange_abort(struct pst_exchange *x);
/* The same, always by a reset (RST): the client's next read fails instead of ending. */
void pst_exchange_reset(struct pst_exchange *x);

#endif
