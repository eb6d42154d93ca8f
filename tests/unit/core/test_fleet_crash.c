/* Crashes: what is one, who is a suspect, and one poisonous prompt beside 47 innocent ones. */
#include "fleet_world.h"

#define REQUEUE PST_VERDICT_REQUEUE
#define FAIL    PST_VERDICT_FAIL

/*
 * What is a crash, told by traces on replica 0, whose tickets are 0 .. 3:
 *   n          so many tickets are in flight; t: this one again
 *   r t        ticket t is reset; R: on a reused connection; c: refused; e: an error event; d: done
 *   f t        the first byte of ticket t
 *   p          a stream's event
 *   + ms       time passes, the probe unanswered
 *   x          a new connection (ticket 9) is refused
 *   L, F, O    the probe answers: loading, failed, ok
 *   C          the driver says that the process crashed
 */
static const struct row {
    const char *promise;
    const char *trace;
    bool crash;
} rows[] = {
    {"all in flight are reset", "3 r0 r1 r2", true},
    {"all within a second", "3 r0 +500 r1 +499 r2", true},
    {"not within a second", "3 r0 +1000 r1", false},
    {"one is left", "3 r0 r1", false},
    {"one alone is ambiguous", "1 r0", false},
    {"one lost twice is one", "1 R0 t0 r0", false},
    {"lost, a last answer, then refused itself", "1 R0 +1 O t0 c0", true},
    {"one alone, then refused", "1 r0 +100 x", true},
    {"refused, then the one alone", "2 x +100 r1 r0", true},
    {"one alone, refused too late", "1 r0 +1001 x", false},
    {"one alone, probe: loading", "1 r0 +10 L", true},
    {"one alone, probe: failed", "1 r0 +10 F", true},
    {"one alone, probe: ok", "1 r0 +10 O x", false},
    {"one alone, the driver says so", "1 r0 +900 C", true},
    {"reused connections may just have expired", "3 R0 R1 R2", false},
    {"reused connections, then refused", "3 R0 R1 R2 +10 x", true},
    {"error events alone may be the prompts' fault", "2 e0 e1", false},
    {"error events, then unhealthy", "2 e0 e1 +20 F", true},
    {"a byte in the same turn was under way", "2 r0 f1 r1", true},
    {"a byte later is a sign of life", "3 f1 r0 +60 p r1 r2", true},
    {"and the failures before it are forgiven", "2 f1 r0 +60 p r1", false},
    {"one ended well", "2 r0 +60 d1", false},
    {"streams count too", "3 f0 f1 r0 r1 r2", true},
    {"the driver says so, all in flight", "3 C", true},
};

static bool is_suspect(const struct world *w, uint32_t ticket)
{
    return w->tickets[ticket].crashes > 0;
}

static void play(struct world *w, const char *trace)
{
    while (*trace != '\0') {
        char step = *trace++;
        uint32_t number = 0;

        if (step == ' ')
            continue;
        if (step >= '0' && step <= '9') {
            for (uint32_t t = 0; t < (uint32_t)(step - '0'); t++)
                world_put(w, t, 0);
            continue;
        }
        while (*trace >= '0' && *trace <= '9')
            number = number * 10 + (uint32_t)(*trace++ - '0');
        if (step == 't')
            pst_fleet_take(w->fleet, number, &w->tickets[number], 0, 100 * PST_MS, w->now);
        else if (step == 'r')
            world_finish(w, number, PST_END_RESET);
        else if (step == 'R')
            world_finish(w, number, PST_END_RESET_REUSED);
        else if (step == 'c')
            world_finish(w, number, PST_END_REFUSED);
        else if (step == 'e')
            world_finish(w, number, PST_END_ERROR_EVENT);
        else if (step == 'd')
            world_finish(w, number, PST_END_DONE);
        else if (step == 'f')
            world_first(w, number);
        else if (step == 'p')
            world_progress(w, 0);
        else if (step == '+')
            world_pass(w, number * PST_MS);
        else if (step == 'L')
            world_answer(w, 0, PST_PROBE_LOADING);
        else if (step == 'F')
            world_answer(w, 0, PST_PROBE_FAILED);
        else if (step == 'O')
            world_answer(w, 0, PST_PROBE_OK);
        else if (step == 'C')
            world_replica(w, 0, PST_REPLICA_LOADING, PST_CAUSE_CRASH);
        else if (step == 'x') {
            world_put(w, 9, 0);
            world_finish(w, 9, PST_END_REFUSED);
        } else {
            fail_msg("no such step: %c", step);
        }
    }
}

