/* fleet.c - the facade of the fleet: events in, and what time alone does; see fleet.h. */
#include <stdlib.h>

#include "core/fleet.h"

#include "core/num.h"
#include "core/fleet_internal.h"

int pst_fleet_new(const struct pst_gate_config *config, struct pst_fleet **ret_fleet)
{
    struct pst_fleet *fleet;
    int rc = PST_E_NOMEM;

    if (config->tickets_max == 0 || config->replicas_max == 0 ||
        config->replicas_max > PST_REPLICAS_MAX || config->pools_count > PST_POOLS_MAX)
        return PST_E_INVALID;
    fleet = calloc(1, sizeof *fleet);
    if (fleet == NULL)
        return PST_E_NOMEM;

    fleet->due = PST_NEVER;
    fleet->tickets_max = config->tickets_max;
    fleet->replicas_max = config->replicas_max;
    fleet->evict_first = fleet->evict_last = PST_FLEET_NONE;
    fleet->queue_first = fleet->queue_last = PST_REPLICA_ALL;
    pst_prng_init(&fleet->prng, config->seed);
    fleet->replicas = calloc(config->replicas_max, sizeof *fleet->replicas);
    fleet->attempts = calloc(config->tickets_max, sizeof *fleet->attempts);
    if (fleet->replicas == NULL || fleet->attempts == NULL)
        goto fail;
    rc = pst_suspects_init(&fleet->suspects, config->tickets_max);
    if (rc != PST_OK)
        goto fail;
    for (uint16_t i = 0; i < config->replicas_max; i++) {
        fleet->replicas[i].id = i;
        fleet->replicas[i].first = PST_FLEET_NONE;
        fleet->replicas[i].due = PST_NEVER;
        fleet->replicas[i].rung_at = PST_FLEET_NONE;
        pst_slots_init(&fleet->replicas[i].slots, 0);
        pst_probes_stop(&fleet->replicas[i].probes);
    }
    rc = pst_fleet_reconfigure(fleet, config);
    if (rc != PST_OK)
        goto fail;

    *ret_fleet = fleet;
    return PST_OK;

fail:
    pst_fleet_free(fleet);
    return rc;
}

void pst_fleet_free(struct pst_fleet *fleet)
{
    if (fleet == NULL)
        return;
    pst_suspects_done(&fleet->suspects);
    free(fleet->attempts);
    free(fleet->replicas);
    free(fleet);
}

/* Zero would mean a probe, a stall or an ejection at every moment. */
static bool pool_is_valid(const struct pst_gate_pool *pool)
{
    return pool->slots > 0 && pool->stall > 0 && pool->probe_interval > 0 && pool->probe_rise > 0 &&
           pool->probe_fall > 0 && pool->tries_max > 0;
}

int pst_fleet_reconfigure(struct pst_fleet *fleet, const struct pst_gate_config *config)
{
    if (config->tickets_max != fleet->tickets_max || config->replicas_max != fleet->replicas_max ||
        config->pools_count < fleet->pools_count || config->pools_count > PST_POOLS_MAX)
        return PST_E_INVALID;
    for (uint32_t i = 0; i < config->pools_count; i++) {
        if (!pool_is_valid(&config->pools[i]))
            return PST_E_INVALID;
    }

    for (uint32_t i = 0; i < config->pools_count; i++) {
        if (i >= fleet->pools_count) {
            fleet->pools[i].capacity.starting_ready_at = PST_NEVER;
            fleet->pools[i].weighed_until = PST_NEVER;
        }
        fleet->pools[i].config = config->pools[i];
    }
    fleet->pools_count = config->pools_count;
    for (uint32_t i = 0; i < fleet->replicas_max; i++) {
        struct pst_replica *replica = &fleet->replicas[i];

        if (replica->state == PST_REPLICA_GONE)
            continue;
        if (!replica->own_slots)
            pst_slots_set(&replica->slots, PST_SLOTS_CONFIG,
                          pst_fleet_pool_of(fleet, replica)->config.slots, PST_NEVER);
        pst_slots_reconfigured(&replica->slots);
        pst_fleet_settle(fleet, replica);
    }
    return PST_OK;
}

static void advance(struct pst_fleet *fleet, pst_ns now)
{
    fleet->now = pst_max_u64(fleet->now, now);
}

