/*
 * scene.h - a small scenario for tests of the simulator, and a run of it.
 *
 * One pool of 4 slots a replica, three classes, two replicas; streams and faults are a test's own.
 */
#ifndef PST_TEST_SIM_SCENE_H
#define PST_TEST_SIM_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/hist.h"
#include "sim/world.h"

#define SCENE_STREAMS 8
#define SCENE_FAULTS  4

struct scene {
    struct pst_scenario scenario;
    struct pst_scenario_policy policy;
    struct pst_stream streams[SCENE_STREAMS];
    struct pst_fault faults[SCENE_FAULTS];
    struct pst_sim *sim;
    const struct pst_sim_report *report;
};

static inline void scene_assert_hook(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s\n", file, line, condition);
}

static inline struct pst_law scene_law(const char *text, enum pst_law_unit unit)
{
    struct pst_law law = {0};
    const char *why = NULL;

    if (pst_law_read(text, strlen(text), unit, &law, &why) != PST_OK)
        fail_msg("%s: %s", text, why);
    return law;
}

static inline struct pst_law scene_time(const char *text)
{
    return scene_law(text, PST_LAW_DURATION);
}

/* A Poisson stream of a class. */
static inline struct pst_stream *scene_stream(struct scene *scene, uint8_t class_, double per_s,
                                              const char *service)
{
    struct pst_stream *stream = &scene->streams[scene->scenario.streams_count++];

    assert_true(scene->scenario.streams_count <= SCENE_STREAMS);
    *stream = (struct pst_stream){
        .class_ = class_,
        .type = class_,
        .flow = class_,
        .weight = 100,
        .sequences = 1,
        .per_s = per_s,
        .gaps = scene_law("exp:1", PST_LAW_NUMBER),
        .end = PST_NEVER,
        .prompt = scene_law("const:100", PST_LAW_NUMBER),
        .output = scene_law("const:50", PST_LAW_NUMBER),
        .service = scene_time(service),
    };
    return stream;
}

static inline struct pst_fault *scene_fault(struct scene *scene, enum pst_fault_kind kind,
                                            pst_ns at, pst_ns until, uint32_t count)
{
    struct pst_fault *fault = &scene->faults[scene->scenario.faults_count++];

    assert_true(scene->scenario.faults_count <= SCENE_FAULTS);
    *fault = (struct pst_fault){.kind = kind, .at = at, .until = until, .count = count};
    return fault;
}

static inline void scene_init(struct scene *scene, pst_ns horizon)
{
    struct pst_scenario *s = &scene->scenario;

    memset(scene, 0, sizeof *scene);
    pst_assert_hook = scene_assert_hook;
    s->horizon = horizon;
    s->streams = scene->streams;
    s->faults = scene->faults;
    s->gate = (struct pst_gate_config){
        .bytes_max = UINT64_C(1) << 40,
        .body_max = UINT64_C(32) << 20,
        .tickets_max = 1 << 16,
        .flows_max = 64,
        .replicas_max = 64,
        .classes_count = 3,
        .pools_count = 1,
        .classes = {{100 * PST_MS, 5 * PST_S, 30 * PST_S, 0, PST_ON_FULL_REJECT, {2, 2, 2}},
                    {500 * PST_MS, 15 * PST_S, 60 * PST_S, 100000, PST_ON_FULL_REJECT, {2, 2, 2}},
                    {10 * PST_S, 60 * PST_S, 600 * PST_S, 50000, PST_ON_FULL_WAIT, {2, 2, 2}}},
        .pools = {{
            .slots = 4,
            .length_short_tokens = 512,
            .length_long_tokens = 2048,
            .long_share_ppm = 500000,
            .retry_budget_ppm = 100000,
            .tries_max = 3,
            .first_byte = 600 * PST_S,
            .first_byte_stream = 120 * PST_S,
            .stall = 60 * PST_S,
            .no_replica_ttl = 300 * PST_S,
            .probe_interval = 5 * PST_S,
            .probe_timeout = 5 * PST_S,
            .probe_rise = 1,
            .probe_fall = 3,
            .fixed_queue = {50, 100, 200},
            .fixed_inflight = {8, 4, 2},
            .fixed_promote_after = 15 * PST_S,
        }},
    };
    s->scaler = (struct pst_scaler_config){
        .classes_count = 3,
        .pools_count = 1,
        .replicas_max = 64,
        .classes = {{.target = 100 * PST_MS,
                     .max_wait = 5 * PST_S,
                     .depth_weight = 3,
                     .envelope = 1,
                     .sheds = 1},
                    {.target = 500 * PST_MS,
                     .max_wait = 15 * PST_S,
                     .depth_weight = 2,
                     .envelope = 1,
                     .sheds = 1},
                    {.target = 10 * PST_S, .max_wait = 60 * PST_S, .depth_weight = 1}},
        .pools = {{
            .min = 1,
            .max = 6,
            .slots = 4,
            .out_above = 2 * PST_S,
            .in_below = 500 * PST_MS,
            .in_after = 60 * PST_S,
            .start_time = 60 * PST_S,
            .warm_time = 5 * PST_S,
            .start_timeout = 600 * PST_S,
            .drain_deadline = 170 * PST_S,
            .stale_after = 30 * PST_S,
            .utilisation_ppm = 850000,
            .inflight_guard_ppm = 800000,
            .qps_milli = 30000,
        }},
    };
    s->pools[0] = (struct pst_scenario_pool){
        .initial = 2,
        .cold = scene_time("60s"),
        .promote = scene_time("5s"),
        .stop = scene_time("2s"),
    };
    scene->policy = (struct pst_scenario_policy){
        .pilot = PST_PILOT_STATIC,
        .replicas = 2,
        .warm = UINT32_MAX,
    };
}

static inline void scene_open(struct scene *scene, uint64_t seed)
{
    const char *why = "no reason";

    if (pst_sim_new(&scene->scenario, &scene->policy, seed, &scene->sim, &why) != PST_OK)
        fail_msg("%s", why);
    scene->report = pst_sim_report(scene->sim);
}

static inline uint64_t scene_finished(const struct pst_report_class *class_)
{
    uint64_t sum = 0;

    for (int o = 0; o < PST_OUTCOME_COUNT; o++)
        sum += class_->outcomes[o];
    return sum;
}

/* To the end, where everybody has exactly one outcome. */
static inline void scene_finish(struct scene *scene)
{
    assert_int_equal(pst_sim_run(scene->sim, PST_NEVER), PST_E_FULL);
    pst_gate_verify(scene->sim->gate);
    if (scene->sim->scaler != NULL)
        pst_scaler_verify(scene->sim->scaler);
    for (uint32_t c = 0; c < scene->scenario.gate.classes_count; c++)
        assert_int_equal(scene_finished(&scene->report->classes[c]),
                         scene->report->classes[c].arrived);
}

static inline void scene_run(struct scene *scene, uint64_t seed)
{
    scene_open(scene, seed);
    scene_finish(scene);
}

static inline void scene_close(struct scene *scene)
{
    pst_sim_free(scene->sim);
    scene->sim = NULL;
}

static inline uint64_t scene_paid(const struct scene *scene)
{
    uint64_t sum = 0;

    for (int state = 0; state < PST_REPLICA_STATE_COUNT; state++)
        sum += scene->report->replica_ns[state];
    return sum;
}

#endif
