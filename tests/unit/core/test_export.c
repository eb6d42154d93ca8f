/* What an HPA makes of the exported value: its arithmetic, in doubles as it does it, for all small numbers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/export.h"

#define NUMBERS 300u

/*
 * replica_calculator.go, GetExternalPerPodMetricReplicas: the ratio to what the status counts. How it is
 * compared with the tolerance has changed with the releases, and at the edge the two may differ.
 */
static bool is_within(double ratio, double tolerance, bool older)
{
    if (older)
        return fabs(1.0 - ratio) <= tolerance;
    return 1.0 - tolerance <= ratio && ratio <= 1.0 + tolerance;
}

static uint32_t hpa(uint64_t value_milli, uint64_t target_milli, uint32_t existing,
                    double tolerance, bool older)
{
    double ratio = (double)value_milli / ((double)target_milli * (double)existing);

    if (is_within(ratio, tolerance, older))
        return existing;
    return (uint32_t)ceil((double)value_milli / (double)target_milli);
}

static struct pst_export_config config_of(enum pst_export_mode mode, enum pst_export_band band,
                                          uint32_t tolerance_ppm)
{
    return (struct pst_export_config){.mode = (uint8_t)mode,
                                      .band = (uint8_t)band,
                                      .tolerance_ppm = tolerance_ppm,
                                      .gateways = 1};
}

static uint64_t value_of(const struct pst_export_config *config,
                         const struct pst_export_input *input)
{
    uint64_t value = 0;

    assert_int_equal(pst_export_value(config, input, &value), PST_OK);
    assert_true(value <= PST_EXPORT_MAX * UINT64_C(1000));
    return value;
}

/* What the header promises of mode desired, for one pair. */
static void check_desired(const struct pst_export_config *config, uint32_t n, uint32_t number,
                          bool older)
{
    const struct pst_export_input input = {.known = true, .number = number, .existing = n};
    uint64_t tolerance = config->tolerance_ppm, value = value_of(config, &input);
    uint32_t asked = hpa(value, 1000, n, (double)tolerance / PST_PPM, older);
    bool is_inside = (uint64_t)number * PST_PPM <= n * (PST_PPM + tolerance) &&
                     (uint64_t)number * PST_PPM >= n * (PST_PPM - tolerance);
    bool holds = true;

    switch ((enum pst_export_band)config->band) {
    case PST_EXPORT_EXACT: /* where the tolerance is not 0 all the same, no worse than its band */
        holds = asked == number || (is_inside && asked == n);
        break;
    case PST_EXPORT_OVERSHOOT:
        holds = asked >= number && asked <= number + n * tolerance / PST_PPM + 1 &&
                (number <= n || asked > n) && (is_inside || asked == number);
        break;
    case PST_EXPORT_HOLD:
        holds = asked == (is_inside ? n : number);
        break;
    case PST_EXPORT_BAND_COUNT:
        break;
    }
    if (!holds)
        fail_msg("band %u, tolerance %u: %u of %u, value %llu: the HPA asks for %u", config->band,
                 config->tolerance_ppm, number, n, (unsigned long long)value, asked);
}

static void test_the_hpa_asks_for_what_was_decided(void **state)
{
    static const uint32_t tolerances[] = {0, 1, 10000, 50000, 100000, 333333, 500000, 1000000};

    (void)state;
    for (int band = 0; band < PST_EXPORT_BAND_COUNT; band++) {
        for (uint32_t t = 0; t < PST_COUNT_OF(tolerances); t++) {
            struct pst_export_config config =
                config_of(PST_EXPORT_DESIRED, (enum pst_export_band)band, tolerances[t]);

            for (uint32_t n = 1; n <= NUMBERS; n++)
                for (uint32_t number = 0; number <= NUMBERS; number++)
                    for (int older = 0; older < 2; older++)
                        check_desired(&config, n, number, older);
        }
    }
}

struct desired_row {
    const char *name;
    enum pst_export_band band;
    uint32_t existing, number;
    uint64_t value;
};

static void test_desired(void **state)
{
    static const struct desired_row rows[] = {
        {"the number itself", PST_EXPORT_EXACT, 4, 5, 5000},
        {"from none too", PST_EXPORT_OVERSHOOT, 0, 3, 3000},
        {"none", PST_EXPORT_OVERSHOOT, 3, 0, 0},
        {"at 9 one more is outside the band", PST_EXPORT_OVERSHOOT, 9, 10, 10000},
        {"at 10 it is not: two more", PST_EXPORT_OVERSHOOT, 10, 11, 12000},
        {"at 20 three more", PST_EXPORT_OVERSHOOT, 20, 21, 23000},
        {"at 10 one less by a value that is rounded up", PST_EXPORT_OVERSHOOT, 10, 9, 8999},
        {"at 19 too", PST_EXPORT_OVERSHOOT, 19, 18, 17099},
        {"at 20 it would be two less: waits", PST_EXPORT_OVERSHOOT, 20, 19, 20000},
        {"… for which there is a value", PST_EXPORT_OVERSHOOT, 20, 18, 17999},
        {"held inside the band", PST_EXPORT_HOLD, 10, 11, 10000},
        {"… in as well", PST_EXPORT_HOLD, 10, 9, 10000},
        {"… and not outside", PST_EXPORT_HOLD, 10, 12, 12000},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_export_config config = config_of(PST_EXPORT_DESIRED, rows[i].band, 100000);
        const struct pst_export_input input = {
            .known = true, .number = rows[i].number, .existing = rows[i].existing};
        uint64_t value = value_of(&config, &input);

        if (value != rows[i].value)
            fail_msg("%s: %llu", rows[i].name, (unsigned long long)value);
    }
}

