/*
 * test_capacity.c - gate and scaler together, with a fake clock: replicas that start, serve, drain and go.
 *
 * Script, by words: +N seconds, a tick in each; aN tickets arrive; end: what is in flight ends; hold: it
 * stays in flight, live: it ends within its second; crashR, goneR: a replica's process ends; quota: STARTs
 * are refused; !N: there are N ready replicas; ?N: N was said so far. What is said is a log of letter and
 * replica (S start and its number, W one for the warm pool, C cancel, M mark, D drain, U undrain, R remove,
 * P promote).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "drive/capacity.h"
#include "gate_config.h"

#define BEGIN    (1000 * PST_S)
#define COLD     (10 * PST_S)
#define WALL     (UINT64_C(1700000000) * PST_S + 250 * PST_MS)
#define LOG      1024
#define INFLIGHT 64

struct world {
    struct pst_drive *drive;
    struct pst_capacity *capacity;
    pst_ns now, deadline;
    bool quota, holds;
    pst_ns loads_at[4]; /* its process listens then; 0: none */
    bool is_there[4], is_warm[4];
    struct pst_gate_action inflight[INFLIGHT]; /* DISPATCH */
    uint32_t inflight_count;
    uint32_t depth, decided, said;
    char log[LOG];
};

static void note(struct world *w, char letter, uint32_t number)
{
    size_t len = strlen(w->log);

    (void)snprintf(w->log + len, LOG - len, "%s%c%u", len == 0 ? "" : " ", letter, number);
    w->said++;
}

static void tell(struct world *w, uint16_t replica, enum pst_replica_state state,
                 enum pst_cause cause)
{
    struct pst_gate_event event = {.now = w->now, .kind = PST_EVENT_REPLICA};

    w->is_there[replica] = state != PST_REPLICA_GONE;
    event.u.replica.replica = replica;
    event.u.replica.state = (uint8_t)state;
    event.u.replica.cause = (uint8_t)cause;
    event.u.replica.revision = 3;
    event.u.replica.warm = w->is_warm[replica];
    pst_drive_event(w->drive, &event);
}

static void start(struct world *w, const struct pst_scaler_action *action)
{
    struct pst_scaler_event refused = {.now = w->now, .kind = PST_SCALER_RESULT};
    uint16_t replica = 0;

    note(w, action->u.start.warm ? 'W' : 'S', action->u.start.op);
    refused.u.result.action = PST_SCALER_START;
    refused.u.result.error = PST_RESULT_QUOTA;
    refused.u.result.op = action->u.start.op;
    if (w->quota) {
        pst_capacity_event(w->capacity, &refused);
        return;
    }
    while (w->is_there[replica])
        replica++;
    pst_capacity_replica(w->capacity, replica, 0, action->u.start.op, 3);
    w->loads_at[replica] = w->now + COLD;
    w->is_warm[replica] = action->u.start.warm;
    tell(w, replica, PST_REPLICA_STARTING, PST_CAUSE_CONFIG);
}

static void stop(struct world *w, uint16_t replica)
{
    w->loads_at[replica] = 0;
    tell(w, replica, PST_REPLICA_GONE, PST_CAUSE_REMOVED);
}

static void on_act(void *user, const struct pst_scaler_action *action)
{
    static const char letters[PST_SCALER_ACTION_COUNT] = {
        [PST_SCALER_PROMOTE] = 'P', [PST_SCALER_CANCEL] = 'C',  [PST_SCALER_MARK] = 'M',
        [PST_SCALER_DRAIN] = 'D',   [PST_SCALER_UNDRAIN] = 'U', [PST_SCALER_REMOVE] = 'R',
    };
    struct world *w = user;

    assert_int_equal(w->depth++, 0); /* never from within another's handler */
    if (action->kind == PST_SCALER_START)
        start(w, action);
    else if (letters[action->kind] != 0)
        note(w, letters[action->kind], action->u.replica.replica);
    if (action->kind == PST_SCALER_CANCEL || action->kind == PST_SCALER_REMOVE)
        stop(w, action->u.replica.replica);
    w->depth--;
}

static void on_decided(void *user, const struct pst_capacity_decision *decision)
{
    struct world *w = user;
    struct pst_capacity_decision newest;

    w->decided++;
    assert_true(pst_capacity_decision(w->capacity, 0, 0, &newest));
    assert_memory_equal(&newest, decision, sizeof newest);
    assert_int_equal(decision->at, w->now);
    assert_int_equal(decision->wall_ns, WALL + (w->now - BEGIN));
}

