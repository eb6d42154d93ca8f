/* test_pilot.c - the peers' rules, look by look, against rows worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/pilot.h"

#define SLOTS 10

/* One look. Every pod has SLOTS slots; `load` is in flight, `queued` beside it, both since the last look. */
struct look {
    uint32_t at_s;
    uint32_t current, ready, unready;
    uint32_t load, queued, told;
    bool blind;
    uint32_t want;
};

struct flight {
    const char *promise;
    enum pst_scenario_pilot pilot;
    enum pst_scenario_actuator actuator;
    uint64_t target; /* 0: the default */
    uint32_t min, max;
    const struct look *looks;
    size_t count;
};

#define FLIGHT(promise, pilot, actuator, target, min, max, looks)                                  \
    {                                                                                              \
        promise, pilot, actuator, target, min, max, looks, PST_COUNT_OF(looks)                     \
    }

/* 200m where 100m is wanted doubles; 50m halves, after 300 s. */
static const struct look documented[] = {
    {0, 4, 4, 0, 4, 0, 0, false, 4},   {15, 4, 4, 0, 8, 0, 0, false, 8},
    {30, 8, 8, 0, 4, 0, 0, false, 8},  {45, 8, 8, 0, 4, 0, 0, false, 8},
    {300, 8, 8, 0, 4, 0, 0, false, 8}, /* 8 was advised at 15 */
    {315, 8, 8, 0, 4, 0, 0, false, 4},
};

/* 110 % and 90 % are within, 111 % and 89 % are not: 100 slots, 70 wanted of 100. */
static const struct look tolerance[] = {
    {0, 10, 10, 0, 77, 0, 0, false, 10},
    {300, 10, 10, 0, 63, 0, 0, false, 10},
    {315, 10, 10, 0, 78, 0, 0, false, 12}, /* 78 / 7 = 11.1 */
    {630, 10, 10, 0, 62, 0, 0, false, 9},  /* 62 / 7 = 8.9 */
};

/* The highest advice of 300 s wins, even above what is there; no advice of before the controller. */
static const struct look stabilisation[] = {
    {0, 6, 6, 0, 60, 0, 0, false, 6},   {15, 6, 6, 0, 50, 0, 0, false, 6},
    {30, 6, 6, 0, 90, 0, 0, false, 9},  {45, 9, 9, 0, 20, 0, 0, false, 9},
    {60, 9, 9, 0, 70, 0, 0, false, 9},  {315, 9, 9, 0, 20, 0, 0, false, 9},
    {330, 9, 9, 0, 20, 0, 0, false, 7}, {345, 7, 7, 0, 20, 0, 0, false, 7},
    {360, 7, 7, 0, 20, 0, 0, false, 2},
};

/* At most 4 more or twice as many at a look; max binds. */
static const struct look limits[] = {
    {0, 1, 1, 0, 500, 0, 0, false, 5},
    {15, 5, 5, 0, 500, 0, 0, false, 10},
    {30, 10, 10, 0, 500, 0, 0, false, 20},
    {45, 20, 20, 0, 500, 0, 0, false, 30},
};

/* Pods that load count as idle on the way up: 80 / (4 + 4) is at target, and 100 needs two more. */
static const struct look unready_up[] = {
    {0, 8, 4, 4, 80, 0, 0, false, 8},
    {15, 8, 4, 4, 100, 0, 0, false, 10},
    {30, 8, 4, 4, 60, 0, 0, false, 8}, /* 60 > 4 pods' worth, < 8: the direction turns */
};

/* … and as at target on the way down: 10 needs 1 of the 4 ready, and the 4 others stay. */
static const struct look unready_down[] = {
    {0, 8, 4, 4, 10, 0, 0, false, 8},
    {15, 8, 4, 4, 39, 0, 0, false, 8},
    {315, 8, 4, 4, 10, 0, 0, false, 5},
};

static const struct look nobody_ready[] = {{0, 3, 0, 3, 0, 90, 0, false, 3}};

/* Without metrics nothing changes and nothing is remembered. */
static const struct look blind[] = {
    {0, 4, 4, 0, 40, 0, 0, false, 4},
    {15, 4, 4, 0, 400, 0, 0, true, 4},
    {300, 4, 4, 0, 10, 0, 0, false, 1},
};

