/* What goes wrong: each kind of fault, and what becomes of those who are there. */
#include "scene.h"

#define HOUR (3600 * PST_S)

static void quiet(struct scene *scene)
{
    scene_init(scene, HOUR);
    scene_stream(scene, 0, 4, "exp:500ms");
    scene->scenario.gate.classes[0].on_full = PST_ON_FULL_WAIT;
    scene->policy.replicas = 2;
}

static uint64_t done(const struct scene *scene)
{
    return scene->report->classes[0].outcomes[PST_OUTCOME_DONE];
}

static uint32_t existing(const struct scene *scene)
{
    return pst_lives_existing(&scene->sim->lives, 0);
}

static uint32_t ready(const struct scene *scene)
{
    return scene->sim->lives.pools[0].counts[PST_LIVES_READY];
}

/* Killed ones are replaced; what ran there runs again, for no first byte was seen. */
static void the_killed_are_replaced(void **state)
{
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene_fault(&scene, PST_FAULT_KILL, 600 * PST_S, 0, 1);
    scene_open(&scene, 1);
    assert_int_equal(pst_sim_run(scene.sim, 600 * PST_S), PST_OK);
    assert_int_equal(ready(&scene), 1);
    assert_int_equal(pst_sim_run(scene.sim, 670 * PST_S), PST_OK);
    assert_int_equal(ready(&scene), 2);
    scene_finish(&scene);
    assert_int_equal(done(&scene), scene.report->classes[0].arrived);
    assert_int_equal(scene.report->ready_min, 1);
    assert_int_equal(scene.report->killed_in_flight, 0); /* that counts scale-in alone */
    scene_close(&scene);
}

static void the_scaler_replaces_them_too(void **state)
{
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene.policy.pilot = PST_PILOT_AHEAD;
    scene.scenario.scaler.pools[0].min = 2;
    scene_fault(&scene, PST_FAULT_KILL, 600 * PST_S, 0, 2);
    scene_open(&scene, 1);
    assert_int_equal(pst_sim_run(scene.sim, 600 * PST_S), PST_OK);
    assert_int_equal(ready(&scene), 0);
    assert_int_equal(pst_sim_run(scene.sim, 800 * PST_S), PST_OK);
    assert_true(ready(&scene) >= 2);
    scene_finish(&scene);
    /* One whose second replica died with it as well is given up. */
    assert_true(done(&scene) + 4 >= scene.report->classes[0].arrived);
    scene_close(&scene);
}

/* Those that answered already cannot run again. */
static void begun_answers_break(void **state)
{
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene.streams[0].service = scene_time("tokens:10ms:0ms:40ms"); /* 10 ms, and 2 s more */
    scene_fault(&scene, PST_FAULT_KILL, 600 * PST_S, 0, 1);
    scene_run(&scene, 1);
    assert_true(scene.report->classes[0].outcomes[PST_OUTCOME_FAILED] > 0);
    assert_true(scene.report->classes[0].outcomes[PST_OUTCOME_FAILED] <= 4);
    scene_close(&scene);
}

/* Sent on at once, and broken all the same: nobody got what was promised. */
static void broken_answers_attain_nothing(void **state)
{
    const struct pst_report_class *high;
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene.streams[0].service = scene_time("tokens:10ms:0ms:40ms");
    scene.policy.replicas = 16; /* nobody ever waits */
    scene_fault(&scene, PST_FAULT_KILL, 600 * PST_S, 0, 8);
    scene_run(&scene, 1);
    high = &scene.report->classes[0];
    assert_true(high->outcomes[PST_OUTCOME_FAILED] > 0);
    assert_int_equal(pst_hist_quantile(&high->wait, 999999), 0);
    assert_int_equal(high->in_target, high->outcomes[PST_OUTCOME_DONE]);
    assert_int_equal(high->in_deadline, high->outcomes[PST_OUTCOME_DONE]);
    scene_close(&scene);
}

static uint64_t p50(const struct scene *scene)
{
    return pst_hist_quantile(&scene->report->classes[0].ttft, 500000);
}

