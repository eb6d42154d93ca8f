/* The failure table: every end, before and after the first byte, with budget and tries. */
#include "fleet_world.h"

enum when { BEFORE, AFTER, /* the first byte */ AGAIN /* the second time, before it */ };

#define REQUEUE PST_VERDICT_REQUEUE
#define FAIL    PST_VERDICT_FAIL
#define DONE    PST_VERDICT_DONE
#define NONE    PST_REASON_NONE
#define BROKEN  PST_REASON_BROKEN
#define READY   PST_REPLICA_READY
#define LOADING PST_REPLICA_LOADING

static const struct row {
    const char *promise;
    enum pst_end end;
    enum when when;
    enum pst_verdict verdict;
    enum pst_reason reason;
    enum pst_replica_state state; /* of the replica, after it */
    uint32_t slots;               /* with one other ticket in flight */
    bool spends;                  /* from the budget */
} rows[] = {
    {"an answer ends it", PST_END_DONE, BEFORE, DONE, NONE, READY, 12, false},
    {"an answer ends a stream", PST_END_DONE, AFTER, DONE, NONE, READY, 12, false},
    {"refused: loading, to the queue", PST_END_REFUSED, BEFORE, REQUEUE, NONE, LOADING, 1, false},
    {"refused again: still no try", PST_END_REFUSED, AGAIN, REQUEUE, NONE, LOADING, 1, false},
    {"loading: the same", PST_END_LOADING, BEFORE, REQUEUE, NONE, LOADING, 1, false},
    {"loading again: still no try", PST_END_LOADING, AGAIN, REQUEUE, NONE, LOADING, 1, false},
    {"stale connection: once more", PST_END_RESET_REUSED, BEFORE, REQUEUE, NONE, READY, 12, false},
    {"a fresh one too: a reset", PST_END_RESET_REUSED, AGAIN, REQUEUE, NONE, READY, 12, true},
    {"full: slots fall to in-flight", PST_END_FULL, BEFORE, REQUEUE, NONE, READY, 1, false},
    {"full again: still no try", PST_END_FULL, AGAIN, REQUEUE, NONE, READY, 1, false},
    {"500: once elsewhere", PST_END_ERROR_STATUS, BEFORE, REQUEUE, NONE, READY, 1, true},
    {"500 twice: passed on", PST_END_ERROR_STATUS, AGAIN, FAIL, PST_REASON_PASSED_ON, READY, 1,
     true},
    {"bad framing: once elsewhere", PST_END_BAD_FRAMING, BEFORE, REQUEUE, NONE, READY, 1, true},
    {"bad framing twice: nothing to pass", PST_END_BAD_FRAMING, AGAIN, FAIL,
     PST_REASON_UPSTREAM_RESET, READY, 1, true},
    {"reset: elsewhere", PST_END_RESET, BEFORE, REQUEUE, NONE, READY, 1, true},
    {"cut: elsewhere", PST_END_CUT, BEFORE, REQUEUE, NONE, READY, 1, true},
    {"error event: elsewhere", PST_END_ERROR_EVENT, BEFORE, REQUEUE, NONE, READY, 1, true},
    {"stall: elsewhere", PST_END_STALL, BEFORE, REQUEUE, NONE, READY, 1, true},
    {"reset in a stream: broken", PST_END_RESET, AFTER, FAIL, BROKEN, READY, 1, false},
    {"cut in a stream: broken", PST_END_CUT, AFTER, FAIL, BROKEN, READY, 1, false},
    {"error event in it: broken", PST_END_ERROR_EVENT, AFTER, FAIL, BROKEN, READY, 1, false},
    {"stall in it: broken", PST_END_STALL, AFTER, FAIL, BROKEN, READY, 1, false},
    {"bad framing in it: broken", PST_END_BAD_FRAMING, AFTER, FAIL, BROKEN, READY, 1, false},
};

/* Retries that the budget still allows: its floor is one replica's slots. */
static uint32_t budget_left(struct world *w)
{
    uint32_t left = 0;

    for (uint32_t t = 100; t < 200; t++) {
        world_put(w, t, 3);
        world_first(w, t); /* keeps the replica ready and trusted */
        assert_int_equal(world_finish(w, t, PST_END_DONE), DONE);
        world_put(w, t, 3);
        if (world_finish(w, t, PST_END_ERROR_STATUS) == FAIL)
            return left;
        left++;
    }
    return left;
}

