/*
 * prng.h - seeded randomness that a recording can repeat.
 *
 * Why: jitter and random laws must come out the same on every run of one seed.
 *
 * Guarantee: the sequence is a function of the seed alone; period 2^256 - 1. Not for secrets.
 * Source: Blackman & Vigna, "Scrambled linear pseudorandom number generators" (xoshiro256**), seeded
 * by splitmix64 as its authors advise.
 */
#ifndef PST_CORE_PRNG_H
#define PST_CORE_PRNG_H

#include "pst.h"

struct pst_prng {
    uint64_t state[4];
};

void pst_prng_init(struct pst_prng *prng, uint64_t seed);

static inline uint64_t pst_prng_next(struct pst_prng *prng)
{
    uint64_t *s = prng->state;
    uint64_t product = s[1] * 5;
    uint64_t result = (product << 7 | product >> 57) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = s[3] << 45 | s[3] >> 19;
    return result;
}

/* Uniform in [0, bound), without bias; 0 for bound 0. */
uint64_t pst_prng_below(struct pst_prng *prng, uint64_t bound);
/* Uniform in [0, 1), 53 bits. */
static inline double pst_prng_unit(struct pst_prng *prng)
{
    return (double)(pst_prng_next(prng) >> 11) * (1.0 / 9007199254740992.0);
}

#endif
