/* test_fixed.c - policy fixed at every boundary, as golden traces. */
#include "trace.h"

static const struct trace_row rows[] = {
    {"8 high run, the 9th waits", "R0 h*8 =*8 h9 , .1 =9", 100, 0},
    {"4 medium run, the 5th waits", "R0 m*4 =*4 m5 , .1 =5", 100, 0},
    {"2 low run, the 3rd waits", "R0 l*2 =*2 l3 , .1 =3", 100, 0},
    {"classes do not share their places", "R0 l*3 =*2 m4 =4 h5 =5 , .1 =3", 100, 0},
    {"49 queued: the 50th is taken", "R0 h*8 =*8 h*49 , h58 ,", 100, 0},
    {"50 queued: the 51st is refused", "R0 h*8 =*8 h*50 , h59 !59 ,", 100, 0},
    {"100 medium queued: the 101st is refused", "R0 m*4 =*4 m*100 , m105 !105", 100, 0},
    {"200 low queued: the 201st is refused", "R0 l*2 =*2 l*200 , l203 !203", 100, 0},
    {"a full queue refuses its own class only", "R0 h*8 =*8 h*50 h59 !59 m60 =60", 100, 0},
    {"a cancelled ticket makes room", "R0 h*8 =*8 h*50 c20 h59 , h60 !60", 100, 0},
    {"a place that frees makes room", "R0 h*8 =*8 h*50 .1 =9 h59 , h60 !60", 100, 0},
    {"fifo within a class", "R0 h*8 =*8 h9 h10 h11 .3 =9 .1 =10 .2 =11", 100, 0},
    {"high goes first when slots are short", "R0 l1 =1 l2 m3 h4 , .1 =4 .4 =3 .3 =2", 1, 0},
    {"slots hold though limits would allow", "R0 h*3 =*3 h4 , .1 =4", 3, 0},
    {"one class's full limit leaves slots idle", "R0 l*2 =*2 l*5 ,", 100, 0},
    {"low at 14,999 ms stays low", "R0 m*4 =*4 l*2 =*2 l7 m8 +14999 .1 =8 .2 ,", 100, 0},
    {"low at 15,000 ms joins medium", "R0 m*4 =*4 l*2 =*2 l7 m8 +15000 .1 =8 .2 =7", 100, 0},
    {"it joins the tail", "R0 m*4 =*4 l*2 =*2 l7 +14999 m8 +1 .1 =8 .2 =7", 100, 0},
    {"and only once: not into high", "R0 h*8 =*8 m*4 =*4 l*2 =*2 l15 +29000 .1 , .9 =15", 100, 0},
    {"beyond medium's bound", "R0 m*4 =*4 l*2 =*2 l7 m*100 , +15000 m108 !108 .1 =8", 100, 0},
    {"its place in low is free at once", "R0 m*4 =*4 l*2 =*2 l*200 +15000 l207 ,", 100, 0},
    {"replica scope: limits times ready replicas", "R0 R1 h*16 =*16 h17 , .1 =17", 100, 1},
    {"replica scope: a replica more, places more", "R0 h*8 =*8 h*9 , R1 =*8 ,", 100, 1},
    {"pool scope: replicas do not matter", "R0 R1 h*8 =*8 h9 ,", 100, 0},
    {"high's ttl of 30 s: 29,999 ms", "R0 h*8 =*8 h9 +29999 ,", 100, 0},
    {"high's ttl of 30 s: 30,000 ms", "R0 h*8 =*8 h9 +30000 ?9", 100, 0},
    {"no replica: wake once, wait, run", "h1 W h2 , +100000 , R0 =1 =2", 100, 0},
    {"no replica: the room's ttl is 300 s", "h1 W +299999 , +1 %1", 100, 0},
    {"no replica: the queue is bounded still", "h*1 W h*49 h51 !51", 100, 0},
    {"a retry keeps its seniority", "R0 R1 h1 =1 h2 =2 h3 , f1 .2 =1 , .1 =3", 1, 0},
};

static void every_boundary(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_FIXED);

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        trace_run(&rows[i], &config);
}

static void a_bound_of_zero_still_runs_what_can(void **state)
{
    static const struct trace_row row = {"no queue at all", "R0 h*8 =*8 h9 !9 .1 h10 =10", 100, 0};
    struct pst_gate_config config = harness_config(PST_POLICY_FIXED);

    (void)state;
    config.pools[0].fixed_queue[0] = 0;
    trace_run(&row, &config);
}

static void a_full_queue_refuses_the_head(void **state)
{
    static struct harness h;
    struct pst_gate_config config = harness_config(PST_POLICY_FIXED);
    struct pst_gate_action action;
    struct pst_gate_event event;

    (void)state;
    config.pools[0].fixed_queue[2] = 1;
    config.pools[0].fixed_inflight[2] = 0;
    harness_init(&h, &config);
    harness_replica(&h, 0, 0, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
    harness_offer(&h, 1, 0, 2, 10);
    assert_true(harness_next(&h, &action));
    assert_int_equal(action.kind, PST_ACTION_CONTINUE);
    event = harness_arrival(&h, 1, 2);
    harness_step(&h, &event);
    assert_false(harness_next(&h, &action));
    harness_offer(&h, 2, 0, 2, 10);
    assert_true(harness_next(&h, &action));
    assert_int_equal(action.kind, PST_ACTION_FINISH);
    assert_int_equal(action.u.finish.reason, PST_REASON_QUEUE_FULL);
    harness_done(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_boundary),
        cmocka_unit_test(a_bound_of_zero_still_runs_what_can),
        cmocka_unit_test(a_full_queue_refuses_the_head),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
