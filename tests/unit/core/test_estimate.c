/* test_estimate.c - what is learned of requests: tokens, answers, slot-time, and the wait from them. */
#include "harness.h"

#include "core/estimate.h"
#include "core/guard.h"
#include "core/load.h"
#include "core/reserve.h"

static void tokens_per_byte_are_learned_per_flow(void **state)
{
    struct pst_estimate e;

    (void)state;
    assert_int_equal(pst_estimate_init(&e, 64), PST_OK);
    assert_in_range(pst_estimate_prompt(&e, 0, 1, 4000), 990,
                    1010); /* four bytes a token, unseen */
    assert_int_equal(pst_estimate_prompt(&e, 0, 1, 0), 0);
    for (int i = 0; i < 50; i++)
        pst_estimate_learn(&e, 0, 0, 1, 3000, 3000, 0); /* this flow: a byte a token */
    assert_in_range(pst_estimate_prompt(&e, 0, 1, 4000), 3700, 4010);
    for (int i = 0; i < 500; i++)
        pst_estimate_learn(&e, 0, 0, 2, 8000, 1000, 0); /* most of the pool: eight */
    assert_in_range(pst_estimate_prompt(&e, 0, 1, 4000), 3600, 4010);
    assert_in_range(pst_estimate_prompt(&e, 0, 2, 8000), 990, 1050);
    assert_in_range(pst_estimate_prompt(&e, 0, 3, 8000), 990, 1300); /* a new flow: as its pool */
    assert_in_range(pst_estimate_prompt(&e, 1, 1, 4000), 990,
                    1010); /* another pool knows nothing */
    assert_true(pst_estimate_prompt(&e, 0, 1, UINT32_MAX) > 0);
    pst_estimate_done(&e);
}

static void answers_are_learned_per_type_and_flow(void **state)
{
    struct pst_estimate e;

    (void)state;
    assert_int_equal(pst_estimate_init(&e, 64), PST_OK);
    assert_int_equal(pst_estimate_output(&e, 0, 1), 256);
    for (int i = 0; i < 200; i++) {
        pst_estimate_learn(&e, 0, 0, 1, 100, 0, 50);
        pst_estimate_learn(&e, 0, 1, 1, 100, 0, 2000);
        pst_estimate_learn(&e, 0, 1, 2, 100, 0, 1000);
    }
    pst_estimate_learn(&e, 0, 0, 1, 100, 25, 0); /* not known is not zero */
    assert_in_range(pst_estimate_output(&e, 0, 1), 50, 60);
    assert_in_range(pst_estimate_output(&e, 1, 1), 1900, 2000);
    assert_in_range(pst_estimate_output(&e, 1, 2), 1000, 1050);
    assert_in_range(pst_estimate_output(&e, 1, 3), 1000, 2000); /* a new flow: as its type */
    pst_estimate_done(&e);
}

static void slot_time_leans_on_the_parent(void **state)
{
    struct pst_service s;

    (void)state;
    memset(&s, 0, sizeof s);
    assert_int_equal(pst_service_mean(&s, 0, PST_LENGTH_SHORT), PST_SERVICE_UNKNOWN);
    for (int i = 0; i < 100; i++)
        pst_service_learn(&s, 1, PST_LENGTH_SHORT, 200 * PST_MS);
    assert_in_range(pst_service_mean(&s, 1, PST_LENGTH_SHORT) / PST_MS, 199, 200);
    assert_in_range(pst_service_mean(&s, 0, PST_LENGTH_LONG) / PST_MS, 199, 200);
    pst_service_learn(&s, 0, PST_LENGTH_LONG, 20 * PST_S); /* one odd answer moves little */
    assert_true(pst_service_mean(&s, 0, PST_LENGTH_LONG) < 9 * PST_S);
    for (int i = 0; i < 500; i++)
        pst_service_learn(&s, 0, PST_LENGTH_LONG, 20 * PST_S);
    assert_in_range(pst_service_mean(&s, 0, PST_LENGTH_LONG) / PST_MS, 19000, 20000);
    assert_true(pst_service_mean(&s, 1, PST_LENGTH_SHORT) < PST_S);
}

static void load_follows_what_arrives_and_runs(void **state)
{
    struct pst_load load;
    pst_ns now = PST_S;

    (void)state;
    memset(&load, 0, sizeof load);
    pst_load_advance(&load, now);
    pst_load_start(&load, 0, PST_LENGTH_SHORT, 3);
    for (int i = 0; i < 400; i++, now += 100 * PST_MS) { /* 10 a second of half a second each */
        pst_load_advance(&load, now);
        pst_load_arrived(&load, 1, 500 * PST_MS);
    }
    pst_load_advance(&load, now);
    assert_in_range(load.arrived[1].mean_ppm, 4700000, 5300000);
    assert_in_range(load.used[0].mean_ppm, 2990000, 3000000);
    assert_in_range(load.shorter.mean_ppm, 2990000, 3000000);
    pst_load_stop(&load, 0, PST_LENGTH_SHORT, 3);
    pst_load_advance(&load, now + 1000 * PST_S);
    assert_true(load.arrived[1].mean_ppm < 10000 && load.used[0].mean_ppm < 10000);
}

