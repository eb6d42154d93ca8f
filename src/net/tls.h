/*
 * tls.h - one side of TLS over a socket that somebody else watches: OpenSSL 3, no more than we use of it.
 *
 * Why: certificates, names and ciphers are decided in one place, for the servers that we are and later
 * for the replicas that we call; nothing else in the house includes OpenSSL's headers for TLS.
 *
 * Guarantee: TLS 1.2 or later; with a client_ca a peer without a certificate signed by it is refused in
 * the handshake; keys are read once, never logged, and read again by reload. A context is shared by its
 * connections and lives until the last of them is gone. Not thread-safe. SIGPIPE must be ignored.
 */
#ifndef PST_NET_TLS_H
#define PST_NET_TLS_H

#include <sys/types.h>

#include "pst.h"

struct pst_tls_context;
struct pst_tls;

struct pst_tls_config {
    const char *cert;      /* PEM chain, own first */
    const char *key;       /* PEM */
    const char *client_ca; /* PEM; NULL: no client certificate is asked for */
    const char *alpn;      /* "h2"; NULL: none */
};

/* PST_OK, PST_E_NOMEM, or PST_E_INVALID with which file and why in `message`. */
int pst_tls_server_new(const struct pst_tls_config *config, struct pst_tls_context **ret_context,
                       char message[static 256]);
/* The files again, for connections from now on; on failure the old ones stay. */
int pst_tls_reload(struct pst_tls_context *context, char message[static 256]);
void pst_tls_context_free(struct pst_tls_context *context);

/* The socket is the caller's, not blocking, and open for as long as this. */
int pst_tls_accept(struct pst_tls_context *context, int fd, struct pst_tls **ret_tls);
void pst_tls_free(struct pst_tls *tls); /* says close_notify if it can without waiting */

/* As read() and write() of a socket: > 0, 0 at the peer's end, -1 with errno (EAGAIN; EPROTO: no TLS). */
ssize_t pst_tls_read(struct pst_tls *tls, void *buffer, size_t size);
ssize_t pst_tls_write(struct pst_tls *tls, const void *data, size_t len);
/* EPOLLIN or EPOLLOUT: what the last EAGAIN waits for. */
uint32_t pst_tls_wants(const struct pst_tls *tls);

#endif