struct mode_row {
    const char *name;
    enum pst_export_mode mode;
    uint32_t gateways;
    struct pst_export_input input;
    uint64_t value; /* before what is kept */
    uint32_t asked; /* by an HPA with a tolerance of 10 % */
};

#define OF_EXISTING(n) .known = true, .existing = (n), .classes_count = 3
#define QUEUED(...)    .queued = {__VA_ARGS__}, .weight = {3, 2, 1}
#define WAITS(...)     .p99_wait_ms = {__VA_ARGS__}, .target_ms = {100, 500, 10000}
#define NOTHING        UINT64_MAX

static void test_modes(void **state)
{
    static const struct mode_row rows[] = {
        {"a backlog at out_above keeps what there is",
         PST_EXPORT_BACKLOG_SECONDS,
         1,
         {OF_EXISTING(4), .backlog_ms = 2000, .out_above_ms = 2000},
         8000,
         4},
        {"twice of it doubles",
         PST_EXPORT_BACKLOG_SECONDS,
         1,
         {OF_EXISTING(4), .backlog_ms = 4000, .out_above_ms = 2000},
         16000,
         8},
        {"a backlog of no replicas is one of the first",
         PST_EXPORT_BACKLOG_SECONDS,
         1,
         {OF_EXISTING(0), .backlog_ms = 4000, .out_above_ms = 2000},
         4000,
         2},
        {"a backlog that never ends is the largest value",
         PST_EXPORT_BACKLOG_SECONDS,
         1,
         {OF_EXISTING(4), .backlog_ms = UINT64_MAX, .out_above_ms = 2000},
         PST_EXPORT_MAX * UINT64_C(1000),
         PST_EXPORT_MAX / 2},
        {"3/2/1, five a replica",
         PST_EXPORT_WEIGHTED_DEPTH,
         1,
         {OF_EXISTING(2), QUEUED(2, 3, 4)},
         16000,
         4},
        {"half a replica more is none",
         PST_EXPORT_WEIGHTED_DEPTH,
         1,
         {OF_EXISTING(2), QUEUED(4, 0, 0)},
         10000,
         2},
        {"13 of 10 is more than half a replica",
         PST_EXPORT_WEIGHTED_DEPTH,
         1,
         {OF_EXISTING(2), QUEUED(4, 0, 1)},
         13000,
         3},
        {"half a replica less is none",
         PST_EXPORT_WEIGHTED_DEPTH,
         1,
         {OF_EXISTING(2), QUEUED(0, 4, 0)},
         10000,
         2},
        {"7 of 10 is", PST_EXPORT_WEIGHTED_DEPTH, 1, {OF_EXISTING(2), QUEUED(0, 3, 1)}, 7000, 2},
        {"two gateways: the other queue is as long",
         PST_EXPORT_WEIGHTED_DEPTH,
         2,
         {OF_EXISTING(2), QUEUED(2, 3, 4)},
         32000,
         7},
        {"the worst class counts",
         PST_EXPORT_P99_WAIT,
         1,
         {OF_EXISTING(4), WAITS(100, 1000, 5000)},
         8000,
         8},
        {"at the target nothing changes",
         PST_EXPORT_P99_WAIT,
         1,
         {OF_EXISTING(4), WAITS(100, 500, NOTHING)},
         4000,
         4},
        {"rounded up: 501 of 500 ms",
         PST_EXPORT_P99_WAIT,
         1,
         {OF_EXISTING(1), WAITS(0, 501, 0)},
         1002,
         1},
        {"nothing waited", PST_EXPORT_P99_WAIT, 1, {OF_EXISTING(4), WAITS(NOTHING, NOTHING)}, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct mode_row *row = &rows[i];
        struct pst_export_config config = config_of(row->mode, PST_EXPORT_EXACT, 100000);
        struct pst_scaler_pool pool = {.out_above = 2 * PST_S};
        uint64_t target = pst_export_target(&config, &pool), value;
        struct pst_export_input input = row->input;

        config.gateways = row->gateways;
        value = value_of(&config, &input);
        if (value != row->value ||
            (input.existing > 0 && hpa(value, target, input.existing, 0.1, false) != row->asked))
            fail_msg("%s: %llu", row->name, (unsigned long long)value);
    }
}

/* No mode lets an HPA remove what the number, or a veto, keeps: nothing is queued, nothing waits. */
static void test_what_is_kept(void **state)
{
    (void)state;
    for (int mode = 0; mode < PST_EXPORT_MODE_COUNT; mode++) {
        for (int band = 0; band < PST_EXPORT_BAND_COUNT; band++) {
            struct pst_export_config config =
                config_of((enum pst_export_mode)mode, (enum pst_export_band)band, 100000);
            struct pst_scaler_pool pool = {.out_above = 7919 * PST_MS};
            uint64_t target = pst_export_target(&config, &pool);

            for (uint32_t n = 1; n <= NUMBERS; n++) {
                for (uint32_t number = 0; number <= NUMBERS; number += 1 + number / 16) {
                    struct pst_export_input input = {.known = true,
                                                     .number = number,
                                                     .existing = n,
                                                     .out_above_ms = 7919,
                                                     .classes_count = 3};
                    uint32_t kept = number < n ? number : n;

                    assert_true(hpa(value_of(&config, &input), target, n, 0.1, false) >= kept);
                    input.holds = true;
                    assert_true(hpa(value_of(&config, &input), target, n, 0.1, false) >= n);
                }
            }
        }
    }
    assert_true(pst_export_holds(1u << PST_VETO_INFLIGHT, 4, 4));
    assert_true(pst_export_holds(1u << PST_VETO_STALE, 4, 4));
    assert_true(pst_export_holds(1u << PST_VETO_HOLD, 5, 4));
    assert_false(pst_export_holds(1u << PST_VETO_HOLD, 3, 4)); /* one has drained */
    assert_false(pst_export_holds(1u << PST_VETO_QUOTA, 4, 4));
    assert_false(pst_export_holds(0, 4, 4));
}

/* B076: what is too large is clamped, and never wraps around; what is kept still is. */
static void test_extremes(void **state)
{
    const struct pst_scaler_pool never = {.out_above = PST_NEVER};

    (void)state;
    for (int mode = 0; mode < PST_EXPORT_MODE_COUNT; mode++) {
        struct pst_export_config config =
            config_of((enum pst_export_mode)mode, PST_EXPORT_OVERSHOOT, UINT32_MAX);
        struct pst_export_input input;
        uint64_t target;

        memset(&input, 0xff, sizeof input);
        input.known = input.tickets = input.holds = true;
        input.classes_count = PST_CLASSES_MAX;
        config.gateways = UINT32_MAX;
        value_of(&config, &input);
        input.number = UINT32_MAX;
        input.existing = 1;
        config.band = PST_EXPORT_EXACT;
        config.tolerance_ppm = 0;
        assert_true(value_of(&config, &input) > 0);
        memset(&input, 0, sizeof input);
        input.known = input.holds = true;
        input.classes_count = PST_CLASSES_MAX;
        input.out_above_ms = never.out_above / PST_MS;
        input.existing = PST_REPLICAS_MAX;
        target = pst_export_target(&config, &never);
        assert_true(target > 0);
        assert_int_equal(hpa(value_of(&config, &input), target, PST_REPLICAS_MAX, 0, false),
                         PST_REPLICAS_MAX);
        assert_true(pst_export_target(&config, &(struct pst_scaler_pool){0}) > 0);
    }
}

struct active_row {
    const char *name;
    struct pst_export_input input;
    int rc;
    bool active;
};

static void test_active(void **state)
{
    static const struct active_row rows[] = {
        {"nothing is known", {.known = false}, PST_E_UNKNOWN, false},
        {"nothing is there", {.known = true}, PST_OK, false},
        {"a ticket", {.known = true, .tickets = true}, PST_OK, true},
        {"a ticket is a fact before the number is known", {.tickets = true}, PST_OK, true},
        {"one loads", {.known = true, .existing = 1, .unfinished = 1}, PST_OK, true},
        {"one runs, and none is wanted", {.known = true, .existing = 1}, PST_OK, false},
        {"one runs, and is wanted", {.known = true, .existing = 1, .number = 1}, PST_OK, true},
        {"one runs, and that is all that is known", {.existing = 1}, PST_E_UNKNOWN, false},
        {"two run", {.known = true, .existing = 2}, PST_OK, true},
        {"a floor wants what nobody asked for yet", {.known = true, .number = 1}, PST_OK, true},
        {"min", {.min = 1}, PST_OK, true},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        bool active = false;

        if (pst_export_active(&rows[i].input, &active) != rows[i].rc || active != rows[i].active)
            fail_msg("%s", rows[i].name);
    }
}

static void test_unknown_is_no_value(void **state)
{
    (void)state;
    for (int mode = 0; mode < PST_EXPORT_MODE_COUNT; mode++) {
        struct pst_export_config config =
            config_of((enum pst_export_mode)mode, PST_EXPORT_EXACT, 0);
        const struct pst_export_input input = {.number = 3, .existing = 3, .tickets = true};
        uint64_t value = 7;

        assert_int_equal(pst_export_value(&config, &input, &value), PST_E_UNKNOWN);
        assert_int_equal(value, 7);
        assert_non_null(pst_export_mode_name((enum pst_export_mode)mode));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_hpa_asks_for_what_was_decided),
        cmocka_unit_test(test_desired),
        cmocka_unit_test(test_modes),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_active),
        cmocka_unit_test(test_unknown_is_no_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
