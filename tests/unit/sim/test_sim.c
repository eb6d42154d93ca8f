/* A run as a whole: nobody is lost, nothing is left to chance, and what exists is paid for. */
#include "core/num.h"
#include "scene.h"

#define HOUR (3600 * PST_S)

/* An hour in which two replicas are not enough for a while. */
static void busy_hour(struct scene *scene)
{
    struct pst_stream *low;

    scene_init(scene, HOUR);
    scene_stream(scene, 0, 4, "exp:500ms");
    scene_stream(scene, 1, 3, "lognormal:1.5:500ms");
    low = scene_stream(scene, 2, 1, "pareto:2.5:500ms");
    low->burst.every = HOUR;
    low->burst.offset = scene_time("20m");
    low->burst.length = scene_time("4m");
    low->burst.per_s = 30;
    low->retries_max = 2;
}

static bool is_a_pair(enum pst_scenario_pilot pilot, enum pst_scenario_actuator actuator)
{
    bool own = pilot <= PST_PILOT_DEPTH;

    return own || actuator == PST_ACTUATOR_DIRECT;
}

static void nobody_is_lost_under_any_policy(void **state)
{
    (void)state;
    for (int gate = PST_SCENARIO_ADAPTIVE; gate <= PST_SCENARIO_FIFO; gate++) {
        for (int pilot = 0; pilot < PST_PILOT_COUNT; pilot++) {
            for (int actuator = 0; actuator < PST_ACTUATOR_COUNT; actuator++) {
                struct scene scene;

                if (!is_a_pair((enum pst_scenario_pilot)pilot,
                               (enum pst_scenario_actuator)actuator))
                    continue;
                busy_hour(&scene);
                scene.policy.gate = (enum pst_scenario_gate)gate;
                scene.policy.pilot = (enum pst_scenario_pilot)pilot;
                scene.policy.actuator = (enum pst_scenario_actuator)actuator;
                scene_run(&scene, 3);
                assert_int_equal(scene.report->killed_in_flight, 0);
                for (int c = 0; c < 3; c++) {
                    const struct pst_report_class *class_ = &scene.report->classes[c];

                    assert_true(class_->arrived > 0);
                    assert_int_equal(class_->outcomes[PST_OUTCOME_FAILED], 0);
                    assert_int_equal(class_->outcomes[PST_OUTCOME_CANCELLED], 0);
                    assert_int_equal(class_->ttft.count, class_->outcomes[PST_OUTCOME_DONE]);
                    if (gate == PST_SCENARIO_FIFO) /* it loses nobody */
                        assert_int_equal(class_->outcomes[PST_OUTCOME_DONE], class_->arrived);
                }
                scene_close(&scene);
            }
        }
    }
}

/* One seed is one course, however the run is cut into pieces; another seed is another. */
static void one_seed_is_one_course(void **state)
{
    struct scene a, b;
    uint64_t digest;

    (void)state;
    busy_hour(&a);
    a.policy.pilot = PST_PILOT_AHEAD;
    scene_run(&a, 3);
    digest = a.report->digest;
    b = a;
    scene_open(&b, 3);
    for (pst_ns until = 0; pst_sim_run(b.sim, until) == PST_OK; until += 777 * PST_MS)
        ;
    assert_int_equal(b.report->digest, digest);
    assert_memory_equal(&a.report->classes, &b.report->classes, sizeof a.report->classes);
    assert_memory_equal(a.report->replica_ns, b.report->replica_ns, sizeof a.report->replica_ns);
    scene_close(&b);
    scene_run(&b, 4);
    assert_true(b.report->digest != digest);
    scene_close(&b);
    scene_close(&a);
}

