/*
 * chain.h - a body in pieces: appended as it is read, sent as often as it must be (retries).
 *
 * Why: a 31 MiB body must not need 31 MiB in one piece, nor be moved when it grows.
 * Guarantee: bytes appended are copied at most once and do not move until _done; memory held is at most
 * twice the bytes, plus one segment. Not thread-safe.
 */
#ifndef PST_BASE_CHAIN_H
#define PST_BASE_CHAIN_H

#include <sys/uio.h>

#include "pst.h"

struct pst_chain_segment;

struct pst_chain {
    struct pst_chain_segment *first, *last;
    uint64_t bytes;
};

/* A place in a chain; valid while the chain is not changed. Zero is the start. */
struct pst_chain_cursor {
    const struct pst_chain_segment *segment;
    size_t offset;
    uint64_t at;
};

void pst_chain_init(struct pst_chain *chain);
void pst_chain_done(struct pst_chain *chain); /* frees; takes an initialised or done one */

/* Room at the end, for bytes to be read there and then appended from there. NULL: no memory. */
char *pst_chain_room(struct pst_chain *chain, uint64_t expected, size_t *ret_size);

/*
 * `expected`: bytes still to come, these included, if known (0: not); sizes a segment. Bytes that lie in
 * the room already are not copied. PST_E_NOMEM.
 */
int pst_chain_append(struct pst_chain *chain, const void *data, size_t len, uint64_t expected);

/* Replaces bytes [at, at + len) with others of any length, without moving the rest of the chain. */
int pst_chain_replace(struct pst_chain *chain, uint64_t at, size_t len, const void *data,
                      size_t data_len);

/* Fills up to `count` pieces from the cursor on; returns how many. Does not move the cursor. */
size_t pst_chain_pieces(const struct pst_chain *chain, const struct pst_chain_cursor *cursor,
                        struct iovec *ret_pieces, size_t count);
void pst_chain_advance(const struct pst_chain *chain, struct pst_chain_cursor *cursor,
                       uint64_t bytes);

#endif