static void what_is_a_crash(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct world w;
        uint32_t victims = 0;

        print_message("%s: %s\n", rows[i].promise, rows[i].trace);
        world_init(&w);
        world_start(&w);
        world_up(&w, 2);
        world_pass(&w, PST_MS);
        play(&w, rows[i].trace);
        for (uint32_t t = 0; t < 4; t++)
            victims += is_suspect(&w, t);
        assert_int_equal(victims > 0, rows[i].crash);
        assert_false(is_suspect(&w, 9)); /* it never reached the engine */
        if (rows[i].crash)
            assert_int_equal(w.state[0], PST_REPLICA_LOADING);
        world_end(&w);
    }
}

/* Until it is known, the ticket goes nowhere; then at once, or after a second at most. */
static void a_failed_ticket_is_held(void **state)
{
    static const struct {
        const char *then;
        pst_ns held; /* after it */
    } waits[] = {
        {"", PST_S},
        {"+10 O", 0},
        {"+10 L", 0},
        {"+100 p", 0},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(waits); i++) {
        struct world w;

        world_init(&w);
        world_start(&w);
        world_up(&w, 2);
        play(&w, "1 r0");
        assert_int_equal(world_go(&w, 0), PST_REPLICA_ALL);
        play(&w, waits[i].then);
        if (waits[i].held > 0) {
            world_pass(&w, waits[i].held - 1);
            assert_int_equal(world_go(&w, 0), PST_REPLICA_ALL);
            world_pass(&w, 1);
        }
        assert_int_equal(world_go(&w, 0), 1);
        world_end(&w);
    }
}

/* A stale connection is tried again at once, but only where it was. */
static void a_stale_connection_is_not_held(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    play(&w, "2 R0");
    assert_int_equal(w.tickets[0].same_again, 1);
    assert_int_equal(world_go(&w, 0), 0);
    world_end(&w);
}

/* A crash is outside the budget and is no try. */
static void a_crash_costs_nothing(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].slots = 3;
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t n = 0; n < 5; n++) {
        for (uint32_t t = 0; t < 3; t++) {
            assert_true(world_admit(&w, t, 100 + 10 * n + t));
            pst_fleet_take(w.fleet, t, &w.tickets[t], 0, PST_MS, w.now);
        }
        for (uint32_t t = 0; t < 3; t++)
            assert_int_equal(world_finish(&w, t, PST_END_RESET), REQUEUE);
        for (uint32_t t = 0; t < 3; t++) {
            assert_int_equal(w.tickets[t].crashes, 1);
            assert_int_equal(w.tickets[t].tries, 0);
        }
        world_live(&w, 10 * PST_S, 3, PST_PROBE_OK, PST_PROBE_OK);
    }
    world_end(&w);
}

/* Two die at once, and their failures come mixed: more than the budget holds, and none of them is lost. */
static void two_crashes_cost_nothing_either(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.config.pools[0].slots = 4; /* the budget's floor */
    world_start(&w);
    world_up(&w, 3);
    for (uint32_t t = 0; t < 8; t++)
        world_put(&w, t, (uint16_t)(t % 2));
    for (uint32_t t = 0; t < 8; t++)
        assert_int_equal(world_finish(&w, t, PST_END_RESET), PST_VERDICT_REQUEUE);
    world_pass(&w, 2 * PST_S);
    for (uint32_t t = 0; t < 8; t++) {
        assert_false(w.evicted[t]);
        assert_int_equal(w.tickets[t].crashes, 1);
        assert_int_equal(w.tickets[t].tries, 0);
    }
    world_end(&w);
}

/* Whoever was told twice of one crash (the sockets, then the driver) counts it once. */
static void a_crash_counts_once(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    play(&w, "3 r0 r1 r2 +10 C");
    for (uint32_t t = 0; t < 3; t++)
        assert_int_equal(w.tickets[t].crashes, 1);
    world_end(&w);
}

/* A suspect lost again, even on a reused connection: nobody may follow it until it is known why. */
static void a_suspect_lost_again_stops_its_replica(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    play(&w, "2 r0 r1"); /* replica 0 crashed: 0 and 1 are suspects */
    assert_int_equal(world_go(&w, 0), 1);
    assert_int_equal(world_go(&w, 1), PST_REPLICA_ALL); /* not two together */
    assert_int_equal(world_finish(&w, 0, PST_END_RESET_REUSED), REQUEUE);
    assert_int_equal(world_go(&w, 1), PST_REPLICA_ALL); /* and not into its grave */
    world_pass(&w, PST_S);
    assert_int_equal(world_go(&w, 1), 1); /* it showed no other sign of death */
    world_end(&w);
}