static void every_row(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct world w;
        uint32_t floor;

        world_init(&w);
        world_start(&w);
        world_up(&w, 4);
        print_message("%s\n", row->promise);
        world_put(&w, 0, 0);
        world_put(&w, 1, 0); /* stays, so that no row looks like a crash */
        if (row->when == AFTER)
            world_first(&w, 0);
        if (row->when == AGAIN) {
            assert_int_equal(world_finish(&w, 0, row->end), REQUEUE);
            world_live(&w, 2 * PST_S, 1, PST_PROBE_OK, PST_PROBE_OK);
            pst_fleet_take(w.fleet, 0, &w.tickets[0], 0, PST_MS, w.now);
        }
        assert_int_equal(world_finish(&w, 0, row->end), row->verdict);
        assert_int_equal(w.reason[0], row->reason);
        assert_int_equal(w.state[0], row->state);
        assert_int_equal(w.tickets[0].same_again,
                         row->end == PST_END_RESET_REUSED && row->when == BEFORE);
        if (row->state == READY) /* it was no crash */
            world_live(&w, 0, 1, PST_PROBE_OK, PST_PROBE_OK);
        assert_int_equal(world_view(&w, 0).slots, row->slots);

        floor = w.config.pools[0].slots;
        assert_int_equal(budget_left(&w), row->spends ? floor - 1 : floor);
        world_end(&w);
    }
}

/* The verdict when it is known that it was no crash. */
static enum pst_verdict verdict_of(struct world *w, uint32_t ticket, enum pst_end end)
{
    world_finish(w, ticket, end);
    world_pass(w, PST_S + PST_MS);
    return w->verdict[ticket];
}

static void three_tries_then_the_reason(void **state)
{
    static const struct {
        enum pst_end end;
        enum pst_reason reason;
    } ends[] = {
        {PST_END_RESET, PST_REASON_UPSTREAM_RESET},
        {PST_END_CUT, PST_REASON_UPSTREAM_RESET},
        {PST_END_ERROR_EVENT, PST_REASON_UPSTREAM_RESET},
        {PST_END_STALL, PST_REASON_UPSTREAM_STALL},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(ends); i++) {
        struct world w;

        world_init(&w);
        world_start(&w);
        world_up(&w, 3);
        for (uint16_t r = 0; r < 3; r++)
            world_put(&w, 10 + r, r);
        assert_true(world_admit(&w, 0, 5));
        for (uint32_t attempt = 1; attempt <= 3; attempt++) {
            uint16_t before = w.tickets[0].last_replica;
            uint16_t replica = world_go(&w, 0);

            assert_int_not_equal(replica, PST_REPLICA_ALL);
            assert_int_not_equal(replica, before); /* elsewhere */
            assert_int_equal(verdict_of(&w, 0, ends[i].end), attempt < 3 ? REQUEUE : FAIL);
        }
        assert_int_equal(w.reason[0], ends[i].reason);
        world_end(&w);
    }
}

static void an_empty_budget_ends_it(void **state)
{
    static const struct {
        enum pst_end end;
        enum pst_reason reason;
    } ends[] = {
        {PST_END_RESET, PST_REASON_UPSTREAM_RESET},
        {PST_END_STALL, PST_REASON_UPSTREAM_STALL},
        {PST_END_ERROR_STATUS, PST_REASON_PASSED_ON},
    };
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].slots = 2; /* the floor */
    world_start(&w);
    world_up(&w, 4);
    for (uint32_t t = 0; t < 2; t++)
        world_put(&w, t, 3);
    for (uint32_t t = 0; t < 2; t++)
        assert_int_equal(world_finish(&w, t, PST_END_ERROR_STATUS), REQUEUE);
    for (size_t i = 0; i < PST_COUNT_OF(ends); i++) {
        world_put(&w, 10, 0);
        world_first(&w, 10); /* it answers: what fails next is no trial */
        world_finish(&w, 10, PST_END_DONE);
        world_put(&w, 10, 0); /* stays, so that no end looks like a crash */
        world_put(&w, 0, 0);
        assert_int_equal(verdict_of(&w, 0, ends[i].end), FAIL);
        assert_int_equal(w.reason[0], ends[i].reason);
        world_finish(&w, 10, PST_END_DONE);
    }
    /* Outside the budget it goes on. */
    world_put(&w, 0, 2);
    assert_int_equal(world_finish(&w, 0, PST_END_FULL), REQUEUE);
    /* A minute later there is budget again. */
    world_live(&w, 66 * PST_S, 15, PST_PROBE_OK, PST_PROBE_OK);
    world_put(&w, 0, 1);
    assert_int_equal(world_finish(&w, 0, PST_END_RESET), REQUEUE);
    world_end(&w);
}

