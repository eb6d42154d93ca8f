/*
 * mean.h - a running mean that forgets.
 *
 * Guarantee: exact over the first samples_max values, then an exponential mean over about as many. O(1).
 */
#ifndef PST_CORE_MEAN_H
#define PST_CORE_MEAN_H

#include "pst.h"

struct pst_mean {
    uint64_t mean;
    uint32_t samples; /* up to samples_max; 0: nothing is known */
};

static inline void pst_mean_add(struct pst_mean *m, uint64_t value, uint32_t samples_max)
{
    if (m->samples < samples_max)
        m->samples++;
    if (value >= m->mean)
        m->mean += (value - m->mean) / m->samples;
    else
        m->mean -= (m->mean - value) / m->samples;
}

#endif
