/* The scaler's steps, one row per promise: out at once, in by order, and what stands in the way. */
#include "scaler_world.h"

static void test_out(void **state)
{
    static const struct world_row rows[] = {
        {"min is started", "+200", "0:S1", NULL},
        {"what is needed is asked for at once, and once", "f4 +200 ?4:", "0:S1 0:S2 0:S3 0:S4",
         NULL},
        {"no more than max", "f20 +200 ?8:max", "0:S1 0:S2 0:S3 0:S4 0:S5 0:S6 0:S7 0:S8", NULL},
        {"what runs already is counted", "r3 f4 +200", "0:S1", NULL},
        {"a crash is made good at once", "r2 f2 +101 crash1 +100", "101:S1", NULL},
        {"one that others removed too", "r2 f2 +101 gone1 +100", "101:S1", NULL},
        {"a draining one is taken back before one is started", "r4 f4 +101 f1 nodrain +60 # f3 +70",
         "161:U0 161:U1 220:R2", NULL},
        {"more than drain: the rest is started", "r4 f4 +101 f3 nodrain +60 # f5 +1",
         "161:U0 161:S1", NULL},
    };

    (void)state;
    WORLD_RUN(rows);
}

static void in_after_59(struct pst_scaler_pool *pool)
{
    pool->in_after = 59 * PST_S;
}

static void test_in(void **state)
{
    static const struct world_row rows[] = {
        {"straight to the number, marked, drained, removed", "r4 f4 +101 f1 +100",
         "160:M0 160:D0 160:M1 160:D1 160:M2 160:D2 170:R0 170:R1 170:R2", NULL},
        {"59 s of 60 s are not enough", "r4 f4 +101 f1 +59 ?4:hold", "", NULL},
        {"at 60 s it goes", "r4 f4 +101 f3 +60 ?3:", "160:M0 160:D0", NULL},
        {"in_after 59 s: a second earlier", "r4 f4 +101 f3 +59", "159:M0 159:D0", in_after_59},
        {"needed once more meanwhile: it begins again",
         "r4 f4 +101 f1 +59 f4 +1 f1 +59 ?4:hold +1 ?1:",
         "220:M0 220:D0 220:M1 220:D1 220:M2 220:D2", NULL},
        {"taken back within a start: held for twice as long",
         "r4 f4 +101 f3 +80 f4 +100 f3 +100 ?4:hold # +100 ?3:", "400:M0 400:D0 410:R0", NULL},
        {"only what was enough all the time", "r4 f4 +101 f1 +30 f3 +1 f1 +29 ?3:hold",
         "160:M0 160:D0", NULL},
        {"starting ones first, the youngest of them first, then victims",
         "cold180 r2 f2 +101 f3 +5 f4 +5 f1 +70",
         "101:S1 106:S2 170:C3 170:C2 170:M0 170:D0 180:R0", NULL},
        {"the least in flight goes first", "r3 f3 +101 i0:5 i1:2 i2:7 f2 +60", "160:M1 160:D1",
         NULL},
        {"an old revision before it", "r3 f3 +101 i0:5 i1:2 i2:7 old2 f2 +60", "160:M2 160:D2",
         NULL},
        {"an unhealthy one before that", "r3 f3 +101 i0:5 i1:2 i2:7 old2 suspect0 f2 +60",
         "160:M0 160:D0", NULL},
        {"the youngest of equals", "r2 f2 +101 f3 +200 # f2 +60", "360:M2 360:D2", NULL},
        {"still busy at its deadline: removed", "nodrain r2 f2 +101 f1 +120",
         "160:M0 160:D0 220:R0", NULL},
        {"another left instead: the one that was drained stays", "stay r4 f4 +101 f3 +80",
         "160:M0 160:D0 170:R0 170:U0", NULL},
        {"… at its deadline too", "stay nodrain r4 f4 +101 f3 +130", "160:M0 160:D0 220:R0 221:U0",
         NULL},
        {"one that was lost for twice a start is not counted, and goes once there is enough",
         "r2 f2 +101 suspect0 +302", "302:S1 402:M0 402:D0", NULL},
        {"never below min",
         "r4 +300 ?1:", "100:M0 100:D0 100:M1 100:D1 100:M2 100:D2 110:R0 110:R1 110:R2", NULL},
    };

    (void)state;
    WORLD_RUN(rows);
}

