/*
 * fleet_side.c - replicas live, and both cores are told what a driver would see of it.
 *
 * The gate hears of a replica when it is created, and again when its process listens; then its probe is
 * answered at once, so that a cold start is exactly as long as its law says. A warm one is nobody's
 * business but the scaler's until its promotion is over.
 */
#include "core/num.h"
#include "sim/world.h"

#define PROBE_SHIFT 16 /* TIMEOUT's subject: replica, and the kind of probe above it */

static void tell_gate(struct pst_sim *sim, uint16_t index, enum pst_replica_state state,
                      enum pst_cause cause)
{
    struct pst_lives_replica *replica = &sim->lives.items[index];
    struct pst_gate_event event = {.kind = PST_EVENT_REPLICA};

    if (state == PST_REPLICA_GONE && !replica->told)
        return;
    replica->told = state != PST_REPLICA_GONE;
    event.u.replica.replica = index;
    event.u.replica.pool = replica->pool;
    event.u.replica.state = (uint8_t)state;
    event.u.replica.cause = (uint8_t)cause;
    event.u.replica.revision = replica->revision;
    pst_gate_side_event(sim, &event);
}

static void enter(struct pst_sim *sim, uint16_t index, enum pst_lives_phase phase)
{
    pst_lives_change(&sim->lives, index, phase, sim->now);
    pst_tally_replicas(&sim->tally, &sim->lives, sim->now);
}

static void end(struct pst_sim *sim, uint16_t index, bool crashed)
{
    if (sim->engines != NULL)
        pst_engines_close(sim, index);
    enter(sim, index, PST_LIVES_GONE);
    tell_gate(sim, index, PST_REPLICA_GONE, crashed ? PST_CAUSE_CRASH : PST_CAUSE_REMOVED);
    pst_scaler_side_replica(sim, index, crashed);
}