static void on_capacity_settled(void *user, pst_ns deadline)
{
    ((struct world *)user)->deadline = deadline;
}

static void end_all(struct world *w)
{
    while (w->inflight_count > 0)
        send_end(w->drive, w->now, &w->inflight[--w->inflight_count]);
}

static void on_request(void *user, const struct pst_gate_action *action)
{
    struct world *w = user;

    if (action->kind == PST_ACTION_CONTINUE)
        send_arrive(w->drive, w->now, action->u.ticket.id, 0);
    if (action->kind != PST_ACTION_DISPATCH)
        return;
    assert_true(w->inflight_count < INFLIGHT);
    w->inflight[w->inflight_count++] = *action;
}

static void on_fleet(void *user, const struct pst_gate_action *action)
{
    struct world *w = user;

    if (action->kind == PST_ACTION_CHECK && w->loads_at[action->u.check.replica] == 0)
        send_probe(w->drive, w->now, action);
    pst_capacity_fleet_action(w->capacity, action, w->now);
}

static void on_gate_settled(void *user, pst_ns deadline)
{
    (void)user;
    (void)deadline; /* every second is soon enough */
}

static struct pst_scaler_config scaler_config(void)
{
    return (struct pst_scaler_config){
        .classes_count = 2,
        .pools_count = 1,
        .replicas_max = 4,
        .classes = {{.target = 100 * PST_MS, .max_wait = 5 * PST_S, .sheds = 1},
                    {.target = PST_S, .max_wait = 15 * PST_S}},
        .pools = {{
            .min = 0,
            .max = 3,
            .slots = 4,
            .rule = PST_RULE_AHEAD,
            .actuate = PST_ACTUATE_OWN,
            .out_above = 2 * PST_S,
            .in_below = 500 * PST_MS,
            .in_after = 20 * PST_S,
            .start_time = COLD,
            .warm_time = PST_S,
            .start_timeout = 60 * PST_S,
            .drain_deadline = 30 * PST_S,
            .stale_after = 15 * PST_S,
            .utilisation_ppm = 900000,
            .inflight_guard_ppm = 800000,
        }},
    };
}

static void world_begin(struct world *w, uint32_t min)
{
    struct pst_gate_config gate = small_config(64);
    const struct pst_drive_handlers drive = {w, on_request, on_fleet, on_gate_settled};
    const struct pst_capacity_handlers capacity = {w, on_act, on_decided, on_capacity_settled};
    struct pst_scaler_config scaler = scaler_config();

    scaler.pools[0].min = min;
    gate.pools[0].slots = scaler.pools[0].slots;
    *w = (struct world){.now = BEGIN};
    assert_int_equal(pst_drive_new(&gate, &w->drive), PST_OK);
    assert_int_equal(pst_capacity_new(&scaler, w->drive, &w->capacity), PST_OK);
    pst_capacity_handlers(w->capacity, &capacity);
    pst_drive_handlers(w->drive, &drive);
    assert_int_equal(w->deadline, PST_NEVER);
    pst_capacity_tick(w->capacity, w->now, WALL);
}

static void world_end(struct world *w)
{
    pst_scaler_verify(pst_capacity_scaler(w->capacity));
    pst_gate_verify(pst_drive_gate(w->drive));
    pst_capacity_free(w->capacity);
    pst_drive_free(w->drive);
}

