/* Floors are kept by source and times, withdrawn, and forgotten when they are over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/floors.h"

/* CRON unless said; a span is told at `at`, and then the largest is asked for `ahead`. */
static const struct row {
    const char *promise;
    struct pst_floor_span told[3];
    pst_ns at;
    pst_ns ahead;
    uint32_t most;
} rows[] = {
    {"nothing was told", {{0}}, 0, 100, 0},
    {"it holds", {{10, 20, 3, PST_FLOOR_CRON}}, 10, 0, 3},
    {"one look-ahead before", {{10, 20, 3, PST_FLOOR_CRON}}, 4, 6, 3},
    {"not earlier", {{10, 20, 3, PST_FLOOR_CRON}}, 4, 5, 0},
    {"until just before its end", {{10, 20, 3, PST_FLOOR_CRON}}, 19, 0, 3},
    {"not at its end", {{10, 20, 3, PST_FLOOR_CRON}}, 20, 0, 0},
    {"the largest", {{10, 20, 3, PST_FLOOR_CRON}, {12, 30, 5, PST_FLOOR_CRON}}, 12, 0, 5},
    {"told again", {{10, 20, 5, PST_FLOOR_CRON}, {10, 20, 2, PST_FLOOR_CRON}}, 12, 0, 2},
    {"another source is another", {{10, 20, 5, PST_FLOOR_PROFILE}}, 12, 0, 0},
    {"withdrawn", {{10, 20, 5, PST_FLOOR_CRON}, {10, 20, 0, PST_FLOOR_CRON}}, 12, 0, 0},
    {"withdrawn, the others stay",
     {{10, 20, 5, PST_FLOOR_CRON}, {11, 20, 4, PST_FLOOR_CRON}, {10, 20, 0, PST_FLOOR_CRON}},
     12,
     0,
     4},
    {"another source is not withdrawn",
     {{10, 20, 5, PST_FLOOR_CRON}, {10, 20, 0, PST_FLOOR_PROFILE}},
     12,
     0,
     5},
    {"an empty span is none", {{10, 10, 5, PST_FLOOR_CRON}}, 9, 10, 0},
};

static void floors_hold_as_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct pst_floors floors = {0};
        uint32_t most;

        for (size_t j = 0; j < PST_COUNT_OF(row->told); j++)
            pst_floors_set(&floors, &row->told[j], 0);
        most = pst_floors_most(&floors, PST_FLOOR_CRON, row->at, row->ahead);
        if (most != row->most)
            fail_msg("%s: %u", row->promise, most);
    }
}

static void a_full_table_gives_up_what_ends_first(void **state)
{
    struct pst_floors floors = {0};

    (void)state;
    for (uint32_t i = 0; i <= PST_FLOORS_MAX; i++) {
        const struct pst_floor_span span = {10, 100 + i, 1 + i, PST_FLOOR_CRON};

        pst_floors_set(&floors, &span, 0);
    }
    assert_int_equal(floors.count, PST_FLOORS_MAX);
    assert_int_equal(pst_floors_most(&floors, PST_FLOOR_CRON, 50, 0), PST_FLOORS_MAX + 1);
    for (uint32_t i = 0; i < floors.count; i++)
        assert_true(floors.spans[i].until > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floors_hold_as_told),
        cmocka_unit_test(a_full_table_gives_up_what_ends_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
