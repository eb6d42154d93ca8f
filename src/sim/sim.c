/* sim.c - see sim.h: what a policy makes of a scenario, built and taken apart. */
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "sim/seed.h"
#include "sim/world.h"

/* ------------------------------------------------------------------ what is asked for, judged */

static const char *judge_stream(const struct pst_scenario *scenario,
                                const struct pst_stream *stream)
{
    if (stream->pool >= scenario->gate.pools_count)
        return "a stream's pool is none of the scenario's";
    if (stream->class_ >= scenario->gate.classes_count)
        return "a stream's class is none of the scenario's";
    for (uint32_t c = scenario->gate.classes_count; c < PST_CLASSES_MAX; c++) {
        if (stream->class_ppm[c] > 0)
            return "a stream draws a class that is none of the scenario's";
    }
    if (stream->type >= PST_TYPES_MAX)
        return "a stream's type is none of the scenario's";
    return NULL;
}

/* NULL: nothing is wrong. */
static const char *judge(const struct pst_scenario *scenario,
                         const struct pst_scenario_policy *policy)
{
    if (policy->gate == PST_SCENARIO_NONE)
        return "without a gate there is nothing of the core to drive";
    if (scenario->horizon == 0 || scenario->cut >= scenario->horizon)
        return "the measured span is empty";
    if (scenario->gate.pools_count == 0 || scenario->gate.pools_count > PST_POOLS_MAX ||
        scenario->gate.classes_count == 0 || scenario->gate.classes_count > PST_CLASSES_MAX)
        return "there are no pools or no classes, or too many";
    if (scenario->streams_count > PST_STREAMS_MAX)
        return "there are too many streams";
    for (uint32_t s = 0; s < scenario->streams_count; s++) {
        const char *why = judge_stream(scenario, &scenario->streams[s]);

        if (why != NULL)
            return why;
    }
    for (uint32_t i = 0; i < scenario->faults_count; i++) {
        if (scenario->faults[i].pool >= scenario->gate.pools_count)
            return "a fault's pool is none of the scenario's";
    }
    return NULL;
}

/* ------------------------------------------------------------------ the parts */

static int new_engines(struct pst_sim *sim)
{
    for (uint32_t p = 0; p < sim->gate_config.pools_count; p++) {
        struct pst_engine_config config = sim->scenario->pools[p].engine;
        struct pst_engine *tried;
        int rc;

        if (!sim->scenario->pools[p].token_mode)
            continue;
        config.mode = PST_ENGINE_TOKEN;
        config.requests_max = sim->gate_config.pools[p].slots;
        rc = pst_engine_new(&config, &tried);
        if (rc != PST_OK)
            return rc;
        pst_engine_free(tried);
        if (sim->engines == NULL && pst_engines_new(&sim->engines) != PST_OK)
            return PST_E_NOMEM;
    }
    return PST_OK;
}

static int new_pilots(struct pst_sim *sim)
{
    bool fixed = sim->policy->pilot == PST_PILOT_STATIC;

    for (uint32_t p = 0; p < sim->gate_config.pools_count; p++) {
        struct pst_world_pool *pool = &sim->pools[p];
        int rc;

        pool->acts = sim->scaler == NULL || sim->policy->actuator != PST_ACTUATOR_DIRECT;
        pool->follows = sim->scaler != NULL && sim->policy->actuator == PST_ACTUATOR_MARKED;
        if (!pool->acts || pool->follows || fixed)
            continue;
        rc = pst_pilot_new(sim->policy, &sim->scaler_config.pools[p], &pool->pilot);
        if (rc != PST_OK)
            return rc;
    }
    return PST_OK;
}

/* Those that are ready at time 0, and the number that they stand for. */
static void populate(struct pst_sim *sim)
{
    for (uint16_t p = 0; p < sim->gate_config.pools_count; p++) {
        uint32_t count = sim->scenario->pools[p].initial;

        if (sim->policy->pilot == PST_PILOT_STATIC)
            count =
                sim->policy->replicas > 0 ? sim->policy->replicas : sim->scaler_config.pools[p].min;
        sim->pools[p].wanted = count;
        sim->pools[p].told = count;
        for (uint32_t i = 0; i < count; i++)
            pst_fleet_side_born_ready(sim, p);
    }
}

