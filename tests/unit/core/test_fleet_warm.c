/* Replicas that are kept warm: asked how they are, sent nothing, and there at once when promoted. */
#include "fleet_world.h"
#include "harness.h"

#define R0 1u /* a set of replicas: this one */

enum act {
    LOADED,
    PROMOTE,
    AGAIN,
    FAILS,
    TIMES_OUT,
    REFUSES,
    CRASH,
    DRAIN,
    UNDRAIN,
    GONE,
    ACT_END
};

static void announce(struct world *w, bool warm, enum pst_cause cause)
{
    struct pst_gate_event event = {.now = w->now, .kind = PST_EVENT_REPLICA};

    event.u.replica.state = PST_REPLICA_LOADING;
    event.u.replica.warm = warm;
    event.u.replica.cause = (uint8_t)cause;
    pst_fleet_replica(w->fleet, &event);
    world_poll(w);
}

static void promote(struct world *w)
{
    struct pst_gate_event event = {.now = w->now, .kind = PST_EVENT_PROMOTE};

    pst_fleet_promote(w->fleet, &event);
    world_poll(w);
}

static void act(struct world *w, enum act what)
{
    switch (what) {
    case LOADED:
        world_live(w, 10 * PST_S, R0, PST_PROBE_OK, PST_PROBE_OK);
        break;
    case PROMOTE:
        promote(w);
        break;
    case AGAIN: /* told anew, and not that it is warm */
        announce(w, false, PST_CAUSE_CONFIG);
        break;
    case FAILS:
        world_live(w, 20 * PST_S, R0, PST_PROBE_FAILED, PST_PROBE_FAILED);
        break;
    case TIMES_OUT:
        world_live(w, 20 * PST_S, R0, PST_PROBE_TIMEOUT, PST_PROBE_TIMEOUT);
        break;
    case REFUSES:
        world_live(w, 10 * PST_S, R0, PST_PROBE_LOADING, PST_PROBE_LOADING);
        break;
    case CRASH:
        announce(w, false, PST_CAUSE_CRASH);
        break;
    case DRAIN:
        pst_fleet_drain(w->fleet, 0, w->now + 60 * PST_S, w->now);
        world_poll(w);
        break;
    case UNDRAIN:
        pst_fleet_undrain(w->fleet, 0, w->now);
        world_poll(w);
        break;
    case GONE:
        world_replica(w, 0, PST_REPLICA_GONE, PST_CAUSE_REMOVED);
        break;
    case ACT_END:
        break;
    }
}

