/* test_drive.c - order, re-entrancy, time and ticket ids of the gate's one caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate_config.h"

#define SEEN_MAX 256

/* What was handed out, and what handlers do about it. */
struct world {
    struct pst_drive *drive;
    pst_ns now;
    struct pst_gate_action seen[SEEN_MAX];
    uint32_t seen_count;
    uint32_t depth, depth_max; /* handlers inside handlers */
    uint32_t settled;
    pst_ns deadline;
    bool arrives, ends; /* answer CONTINUE with ARRIVE, DISPATCH with END, inside the handler */
};

static void note(struct world *w, const struct pst_gate_action *action)
{
    assert_true(w->seen_count < SEEN_MAX);
    w->seen[w->seen_count++] = *action;
}

static void on_request(void *user, const struct pst_gate_action *action)
{
    struct world *w = user;

    w->depth++;
    w->depth_max = w->depth > w->depth_max ? w->depth : w->depth_max;
    note(w, action);
    if (action->kind == PST_ACTION_CONTINUE && w->arrives)
        send_arrive(w->drive, w->now, action->u.ticket.id, 0);
    if (action->kind == PST_ACTION_DISPATCH && w->ends)
        send_end(w->drive, w->now, action);
    w->depth--;
}

static void on_fleet(void *user, const struct pst_gate_action *action)
{
    struct world *w = user;

    note(w, action);
    if (action->kind == PST_ACTION_CHECK)
        send_probe(w->drive, w->now, action);
}

static void on_settled(void *user, pst_ns deadline)
{
    struct world *w = user;

    assert_int_equal(w->depth, 0);
    w->settled++;
    w->deadline = deadline;
}

static void world_begin(struct world *w, uint32_t tickets)
{
    struct pst_gate_config config = small_config(tickets);
    struct pst_drive_handlers handlers = {w, on_request, on_fleet, on_settled};

    *w = (struct world){.now = PST_S, .arrives = true};
    assert_int_equal(pst_drive_new(&config, &w->drive), PST_OK);
    pst_drive_handlers(w->drive, &handlers);
}

static struct pst_ticket_id ticket(struct world *w)
{
    struct pst_ticket_id id = {0, 0};

    assert_true(pst_drive_ticket(w->drive, &id));
    return id;
}

static uint32_t count(const struct world *w, enum pst_gate_action_kind kind)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->seen_count; i++)
        n += w->seen[i].kind == kind;
    return n;
}

static void handlers_causing_events_see_no_step_inside_a_step(void **state)
{
    struct world w;

    (void)state;
    world_begin(&w, 8);
    w.ends = true;
    send_replica(w.drive, w.now, PST_REPLICA_LOADING);
    for (int i = 0; i < 5; i++)
        send_offer(w.drive, w.now, ticket(&w));
    assert_int_equal(count(&w, PST_ACTION_CONTINUE), 5);
    assert_int_equal(count(&w, PST_ACTION_DISPATCH), 5);
    assert_int_equal(count(&w, PST_ACTION_FINISH), 5);
    assert_int_equal(w.depth_max, 1);
    pst_gate_verify(pst_drive_gate(w.drive));
    pst_drive_free(w.drive);
}

static void each_ticket_walks_in_order(void **state)
{
    static const enum pst_gate_action_kind walk[] = {PST_ACTION_CONTINUE, PST_ACTION_DISPATCH,
                                                     PST_ACTION_FINISH};
    struct world w;
    uint32_t step = 0;

    (void)state;
    world_begin(&w, 8);
    w.ends = true;
    send_replica(w.drive, w.now, PST_REPLICA_LOADING);
    w.seen_count = 0;
    send_offer(w.drive, w.now, ticket(&w));
    for (uint32_t i = 0; i < w.seen_count; i++)
        assert_int_equal(w.seen[i].kind, walk[step++]);
    assert_int_equal(step, 3);
    pst_drive_free(w.drive);
}

static void settled_comes_once_per_outermost_event(void **state)
{
    struct world w;
    uint32_t before;

    (void)state;
    world_begin(&w, 8);
    send_replica(w.drive, w.now, PST_REPLICA_LOADING);
    before = w.settled;
    send_offer(w.drive, w.now, ticket(&w)); /* causes ARRIVE inside */
    assert_int_equal(w.settled, before + 1);
    assert_true(w.deadline > w.now && w.deadline != PST_NEVER);
    pst_drive_free(w.drive);
}

