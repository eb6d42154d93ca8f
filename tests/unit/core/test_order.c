/* test_order.c - policy adaptive: whose turn it is, as golden traces. */
#include "trace.h"

static const struct trace_row rows[] = {
    {"work is conserved: low takes every slot", "R0 l*14 =*14 l15 ,", 14, 0},
    {"high before medium before low", "R0 h*1 =1 l2 m3 h4 , .1 =4 .4 =3 .3 =2", 1, 0},
    {"fifo within a flow and bin", "R0 h*1 =1 h2 h3 h4 , .1 =2 .2 =3 .3 =4", 1, 0},
    {"short before long within a flow", "R0 m1 =1 m2L m3 , .1 =3 .3 =2", 1, 0},
    {"two flows take turns", "R0 m1 =1 m2a m3a m4a m5b m6b , .1 =2 .2 =5 .5 =3 .3 =6 .6 =4", 1, 0},
    {"a newcomer does not starve who was there",
     "R0 m1 =1 m2a m3a m4a m5a .1 =2 .2 =3 m6b m7b m8b .3 =4 .4 =6 .6 =5 .5 =7", 1, 0},
    {"a slot more is used at once", "R0 h*2 =1 , R1 =2", 1, 0},
    {"at 15,000 ms medium is not past its slack", "R0 h*1 =1 l2 m3 +14999 .1 =3 .3 =2", 1, 0},
    {"the ttl of high: 29,999 ms", "R0 h*1 =1 h2 +29999 ,", 1, 0},
    {"the ttl of high: 30,000 ms", "R0 h*1 =1 h2 +30000 ?2", 1, 0},
    {"a ttl of its own: 1,999 ms", "R0 h*1 =1 h2T +1999 ,", 1, 0},
    {"a ttl of its own: 2,000 ms", "R0 h*1 =1 h2T +2000 ?2", 1, 0},
    {"B064: expired while up is always ttl, never an error", "R0 m1 =1 m2T m3T +2000 ?2 ?3", 1, 0},
    {"B064: no replica at all is another reason", "m1T W +2000 , +297999 , +1 %1", 1, 0},
    {"time without a replica does not count against the ttl",
     "R0 h1 =1 h2 +20000 c1 =2 h3 h4 , +10000 X0 x2 W , +100000 R0 =2 +19999 , +1 ?3 ?4", 1, 0},
    {"wake comes once per wait", "h1 W h2 , R0 =1 c2 .1 , X0 h3 W h4 ,", 1, 0},
    {"nothing is sent before a replica is ready", "h1 W h2 , +1000 , R0 =1", 1, 0},
    {"a cancelled ticket leaves the queue", "R0 h1 =1 h2 h3 c2 , .1 =3", 1, 0},
    {"a cancelled runner frees its slot", "R0 h1 =1 h2 c1 =2", 1, 0},
    {"B070: full is no illness: the other takes it", "R0 R1 h1 =1 , f1 =1 , .1 h2 =2", 1, 0},
    {"a retry goes to the head of its queue", "R0 h1 =1 m2 m3 .1 =2 f2 , +100 =2 .2 =3", 1, 0},
    {"a wide ticket waits for its slots", "R0 h1 =1 h2w , .1 =2", 4, 0},
    {"others pass a wide one, as many as there are slots",
     "R0 m1 =1 m2w , m3 =3 m4 =4 m5 =5 .1 m6 =6 .3 m7 , .4 .5 , .6 =2 .2 =7", 4, 0},
    {"above its class they go on",
     "R0 m1 =1 m2w m3 =3 m4 =4 m5 =5 .1 m6 =6 .3 m7 , h8 =8 .4 .5 .6 , .8 =2", 4, 0},
};

static void every_turn(void **state)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        trace_run(&rows[i], &config);
}

/* Guard: low's slack is max_wait; its share lets one go before medium, and then it must earn again. */
static void a_late_ticket_spends_its_share(void **state)
{
    static const struct trace_row guard_rows[] = {
        {"late, but nothing earned yet", "R0 h1 =1 l2 m3 m4 +1001 , .1 =3 .3 g2 .2 =4", 1, 0},
        {"just within its slack", "R0 m1 =1 .1 m2 =2 .2 m3 =3 l4 m5 m6 , +1000 .3 =5 .5 =6 .6 =4",
         1, 0},
        {"past its slack it goes before medium",
         "R0 m1 =1 .1 m2 =2 .2 m3 =3 l4 m5 m6 , +1001 .3 g4 .4 =5 .5 =6", 1, 0},
        {"never before high", "R0 m1 =1 .1 m2 =2 .2 m3 =3 l4 m5 h6 , +1001 .3 =6 .6 g4 .4 =5", 1,
         0},
        {"one ticket, then it must earn again",
         "R0 m1 =1 .1 m2 =2 .2 m3 =3 l4 l5 m6 m7 , +1001 .3 g4 .4 =6 .6 =7 .7 =5", 1, 0},
        {"no guard where none is needed", "R0 m1 =1 .1 m2 =2 l3 , +1001 .2 =3", 1, 0},
    };
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

    (void)state;
    config.classes[2].max_wait = PST_S;
    for (size_t i = 0; i < PST_COUNT_OF(guard_rows); i++)
        trace_run(&guard_rows[i], &config);
}

/* Where slots turn over slowly, low leaves some free for high; where quickly, none. */
static void the_reservation_follows_turnover(void **state)
{
    static const struct {
        pst_ns service;
        bool reserves;
    } cases[] = {{100 * PST_MS, false}, {30 * PST_S, true}};

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(cases); i++) {
        static struct harness h;
        struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
        struct pst_gate_class_view view;

        config.pools[0].slots = 16;
        harness_init(&h, &config);
        harness_replica(&h, 0, 0, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
        for (uint32_t round = 0; round < 40; round++) {
            for (uint32_t t = 0; t < 4; t++) {
                struct pst_gate_event event;

                harness_offer(&h, t, PST_POOL_NONE, 0, 10);
                event = harness_arrival(&h, t, 0);
                harness_step(&h, &event);
            }
            harness_time(&h, h.now + cases[i].service);
            for (uint32_t t = 0; t < 4; t++)
                harness_end(&h, t, PST_END_DONE);
            h.count = 0;
        }
        pst_gate_class_view(h.gate, 0, 0, h.now, &view);
        assert_int_equal(view.reserved_slots, 0);
        pst_gate_class_view(h.gate, 0, 2, h.now, &view);
        assert_int_equal(view.reserved_slots > 0, cases[i].reserves);
        assert_true(view.reserved_slots <= 4);
        harness_done(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_turn),
        cmocka_unit_test(a_late_ticket_spends_its_share),
        cmocka_unit_test(the_reservation_follows_turnover),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
