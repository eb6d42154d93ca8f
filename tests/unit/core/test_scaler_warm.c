/*
 * Which warm ones are promoted, and when: by what they can still meet, at once. A replica has 10 slots,
 * class 0 waits 5 s at most, and a start takes 100 s.
 */
#include "scaler_world.h"

static void one_warm(struct pst_scaler_pool *pool)
{
    pool->warm = 1;
}

static void two_warm(struct pst_scaler_pool *pool)
{
    pool->warm = 2;
}

static void one_warm_of_two(struct pst_scaler_pool *pool)
{
    pool->warm = 1;
    pool->max = 2;
}

static void no_warm(struct pst_scaler_pool *pool)
{
    pool->warm = 0;
}

static void test_burst(void **state)
{
    static const struct world_row rows[] = {
        {"what one can serve in time is no matter of others", "f1 +101 # o10 q50 +10", "",
         one_warm},
        {"what one would serve too late: at once", "f1 +101 # q51 +1", "101:P1 101:W3", one_warm},
        {"… and once", "f1 +101 # o20 q51 +10", "101:P1 101:W3", one_warm},
        {"as many as meet it", "f1 +101 # q101 +1", "101:P1 101:P2 101:W4 101:W5", two_warm},
        {"… and not one more", "f1 +101 # o20 q100 +10", "101:P1 101:W4", two_warm},
        {"all that are warm, and nothing is started", "f1 +101 # o20 q500 +10", "101:P1 101:W3",
         one_warm},
        {"no more than may be", "f2 +101 # o20 q500 +10", "", one_warm_of_two},
        {"without warm ones it is over before a start is", "f1 +101 # o20 q51 +10 ?1:worth", "",
         no_warm},
        {"in again when it is over",
         "f1 +101 # o20 q51 +10 o0 q0 +59 ?2:hold +1 ?1:", "101:P1 101:W3 170:M0 170:D0", one_warm},
        {"one that comes too late is none", "f2 +201 # load0 q51 +1", "201:P2 201:W4", one_warm},
        {"… and goes when it is not needed",
         "f2 +201 # load0 q51 +1 q0 +80 ?2:", "201:P2 201:W4 261:M0 261:D0 271:R0", one_warm},
    };

    (void)state;
    WORLD_RUN(rows);
}

/* Promotion is no act of those who only advise: what others keep warm is none of the number. */
static void test_advice(void **state)
{
    struct pst_scaler_config config = world_config();
    struct world w;

    (void)state;
    config.pools[0].actuate = PST_ACTUATE_NONE;
    world_init(&w, &config, "advice");
    world_play(&w, "r2");
    world_set(&w, 1, PST_REPLICA_WARM);
    world_play(&w, "+101 ?1: q51 +1 ?1:worth");
    world_done(&w);
}

static void test_unwell(void **state)
{
    static const struct world_row rows[] = {
        {"one that is suspect cannot be promoted", "f1 +101 suspect1 # f2 +1", "101:S3", one_warm},
        {"… nor by a burst", "f1 +101 suspect1 # q51 +1", "", one_warm},
        {"… and is waited for", "f1 +101 suspect1 # +299", "", one_warm},
        {"… as long as for a start", "f1 +101 suspect1 # +301", "401:C1 401:W3", one_warm},
        {"the other one is", "f1 +101 suspect1 # f2 +1", "101:P2 101:W4", two_warm},
    };
    struct pst_scaler_config config = world_config();
    struct world w;

    (void)state;
    WORLD_RUN(rows);
    one_warm(&config.pools[0]);
    world_init(&w, &config, "it recovers");
    world_play(&w, "f1 +101 suspect1 +100 #");
    world_set(&w, 1, PST_REPLICA_WARM);
    world_play(&w, "q51 +1");
    assert_string_equal(w.log, " 201:P1 201:W3");
    world_done(&w);
}

/* Found while it is suspect: whether it is kept warm is heard later. */
static void test_found_suspect(void **state)
{
    struct pst_scaler_config config = world_config();
    struct world w;

    (void)state;
    one_warm(&config.pools[0]);
    world_init(&w, &config, "found suspect");
    world_play(&w, "r1");
    world_set(&w, world_appear(&w, PST_REPLICA_SUSPECT, 0), PST_REPLICA_WARM);
    world_play(&w, "+101 ?1: # q51 +1");
    assert_string_equal(w.log, " 101:P1 101:W1");
    world_done(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_burst),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_unwell),
        cmocka_unit_test(test_found_suspect),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