static void gpu_guard(struct pst_scaler_pool *pool)
{
    pool->gpu_guard_ppm = 500000;
}

static void errors_query(struct pst_scaler_pool *pool)
{
    pool->awaits_signals = 1u << PST_SIGNAL_ERRORS;
}

static void test_vetoes(void **state)
{
    static const struct world_row rows[] = {
        {"in flight would not fit the slots that remain", "r4 f4 +101 o25 f1 +60 ?4:inflight", "",
         NULL},
        {"24 fit into 80 % of 30: after another in_after", "r4 f4 +101 o24 f1 +120 ?3:inflight",
         "220:M0 220:D0", NULL},
        {"it clears before: one step", "r4 f4 +101 o24 f1 +100 ?4:inflight o8 +1 ?1:",
         "201:M0 201:D0 201:M1 201:D1 201:M2 201:D2", NULL},
        {"GPU above its guard", "r4 f4 gpu51 +101 f3 +60 ?4:gpu", "", gpu_guard},
        {"GPU at its guard", "r4 f4 gpu50 +101 f3 +60 ?3:", "160:M0 160:D0", gpu_guard},
        {"B083: GPU that is asked for and missing holds", "r4 f4 gpu10 +101 gpu- f3 +300 ?4:stale",
         "", gpu_guard},
        {"never told is missing too", "r4 f4 +101 f3 +300 ?4:stale", "", gpu_guard},
        {"GPU that is not asked for is not missed", "r4 f4 +101 f3 +60 ?3:", "160:M0 160:D0", NULL},
        {"errors", "r4 f4 err6 +101 f3 +60 ?4:guard", "", NULL},
        {"5 % of errors are green", "r4 f4 err5 +101 f3 +60 ?3:", "160:M0 160:D0", NULL},
        {"latency is red", "r4 f4 lat1 +101 f3 +60 ?4:guard", "", NULL},
        {"… until it is said to be green", "r4 f4 lat1 +101 f3 +600 lat0 +1 ?3:", "701:M0 701:D0",
         NULL},
        {"a rollout runs", "r4 f4 rollout1 +101 f3 +60 ?4:rollout rollout0 +1 ?3:", "161:M0 161:D0",
         NULL},
        {"… and keeps what is there alone: those that fail to start are let go",
         "r1 f1 +101 rollout1 fail f3 +12 # f1 +300 ?1:", "116:S3 136:S4 166:S5", NULL},
        {"B083: errors that are asked for and were told once hold",
         "r4 f4 err0 +101 f3 +300 ?4:stale", "", errors_query},
        {"… until they are told again",
         "r4 f4 err0 +101 f3 +300 ?4:stale err0 +1 ?3:", "401:M0 401:D0", errors_query},
        {"an hour without its signals: what is needed comes, nothing goes",
         "r2 f2 err0 +3600 f4 +1 ?4: +100 f1 +1000 ?4:stale", "3600:S1 3600:S2", errors_query},
        {"vetoes do not stop what is needed", "r1 rollout1 lat1 err50 f2 +1 ?2:", "0:S1", NULL},
    };

    (void)state;
    WORLD_RUN(rows);
}