static const struct look queue[] = {
    {0, 2, 2, 0, 20, 20, 0, false, 4}, /* 20 queued, 5 each */
    {15, 4, 4, 0, 40, 22, 0, false, 4},
    {300, 4, 4, 0, 40, 0, 0, false, 4},
    {315, 4, 4, 0, 40, 0, 0, false, 1},
};

/* A number told as an external metric: its tolerance swallows 11 of 10, and counts pods that load. */
static const struct look external[] = {
    {0, 10, 10, 0, 0, 0, 11, false, 10},  {15, 10, 10, 0, 0, 0, 12, false, 12},
    {30, 12, 10, 2, 0, 0, 13, false, 12}, {45, 12, 12, 0, 0, 0, 3, false, 12},
    {60, 12, 12, 0, 0, 0, 4, true, 12},   {315, 12, 12, 0, 0, 0, 3, false, 12},
    {330, 12, 12, 0, 0, 0, 3, false, 3},
};

/* KEDA: asks every 30 s at none, takes the last away 300 s after there was anything to do. */
static const struct look keda[] = {
    {0, 0, 0, 0, 0, 0, 0, false, 0},   {15, 0, 0, 0, 0, 0, 2, false, 0},
    {30, 0, 0, 0, 0, 0, 2, false, 1},  {45, 1, 0, 1, 0, 0, 2, false, 2},
    {60, 2, 2, 0, 0, 0, 0, false, 2},  {330, 2, 2, 0, 0, 0, 0, false, 2},
    {345, 2, 2, 0, 0, 0, 0, false, 1}, {360, 1, 1, 0, 0, 0, 0, false, 0},
};

/* Knative: 7 of 10 slots are the target; 42 in 6 s are panic for 2 pods. */
static const struct look kpa_panic[] = {
    {0, 1, 1, 0, 0, 0, 0, false, 1},  {2, 1, 1, 0, 7, 0, 0, false, 1}, /* mean 7: one pod */
    {4, 1, 1, 0, 20, 0, 0, false, 2}, /* (7 + 20) / 2 = 13.5: 2 pods, twice what is ready: panic */
    {6, 2, 1, 1, 57, 0, 0, false, 4}, /* 84 / 3 = 28: 4 */
    {8, 4, 1, 3, 1, 0, 0, false, 4},  /* panic 78 / 3 = 26, stable 85 / 4 = 21.25: 4 stay */
    {10, 4, 4, 0, 0, 0, 0, false, 4}, /* 58 / 3 = 19.3: 3 of 4, below the threshold */
    {68, 4, 4, 0, 0, 0, 0, false, 4}, /* 60 s after 8 it still panics … */
    {70, 4, 4, 0, 0, 0, 0, false, 2}, /* … and a look later it does not: at most halved */
};

/* It begins in panic with what is there, until a stable window has passed. */
static const struct look kpa_begin[] = {
    {0, 4, 4, 0, 0, 0, 0, false, 4},
    {2, 4, 4, 0, 7, 0, 0, false, 4},
    {60, 4, 4, 0, 7, 0, 0, false, 4},
    {62, 4, 4, 0, 7, 0, 0, false, 2},
};

static const struct look kpa_blind[] = {
    {0, 1, 1, 0, 0, 0, 0, false, 1},
    {2, 1, 1, 0, 13, 0, 0, false, 2},
    {4, 2, 2, 0, 13, 0, 0, true, 2},  /* what was seen before still counts */
    {64, 2, 2, 0, 13, 0, 0, true, 2}, /* nothing in a window: held */
};

static const struct look apa_rows[] = {
    {0, 4, 4, 0, 20, 0, 0, false, 4},  /* 5 each: at target */
    {10, 4, 4, 0, 24, 0, 0, false, 4}, /* mean 5.5 is not above 1.1 x 5 */
    {20, 4, 4, 0, 24, 4, 0, false, 5}, /* (5 + 6 + 7) / 3 = 6: 4.8 pods */
    {30, 5, 4, 1, 28, 0, 0, false, 5}, /* mean 6.25: 6.25 pods, but one is idle still */
};