static void second(struct world *w)
{
    struct pst_gate_event time = {.kind = PST_EVENT_TIME};

    w->now += PST_S;
    time.now = w->now;
    for (uint16_t r = 0; r < PST_COUNT_OF(w->loads_at); r++) {
        if (w->loads_at[r] != 0 && w->now >= w->loads_at[r]) {
            w->loads_at[r] = 0;
            tell(w, r, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
        }
    }
    if (!w->holds)
        end_all(w);
    pst_drive_event(w->drive, &time);
    assert_true(w->deadline <= w->now);
    pst_capacity_tick(w->capacity, w->now, WALL + (w->now - BEGIN));
}

static void arrive(struct world *w, uint32_t count)
{
    while (count-- > 0) {
        struct pst_ticket_id id = {0, 0};

        assert_true(pst_drive_ticket(w->drive, &id));
        send_offer(w->drive, w->now, id);
    }
}

static uint32_t ready(const struct world *w)
{
    struct pst_gate_pool_view view;

    pst_gate_pool_view(pst_drive_gate(w->drive), 0, &view);
    return view.replicas[PST_REPLICA_READY];
}

static void word(struct world *w, const char *at)
{
    uint32_t number = (uint32_t)strtoul(at + strcspn(at, "0123456789"), NULL, 10);

    if (at[0] == '+') {
        while (number-- > 0)
            second(w);
    } else if (at[0] == '!') {
        if (ready(w) != number)
            print_error("%u ready, not %u; said: %s\n", ready(w), number, w->log);
    } else if (at[0] == '?') {
        assert_int_equal(w->said, number);
    } else if (strcmp(at, "hold") == 0 || strcmp(at, "live") == 0) {
        w->holds = at[0] == 'h';
    } else if (strcmp(at, "end") == 0) {
        end_all(w);
    } else if (strcmp(at, "quota") == 0) {
        w->quota = true;
    } else if (strncmp(at, "crash", 5) == 0) {
        pst_capacity_crashed(w->capacity, (uint16_t)number);
        tell(w, (uint16_t)number, PST_REPLICA_GONE, PST_CAUSE_CRASH);
    } else if (strncmp(at, "gone", 4) == 0) {
        stop(w, (uint16_t)number);
    } else {
        assert_int_equal(at[0], 'a');
        arrive(w, number);
    }
}

struct row {
    const char *name;
    uint32_t min;
    const char *script, *said;
};

static const struct row rows[] = {
    {"nothing comes: nothing is started", 0, "+60", ""},
    {"min is started with the first tick", 1, "?1 +11 !1", "S1"},
    {"a first ticket wakes it within its turn", 0, "+5 ?0 a1 ?1 +11 !1", "S1"},
    {"and its end lets the replica go: marked, drained, removed", 0, "+5 a1 +90 !0", "S1 M0 D0 R0"},
    {"what is in flight keeps it", 0, "+5 a1 hold +90 !1 ?1 end live +90 !0", "S1 M0 D0 R0"},
    {"a crash is made good", 1, "+20 ?1 crash0 +1 ?2 +15 !1", "S1 S2"},
    {"one that others took, too", 1, "+20 ?1 gone0 +1 ?2 +15 !1", "S1 S2"},
    {"a refused start is tried again after 5 s, then 10", 0,
     "quota +5 a1 ?1 +4 ?1 +1 ?2 +9 ?2 +1 ?3", "S1 S2 S3"},
};

static void a_script_says_what_it_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        char script[256], *rest = NULL;
        struct world w;

        (void)snprintf(script, sizeof script, "%s", rows[i].script);
        world_begin(&w, rows[i].min);
        print_message("%s\n", rows[i].name);
        for (char *at = strtok_r(script, " ", &rest); at != NULL; at = strtok_r(NULL, " ", &rest))
            word(&w, at);
        if (strcmp(w.log, rows[i].said) != 0)
            fail_msg("%s: said %s, not %s", rows[i].name, w.log, rows[i].said);
        world_end(&w);
    }
}

static void a_drain_is_not_over_before_its_last_request(void **state)
{
    struct pst_gate_replica_view view;
    struct pst_scaler_event event = {.kind = PST_SCALER_FLOOR};
    struct world w;

    (void)state;
    world_begin(&w, 1);
    event.u.floor.replicas = 2;
    event.u.floor.source = PST_FLOOR_CRON;
    event.now = event.u.floor.from = w.now;
    event.u.floor.until = w.now + 30 * PST_S;
    pst_capacity_event(w.capacity, &event);
    word(&w, "+15");
    assert_int_equal(ready(&w), 2);
    word(&w, "hold");
    word(&w, "a2"); /* one on each */
    while (strchr(w.log, 'D') == NULL)
        second(&w);
    word(&w, "+5");
    assert_null(strchr(w.log, 'R'));
    assert_true(pst_gate_replica_view(pst_drive_gate(w.drive), 1, &view));
    assert_int_equal(view.state, PST_REPLICA_DRAINING);
    word(&w, "end");
    assert_string_equal(w.log, "S1 S2 M1 D1 R1");
    world_end(&w);
}

