/*
 * random.h - unpredictable bytes for ids and seeds, from the kernel, a page at a time.
 *
 * Why: an id per request must not cost a system call per request.
 * Guarantee: bytes are handed out once and erased. Not thread-safe: one owner.
 */
#ifndef PST_BASE_RANDOM_H
#define PST_BASE_RANDOM_H

#include "pst.h"

/* Zero is ready for use. */
struct pst_random {
    unsigned char bytes[256];
    size_t left;
};

void pst_random_fill(struct pst_random *random, void *out, size_t len); /* len <= 256 */

#endif