/* What came, and what it asked for, is none of the policy's doing. */
static void policies_see_the_same_arrivals(void **state)
{
    uint64_t arrived[3] = {0};

    (void)state;
    for (int gate = PST_SCENARIO_ADAPTIVE; gate <= PST_SCENARIO_FIFO; gate++) {
        for (int pilot = PST_PILOT_AHEAD; pilot < PST_PILOT_COUNT; pilot += 3) {
            struct scene scene;

            busy_hour(&scene);
            scene.policy.gate = (enum pst_scenario_gate)gate;
            scene.policy.pilot = (enum pst_scenario_pilot)pilot;
            scene_run(&scene, 11);
            for (int c = 0; c < 3; c++) {
                if (arrived[c] == 0)
                    arrived[c] = scene.report->classes[c].arrived;
                assert_int_equal(scene.report->classes[c].arrived, arrived[c]);
            }
            scene_close(&scene);
        }
    }
}

/* With room for everybody nothing depends on the policy: ttft is the service time. */
static void services_are_common_too(void **state)
{
    struct pst_hist ttft = {0};

    (void)state;
    for (int gate = PST_SCENARIO_ADAPTIVE; gate <= PST_SCENARIO_FIFO; gate += 2) {
        struct scene scene;

        scene_init(&scene, HOUR);
        scene_stream(&scene, 0, 1, "lognormal:1:500ms");
        scene.policy.gate = (enum pst_scenario_gate)gate;
        scene.policy.replicas = 20;
        scene_run(&scene, 11);
        if (gate == PST_SCENARIO_ADAPTIVE)
            ttft = scene.report->classes[0].ttft;
        else
            assert_memory_equal(&ttft, &scene.report->classes[0].ttft, sizeof ttft);
        scene_close(&scene);
    }
}

/* M/M/4 at 75 %: Erlang's formula says 0.5094 of them wait, 0.2547 s on average. */
static void waits_are_those_of_the_textbook(void **state)
{
    struct scene scene;
    double mean;

    (void)state;
    scene_init(&scene, 40 * HOUR);
    scene_stream(&scene, 0, 6, "exp:500ms");
    scene.policy.gate = PST_SCENARIO_FIFO;
    scene.policy.replicas = 1;
    scene_run(&scene, 1);
    mean = (double)pst_hist_mean(&scene.report->classes[0].wait) / 1e9;
    assert_true(mean > 0.2547 * 0.97 && mean < 0.2547 * 1.03);
    scene_close(&scene);
}

/* The first token of a streamed answer comes after its prompt's part, the rest later. */
static void first_tokens_come_after_the_prompt(void **state)
{
    struct scene scene;
    uint64_t p99;

    (void)state;
    scene_init(&scene, HOUR);
    scene_stream(&scene, 0, 1, "tokens:20ms:1ms:10ms"); /* 120 ms, and 500 ms more */
    scene.policy.replicas = 10;
    scene_run(&scene, 1);
    p99 = pst_hist_quantile(&scene.report->classes[0].ttft, 990000);
    assert_true(p99 >= 118 * PST_MS && p99 <= 122 * PST_MS);
    scene_close(&scene);
}

/* A number that swings: every replica that goes is drained, and none takes work along. */
static void ten_thousand_drained_removals_lose_nothing(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, 10 * HOUR);
    scene_stream(&scene, 0, 8, "lognormal:1:400ms");
    scene_stream(&scene, 2, 4, "tokens:20ms:1ms:10ms");
    scene.scenario.gate.classes[0].on_full = PST_ON_FULL_WAIT;
    scene.scenario.pools[0].cold = scene_time("1s");
    scene_open(&scene, 1);
    for (pst_ns at = 0; at < scene.scenario.horizon; at += 12 * PST_S) {
        scene.sim->pools[0].wanted = 6;
        assert_int_equal(pst_sim_run(scene.sim, at + 6 * PST_S), PST_OK);
        scene.sim->pools[0].wanted = 2;
        assert_int_equal(pst_sim_run(scene.sim, at + 12 * PST_S), PST_OK);
    }
    scene_finish(&scene);
    assert_true(scene.sim->lives.created - 6 > 10000);
    assert_int_equal(scene.report->killed_in_flight, 0);
    assert_int_equal(scene.report->classes[0].outcomes[PST_OUTCOME_DONE],
                     scene.report->classes[0].arrived);
    assert_int_equal(scene.report->classes[2].outcomes[PST_OUTCOME_DONE],
                     scene.report->classes[2].arrived);
    scene_close(&scene);
}

