/*
 * fleet_choose.c - which replica a ticket goes to.
 *
 * Among ready replicas with places enough: the least outstanding work per slot, where the work of one
 * that stops making progress weighs more; ties go to the one that got work longest ago. A session or
 * prefix prefers the replica that its key ranks first (rendezvous hashing: a replica that leaves moves
 * only its own keys), as long as that one carries no more than 1.25 x the mean. A ticket that failed
 * somewhere goes elsewhere while there is an elsewhere, and waits for a replica that is trusted rather than
 * try out another that failed.
 */
#include "core/num.h"
#include "core/fleet_internal.h"

/* 1.25 as a ratio. */
#define BOUND_NUMERATOR   5
#define BOUND_DENOMINATOR 4

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

bool pst_fleet_trusts_another(const struct pst_fleet *fleet, const struct pst_fleet_pool *pool,
                              uint16_t replica)
{
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->members[i] != replica && pst_fleet_is_trusted(&fleet->replicas[pool->members[i]]))
            return true;
    }
    return false;
}

/* Among all of them: what is asked for is more than a free place. */
static bool choose_picky(const struct pst_fleet *fleet, const struct pst_fleet_pool *pool,
                         const struct pst_fleet_ticket *ticket, pst_ns now, uint16_t *ret_replica)
{
    bool sticky = pool->config.affinity && ticket->affinity != 0;
    const struct pst_replica *last = NULL; /* where it failed, if nothing else is left */
    const struct pst_replica *kept = NULL; /* by affinity */
    const struct pst_rung *best = NULL;
    uint64_t kept_rank = 0;
    bool elsewhere = false;
    bool wary = ticket->last_replica != PST_REPLICA_ALL &&
                pst_fleet_trusts_another(fleet, pool, ticket->last_replica);

    for (uint32_t i = 0; i < pool->count; i++) {
        const struct pst_replica *replica = &fleet->replicas[pool->members[i]];
        const struct pst_rung *rung;

        if (replica->counted.state != PST_REPLICA_READY)
            continue;
        if (replica->id == ticket->last_replica) {
            if (has_room(replica, ticket) && !has_accomplice(replica, ticket))
                last = replica;
            continue;
        }
        if (replica->counted.limit > 0)
            elsewhere = true;
        if (wary && !pst_fleet_is_trusted(replica))
            continue;
        if (!has_room(replica, ticket) || has_accomplice(replica, ticket))
            continue;

        rung = &pool->ladder[replica->rung_at];
        if (best == NULL || pst_rung_is_before(rung, best))
            best = rung;
        if (sticky && is_within_bound(pool, replica, ticket)) {
            uint64_t rank = rank_of(ticket->affinity, replica->id);

            if (kept != NULL && rank <= kept_rank)
                continue;
            kept = replica;
            kept_rank = rank;
        }
    }

    if (ticket->same_again && last != NULL)
        *ret_replica = last->id;
    else if (ticket->same_again && ticket->held_until > now)
        return false;
    else if (kept != NULL)
        *ret_replica = kept->id;
    else if (best != NULL)
        *ret_replica = best->replica;
    else if (!elsewhere && last != NULL)
        *ret_replica = last->id;
    else
        return false;
    return true;
}

/* Any free place is good, and one is enough. */
static bool is_plain(const struct pst_fleet_pool *pool, const struct pst_fleet_ticket *ticket,
                     pst_ns now)
{
    return ticket->sequences == 1 && !pst_fleet_is_picky(ticket, now) &&
           !(pool->config.affinity && ticket->affinity != 0);
}

bool pst_fleet_choose(struct pst_fleet *fleet, uint16_t pool_index,
                      const struct pst_fleet_ticket *ticket, pst_ns now, uint16_t *ret_replica)
{
    struct pst_fleet_pool *pool = &fleet->pools[pool_index];

    if (pool->ladder_count == 0)
        return false;
    if (ticket->held_until > now && !ticket->same_again)
        return false;
    pst_ladder_weigh(fleet, pool, now);
    if (!is_plain(pool, ticket, now))
        return choose_picky(fleet, pool, ticket, now, ret_replica);
    *ret_replica = pool->ladder[0].replica;
    return true;
}
