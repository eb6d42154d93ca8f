/*
 * test_demand_time.c - what a demand makes of time: silence, uneven ticks, the past; and of any numbers.
 */
#include "demand_river.h"

/* ---- time ---- */

static void silence_is_not_idleness(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;
    uint32_t before[PST_TERM_COUNT];
    const double slots[3] = {20, 15, 2};

    (void)state;
    river_open(&r, &config, 4);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    memcpy(before, r.terms, sizeof before);
    for (int s = 0; s < 2 * 3600; s++) {
        r.now += PST_S;
        pst_demand_tick(r.demand, r.now, r.supply.start, false);
    }
    ask(&r);
    assert_memory_equal(r.terms, before, sizeof before);
    r.now += PST_S; /* what came in two hours is told at once, and was no burst */
    for (int s = 0; s < 2 * 3600 + 1; s++)
        tell(&r, slots, 0);
    pst_demand_tick(r.demand, r.now, r.supply.start, true);
    run(&r, 60, 20, 15, 2);
    assert_memory_equal(r.terms, before, sizeof before);
    pst_demand_free(r.demand);
}

static void ticks_need_not_be_even(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;
    struct pst_demand_view view;
    const double slots[3] = {2, 1.5, 0.2}; /* of a tenth of a second, in slot-seconds */

    (void)state;
    river_open(&r, &config, 4);
    river_begin(&r);
    for (uint32_t i = 0; i < 6000; i++) {
        tell(&r, slots, 0);
        r.now += PST_S / 10;
        if (i % 10 == 8 || i % 30 == 21 || i % 30 == 1)
            pst_demand_tick(r.demand, r.now, r.supply.start, true);
    }
    run(&r, 10, 20, 15, 2);
    expect_term(&r, PST_TERM_NOW, 3, "now");
    expect_term(&r, PST_TERM_AHEAD, 3, "ahead");
    pst_demand_view(r.demand, &view);
    assert_true(view.rate_milli >= 369000 && view.rate_milli <= 371000);
    assert_true(view.inflight == 37 && view.tickets);
    pst_demand_free(r.demand);
}

/* ---- the past, and what it foretells ---- */

static void tell_history(struct river *r, uint8_t class_, double slots, uint32_t span_s)
{
    pst_demand_observe(r->demand, &(struct pst_scaler_event){
                                      .kind = PST_SCALER_HISTORY,
                                      .class_ = class_,
                                      .u.history = {.span = span_s * PST_S,
                                                    .work = pst_to_u64(slots * span_s * PST_S)},
                                  });
}

/* Bursts of 90 … 150 s, 10 minutes into each hour, for ten hours. */
static void tell_hours(struct river *r, uint32_t until_s)
{
    static const uint32_t lengths_s[] = {120, 90, 150, 130, 110, 140, 100, 120, 150, 90, 0};

    for (uint32_t at = 0; at < 10 * 3600 + until_s; at += 10) {
        uint32_t in = at % 3600, length_s = lengths_s[at / 3600];

        tell_history(r, 0, 20, 10);
        tell_history(r, 1, 15, 10);
        tell_history(r, 2, in >= 600 && in < 600 + length_s ? 82 : 2, 10);
    }
}

static void the_past_is_learned_from(void **state)
{
    static const struct {
        const char *name;
        pst_ns low_max_wait;
        uint32_t least, most;
    } rows[] = {
        {"low within 6 s", 6 * PST_S, 8, 9},
        {"low within a minute", 60 * PST_S, 6, 7},
        {"low within five", 300 * PST_S, 3, 5},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(rows[i].low_max_wait);
        uint32_t most = 0;
        struct river r;

        river_open(&r, &config, 4);
        tell_hours(&r, 300);
        river_begin(&r);
        run(&r, 100, 20, 15, 2); /* a burst in 200 s is not asked for yet */
        assert_true(most_of(&r) <= 4);
        for (uint32_t s = 0; s < 110; s++) {
            run(&r, 1, 20, 15, 2);
            most = r.terms[PST_TERM_AHEAD] > most ? r.terms[PST_TERM_AHEAD] : most;
            if (most > 4 && r.supply.starting == 0) { /* what is asked for is on its way */
                assert_true(s >= 84);                 /* to half a step, a start time ahead */
                r.supply.starting = most - 4;
                r.supply.starting_in = 100 * PST_S;
            }
            r.supply.starting_in -= r.supply.starting > 0 ? PST_S : 0;
        }
        if (most < rows[i].least || most > rows[i].most)
            fail_msg("%s: %u", rows[i].name, most);
        assert_true(r.terms[PST_TERM_NOW] <= 4);
        pst_demand_free(r.demand);
    }
}

/* A class of whose past nothing is told has no past; it was not idle. */
static void an_untold_past_is_not_idle(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;

    (void)state;
    river_open(&r, &config, 4);
    for (int s = 0; s < 3600; s += 10)
        tell_history(&r, 0, 20, 10);
    river_begin(&r);
    run(&r, 40, 20, 15, 2); /* were it zero, 15 slots of medium would be a burst */
    expect_term(&r, PST_TERM_NOW, 3, "now");
    pst_demand_free(r.demand);
}

/* ---- strangers' numbers ---- */

/* Whatever is told, in whatever order: an answer, and twice the same. */