static void test_unknown_is_not_zero(void **state)
{
    static const struct world_row rows[] = {
        {"an hour without observations holds", "r4 f4 +101 blind f1 +3600 ?4:stale", "", NULL},
        {"15 s old is not stale", "r4 f4 +160 blind f1 +15 ?4:hold", "", NULL},
        {"16 s is", "r4 f4 +160 blind f1 +16 ?4:stale", "", NULL},
        {"back again, in_after begins again",
         "r4 f4 +101 blind f3 +3600 see +59 ?4:hold +1 ?3:", "3760:M0 3760:D0", NULL},
        {"floors still raise it", "r2 f2 +101 blind +100 f4 +1 ?4:stale", "201:S1 201:S2", NULL},
        {"what crashes is replaced", "r2 f2 +101 blind +100 crash0 +1 ?2:stale", "201:S1", NULL},
        {"B073: empty metrics for 3 min at full load", "r4 a30 o30 +300 # blind a0 o0 +180", "",
         NULL},
        {"B082: unknown after a restart is not zero", "r4 a30 o30 +300 # blind +60 see +1", "",
         NULL},
        {"a fresh scaler asks for nothing less than what runs", "r4 +100 ?4:restart", "", NULL},
        {"… for the longest start", "r4 f3 +100 ?4:restart +1 ?3:", "100:M0 100:D0", NULL},
        {"… nor than others have set", "r3 scale4 +1 ?4:hold,restart", "0:S1", NULL},
        {"what others set later is theirs", "r3 f3 +101 scale6 +1 ?3:", "", NULL},
        {"what others started is kept until it is not needed",
         "r2 f2 +101 r2 +59 ?4:hold +60 ?2:", "161:M2 161:D2 161:M3 161:D3 171:R2 171:R3", NULL},
    };

    (void)state;
    WORLD_RUN(rows);
}

static void max_3(struct pst_scaler_pool *pool)
{
    pool->max = 3;
}

static void test_cannot_be_had(void **state)
{
    static const struct world_row rows[] = {
        {"a quota wall: 5 s, then one at a time, doubling", "quota f4 +76 ?4:quota",
         "0:S1 0:S2 0:S3 0:S4 5:S5 15:S6 35:S7 75:S8", NULL},
        {"the wall opens: all that is missing", "quota f4 +5 ok +3",
         "0:S1 0:S2 0:S3 0:S4 5:S5 6:S6 6:S7 6:S8", NULL},
        {"quota as a signal", "have2 f4 +1 ?2:quota have0 +1", "0:S1 0:S2", NULL},
        {"a quota that is old is not believed",
         "have2 f4 +1 ?2:quota +16 ?4:", "0:S1 0:S2 16:S3 16:S4", NULL},
        {"starts that crash back off", "r1 fail f3 +36 ?3:back_off", "0:S1 0:S2 15:S3 35:S4", NULL},
        {"what serves is kept meanwhile", "r3 f3 +101 fail f4 +600 # f3 +1", "", NULL},
        {"a success forgets them", "fail f1 +11 ok +150 crash0 fail +20",
         "0:S1 15:S2 161:S3 176:S4", NULL},
        {"a stuck one is not counted on after twice a start", "stuck r1 f2 +201 ok +1 ?2:pending",
         "0:S1 201:S2", NULL},
        {"one that has no name yet is taken back before another is started",
         "r1 f1 +101 mute f3 +10 f1 +60 ?1: # f3 +1 ?3:", "", NULL},
        {"… is given up", "stuck f1 +201 ok +150", "0:S1 201:S2 300:C0", NULL},
        {"… and never more than max exist", "stuck f3 +400",
         "0:S1 0:S2 0:S3 300:C0 300:C1 300:C2 305:S4", max_3},
    };

    (void)state;
    WORLD_RUN(rows);
}

static void one_warm(struct pst_scaler_pool *pool)
{
    pool->warm = 1;
}

static void two_warm(struct pst_scaler_pool *pool)
{
    pool->warm = 2;
    pool->rotate = 1000 * PST_S;
}