static const struct walk {
    const char *promise;
    enum act acts[8];
    enum pst_replica_state state;
} walks[] = {
    {"not loaded yet", {ACT_END}, PST_REPLICA_LOADING},
    {"loaded: warm", {LOADED, ACT_END}, PST_REPLICA_WARM},
    {"promoted", {LOADED, PROMOTE, ACT_END}, PST_REPLICA_READY},
    {"promoted twice", {LOADED, PROMOTE, PROMOTE, ACT_END}, PST_REPLICA_READY},
    {"promoted before it is loaded", {PROMOTE, ACT_END}, PST_REPLICA_LOADING},
    {"… and then loaded", {PROMOTE, LOADED, ACT_END}, PST_REPLICA_READY},
    {"told anew: still warm", {LOADED, AGAIN, LOADED, ACT_END}, PST_REPLICA_WARM},
    {"promoted, then told anew", {LOADED, PROMOTE, AGAIN, LOADED, ACT_END}, PST_REPLICA_READY},
    {"its probes fail", {LOADED, FAILS, ACT_END}, PST_REPLICA_SUSPECT},
    {"… and are well again: warm", {LOADED, FAILS, LOADED, ACT_END}, PST_REPLICA_WARM},
    {"promoted as a suspect: not yet", {LOADED, FAILS, PROMOTE, ACT_END}, PST_REPLICA_SUSPECT},
    {"… then well", {LOADED, FAILS, PROMOTE, LOADED, ACT_END}, PST_REPLICA_READY},
    {"no half of a set protects it", {LOADED, TIMES_OUT, ACT_END}, PST_REPLICA_SUSPECT},
    {"its port refuses", {LOADED, REFUSES, ACT_END}, PST_REPLICA_LOADING},
    {"… and opens: warm", {LOADED, REFUSES, LOADED, ACT_END}, PST_REPLICA_WARM},
    {"it crashed", {LOADED, CRASH, ACT_END}, PST_REPLICA_LOADING},
    {"… and is loaded again: warm", {LOADED, CRASH, LOADED, ACT_END}, PST_REPLICA_WARM},
    {"it drains", {LOADED, DRAIN, ACT_END}, PST_REPLICA_DRAINING},
    {"… and is wanted again: warm", {LOADED, DRAIN, UNDRAIN, ACT_END}, PST_REPLICA_WARM},
    {"promoted while it drains", {LOADED, DRAIN, PROMOTE, ACT_END}, PST_REPLICA_DRAINING},
    {"… and wanted again", {LOADED, DRAIN, PROMOTE, UNDRAIN, ACT_END}, PST_REPLICA_READY},
    {"it loads while it drains", {DRAIN, LOADED, UNDRAIN, LOADED, ACT_END}, PST_REPLICA_WARM},
    {"gone", {LOADED, GONE, ACT_END}, PST_REPLICA_GONE},
    {"promoted when gone", {LOADED, GONE, PROMOTE, ACT_END}, PST_REPLICA_GONE},
    {"another comes, of the kind it says",
     {LOADED, GONE, AGAIN, LOADED, ACT_END},
     PST_REPLICA_READY},
};

/* With every row for a replica that must answer a completion, and for one whose health is enough. */
static void every_walk(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * PST_COUNT_OF(walks); i++) {
        const struct walk *walk = &walks[i / 2];
        uint32_t states[PST_REPLICA_STATE_COUNT];
        struct world w;

        world_init(&w);
        w.config.pools[0].ready_model = i % 2;
        world_start(&w);
        print_message("%s\n", walk->promise);
        announce(&w, true, PST_CAUSE_CONFIG);
        for (const enum act *a = walk->acts; *a != ACT_END; a++)
            act(&w, *a);
        assert_int_equal(w.state[0], walk->state); /* as told by STATE */
        pst_fleet_states(w.fleet, 0, states);
        assert_int_equal(states[walk->state], walk->state == PST_REPLICA_GONE ? 0 : 1);
        assert_true((world_capacity(&w).ready == 1) == (walk->state == PST_REPLICA_READY));
        assert_true(world_admit(&w, 0, 5));
        assert_int_equal(world_go(&w, 0), walk->state == PST_REPLICA_READY ? 0 : PST_REPLICA_ALL);
        world_end(&w);
    }
}

/* It is no capacity, not even one that starts, before it is promoted; its start is measured all the same. */
static void warm_is_no_capacity(void **state)
{
    struct pst_fleet_capacity capacity;
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    announce(&w, true, PST_CAUSE_CONFIG);
    assert_int_equal(world_capacity(&w).starting_slots, 0);
    act(&w, PROMOTE);
    assert_int_equal(world_capacity(&w).starting_slots, 12);
    act(&w, GONE);

    announce(&w, true, PST_CAUSE_CONFIG);
    world_live(&w, 30 * PST_S, R0, PST_PROBE_LOADING, PST_PROBE_LOADING);
    assert_int_equal(world_capacity(&w).starting_slots, 0);
    act(&w, LOADED);
    capacity = world_capacity(&w);
    assert_int_equal(capacity.ready + capacity.slots + capacity.free + capacity.starting_slots, 0);
    assert_int_equal(capacity.known, 1);

    world_replica(&w, 1, PST_REPLICA_LOADING, PST_CAUSE_CONFIG); /* by the start of the first */
    assert_in_range(world_capacity(&w).starting_ready_at, w.now + 25 * PST_S, w.now + 45 * PST_S);
    world_end(&w);
}

