/* test_layout.c - every event, action and configuration comes back from its bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "drive/layout.h"
#include "gate_config.h"

static void events_come_back(void **state)
{
    (void)state;
    for (uint8_t kind = 0; kind < PST_EVENT_COUNT; kind++) {
        struct pst_gate_event event, back;
        uint8_t bytes[PST_LAYOUT_BYTES_MAX], again[PST_LAYOUT_BYTES_MAX];
        size_t len;

        memset(&event, 0xa5, sizeof event); /* padding too */
        event.kind = kind;
        len = pst_layout_event(&event, bytes);
        assert_true(len <= PST_LAYOUT_BYTES_MAX);
        assert_true(pst_layout_read_event(bytes, len, &back));
        assert_int_equal(back.now, event.now);
        assert_int_equal(back.flags, event.flags);
        assert_int_equal(pst_layout_event(&back, again), len);
        assert_memory_equal(bytes, again, len);
        assert_false(pst_layout_read_event(bytes, len - 1, &back));
        assert_string_not_equal(pst_layout_event_name(kind), "?");
    }
}

static void actions_come_back(void **state)
{
    (void)state;
    for (uint8_t kind = 0; kind < PST_ACTION_COUNT; kind++) {
        struct pst_gate_action action, back;
        uint8_t bytes[PST_LAYOUT_BYTES_MAX], again[PST_LAYOUT_BYTES_MAX];
        size_t len;

        memset(&action, 0x5a, sizeof action);
        action.kind = kind;
        len = pst_layout_action(&action, bytes);
        assert_true(len <= PST_LAYOUT_BYTES_MAX);
        assert_true(pst_layout_read_action(bytes, len, &back));
        assert_int_equal(pst_layout_action(&back, again), len);
        assert_memory_equal(bytes, again, len);
        assert_false(pst_layout_read_action(bytes, len + 1, &back));
    }
}

static void padding_does_not_reach_the_bytes(void **state)
{
    struct pst_gate_event zero, dirty;
    uint8_t a[PST_LAYOUT_BYTES_MAX], b[PST_LAYOUT_BYTES_MAX];
    size_t len;

    (void)state;
    memset(&zero, 0, sizeof zero);
    memset(&dirty, 0xff, sizeof dirty);
    zero.kind = dirty.kind = PST_EVENT_DRAIN;
    zero.flags = dirty.flags = 0;
    zero.now = dirty.now = 5;
    zero.u.drain.replica = dirty.u.drain.replica = 3;
    zero.u.drain.grace_until = dirty.u.drain.grace_until = 6;
    zero.u.drain.until = dirty.u.drain.until = 7;
    len = pst_layout_event(&zero, a);
    assert_int_equal(pst_layout_event(&dirty, b), len);
    assert_memory_equal(a, b, len);
}

static void configurations_come_back(void **state)
{
    struct pst_gate_config config = small_config(9), back;
    uint8_t bytes[PST_LAYOUT_CONFIG_MAX], again[PST_LAYOUT_CONFIG_MAX];
    size_t len = pst_layout_config(&config, bytes);

    (void)state;
    assert_true(pst_layout_read_config(bytes, len, &back));
    assert_int_equal(back.tickets_max, 9);
    assert_int_equal(back.classes[1].max_wait, 15 * PST_S);
    assert_int_equal(back.pools[0].fixed_promote_after, 15 * PST_S);
    assert_int_equal(pst_layout_config(&back, again), len);
    assert_memory_equal(bytes, again, len);
    assert_false(pst_layout_read_config(bytes, len - 1, &back));
}

static void strangers_bytes_are_refused(void **state)
{
    const uint8_t unknown[] = {PST_EVENT_COUNT, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    const uint8_t action[] = {PST_ACTION_COUNT};
    struct pst_gate_event event;
    struct pst_gate_action done;

    (void)state;
    assert_false(pst_layout_read_event(unknown, sizeof unknown, &event));
    assert_false(pst_layout_read_event(unknown, 0, &event));
    assert_false(pst_layout_read_action(action, sizeof action, &done));
    assert_false(pst_layout_read_action(action, 0, &done));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_come_back),
        cmocka_unit_test(actions_come_back),
        cmocka_unit_test(padding_does_not_reach_the_bytes),
        cmocka_unit_test(configurations_come_back),
        cmocka_unit_test(strangers_bytes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