static uint64_t any(struct pst_prng *prng)
{
    static const uint64_t numbers[] = {
        0, 1, PST_MS, PST_S, 100 * PST_S, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX,
    };

    return numbers[pst_prng_below(prng, PST_COUNT_OF(numbers))];
}

static struct pst_scaler_config any_config(struct pst_prng *prng)
{
    struct pst_scaler_config config = config_of(60 * PST_S);

    for (int c = 0; c < 3; c++) {
        config.classes[c].target = any(prng);
        config.classes[c].max_wait = any(prng);
        config.classes[c].sheds = any(prng) & 1;
    }
    config.pools[0].utilisation_ppm = (uint32_t)pst_min_u64(any(prng), PST_PPM);
    config.pools[0].out_above = any(prng);
    return config;
}

static struct pst_scaler_event any_event(struct pst_prng *prng)
{
    struct pst_scaler_event event = {.class_ = (uint8_t)pst_prng_below(prng, 3)};

    switch (pst_prng_below(prng, 4)) {
    case 0:
        event.kind = PST_SCALER_OBSERVE_POOL;
        event.u.observe_pool.served = (uint32_t)any(prng);
        event.u.observe_pool.service = any(prng);
        event.u.observe_pool.service_square = any(prng);
        event.u.observe_pool.slots = (uint32_t)any(prng);
        event.u.observe_pool.inflight = (uint32_t)any(prng);
        break;
    case 1:
        event.kind = PST_SCALER_HISTORY;
        event.u.history.span = pst_min_u64(any(prng), 3600 * PST_S);
        event.u.history.work = any(prng);
        break;
    default:
        event.kind = PST_SCALER_OBSERVE_CLASS;
        event.u.observe_class.arrived = (uint32_t)any(prng);
        event.u.observe_class.waited = (uint32_t)any(prng);
        event.u.observe_class.late = (uint32_t)any(prng);
        event.u.observe_class.arrived_work = any(prng);
        event.u.observe_class.refused_work = any(prng);
        event.u.observe_class.queued_work = any(prng);
        event.u.observe_class.queued = (uint32_t)any(prng);
    }
    return event;
}

struct answer {
    uint32_t terms[PST_TERM_COUNT], most;
    bool worth, bears;
};

static struct answer answer_of(struct pst_demand *demand, const struct pst_supply *supply,
                               uint32_t have)
{
    struct answer answer = {{0}, 0, false, false};

    pst_demand_terms(demand, supply, answer.terms, &answer.worth);
    answer.most = pst_demand_most(demand, supply, have, 160 * PST_S);
    answer.bears = pst_demand_bears(demand, have);
    for (int t = 0; t < PST_TERM_COUNT; t++)
        assert_true(answer.terms[t] <= UINT16_MAX);
    return answer;
}

static void any_story(struct pst_prng *prng)
{
    struct pst_scaler_config config = any_config(prng);
    struct pst_supply supply = {.slots = 14, .start = any(prng)};
    struct pst_demand *twins[2];
    pst_ns now = 0;

    for (int i = 0; i < 2; i++)
        assert_int_equal(pst_demand_new(&config, 0, &twins[i]), PST_OK);
    for (int step = 0; step < 300; step++) {
        struct pst_scaler_event event = any_event(prng);
        uint32_t have = (uint32_t)pst_prng_below(prng, 20);
        bool observed = pst_prng_below(prng, 4) > 0;
        struct answer a, b;

        now += pst_min_u64(any(prng), 100 * PST_S);
        supply.ready = (uint32_t)pst_prng_below(prng, 300);
        supply.starting = (uint32_t)pst_prng_below(prng, 300);
        supply.starting_in = any(prng);
        supply.starting_all = any(prng);
        for (int i = 0; i < 2; i++) {
            pst_demand_observe(twins[i], &event);
            if (step > 20) /* until then it is history that counts */
                pst_demand_tick(twins[i], now, supply.start, observed);
        }
        if (step <= 20)
            continue;
        a = answer_of(twins[0], &supply, have);
        b = answer_of(twins[1], &supply, have);
        assert_memory_equal(a.terms, b.terms, sizeof a.terms);
        assert_true(a.most == b.most && a.worth == b.worth && a.bears == b.bears);
    }
    for (int i = 0; i < 2; i++)
        pst_demand_free(twins[i]);
}

static void any_numbers_are_survived(void **state)
{
    struct pst_prng prng;

    (void)state;
    pst_prng_init(&prng, 11);
    for (int i = 0; i < 60; i++)
        any_story(&prng);
}

static void configurations_are_checked(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct pst_demand *demand = NULL;

    (void)state;
    assert_int_equal(pst_demand_new(&config, 1, &demand), PST_E_INVALID);
    config.pools[0].slots = 0;
    assert_int_equal(pst_demand_new(&config, 0, &demand), PST_E_INVALID);
    config = config_of(60 * PST_S);
    config.classes_count = 0;
    assert_int_equal(pst_demand_new(&config, 0, &demand), PST_E_INVALID);
    assert_null(demand);
    pst_demand_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silence_is_not_idleness),  cmocka_unit_test(ticks_need_not_be_even),
        cmocka_unit_test(the_past_is_learned_from), cmocka_unit_test(an_untold_past_is_not_idle),
        cmocka_unit_test(any_numbers_are_survived), cmocka_unit_test(configurations_are_checked),
    };

    pst_assert_hook = harness_assert_hook;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