/* It is asked for its health as often as a ready one, and for no completion. */
static void warm_is_probed_as_ready(void **state)
{
    struct world w;
    uint32_t before;

    (void)state;
    world_init(&w);
    world_start(&w);
    announce(&w, true, PST_CAUSE_CONFIG);
    act(&w, LOADED);
    assert_int_equal(w.checks[0][PST_PROBE_MODEL], 1);
    before = w.checks[0][PST_PROBE_HEALTH];
    world_live(&w, 100 * PST_S, R0, PST_PROBE_OK, PST_PROBE_OK);
    assert_in_range(w.checks[0][PST_PROBE_HEALTH] - before, 16, 25); /* 5 s x [0.8, 1.2] */
    assert_int_equal(w.checks[0][PST_PROBE_MODEL], 1);
    act(&w, PROMOTE); /* with no other probe */
    assert_int_equal(w.state[0], PST_REPLICA_READY);
    assert_false(w.out[0]);
    world_end(&w);
}

/* Its slow start begins when it is promoted, however long it was warm. */
static void slow_start_from_promotion(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].slow_start = 12 * PST_S;
    world_start(&w);
    announce(&w, true, PST_CAUSE_CONFIG);
    world_live(&w, 60 * PST_S, R0, PST_PROBE_OK, PST_PROBE_OK);
    act(&w, PROMOTE);
    assert_int_equal(world_capacity(&w).slots, 1);
    world_live(&w, 6 * PST_S + PST_MS, R0, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(world_capacity(&w).slots, 6);
    world_live(&w, 7 * PST_S, R0, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(world_capacity(&w).slots, 12);
    world_end(&w);
}

/* A ready replica's time-outs are judged by the ready set: warm ones neither count nor make it larger. */
static void warm_is_not_of_the_ready_set(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    announce(&w, true, PST_CAUSE_CONFIG);
    act(&w, LOADED);
    for (uint16_t r = 1; r < 3; r++) {
        world_replica(&w, r, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
        world_live(&w, 0, 1u << r, PST_PROBE_OK, PST_PROBE_OK);
    }
    world_live(&w, 60 * PST_S, 7, PST_PROBE_TIMEOUT, PST_PROBE_TIMEOUT);
    assert_int_equal(w.state[0], PST_REPLICA_SUSPECT);
    assert_int_equal((w.state[1] == PST_REPLICA_SUSPECT) + (w.state[2] == PST_REPLICA_SUSPECT), 1);
    world_end(&w);
}

/* Who waits in the room of no replica runs at once: WAKE asks for it, PROMOTE answers. */
static void who_waits_runs_at_promotion(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    struct pst_gate_event event;
    struct pst_gate_action action;
    static struct harness h;
    bool woken = false;

    (void)state;
    harness_init(&h, &config);
    event = harness_event(PST_EVENT_REPLICA, h.now);
    event.u.replica.state = PST_REPLICA_LOADING;
    event.u.replica.warm = 1;
    harness_step(&h, &event);
    harness_time(&h, PST_S);
    harness_offer(&h, 0, 0, 0, 400);
    event = harness_arrival(&h, 0, 0);
    harness_step(&h, &event);
    while (harness_next(&h, &action)) {
        assert_int_not_equal(action.kind, PST_ACTION_DISPATCH);
        woken = woken || action.kind == PST_ACTION_WAKE;
    }
    assert_true(woken);

    h.now += PST_MS;
    event = harness_event(PST_EVENT_PROMOTE, h.now);
    harness_step(&h, &event);
    assert_true(harness_next(&h, &action));
    assert_int_equal(action.kind, PST_ACTION_DISPATCH);
    assert_int_equal(action.u.dispatch.replica, 0);
    harness_end(&h, 0, PST_END_DONE);
    harness_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_walk),
        cmocka_unit_test(warm_is_no_capacity),
        cmocka_unit_test(warm_is_probed_as_ready),
        cmocka_unit_test(slow_start_from_promotion),
        cmocka_unit_test(warm_is_not_of_the_ready_set),
        cmocka_unit_test(who_waits_runs_at_promotion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