static struct pst_replica *replica_at(struct pst_fleet *fleet, uint16_t replica)
{
    PST_ASSERT(replica < fleet->replicas_max);
    return &fleet->replicas[replica];
}

bool pst_fleet_admit(struct pst_fleet *fleet, struct pst_fleet_ticket *ticket, pst_ns now)
{
    const struct pst_suspect_body *body;

    advance(fleet, now);
    PST_ASSERT(ticket->sequences > 0);
    *ticket = (struct pst_fleet_ticket){
        .body_hash = ticket->body_hash,
        .affinity = ticket->affinity,
        .replica = PST_REPLICA_ALL,
        .last_replica = PST_REPLICA_ALL,
        .failed_on = PST_REPLICA_ALL,
        .sequences = ticket->sequences,
        .serial = ++fleet->serials,
    };
    body = pst_suspects_find(&fleet->suspects, ticket->body_hash, now);
    if (body != NULL) {
        ticket->crashes = body->crashes;
        ticket->crash_id = body->crash_id;
    }
    return ticket->crashes < PST_FLEET_CRASHES;
}

void pst_fleet_take(struct pst_fleet *fleet, uint32_t ticket_index, struct pst_fleet_ticket *ticket,
                    uint16_t replica_index, pst_ns work, pst_ns now)
{
    struct pst_replica *replica = replica_at(fleet, replica_index);

    advance(fleet, now);
    PST_ASSERT(ticket_index < fleet->tickets_max && ticket->replica == PST_REPLICA_ALL);
    PST_ASSERT(replica->counted.state == PST_REPLICA_READY);
    ticket->replica = replica_index;
    ticket->first_seen = 0;
    ticket->held_until = 0;
    ticket->attempts++;
    pst_places_take(fleet, replica, ticket_index, ticket, work);
    pst_slots_taken(&replica->slots, fleet->taken, replica->places, fleet->now);
    pst_retry_dispatched(&pst_fleet_pool_of(fleet, replica)->retry, fleet->now);
    replica->dispatched++;
    pst_fleet_settle(fleet, replica);
}

void pst_fleet_first(struct pst_fleet *fleet, struct pst_fleet_ticket *ticket, pst_ns now)
{
    struct pst_replica *replica;

    advance(fleet, now);
    if (ticket->replica == PST_REPLICA_ALL || ticket->first_seen)
        return;
    replica = &fleet->replicas[ticket->replica];
    if (ticket->crashes > 0)
        replica->suspects--;
    ticket->first_seen = 1;
    replica->begun++;
    replica->proved = true;
    pst_slots_succeeded(&replica->slots, ticket->taken, fleet->now);
    pst_replica_heard(fleet, replica);
    pst_fleet_settle(fleet, replica);
}

/* Out of its pool, with all that was counted of it. */
static void leave(struct pst_fleet *fleet, struct pst_replica *replica)
{
    struct pst_fleet_pool *pool = pst_fleet_pool_of(fleet, replica);
    uint32_t kept = 0;

    pst_places_forget_lags(replica);
    pst_replica_enter(fleet, replica, PST_REPLICA_GONE);
    replica->draining = false;
    replica->watch = (struct pst_watch){0};
    pst_fleet_settle(fleet, replica);
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->members[i] != replica->id)
            pool->members[kept++] = pool->members[i];
    }
    pool->count = kept;
}

static void join(struct pst_fleet *fleet, struct pst_replica *replica, uint16_t pool_index)
{
    struct pst_fleet_pool *pool = &fleet->pools[pool_index];

    replica->pool = pool_index;
    replica->dispatched = 0;
    replica->failures = 0;
    replica->last_taken = 0;
    replica->joined = ++fleet->joins;
    pool->members[pool->count++] = replica->id;
}