static int build(struct pst_sim *sim, uint64_t seed, const char **ret_why)
{
    pst_ns deadlines[PST_CLASSES_MAX];
    bool scales = pst_policy_configure(sim);
    int rc;

    for (uint32_t c = 0; c < PST_CLASSES_MAX; c++)
        deadlines[c] = sim->policy->max_wait[c] > 0 ? sim->policy->max_wait[c]
                                                    : sim->scenario->gate.classes[c].max_wait;
    sim->gate_config.seed = pst_seed_of(seed, PST_SEED_GATE);
    sim->scaler_config.seed = pst_seed_of(seed, PST_SEED_SCALER);
    pst_lives_init(&sim->lives, sim->scenario, pst_seed_of(seed, PST_SEED_LIVES),
                   sim->gate_config.replicas_max);
    pst_clients_init(&sim->tickets, sim->gate_config.tickets_max);
    pst_clients_init(&sim->away, UINT32_MAX);

    *ret_why = "the gate's numbers are out of range";
    rc = pst_gate_new(&sim->gate_config, &sim->gate);
    if (rc != PST_OK)
        return rc;
    *ret_why = "the scaler's numbers are out of range";
    rc = scales ? pst_scaler_new(&sim->scaler_config, &sim->scaler) : PST_OK;
    if (rc != PST_OK)
        return rc;
    *ret_why = "a pilot's numbers are out of range";
    rc = new_pilots(sim);
    if (rc != PST_OK)
        return rc;
    *ret_why = "the engine model's numbers are out of range";
    rc = new_engines(sim);
    if (rc != PST_OK)
        return rc;
    *ret_why = "a recorded stream is not in order of time, or has a class that is none";
    rc = pst_arrivals_new(sim->scenario, pst_seed_of(seed, PST_SEED_ARRIVALS), 0, &sim->arrivals);
    if (rc != PST_OK)
        return rc;
    rc = pst_tally_init(&sim->tally, sim->scenario, deadlines);
    if (rc != PST_OK)
        return rc;
    sim->tally.report.bursts =
        pst_arrivals_bursts(sim->scenario, pst_seed_of(seed, PST_SEED_ARRIVALS), sim->scenario->cut,
                            sim->scenario->horizon);
    populate(sim);
    pst_scaler_side_begin(sim);
    pst_scaler_side_history(sim, pst_seed_of(seed, PST_SEED_ARRIVALS));
    pst_world_begin(sim);
    return sim->failed;
}

int pst_sim_new(const struct pst_scenario *scenario, const struct pst_scenario_policy *policy,
                uint64_t seed, struct pst_sim **ret_sim, const char **ret_why)
{
    const char *why = judge(scenario, policy);
    struct pst_sim *sim;
    int rc;

    if (why != NULL) {
        *ret_why = why;
        return PST_E_INVALID;
    }
    sim = calloc(1, sizeof *sim);
    if (sim == NULL)
        return PST_E_NOMEM;
    sim->scenario = scenario;
    sim->policy = policy;
    rc = build(sim, seed, &why);
    if (rc != PST_OK) {
        *ret_why = rc == PST_E_NOMEM ? "there is no memory" : why;
        pst_sim_free(sim);
        return rc;
    }
    *ret_sim = sim;
    return PST_OK;
}

void pst_sim_free(struct pst_sim *sim)
{
    if (sim == NULL)
        return;
    pst_gate_free(sim->gate);
    pst_scaler_free(sim->scaler);
    for (uint32_t p = 0; p < PST_POOLS_MAX; p++)
        pst_pilot_free(sim->pools[p].pilot);
    pst_engines_free(sim->engines);
    pst_arrivals_free(sim->arrivals);
    pst_event_heap_done(&sim->events);
    pst_inbox_done(&sim->for_gate);
    pst_inbox_done(&sim->for_scaler);
    pst_clients_done(&sim->tickets);
    pst_clients_done(&sim->away);
    pst_tally_done(&sim->tally);
    free(sim);
}

/* ------------------------------------------------------------------ running */

int pst_sim_run(struct pst_sim *sim, pst_ns until)
{
    while (!sim->over && sim->failed == PST_OK && pst_world_next(sim, until))
        ;
    if (sim->failed != PST_OK)
        return sim->failed;
    if (!sim->over)
        return PST_OK;
    pst_tally_close(&sim->tally);
    return PST_E_FULL;
}

pst_ns pst_sim_now(const struct pst_sim *sim)
{
    return sim->now;
}

const struct pst_sim_report *pst_sim_report(const struct pst_sim *sim)
{
    return &sim->tally.report;
}