/* Twice at most, half at least, and the lowest advice of 300 s on the way in. */
static const struct look apa_rates[] = {
    {0, 2, 2, 0, 80, 0, 0, false, 4},
    {200, 4, 4, 0, 4, 0, 0, false, 2},
    {400, 8, 8, 0, 24, 0, 0, false, 2}, /* 3 each would need 5; 2 was advised at 200 */
    {700, 8, 8, 0, 24, 0, 0, false, 5},
};

static const struct look apa_blind[] = {
    {0, 2, 2, 0, 80, 0, 0, true, 2},
    {10, 2, 0, 2, 80, 0, 0, false, 2},
};

static const struct flight flights[] = {
    FLIGHT("hpa: the documented example", PST_PILOT_HPA_INFLIGHT, PST_ACTUATOR_DIRECT, 1000, 1, 20,
           documented),
    FLIGHT("hpa: ten per cent either way are nothing", PST_PILOT_HPA_OCCUPANCY, PST_ACTUATOR_DIRECT,
           0, 1, 20, tolerance),
    FLIGHT("hpa: the highest of 300 s on the way in", PST_PILOT_HPA_INFLIGHT, PST_ACTUATOR_DIRECT,
           10000, 1, 20, stabilisation),
    FLIGHT("hpa: four pods or twice as many", PST_PILOT_HPA_INFLIGHT, PST_ACTUATOR_DIRECT, 10000, 1,
           30, limits),
    FLIGHT("hpa: unready pods are idle on the way out", PST_PILOT_HPA_INFLIGHT, PST_ACTUATOR_DIRECT,
           10000, 1, 20, unready_up),
    FLIGHT("hpa: unready pods are at target on the way in", PST_PILOT_HPA_INFLIGHT,
           PST_ACTUATOR_DIRECT, 10000, 1, 20, unready_down),
    FLIGHT("hpa: no ready pod tells nothing", PST_PILOT_HPA_INFLIGHT, PST_ACTUATOR_DIRECT, 10000, 1,
           20, nobody_ready),
    FLIGHT("hpa: blind", PST_PILOT_HPA_INFLIGHT, PST_ACTUATOR_DIRECT, 10000, 1, 20, blind),
    FLIGHT("hpa: queue", PST_PILOT_HPA_QUEUE, PST_ACTUATOR_DIRECT, 0, 1, 20, queue),
    FLIGHT("hpa: behind a decision", PST_PILOT_AHEAD, PST_ACTUATOR_HPA, 0, 1, 20, external),
    FLIGHT("keda: from none and back", PST_PILOT_AHEAD, PST_ACTUATOR_KEDA, 0, 0, 20, keda),
    FLIGHT("kpa: panic", PST_PILOT_KPA, PST_ACTUATOR_DIRECT, 0, 1, 20, kpa_panic),
    FLIGHT("kpa: begins in panic", PST_PILOT_KPA, PST_ACTUATOR_DIRECT, 0, 1, 20, kpa_begin),
    FLIGHT("kpa: blind", PST_PILOT_KPA, PST_ACTUATOR_DIRECT, 0, 1, 20, kpa_blind),
    FLIGHT("apa: tolerances", PST_PILOT_APA, PST_ACTUATOR_DIRECT, 0, 1, 20, apa_rows),
    FLIGHT("apa: rates and cool-down", PST_PILOT_APA, PST_ACTUATOR_DIRECT, 0, 1, 20, apa_rates),
    FLIGHT("apa: blind", PST_PILOT_APA, PST_ACTUATOR_DIRECT, 0, 1, 20, apa_blind),
};

