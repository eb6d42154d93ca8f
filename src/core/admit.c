/* admit.c - see admit.h. */
#include "core/admit.h"

#include "core/fixed.h"
#include "core/num.h"

#define RETRY_AFTER_MIN_MS 1000
#define RETRY_AFTER_MAX_MS 59000

/* a - b, signed. */
static int64_t lead(uint64_t a, uint64_t b)
{
    return a >= b ? (int64_t)pst_min_u64(a - b, INT64_MAX)
                  : -(int64_t)pst_min_u64(b - a, INT64_MAX);
}

/* Work over a rate in ppm of a slot. */
static pst_ns time_for(pst_ns work, uint64_t rate_ppm)
{
    return pst_muldiv(work, PST_PPM, rate_ppm);
}

/*
 * The pool's capacity. Where replicas are ready and none has a slot, that is for a moment (one was reset,
 * and is watched): one replica's slots are expected back.
 */
static struct pst_fleet_capacity capacity_of(const struct pst_pool *pool)
{
    struct pst_fleet_capacity capacity = *pool->capacity;

    if (capacity.ready > 0 && capacity.slots == 0)
        capacity.slots = pool->config->slots;
    return capacity;
}

/* Slots that the arriving work of higher classes takes, in ppm. */
static uint64_t above_ppm(const struct pst_pool *pool, uint8_t class_)
{
    uint64_t ppm = 0;

    for (uint8_t c = 0; c < class_; c++)
        ppm += pool->load.arrived[c].mean_ppm;
    return ppm;
}

/* The formula of admit.h. others_ppm: what goes to others meanwhile. */
static pst_ns wait_for(const struct pst_fleet_capacity *capacity, pst_ns work_ahead,
                       uint64_t others_ppm, pst_ns now)
{
    uint64_t ready_ppm = (uint64_t)capacity->slots * PST_PPM;
    uint64_t starting_ppm = (uint64_t)capacity->starting_slots * PST_PPM;
    int64_t rate = lead(ready_ppm, others_ppm);
    int64_t later = lead(ready_ppm + starting_ppm, others_ppm);
    pst_ns start = capacity->starting_ready_at == PST_NEVER
                       ? PST_NEVER
                       : pst_sub_sat(capacity->starting_ready_at, now);

    if (rate > 0) {
        pst_ns wait = time_for(work_ahead, (uint64_t)rate);

        if (wait <= start)
            return wait;
    }
    if (start == PST_NEVER || later <= 0)
        return PST_NEVER;
    /* What is left when the starting ones are ready: less if ready ones gain on it, else more. */
    if (rate > 0)
        work_ahead = pst_sub_sat(work_ahead, pst_muldiv(start, (uint64_t)rate, PST_PPM));
    else
        work_ahead = pst_add_sat(work_ahead, pst_muldiv(start, (uint64_t)-rate, PST_PPM));
    return pst_add_sat(start, time_for(work_ahead, (uint64_t)later));
}

static pst_ns work_of_and_above(const struct pst_pool *pool, uint8_t class_)
{
    pst_ns work = 0;

    for (uint8_t c = 0; c <= class_; c++)
        work = pst_add_sat(work, pst_pool_queued_work(pool, c));
    return work;
}

/* Under policy fixed each class has places of its own; all of them share slots if those are fewer. */
static bool shares_slots(const struct pst_pool *pool, uint32_t slots)
{
    uint64_t places = 0;

    if (pool->config->policy != PST_POLICY_FIXED)
        return true;
    for (uint8_t c = 0; c < pool->classes_count; c++)
        places += pst_fixed_places(pool, c);
    return places > slots;
}

/* What the class's own places need for its queue and so much more. */
static pst_ns wait_for_places(const struct pst_pool *pool, uint8_t class_, pst_ns more)
{
    uint64_t places;

    if (pool->config->policy != PST_POLICY_FIXED)
        return 0;
    places = pst_fixed_places(pool, class_);
    return places == 0 ? PST_NEVER : pst_add_sat(pst_pool_queued_work(pool, class_), more) / places;
}

static bool starts_at_once(const struct pst_pool *pool, uint8_t class_, uint32_t free)
{
    if (pool->config->policy == PST_POLICY_FIXED)
        return free > 0 && pool->queue[class_].count == 0 &&
               pool->running[class_] < pst_fixed_places(pool, class_);
    return free > pool->reserved[class_] && work_of_and_above(pool, class_) == 0;
}

pst_ns pst_admit_predicted(const struct pst_pool *pool, uint8_t class_, pst_ns now)
{
    struct pst_fleet_capacity capacity = capacity_of(pool);
    /* Its own place too must come free: of K slots one does so each S / K. */
    pst_ns own = pst_service_class_mean(&pool->service, class_);
    pst_ns wait = 0;

    if (starts_at_once(pool, class_, capacity.free))
        return 0;
    if (shares_slots(pool, capacity.slots))
        wait = wait_for(&capacity, pst_add_sat(work_of_and_above(pool, class_), own),
                        above_ppm(pool, class_), now);
    return pst_max_u64(wait, wait_for_places(pool, class_, own));
}