static void a_single_replica_is_elsewhere_too(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 1);
    assert_true(world_admit(&w, 0, 5));
    assert_int_equal(world_go(&w, 0), 0);
    assert_int_equal(world_finish(&w, 0, PST_END_ERROR_STATUS), REQUEUE);
    assert_int_equal(world_go(&w, 0), 0);
    world_end(&w);
}

/* With an elsewhere that is full for the moment, it waits. */
static void elsewhere_is_waited_for(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].slots = 1;
    world_start(&w);
    world_up(&w, 2);
    world_put(&w, 0, 0);
    world_put(&w, 1, 1);
    assert_int_equal(world_finish(&w, 0, PST_END_ERROR_STATUS), REQUEUE);
    assert_int_equal(world_go(&w, 0), PST_REPLICA_ALL);
    assert_true(world_admit(&w, 2, 2));
    assert_int_equal(world_go(&w, 2), 0); /* another may go there */
    world_finish(&w, 1, PST_END_DONE);
    assert_int_equal(world_go(&w, 0), 1);
    world_end(&w);
}

/* A stream's stall, when no other stream of the replica moved either, is the replica's. */
static void a_stall_of_all_takes_the_replica(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 0; t < 3; t++)
        world_put(&w, t, 0);
    world_first(&w, 0);
    world_progress(&w, 0);
    w.now += 60 * PST_S; /* the driver's clock comes first */
    assert_int_equal(world_finish(&w, 0, PST_END_STALL), FAIL);
    assert_int_equal(w.state[0], PST_REPLICA_SUSPECT);
    assert_int_equal(w.verdict[1], REQUEUE);
    assert_int_equal(w.verdict[2], REQUEUE);
    assert_true(w.evicted[1] && w.evicted[2]);
    world_end(&w);
}

/* A client that does not read silences its stream: that says nothing of the replica. */
static void a_slow_client_is_no_stall(void **state)
{
    static const struct {
        uint16_t held_back; /* of two streams */
        bool suspect;
    } holds[] = {{2, false}, {1, true}, {0, true}};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(holds); i++) {
        struct world w;

        world_init(&w);
        world_start(&w);
        world_up(&w, 2);
        for (uint32_t t = 0; t < 2; t++) {
            world_put(&w, t, 0);
            world_first(&w, t);
        }
        world_progress(&w, 0);
        world_hold_back(&w, 0, holds[i].held_back);
        world_live(&w, 61 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
        assert_int_equal(w.state[0] == PST_REPLICA_SUSPECT || w.evicted[0], holds[i].suspect);
        if (!holds[i].suspect) { /* once they read on, the limit runs anew */
            world_hold_back(&w, 0, 1);
            world_live(&w, 59 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
            assert_false(w.evicted[0]);
            world_live(&w, 2 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
            assert_true(w.evicted[0] && w.evicted[1]);
        }
        world_end(&w);
    }
}

/* A replica that fails fast must not attract: one slot until a success, suspect after three in a row. */
static void failing_fast_attracts_nothing(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 0; t < 3; t++)
        world_put(&w, t, 0);
    world_finish(&w, 0, PST_END_ERROR_STATUS);
    assert_int_equal(world_view(&w, 0).slots, 1);
    world_finish(&w, 1, PST_END_ERROR_STATUS); /* of the same wave */
    world_finish(&w, 2, PST_END_ERROR_STATUS);
    assert_int_equal(w.state[0], READY);
    for (uint32_t t = 3; t < 5; t++) {
        world_put(&w, t, 0);
        assert_int_equal(w.state[0], READY);
        world_finish(&w, t, PST_END_ERROR_STATUS);
    }
    assert_int_equal(w.state[0], PST_REPLICA_SUSPECT);

    /* /health is fine all along; only the model's answer brings it back, to one slot. */
    world_live(&w, 20 * PST_S, 1, PST_PROBE_OK, PST_PROBE_FAILED);
    assert_int_equal(w.state[0], PST_REPLICA_SUSPECT);
    world_live(&w, 20 * PST_S, 1, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[0], READY);
    assert_int_equal(world_view(&w, 0).slots, 1);
    world_put(&w, 5, 0);
    world_first(&w, 5);
    assert_int_equal(world_view(&w, 0).slots, 12);
    world_end(&w);
}

/* B070: full is not unhealthy; the ticket runs on the replica that is free. */
static void b070_full_goes_elsewhere(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 10; t < 14; t++)
        world_put(&w, t, 0);
    world_put(&w, 0, 0);
    assert_int_equal(world_finish(&w, 0, PST_END_FULL), REQUEUE);
    assert_int_equal(world_view(&w, 0).slots, 4); /* what is in flight */
    assert_int_equal(w.state[0], READY);
    assert_int_equal(world_go(&w, 0), 1);

    /* One trial after 100 ms, then after 200; its answer lets the limit grow with every other. */
    world_pass(&w, 99 * PST_MS);
    assert_int_equal(world_view(&w, 0).slots, 4);
    world_pass(&w, PST_MS);
    assert_int_equal(world_view(&w, 0).slots, 5);
    world_put(&w, 1, 0);
    assert_int_equal(world_finish(&w, 1, PST_END_FULL), REQUEUE);
    world_pass(&w, 199 * PST_MS);
    assert_int_equal(world_view(&w, 0).slots, 4);
    world_pass(&w, PST_MS);
    world_put(&w, 2, 0);
    world_first(&w, 2);
    assert_int_equal(world_view(&w, 0).slots, 5);
    for (uint32_t t = 20; t < 30; t++) {
        world_put(&w, t, 0);
        world_first(&w, t);
        world_finish(&w, t, PST_END_DONE);
    }
    assert_int_equal(world_view(&w, 0).slots, 12);
    world_end(&w);
}