static void events_wait_for_the_handlers(void **state)
{
    struct pst_gate_config config = small_config(8);
    struct world w = {.now = PST_S};
    struct pst_drive_handlers handlers = {&w, on_request, on_fleet, on_settled};

    (void)state;
    assert_int_equal(pst_drive_new(&config, &w.drive), PST_OK);
    send_replica(w.drive, w.now, PST_REPLICA_LOADING);
    assert_int_equal(w.seen_count, 0);
    pst_drive_handlers(w.drive, &handlers);
    assert_true(count(&w, PST_ACTION_CHECK) >= 1);
    pst_drive_free(w.drive);
}

static void time_never_goes_back(void **state)
{
    struct world w;

    (void)state;
    world_begin(&w, 8);
    send_replica(w.drive, 10 * PST_S, PST_REPLICA_LOADING);
    send_offer(w.drive, 9 * PST_S, ticket(&w)); /* the gate asserts that now does not fall */
    assert_int_equal(count(&w, PST_ACTION_CONTINUE), 1);
    pst_drive_free(w.drive);
}

static void ids_are_given_back_by_finish_with_another_generation(void **state)
{
    struct pst_ticket_id first, second, other;
    struct world w;

    (void)state;
    world_begin(&w, 2);
    w.arrives = false;
    first = ticket(&w);
    second = ticket(&w);
    assert_int_not_equal(first.index, second.index);
    assert_false(pst_drive_ticket(w.drive, &other));
    send_offer(w.drive, w.now, first);
    send_cancel(w.drive, w.now, first);
    assert_int_equal(count(&w, PST_ACTION_FINISH), 1);
    other = ticket(&w);
    assert_int_equal(other.index, first.index);
    assert_int_not_equal(other.generation, first.generation);
    assert_false(pst_drive_ticket(w.drive, &second));
    pst_drive_free(w.drive);
}

static void the_inbox_grows_as_it_must(void **state)
{
    struct pst_gate_config config = small_config(512);
    struct world w = {.now = PST_S};
    struct pst_drive_handlers handlers = {&w, on_request, on_fleet, on_settled};

    (void)state;
    assert_int_equal(pst_drive_new(&config, &w.drive), PST_OK);
    for (int i = 0; i < 200; i++)
        send_offer(w.drive, w.now, ticket(&w)); /* none is stepped yet */
    pst_drive_handlers(w.drive, &handlers);
    assert_int_equal(count(&w, PST_ACTION_CONTINUE), 200);
    for (uint32_t i = 0; i < 200; i++)
        assert_int_equal(w.seen[i].u.ticket.id.index, i); /* in the order given */
    pst_drive_free(w.drive);
}

static void a_reconfiguration_hands_out_what_it_allows(void **state)
{
    struct pst_gate_config config = small_config(8);
    struct world w;

    (void)state;
    world_begin(&w, 8);
    send_replica(w.drive, w.now, PST_REPLICA_LOADING);
    for (int i = 0; i < 4; i++)
        send_offer(w.drive, w.now, ticket(&w));
    assert_int_equal(count(&w, PST_ACTION_DISPATCH), 2); /* two slots */
    config.pools[0].slots = 4;
    assert_int_equal(pst_drive_reconfigure(w.drive, &config), PST_OK);
    assert_int_equal(count(&w, PST_ACTION_DISPATCH), 4);
    config.classes_count = 1;
    assert_int_equal(pst_drive_reconfigure(w.drive, &config), PST_E_INVALID);
    send_offer(w.drive, w.now, ticket(&w)); /* and it goes on */
    pst_drive_free(w.drive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_causing_events_see_no_step_inside_a_step),
        cmocka_unit_test(each_ticket_walks_in_order),
        cmocka_unit_test(settled_comes_once_per_outermost_event),
        cmocka_unit_test(events_wait_for_the_handlers),
        cmocka_unit_test(time_never_goes_back),
        cmocka_unit_test(ids_are_given_back_by_finish_with_another_generation),
        cmocka_unit_test(the_inbox_grows_as_it_must),
        cmocka_unit_test(a_reconfiguration_hands_out_what_it_allows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
