/*
 * seed.h - one seed for a run, and one of its own for each part of it.
 *
 * Guarantee: parts of one run have different seeds, and a part has the same whatever the policy is: with
 * a gate or without, the arrivals are the same.
 */
#ifndef PST_SIM_SEED_H
#define PST_SIM_SEED_H

#include "core/num.h"

enum pst_seed_part {
    PST_SEED_GATE = 1,
    PST_SEED_SCALER,
    PST_SEED_LIVES,
    PST_SEED_ARRIVALS,
};

static inline uint64_t pst_seed_of(uint64_t seed, enum pst_seed_part part)
{
    return pst_mix64(pst_mix64(seed) + (uint64_t)part * UINT64_C(0x9e3779b97f4a7c15));
}

#endif
