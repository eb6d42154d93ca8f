/*
 * scaler_side.c - the scaler sees what it would see of a gateway, once a second, and is obeyed.
 */
#include <string.h>

#include "core/num.h"
#include "sim/world.h"

#define STEP_NS PST_S /* of what it may see of the past */

static bool is_known(const struct pst_sim *sim, uint16_t pool, enum pst_fault_kind kind)
{
    return sim->faults_on[kind][pool] > 0;
}

static void result(struct pst_sim *sim, const struct pst_scaler_action *action,
                   enum pst_result error)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_RESULT, .pool = action->pool};

    event.u.result.action = action->kind;
    event.u.result.error = (uint8_t)error;
    if (action->kind == PST_SCALER_START)
        event.u.result.op = action->u.start.op;
    else
        event.u.result.replica = action->u.replica.replica;
    pst_scaler_side_event(sim, &event);
}

static void start(struct pst_sim *sim, const struct pst_scaler_action *action)
{
    if (pst_fleet_side_start(sim, action->pool, action->u.start.op, action->u.start.warm) != PST_OK)
        result(sim, action, PST_RESULT_QUOTA);
}

/* What changed the number; and where the scaler itself acts, that is the pool's number. */
static void decided(struct pst_sim *sim, const struct pst_scaler_action *action)
{
    struct pst_world_pool *pool = &sim->pools[action->pool];
    uint32_t desired = action->u.decision.desired;

    if (desired == pool->told)
        return;
    pst_tally_decided(&sim->tally,
                      &(struct pst_report_decision){.at = sim->now, .action = *action});
    if (!pool->acts || pool->follows)
        pst_tally_moved(&sim->tally, action->pool, pool->told, desired, sim->now);
    pool->told = desired;
}

static void obey(struct pst_sim *sim, const struct pst_scaler_action *action)
{
    bool follows =
        sim->pools[action->pool].follows; /* the number says who comes, and how many go */

    switch ((enum pst_scaler_action_kind)action->kind) {
    case PST_SCALER_START:
        if (!follows)
            start(sim, action);
        break;
    case PST_SCALER_PROMOTE:
        pst_fleet_side_promote(sim, action->u.replica.replica);
        break;
    case PST_SCALER_CANCEL:
    case PST_SCALER_REMOVE:
        if (!follows)
            pst_fleet_side_stop(sim, action->u.replica.replica);
        break;
    case PST_SCALER_MARK:
        sim->lives.items[action->u.replica.replica].marked = true;
        if (follows)
            result(sim, action, PST_RESULT_OK);
        break;
    case PST_SCALER_DRAIN:
        pst_fleet_side_drain(sim, action->u.replica.replica,
                             pst_sub_sat(action->u.replica.until, PST_SIM_EPOCH));
        break;
    case PST_SCALER_UNDRAIN:
        pst_fleet_side_undrain(sim, action->u.replica.replica);
        break;
    case PST_SCALER_DECISION:
        decided(sim, action);
        break;
    case PST_SCALER_ACTION_COUNT:
        PST_ASSERT(!"an action of the scaler");
    }
}

static void step(struct pst_sim *sim, struct pst_scaler_event *event)
{
    struct pst_scaler_action action;

    event->now = sim->now + PST_SIM_EPOCH;
    sim->scaler_steps = true;
    pst_scaler_step(sim->scaler, event);
    while (pst_scaler_poll(sim->scaler, &action)) {
        pst_tally_scaler(&sim->tally, &action);
        obey(sim, &action);
    }
    sim->scaler_steps = false;
}

void pst_scaler_side_event(struct pst_sim *sim, struct pst_scaler_event *event)
{
    if (sim->scaler == NULL)
        return;
    if (sim->scaler_steps) {
        if (pst_inbox_put(&sim->for_scaler, event, sizeof *event) != PST_OK)
            sim->failed = PST_E_NOMEM;
        return;
    }
    step(sim, event);
    while (sim->for_scaler.count > 0) {
        struct pst_scaler_event next;

        pst_inbox_take(&sim->for_scaler, &next, sizeof next);
        step(sim, &next);
    }
}

void pst_scaler_side_replica(struct pst_sim *sim, uint16_t index, bool crashed)
{
    const struct pst_lives_replica *replica = &sim->lives.items[index];
    struct pst_scaler_event event = {.kind = PST_SCALER_REPLICA, .pool = replica->pool};

    event.u.replica.replica = index;
    event.u.replica.state = (uint8_t)pst_lives_shown((enum pst_lives_phase)replica->phase);
    event.u.replica.crashed = crashed;
    event.u.replica.op = replica->op;
    event.u.replica.revision = replica->revision;
    event.u.replica.inflight = replica->inflight;
    event.u.replica.going = replica->going;
    pst_scaler_side_event(sim, &event);
}

static void observe(struct pst_sim *sim, uint16_t pool)
{
    struct pst_scaler_event events[PST_CLASSES_MAX + 1];
    uint32_t count = pst_observe(&sim->observer, sim->gate, pool, sim->now + PST_SIM_EPOCH, events);

    for (uint32_t i = 0; i < count; i++)
        pst_scaler_side_event(sim, &events[i]);
}

