/* pool.c - see pool.h. */
#include "core/pool.h"

#include "core/num.h"
#include "core/reserve.h"

#define ONE_IN_SHORT 20.0          /* the short prompts' aim is a P95 … */
#define SHORT_AIM    (10 * PST_MS) /* … and half of it is the patience */

pst_ns pst_pool_queued_work(const struct pst_pool *pool, uint8_t class_)
{
    const struct pst_waitq *q = &pool->queue[class_];
    pst_ns work = 0;

    if (q->count == 0)
        return 0;
    for (uint8_t length = 0; length < PST_LENGTH_COUNT; length++) {
        if (q->sequences[length] > 0)
            work = pst_add_sat(work, pst_mul_sat(q->sequences[length],
                                                 pst_service_mean(&pool->service, class_, length)));
    }
    return work;
}

/* r_c of every class: each protects the classes above it with what these use and how long they last. */
static void reserve_for_above(struct pst_pool *pool, uint32_t slots)
{
    uint64_t used_ppm = 0; /* a: slots that the classes above use */
    double arrivals = 0;   /* of theirs, in ppm of a slot and ns */

    for (uint8_t c = 0; c < pool->classes_count; c++) {
        uint32_t r = c == 0 ? 0 : pool->reserved[c - 1];

        if (used_ppm > 0)
            r = (uint32_t)pst_max_u64(
                r, pst_reserve_slots(slots, used_ppm, pst_to_u64((double)used_ppm / arrivals),
                                     pool->classes[c - 1].target / 2, PST_RESERVE_ONE_IN));
        pool->reserved[c] = r;
        used_ppm += pool->load.used[c].mean_ppm;
        arrivals +=
            (double)pool->load.used[c].mean_ppm / (double)pst_service_class_mean(&pool->service, c);
    }
}

/* Where the answer takes the time, a long prompt holds its slot hardly longer than others do. */
static bool long_takes_longer(const struct pst_service *service)
{
    pst_ns of_long = pst_service_length_mean(service, PST_LENGTH_LONG);

    for (uint8_t length = 0; length < PST_LENGTH_LONG; length++) {
        pst_ns shorter = pst_service_length_mean(service, length);

        if (shorter != PST_NEVER && of_long != PST_NEVER && of_long / 2 < shorter)
            return false;
    }
    return true;
}

/*
 * Long prompts hold their slots for long, and short ones come in waves. Where slots turn over too
 * slowly for the next short one, long prompts leave what short ones use and two deviations of it, but
 * keep half their share whatever comes.
 */
static void limit_long(struct pst_pool *pool, uint32_t slots)
{
    uint64_t used_ppm = pool->load.shorter.mean_ppm;
    double used = (double)used_ppm / PST_PPM;
    uint64_t share = pst_muldiv(slots, pool->config->long_share_ppm, PST_PPM);

    pool->long_max = UINT32_MAX;
    if (!long_takes_longer(&pool->service))
        return;
    if (pst_reserve_slots(slots, used_ppm, pst_service_length_mean(&pool->service, PST_LENGTH_LONG),
                          SHORT_AIM, ONE_IN_SHORT) > 0)
        pool->long_max = (uint32_t)pst_max_u64(
            pst_sub_sat(slots, pst_ceil_u64(used + 2 * pst_pow(used, 0.5))), share / 2);
}

void pst_pool_turn(struct pst_pool *pool)
{
    if (pool->config->policy != PST_POLICY_ADAPTIVE)
        return;
    reserve_for_above(pool, pool->capacity->slots);
    limit_long(pool, pool->capacity->slots);
}
