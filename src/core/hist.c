/* hist.c - see hist.h. */
#include "core/hist.h"

#include "core/num.h"

#define STEPS (1u << PST_HIST_BITS)

/* Values below 2 STEPS have a bucket each; above, the leading one and the next bits name it. */
static uint32_t bucket_of(uint64_t value)
{
    int shift;

    if (value < STEPS)
        return (uint32_t)value;
    shift = 63 - __builtin_clzll(value) - PST_HIST_BITS;
    return ((uint32_t)shift << PST_HIST_BITS) + (uint32_t)(value >> shift);
}

static uint64_t middle_of(uint32_t bucket)
{
    uint32_t shift;
    uint64_t low;

    if (bucket < 2 * STEPS)
        return bucket;
    shift = (bucket >> PST_HIST_BITS) - 1;
    low = (uint64_t)(STEPS + (bucket & (STEPS - 1))) << shift;
    return low + ((UINT64_C(1) << shift) >> 1);
}

void pst_hist_add_many(struct pst_hist *hist, uint64_t value, uint64_t times)
{
    hist->count += times;
    hist->sum = pst_add_sat(hist->sum, pst_mul_sat(value, times));
    if (times > 0 && value > hist->max)
        hist->max = value;
    hist->buckets[bucket_of(value)] += times;
}

void pst_hist_add(struct pst_hist *hist, uint64_t value)
{
    hist->count++;
    hist->sum = pst_add_sat(hist->sum, value);
    if (value > hist->max)
        hist->max = value;
    hist->buckets[bucket_of(value)]++;
}

void pst_hist_merge(struct pst_hist *into, const struct pst_hist *from)
{
    into->count += from->count;
    into->sum = pst_add_sat(into->sum, from->sum);
    into->max = pst_max_u64(into->max, from->max);
    for (uint32_t i = 0; i < PST_HIST_BUCKETS; i++)
        into->buckets[i] += from->buckets[i];
}

void pst_hist_fade(struct pst_hist *hist)
{
    uint64_t count = 0;

    hist->max = 0;
    for (uint32_t i = 0; i < PST_HIST_BUCKETS; i++) {
        hist->buckets[i] /= 2;
        count += hist->buckets[i];
        if (hist->buckets[i] > 0)
            hist->max = middle_of(i);
    }
    hist->sum = pst_muldiv(hist->sum, count, hist->count);
    hist->count = count;
}

uint64_t pst_hist_quantile(const struct pst_hist *hist, uint32_t q_ppm)
{
    uint64_t rank, seen = 0;

    if (hist->count == 0)
        return 0;
    if (q_ppm >= PST_PPM)
        return hist->max;
    rank = pst_muldiv(hist->count, q_ppm, PST_PPM);
    for (uint32_t i = 0; i < PST_HIST_BUCKETS; i++) {
        seen += hist->buckets[i];
        if (seen > rank)
            return pst_min_u64(middle_of(i), hist->max);
    }
    return hist->max;
}

uint64_t pst_hist_mean(const struct pst_hist *hist)
{
    return hist->count == 0 ? 0 : hist->sum / hist->count;
}
