/* The rooms behind the scaler that are rules of their own: start times, floors, money, signals, retries. */
#include "core/backoff.h"
#include "core/cost.h"
#include "core/floors.h"
#include "core/formula.h"
#include "core/hold.h"
#include "core/signals.h"
#include "core/starts.h"
#include "scaler_world.h"

static void test_starts(void **state)
{
    struct pst_starts starts = {0};

    (void)state;
    assert_int_equal(pst_starts_p90(&starts, 100 * PST_S), 100 * PST_S);
    pst_starts_add(&starts, 7 * PST_S);
    assert_int_equal(pst_starts_p90(&starts, 100 * PST_S), 7 * PST_S);
    for (uint64_t i = 1; i <= 9; i++)
        pst_starts_add(&starts, (10 - i) * PST_S);           /* 7, and 9 … 1 */
    assert_int_equal(pst_starts_p90(&starts, 0), 8 * PST_S); /* the ninth of ten */
    for (uint64_t i = 0; i < PST_STARTS_KEPT; i++)
        pst_starts_add(&starts, 50 * PST_S);
    assert_int_equal(starts.count, PST_STARTS_KEPT);
    assert_int_equal(pst_starts_p90(&starts, 0), 50 * PST_S); /* the old ones are forgotten */
}

static void test_floors(void **state)
{
    struct pst_floors floors = {0};
    struct pst_floor_span cron = {100, 200, 5, PST_FLOOR_CRON};

    (void)state;
    pst_floors_set(&floors, &cron, 0);
    assert_int_equal(pst_floors_most(&floors, PST_FLOOR_CRON, 49, 50), 0);
    assert_int_equal(pst_floors_most(&floors, PST_FLOOR_CRON, 50, 50), 5);
    assert_int_equal(pst_floors_most(&floors, PST_FLOOR_PROFILE, 50, 50), 0);
    assert_int_equal(pst_floors_most(&floors, PST_FLOOR_CRON, 199, 0), 5);
    assert_int_equal(pst_floors_most(&floors, PST_FLOOR_CRON, 200, 0), 0);
    cron.replicas = 3; /* told again: it replaces itself */
    pst_floors_set(&floors, &cron, 0);
    assert_int_equal(pst_floors_most(&floors, PST_FLOOR_CRON, 150, 0), 3);
    assert_int_equal(floors.count, 1);
    for (uint32_t i = 0; i < 2 * PST_FLOORS_MAX; i++) {
        struct pst_floor_span later = {300 + i, 400 + i, i, PST_FLOOR_CRON};

        pst_floors_set(&floors, &later, 0);
    }
    assert_int_equal(floors.count, PST_FLOORS_MAX);
    assert_int_equal(pst_floors_most(&floors, PST_FLOOR_CRON, 370, 0), 2 * PST_FLOORS_MAX - 1);
    pst_floors_set(&floors, &cron, 1000); /* over */
    assert_int_equal(floors.count, 0);
    cron.from = cron.until; /* of no time at all */
    pst_floors_set(&floors, &cron, 0);
    assert_int_equal(floors.count, 0);
}

static void test_cost(void **state)
{
    struct pst_cost cost = {0};
    uint64_t dollar = 1000000;

    (void)state;
    pst_cost_tick(&cost, 0, 7200, 4); /* an hour begins */
    assert_int_equal(pst_cost_allows(&cost, 2 * dollar, 8 * dollar, 0, 0, 0), 4);
    assert_int_equal(pst_cost_allows(&cost, 2 * dollar, 0, 0, 0, 0), UINT32_MAX);
    assert_int_equal(pst_cost_allows(&cost, 0, 8 * dollar, 0, 0, 0), UINT32_MAX);
    /* Exactly at its budget for an hour: what is rounded stops nobody. */
    for (uint64_t s = 1; s < 3600; s++) {
        pst_cost_tick(&cost, s * PST_S, 7200 + s, 4);
        assert_int_equal(pst_cost_allows(&cost, 2 * dollar, 8 * dollar, 0, 60 * PST_S, 4), 4);
        /* Whoever runs not yet would run into the next hour: it does not pay for that. */
        assert_true(pst_cost_allows(&cost, 2 * dollar, 8 * dollar, 0, 60 * PST_S, 0) >= 4 ||
                    s > 3540);
    }
    pst_cost_tick(&cost, 3600 * PST_S, 10800, 4); /* another hour, the same day */
    assert_int_equal(cost.hour.replica_ns, 0);
    assert_int_equal(pst_cost_allows(&cost, 2 * dollar, 8 * dollar, 0, 0, 0), 4);
    assert_int_equal(cost.day.replica_ns, 4 * 3599 * PST_S + 4 * PST_S);
    /* Half an hour with one, and the rest may run with seven. */
    for (uint64_t s = 3601; s <= 5400; s++)
        pst_cost_tick(&cost, s * PST_S, 7200 + s, 1);
    assert_int_equal(pst_cost_allows(&cost, 2 * dollar, 8 * dollar, 0, 0, 0), 7);
    assert_int_equal(pst_cost_allows(&cost, 2 * dollar, 8 * dollar, 48 * dollar, 0, 0),
                     0); /* 39 left for 20.5 h */
    /* Half an hour passed unseen: of it, the quarter that lies in the new hour counts there. */
    pst_cost_tick(&cost, 6300 * PST_S, 13500, 1);
    pst_cost_tick(&cost, 8100 * PST_S, 15300, 2);
    assert_int_equal(cost.hour.replica_ns, 2 * 900 * PST_S);
}