static void test_warm_pool(void **state)
{
    static const struct world_row rows[] = {
        {"loaded ones are kept beside", "f1 +300 ?1:", "0:S1 0:W2", one_warm},
        {"promoted first, refilled behind", "f1 +101 # f2 +1", "101:P1 101:W3", one_warm},
        {"the rest is started", "f1 +101 # f3 +1", "101:P1 101:S3 101:W4", one_warm},
        {"rotated when its successor is loaded", "f1 +101 # +1200",
         "1100:W4 1200:R1 1200:W5 1300:R2", two_warm},
        {"one that loads since before us is kept for what it was started for",
         "r2 warm1 f2 +101 # +100", "", one_warm},
        {"… and promoted", "r2 warm1 f2 +101 # f3 +1", "101:P2 101:W1", one_warm},
        {"one too many is cancelled", "r2 warm2 f2 +1", "0:C3", one_warm},
        {"a warm one that dies is replaced", "f1 +101 # crash1 +1", "101:W3", one_warm},
        {"one that has to load again is given its time", "f1 +2000 # load1 +300", "", one_warm},
        {"… and promoted then", "f1 +2000 # load1 +101 f2 +1", "2101:P1 2101:W3", one_warm},
        {"one that was promoted and has to load again will serve",
         "f1 +2000 f2 +1 load1 # +100 ?2:", "", one_warm},
    };

    (void)state;
    WORLD_RUN(rows);
}

static void to_zero(struct pst_scaler_pool *pool)
{
    pool->min = 0;
}

static void to_zero_5m(struct pst_scaler_pool *pool)
{
    pool->min = 0;
    pool->in_after = 300 * PST_S;
}

static void test_zero(void **state)
{
    static const struct world_row rows[] = {
        {"nothing is there, nothing is started", "+3000 ?0:", "", to_zero},
        {"B085: the first ticket wakes, after 45 min too", "+2700 wake", "2700:S1", to_zero},
        {"… and is waited for", "+2700 wake q1 +150 q0 +61", "2700:S1 2909:M0 2909:D0", to_zero},
        {"woken once", "+10 wake wake q1 +1 wake", "10:S1", to_zero},
        {"a ticket in flight keeps the last one", "r1 o1 +3000 ?1:", "", to_zero},
        {"to zero when none is there for in_after", "r1 +101 ?0:", "100:M0 100:D0", to_zero},
        {"wake when one is there changes nothing", "r1 +10 wake +1", "", to_zero},
    };
    struct pst_scaler_config config = world_config();
    struct world w;

    (void)state;
    WORLD_RUN(rows);
    to_zero_5m(&config.pools[0]);
    world_init(&w, &config, "B086: one request a minute stays up");
    world_play(&w, "r1");
    for (int minute = 0; minute < 30; minute++)
        world_play(&w, "a1 +1 a0 +59");
    world_play(&w, "?1:");
    assert_string_equal(w.log, "");
    world_play(&w, "+900 ?0:");
    world_done(&w);
}

static void only_decide(struct pst_scaler_pool *pool)
{
    pool->actuate = PST_ACTUATE_NONE;
}

static void test_somebody_else_acts(void **state)
{
    static const struct world_row rows[] = {
        {"the number alone", "f4 +1 ?4:", "", only_decide},
        {"… stands while they are slow", "r2 f2 +101 f5 +300 ?5:", "", only_decide},
        {"… goes down by the same rules", "r4 f4 +101 f1 +59 ?4:hold +1 ?1:", "", only_decide},
        {"… and stays there while they are slow", "r4 f4 +101 f1 +600 ?1:", "", only_decide},
        {"an hour without observations", "r4 f4 +101 blind f1 +3600 ?4:stale", "", only_decide},
        {"quota as a signal", "r1 have2 f5 +1 ?3:quota", "", only_decide},
        {"… is not used twice", "r1 have2 f5 +10 ?3:quota", "", only_decide},
        {"replicas that do not come", "r1 f2 +1 stuck +1 ?2:", "", only_decide},
    };

    (void)state;
    WORLD_RUN(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_out),           cmocka_unit_test(test_in),
        cmocka_unit_test(test_vetoes),        cmocka_unit_test(test_unknown_is_not_zero),
        cmocka_unit_test(test_cannot_be_had), cmocka_unit_test(test_warm_pool),
        cmocka_unit_test(test_zero),          cmocka_unit_test(test_somebody_else_acts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