/* A crash counts once for a body, however many tickets carried it. */
static void a_body_counts_once(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    for (uint32_t t = 0; t < 3; t++) {
        assert_true(world_admit(&w, t, 77));
        pst_fleet_take(w.fleet, t, &w.tickets[t], 0, PST_MS, w.now);
    }
    play(&w, "r0 r1 r2");
    assert_true(world_admit(&w, 9, 77));
    assert_int_equal(w.tickets[9].crashes, 1);
    world_end(&w);
}

/* While it may have crashed, nothing new is sent there to be blamed; after a crash, one at first. */
static void doubt_and_caution(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 1);
    play(&w, "1 r0");
    assert_true(world_admit(&w, 8, 8));
    assert_int_equal(world_go(&w, 8), PST_REPLICA_ALL);
    play(&w, "+5 O");
    assert_int_equal(world_go(&w, 8), 0);
    world_first(&w, 8);
    assert_int_equal(world_view(&w, 0).slots, 12);

    play(&w, "C");
    world_live(&w, PST_S, 1, PST_PROBE_OK, PST_PROBE_OK);
    assert_int_equal(w.state[0], PST_REPLICA_READY);
    assert_int_equal(world_view(&w, 0).slots, 1);
    world_end(&w);
}

/* Suspects of one crash: one at a time on a replica until its first byte. */
static void suspects_go_one_at_a_time(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 3);
    play(&w, "4 r0 r1 r2 r3");
    assert_int_equal(world_go(&w, 0), 1);
    assert_int_equal(world_go(&w, 1), 2);
    assert_int_equal(world_go(&w, 2), PST_REPLICA_ALL);
    assert_true(world_admit(&w, 20, 20));
    assert_int_not_equal(world_go(&w, 20), PST_REPLICA_ALL); /* innocents pass */
    world_first(&w, 0);
    assert_int_equal(world_go(&w, 2), 1);
    assert_int_equal(world_go(&w, 3), PST_REPLICA_ALL);
    world_finish(&w, 1, PST_END_DONE);
    assert_int_equal(world_go(&w, 3), 2);
    world_end(&w);
}

/* Bodies are remembered for 10 minutes; one that was answered whole is forgotten. */
static void bodies_are_remembered(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    play(&w, "3 r0 r1 r2"); /* bodies 1000 .. 1002 */
    assert_true(world_admit(&w, 50, 1000));
    assert_int_equal(w.tickets[50].crashes, 1);
    assert_int_equal(world_go(&w, 1), 1);
    world_first(&w, 1);
    world_finish(&w, 1, PST_END_DONE);
    assert_true(world_admit(&w, 51, 1001));
    assert_int_equal(w.tickets[51].crashes, 0);
    world_pass(&w, 599 * PST_S);
    assert_true(world_admit(&w, 52, 1002));
    assert_int_equal(w.tickets[52].crashes, 1);
    world_pass(&w, PST_S);
    assert_true(world_admit(&w, 52, 1002));
    assert_int_equal(w.tickets[52].crashes, 0);
    world_end(&w);
}

/*
 * 48 tickets over 4 replicas, ticket `poison` among them. A replica that gets the poisonous one dies:
 * all on it are reset, in an order that rotates with `turn`; then it loads for 2 s. Innocents answer
 * after 200 ms. Everything that is requeued is placed again as soon as the fleet allows it, at the first
 * chance after each single event, as the gate does.
 */
struct outbreak {
    struct world w;
    uint32_t poison;
    uint32_t deaths;
    enum { OUT_QUEUED, OUT_RUNNING, OUT_DONE, OUT_FAILED } where[48];
    pst_ns answers_at[48];
    pst_ns loads_until[4];
};

static void place_all(struct outbreak *o)
{
    for (uint32_t t = 0; t < 48; t++) {
        if (o->w.evicted[t]) {
            o->w.evicted[t] = false;
            o->where[t] = o->w.verdict[t] == FAIL ? OUT_FAILED : OUT_QUEUED;
        }
    }
    for (uint32_t t = 0; t < 48; t++) {
        uint16_t replica;

        if (o->where[t] != OUT_QUEUED)
            continue;
        replica = world_go(&o->w, t);
        if (replica == PST_REPLICA_ALL)
            continue;
        if (o->w.now < o->loads_until[replica]) { /* nobody listens there */
            assert_int_equal(world_finish(&o->w, t, PST_END_REFUSED), REQUEUE);
            continue;
        }
        o->where[t] = OUT_RUNNING;
        o->answers_at[t] = o->w.now + 200 * PST_MS;
    }
}

