/*
 * hash.h - 64 bits that stand for a text: a body, the beginning of a prompt.
 *
 * Why: equal prompts are sent where their prefix is warm, and a body that killed a replica is known when
 * it comes again. Both pass by in pieces, and are long.
 *
 * Guarantee: XXH64 with seed 0, bit for bit, however the text is cut. Not for an attacker's keys.
 * Source: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
 */
#ifndef PST_CODEC_HASH_H
#define PST_CODEC_HASH_H

#include "pst.h"

#define PST_HASH_STRIPE 32 /* bytes that go into the lanes at once */

struct pst_hash {
    uint64_t lane[4];
    uint64_t bytes;
    char rest[PST_HASH_STRIPE]; /* what is no whole stripe yet */
};

void pst_hash_init(struct pst_hash *hash);
void pst_hash_add(struct pst_hash *hash, const char *data, size_t len);
uint64_t pst_hash_value(const struct pst_hash *hash); /* of what was added so far */

#endif