/* One is kept loaded beside the one that serves; a floor of two promotes it, and its place is filled again. */
static void a_warm_replica_is_promoted_by_the_gate(void **state)
{
    struct pst_scaler_event floor = {.kind = PST_SCALER_FLOOR};
    struct pst_scaler_config config = scaler_config();
    struct pst_gate_replica_view view;
    struct world w;

    (void)state;
    world_begin(&w, 1);
    config.pools[0].min = config.pools[0].warm = 1;
    assert_int_equal(pst_capacity_reconfigure(w.capacity, &config), PST_OK);
    word(&w, "+40");
    assert_string_equal(w.log, "S1 W2");
    assert_int_equal(ready(&w), 1);
    assert_true(pst_gate_replica_view(pst_drive_gate(w.drive), 1, &view));
    assert_int_equal(view.state, PST_REPLICA_WARM);
    floor.now = floor.u.floor.from = w.now;
    floor.u.floor.until = PST_NEVER;
    floor.u.floor.replicas = 2;
    pst_capacity_event(w.capacity, &floor);
    second(&w);
    assert_int_equal(ready(&w), 2); /* within the second */
    word(&w, "+40");
    assert_string_equal(w.log, "S1 W2 P1 W3");
    assert_int_equal(ready(&w), 2);
    world_end(&w);
}

static void decisions_are_kept_newest_first(void **state)
{
    struct pst_capacity_decision decision, older;
    struct world w;
    uint32_t kept = 0;

    (void)state;
    world_begin(&w, 1);
    word(&w, "+30000"); /* more than are kept: one a minute at least */
    assert_true(w.decided > PST_CAPACITY_KEPT);
    assert_true(pst_capacity_decision(w.capacity, 0, 0, &decision));
    while (pst_capacity_decision(w.capacity, 0, ++kept, &older)) {
        assert_true(older.at < decision.at);
        decision = older;
    }
    assert_int_equal(kept, PST_CAPACITY_KEPT);
    assert_false(pst_capacity_decision(w.capacity, 1, 0, &decision));
    world_end(&w);
}

/* As old as they were then: what is told later makes no kept decision younger. */
static void a_decision_is_kept_with_the_ages_of_its_inputs(void **state)
{
    struct pst_scaler_event gpu = {.kind = PST_SCALER_SIGNAL};
    struct pst_capacity_decision first, last, again;
    struct world w;

    (void)state;
    world_begin(&w, 1);
    assert_true(pst_capacity_decision(w.capacity, 0, 0, &first));
    assert_int_equal(first.inputs.own_age, 0);
    assert_true(first.inputs.ages[PST_SIGNAL_GPU] == PST_NEVER);
    gpu.now = w.now;
    gpu.u.signal.kind = PST_SIGNAL_GPU;
    gpu.u.signal.value = 620000;
    gpu.u.signal.age = 2 * PST_S;
    pst_capacity_event(w.capacity, &gpu);
    do {
        second(&w);
        assert_true(pst_capacity_decision(w.capacity, 0, 0, &last));
    } while (last.at == first.at);
    assert_int_equal(last.inputs.own_age, 0);
    assert_int_equal(last.inputs.values[PST_SIGNAL_GPU], 620000);
    assert_int_equal(last.inputs.ages[PST_SIGNAL_GPU], last.at - first.at + 2 * PST_S);
    word(&w, "+120");
    for (uint32_t i = 0; pst_capacity_decision(w.capacity, 0, i, &again); i++) {
        if (again.at == last.at)
            assert_memory_equal(&again.inputs, &last.inputs, sizeof last.inputs);
        else if (again.at == first.at)
            assert_memory_equal(&again.inputs, &first.inputs, sizeof first.inputs);
        else
            assert_true(again.inputs.ages[PST_SIGNAL_GPU] > last.inputs.ages[PST_SIGNAL_GPU]);
    }
    world_end(&w);
}

static void a_reconfiguration_acts_on_its_next_tick(void **state)
{
    struct pst_scaler_config config = scaler_config();
    struct world w;

    (void)state;
    world_begin(&w, 1);
    word(&w, "+15");
    config.pools[0].min = 3;
    assert_int_equal(pst_capacity_reconfigure(w.capacity, &config), PST_OK);
    word(&w, "+15");
    assert_int_equal(ready(&w), 3);
    config.pools[0].max = 0;
    assert_int_equal(pst_capacity_reconfigure(w.capacity, &config), PST_E_INVALID);
    word(&w, "+15");
    assert_int_equal(ready(&w), 3);
    world_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_script_says_what_it_should),
        cmocka_unit_test(a_drain_is_not_over_before_its_last_request),
        cmocka_unit_test(a_warm_replica_is_promoted_by_the_gate),
        cmocka_unit_test(decisions_are_kept_newest_first),
        cmocka_unit_test(a_decision_is_kept_with_the_ages_of_its_inputs),
        cmocka_unit_test(a_reconfiguration_acts_on_its_next_tick),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
