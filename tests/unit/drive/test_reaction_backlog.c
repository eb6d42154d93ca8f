/*
 * test_reaction_backlog.c - when a span of the backlog begins and ends. A ticket waits, and no replica is there: the backlog is the
 * longest there can be, and out_above and in_below say what that means.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "drive/reaction.h"
#include "gate_config.h"

enum word { END, OVER, BETWEEN, BACK, TICK, DECIDED };

struct row {
    const char *name;
    enum word words[16]; /* a second between them */
    uint64_t decided, gone;
    pst_ns longest;
};

static void drain_actions(struct pst_gate *gate)
{
    struct pst_gate_action action;

    while (pst_gate_poll(gate, &action)) {
    }
}

static struct pst_gate *gate_with_one_waiting(void)
{
    const struct pst_gate_config config = small_config(8);
    struct pst_gate_event offer = {.now = PST_S, .kind = PST_EVENT_OFFER};
    struct pst_gate_event arrive = {.now = PST_S, .kind = PST_EVENT_ARRIVE};
    struct pst_gate_class_view view;
    struct pst_gate *gate;

    assert_int_equal(pst_gate_new(&config, &gate), PST_OK);
    offer.u.offer.body_bytes = 100;
    offer.u.offer.pool = PST_POOL_NONE;
    offer.u.offer.weight = 100;
    pst_gate_step(gate, &offer);
    drain_actions(gate);
    arrive.u.arrive.prompt_bytes = 400;
    arrive.u.arrive.sequences = 1;
    arrive.u.arrive.weight = 100;
    pst_gate_step(gate, &arrive);
    drain_actions(gate);
    pst_gate_class_view(gate, 0, (uint8_t)(config.classes_count - 1), PST_S, &view);
    assert_true(view.backlog == PST_NEVER);
    return gate;
}

static void apply(struct pst_reaction *reaction, const struct pst_gate *gate, enum word word,
                  pst_ns now)
{
    const struct pst_scaler_event tick = {.now = now, .kind = PST_SCALER_TICK};
    const struct pst_scaler_action decision = {.kind = PST_SCALER_DECISION};
    struct pst_scaler_config config = {.classes_count = 2, .pools_count = 1};

    config.pools[0].out_above = word == OVER ? PST_NEVER - 1 : PST_NEVER;
    config.pools[0].in_below = word == BACK ? PST_NEVER : PST_NEVER - 1;
    if (word == TICK)
        pst_reaction_scaler_event(reaction, &tick);
    else if (word == DECIDED)
        pst_reaction_scaler_action(reaction, &decision, now);
    else
        pst_reaction_settled(reaction, gate, &config, now);
}

static void test_spans(void **state)
{
    static const struct row rows[] = {
        {"over, seen, decided", {OVER, TICK, DECIDED}, 1, 0, 2 * PST_S},
        {"what was decided before a tick saw it is about something else",
         {OVER, DECIDED, TICK, DECIDED},
         1,
         0,
         3 * PST_S},
        {"no tick saw it", {OVER, BETWEEN, TICK, DECIDED}, 0, 1, 0},
        {"one did, and it was gone when it was decided",
         {OVER, TICK, BACK, TICK, DECIDED},
         1,
         0,
         4 * PST_S},
        {"not back: what was decided stands",
         {OVER, TICK, DECIDED, BETWEEN, TICK, OVER, TICK, TICK, TICK, DECIDED},
         1,
         0,
         2 * PST_S},
        {"back, and no tick saw that: the same",
         {OVER, TICK, DECIDED, BACK, OVER, TICK, TICK, TICK, DECIDED},
         1,
         0,
         2 * PST_S},
        {"back: the next one is another",
         {OVER, TICK, DECIDED, BACK, TICK, OVER, TICK, TICK, DECIDED},
         2,
         0,
         3 * PST_S},
        {"one that was not decided goes on",
         {OVER, TICK, BACK, TICK, OVER, TICK, DECIDED},
         1,
         0,
         6 * PST_S},
    };
    struct pst_gate *gate = gate_with_one_waiting();

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct pst_reaction *reaction = test_calloc(1, sizeof *reaction);

        for (size_t w = 0; row->words[w] != END; w++)
            apply(reaction, gate, row->words[w], (2 + w) * PST_S);
        if (reaction->decided.count != row->decided || reaction->gone != row->gone ||
            reaction->decided.longest != row->longest)
            fail_msg("%s: %u decided, %u gone, longest %u ms", row->name,
                     (unsigned)reaction->decided.count, (unsigned)reaction->gone,
                     (unsigned)(reaction->decided.longest / PST_MS));
        test_free(reaction);
    }
    pst_gate_free(gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spans)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
