/* order.c - see order.h. */
#include "core/order.h"

#include "core/num.h"

struct look {
    struct pst_pool *pool;
    pst_ns now;
};

enum look_result {
    LOOK_NONE,   /* nothing of this class can start: look on */
    LOOK_PICKED, /* this one */
    LOOK_STOP,   /* nothing may start at all */
};

/*
 * Long prompts hold what they may at all, or hold their share while a shorter one of this class or above
 * waits.
 */
static bool long_is_barred(const struct look *look, uint8_t class_)
{
    const struct pst_pool *pool = look->pool;
    uint32_t held = pool->load.inflight_length[PST_LENGTH_LONG];
    uint64_t share = pst_muldiv(pool->capacity->slots, pool->config->long_share_ppm, PST_PPM);

    if (held >= pst_max_u64(pool->long_max, 1))
        return true;
    if (held < pst_max_u64(share, 1))
        return false;
    for (uint8_t c = 0; c <= class_; c++) {
        if (pool->queue[c].tickets[PST_LENGTH_SHORT] > 0 ||
            pool->queue[c].tickets[PST_LENGTH_MID] > 0)
            return true;
    }
    return false;
}

static bool fits(const struct look *look, const struct pst_ticket *ticket, uint32_t keep,
                 uint16_t *ret_replica)
{
    return look->pool->capacity->free > keep &&
           pst_fleet_choose(look->pool->fleet, look->pool->index, &ticket->fleet, look->now,
                            ret_replica);
}

/* Such a ticket fails to fit only when the pool is full: no need to look further. */
static bool is_plain(const struct look *look, const struct pst_ticket *ticket)
{
    return ticket->fleet.sequences == 1 && !pst_fleet_is_picky(&ticket->fleet, look->now);
}

static bool is_late(const struct pst_pool *pool, const struct pst_ticket *ticket, pst_ns now)
{
    return pst_ticket_waited(ticket, now) > pool->classes[ticket->queue_class].max_wait;
}

static enum look_result look_aside(struct look *look, uint8_t class_, struct pst_pick *pick)
{
    struct pst_pool *pool = look->pool;
    bool hold = false;

    for (struct pst_ticket *t = pool->queue[class_].aside.head; t != NULL;
         t = t->link[PST_CHAIN_BIN].next) {
        if (fits(look, t, pool->reserved[class_], &pick->replica)) {
            pick->ticket = t;
            return LOOK_PICKED;
        }
        if (t->fleet.sequences > 1 && t->fleet.crashes == 0 &&
            pool->started - t->aside_mark >= pool->capacity->slots)
            hold = true;
    }
    return hold && pool->capacity->inflight > 0 ? LOOK_STOP : LOOK_NONE;
}

static enum look_result look_class(struct look *look, uint8_t class_, struct pst_pick *pick)
{
    struct pst_pool *pool = look->pool;
    struct pst_waitq *q = &pool->queue[class_];
    pst_ns near = pool->classes[class_].max_wait / 4 * 3;
    uint32_t keep = pool->reserved[class_];
    enum look_result result;
    struct pst_ticket *t;
    bool no_long;

    if (q->aside.head != NULL && (result = look_aside(look, class_, pick)) != LOOK_NONE)
        return result;
    if (pool->capacity->free <= keep)
        return LOOK_NONE;
    no_long = long_is_barred(look, class_);
    while ((t = pst_waitq_next(q, no_long, near, look->now)) != NULL) {
        if (fits(look, t, keep, &pick->replica)) {
            pick->ticket = t;
            return LOOK_PICKED;
        }
        if (is_plain(look, t))
            return LOOK_NONE;
        pst_waitq_set_aside(q, t, pool->started);
    }
    return LOOK_NONE;
}

/* The late ticket of a class that the guard would start: the fair choice if late, else the oldest. */
static struct pst_ticket *late_ticket(const struct look *look, uint8_t class_)
{
    const struct pst_pool *pool = look->pool;
    const struct pst_waitq *q = &pool->queue[class_];
    bool no_long = long_is_barred(look, class_);
    struct pst_ticket *t = q->age.head;

    if (t == NULL || !is_late(pool, t, look->now))
        return NULL;
    t = pst_waitq_next(q, no_long, 0, look->now);
    if (t != NULL && is_late(pool, t, look->now))
        return t;
    t = q->age.head;
    return no_long && t->length == PST_LENGTH_LONG ? NULL : t;
}

/* Whether class 0 waits past its target: only then may anything go before it. */
static bool top_is_late(const struct look *look)
{
    const struct pst_ticket *oldest = look->pool->queue[0].age.head;

    return oldest != NULL && pst_ticket_waited(oldest, look->now) > look->pool->classes[0].target;
}

static bool look_guard(struct look *look, bool overtake, struct pst_pick *pick)
{
    struct pst_pool *pool = look->pool;

    for (uint8_t c = (uint8_t)(pool->classes_count - 1); c > 0; c--) {
        struct pst_ticket *t;

        if (pool->queue[c].count == 0 ||
            !(overtake ? pst_guard_may_overtake(&pool->guard, c) : pst_guard_may(&pool->guard, c)))
            continue;
        t = late_ticket(look, c);
        if (t == NULL || !fits(look, t, 0, &pick->replica))
            continue;
        pick->ticket = t;
        pick->overtake = overtake;
        pick->guard = overtake || pool->capacity->free <= pool->reserved[c];
        for (uint8_t above = 1; above < c; above++)
            pick->guard |= pool->queue[above].count > 0;
        return true;
    }
    return false;
}

bool pst_order_next(struct pst_pool *pool, pst_ns now, struct pst_pick *ret_pick)
{
    struct look look = {.pool = pool, .now = now};
    struct pst_pick pick = {0};

    if (pool->queued == 0)
        return false;
    if (pool->capacity->ready == 0 || pool->capacity->free == 0)
        return false;
    if (top_is_late(&look) && look_guard(&look, true, &pick)) {
        *ret_pick = pick;
        return true;
    }
    for (uint8_t c = 0; c < pool->classes_count; c++) {
        if (c == 1 && look_guard(&look, false, &pick)) {
            *ret_pick = pick;
            return true;
        }
        if (pool->queue[c].count == 0)
            continue;
        switch (look_class(&look, c, &pick)) {
        case LOOK_NONE:
            break;
        case LOOK_PICKED:
            *ret_pick = pick;
            return true;
        case LOOK_STOP:
            return false;
        }
    }
    return false;
}

void pst_order_started(struct pst_pool *pool, const struct pst_pick *pick, pst_ns work, pst_ns now)
{
    struct pst_ticket *ticket = pick->ticket;
    bool late = pst_ticket_waited(ticket, now) > pool->classes[ticket->queue_class].target;

    pst_waitq_charge(&pool->queue[ticket->queue_class], ticket, now);
    if (pick->overtake)
        pst_guard_overtook(&pool->guard, ticket->queue_class, work);
    else
        pst_guard_dispatched(&pool->guard, pool->classes, pool->classes_count, ticket->queue_class,
                             work, late, pool->capacity->slots);
}