static void slow_ones_take_longer_until_they_are_well(void **state)
{
    struct scene scene;
    uint64_t all, half;

    (void)state;
    quiet(&scene);
    scene.streams[0].service = scene_time("const:100ms");
    scene_fault(&scene, PST_FAULT_SLOW, 0, PST_NEVER, 2)->factor = 5;
    scene_run(&scene, 1);
    all = p50(&scene);
    assert_true(all >= 490 * PST_MS && all <= 600 * PST_MS);
    scene_close(&scene);

    scene.faults[0].until = HOUR / 4;
    scene_run(&scene, 1);
    half = p50(&scene);
    assert_true(half >= 98 * PST_MS && half <= 102 * PST_MS);
    scene_close(&scene);
}

static void some_are_born_slow(void **state)
{
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene.streams[0].service = scene_time("const:100ms");
    scene.scenario.pools[0].slow_ppm = PST_PPM;
    scene.scenario.pools[0].slow_factor = 3;
    scene_run(&scene, 1);
    assert_true(p50(&scene) >= 290 * PST_MS && p50(&scene) <= 330 * PST_MS);
    scene_close(&scene);
}

/* Its clock stands still: what ran there ends so much later, and the gate looks elsewhere meanwhile. */
static void the_hung_go_on_where_they_were(void **state)
{
    struct scene scene;
    pst_ns worst = 0;

    (void)state;
    quiet(&scene);
    scene.streams[0].per_s = 2;
    scene.streams[0].service = scene_time("const:1s");
    scene_fault(&scene, PST_FAULT_HANG, 600 * PST_S, 700 * PST_S, 1);
    scene_run(&scene, 1);
    assert_int_equal(done(&scene), scene.report->classes[0].arrived);
    worst = scene.report->classes[0].ttft.max;
    assert_true(worst > 90 * PST_S && worst < 110 * PST_S);
    scene_close(&scene);
}

/* Two pauses that overlap are one, whichever is told first; the narrower of two quotas holds. */
static void faults_may_overlap(void **state)
{
    static const struct {
        pst_ns until[2];
    } rows[] = {{{700 * PST_S, 750 * PST_S}}, {{750 * PST_S, 700 * PST_S}}};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct scene scene;

        quiet(&scene);
        scene.streams[0].per_s = 2;
        scene.streams[0].service = scene_time("const:1s");
        scene_fault(&scene, PST_FAULT_HANG, 600 * PST_S, rows[i].until[0], 1);
        scene_fault(&scene, PST_FAULT_HANG, 650 * PST_S, rows[i].until[1], 1);
        scene_open(&scene, 1);
        assert_int_equal(pst_sim_run(scene.sim, 749 * PST_S), PST_OK);
        assert_true(pst_lives_hangs(&scene.sim->lives.items[0], scene.sim->now));
        scene_finish(&scene);
        assert_int_equal(done(&scene), scene.report->classes[0].arrived);
        assert_true(scene.report->classes[0].ttft.max > 140 * PST_S);
        assert_true(scene.report->classes[0].ttft.max < 160 * PST_S);
        scene_close(&scene);

        quiet(&scene);
        scene.streams[0].per_s = 30;
        scene.policy.replicas = 6;
        scene_fault(&scene, PST_FAULT_KILL, 100 * PST_S, 0, 6);
        scene_fault(&scene, PST_FAULT_QUOTA, 0, i == 0 ? 600 * PST_S : 900 * PST_S, 2);
        scene_fault(&scene, PST_FAULT_QUOTA, 10 * PST_S, i == 0 ? 900 * PST_S : 600 * PST_S, 4);
        scene_open(&scene, 1);
        assert_int_equal(existing(&scene), 6);
        assert_int_equal(pst_sim_run(scene.sim, 599 * PST_S), PST_OK);
        assert_int_equal(existing(&scene), 2);
        assert_int_equal(pst_sim_run(scene.sim, 899 * PST_S), PST_OK);
        assert_int_equal(existing(&scene), i == 0 ? 4 : 2);
        assert_int_equal(pst_sim_run(scene.sim, 1000 * PST_S), PST_OK);
        assert_int_equal(existing(&scene), 6);
        scene_close(&scene);
    }
}

