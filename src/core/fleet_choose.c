/*
 * fleet_choose.c - which replica a ticket goes to.
 *
 * Among ready replicas with places enough: the least outstanding work per slot, where the work of one
 * that stops making progress weighs more; ties go to the one that got work longest ago. A session or
 * prefix prefers the replica that its key ranks first (rendezvous hashing: a replica that leaves moves
 * only its own keys), as long as that one carries no more than 1.25 x the mean. A ticket that failed
 * somewhere goes elsewhere while there is an elsewhere.
 */
#include "core/num.h"
#include "core/fleet_internal.h"

/* 1.25 as a ratio. */
#define BOUND_NUMERATOR   5
#define BOUND_DENOMINATOR 4

struct candidate {
    const struct pst_replica *replica;
    uint64_t work; /* outstanding, weighed */
    uint32_t limit;
};

/* With one limit behind caution or slow start, many sequences wait for the replica to be empty. */
static bool has_room(const struct pst_replica *replica, const struct pst_fleet_ticket *ticket)
{
    uint32_t limit = replica->counted.limit;
    uint32_t need = (uint32_t)pst_min_u64(ticket->sequences, limit);

    return limit > 0 && replica->places <= limit && limit - replica->places >= need;
}

/*
 * Two suspects before their first byte never share a replica, of whatever crash they are: one death may
 * be judged in two incidents, and the innocent of the two would be taken along a second time.
 */
static bool has_accomplice(const struct pst_replica *replica, const struct pst_fleet_ticket *ticket)
{
    return ticket->crashes > 0 && replica->suspects > 0;
}

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    uint64_t left, right;

    if (b->replica == NULL)
        return true;
    left = pst_mul_sat(a->work, b->limit);
    right = pst_mul_sat(b->work, a->limit);
    if (left != right)
        return left < right;
    left = (uint64_t)a->replica->places * b->limit;
    right = (uint64_t)b->replica->places * a->limit;
    if (left != right)
        return left < right;
    return a->replica->last_taken < b->replica->last_taken;
}

/* In flight with this ticket, per slot, at most 1.25 x the pool's mean, rounded up. */
static bool is_within_bound(const struct pst_fleet_pool *pool, const struct pst_replica *replica,
                            const struct pst_fleet_ticket *ticket)
{
    uint64_t total = (uint64_t)pool->capacity.slots - pool->capacity.free + ticket->sequences;
    uint64_t share = total * BOUND_NUMERATOR * replica->counted.limit;
    uint64_t parts = (uint64_t)BOUND_DENOMINATOR * pool->capacity.slots;

    return replica->places + ticket->sequences <= (share + parts - 1) / parts;
}

static uint64_t rank_of(uint64_t affinity, uint16_t replica)
{
    return pst_mix64(affinity ^ pst_mix64(UINT64_C(0x9e3779b97f4a7c15) * (replica + 1u)));
}

bool pst_fleet_choose(const struct pst_fleet *fleet, uint16_t pool_index,
                      const struct pst_fleet_ticket *ticket, pst_ns now, uint16_t *ret_replica)
{
    const struct pst_fleet_pool *pool = &fleet->pools[pool_index];
    bool sticky = pool->config.affinity && ticket->affinity != 0;
    const struct pst_replica *last = NULL; /* where it failed, if nothing else is left */
    const struct pst_replica *kept = NULL; /* by affinity */
    struct candidate best = {0};
    uint64_t kept_rank = 0;
    bool elsewhere = false;

    if (pool->capacity.free == 0)
        return false;
    if (ticket->held_until > now && !ticket->same_again)
        return false;

    for (uint32_t i = 0; i < pool->count; i++) {
        const struct pst_replica *replica = &fleet->replicas[pool->members[i]];
        struct candidate one = {.replica = replica, .limit = replica->counted.limit};

        if (replica->counted.state != PST_REPLICA_READY)
            continue;
        if (replica->id == ticket->last_replica) {
            if (has_room(replica, ticket) && !has_accomplice(replica, ticket))
                last = replica;
            continue;
        }
        if (one.limit > 0)
            elsewhere = true;
        if (!has_room(replica, ticket) || has_accomplice(replica, ticket))
            continue;

        one.work =
            pst_mul_sat(replica->work, pst_progress_weight(&replica->progress, replica->begun,
                                                           pool->config.stall, now));
        if (is_better(&one, &best))
            best = one;
        if (sticky && is_within_bound(pool, replica, ticket) &&
            (kept == NULL || rank_of(ticket->affinity, replica->id) > kept_rank)) {
            kept = replica;
            kept_rank = rank_of(ticket->affinity, replica->id);
        }
    }

    if (ticket->same_again && last != NULL)
        *ret_replica = last->id;
    else if (ticket->same_again && ticket->held_until > now)
        return false;
    else if (kept != NULL)
        *ret_replica = kept->id;
    else if (best.replica != NULL)
        *ret_replica = best.replica->id;
    else if (!elsewhere && last != NULL)
        *ret_replica = last->id;
    else
        return false;
    return true;
}