/* One that is not given the time to drain takes work along, and says how much. */
static void drains_cut_short_are_counted(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, HOUR);
    scene_stream(&scene, 0, 1, "const:10s");
    scene.scenario.scaler.pools[0].drain_deadline = PST_S;
    scene.scenario.gate.classes[0].on_full = PST_ON_FULL_WAIT;
    scene.policy.replicas = 6;
    scene_open(&scene, 1);
    assert_int_equal(pst_sim_run(scene.sim, HOUR / 2), PST_OK);
    scene.sim->pools[0].wanted = 4;
    assert_int_equal(pst_sim_run(scene.sim, HOUR / 2 + 10 * PST_S), PST_OK);
    assert_true(scene.report->killed_in_flight > 0);
    assert_true(scene.report->killed_in_flight <= 8);
    scene_finish(&scene);
    /* No first byte was seen: they ran elsewhere. */
    assert_int_equal(scene.report->classes[0].outcomes[PST_OUTCOME_FAILED], 0);
    scene_close(&scene);
}

/* The bill: what exists, from creation to the end of its stop, in the measured span alone. */
static void what_exists_is_paid_for(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, HOUR);
    scene.scenario.cut = HOUR / 2;
    scene.scenario.scaler.pools[0].cost_micro = 2500000;
    scene_stream(&scene, 0, 1, "exp:100ms");
    scene_run(&scene, 1);
    assert_true(scene_paid(&scene) == HOUR); /* two, for half an hour */
    assert_int_equal(scene.report->cost_micro, 2500000);
    assert_int_equal(scene.report->ready_min, 2);
    assert_int_equal(scene.report->existing_max, 2);
    scene_close(&scene);
}

/* The first ones come one by one, but all at once as far as anybody may see. */
static void the_first_replicas_were_always_there(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, HOUR);
    scene.policy.replicas = 5;
    scene_stream(&scene, 0, 1, "exp:100ms");
    scene_run(&scene, 1);
    assert_int_equal(scene.report->ready_min, 5);
    assert_int_equal(scene.report->existing_max, 5);
    scene_close(&scene);
}

static void cold_starts_and_stops_are_paid_for(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, HOUR);
    scene_stream(&scene, 0, 0.1, "exp:100ms");
    scene.scenario.pools[0].initial = 1;
    scene.scenario.scaler.pools[0].min = 3;
    scene.scenario.scaler.pools[0].max = 3;
    scene.policy.pilot = PST_PILOT_HPA_QUEUE;
    scene_run(&scene, 1);
    /* Two are missing at the first look, at time 0: their cold start is 60 s. */
    assert_true(scene.report->replica_ns[PST_REPLICA_STARTING] == 120 * PST_S);
    assert_true(scene_paid(&scene) == 3 * HOUR);
    scene_close(&scene);

    scene_init(&scene, HOUR);
    scene_stream(&scene, 0, 0.1, "exp:100ms");
    scene.scenario.pools[0].initial = 3;
    scene.scenario.pools[0].stop = scene_time("100s");
    scene.policy.pilot = PST_PILOT_HPA_QUEUE;
    scene_run(&scene, 1);
    assert_int_equal(scene.report->downs, 1); /* to one, after its stabilisation */
    assert_true(scene.report->replica_ns[PST_REPLICA_DRAINING] >= 200 * PST_S);
    assert_true(scene.report->replica_ns[PST_REPLICA_DRAINING] <= 202 * PST_S);
    scene_close(&scene);
}