static void signal_rollout(struct pst_sim *sim, uint16_t pool)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_SIGNAL, .pool = pool};

    event.u.signal.kind = PST_SIGNAL_ROLLOUT;
    event.u.signal.value = is_known(sim, pool, PST_FAULT_ROLLOUT);
    pst_scaler_side_event(sim, &event);
}

static bool has_rollout(const struct pst_sim *sim, uint16_t pool)
{
    for (uint32_t i = 0; i < sim->scenario->faults_count; i++) {
        if (sim->scenario->faults[i].kind == PST_FAULT_ROLLOUT &&
            sim->scenario->faults[i].pool == pool)
            return true;
    }
    return false;
}

void pst_scaler_side_second(struct pst_sim *sim)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_TICK};

    if (sim->scaler == NULL)
        return;
    for (uint16_t p = 0; p < sim->gate_config.pools_count; p++) {
        if (!is_known(sim, p, PST_FAULT_BLIND))
            observe(sim, p);
        if (has_rollout(sim, p))
            signal_rollout(sim, p);
    }
    for (uint16_t r = 0; r < sim->lives.max; r++) {
        if (sim->lives.items[r].phase != PST_LIVES_GONE)
            pst_scaler_side_replica(sim, r, false);
    }
    event.u.tick.wall_s = PST_SIM_WALL_S + sim->now / PST_S;
    pst_scaler_side_event(sim, &event);
}

void pst_scaler_side_scaled(struct pst_sim *sim, uint16_t pool)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_SCALE, .pool = pool};

    event.u.scale.replicas = sim->pools[pool].wanted;
    pst_scaler_side_event(sim, &event);
}

void pst_scaler_side_begin(struct pst_sim *sim)
{
    for (uint16_t p = 0; p < sim->gate_config.pools_count; p++) {
        struct pst_scaler_event event = {.kind = PST_SCALER_SYNCED, .pool = p};

        if (!sim->pools[p].follows)
            continue;
        pst_scaler_side_scaled(sim, p);
        pst_scaler_side_event(sim, &event);
    }
}

/* Slot-time of one; in token mode of one that has the engine to itself. */
static pst_ns work_of(const struct pst_sim *sim, const struct pst_arrival *arrival)
{
    const struct pst_stream *stream = &sim->scenario->streams[arrival->stream];
    const struct pst_scenario_pool *pool = &sim->scenario->pools[stream->pool];
    const struct pst_engine_config *engine = &pool->engine;
    uint64_t sequences = stream->sequences == 0 ? 1 : stream->sequences;
    pst_ns iteration = pst_max_u64(engine->iteration_min,
                                   pst_add_sat(engine->iteration_base, engine->iteration_token));
    pst_ns work = arrival->service;

    if (pool->token_mode)
        work = pst_add_sat(pst_mul_sat(engine->iteration_token, arrival->prompt_tokens),
                           pst_mul_sat(iteration, arrival->output_tokens));
    return pst_mul_sat(work, sequences);
}

static void tell_step(struct pst_sim *sim, const pst_ns work[PST_POOLS_MAX][PST_CLASSES_MAX])
{
    struct pst_scaler_event event = {.kind = PST_SCALER_HISTORY};

    event.u.history.span = STEP_NS;
    for (uint16_t p = 0; p < sim->scaler_config.pools_count; p++) {
        for (uint8_t c = 0; c < sim->scaler_config.classes_count; c++) {
            event.pool = p;
            event.class_ = c;
            event.u.history.work = work[p][c];
            pst_scaler_side_event(sim, &event);
        }
    }
}

void pst_scaler_side_history(struct pst_sim *sim, uint64_t seed)
{
    pst_ns work[PST_POOLS_MAX][PST_CLASSES_MAX];
    struct pst_arrivals *past;

    if (sim->scaler == NULL || sim->scenario->history < STEP_NS)
        return;
    if (pst_arrivals_new(sim->scenario, seed, sim->scenario->history, &past) != PST_OK) {
        sim->failed = PST_E_NOMEM;
        return;
    }
    if (pst_arrivals_due(past) == PST_NEVER) { /* nobody has one: that is not the same as silence */
        pst_arrivals_free(past);
        return;
    }
    for (pst_ns end = STEP_NS; end <= sim->scenario->history; end += STEP_NS) {
        memset(work, 0, sizeof work);
        while (pst_arrivals_due(past) < end) {
            struct pst_arrival arrival;
            pst_ns *sum;

            pst_arrivals_take(past, &arrival);
            sum = &work[sim->scenario->streams[arrival.stream].pool]
                       [sim->one_class ? 0 : arrival.class_];
            *sum = pst_add_sat(*sum, work_of(sim, &arrival));
        }
        tell_step(sim, (const pst_ns(*)[PST_CLASSES_MAX])work);
    }
    pst_arrivals_free(past);
}