static void die(struct outbreak *o, uint32_t turn)
{
    uint16_t replica = o->w.tickets[o->poison].replica;
    uint32_t on_it[48], count = 0;

    o->deaths++;
    o->loads_until[replica] = o->w.now + 2 * PST_S;
    for (uint32_t t = 0; t < 48; t++) {
        if (o->where[t] == OUT_RUNNING && o->w.tickets[t].replica == replica)
            on_it[count++] = t;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t t = on_it[(i + turn) % count];

        o->where[t] = world_finish(&o->w, t, PST_END_RESET) == FAIL ? OUT_FAILED : OUT_QUEUED;
        place_all(o);
    }
}

static void outbreak(uint32_t poison, uint32_t turn)
{
    struct outbreak *o = test_calloc(1, sizeof *o);

    o->poison = poison;
    world_init(&o->w);
    world_start(&o->w);
    world_up(&o->w, 4);
    for (uint32_t t = 0; t < 48; t++)
        assert_true(world_admit(&o->w, t, 1000 + t));
    place_all(o);
    for (uint32_t t = 0; t < 48; t++)
        assert_int_equal(o->where[t], OUT_RUNNING);

    for (uint32_t tick = 0; tick < 1000; tick++) {
        bool runs = o->where[poison] == OUT_RUNNING;
        uint32_t loading = 0;

        if (runs && o->w.tickets[poison].first_seen == 0 &&
            o->w.now + 150 * PST_MS >= o->answers_at[poison])
            die(o, turn);
        for (uint32_t t = 0; t < 48; t++) {
            if (t == poison || o->where[t] != OUT_RUNNING || o->w.now < o->answers_at[t])
                continue;
            world_first(&o->w, t);
            assert_int_equal(world_finish(&o->w, t, PST_END_DONE), PST_VERDICT_DONE);
            o->where[t] = OUT_DONE;
        }
        place_all(o);
        for (uint32_t r = 0; r < 4; r++)
            loading |= (uint32_t)(o->w.now < o->loads_until[r]) << r;
        world_live(&o->w, 0, loading, PST_PROBE_LOADING, PST_PROBE_LOADING);
        world_live(&o->w, 10 * PST_MS, 15u & ~loading, PST_PROBE_OK, PST_PROBE_OK);
        place_all(o);
    }
    for (uint32_t t = 0; t < 48; t++)
        assert_int_equal(o->where[t], t == poison ? OUT_FAILED : OUT_DONE);
    assert_int_equal(o->w.reason[poison], PST_REASON_REPLICA_DIED);
    assert_int_equal(o->deaths, 2);
    assert_false(world_admit(&o->w, 100, 1000 + poison)); /* the client's own retry */
    assert_int_equal(world_capacity(&o->w).inflight, 0);
    world_end(&o->w);
    test_free(o);
}

static void one_poisonous_prompt_beside_47(void **state)
{
    (void)state;
    for (uint32_t poison = 0; poison < 48; poison += 5) {
        for (uint32_t turn = 0; turn < 12; turn++)
            outbreak(poison, turn);
    }
}

/* A ticket that was requeued and is finished otherwise is not evicted later. */
static void a_finished_ticket_is_forgotten(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    world_start(&w);
    world_up(&w, 2);
    play(&w, "3 r0 r1 r2");
    world_go(&w, 0);
    world_put(&w, 5, 1);
    world_finish(&w, 0, PST_END_RESET);
    pst_fleet_forget(w.fleet, 0, &w.tickets[0]); /* its client left while it was held */
    world_finish(&w, 5, PST_END_RESET);
    assert_int_equal(w.tickets[5].crashes, 1);
    assert_false(w.evicted[0]);
    assert_false(world_admit(&w, 60, 1000)); /* its body counts all the same */
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_a_crash),
        cmocka_unit_test(a_failed_ticket_is_held),
        cmocka_unit_test(a_stale_connection_is_not_held),
        cmocka_unit_test(a_crash_costs_nothing),
        cmocka_unit_test(two_crashes_cost_nothing_either),
        cmocka_unit_test(a_crash_counts_once),
        cmocka_unit_test(a_suspect_lost_again_stops_its_replica),
        cmocka_unit_test(a_body_counts_once),
        cmocka_unit_test(doubt_and_caution),
        cmocka_unit_test(suspects_go_one_at_a_time),
        cmocka_unit_test(bodies_are_remembered),
        cmocka_unit_test(one_poisonous_prompt_beside_47),
        cmocka_unit_test(a_finished_ticket_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