/* The n-th start takes as long under every policy. */
static void cold_starts_are_common(void **state)
{
    struct pst_lives *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);
    struct scene scene;
    uint16_t x, y;

    (void)state;
    assert_true(a != NULL && b != NULL);
    scene_init(&scene, HOUR);
    scene.scenario.pools[0].cold = scene_time("lognormal:0.5:60s");
    scene.scenario.pools[0].slow_ppm = 500000;
    scene.scenario.pools[0].slow_factor = 3;
    scene.scenario.pools[0].mtbf = HOUR;
    pst_lives_init(a, &scene.scenario, 7, 200);
    pst_lives_init(b, &scene.scenario, 7, 200);
    for (pst_ns n = 0; n < 100; n++) {
        assert_int_equal(pst_lives_create(a, 0, n * PST_S, &x), PST_OK);
        assert_int_equal(pst_lives_create(b, 0, n * 5 * PST_S, &y), PST_OK);
        assert_true(a->items[x].fate.cold == b->items[y].fate.cold);
        assert_true(a->items[x].fate.dies_after == b->items[y].fate.dies_after);
        assert_true(a->items[x].fate.slowness == b->items[y].fate.slowness);
        if (n % 3 == 0) /* its index is used again; its luck is not */
            pst_lives_change(b, y, PST_LIVES_GONE, n * 5 * PST_S);
    }
    free(a);
    free(b);
}

/* The scaler's own warm pool: loaded replicas are held back, and are ready after a promotion. */
static void warm_replicas_are_promoted(void **state)
{
    struct scene scene;

    (void)state;
    busy_hour(&scene);
    scene.policy.pilot = PST_PILOT_BACKLOG;
    scene.policy.warm = 1;
    scene_run(&scene, 3);
    assert_true(scene.report->replica_ns[PST_REPLICA_WARM] > HOUR / 4);
    assert_true(scene.report->ups > 0);
    scene_close(&scene);
}

/* Scaled to zero, the first who waits wakes the scaler: a cold start later he is served. */
static void the_first_to_wait_wakes_the_scaler(void **state)
{
    const struct pst_report_class *high;
    struct scene scene;

    (void)state;
    scene_init(&scene, 4 * HOUR);
    scene_stream(&scene, 0, 0.001, "exp:500ms");
    scene.scenario.scaler.pools[0].min = 0;
    scene.scenario.pools[0].initial = 0;
    scene.policy.pilot = PST_PILOT_AHEAD;
    scene_run(&scene, 1);
    high = &scene.report->classes[0];
    assert_true(high->arrived > 3);
    assert_int_equal(high->outcomes[PST_OUTCOME_DONE], high->arrived);
    assert_true(high->wait.max >= 60 * PST_S && high->wait.max <= 62 * PST_S);
    assert_true(scene_paid(&scene) < 3 * HOUR);
    scene_close(&scene);
}

static pst_ns first_asks_for(pst_ns history, uint32_t replicas)
{
    struct scene scene;
    pst_ns at = PST_NEVER;

    scene_init(&scene, HOUR);
    scene_stream(&scene, 0, 24, "exp:500ms"); /* the work of 12 slots */
    scene.scenario.history = history;
    scene.scenario.pools[0].initial = 1;
    scene.policy.pilot = PST_PILOT_AHEAD;
    scene_run(&scene, 1);
    for (uint32_t i = 0; i < scene.report->decisions_count && at == PST_NEVER; i++) {
        if (scene.report->decisions[i].action.u.decision.desired >= replicas)
            at = scene.report->decisions[i].at;
    }
    scene_close(&scene);
    return at;
}

/* What the scaler has seen of the past, it need not learn. */
static void history_is_known_from_the_first_second(void **state)
{
    pst_ns with = first_asks_for(2 * HOUR, 4), without = first_asks_for(0, 4);

    (void)state;
    assert_true(with <= PST_S);
    assert_true(without > with && without != PST_NEVER);
}

/* A refused client that comes again is one client, with one outcome. */
static void clients_come_again_as_often_as_they_may(void **state)
{
    static const struct {
        uint32_t retries;
        pst_ns after;
    } rows[] = {{0, 0}, {1, PST_S}, {5, PST_S}, {3, 0}};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct pst_report_class *high;
        struct scene scene;

        scene_init(&scene, HOUR);
        scene_stream(&scene, 0, 30, "exp:500ms"); /* twice what there is */
        scene.streams[0].retries_max = rows[i].retries;
        scene.streams[0].retry_after = rows[i].after;
        scene.scenario.gate.classes[0].max_wait = 0;
        scene_run(&scene, 1);
        high = &scene.report->classes[0];
        assert_true(high->outcomes[PST_OUTCOME_REFUSED] > high->arrived / 4);
        if (rows[i].retries == 0)
            assert_int_equal(high->retried, 0);
        else
            assert_true(high->retried >= high->outcomes[PST_OUTCOME_REFUSED] * 9 / 10);
        scene_close(&scene);
    }
}