pst_ns pst_admit_backlog(const struct pst_pool *pool, uint8_t class_)
{
    pst_ns work = work_of_and_above(pool, class_);
    uint32_t slots = capacity_of(pool).slots;
    pst_ns wait = 0;

    if (work == 0)
        return 0;
    if (slots == 0)
        return PST_NEVER;
    if (shares_slots(pool, slots))
        wait = work / slots;
    return pst_max_u64(wait, wait_for_places(pool, class_, 0));
}

static bool waits(const struct pst_gate_class *config, uint8_t length)
{
    uint8_t on_full;

    if (length == PST_LENGTH_UNKNOWN) {
        for (length = 0; length < PST_LENGTH_COUNT; length++) {
            if (waits(config, length))
                return true;
        }
        return false;
    }
    on_full = config->on_full_length[length];
    return (on_full == PST_ON_FULL_INHERIT ? config->on_full : on_full) == PST_ON_FULL_WAIT;
}

/* What the fair order puts before one more ticket, and how much goes to others while it waits. */
struct ahead {
    pst_ns work; /* its own included */
    uint64_t others_ppm;
};

static struct ahead look_ahead(const struct pst_pool *pool, const struct pst_ask *ask,
                               const struct pst_fleet_capacity *capacity)
{
    uint8_t length = ask->length == PST_LENGTH_UNKNOWN ? PST_LENGTH_SHORT : ask->length;
    pst_ns service = pst_service_mean(&pool->service, ask->class_, length);
    struct ahead ahead = {.work = service, .others_ppm = above_ppm(pool, ask->class_)};
    struct pst_waitq_share share;

    pst_waitq_share(&pool->queue[ask->class_], ask->flow, ask->weight, &share);
    for (uint8_t shorter = 0; shorter <= length; shorter++) {
        if (share.sequences[shorter] > 0)
            ahead.work = pst_add_sat(
                ahead.work, pst_mul_sat(share.sequences[shorter],
                                        pst_service_mean(&pool->service, ask->class_, shorter)));
    }
    if (share.pace != 0) { /* its flow's turns are measured: all else goes to others */
        uint64_t own_ppm = pst_muldiv(service, share.pace, PST_S);

        ahead.others_ppm = pst_sub_sat((uint64_t)capacity->slots * PST_PPM, own_ppm);
    } else {
        ahead.work = pst_min_u64(pst_muldiv(ahead.work, share.weights, share.weight),
                                 pst_add_sat(pst_pool_queued_work(pool, ask->class_), service));
    }
    if (ask->class_ > 0)
        ahead.work = pst_add_sat(ahead.work, work_of_and_above(pool, ask->class_ - 1));
    return ahead;
}

enum pst_reason pst_admit_judge(const struct pst_pool *pool, const struct pst_ask *ask, pst_ns now)
{
    const struct pst_waitq *q = &pool->queue[ask->class_];
    pst_ns max_wait = pool->classes[ask->class_].max_wait;
    uint64_t tokens_max = pool->config->kv_tokens_max;
    struct pst_fleet_capacity capacity;
    uint64_t sequences = 0;
    struct ahead ahead;
    pst_ns wait;

    if (tokens_max > 0 && pool->tokens_queued > 0 &&
        pst_add_sat(pool->tokens_queued, ask->tokens) > tokens_max)
        return PST_REASON_KV_FULL;
    for (int i = 0; i < PST_LENGTH_COUNT; i++)
        sequences += q->sequences[i];
    if (sequences < pool->config->slots || waits(&pool->classes[ask->class_], ask->length))
        return PST_REASON_NONE;
    capacity = capacity_of(pool);
    ahead = look_ahead(pool, ask, &capacity);
    if (capacity.ready > 0)
        wait = wait_for(&capacity, ahead.work, ahead.others_ppm, now);
    else if (pool->service.pool.samples == 0)
        wait = 0; /* not known is not too much */
    else /* what the first capacity can serve once it is there: until then no_replica_ttl counts */
        wait = ahead.work / pst_max_u64(capacity.starting_slots, pool->config->slots);
    return wait > max_wait ? PST_REASON_QUEUE_FULL : PST_REASON_NONE;
}

uint32_t pst_admit_retry_after_ms(const struct pst_pool *pool, uint8_t class_, pst_ns now,
                                  struct pst_prng *prng)
{
    pst_ns wait = pool == NULL ? 0 : pst_admit_predicted(pool, class_, now);
    uint64_t ms = pst_min_u64(wait / PST_MS, RETRY_AFTER_MAX_MS);

    ms = pst_max_u64(ms, RETRY_AFTER_MIN_MS);
    ms += pst_prng_below(prng, ms / 2 + 1);
    return (uint32_t)pst_min_u64(ms, RETRY_AFTER_MAX_MS);
}