static void become_ready(struct pst_sim *sim, uint16_t index)
{
    struct pst_lives_replica *replica = &sim->lives.items[index];

    if (sim->scenario->pools[replica->pool].token_mode)
        pst_engines_open(sim, index);
    enter(sim, index, PST_LIVES_READY);
    if (replica->fate.dies_after != PST_NEVER)
        pst_world_at(sim, pst_add_sat(sim->now, replica->fate.dies_after), PST_WORLD_DEATH, index,
                     (uint32_t)replica->number);
    tell_gate(sim, index, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    pst_scaler_side_replica(sim, index, false);
}

static int create(struct pst_sim *sim, uint16_t pool, uint16_t *ret_index)
{
    const int rc = pst_lives_create(&sim->lives, pool, sim->now, ret_index);
    if (rc == PST_OK)
        sim->lives.items[*ret_index].revision = sim->pools[pool].revision;
    return rc;
}

int pst_fleet_side_start(struct pst_sim *sim, uint16_t pool, uint32_t op, bool warm)
{
    struct pst_lives_replica *replica;
    uint16_t index;
    int rc;

    if (pst_lives_existing(&sim->lives, pool) >= pst_faults_quota(sim, pool))
        return PST_E_FULL;
    rc = create(sim, pool, &index);
    if (rc != PST_OK)
        return rc;
    replica = &sim->lives.items[index];
    replica->op = op;
    replica->for_warm = warm;
    replica->stuck = sim->faults_on[PST_FAULT_STUCK][pool] > 0;
    replica->fails = sim->faults_on[PST_FAULT_FAIL][pool] > 0;
    pst_tally_replicas(&sim->tally, &sim->lives, sim->now);
    if (!replica->stuck)
        pst_world_at(sim, pst_add_sat(sim->now, replica->fate.cold), PST_WORLD_LOADED, index,
                     replica->turn);
    if (!warm)
        tell_gate(sim, index, PST_REPLICA_STARTING, PST_CAUSE_CONFIG);
    pst_scaler_side_replica(sim, index, false);
    return PST_OK;
}

void pst_fleet_side_born_ready(struct pst_sim *sim, uint16_t pool)
{
    uint16_t index;

    if (create(sim, pool, &index) == PST_OK)
        become_ready(sim, index);
}

void pst_fleet_side_promote(struct pst_sim *sim, uint16_t index)
{
    struct pst_lives_replica *replica = &sim->lives.items[index];

    if (replica->phase != PST_LIVES_WARM)
        return;
    enter(sim, index, PST_LIVES_PROMOTING);
    pst_world_at(sim, pst_add_sat(sim->now, replica->fate.promote), PST_WORLD_LOADED, index,
                 replica->turn);
}

void pst_fleet_side_drain(struct pst_sim *sim, uint16_t index, pst_ns until)
{
    struct pst_gate_event event = {.kind = PST_EVENT_DRAIN};

    if (sim->lives.items[index].phase != PST_LIVES_READY)
        return;
    enter(sim, index, PST_LIVES_DRAINING);
    pst_scaler_side_replica(sim, index, false);
    event.u.drain.replica = index;
    event.u.drain.until = pst_add_sat(until, PST_SIM_EPOCH);
    pst_gate_side_event(sim, &event);
}

void pst_fleet_side_undrain(struct pst_sim *sim, uint16_t index)
{
    struct pst_gate_event event = {.kind = PST_EVENT_UNDRAIN};

    sim->lives.items[index].marked = false;
    if (sim->lives.items[index].phase != PST_LIVES_DRAINING)
        return;
    sim->lives.items[index].drained = false;
    enter(sim, index, PST_LIVES_READY);
    pst_scaler_side_replica(sim, index, false);
    event.u.undrain.replica = index;
    pst_gate_side_event(sim, &event);
}

void pst_fleet_side_stop(struct pst_sim *sim, uint16_t index)
{
    struct pst_lives_replica *replica = &sim->lives.items[index];

    switch ((enum pst_lives_phase)replica->phase) {
    case PST_LIVES_STARTING:
        end(sim, index, false);
        break;
    case PST_LIVES_WARM:
    case PST_LIVES_PROMOTING:
    case PST_LIVES_READY:
    case PST_LIVES_DRAINING:
        pst_tally_killed(&sim->tally, replica->inflight, sim->now);
        enter(sim, index, PST_LIVES_STOPPING);
        pst_world_at(sim, pst_add_sat(sim->now, replica->fate.stop), PST_WORLD_STOPPED, index,
                     replica->turn);
        tell_gate(sim, index, PST_REPLICA_GONE, PST_CAUSE_REMOVED);
        break;
    case PST_LIVES_GONE:
    case PST_LIVES_STOPPING:
        break;
    case PST_LIVES_COUNT:
        PST_ASSERT(!"a phase of lives.h");
    }
}

void pst_fleet_side_evict(struct pst_sim *sim, uint16_t index)
{
    struct pst_lives_replica *replica = &sim->lives.items[index];

    replica->going = true;
    if (replica->phase == PST_LIVES_READY)
        pst_fleet_side_drain(
            sim, index,
            pst_add_sat(sim->now, sim->scaler_config.pools[replica->pool].drain_deadline));
    else
        pst_scaler_side_replica(sim, index, false);
    if (replica->phase == PST_LIVES_STARTING || replica->drained)
        pst_fleet_side_stop(sim, index);
}

void pst_fleet_side_crash(struct pst_sim *sim, uint16_t index)
{
    if (sim->lives.items[index].phase != PST_LIVES_GONE)
        end(sim, index, true);
}

static void answer(struct pst_sim *sim, uint16_t index, enum pst_probe probe,
                   enum pst_probe_result result)
{
    struct pst_gate_event event = {.kind = PST_EVENT_PROBE};

    event.u.probe.replica = index;
    event.u.probe.probe = (uint8_t)probe;
    event.u.probe.result = (uint8_t)result;
    pst_gate_side_event(sim, &event);
}

void pst_fleet_side_check(struct pst_sim *sim, uint16_t index, enum pst_probe probe)
{
    const struct pst_lives_replica *replica = &sim->lives.items[index];

    switch ((enum pst_lives_phase)replica->phase) {
    case PST_LIVES_STARTING:
        answer(sim, index, probe, PST_PROBE_LOADING);
        break;
    case PST_LIVES_READY:
    case PST_LIVES_DRAINING:
        if (pst_lives_hangs(replica, sim->now))
            pst_world_at(sim,
                         pst_add_sat(sim->now, sim->gate_config.pools[replica->pool].probe_timeout),
                         PST_WORLD_TIMEOUT, index | (uint32_t)probe << PROBE_SHIFT,
                         (uint32_t)replica->number);
        else
            answer(sim, index, probe, PST_PROBE_OK);
        break;
    case PST_LIVES_GONE:
    case PST_LIVES_WARM:
    case PST_LIVES_PROMOTING:
    case PST_LIVES_STOPPING:
        break; /* asked before it was told that there is nobody */
    case PST_LIVES_COUNT:
        PST_ASSERT(!"a phase of lives.h");
    }
}

void pst_fleet_side_progress(struct pst_sim *sim)
{
    for (uint16_t r = 0; r < sim->lives.max; r++) {
        const struct pst_lives_replica *replica = &sim->lives.items[r];
        struct pst_gate_event event = {.kind = PST_EVENT_PROGRESS};

        if (replica->streams == 0 || pst_lives_hangs(replica, sim->now))
            continue;
        event.u.progress.replica = r;
        event.u.progress.tokens = replica->streams;
        pst_gate_side_event(sim, &event);
    }
}

/* The gate has nothing on it any more, or its time is over: whoever drained it removes it. */
void pst_fleet_side_drained(struct pst_sim *sim, const struct pst_gate_action *action)
{
    uint16_t index = action->u.drained.replica;
    struct pst_scaler_event event = {.kind = PST_SCALER_RESULT};

    if (index == PST_REPLICA_ALL || sim->lives.items[index].phase != PST_LIVES_DRAINING)
        return;
    if (!action->u.drained.complete)
        pst_tally_killed(&sim->tally, action->u.drained.left, sim->now);
    sim->lives.items[index].drained = true;
    if (sim->lives.items[index].going) {
        pst_fleet_side_stop(sim, index);
        return;
    }
    event.pool = sim->lives.items[index].pool;
    event.u.result.action = PST_SCALER_DRAIN;
    event.u.result.error =
        (uint8_t)(action->u.drained.complete ? PST_RESULT_OK : PST_RESULT_DEADLINE);
    event.u.result.replica = index;
    pst_scaler_side_event(sim, &event);
}

static void loaded(struct pst_sim *sim, uint16_t index)
{
    const struct pst_lives_replica *replica = &sim->lives.items[index];

    if (replica->fails) {
        pst_fleet_side_crash(sim, index);
    } else if (replica->phase == PST_LIVES_STARTING && replica->for_warm) {
        enter(sim, index, PST_LIVES_WARM);
        pst_scaler_side_replica(sim, index, false);
    } else {
        become_ready(sim, index);
    }
}

void pst_fleet_side_event(struct pst_sim *sim, const struct pst_event *event)
{
    uint16_t index = (uint16_t)event->subject;
    const struct pst_lives_replica *replica = &sim->lives.items[index];
    bool same_turn = replica->turn == event->serial;
    bool same_life = replica->phase != PST_LIVES_GONE && (uint32_t)replica->number == event->serial;

    if (pst_event_kind(event) == PST_WORLD_LOADED && same_turn)
        loaded(sim, index);
    else if (pst_event_kind(event) == PST_WORLD_STOPPED && same_turn)
        end(sim, index, false);
    else if (pst_event_kind(event) == PST_WORLD_DEATH && same_life &&
             replica->phase != PST_LIVES_STOPPING)
        pst_fleet_side_crash(sim, index);
    else if (pst_event_kind(event) == PST_WORLD_TIMEOUT && same_life)
        answer(sim, index, (enum pst_probe)(event->subject >> PROBE_SHIFT), PST_PROBE_TIMEOUT);
}