/* B062: a replica that stops listening before anybody says so costs no client an error. */
static void b062_refused_connections_go_elsewhere(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 0; t < 6; t++) {
        world_put(&w, t, 0);
    }
    for (uint32_t t = 0; t < 6; t++) {
        assert_int_equal(world_finish(&w, t, PST_END_REFUSED), REQUEUE);
        assert_int_equal(world_go(&w, t), 1);
    }
    assert_int_equal(w.state[0], LOADING);
    world_end(&w);
}

/*
 * B100: every replica refuses, for 60 s at 100 tickets a second: attempts stay <= 1.2 x tickets. Each
 * tick one ticket arrives, and the head of the queue is tried while a place is to be had.
 */
static void b100_refusals_do_not_multiply(void **state)
{
    static const struct {
        const char *name;
        enum pst_end end;
        uint8_t ready_model;
        enum pst_probe_result health;
    } kinds[] = {
        {"full", PST_END_FULL, 1, PST_PROBE_OK},
        {"loading, and the probe says so", PST_END_LOADING, 1, PST_PROBE_LOADING},
        {"loading, and every probe is well", PST_END_LOADING, 1, PST_PROBE_OK},
        {"refused, with a health probe alone that is well", PST_END_REFUSED, 0, PST_PROBE_OK},
        {"500", PST_END_ERROR_STATUS, 0, PST_PROBE_OK},
        {"reset", PST_END_RESET, 0, PST_PROBE_OK},
    };

    (void)state;
    for (size_t k = 0; k < PST_COUNT_OF(kinds); k++) {
        struct world w;
        uint32_t tickets = 0, attempts = 0, waiting = 0;

        world_init(&w);
        w.config.pools[0].slots = 128;
        w.config.pools[0].ready_model = kinds[k].ready_model;
        world_start(&w);
        world_up(&w, 4);
        for (uint32_t tick = 0; tick < 6000; tick++) {
            uint32_t places = 0;

            tickets++;
            waiting++;
            /* All places that are to be had are taken by what waits, and all are refused. */
            for (uint32_t t = 0; t < waiting && t < WORLD_TICKETS; t++) {
                assert_true(world_admit(&w, t, 0));
                if (world_go(&w, t) == PST_REPLICA_ALL)
                    break;
                places++;
            }
            for (uint32_t t = 0; t < places; t++) {
                attempts++;
                if (world_finish(&w, t, kinds[k].end) != REQUEUE)
                    waiting--;
            }
            world_live(&w, 10 * PST_MS, 15, kinds[k].health, PST_PROBE_OK);
        }
        print_message("%s: %u attempts, %u tickets\n", kinds[k].name, attempts, tickets);
        assert_true(attempts * 10 <= tickets * 12);
        assert_in_range(attempts, 4, 100); /* the trials of four replicas fade */
        world_end(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row),
        cmocka_unit_test(three_tries_then_the_reason),
        cmocka_unit_test(an_empty_budget_ends_it),
        cmocka_unit_test(a_single_replica_is_elsewhere_too),
        cmocka_unit_test(elsewhere_is_waited_for),
        cmocka_unit_test(a_stall_of_all_takes_the_replica),
        cmocka_unit_test(a_slow_client_is_no_stall),
        cmocka_unit_test(failing_fast_attracts_nothing),
        cmocka_unit_test(b070_full_goes_elsewhere),
        cmocka_unit_test(b062_refused_connections_go_elsewhere),
        cmocka_unit_test(b100_refusals_do_not_multiply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