/* For ever: the limit of the first byte ends what hangs, and the probes take it out. */
static void the_hung_for_ever_are_found_out(void **state)
{
    const struct pst_report_class *high;
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene.scenario.gate.pools[0].first_byte = 60 * PST_S;
    scene.scenario.gate.pools[0].ready_model = 1;
    scene_fault(&scene, PST_FAULT_HANG, 600 * PST_S, PST_NEVER, 1);
    scene_run(&scene, 1);
    high = &scene.report->classes[0];
    assert_true(high->outcomes[PST_OUTCOME_FAILED] > 0);
    assert_true(high->outcomes[PST_OUTCOME_FAILED] <= 8);
    assert_int_equal(high->outcomes[PST_OUTCOME_FAILED] + done(&scene), high->arrived);
    scene_close(&scene);
}

/* Streams that fall silent betray it after `stall`; those that go on for longer are no suspects. */
static void silent_streams_are_found_out(void **state)
{
    struct pst_gate_replica_view view;
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene.streams[0].per_s = 0.1;
    scene.streams[0].service = scene_time("tokens:10ms:0ms:4s"); /* 200 s */
    scene_fault(&scene, PST_FAULT_HANG, 1800 * PST_S, PST_NEVER, 1);
    scene.scenario.gate.pools[0].probe_interval = 600 * PST_S; /* health alone would tell first */
    scene.policy.replicas = 8;
    scene_open(&scene, 1);
    assert_int_equal(pst_sim_run(scene.sim, 1858 * PST_S), PST_OK);
    for (uint16_t r = 0; r < 8; r++) {
        assert_true(pst_gate_replica_view(scene.sim->gate, r, &view));
        assert_int_equal(view.state, PST_REPLICA_READY);
    }
    assert_int_equal(pst_sim_run(scene.sim, 1861 * PST_S), PST_OK);
    assert_true(pst_gate_replica_view(scene.sim->gate, 0, &view));
    assert_int_equal(view.state, PST_REPLICA_SUSPECT);
    scene_finish(&scene);
    assert_true(scene.report->classes[0].outcomes[PST_OUTCOME_FAILED] <= 4);
    scene_close(&scene);
}

/* Starts in the span never become ready; the ReplicaSet waits for them for ever. */
static void stuck_starts_stay_stuck(void **state)
{
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene_fault(&scene, PST_FAULT_STUCK, 0, HOUR / 2, 0);
    scene_fault(&scene, PST_FAULT_KILL, 600 * PST_S, 0, 1);
    scene_run(&scene, 1);
    assert_true(scene.report->replica_ns[PST_REPLICA_STARTING] >= 2990 * PST_S);
    assert_int_equal(ready(&scene), 1);
    scene_close(&scene);
}

/* The scaler gives one up and starts another, which is well. */
static void the_scaler_gives_stuck_ones_up(void **state)
{
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene.policy.pilot = PST_PILOT_AHEAD;
    scene.scenario.scaler.pools[0].min = 2;
    scene_fault(&scene, PST_FAULT_STUCK, 0, 700 * PST_S, 0);
    scene_fault(&scene, PST_FAULT_KILL, 600 * PST_S, 0, 1);
    scene_run(&scene, 1);
    assert_true(ready(&scene) >= 2);
    assert_int_equal(done(&scene), scene.report->classes[0].arrived);
    scene_close(&scene);
}

static void failing_starts_crash_and_are_paid_for(void **state)
{
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene.policy.replicas = 1;
    scene_fault(&scene, PST_FAULT_FAIL, 0, HOUR / 2, 0);
    scene_fault(&scene, PST_FAULT_KILL, 600 * PST_S, 0, 1);
    scene_run(&scene, 1);
    /* From 10 min to 30 min each start fails after its 60 s; the one after that succeeds. */
    assert_true(scene.report->replica_ns[PST_REPLICA_STARTING] >= 1200 * PST_S);
    assert_true(scene.report->replica_ns[PST_REPLICA_STARTING] <= 1400 * PST_S);
    assert_int_equal(ready(&scene), 1);
    scene_close(&scene);
}

static void no_more_exist_than_the_quota_says(void **state)
{
    static const enum pst_scenario_pilot pilots[] = {PST_PILOT_AHEAD, PST_PILOT_BACKLOG,
                                                     PST_PILOT_HPA_QUEUE};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(pilots); i++) {
        struct scene scene;

        quiet(&scene);
        scene.streams[0].per_s = 30; /* 15 slots' work */
        scene.policy.pilot = pilots[i];
        scene_fault(&scene, PST_FAULT_QUOTA, 0, HOUR / 2, 3);
        scene_open(&scene, 1);
        assert_int_equal(pst_sim_run(scene.sim, HOUR / 2 - 1), PST_OK);
        assert_int_equal(scene.report->existing_max, 3);
        assert_int_equal(existing(&scene), 3);
        scene_finish(&scene);
        assert_true(scene.report->existing_max > 3);
        scene_close(&scene);
    }
}

