/* test_decision.c - what a decision was made by, and how old that was: in words, and as JSON. */
#include "pages.h"

#include "observe/decision.h"

static struct pages world;

static void signal_told(struct pages *w, enum pst_signal kind, uint64_t value, pst_ns age)
{
    struct pst_scaler_event event = {.now = pst_loop_now(w->loop), .kind = PST_SCALER_SIGNAL};

    event.u.signal.kind = (uint8_t)kind;
    event.u.signal.value = value;
    event.u.signal.age = age;
    pst_capacity_event(w->capacity, &event);
}

/* The inputs' part of a line. */
static void the_log_has_each_input(void **state)
{
    static const struct {
        struct pst_scaler_inputs inputs;
        const char *json;
    } rows[] = {
        {{.own_age = PST_NEVER}, "\"inputs\":{\"own\":{\"age_ms\":null}}}"},
        {{.own_age = 400 * PST_MS}, "\"inputs\":{\"own\":{\"age_ms\":400}}}"},
        {{.own_age = 0,
          .awaited = 1u << PST_SIGNAL_ERRORS,
          .values = {[PST_SIGNAL_GPU] = 620000},
          .ages = {[PST_SIGNAL_GPU] = 3100 * PST_MS}},
         "\"inputs\":{\"own\":{\"age_ms\":0},\"gpu\":{\"value\":0.620000,\"age_ms\":3100},"
         "\"errors\":{\"value\":null,\"age_ms\":null}}}"},
        {{.values = {1000001, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
          .ages = {1, PST_NEVER - 1, PST_NEVER - 1, PST_NEVER - 1, PST_NEVER - 1}},
         "\"inputs\":{\"own\":{\"age_ms\":0},\"gpu\":{\"value\":1.000001,\"age_ms\":0},"
         "\"errors\":{\"value\":18446744073709.551615,\"age_ms\":18446744073709},"
         "\"latency\":{\"value\":18446744073709551615,\"age_ms\":18446744073709},"
         "\"rollout\":{\"value\":18446744073709551615,\"age_ms\":18446744073709},"
         "\"quota\":{\"value\":18446744073709551615,\"age_ms\":18446744073709}}}"},
    };

    (void)state;
    pages_begin(&world, NULL, NULL);
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_capacity_decision decision = {.inputs = rows[i].inputs};
        char buffer[PST_DECISION_LINE_MAX], line[PST_DECISION_LINE_MAX];
        struct pst_slice made;

        decision.action.kind = PST_SCALER_DECISION;
        decision.action.u.decision.vetoes = (1u << PST_VETO_COUNT) - 1; /* as long as it gets */
        for (int s = 0; s < PST_SIGNAL_COUNT; s++) { /* a row leaves out what was never told */
            if (decision.inputs.ages[s] == 0)
                decision.inputs.ages[s] = PST_NEVER;
        }
        made = pst_decision_line(&decision, &world.registry, buffer);
        (void)snprintf(line, sizeof line, "%.*s", (int)made.len, made.at);
        if (strstr(line, rows[i].json) == NULL)
            fail_msg("%s: no %s", line, rows[i].json);
    }
    pages_end(&world);
}

/* Nothing is said of signals that nobody measures; of one that is awaited, that it is not known. */
static void explain_says_how_old_each_input_is(void **state)
{
    static const char gpu[] = "\"gpu\":{\"value\":0.620000,\"age_ms\":";
    struct pst_scaler_config config = pages_scaler();
    const char *age;
    uint16_t port;

    (void)state;
    pages_begin(&world, NULL, NULL);
    port = pst_observe_admin_port(world.observe);
    pst_capacity_tick(world.capacity, pst_loop_now(world.loop), 0);
    assert_int_equal(pages_ask(&world, port, "GET /explain?decisions=1", ""), 200);
    assert_non_null(strstr(world.answer, "\n    inputs: own counts "));
    assert_non_null(strstr(world.answer, "starting; inputs: own counts 0.000 s old\n"));
    assert_null(strstr(world.answer, "; gpu"));
    assert_null(strstr(world.answer, "; errors"));

    config.pools[0].awaits_signals = 1u << PST_SIGNAL_ERRORS;
    assert_int_equal(pst_capacity_reconfigure(world.capacity, &config), PST_OK);
    signal_told(&world, PST_SIGNAL_GPU, 620000, 3 * PST_S);
    signal_told(&world, PST_SIGNAL_QUOTA, 7, 0);
    assert_int_equal(pages_ask(&world, port, "GET /explain", ""), 200);
    assert_non_null(strstr(world.answer, "; gpu 0.620, "));
    assert_non_null(strstr(world.answer, " s old; errors not known; quota 7, "));
    assert_int_equal(pages_ask(&world, port, "GET /explain?format=json", ""), 200);
    age = strstr(world.answer, gpu);
    assert_non_null(age);
    assert_true(strtoull(age + strlen(gpu), NULL, 10) >= 3000);
    assert_non_null(strstr(world.answer, "\"errors\":{\"value\":null,\"age_ms\":null}"));
    pages_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_has_each_input),
        cmocka_unit_test(explain_says_how_old_each_input_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