static void test_signals(void **state)
{
    struct pst_signals signals = {0};
    uint32_t stale = 1u << PST_VETO_STALE, gpu = 1u << PST_VETO_GPU;

    (void)state;
    assert_int_equal(pst_signals_vetoes(&signals, 0, 0, 15, 100), 0);
    assert_int_equal(pst_signals_vetoes(&signals, 500000, 0, 15, 100), stale);
    pst_signals_tell(&signals, PST_SIGNAL_GPU, 500001, 5, 100);
    assert_int_equal(pst_signals_vetoes(&signals, 500000, 0, 15, 100), gpu);
    assert_int_equal(pst_signals_vetoes(&signals, 500000, 0, 15, 110), gpu);   /* 15 old */
    assert_int_equal(pst_signals_vetoes(&signals, 500000, 0, 15, 111), stale); /* 16 old */
    pst_signals_tell(&signals, PST_SIGNAL_GPU, 0, PST_NEVER, 111); /* missing: not zero */
    assert_int_equal(pst_signals_vetoes(&signals, 500000, 0, 15, 111), stale);
    assert_int_equal(pst_signals_age(&signals, PST_SIGNAL_GPU, 111), 16);
    /* A light that is awaited is green only while it is said to be. */
    assert_int_equal(pst_signals_vetoes(&signals, 0, 1u << PST_SIGNAL_ERRORS, 15, 111), stale);
    pst_signals_tell(&signals, PST_SIGNAL_ERRORS, 0, 0, 111);
    assert_int_equal(pst_signals_vetoes(&signals, 0, 1u << PST_SIGNAL_ERRORS, 15, 126), 0);
    assert_int_equal(pst_signals_vetoes(&signals, 0, 1u << PST_SIGNAL_ERRORS, 15, 127), stale);
    assert_int_equal(pst_signals_vetoes(&signals, 0, 0, 15, 127), 0); /* nobody asked */
    assert_int_equal(pst_signals_quota(&signals, 15, 100), UINT32_MAX);
    pst_signals_tell(&signals, PST_SIGNAL_QUOTA, 2, 0, 100);
    pst_signals_use_quota(&signals);
    assert_int_equal(pst_signals_quota(&signals, 15, 100), 1);
    assert_int_equal(pst_signals_quota(&signals, 15, 116), UINT32_MAX);
}

static void test_backoff(void **state)
{
    struct pst_backoff backoff = {0};
    pst_ns now = 1000 * PST_S, asked_at = 1;
    pst_ns waits[] = {5, 10, 20, 40, 80, 160, 300, 300};

    (void)state;
    assert_int_equal(pst_backoff_allows(&backoff, 0, now), UINT32_MAX);
    for (size_t i = 0; i < PST_COUNT_OF(waits); i++) {
        pst_backoff_failed(&backoff, asked_at, false, now);
        pst_backoff_failed(&backoff, asked_at, false, now); /* asked for together */
        assert_int_equal(pst_backoff_allows(&backoff, 0, now + waits[i] * PST_S - 1), 0);
        now += waits[i] * PST_S;
        assert_int_equal(pst_backoff_allows(&backoff, 0, now), 1);
        assert_int_equal(pst_backoff_allows(&backoff, 1, now), 0);
        asked_at = now++;
    }
    pst_backoff_created(&backoff); /* that alone is no success of a start that crashes */
    assert_int_equal(pst_backoff_allows(&backoff, 0, backoff.until), 1);
    pst_backoff_succeeded(&backoff);
    assert_int_equal(pst_backoff_allows(&backoff, 0, now), UINT32_MAX);
    pst_backoff_failed(&backoff, asked_at, true, now);
    pst_backoff_created(&backoff); /* but of one that could not be had */
    assert_int_equal(pst_backoff_allows(&backoff, 0, now), UINT32_MAX);
}

