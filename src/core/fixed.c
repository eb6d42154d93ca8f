/* fixed.c - see fixed.h. */
#include "core/fixed.h"

#include "core/num.h"

uint64_t pst_fixed_places(const struct pst_pool *pool, uint8_t class_)
{
    uint64_t limit = pool->config->fixed_inflight[class_];

    return pool->config->fixed_scope_replica ? limit * pool->capacity->ready : limit;
}

static bool may_start(const struct pst_pool *pool, uint8_t class_,
                      const struct pst_fleet_ticket *ticket, pst_ns now, uint16_t *ret_replica)
{
    return pool->running[class_] < pst_fixed_places(pool, class_) &&
           pst_fleet_choose(pool->fleet, pool->index, ticket, now, ret_replica);
}

bool pst_fixed_admits(const struct pst_pool *pool, const struct pst_ticket *ticket, pst_ns now)
{
    uint8_t class_ = ticket->class_;
    uint32_t count = pool->queue[class_].count;
    uint16_t replica;

    return count < pool->config->fixed_queue[class_] ||
           (count == 0 && may_start(pool, class_, &ticket->fleet, now, &replica));
}

bool pst_fixed_next(const struct pst_pool *pool, pst_ns now, struct pst_pick *ret_pick)
{
    if (pool->queued == 0)
        return false;
    for (uint8_t c = 0; c < pool->classes_count; c++) {
        struct pst_ticket *t = pool->queue[c].age.head;
        uint16_t replica;

        for (; t != NULL; t = t->link[PST_CHAIN_AGE].next) {
            if (may_start(pool, c, &t->fleet, now, &replica)) {
                *ret_pick = (struct pst_pick){.ticket = t, .replica = replica};
                return true;
            }
            if (!pst_fleet_is_picky(&t->fleet, now))
                break; /* only one that is kept apart after a failure lets the next one pass */
        }
    }
    return false;
}

static pst_ns promotion_due(const struct pst_pool *pool, const struct pst_ticket *ticket)
{
    return pst_add_sat(ticket->queued_at,
                       pst_sub_sat(pool->config->fixed_promote_after, ticket->waited));
}

/*
 * Who of the lowest class is due first. The oldest are at the head; only retries, which stand there by
 * their seniority, may have waited less than who is behind them.
 */
static struct pst_ticket *next_promotion(const struct pst_pool *pool)
{
    struct pst_ticket *t = pool->queue[pool->classes_count - 1].age.head;
    struct pst_ticket *first = t;

    if (pool->classes_count < 2)
        return NULL;
    for (; t != NULL; t = t->link[PST_CHAIN_AGE].next) {
        if (promotion_due(pool, t) < promotion_due(pool, first))
            first = t;
        if (t->attempt == 0)
            break;
    }
    return first;
}

struct pst_ticket *pst_fixed_promotable(const struct pst_pool *pool, pst_ns now)
{
    struct pst_ticket *first = next_promotion(pool);

    return first != NULL && promotion_due(pool, first) <= now ? first : NULL;
}

pst_ns pst_fixed_deadline(const struct pst_pool *pool)
{
    const struct pst_ticket *first = next_promotion(pool);

    return first == NULL ? PST_NEVER : promotion_due(pool, first);
}
