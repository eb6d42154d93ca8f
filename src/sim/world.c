/*
 * world.c - the loop: what comes next, and whose business it is.
 *
 * Of one instant: what was planned, in the order in which it was caused; then who arrives; then what the
 * gate does by time alone.
 */
#include <string.h>

#include "core/num.h"
#include "sim/world.h"

void pst_world_at(struct pst_sim *sim, pst_ns at, enum pst_world_event kind, uint32_t subject,
                  uint32_t serial)
{
    if (at == PST_NEVER)
        return;
    if (pst_event_heap_push(&sim->events, at, (uint8_t)kind, subject, serial) != PST_OK)
        sim->failed = PST_E_NOMEM;
}

void pst_world_look(struct pst_sim *sim, uint16_t index)
{
    struct pst_world_pool *pool = &sim->pools[index];
    pst_ns passed = sim->now - pool->looked;

    if (pool->pilot == NULL)
        return; /* nobody will ask */
    pool->inflight_ns += (pool->inflight + (uint64_t)pool->queued) * passed;
    pool->busy_ns += pool->inflight * passed;
    pool->looked = sim->now;
}

static void put_point(struct pst_sim *sim)
{
    struct pst_report_point point = {.at = sim->now};

    if (!pst_tally_wants_point(&sim->tally, sim->now))
        return;
    for (uint32_t p = 0; p < sim->gate_config.pools_count; p++) {
        const struct pst_lives_pool *lives = &sim->lives.pools[p];
        const struct pst_world_pool *pool = &sim->pools[p];

        for (uint32_t c = 0; c < PST_CLASSES_MAX; c++)
            point.queued[c] += pool->queued_class[c];
        for (int phase = PST_LIVES_STARTING; phase < PST_LIVES_COUNT; phase++)
            point.replicas[pst_lives_shown((enum pst_lives_phase)phase)] += lives->counts[phase];
        point.inflight += pool->inflight;
        point.slots += lives->counts[PST_LIVES_READY] * sim->gate_config.pools[p].slots;
        point.desired += pool->acts ? pool->wanted : pool->told;
    }
    pst_tally_point(&sim->tally, &point);
}

/* It is over when all that came has been finished; whoever cannot be, leaves in the end. */
static void look_for_the_end(struct pst_sim *sim)
{
    pst_ns last = pst_add_sat(sim->scenario->horizon, PST_SIM_PATIENCE);

    if (sim->now < sim->scenario->horizon)
        return;
    if (sim->now >= last)
        pst_gate_side_leave(sim);
    sim->over = sim->tickets.alive == 0 && sim->away.alive == 0;
}

static void second(struct pst_sim *sim)
{
    pst_fleet_side_progress(sim);
    pst_scaler_side_second(sim);
    for (uint16_t p = 0; p < sim->gate_config.pools_count; p++) {
        pst_actuator_follow(sim, p);
        pst_actuator_reconcile(sim, p);
    }
    put_point(sim);
    look_for_the_end(sim);
    if (!sim->over)
        pst_world_at(sim, sim->now + PST_S, PST_WORLD_SECOND, 0, 0);
}

static void plan_look(struct pst_sim *sim, uint16_t pool)
{
    pst_ns due = pst_pilot_due(sim->pools[pool].pilot);

    pst_world_at(sim, pst_max_u64(due, sim->now), PST_WORLD_PILOT, pool, 0);
}

static void handle(struct pst_sim *sim, const struct pst_event *event)
{
    switch ((enum pst_world_event)pst_event_kind(event)) {
    case PST_WORLD_MEASURE:
        pst_lives_book(&sim->lives, sim->now, true);
        pst_tally_measure(&sim->tally, &sim->lives, sim->now);
        break;
    case PST_WORLD_BILL:
        pst_lives_book(&sim->lives, sim->now, false);
        pst_tally_bill(&sim->tally, &sim->lives);
        break;
    case PST_WORLD_SECOND:
        second(sim);
        break;
    case PST_WORLD_PILOT:
        pst_actuator_look(sim, (uint16_t)event->subject);
        plan_look(sim, (uint16_t)event->subject);
        break;
    case PST_WORLD_ANSWER:
    case PST_WORLD_END:
        pst_service_event(sim, event);
        break;
    case PST_WORLD_ENGINE:
        pst_engines_event(sim, event);
        break;
    case PST_WORLD_AGAIN:
        pst_gate_side_again(sim, event->subject);
        break;
    case PST_WORLD_LOADED:
    case PST_WORLD_STOPPED:
    case PST_WORLD_DEATH:
    case PST_WORLD_TIMEOUT:
        pst_fleet_side_event(sim, event);
        break;
    case PST_WORLD_FAULT:
    case PST_WORLD_REPAIRED:
        pst_faults_event(sim, event);
        break;
    case PST_WORLD_EVENT_COUNT:
        PST_ASSERT(!"an event of the world");
    }
}

void pst_world_begin(struct pst_sim *sim)
{
    pst_world_at(sim, sim->scenario->cut, PST_WORLD_MEASURE, 0, 0);
    pst_world_at(sim, sim->scenario->horizon, PST_WORLD_BILL, 0, 0);
    pst_faults_plan(sim);
    pst_world_at(sim, 0, PST_WORLD_SECOND, 0, 0);
    for (uint16_t p = 0; p < sim->gate_config.pools_count; p++) {
        if (sim->pools[p].pilot != NULL)
            plan_look(sim, p);
    }
}

static pst_ns gate_due(const struct pst_sim *sim)
{
    pst_ns due = pst_gate_deadline(sim->gate);

    if (due == PST_NEVER)
        return PST_NEVER;
    return pst_max_u64(pst_sub_sat(due, PST_SIM_EPOCH), sim->now);
}

bool pst_world_next(struct pst_sim *sim, pst_ns until)
{
    pst_ns planned = pst_event_heap_due(&sim->events);
    pst_ns arrival = pst_arrivals_due(sim->arrivals);
    pst_ns gate = gate_due(sim);
    pst_ns at = pst_min_u64(pst_min_u64(planned, arrival), gate);

    if (at > until || at == PST_NEVER)
        return false;
    PST_ASSERT(at >= sim->now);
    sim->now = at;
    sim->tally.report.events_total++;
    if (planned == at) {
        struct pst_event event;

        pst_event_heap_pop(&sim->events, &event);
        handle(sim, &event);
    } else if (arrival == at) {
        struct pst_arrival who;

        pst_arrivals_take(sim->arrivals, &who);
        pst_gate_side_arrive(sim, &who);
    } else {
        struct pst_gate_event event = {.kind = PST_EVENT_TIME};

        pst_gate_side_event(sim, &event);
    }
    return true;
}
