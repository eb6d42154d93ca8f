/* Token mode: replicas run the engine model, and keep its time even when they are slow. */
#include "scene.h"

#define HOUR (3600 * PST_S)

/* An iteration takes 10 ms and 20 us for each token in it. */
static void engines(struct scene *scene, double per_s)
{
    scene_init(scene, HOUR / 2);
    scene_stream(scene, 0, per_s, "0ms");
    scene->scenario.gate.classes[0].on_full = PST_ON_FULL_WAIT;
    scene->scenario.gate.classes[0].ttl = HOUR;
    scene->scenario.pools[0].token_mode = true;
    scene->scenario.pools[0].engine = (struct pst_engine_config){
        .mode = PST_ENGINE_TOKEN,
        .slots = 4,
        .iteration_base = 10 * PST_MS,
        .iteration_token = 20 * PST_US,
        .iteration_tokens_max = 512,
        .kv_blocks = 1000,
        .kv_block_tokens = 16,
    };
    scene->policy.replicas = 2;
}

static uint64_t ttft(const struct scene *scene, uint32_t q_ppm)
{
    return pst_hist_quantile(&scene->report->classes[0].ttft, q_ppm);
}

/* Alone: a prompt of 100 tokens takes one iteration of 12 ms, each further token 10.02 ms. */
static void one_alone_takes_its_iterations(void **state)
{
    struct scene scene;

    (void)state;
    engines(&scene, 0.05);
    scene_run(&scene, 1);
    assert_true(ttft(&scene, 500000) >= 11800 * PST_US && ttft(&scene, 500000) <= 12200 * PST_US);
    assert_int_equal(scene.report->classes[0].outcomes[PST_OUTCOME_DONE],
                     scene.report->classes[0].arrived);
    scene_close(&scene);
}

/* 50 tokens of some 10 ms: a slot serves two a second, eight slots sixteen. */
static void batches_serve_as_many_as_there_are_slots(void **state)
{
    static const struct {
        double per_s;
        pst_ns wait_min, wait_max; /* mean */
    } rows[] = {{8, 0, 20 * PST_MS}, {13, 0, 500 * PST_MS}, {20, 60 * PST_S, HOUR}};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct scene scene;
        uint64_t wait;

        engines(&scene, rows[i].per_s);
        scene_run(&scene, 1);
        wait = pst_hist_mean(&scene.report->classes[0].wait);
        if (wait < rows[i].wait_min || wait > rows[i].wait_max)
            fail_msg("%g per s: %g s", rows[i].per_s, (double)wait / 1e9);
        scene_close(&scene);
    }
}

static void a_slow_engine_is_slow_in_all_it_does(void **state)
{
    struct scene scene;

    (void)state;
    engines(&scene, 0.5);
    scene_fault(&scene, PST_FAULT_SLOW, 0, PST_NEVER, 2)->factor = 3;
    scene_run(&scene, 1);
    assert_true(ttft(&scene, 500000) >= 35 * PST_MS && ttft(&scene, 500000) <= 70 * PST_MS);
    assert_int_equal(scene.report->classes[0].outcomes[PST_OUTCOME_DONE],
                     scene.report->classes[0].arrived);
    scene_close(&scene);
}

static void a_hung_engine_goes_on_where_it_was(void **state)
{
    const struct pst_lives_replica *hung;
    struct scene scene;

    (void)state;
    engines(&scene, 8);
    scene_fault(&scene, PST_FAULT_HANG, 600 * PST_S, 630 * PST_S, 1);
    scene_open(&scene, 1);
    assert_int_equal(pst_sim_run(scene.sim, 605 * PST_S), PST_OK);
    hung = &scene.sim->lives.items[0];
    assert_int_equal(hung->inflight, 4); /* nobody leaves it */
    assert_int_equal(pst_sim_run(scene.sim, 630 * PST_S - 1), PST_OK);
    assert_int_equal(hung->inflight, 4);
    assert_true(scene.sim->pools[0].queued > 0);
    assert_int_equal(pst_sim_run(scene.sim, 660 * PST_S), PST_OK);
    assert_int_equal(scene.sim->pools[0].queued, 0);
    scene_finish(&scene);
    assert_int_equal(scene.report->classes[0].outcomes[PST_OUTCOME_DONE],
                     scene.report->classes[0].arrived);
    scene_close(&scene);
}

/* A killed engine takes the answers along that it had begun; the rest runs elsewhere. */
static void a_killed_engine_loses_what_it_had_begun(void **state)
{
    struct scene scene;
    uint64_t failed;

    (void)state;
    engines(&scene, 10);
    scene_fault(&scene, PST_FAULT_KILL, 600 * PST_S, 0, 1);
    scene_run(&scene, 1);
    failed = scene.report->classes[0].outcomes[PST_OUTCOME_FAILED];
    assert_true(failed > 0 && failed <= 4);
    assert_int_equal(failed + scene.report->classes[0].outcomes[PST_OUTCOME_DONE],
                     scene.report->classes[0].arrived);
    scene_close(&scene);
}

/* Replicas come and go under load, each with its engine. */
static void engines_come_and_go_with_their_replicas(void **state)
{
    struct scene scene;

    (void)state;
    engines(&scene, 10);
    scene_open(&scene, 1);
    for (pst_ns at = 0; at < scene.scenario.horizon; at += 200 * PST_S) {
        scene.sim->pools[0].wanted = 4;
        assert_int_equal(pst_sim_run(scene.sim, at + 100 * PST_S), PST_OK);
        scene.sim->pools[0].wanted = 2;
        assert_int_equal(pst_sim_run(scene.sim, at + 200 * PST_S), PST_OK);
    }
    scene_finish(&scene);
    assert_true(scene.sim->lives.created >= 18);
    assert_int_equal(scene.report->killed_in_flight, 0);
    assert_int_equal(scene.report->classes[0].outcomes[PST_OUTCOME_DONE],
                     scene.report->classes[0].arrived);
    scene_close(&scene);
}

/* The engine model and slots of the same mean ask for as many replicas. */
static void the_scaler_learns_what_an_engine_bears(void **state)
{
    struct scene scene;

    (void)state;
    engines(&scene, 24); /* 12 slots' work: 3 replicas full */
    scene.policy.pilot = PST_PILOT_AHEAD;
    scene_run(&scene, 1);
    assert_true(scene.report->existing_max >= 4);
    assert_true(scene.sim->lives.pools[0].counts[PST_LIVES_READY] >= 1);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_alone_takes_its_iterations),
        cmocka_unit_test(batches_serve_as_many_as_there_are_slots),
        cmocka_unit_test(a_slow_engine_is_slow_in_all_it_does),
        cmocka_unit_test(a_hung_engine_goes_on_where_it_was),
        cmocka_unit_test(a_killed_engine_loses_what_it_had_begun),
        cmocka_unit_test(engines_come_and_go_with_their_replicas),
        cmocka_unit_test(the_scaler_learns_what_an_engine_bears),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