/* A new replica, or another process in the place of a known one: what is in flight stays so. */
static void announce(struct pst_fleet *fleet, struct pst_replica *replica,
                     const struct pst_gate_event *event)
{
    uint16_t pool = event->u.replica.pool;
    pst_ns started_at = replica->started_at;
    bool starts_on =
        (replica->state == PST_REPLICA_STARTING || replica->state == PST_REPLICA_LOADING) &&
        replica->pool == pool && event->u.replica.state == PST_REPLICA_LOADING &&
        event->u.replica.cause != PST_CAUSE_CRASH;

    PST_ASSERT(pool < fleet->pools_count);
    if (replica->state != PST_REPLICA_GONE && replica->pool != pool) {
        pst_fleet_evict_all(fleet, replica, PST_EVICTION_REMOVED);
        leave(fleet, replica);
    }
    if (replica->state == PST_REPLICA_GONE) {
        join(fleet, replica, pool);
        replica->warm = event->u.replica.warm != 0; /* from then on only PROMOTE speaks of it */
    } else if (event->u.replica.cause == PST_CAUSE_CRASH) {
        pst_watch_crash(fleet, replica, PST_FLEET_NONE);
    }

    replica->revision = event->u.replica.revision;
    replica->own_slots = event->u.replica.slots != 0;
    replica->draining = false;
    replica->drained_wanted = false;
    replica->watch = (struct pst_watch){0};
    pst_slots_init(&replica->slots,
                   replica->own_slots ? event->u.replica.slots : fleet->pools[pool].config.slots);
    if (event->u.replica.cause == PST_CAUSE_CRASH)
        pst_slots_caution(&replica->slots, fleet->taken);
    replica->asleep_until = 0;
    replica->still_asked = false;
    replica->places_most = replica->places_least = replica->places;
    pst_hearsay_init(&replica->hearsay, replica->places, fleet->now);
    pst_lifecycle_begin(fleet, replica, event->u.replica.state);
    if (starts_on) { /* its process listens now: its start began before */
        replica->started_at = started_at;
        replica->start_seen = true;
    }
    pst_fleet_settle(fleet, replica);
}

void pst_fleet_replica(struct pst_fleet *fleet, const struct pst_gate_event *event)
{
    struct pst_replica *replica = replica_at(fleet, event->u.replica.replica);

    advance(fleet, event->now);
    if (event->u.replica.state == PST_REPLICA_GONE) {
        if (replica->state == PST_REPLICA_GONE)
            return;
        if (event->u.replica.cause == PST_CAUSE_CRASH)
            pst_watch_crash(fleet, replica, PST_FLEET_NONE);
        else
            pst_fleet_evict_all(fleet, replica, PST_EVICTION_REMOVED);
        leave(fleet, replica);
        return;
    }
    PST_ASSERT(event->u.replica.state == PST_REPLICA_STARTING ||
               event->u.replica.state == PST_REPLICA_LOADING);
    announce(fleet, replica, event);
}

void pst_fleet_probe(struct pst_fleet *fleet, const struct pst_gate_event *event)
{
    struct pst_replica *replica = replica_at(fleet, event->u.probe.replica);

    advance(fleet, event->now);
    if (!pst_probes_out(&replica->probes) || replica->probes.kind != event->u.probe.probe)
        return; /* late: it was given up */
    pst_lifecycle_answer(fleet, replica, event->u.probe.result);
    pst_lifecycle_time(fleet, replica); /* a MODEL probe may be due at once */
    pst_fleet_settle(fleet, replica);
}

void pst_fleet_slots(struct pst_fleet *fleet, const struct pst_gate_event *event)
{
    struct pst_replica *replica = replica_at(fleet, event->u.slots.replica);

    advance(fleet, event->now);
    if (replica->state == PST_REPLICA_GONE)
        return;
    pst_slots_set(&replica->slots, event->u.slots.source, event->u.slots.slots,
                  event->u.slots.until);
    if (event->u.slots.source == PST_SLOTS_CONFIG)
        replica->own_slots = true;
    pst_fleet_settle(fleet, replica);
}

void pst_fleet_progress(struct pst_fleet *fleet, const struct pst_gate_event *event)
{
    struct pst_replica *replica = replica_at(fleet, event->u.progress.replica);

    advance(fleet, event->now);
    if (replica->state == PST_REPLICA_GONE)
        return;
    pst_progress_held(&replica->progress, event->u.progress.held_back, replica->begun, fleet->now);
    if (event->u.progress.tokens > 0) {
        pst_progress_events(&replica->progress, replica->begun, fleet->now);
        pst_replica_heard(fleet, replica);
    }
    pst_fleet_settle(fleet, replica);
}

