/* prng.c - see prng.h. */
#include "core/prng.h"

#include "core/num.h"

void pst_prng_init(struct pst_prng *prng, uint64_t seed)
{
    for (size_t i = 0; i < PST_COUNT_OF(prng->state); i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64: a Weyl sequence, mixed */
        prng->state[i] = pst_mix64(seed);
    }
}

uint64_t pst_prng_below(struct pst_prng *prng, uint64_t bound)
{
    uint64_t floor, x;

    if (bound == 0)
        return 0;
    floor =
        (0 - bound) % bound; /* 2^64 mod bound: values below it would favour the small results */
    do {
        x = pst_prng_next(prng);
    } while (x < floor);
    return x % bound;
}
