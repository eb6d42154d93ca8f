/*
 * Random events in any order, 60,000 of them per seed. After each the fleet's sums are right, nothing is
 * on a replica that is not ready, none has more than its slots, time alone comes to rest, and no ticket
 * is lost; the same seed gives the same actions.
 */
#include "core/prng.h"
#include "fleet_world.h"

#define STEPS 60000

enum { IDLE, QUEUED, RUNNING };

struct storm {
    struct world w;
    struct pst_prng prng;
    uint8_t where[WORLD_TICKETS];
    uint64_t trace; /* of all that the fleet decided */
    uint64_t started;
    uint64_t finished;
};

static uint32_t dice(struct storm *s, uint32_t sides)
{
    return (uint32_t)pst_prng_below(&s->prng, sides);
}

static void note(struct storm *s, uint64_t what)
{
    s->trace = (s->trace ^ what) * UINT64_C(0x100000001b3);
}

static void obey(struct storm *s, uint32_t t)
{
    note(s, t * 100 + (uint64_t)s->w.verdict[t] * 20 + (uint64_t)s->w.reason[t]);
    assert_int_equal(s->w.tickets[t].replica, PST_REPLICA_ALL);
    if (s->w.verdict[t] == PST_VERDICT_REQUEUE) {
        assert_int_equal(s->where[t], RUNNING);
        assert_int_equal(s->w.tickets[t].first_seen, 0); /* never twice after its first byte */
        s->where[t] = QUEUED;
        return;
    }
    assert_int_not_equal(s->where[t], IDLE);
    s->where[t] = IDLE;
    s->finished++;
    pst_fleet_forget(s->w.fleet, t, &s->w.tickets[t]);
}

static void take_evictions(struct storm *s)
{
    for (uint32_t t = 0; t < WORLD_TICKETS; t++) {
        if (!s->w.evicted[t])
            continue;
        s->w.evicted[t] = false;
        obey(s, t);
    }
}

static void dispatch(struct storm *s, uint32_t t)
{
    uint16_t replica = world_go(&s->w, t);
    struct pst_gate_replica_view view;

    note(s, replica);
    if (replica == PST_REPLICA_ALL)
        return;
    view = world_view(&s->w, replica);
    assert_int_equal(view.state, PST_REPLICA_READY);
    assert_true(view.inflight <= s->w.config.pools[0].slots);
    s->where[t] = RUNNING;
}

static void ticket_step(struct storm *s, uint32_t t)
{
    struct world *w = &s->w;

    switch (s->where[t]) {
    case IDLE:
        s->started++;
        if (world_admit(w, t, 1 + dice(s, 500))) {
            w->tickets[t].affinity = dice(s, 3);
            s->where[t] = QUEUED;
            dispatch(s, t);
        } else {
            s->finished++;
        }
        break;
    case QUEUED:
        if (dice(s, 20) > 0) {
            dispatch(s, t);
            break;
        }
        pst_fleet_forget(w->fleet, t, &w->tickets[t]);
        s->where[t] = IDLE;
        s->finished++;
        break;
    case RUNNING:
        if (dice(s, 3) == 0) {
            world_first(w, t);
        } else if (dice(s, 10) == 0) {
            pst_fleet_release(w->fleet, t, &w->tickets[t], dice(s, 2) == 0, w->now);
            pst_fleet_forget(w->fleet, t, &w->tickets[t]);
            s->where[t] = IDLE;
            s->finished++;
            world_poll(w);
        } else {
            world_finish(w, t, dice(s, 2) == 0 ? PST_END_DONE : dice(s, PST_END_COUNT));
            obey(s, t);
        }
        break;
    }
}

static void replica_step(struct storm *s, uint16_t r)
{
    static const enum pst_replica_state states[] = {PST_REPLICA_GONE, PST_REPLICA_STARTING,
                                                    PST_REPLICA_LOADING};
    struct pst_gate_event slots = {.kind = PST_EVENT_SLOTS, .now = s->w.now};

    switch (dice(s, 8)) {
    case 0:
        world_replica(&s->w, r, states[dice(s, 3)], dice(s, PST_CAUSE_COUNT));
        s->w.out[r] = false;
        break;
    case 1:
        pst_fleet_drain(s->w.fleet, r, s->w.now + dice(s, 3000) * PST_MS, s->w.now);
        break;
    case 2:
    case 3:
        pst_fleet_undrain(s->w.fleet, r, s->w.now);
        break;
    case 4:
        slots.u.slots.replica = r;
        slots.u.slots.source = PST_SLOTS_ENGINE;
        slots.u.slots.slots = dice(s, 20);
        slots.u.slots.until = s->w.now + dice(s, 5000) * PST_MS;
        pst_fleet_slots(s->w.fleet, &slots);
        break;
    default:
        world_progress(&s->w, r);
    }
    world_poll(&s->w);
}

static void come_to_rest(struct storm *s, pst_ns duration)
{
    struct world *w = &s->w;
    pst_ns end = w->now + duration;
    uint32_t turns = 0;

    while (pst_fleet_deadline(w->fleet) <= end) {
        if (pst_fleet_deadline(w->fleet) > w->now)
            w->now = pst_fleet_deadline(w->fleet);
        pst_fleet_time(w->fleet, w->now);
        world_poll(w);
        take_evictions(s);
        assert_true(++turns < 1000); /* no deadline that stays */
    }
    w->now = end;
}

static uint64_t storm(uint64_t seed)
{
    struct storm *s = test_calloc(1, sizeof *s);
    uint64_t trace;

    world_init(&s->w);
    s->w.config.seed = seed;
    s->w.config.pools[0].slow_start = seed % 2 * 3 * PST_S;
    s->w.config.pools[0].affinity = seed % 3 == 0;
    s->w.config.pools[0].ready_model = seed % 4 != 0;
    pst_prng_init(&s->prng, seed);
    world_start(&s->w);
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t what = dice(s, 100);
        uint16_t r = (uint16_t)dice(s, WORLD_REPLICAS);

        if (what < 80)
            ticket_step(s, dice(s, WORLD_TICKETS));
        else if (what < 82)
            replica_step(s, r);
        else if (what < 92 && s->w.out[r])
            world_answer(&s->w, r, dice(s, 3) > 0 ? PST_PROBE_OK : dice(s, PST_PROBE_RESULT_COUNT));
        else
            come_to_rest(s, dice(s, 400) * PST_MS);
        take_evictions(s);
        for (uint32_t t = 0; t < 4; t++)
            note(s, (uint64_t)s->w.state[t]);
    }

    for (uint32_t t = 0; t < WORLD_TICKETS; t++) {
        if (s->where[t] == RUNNING) {
            world_finish(&s->w, t, PST_END_DONE);
            obey(s, t);
        } else if (s->where[t] == QUEUED) {
            s->finished++;
        }
        take_evictions(s);
    }
    assert_int_equal(s->started, s->finished);
    for (uint16_t r = 0; r < WORLD_REPLICAS; r++)
        world_replica(&s->w, r, PST_REPLICA_GONE, PST_CAUSE_REMOVED);
    assert_int_equal(world_capacity(&s->w).known, 0);
    assert_int_equal(world_capacity(&s->w).inflight, 0);
    trace = s->trace;
    world_end(&s->w);
    test_free(s);
    return trace;
}

static void random_events(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        print_message("seed %lu\n", (unsigned long)seed);
        storm(seed);
    }
}

static void the_same_seed_gives_the_same_actions(void **state)
{
    (void)state;
    assert_true(storm(11) == storm(11));
    assert_true(storm(11) != storm(12));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events),
        cmocka_unit_test(the_same_seed_gives_the_same_actions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