void pst_fleet_drain(struct pst_fleet *fleet, uint16_t replica_index, pst_ns until, pst_ns now)
{
    struct pst_replica *replica = replica_at(fleet, replica_index);

    advance(fleet, now);
    if (replica->state == PST_REPLICA_GONE) {
        pst_fleet_say_drained(fleet, replica, true, 0);
        return;
    }
    replica->draining = true;
    replica->drain_until = until;
    replica->drained_told = false;
    pst_fleet_settle(fleet, replica);
}

void pst_fleet_undrain(struct pst_fleet *fleet, uint16_t replica_index, pst_ns now)
{
    struct pst_replica *replica = replica_at(fleet, replica_index);

    advance(fleet, now);
    replica->draining = false;
    replica->drained_wanted = false;
    if (replica->state != PST_REPLICA_GONE)
        pst_fleet_settle(fleet, replica);
}

void pst_fleet_promote(struct pst_fleet *fleet, const struct pst_gate_event *event)
{
    struct pst_replica *replica = replica_at(fleet, event->u.promote.replica);

    advance(fleet, event->now);
    if (replica->state == PST_REPLICA_GONE)
        return;
    pst_replica_promote(fleet, replica);
    pst_fleet_settle(fleet, replica);
}

static void drain_deadline(struct pst_fleet *fleet, struct pst_replica *replica)
{
    if (!replica->draining || replica->drained_told || replica->drain_until > fleet->now)
        return;
    pst_fleet_say_drained(fleet, replica, replica->attempts == 0, replica->attempts);
    pst_fleet_evict_all(fleet, replica, PST_EVICTION_REMOVED);
}

void pst_fleet_time(struct pst_fleet *fleet, pst_ns now)
{
    advance(fleet, now);
    if (fleet->now < fleet->due)
        return;
    fleet->due = PST_NEVER;
    for (uint32_t i = 0; i < fleet->replicas_max; i++) {
        struct pst_replica *replica = &fleet->replicas[i];

        if (replica->due <= fleet->now) {
            pst_places_expire_lags(replica, fleet->now);
            pst_watch_time(fleet, replica);
            drain_deadline(fleet, replica);
            pst_lifecycle_time(fleet, replica);
            pst_fleet_settle(fleet, replica);
        }
        fleet->due = pst_min_u64(fleet->due, replica->due);
    }
}

bool pst_fleet_replica_view(const struct pst_fleet *fleet, uint16_t replica_index,
                            struct pst_gate_replica_view *ret_view)
{
    const struct pst_replica *replica;

    if (replica_index >= fleet->replicas_max)
        return false;
    replica = &fleet->replicas[replica_index];
    if (replica->state == PST_REPLICA_GONE)
        return false;
    *ret_view = (struct pst_gate_replica_view){
        .pool = replica->pool,
        .state = (uint8_t)pst_replica_shown(replica),
        .slots = replica->counted.limit,
        .inflight = replica->places,
        .revision = replica->revision,
        .dispatched = replica->dispatched,
        .failures = replica->failures,
        .draining = replica->draining,
    };
    return true;
}

void pst_fleet_verify(const struct pst_fleet *fleet)
{
    for (uint32_t p = 0; p < fleet->pools_count; p++) {
        const struct pst_fleet_pool *pool = &fleet->pools[p];
        struct pst_fleet_capacity sum = {0};

        for (uint32_t m = 0; m < pool->count; m++) {
            const struct pst_replica *replica = &fleet->replicas[pool->members[m]];
            uint32_t limit = replica->counted.limit;

            PST_ASSERT(replica->state != PST_REPLICA_GONE && replica->pool == p);
            pst_places_verify(fleet, replica);
            sum.known++;
            sum.inflight += replica->places;
            if (pst_replica_shown(replica) != PST_REPLICA_READY)
                continue;
            sum.ready++;
            sum.slots += limit;
            sum.free += limit > replica->places ? limit - replica->places : 0;
        }
        PST_ASSERT(sum.known == pool->capacity.known && sum.ready == pool->capacity.ready);
        PST_ASSERT(sum.slots == pool->capacity.slots && sum.free == pool->capacity.free);
        PST_ASSERT(sum.inflight == pool->capacity.inflight);
        pst_ladder_verify(fleet, pool);
    }
}
