/* faults.c - what goes wrong, and when: see enum pst_fault_kind. Of the ready replicas the oldest are hit. */
#include "core/num.h"
#include "sim/world.h"

void pst_faults_plan(struct pst_sim *sim)
{
    for (uint32_t i = 0; i < sim->scenario->faults_count; i++) {
        const struct pst_fault *fault = &sim->scenario->faults[i];

        pst_world_at(sim, fault->at, PST_WORLD_FAULT, i, 0);
        if (fault->kind != PST_FAULT_KILL && fault->kind != PST_FAULT_EVICT &&
            fault->until > fault->at)
            pst_world_at(sim, fault->until, PST_WORLD_REPAIRED, i, 0);
    }
}

/* The ready one that was created first, of those created after `number`. */
static uint16_t next_ready(const struct pst_sim *sim, uint16_t pool, uint64_t number)
{
    uint16_t next = PST_REPLICA_ALL;

    for (uint16_t r = 0; r < sim->lives.max; r++) {
        const struct pst_lives_replica *replica = &sim->lives.items[r];

        if (replica->phase == PST_LIVES_READY && replica->pool == pool &&
            replica->number > number &&
            (next == PST_REPLICA_ALL || replica->number < sim->lives.items[next].number))
            next = r;
    }
    return next;
}

static void strike(struct pst_sim *sim, const struct pst_fault *fault, uint16_t index)
{
    struct pst_lives_replica *replica = &sim->lives.items[index];

    if (fault->kind == PST_FAULT_KILL) {
        pst_fleet_side_crash(sim, index);
        return;
    }
    if (fault->kind == PST_FAULT_EVICT) {
        pst_fleet_side_evict(sim, index);
        return;
    }
    if (sim->engines != NULL)
        pst_engines_time(sim, index); /* so far at its old speed */
    if (fault->kind == PST_FAULT_SLOW) {
        replica->fault_factor = fault->factor > 0.0 ? fault->factor : 1.0;
        replica->slow_until = fault->until;
    } else {
        if (replica->hung_until == 0)
            replica->hung_since = sim->now;
        replica->hung_until = pst_max_u64(replica->hung_until, fault->until);
    }
    if (sim->engines != NULL)
        pst_engines_time(sim, index);
}

/* `count` replicas; those that are hit while others leave are not hit again. */
static void strike_some(struct pst_sim *sim, const struct pst_fault *fault)
{
    uint64_t number = 0;

    for (uint32_t i = 0; i < fault->count; i++) {
        uint16_t index = next_ready(sim, fault->pool, number);

        if (index == PST_REPLICA_ALL)
            return;
        number = sim->lives.items[index].number;
        strike(sim, fault, index);
    }
}

static void begin(struct pst_sim *sim, const struct pst_fault *fault)
{
    switch (fault->kind) {
    case PST_FAULT_KILL:
    case PST_FAULT_EVICT:
    case PST_FAULT_SLOW:
    case PST_FAULT_HANG:
        strike_some(sim, fault);
        return;
    case PST_FAULT_ROLLOUT:
        sim->pools[fault->pool].revision++;
        break;
    case PST_FAULT_STUCK:
    case PST_FAULT_FAIL:
    case PST_FAULT_QUOTA:
    case PST_FAULT_OUTAGE:
    case PST_FAULT_BLIND:
        break;
    case PST_FAULT_KIND_COUNT:
        PST_ASSERT(!"a kind of fault");
    }
    sim->faults_on[fault->kind][fault->pool]++;
}

/* Whose fault ends now is well again. */
static void heal(struct pst_sim *sim, uint16_t index)
{
    struct pst_lives_replica *replica = &sim->lives.items[index];

    if (sim->engines != NULL)
        pst_engines_time(sim, index);
    if (replica->slow_until != 0 && replica->slow_until <= sim->now) {
        replica->fault_factor = 1.0;
        replica->slow_until = 0;
    }
    if (replica->hung_until != 0 && replica->hung_until <= sim->now) {
        replica->frozen = pst_lives_frozen(replica);
        replica->hung_until = 0;
    }
    if (sim->engines != NULL)
        pst_engines_time(sim, index);
}

static void repair(struct pst_sim *sim, const struct pst_fault *fault)
{
    if (fault->kind != PST_FAULT_SLOW && fault->kind != PST_FAULT_HANG) {
        sim->faults_on[fault->kind][fault->pool]--;
        return;
    }
    for (uint16_t r = 0; r < sim->lives.max; r++) {
        if (sim->lives.items[r].phase != PST_LIVES_GONE && sim->lives.items[r].pool == fault->pool)
            heal(sim, r);
    }
}

uint32_t pst_faults_quota(const struct pst_sim *sim, uint16_t pool)
{
    uint32_t quota = UINT32_MAX;

    for (uint32_t i = 0; i < sim->scenario->faults_count; i++) {
        const struct pst_fault *fault = &sim->scenario->faults[i];

        if (fault->kind == PST_FAULT_QUOTA && fault->pool == pool && fault->at <= sim->now &&
            sim->now < fault->until && fault->count < quota)
            quota = fault->count;
    }
    return quota;
}

void pst_faults_event(struct pst_sim *sim, const struct pst_event *event)
{
    const struct pst_fault *fault = &sim->scenario->faults[event->subject];

    if (pst_event_kind(event) == PST_WORLD_FAULT)
        begin(sim, fault);
    else
        repair(sim, fault);
}
