/*
 * output.h - bytes on their way out of a socket: sent at once, and kept only if the socket is full.
 *
 * Why: the usual answer goes from the reader's buffer to the socket in one call, without a copy; a slow
 * client costs memory only for what it did not take, and its owner bounds that.
 *
 * Guarantee: bytes leave in the order given, each once. An empty output holds no memory.
 */
#ifndef PST_NET_OUTPUT_H
#define PST_NET_OUTPUT_H

#include <sys/uio.h>

#include "pst.h"

#define PST_OUTPUT_PIECES_MAX 16

struct pst_output {
    char *bytes;
    size_t at, len, size; /* waiting: bytes[at, len) */
    bool full;            /* the socket took less than it was given: wait for EPOLLOUT */
};

void pst_output_done(struct pst_output *output);

static inline size_t pst_output_waiting(const struct pst_output *output)
{
    return output->len - output->at;
}

/* Keeps for the next send. PST_E_NOMEM. */
int pst_output_put(struct pst_output *output, const void *data, size_t len);

/* Place for `len` bytes to be written there by the caller, kept for the next send; NULL: no memory. */
char *pst_output_grow(struct pst_output *output, size_t len);

/*
 * Sends what waits and then the pieces (fewer than PST_OUTPUT_PIECES_MAX), in one call unless the
 * socket is known to be full; the rest is kept. PST_E_SYSTEM: the connection is dead.
 */
int pst_output_send(struct pst_output *output, int fd, const struct iovec *pieces, size_t count);

/* At EPOLLOUT: sends what waits. */
int pst_output_flush(struct pst_output *output, int fd);

#endif
