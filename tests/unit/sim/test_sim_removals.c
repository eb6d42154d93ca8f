/*
 * Ten thousand replicas drain and go while others come, some are evicted and two crash: no request is lost,
 * whoever removes them.
 */
#include "scene.h"

#define REMOVALS 10000
#define PERIOD   (240 * PST_S)

/* Up and down, with requests that are long beside what a replica lives. */
static void tides(struct scene *scene, enum pst_scenario_actuator actuator)
{
    static const struct pst_rate_piece tides[] = {{.at = 0, .per_s = 2},
                                                  {.at = PERIOD / 2, .per_s = 18}};
    struct pst_scaler_pool *pool = &scene->scenario.scaler.pools[0];
    struct pst_stream *stream;

    scene_init(scene, 640 * PERIOD);
    stream = scene_stream(scene, 2, 0, "exp:4s");
    stream->pieces = tides;
    stream->pieces_count = PST_COUNT_OF(tides);
    stream->period = PERIOD;
    scene->scenario.gate.classes[2].on_full = PST_ON_FULL_WAIT;
    scene->scenario.pools[0].cold = scene_time("uniform:5s:15s");
    pool->max = 20;
    pool->in_after = 10 * PST_S;
    pool->start_time = 10 * PST_S;
    pool->qps_milli = 1000;
    scene->policy.pilot = PST_PILOT_QPS;
    scene->policy.actuator = actuator;
}

static void nothing_is_lost(enum pst_scenario_actuator actuator)
{
    struct scene scene;
    const struct pst_report_class *class_;
    uint64_t removed;

    tides(&scene, actuator);
    scene_fault(&scene, PST_FAULT_EVICT, 100 * PERIOD + 90 * PST_S, 0, 3);
    scene_fault(&scene, PST_FAULT_EVICT, 200 * PERIOD + 150 * PST_S, 0, 3);
    scene_fault(&scene, PST_FAULT_KILL, 300 * PERIOD + 30 * PST_S, 0, 2);
    scene_run(&scene, 1);
    class_ = &scene.report->classes[2];
    removed = scene.sim->lives.created - pst_lives_existing(&scene.sim->lives, 0);
    assert_true(removed >= REMOVALS);
    assert_int_equal(scene.report->killed_in_flight, 0);
    assert_int_equal(class_->outcomes[PST_OUTCOME_DONE], class_->arrived);
    scene_close(&scene);
}

static void test_the_scaler_removes_them(void **state)
{
    (void)state;
    nothing_is_lost(PST_ACTUATOR_DIRECT);
}

static void test_a_controller_removes_them(void **state)
{
    (void)state;
    nothing_is_lost(PST_ACTUATOR_MARKED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_scaler_removes_them),
        cmocka_unit_test(test_a_controller_removes_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
