/* One that fails fast is tried out, one ticket at a time: who pays for that, and who is spared. */
#include "fleet_world.h"

#define REQUEUE PST_VERDICT_REQUEUE
#define FAIL    PST_VERDICT_FAIL
#define DONE    PST_VERDICT_DONE

/*
 * A trial of a replica that has answered nothing since it failed is outside the budget, while another is
 * trusted. Here the budget is empty.
 */
static void a_trial_is_the_fleets_risk(void **state)
{
    static const struct {
        const char *promise;
        bool answered;         /* by the replica, since it failed */
        bool another_fails;    /* the only other one has failed, too */
        bool another_has_none; /* … has no slots */
        enum pst_verdict verdict;
    } trials[] = {
        {"another could have answered", false, false, false, REQUEUE},
        {"it was no trial: it answers", true, false, false, FAIL},
        {"the other failed, too", false, true, false, FAIL},
        {"the other may take nothing", false, false, true, FAIL},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(trials); i++) {
        struct world w;

        world_init(&w);
        w.config.pools[0].slots = 2; /* the floor */
        world_start(&w);
        world_up(&w, 2);
        print_message("%s\n", trials[i].promise);
        world_put(&w, 0, 0);
        world_put(&w, 1, 0);
        for (uint32_t t = 0; t < 2; t++)
            assert_int_equal(world_finish(&w, t, PST_END_ERROR_STATUS), REQUEUE);
        if (trials[i].another_fails) {
            world_put(&w, 2, 1);
            assert_int_equal(world_finish(&w, 2, PST_END_ERROR_STATUS), FAIL);
        }
        if (trials[i].another_has_none) {
            struct pst_gate_event event = {.now = w.now, .kind = PST_EVENT_SLOTS};

            event.u.slots.replica = 1;
            event.u.slots.source = PST_SLOTS_SHARED;
            event.u.slots.until = PST_NEVER;
            pst_fleet_slots(w.fleet, &event);
        }
        world_put(&w, 3, 0);
        if (trials[i].answered) {
            world_first(&w, 3);
            world_finish(&w, 3, PST_END_DONE);
            world_put(&w, 3, 0);
        }
        assert_int_equal(world_finish(&w, 3, PST_END_ERROR_STATUS), trials[i].verdict);
        world_end(&w);
    }
}

/* A ticket that failed is not what another replica is tried out with, while one is trusted. */
static void who_failed_waits_for_the_trusted(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].slots = 2;
    world_start(&w);
    world_up(&w, 3);
    for (uint16_t r = 0; r < 2; r++) { /* both have failed */
        world_put(&w, r, r);
        world_finish(&w, r, PST_END_ERROR_STATUS);
    }
    world_put(&w, 10, 2); /* the third is busy, and full */
    world_put(&w, 11, 2);
    assert_int_equal(world_go(&w, 0), PST_REPLICA_ALL);
    assert_true(world_admit(&w, 2, 2));
    assert_int_not_equal(world_go(&w, 2), PST_REPLICA_ALL); /* one that did not fail may */
    world_finish(&w, 10, PST_END_DONE);
    assert_int_equal(world_go(&w, 0), 2);
    world_finish(&w, 2, PST_END_ERROR_STATUS);
    world_finish(&w, 11, PST_END_ERROR_STATUS); /* now there is none that is trusted */
    assert_int_equal(world_go(&w, 1), 0);
    world_end(&w);
}

/*
 * One of two replicas resets all it is sent, and answers every probe of its health: so no reset is taken
 * for a crash, and each costs a retry. Its wave takes the whole floor; none of 20 tickets is lost.
 */
static void one_that_resets_all_loses_nothing(void **state)
{
    enum { TICKETS = 20, SLOTS = 4 };
    uint32_t sent_to_bad = 0, done = 0;
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].slots = SLOTS;
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 0; t < TICKETS; t++)
        assert_true(world_admit(&w, t, 100 + t));
    for (uint32_t turn = 0; turn < 200 && done < TICKETS; turn++) {
        for (uint32_t t = 0; t < TICKETS; t++) {
            if (w.tickets[t].serial != 0 && w.tickets[t].replica == PST_REPLICA_ALL)
                sent_to_bad += world_go(&w, t) == 0;
        }
        /* The oldest of either: a reset, and at once a good word; an answer. */
        for (uint16_t r = 0; r < 2; r++) {
            for (uint32_t t = 0; t < TICKETS; t++) {
                if (w.tickets[t].serial == 0 || w.tickets[t].replica != r)
                    continue;
                if (r == 1) {
                    world_first(&w, t);
                    assert_int_equal(world_finish(&w, t, PST_END_DONE), DONE);
                    pst_fleet_forget(w.fleet, t, &w.tickets[t]);
                    done++;
                } else {
                    assert_int_equal(world_finish(&w, t, PST_END_RESET), REQUEUE);
                }
                break;
            }
            world_live(&w, PST_MS, 3, PST_PROBE_OK, PST_PROBE_FAILED);
        }
    }
    for (uint32_t t = 0; t < TICKETS; t++)
        assert_false(w.evicted[t]);
    assert_int_equal(done, TICKETS);
    /* Its slots, and trials until it is suspect: the wave is the first failure of three. */
    assert_int_equal(sent_to_bad, SLOTS + w.config.pools[0].probe_fall - 1);
    assert_int_equal(w.state[0], PST_REPLICA_SUSPECT);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trial_is_the_fleets_risk),
        cmocka_unit_test(who_failed_waits_for_the_trusted),
        cmocka_unit_test(one_that_resets_all_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