static void the_reservation_is_the_formula(void **state)
{
    static const struct {
        uint32_t slots;
        uint32_t used; /* slots */
        pst_ns service, patience;
        uint32_t want;
    } rows[] = {
        {56, 20, 100 * PST_MS, 50 * PST_MS, 0}, /* 4.6 - 18 < 0: turnover is enough */
        {16, 4, 30 * PST_S, 50 * PST_MS, 4},    /* (4.605 - 0.02) / ln 4 = 3.3 */
        {16, 1, 30 * PST_S, 50 * PST_MS, 2},    /* (4.605 - 0.025) / ln 16 = 1.65 */
        {16, 15, 30 * PST_S, 50 * PST_MS, 4},   /* 71, at most K / 4 */
        {16, 16, 30 * PST_S, 50 * PST_MS, 4},   {16, 40, PST_S, PST_MS, 4},
        {16, 0, 30 * PST_S, 50 * PST_MS, 0},    {3, 2, 30 * PST_S, 50 * PST_MS, 0},
        {0, 2, 30 * PST_S, 50 * PST_MS, 0},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        assert_int_equal(pst_reserve_slots(rows[i].slots, (uint64_t)rows[i].used * PST_PPM,
                                           rows[i].service, rows[i].patience, 100.0),
                         rows[i].want);
}

/* Every dispatch below class 0 earns; the guard never takes more than its share of them. */
static void the_guard_is_bounded_by_its_share(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    struct pst_guard guard;
    uint32_t spent = 0;

    (void)state;
    memset(&guard, 0, sizeof guard);
    for (int i = 0; i < 10000; i++) { /* on-time work of class 0 earns nothing */
        pst_guard_dispatched(&guard, config.classes, 3, 0, PST_S, false, 10);
        assert_false(pst_guard_may(&guard, 2) || pst_guard_may_overtake(&guard, 2));
    }
    for (int i = 0; i < 10000; i++) {
        bool may = pst_guard_may(&guard, 2);

        pst_guard_dispatched(&guard, config.classes, 3, may ? 2 : 1, PST_S, false, 10);
        spent += may;
    }
    assert_in_range(spent, 470, 501); /* 5 % */
    spent = 0;
    for (int i = 0; i < 10000; i++) { /* class 0 late, and alone: half a percent */
        pst_guard_dispatched(&guard, config.classes, 3, 0, PST_S, true, 10);
        if (pst_guard_may_overtake(&guard, 2)) {
            pst_guard_overtook(&guard, 2, PST_S);
            spent++;
        }
    }
    assert_in_range(spent, 45, 51);
}

/* A starting replica counts, from when it will be ready: neither at once nor not at all. */
static void starting_capacity_counts_from_when_it_is_ready(void **state)
{
    static struct harness h;
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    static const struct {
        bool starting;
        uint32_t least, most;
    } rows[] = {{false, 38, 42}, {true, 55, 62}};

    (void)state;
    config.pools[0].slots = 4;
    config.classes[1].max_wait = 10 * PST_S;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_gate_class_view view;
        uint32_t t;

        harness_init(&h, &config);
        h.probes_fail = true;
        harness_replica(&h, 0, 0, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
        harness_time(&h, h.now + 5 * PST_S);
        h.probes_fail = false;
        harness_time(&h, h.now + 5 * PST_S); /* ready after some 5 s */
        for (t = 0; t < 40; t++) {
            struct pst_gate_event event;

            harness_offer(&h, t, PST_POOL_NONE, 1, 10);
            event = harness_arrival(&h, t, 1);
            harness_step(&h, &event);
            harness_time(&h, h.now + PST_S);
            harness_end(&h, t, PST_END_DONE);
        }
        h.probes_fail = true;
        if (rows[i].starting)
            harness_replica(&h, 1, 0, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
        h.count = 0;
        for (t = 100; h.finished[PST_OUTCOME_REFUSED] == 0; t++) {
            struct pst_gate_event event;

            harness_offer(&h, t, PST_POOL_NONE, 1, 10);
            event = harness_arrival(&h, t, 1);
            harness_step(&h, &event);
        }
        pst_gate_class_view(h.gate, 0, 1, h.now, &view);
        assert_in_range(view.queued[PST_LENGTH_SHORT], rows[i].least, rows[i].most);
        assert_true(view.predicted_wait <= 11 * PST_S);
        harness_done(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_per_byte_are_learned_per_flow),
        cmocka_unit_test(answers_are_learned_per_type_and_flow),
        cmocka_unit_test(slot_time_leans_on_the_parent),
        cmocka_unit_test(load_follows_what_arrives_and_runs),
        cmocka_unit_test(the_reservation_is_the_formula),
        cmocka_unit_test(the_guard_is_bounded_by_its_share),
        cmocka_unit_test(starting_capacity_counts_from_when_it_is_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
