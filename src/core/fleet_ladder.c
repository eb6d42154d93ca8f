/*
 * fleet_ladder.c - the replicas of a pool that have a free place, the one with the least to do first.
 *
 * A heap in which each replica has its rung by what is true of it when it is settled. Only one thing
 * moves on by itself: the work of one that is silent weighs more with time. When that is next due for
 * any of them is kept, and then all are weighed anew.
 */
#include "core/fleet_internal.h"
#include "core/num.h"

/* Less work per slot, then less in flight per slot, then who got work longest ago, then who came first. */
bool pst_rung_is_before(const struct pst_rung *a, const struct pst_rung *b)
{
    uint64_t left = a->work, right = b->work;

    if (a->limit != b->limit) {
        left = pst_mul_sat(left, b->limit);
        right = pst_mul_sat(right, a->limit);
    }
    if (left != right)
        return left < right;
    left = (uint64_t)a->places * b->limit;
    right = (uint64_t)b->places * a->limit;
    if (left != right)
        return left < right;
    if (a->last_taken != b->last_taken)
        return a->last_taken < b->last_taken;
    return a->joined < b->joined;
}

static void set(struct pst_fleet *fleet, struct pst_fleet_pool *pool, uint32_t at,
                const struct pst_rung *rung)
{
    pool->ladder[at] = *rung;
    fleet->replicas[rung->replica].rung_at = at;
}

static uint32_t sift_up(struct pst_fleet *fleet, struct pst_fleet_pool *pool, uint32_t at,
                        const struct pst_rung *rung)
{
    while (at > 0 && pst_rung_is_before(rung, &pool->ladder[(at - 1) / 2])) {
        set(fleet, pool, at, &pool->ladder[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    return at;
}

static uint32_t sift_down(struct pst_fleet *fleet, struct pst_fleet_pool *pool, uint32_t at,
                          const struct pst_rung *rung)
{
    uint32_t child;

    while ((child = 2 * at + 1) < pool->ladder_count) {
        if (child + 1 < pool->ladder_count &&
            pst_rung_is_before(&pool->ladder[child + 1], &pool->ladder[child]))
            child++;
        if (!pst_rung_is_before(&pool->ladder[child], rung))
            break;
        set(fleet, pool, at, &pool->ladder[child]);
        at = child;
    }
    return at;
}

static bool is_in_order(const struct pst_fleet_pool *pool, uint32_t at)
{
    uint32_t child = 2 * at + 1;

    return (at == 0 || !pst_rung_is_before(&pool->ladder[at], &pool->ladder[(at - 1) / 2])) &&
           (child >= pool->ladder_count ||
            !pst_rung_is_before(&pool->ladder[child], &pool->ladder[at])) &&
           (child + 1 >= pool->ladder_count ||
            !pst_rung_is_before(&pool->ladder[child + 1], &pool->ladder[at]));
}

/* The rung at this place is new, or is another than it was: to where it belongs. */
static void settle(struct pst_fleet *fleet, struct pst_fleet_pool *pool, uint32_t from)
{
    struct pst_rung rung;
    uint32_t at;

    if (is_in_order(pool, from)) {
        fleet->replicas[pool->ladder[from].replica].rung_at = from;
        return;
    }
    rung = pool->ladder[from];
    at = sift_up(fleet, pool, from, &rung);
    set(fleet, pool, at == from ? sift_down(fleet, pool, from, &rung) : at, &rung);
}

static void take_off(struct pst_fleet *fleet, struct pst_fleet_pool *pool,
                     struct pst_replica *replica)
{
    uint32_t at = replica->rung_at;

    if (at == PST_FLEET_NONE)
        return;
    replica->rung_at = PST_FLEET_NONE;
    pool->ladder_count--;
    if (at == pool->ladder_count)
        return;
    pool->ladder[at] = pool->ladder[pool->ladder_count];
    settle(fleet, pool, at);
}

/* Its outstanding work, by how it progresses; and until when that is so. */
static uint64_t weigh(struct pst_fleet_pool *pool, const struct pst_replica *replica, pst_ns now)
{
    pst_ns until;
    uint32_t weight =
        pst_progress_weight(&replica->progress, replica->begun, pool->config.stall, now, &until);

    pool->weighed_until = pst_min_u64(pool->weighed_until, until);
    return pst_mul_sat(replica->work, weight);
}

void pst_ladder_settle(struct pst_fleet *fleet, struct pst_replica *replica)
{
    struct pst_fleet_pool *pool = pst_fleet_pool_of(fleet, replica);
    const struct pst_counted *counted = &replica->counted;
    struct pst_rung *rung;

    if (counted->state != PST_REPLICA_READY || counted->places >= counted->limit) {
        take_off(fleet, pool, replica);
        return;
    }
    if (replica->rung_at == PST_FLEET_NONE)
        replica->rung_at = pool->ladder_count++;
    rung = &pool->ladder[replica->rung_at];
    rung->work = weigh(pool, replica, fleet->now);
    rung->last_taken = replica->last_taken;
    rung->joined = replica->joined;
    rung->limit = counted->limit;
    rung->places = replica->places;
    rung->replica = replica->id;
    settle(fleet, pool, replica->rung_at);
}

void pst_ladder_weigh(struct pst_fleet *fleet, struct pst_fleet_pool *pool, pst_ns now)
{
    if (now < pool->weighed_until)
        return;
    pool->weighed_until = PST_NEVER;
    for (uint32_t i = 0; i < pool->ladder_count; i++)
        pool->ladder[i].work = weigh(pool, &fleet->replicas[pool->ladder[i].replica], now);
    for (uint32_t i = pool->ladder_count / 2; i-- > 0;) {
        struct pst_rung rung = pool->ladder[i];

        set(fleet, pool, sift_down(fleet, pool, i, &rung), &rung);
    }
}

void pst_ladder_verify(const struct pst_fleet *fleet, const struct pst_fleet_pool *pool)
{
    for (uint32_t i = 0; i < pool->ladder_count; i++) {
        const struct pst_rung *rung = &pool->ladder[i];
        const struct pst_replica *replica = &fleet->replicas[rung->replica];

        PST_ASSERT(replica->rung_at == i && replica->counted.state == PST_REPLICA_READY);
        PST_ASSERT(rung->places == replica->places && rung->limit == replica->counted.limit);
        PST_ASSERT(rung->places < rung->limit && rung->last_taken == replica->last_taken);
        PST_ASSERT(i == 0 || !pst_rung_is_before(rung, &pool->ladder[(i - 1) / 2]));
    }
}
