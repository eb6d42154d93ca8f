/* fleet_capacity.c - what each pool can carry: sums that follow every change of a replica. */
#include "core/num.h"
#include "core/fleet_internal.h"

#define START_QUANTILE_PPM 900000

static uint32_t free_places(uint32_t limit, uint32_t places)
{
    return limit > places ? limit - places : 0;
}

/* Adds (@sign 1) or takes away (-1) what is counted of a replica. */
static void add(struct pst_fleet_pool *pool, const struct pst_counted *counted, int sign)
{
    struct pst_fleet_capacity *capacity = &pool->capacity;
    uint32_t one = (uint32_t)sign; /* modulo 2^32, so that -1 takes away */

    if (counted->state == PST_REPLICA_GONE)
        return;
    pool->states[counted->state] += one;
    capacity->known += one;
    capacity->inflight += one * counted->places;
    capacity->starting_slots += one * counted->starting;
    if (counted->state == PST_REPLICA_READY) {
        capacity->ready += one;
        capacity->slots += one * counted->limit;
        capacity->free += one * free_places(counted->limit, counted->places);
    }
}

static void move_places(struct pst_fleet_pool *pool, struct pst_counted *counted, uint32_t places)
{
    if (counted->state != PST_REPLICA_GONE)
        pool->capacity.inflight += places - counted->places;
    if (counted->state == PST_REPLICA_READY)
        pool->capacity.free +=
            free_places(counted->limit, places) - free_places(counted->limit, counted->places);
    counted->places = places;
}

/* What is now true of the replica, in the sums. */
static void count(struct pst_fleet_pool *pool, struct pst_replica *replica,
                  enum pst_replica_state state, uint32_t limit, uint32_t starting)
{
    struct pst_counted *counted = &replica->counted;

    if (counted->state == state && counted->limit == limit && counted->starting == starting) {
        /* Only places were taken or came free: what happens with every attempt. */
        move_places(pool, counted, replica->places);
        return;
    }
    add(pool, counted, -1);
    *counted = (struct pst_counted){
        .state = state, .limit = limit, .places = replica->places, .starting = starting};
    add(pool, counted, 1);
}

static pst_ns deadline_of(const struct pst_fleet_pool *pool, const struct pst_replica *replica)
{
    pst_ns due;

    if (replica->state == PST_REPLICA_GONE)
        return PST_NEVER;
    due = pst_min_u64(pst_probes_deadline(&replica->probes), pst_places_deadline(replica));
    due = pst_min_u64(due, pst_watch_deadline(&replica->watch));
    due = pst_min_u64(due, pst_progress_deadline(&replica->progress, replica->attempts,
                                                 replica->begun, pool->config.stall));
    return due;
}

/* None while a reset may turn out to have been a crash: what came now would be blamed for it, too. */
static uint32_t limit_of(const struct pst_fleet *fleet, const struct pst_fleet_pool *pool,
                         struct pst_replica *replica)
{
    if (replica->watch.failed > 0 && replica->watch.hard)
        return 0;
    return pst_slots_limit(&replica->slots, pool->config.slow_start, fleet->now);
}

void pst_fleet_settle(struct pst_fleet *fleet, struct pst_replica *replica)
{
    struct pst_fleet_pool *pool = pst_fleet_pool_of(fleet, replica);
    enum pst_replica_state shown = pst_replica_shown(replica);
    /* Nobody has said that one which is kept warm will ever serve, or that one which sleeps will wake. */
    bool starting = (shown == PST_REPLICA_STARTING || shown == PST_REPLICA_LOADING) &&
                    !replica->warm && !pst_replica_sleeps(replica, fleet->now);
    bool recount_start = starting || replica->counted.starting > 0;

    if (replica->draining && replica->attempts == 0 && !replica->drained_told)
        pst_fleet_say_drained(fleet, replica, true, 0);
    if (shown != replica->told_state)
        pst_fleet_say_state(fleet, replica);

    count(pool, replica, shown, limit_of(fleet, pool, replica),
          starting ? pst_slots_base(&replica->slots, fleet->now) : 0);
    pst_ladder_settle(fleet, replica);
    if (recount_start)
        pst_fleet_estimate_start(fleet, pool);

    replica->due = deadline_of(pool, replica);
    if (shown == PST_REPLICA_READY)
        replica->due = pst_min_u64(
            replica->due, pst_slots_deadline(&replica->slots, pool->config.slow_start, fleet->now));
    if (replica->draining && !replica->drained_told)
        replica->due = pst_min_u64(replica->due, replica->drain_until);
    fleet->due = pst_min_u64(fleet->due, replica->due);
}

/*
 * When the first replica that starts is ready: its start plus the P90 of those measured. One that is
 * late by d is expected in another d, so that one that never comes does not promise for ever.
 */
void pst_fleet_estimate_start(struct pst_fleet *fleet, struct pst_fleet_pool *pool)
{
    pst_ns usual = pst_hist_quantile(&pool->starts, START_QUANTILE_PPM);
    pst_ns first = PST_NEVER;

    for (uint32_t i = 0; pool->starts.count > 0 && i < pool->count; i++) {
        const struct pst_replica *replica = &fleet->replicas[pool->members[i]];
        pst_ns at;

        if (replica->counted.starting == 0)
            continue;
        at = pst_add_sat(replica->started_at, usual);
        if (at < fleet->now)
            at = pst_add_sat(fleet->now, fleet->now - at);
        first = pst_min_u64(first, at);
    }
    pool->capacity.starting_ready_at = first;
}

const struct pst_fleet_capacity *pst_fleet_capacity(const struct pst_fleet *fleet, uint16_t pool)
{
    return &fleet->pools[pool].capacity;
}

void pst_fleet_states(const struct pst_fleet *fleet, uint16_t pool,
                      uint32_t ret_count[PST_REPLICA_STATE_COUNT])
{
    for (uint32_t i = 0; i < PST_REPLICA_STATE_COUNT; i++)
        ret_count[i] = fleet->pools[pool].states[i];
}

pst_ns pst_fleet_deadline(const struct pst_fleet *fleet)
{
    return fleet->due;
}
