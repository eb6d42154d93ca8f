/* Which decisions are said: what is news at once, and otherwise one a minute. */
#include "scaler_world.h"

static struct pst_scaler_config config_of_said(void)
{
    struct pst_scaler_config config = world_config();

    config.classes[0].target = 3 * PST_S; /* what is queued here is no matter of waits */
    return config;
}

static bool has(const struct world *w, enum pst_veto veto)
{
    struct pst_scaler_action decision;

    assert_true(pst_scaler_decision(w->scaler, 0, &decision));
    return (decision.u.decision.vetoes >> veto & 1) != 0;
}

/* Up to the second in which one is said. */
static void until_said(struct world *w)
{
    for (uint32_t said = w->decisions; w->decisions == said;)
        world_second(w);
}

/* Four replicas of 10 slots are held; 70 s of queued work need two of them, for a second. */
static void test_what_comes_and_goes(void **state)
{
    struct pst_scaler_config config = config_of_said();
    struct world w;
    uint32_t said;

    (void)state;
    config.pools[0].in_after = 1200 * PST_S;
    world_init(&w, &config, "what comes and goes");
    world_play(&w, "r4 f1 +600");
    until_said(&w);
    said = w.decisions;
    for (int i = 0; i < 60; i++) {
        world_play(&w, "q70 +1");
        assert_true(has(&w, PST_VETO_HOLD) && has(&w, PST_VETO_NEEDED_SOON));
        world_play(&w, "q0 +1");
        assert_true(has(&w, PST_VETO_HOLD) && !has(&w, PST_VETO_NEEDED_SOON));
    }
    assert_int_equal(w.decisions - said, 2);
    world_done(&w);
}

static void test_news(void **state)
{
    static const struct {
        const char *script;
        uint32_t said;
    } rows[] = {
        {"+59", 0}, /* the same */
        {"+60", 1}, /* … a minute old */
        {"f3 +1", 1},
        {"f1 +1", 1},  /* no other number yet, but a veto */
        {"q41 +1", 1}, /* the backlog went past 2 s of 20 slots */
        {"q40 +3", 0}, /* … or did not */
        {"q41 +1 q11 +3", 1},
        {"q41 +1 q10 +3", 2}, /* it is back at 500 ms */
        {"q41 +1 q11 +1 q41 +2", 1},
        {"blind +16", 1},
    };
    const struct pst_scaler_config config = config_of_said();

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct world w;
        uint32_t said;

        world_init(&w, &config, rows[i].script);
        world_play(&w, "r2 f2 +300");
        until_said(&w);
        said = w.decisions;
        world_play(&w, rows[i].script);
        if (w.decisions - said != rows[i].said)
            fail_msg("%s: %u said", rows[i].script, w.decisions - said);
        world_done(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_and_goes),
        cmocka_unit_test(test_news),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
