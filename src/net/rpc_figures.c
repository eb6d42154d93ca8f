/* rpc_figures.c - see rpc_figures.h. */
#include "net/rpc_figures.h"

#define STEPS (UINT64_C(1) << PST_RPC_FIGURES_BITS)

/* Below STEPS each value has its bucket; above, a power of two has STEPS of them. */
static uint32_t bucket_of(uint64_t us)
{
    uint32_t power;

    if (us < STEPS)
        return (uint32_t)us;
    if (us >= UINT64_C(1) << PST_RPC_FIGURES_POWERS)
        return PST_RPC_FIGURES_BUCKETS - 1;
    power = 63 - (uint32_t)__builtin_clzll(us) - PST_RPC_FIGURES_BITS;
    return (power << PST_RPC_FIGURES_BITS) + (uint32_t)(us >> power);
}

static uint64_t bucket_end(uint32_t bucket)
{
    uint32_t power;

    if (bucket < STEPS)
        return bucket;
    power = (bucket >> PST_RPC_FIGURES_BITS) - 1;
    return ((STEPS + (bucket & (STEPS - 1)) + 1) << power) - 1;
}

void pst_rpc_times_add(struct pst_rpc_times *times, pst_ns took)
{
    uint64_t us = took / PST_US;

    times->count++;
    times->buckets[bucket_of(us)]++;
    if (us > times->max_us)
        times->max_us = us;
}

uint64_t pst_rpc_times_quantile(const struct pst_rpc_times *times, uint32_t q_ppm)
{
    uint64_t below = 0, end;
    uint32_t i;

    for (i = 0; i < PST_RPC_FIGURES_BUCKETS; i++) {
        below += times->buckets[i];
        if (below == 0 || below * PST_PPM < times->count * q_ppm)
            continue;
        end = bucket_end(i);
        return end < times->max_us && i < PST_RPC_FIGURES_BUCKETS - 1 ? end : times->max_us;
    }
    return 0;
}