static void test_hold(void **state)
{
    struct pst_hold hold;
    pst_ns minute = 60 * PST_S, now = 0;

    (void)state;
    pst_hold_begin(&hold, now);
    assert_int_equal(pst_hold_most(&hold, 2, 8, minute, minute - 1), 8);
    assert_int_equal(pst_hold_most(&hold, 2, 8, minute, minute), 2);
    pst_hold_needs(&hold, 5, minute);
    assert_int_equal(pst_hold_most(&hold, 2, 8, minute, 2 * minute - 1), 5);
    assert_int_equal(pst_hold_most(&hold, 2, 8, minute, 2 * minute), 2);
    now = 3600 * PST_S;
    for (uint32_t i = 1; i <= PST_HOLD_DOUBLINGS + 2; i++) { /* taken back, again and again */
        pst_hold_lowered(&hold, now);
        pst_hold_raised(&hold, minute, now + minute);
        pst_hold_raised(&hold, minute, now + minute); /* once for each step down */
        now += minute;
        assert_int_equal(hold.doublings, i < PST_HOLD_DOUBLINGS ? i : PST_HOLD_DOUBLINGS);
    }
    pst_hold_lowered(&hold, now);
    pst_hold_raised(&hold, minute, now + minute + 1); /* too late: that is another need */
    pst_hold_needs(&hold, 8, now);
    assert_int_equal(pst_hold_most(&hold, 2, 8, minute, now + 16 * minute - 1), 8);
    assert_int_equal(pst_hold_most(&hold, 2, 8, minute, now + 16 * minute), 2);
    pst_hold_needs(&hold, 8, now + PST_HOLD_FORGET);
    assert_int_equal(pst_hold_most(&hold, 2, 8, minute, now + PST_HOLD_FORGET + 8 * minute), 2);
    assert_int_equal(hold.doublings, PST_HOLD_DOUBLINGS - 1);
}

static void test_formulas(void **state)
{
    static const struct {
        const char *name;
        enum pst_scaler_rule rule;
        uint64_t rate_milli;
        uint32_t high, low;
        pst_ns backlog;
        uint32_t before;
        bool step_is_due;
        uint32_t need;
    } rows[] = {
        {"qps: none", PST_RULE_QPS, 0, 0, 0, 0, 3, true, 0},
        {"qps: one is enough", PST_RULE_QPS, 5000, 0, 0, 0, 3, true, 1},
        {"qps: just more than one", PST_RULE_QPS, 5001, 0, 0, 0, 3, true, 2},
        {"depth: 10 x 2 by 5", PST_RULE_DEPTH, 0, 10, 0, 0, 1, true, 4},
        {"depth: the lower class counts less", PST_RULE_DEPTH, 0, 0, 10, 0, 0, true, 2},
        {"depth: within half a replica, as before", PST_RULE_DEPTH, 0, 9, 0, 0, 4, true, 4},
        {"depth: 22 is still 4", PST_RULE_DEPTH, 0, 11, 0, 0, 4, true, 4},
        {"depth: 23 is 5", PST_RULE_DEPTH, 0, 11, 1, 0, 4, true, 5},
        {"depth: 17 is 4 by rounding up", PST_RULE_DEPTH, 0, 8, 1, 0, 4, true, 4},
        {"depth: 15 is 3", PST_RULE_DEPTH, 0, 7, 1, 0, 4, true, 3},
        {"depth: empty", PST_RULE_DEPTH, 0, 0, 0, 0, 4, true, 0},
        {"backlog: at the bound", PST_RULE_BACKLOG, 0, 1, 0, 2 * PST_S, 3, true, 3},
        {"backlog: above it", PST_RULE_BACKLOG, 0, 1, 0, 2 * PST_S + 1, 3, true, 4},
        {"backlog: one each start time", PST_RULE_BACKLOG, 0, 1, 0, 9 * PST_S, 3, false, 3},
        {"backlog: between", PST_RULE_BACKLOG, 0, 1, 0, 500 * PST_MS, 3, true, 3},
        {"backlog: below", PST_RULE_BACKLOG, 0, 1, 0, 499 * PST_MS, 3, true, 2},
        {"backlog: nothing is ready", PST_RULE_BACKLOG, 0, 1, 0, PST_NEVER, 0, true, 1},
        {"backlog: nothing is there", PST_RULE_BACKLOG, 0, 0, 0, PST_NEVER, 1, true, 0},
        {"static", PST_RULE_STATIC, 99999, 99, 99, PST_NEVER, 7, true, 1},
    };
    struct pst_scaler_config config = world_config();

    (void)state;
    config.pools[0].qps_milli = 5000;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_demand_view view = {.rate_milli = rows[i].rate_milli,
                                       .queued = {rows[i].high, rows[i].low},
                                       .tickets = rows[i].high + rows[i].low > 0};
        struct pst_formula_sight sight = {&view, rows[i].backlog, rows[i].before,
                                          rows[i].step_is_due};
        enum pst_term term;
        uint32_t need;

        config.pools[0].rule = (uint8_t)rows[i].rule;
        need = pst_formula(&config, &config.pools[0], &sight, &term);
        if (need != rows[i].need)
            fail_msg("%s: %u instead of %u", rows[i].name, need, rows[i].need);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_starts),   cmocka_unit_test(test_floors),
        cmocka_unit_test(test_cost),     cmocka_unit_test(test_signals),
        cmocka_unit_test(test_backoff),  cmocka_unit_test(test_hold),
        cmocka_unit_test(test_formulas),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
