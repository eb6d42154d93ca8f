/* The order of events: by time, and within one instant as they were caused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/prng.h"
#include "sim/event_heap.h"

#define EVENTS 20000

static void least_time_first_then_the_order_of_pushing(void **state)
{
    struct pst_event_heap heap = {0};
    struct pst_event last = {0}, event;
    struct pst_prng prng;

    (void)state;
    pst_prng_init(&prng, 1);
    for (uint32_t i = 0; i < EVENTS; i++)
        assert_int_equal(
            pst_event_heap_push(&heap, pst_prng_below(&prng, 50), (uint8_t)(i & 0xff), i, ~i),
            PST_OK);
    for (uint32_t i = 0; i < EVENTS; i++) {
        assert_true(pst_event_heap_due(&heap) == heap.events[0].at);
        pst_event_heap_pop(&heap, &event);
        assert_int_equal(event.serial, ~event.subject);
        assert_int_equal(pst_event_kind(&event), event.subject & 0xff);
        if (i > 0)
            assert_true(event.at > last.at ||
                        (event.at == last.at && event.subject > last.subject));
        last = event;
    }
    assert_true(pst_event_heap_due(&heap) == PST_NEVER);
    pst_event_heap_done(&heap);
}

/* As in a run: each event causes later ones. Never back in time, nothing lost. */
static void pushes_between_pops_keep_the_order(void **state)
{
    struct pst_event_heap heap = {0};
    struct pst_event event;
    struct pst_prng prng;
    pst_ns now = 0;
    uint32_t popped = 0;

    (void)state;
    pst_prng_init(&prng, 2);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(pst_event_heap_push(&heap, 0, 0, i, 0), PST_OK);
    for (; popped < EVENTS; popped++) {
        pst_event_heap_pop(&heap, &event);
        assert_true(event.at >= now);
        now = event.at;
        assert_int_equal(
            pst_event_heap_push(&heap, now + pst_prng_below(&prng, 1000), 0, event.subject, 0),
            PST_OK);
    }
    assert_int_equal(heap.count, 100);
    pst_event_heap_done(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_time_first_then_the_order_of_pushing),
        cmocka_unit_test(pushes_between_pops_keep_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