/* Past the slab a client is refused, and is still one of those that came. */
static void a_full_slab_refuses(void **state)
{
    struct scene scene;

    (void)state;
    scene_init(&scene, 600 * PST_S);
    scene_stream(&scene, 2, 60, "exp:1s");
    scene.scenario.gate.tickets_max = 50;
    scene_run(&scene, 1);
    assert_true(scene.report->classes[2].outcomes[PST_OUTCOME_REFUSED] > 0);
    scene_close(&scene);
}

/* Points lie over the whole run, in order; decisions that change the number are kept. */
static void the_course_is_recorded(void **state)
{
    struct scene scene;

    (void)state;
    busy_hour(&scene);
    scene.policy.pilot = PST_PILOT_BACKLOG;
    scene_run(&scene, 3);
    assert_true(scene.report->points_count > 1000);
    for (uint32_t i = 1; i < scene.report->points_count; i++)
        assert_true(scene.report->points[i].at > scene.report->points[i - 1].at);
    assert_true(scene.report->decisions_count > 0);
    for (uint32_t i = 0; i < scene.report->decisions_count; i++)
        assert_false(scene.report->decisions[i].peer);
    assert_int_equal(scene.report->bursts, 1);
    scene_close(&scene);
}

static void spoil_horizon(struct scene *scene)
{
    scene->scenario.cut = scene->scenario.horizon;
}

static void spoil_gate(struct scene *scene)
{
    scene->policy.gate = PST_SCENARIO_NONE;
}

static void spoil_pool(struct scene *scene)
{
    scene->streams[0].pool = 1;
}

static void spoil_class(struct scene *scene)
{
    scene->streams[0].class_ = 3;
}

static void spoil_slots(struct scene *scene)
{
    scene->scenario.gate.pools[0].slots = 0;
}

static void spoil_engine(struct scene *scene)
{
    scene->scenario.pools[0].token_mode = true;
}

static void wrong_scenarios_are_refused_with_a_reason(void **state)
{
    static const struct {
        void (*spoil)(struct scene *scene);
        const char *why;
    } rows[] = {
        {spoil_horizon, "span"}, {spoil_gate, "gate"},    {spoil_pool, "pool"},
        {spoil_class, "class"},  {spoil_slots, "gate's"}, {spoil_engine, "engine"},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const char *why = NULL;
        struct pst_sim *sim = NULL;
        struct scene scene;

        busy_hour(&scene);
        rows[i].spoil(&scene);
        assert_int_equal(pst_sim_new(&scene.scenario, &scene.policy, 1, &sim, &why), PST_E_INVALID);
        assert_null(sim);
        assert_non_null(strstr(why, rows[i].why));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_is_lost_under_any_policy),
        cmocka_unit_test(one_seed_is_one_course),
        cmocka_unit_test(policies_see_the_same_arrivals),
        cmocka_unit_test(services_are_common_too),
        cmocka_unit_test(waits_are_those_of_the_textbook),
        cmocka_unit_test(first_tokens_come_after_the_prompt),
        cmocka_unit_test(ten_thousand_drained_removals_lose_nothing),
        cmocka_unit_test(drains_cut_short_are_counted),
        cmocka_unit_test(what_exists_is_paid_for),
        cmocka_unit_test(the_first_replicas_were_always_there),
        cmocka_unit_test(cold_starts_and_stops_are_paid_for),
        cmocka_unit_test(cold_starts_are_common),
        cmocka_unit_test(warm_replicas_are_promoted),
        cmocka_unit_test(the_first_to_wait_wakes_the_scaler),
        cmocka_unit_test(history_is_known_from_the_first_second),
        cmocka_unit_test(clients_come_again_as_often_as_they_may),
        cmocka_unit_test(a_full_slab_refuses),
        cmocka_unit_test(the_course_is_recorded),
        cmocka_unit_test(wrong_scenarios_are_refused_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
