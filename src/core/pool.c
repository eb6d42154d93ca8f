/* pool.c - see pool.h. */
#include "core/pool.h"

#include "core/num.h"
#include "core/reserve.h"

#define ONE_IN       100.0 /* 1 / eps: a request in a hundred may wait longer than its patience */
#define ONE_IN_SHORT 20.0  /* the short prompts' aim is a P95 … */
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
static void reserve(struct pst_pool *pool)
{
    struct pst_fleet_capacity capacity;
    uint64_t used_ppm = 0; /* a: slots that the classes above use */
    double arrivals = 0;   /* of them, per ns and ppm */
    uint32_t shorter;
    pst_ns service_long;

    pst_fleet_capacity(pool->fleet, pool->index, &capacity);
    for (uint8_t c = 0; c < pool->classes_count; c++) {
        uint32_t r = c == 0 ? 0 : pool->reserved[c - 1];

        if (used_ppm > 0) {
            pst_ns service = pst_to_u64((double)used_ppm / arrivals);

            r = (uint32_t)pst_max_u64(r,
                                      pst_reserve_slots(capacity.slots, used_ppm, service,
                                                        pool->classes[c - 1].target / 2, ONE_IN));
        }
        service_long = pst_service_mean(&pool->service, c, PST_LENGTH_LONG);
        shorter = pst_reserve_slots(capacity.slots, pool->load.shorter.mean_ppm, service_long,
                                    SHORT_AIM, ONE_IN_SHORT);
        pool->reserved[c] = r;
        pool->reserved_long[c] = (uint32_t)pst_max_u64(r, shorter);
        used_ppm += pool->load.used[c].mean_ppm;
        arrivals +=
            (double)pool->load.used[c].mean_ppm / (double)pst_service_class_mean(&pool->service, c);
    }
}

void pst_pool_advance(struct pst_pool *pool, pst_ns now)
{
    if (pst_load_advance(&pool->load, now) && pool->config->policy == PST_POLICY_ADAPTIVE)
        reserve(pool);
}