/* Without metrics a peer's rule stands still; the house's own counts for itself. */
static void an_outage_blinds_who_scrapes(void **state)
{
    static const struct {
        enum pst_scenario_pilot pilot;
        enum pst_fault_kind fault;
        bool acts;
    } rows[] = {
        {PST_PILOT_HPA_QUEUE, PST_FAULT_OUTAGE, false},
        {PST_PILOT_HPA_QUEUE, PST_FAULT_BLIND, true},
        {PST_PILOT_BACKLOG, PST_FAULT_OUTAGE, true},
        {PST_PILOT_BACKLOG, PST_FAULT_BLIND, false},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct scene scene;

        quiet(&scene);
        scene.streams[0].per_s = 30;
        scene.policy.pilot = rows[i].pilot;
        scene_fault(&scene, rows[i].fault, 0, HOUR / 2, 0);
        scene_open(&scene, 1);
        assert_int_equal(pst_sim_run(scene.sim, HOUR / 2 - 1), PST_OK);
        if (rows[i].acts != (existing(&scene) > 2))
            fail_msg("row %zu: %u replicas", i, existing(&scene));
        scene_finish(&scene);
        assert_true(scene.report->existing_max > 2);
        scene_close(&scene);
    }
}

static void a_rollout_makes_new_ones_newer(void **state)
{
    struct scene scene;
    uint32_t newest = 0;

    (void)state;
    quiet(&scene);
    scene.policy.pilot = PST_PILOT_AHEAD;
    scene.scenario.scaler.pools[0].min = 2;
    scene_fault(&scene, PST_FAULT_ROLLOUT, 300 * PST_S, 900 * PST_S, 0);
    scene_fault(&scene, PST_FAULT_KILL, 600 * PST_S, 0, 1);
    scene_run(&scene, 1);
    for (uint16_t r = 0; r < scene.sim->lives.max; r++) {
        if (scene.sim->lives.items[r].phase == PST_LIVES_READY &&
            scene.sim->lives.items[r].revision > newest)
            newest = scene.sim->lives.items[r].revision;
    }
    assert_int_equal(newest, 1);
    scene_close(&scene);
}

/* Some die by themselves, now and then. */
static void mortal_replicas_die_and_are_replaced(void **state)
{
    struct scene scene;

    (void)state;
    quiet(&scene);
    scene.scenario.horizon = 10 * HOUR;
    scene.scenario.pools[0].mtbf = HOUR;
    scene.policy.replicas = 3;
    scene_run(&scene, 1);
    /* 3 replicas, 10 hours: some 30 deaths. */
    assert_true(scene.sim->lives.created > 18 && scene.sim->lives.created < 50);
    assert_int_equal(done(&scene) + scene.report->classes[0].outcomes[PST_OUTCOME_FAILED],
                     scene.report->classes[0].arrived);
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_killed_are_replaced),
        cmocka_unit_test(the_scaler_replaces_them_too),
        cmocka_unit_test(begun_answers_break),
        cmocka_unit_test(broken_answers_attain_nothing),
        cmocka_unit_test(slow_ones_take_longer_until_they_are_well),
        cmocka_unit_test(some_are_born_slow),
        cmocka_unit_test(the_hung_go_on_where_they_were),
        cmocka_unit_test(faults_may_overlap),
        cmocka_unit_test(the_hung_for_ever_are_found_out),
        cmocka_unit_test(silent_streams_are_found_out),
        cmocka_unit_test(stuck_starts_stay_stuck),
        cmocka_unit_test(the_scaler_gives_stuck_ones_up),
        cmocka_unit_test(failing_starts_crash_and_are_paid_for),
        cmocka_unit_test(no_more_exist_than_the_quota_says),
        cmocka_unit_test(an_outage_blinds_who_scrapes),
        cmocka_unit_test(a_rollout_makes_new_ones_newer),
        cmocka_unit_test(mortal_replicas_die_and_are_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
