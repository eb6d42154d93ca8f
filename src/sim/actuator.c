/*
 * actuator.c - a number becomes replicas, where the rule says no more than a number: what a ReplicaSet does
 * with its spec, and what a pilot is shown to make one.
 *
 * Missing replicas are created; of too many, those that are not ready go first, the youngest first,
 * then the ready ones: marked ones, then those that became ready last (the order of the ReplicaSet
 * controller, less the rules about nodes). A ready one drains, as a preStop hook would have it, for no
 * longer than the pool's drain deadline.
 */
#include <string.h>

#include "core/num.h"
#include "sim/world.h"

/* The HPA's: how often it asks. */
#define SYNC (15 * PST_S)

/* Wanted, as far as its spec is concerned: a pod that is told to go does not count. */
static bool counts(const struct pst_lives_replica *replica, uint16_t pool)
{
    return replica->pool == pool && !replica->going &&
           (replica->phase == PST_LIVES_STARTING || replica->phase == PST_LIVES_READY ||
            replica->phase == PST_LIVES_DRAINING);
}

static uint32_t count(const struct pst_sim *sim, uint16_t pool)
{
    uint32_t sum = 0;

    for (uint16_t r = 0; r < sim->lives.max; r++)
        sum += counts(&sim->lives.items[r], pool);
    return sum;
}

static bool goes_before(const struct pst_lives_replica *a, const struct pst_lives_replica *b)
{
    bool a_starts = a->phase == PST_LIVES_STARTING, b_starts = b->phase == PST_LIVES_STARTING;

    if (a_starts != b_starts)
        return a_starts;
    if (a->marked != b->marked)
        return a->marked;
    if (a->ready_at != b->ready_at)
        return a->ready_at > b->ready_at;
    return a->number > b->number;
}

static void remove_one(struct pst_sim *sim, uint16_t pool)
{
    uint16_t victim = PST_REPLICA_ALL;

    for (uint16_t r = 0; r < sim->lives.max; r++) {
        if (counts(&sim->lives.items[r], pool) &&
            (victim == PST_REPLICA_ALL ||
             goes_before(&sim->lives.items[r], &sim->lives.items[victim])))
            victim = r;
    }
    PST_ASSERT(victim != PST_REPLICA_ALL);
    pst_fleet_side_evict(sim, victim);
}

void pst_actuator_reconcile(struct pst_sim *sim, uint16_t pool)
{
    uint32_t wanted = sim->pools[pool].wanted;

    if (!sim->pools[pool].acts)
        return;
    while (count(sim, pool) < wanted) {
        if (pst_fleet_side_start(sim, pool, 0, false) != PST_OK)
            break; /* tried again in a second */
    }
    while (count(sim, pool) > wanted)
        remove_one(sim, pool);
}

/* What is not known changes nothing. */
void pst_actuator_follow(struct pst_sim *sim, uint16_t index)
{
    struct pst_world_pool *pool = &sim->pools[index];
    uint32_t number;

    if (!pool->follows || sim->now % SYNC != 0 || sim->faults_on[PST_FAULT_OUTAGE][index] > 0 ||
        !pst_scaler_number(sim->scaler, index, &number) || number == pool->wanted)
        return;
    pool->wanted = number;
    pst_scaler_side_scaled(sim, index);
}

static struct pst_sight see(struct pst_sim *sim, uint16_t index)
{
    const uint32_t *phases = sim->lives.pools[index].counts;
    struct pst_world_pool *pool = &sim->pools[index];
    struct pst_sight sight = {.now = sim->now};

    pst_world_look(sim, index);
    sight.blind = sim->faults_on[PST_FAULT_OUTAGE][index] > 0;
    sight.current = pool->wanted;
    sight.ready = phases[PST_LIVES_READY];
    sight.unready = phases[PST_LIVES_STARTING];
    sight.slots = sight.ready * sim->gate_config.pools[index].slots;
    sight.inflight = pool->inflight;
    sight.queued = pool->queued;
    memcpy(sight.queued_class, pool->queued_class, sizeof sight.queued_class);
    sight.inflight_ns = pool->inflight_ns;
    sight.busy_ns = pool->busy_ns;
    sight.arrived = pool->arrived;
    sight.told = pool->told;
    return sight;
}

void pst_actuator_look(struct pst_sim *sim, uint16_t index)
{
    struct pst_world_pool *pool = &sim->pools[index];
    struct pst_sight sight = see(sim, index);
    uint32_t wanted = pst_pilot_look(pool->pilot, &sight);

    if (wanted != pool->wanted) {
        struct pst_report_decision decision = {.at = sim->now, .peer = true};

        decision.action.kind = PST_SCALER_DECISION;
        decision.action.pool = index;
        decision.action.u.decision.desired = (uint16_t)wanted;
        decision.action.u.decision.before = (uint16_t)pool->wanted;
        decision.action.u.decision.ready = (uint16_t)sight.ready;
        decision.action.u.decision.starting = (uint16_t)sight.unready;
        pst_tally_scaler(&sim->tally, &decision.action);
        pst_tally_decided(&sim->tally, &decision);
        pst_tally_moved(&sim->tally, index, pool->wanted, wanted, sim->now);
        pool->wanted = wanted;
    }
    pst_actuator_reconcile(sim, index);
}