static void fly(const struct flight *flight)
{
    struct pst_scenario_policy policy = {.pilot = flight->pilot, .actuator = flight->actuator};
    struct pst_scaler_pool pool = {.min = flight->min, .max = flight->max, .slots = SLOTS};
    struct pst_sight sight = {0};
    struct pst_pilot *pilot = NULL;

    policy.target = flight->target;
    assert_int_equal(pst_pilot_new(&policy, &pool, &pilot), PST_OK);
    assert_true(pst_pilot_due(pilot) == 0);
    for (size_t i = 0; i < flight->count; i++) {
        const struct look *look = &flight->looks[i];
        pst_ns now = look->at_s * PST_S;
        uint32_t got;

        sight.inflight_ns += (uint64_t)(look->load + look->queued) * (now - sight.now);
        sight.now = now;
        sight.blind = look->blind;
        sight.current = look->current;
        sight.ready = look->ready;
        sight.unready = look->unready;
        sight.slots = look->ready * SLOTS;
        sight.inflight = look->load;
        sight.queued = look->queued;
        sight.told = look->told;
        got = pst_pilot_look(pilot, &sight);
        if (got != look->want)
            fail_msg("%s: at %u s: %u, expected %u", flight->promise, look->at_s, got, look->want);
        assert_true(pst_pilot_due(pilot) > now);
    }
    pst_pilot_free(pilot);
}

static void rules_fly_as_published(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(flights); i++)
        fly(&flights[i]);
}

static void a_look_is_due_at_each_interval(void **state)
{
    static const struct {
        enum pst_scenario_pilot pilot;
        pst_ns every;
    } rows[] = {
        {PST_PILOT_HPA_QUEUE, 15 * PST_S},
        {PST_PILOT_KPA, 2 * PST_S},
        {PST_PILOT_APA, 10 * PST_S},
    };
    struct pst_scaler_pool pool = {.min = 1, .max = 2, .slots = 1};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scenario_policy policy = {.pilot = rows[i].pilot};
        struct pst_sight sight = {.current = 1, .ready = 1, .slots = 1};
        struct pst_pilot *pilot;

        assert_int_equal(pst_pilot_new(&policy, &pool, &pilot), PST_OK);
        for (uint64_t n = 0; n < 3; n++) {
            assert_true(pst_pilot_due(pilot) == n * rows[i].every);
            sight.now = pst_pilot_due(pilot);
            pst_pilot_look(pilot, &sight);
        }
        pst_pilot_free(pilot);
    }
}

static void targets_follow_the_slots(void **state)
{
    struct pst_scaler_pool pool = {.min = 1, .max = 2, .slots = 4};
    uint64_t grid[16];

    (void)state;
    assert_true(pst_pilot_default(PST_PILOT_HPA_OCCUPANCY, &pool) == 700000);
    assert_true(pst_pilot_default(PST_PILOT_HPA_INFLIGHT, &pool) == 2800);
    assert_true(pst_pilot_default(PST_PILOT_HPA_QUEUE, &pool) == 5000);
    assert_true(pst_pilot_default(PST_PILOT_KPA, &pool) == 2800);
    assert_true(pst_pilot_default(PST_PILOT_APA, &pool) == 2000);
    assert_true(pst_pilot_default(PST_PILOT_AHEAD, &pool) == 0);
    assert_true(pst_pilot_grid(PST_PILOT_AHEAD, &pool, grid) == 0);
    assert_true(pst_pilot_grid(PST_PILOT_STATIC, &pool, grid) == 2 && grid[0] == 1 && grid[1] == 2);
    for (int pilot = PST_PILOT_HPA_OCCUPANCY; pilot < PST_PILOT_COUNT; pilot++) {
        uint32_t count = pst_pilot_grid((enum pst_scenario_pilot)pilot, &pool, grid);
        bool usual_is_in = false;

        assert_in_range(count, 6, 10);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(i == 0 || grid[i] > grid[i - 1]);
            usual_is_in |= grid[i] == pst_pilot_default((enum pst_scenario_pilot)pilot, &pool);
        }
        assert_true(usual_is_in);
    }
}

static void the_house_needs_no_pilot(void **state)
{
    struct pst_scenario_policy policy = {.pilot = PST_PILOT_AHEAD};
    struct pst_scaler_pool pool = {.min = 1, .max = 2, .slots = 4};
    struct pst_pilot *pilot;

    (void)state;
    assert_int_equal(pst_pilot_new(&policy, &pool, &pilot), PST_E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_fly_as_published),
        cmocka_unit_test(a_look_is_due_at_each_interval),
        cmocka_unit_test(targets_follow_the_slots),
        cmocka_unit_test(the_house_needs_no_pilot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
