/* Spans from what was seen to what came of it: where they begin, where they end, and which are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drive/reaction.h"

static const struct pst_ticket_id first = {3, 7}, second = {4, 7};

static void tick(struct pst_reaction *r, pst_ns now)
{
    const struct pst_scaler_event event = {.now = now, .kind = PST_SCALER_TICK};

    pst_reaction_scaler_event(r, &event);
}

static void decide(struct pst_reaction *r, pst_ns now)
{
    const struct pst_scaler_action action = {.kind = PST_SCALER_DECISION};

    pst_reaction_scaler_action(r, &action, now);
}

static struct pst_reaction over_since(pst_ns since)
{
    return (struct pst_reaction){.pools[0] = {.is_over = true, .waits = true, .since = since}};
}

static void test_decided(void **state)
{
    struct pst_reaction r = over_since(100);

    (void)state;
    decide(&r, 110); /* of a tick that had not seen it */
    assert_int_equal(r.decided.count, 0);
    tick(&r, 150);
    decide(&r, 151);
    decide(&r, 170);
    assert_int_equal(r.decided.count, 1);
    assert_int_equal(r.decided.longest, 51);
    assert_int_equal(r.gone, 0);
}

static void test_late_decision(void **state)
{
    struct pst_reaction r = over_since(100);

    (void)state;
    tick(&r, 150);
    r.pools[0].is_over = false; /* it was seen: a decision is still owed */
    tick(&r, 250);
    decide(&r, 260);
    assert_int_equal(r.decided.longest, 160);
}

static void test_gone_before_it_was_seen(void **state)
{
    struct pst_reaction r = over_since(100);

    (void)state;
    r.pools[0].is_over = false;
    tick(&r, 150);
    decide(&r, 150);
    assert_int_equal(r.decided.count, 0);
    assert_int_equal(r.gone, 1);
}

static void promote(struct pst_reaction *r, uint16_t replica, pst_ns now)
{
    struct pst_gate_event event = {.now = now, .kind = PST_EVENT_PROMOTE};

    event.u.promote.replica = replica;
    pst_reaction_gate_event(r, &event);
}

static void dispatch(struct pst_reaction *r, uint16_t replica, struct pst_ticket_id id)
{
    struct pst_gate_action action = {.kind = PST_ACTION_DISPATCH};

    action.u.dispatch.id = id;
    action.u.dispatch.attempt = 1;
    action.u.dispatch.replica = replica;
    pst_reaction_gate_action(r, &action);
}

static void first_token(struct pst_reaction *r, struct pst_ticket_id id, pst_ns now)
{
    struct pst_gate_event event = {.now = now, .kind = PST_EVENT_FIRST};

    event.u.first.id = id;
    event.u.first.attempt = 1;
    pst_reaction_gate_event(r, &event);
}

static void test_promoted(void **state)
{
    struct pst_reaction r = {0};

    (void)state;
    dispatch(&r, 1, second); /* before it was promoted, and to another */
    promote(&r, 2, 1000);
    dispatch(&r, 1, second);
    dispatch(&r, 2, first);
    first_token(&r, second, 1100);
    assert_int_equal(r.promoted.count, 0);
    first_token(&r, first, 1300);
    first_token(&r, first, 1400);
    assert_int_equal(r.promoted.count, 1);
    assert_int_equal(r.promoted.longest, 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decided),
        cmocka_unit_test(test_late_decision),
        cmocka_unit_test(test_gone_before_it_was_seen),
        cmocka_unit_test(test_promoted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
