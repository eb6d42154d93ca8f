#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/num.h"
#include "model/engine.h"

/*
 * A row is a configuration, events and the trace they give. Events, one a word:
 *   NAME:PROMPT/OUTPUT[*SEQUENCES]   add request NAME (a letter); a capital wants its tokens said
 *   -NAME                            cancel
 *   +MS                              run until so many ms later, stepping at every deadline
 * The trace names what came, with its moment in ms since the last one that differed:
 *   @MS  >x start  x1 x2 tokens  .x done  !x refused  ~x too long
 */
#define SLOT(slots_, ms)                                                                           \
    {                                                                                              \
        .mode = PST_ENGINE_SLOT, .slots = (slots_), .service = {.mean = (ms)*1e6},                 \
        .requests_max = 32                                                                         \
    }
#define TOKEN(slots_, budget, blocks, block_tokens)                                                \
    {                                                                                              \
        .mode = PST_ENGINE_TOKEN, .slots = (slots_), .requests_max = 32,                           \
        .iteration_min = 10 * PST_MS, .iteration_base = 5 * PST_MS, .iteration_token = PST_MS,     \
        .iteration_tokens_max = (budget), .kv_blocks = (blocks), .kv_block_tokens = (block_tokens) \
    }

static const struct row {
    const char *promise;
    struct pst_engine_config config;
    uint32_t admitted_max;
    const char *events;
    const char *trace;
} rows[] = {
    {"slot: one after the other", SLOT(1, 10), 0, "a:5/1 b:5/1 +50", "@0 >a @10 .a >b @20 .b"},
    {"slot: two places run together", SLOT(2, 10), 0, "a:5/1 b:5/1 c:5/1 +50",
     "@0 >a >b @10 .a .b >c @20 .c"},
    {"slot: tokens are spread over the service", SLOT(1, 30), 0, "A:5/3 +50",
     "@0 >A @10 A1 @20 A2 @30 A3 .A"},
    {"slot: an embedding has no tokens", SLOT(1, 10), 0, "A:5/0 +50", "@0 >A @10 .A"},
    {"slot: cancel frees the place at the next step", SLOT(1, 10), 0, "a:5/1 b:5/1 +4 -a +50",
     "@0 >a @4 >b @14 .b"},
    {"slot: cancel of a waiting one leaves the order", SLOT(1, 10), 0, "a:1/1 b:1/1 c:1/1 -b +50",
     "@0 >a @10 .a >c @20 .c"},
    {"slot: three sequences take three places", SLOT(4, 10), 0, "a:1/1*3 b:1/1*2 c:1/1 +50",
     "@0 >a @10 .a >b >c @20 .b .c"},
    {"slot: more sequences than places take them all", SLOT(2, 10), 0, "a:1/1*9 b:1/1 +50",
     "@0 >a @10 .a >b @20 .b"},
    {"slot: admission counts running and waiting", SLOT(1, 10), 2, "a:1/1 b:1/1 c:1/1 +50",
     "@0 >a !c @10 .a >b @20 .b"},
    {"slot: a place that was left admits again", SLOT(1, 10), 2, "a:1/1 b:1/1 -b c:1/1 +50",
     "@0 >a @10 .a >c @20 .c"},

    {"token: prefill, then a token an iteration", TOKEN(4, 100, 100, 16), 0, "A:20/3 +100",
     "@0 >A @25 A1 @35 A2 @45 A3 .A"},
    {"token: iteration_min holds when there is little to do", TOKEN(4, 100, 100, 16), 0,
     "A:1/2 +100", "@0 >A @10 A1 @20 A2 .A"},
    {"token: a prompt beyond the budget comes in chunks", TOKEN(4, 8, 100, 16), 0, "A:20/1 +100",
     "@0 >A @36 A1 .A"},
    {"token: decoding goes first, prefill takes the rest of the budget", TOKEN(4, 8, 100, 16), 0,
     "A:8/4 B:14/1 +100", "@0 >A @13 A1 >B @26 A2 @39 A3 B1 .B @49 A4 .A"},
    {"token: who comes in the middle joins at the next iteration", TOKEN(4, 100, 100, 16), 0,
     "A:20/2 +7 B:10/1 +100", "@0 >A @25 A1 >B @41 A2 .A B1 .B"},
    {"token: places bound the batch", TOKEN(1, 100, 100, 16), 0, "a:5/1 b:5/1 +100",
     "@0 >a @10 .a >b @20 .b"},
    {"token: an embedding ends with its prefill", TOKEN(4, 100, 100, 16), 0, "a:20/0 +100",
     "@0 >a @25 .a"},
    {"token: what can never fit is too long", TOKEN(4, 100, 2, 16), 0, "a:33/0 b:32/0 +100",
     "@0 ~a >b @37 .b"},
    {"token: no blocks, no admission", TOKEN(4, 100, 2, 16), 0, "a:17/1 b:5/1 +100",
     "@0 >a @22 .a >b @32 .b"},
    {"token: blocks run out: the last one goes and computes its context again", TOKEN(4, 100, 3, 4),
     0, "A:4/4 B:4/4 +200",
     /* A's fifth token takes the second block, B's prompt the third; B's next finds none */
     "@0 >A @10 A1 >B @20 A2 B1 @30 A3 @40 A4 .A @50 B2 @60 B3 @70 B4 .B"},
    {"token: sequences decode side by side", TOKEN(4, 100, 100, 16), 0, "A:10/2*4 +100",
     "@0 >A @15 A1 @25 A2 .A"},
    {"token: cancel in the middle gives its blocks back", TOKEN(4, 100, 2, 16), 0,
     "a:17/5 b:5/1 +30 -a +100", "@0 >a @32 >b @42 .b"},
    {"token: after a pause time starts anew", TOKEN(4, 100, 100, 16), 0, "a:5/1 +40 b:5/1 +40",
     "@0 >a @10 .a @40 >b @50 .b"},
};

struct runner {
    struct pst_engine *engine;
    const char *promise;
    pst_ns now, said;
    char trace[1024];
    size_t len;
};

static uint32_t number_of(char name)
{
    return name >= 'a' ? (uint32_t)(name - 'a') : (uint32_t)(name - 'A');
}

static void say(struct runner *r, const char *text)
{
    if (r->said != r->now) {
        r->said = r->now;
        r->len += (size_t)snprintf(r->trace + r->len, sizeof r->trace - r->len, "%s@%llu",
                                   r->len == 0 ? "" : " ", (unsigned long long)(r->now / PST_MS));
    }
    r->len += (size_t)snprintf(r->trace + r->len, sizeof r->trace - r->len, " %s", text);
    assert_true(r->len < sizeof r->trace);
}

static void step(struct runner *r, struct pst_engine_event event, const char *names)
{
    struct pst_engine_action action;
    char text[16];

    event.now = r->now;
    pst_engine_step(r->engine, &event);
    while (pst_engine_poll(r->engine, &action)) {
        char name = names[action.request];

        switch (action.kind) {
        case PST_ENGINE_REFUSED:
            snprintf(text, sizeof text, "!%c", name);
            break;
        case PST_ENGINE_TOO_LONG:
            snprintf(text, sizeof text, "~%c", name);
            break;
        case PST_ENGINE_START:
            snprintf(text, sizeof text, ">%c", name);
            break;
        case PST_ENGINE_TOKENS:
            snprintf(text, sizeof text, "%c%u", name, action.count);
            break;
        case PST_ENGINE_DONE:
            snprintf(text, sizeof text, ".%c", name);
            break;
        case PST_ENGINE_ACTION_COUNT:
            fail();
        }
        say(r, text);
        pst_engine_verify(r->engine);
    }
    pst_engine_verify(r->engine);
    if (pst_engine_deadline(r->engine) <= r->now)
        fail_msg("%s: polled dry, and still due", r->promise);
}

static void run_until(struct runner *r, pst_ns until, const char *names)
{
    while (pst_engine_deadline(r->engine) <= until) {
        r->now = pst_engine_deadline(r->engine);
        step(r, (struct pst_engine_event){.kind = PST_ENGINE_TIME}, names);
    }
    r->now = until;
    step(r, (struct pst_engine_event){.kind = PST_ENGINE_TIME}, names);
}

static void run_row(const struct row *row)
{
    struct pst_engine_config config = row->config;
    struct runner r = {.promise = row->promise, .said = PST_NEVER};
    char names[32] = {0}, events[256], *save = NULL;

    config.admitted_max = row->admitted_max;
    assert_int_equal(pst_engine_new(&config, &r.engine), PST_OK);
    snprintf(events, sizeof events, "%s", row->events);
    for (char *word = strtok_r(events, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        unsigned prompt, output, sequences = 1;

        if (*word == '+') {
            run_until(&r, r.now + strtoull(word + 1, NULL, 10) * PST_MS, names);
        } else if (*word == '-') {
            step(
                &r,
                (struct pst_engine_event){.kind = PST_ENGINE_CANCEL, .request = number_of(word[1])},
                names);
        } else {
            assert_true(sscanf(word + 1, ":%u/%u*%u", &prompt, &output, &sequences) >= 2);
            names[number_of(*word)] = *word;
            step(&r,
                 (struct pst_engine_event){.kind = PST_ENGINE_ADD,
                                           .request = number_of(*word),
                                           .prompt_tokens = prompt,
                                           .output_tokens = output,
                                           .sequences = (uint16_t)sequences,
                                           .tokens = *word < 'a'},
                 names);
        }
    }
    if (strcmp(r.trace, row->trace) != 0)
        fail_msg("%s:\n  want %s\n  got  %s", row->promise, row->trace, r.trace);
    pst_engine_free(r.engine);
}

static void traces_are_as_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        run_row(&rows[i]);
}

/* Random traffic: invariants hold at every step, counts add up, one seed is one history. */
static uint64_t storm(enum pst_engine_mode mode, uint64_t seed)
{
    struct pst_engine_config config = {
        .mode = mode,
        .seed = seed,
        .requests_max = 64,
        .slots = 7,
        .admitted_max = 40,
        .service = {.kind = PST_LAW_EXP, .mean = 10e6},
        .iteration_min = PST_MS,
        .iteration_token = 10 * PST_US,
        .iteration_tokens_max = 32,
        .kv_blocks = 24,
        .kv_block_tokens = 8,
    };
    struct pst_engine_action action;
    struct pst_engine_view view;
    struct pst_engine *engine;
    struct pst_prng prng;
    bool busy[64] = {false}, started[64] = {false};
    uint64_t hash = 0, added = 0, ended = 0;
    pst_ns now = 0;

    assert_int_equal(pst_engine_new(&config, &engine), PST_OK);
    pst_prng_init(&prng, seed);
    for (int n = 0; n < 20000; n++) {
        uint32_t i = (uint32_t)pst_prng_below(&prng, 64);
        struct pst_engine_event event = {.kind = PST_ENGINE_TIME, .request = i};

        now += pst_prng_below(&prng, 3 * PST_MS);
        event.now = now;
        if (!busy[i] && n < 18000) {
            event.kind = PST_ENGINE_ADD;
            event.prompt_tokens = 1 + (uint32_t)pst_prng_below(&prng, 60);
            event.output_tokens = (uint32_t)pst_prng_below(&prng, 20);
            event.sequences = (uint16_t)(1 + pst_prng_below(&prng, 2));
            event.tokens = pst_prng_below(&prng, 2) == 0;
            busy[i] = true;
            started[i] = false;
            added++;
        } else if (pst_prng_below(&prng, 10) == 0) {
            event.kind = PST_ENGINE_CANCEL;
            ended += busy[i];
            busy[i] = false;
        }
        pst_engine_step(engine, &event);
        while (pst_engine_poll(engine, &action)) {
            assert_true(busy[action.request]);
            hash = pst_mix64(hash ^ now ^ ((uint64_t)action.kind << 40) ^ action.request ^
                             ((uint64_t)action.count << 20));
            switch (action.kind) {
            case PST_ENGINE_REFUSED:
            case PST_ENGINE_TOO_LONG:
                assert_false(started[action.request]);
                busy[action.request] = false;
                ended++;
                break;
            case PST_ENGINE_START:
                assert_false(started[action.request]);
                started[action.request] = true;
                break;
            case PST_ENGINE_TOKENS:
                assert_true(started[action.request]);
                break;
            case PST_ENGINE_DONE:
                assert_true(started[action.request]);
                busy[action.request] = false;
                ended++;
                break;
            case PST_ENGINE_ACTION_COUNT:
                fail();
            }
        }
        pst_engine_verify(engine);
    }
    pst_engine_view(engine, &view);
    assert_int_equal(added, ended);
    assert_int_equal(view.running + view.waiting + view.kv_blocks_used, 0);
    assert_true(added > 1000);
    if (mode == PST_ENGINE_TOKEN)
        assert_true(view.preemptions > 10);
    pst_engine_free(engine);
    return hash;
}

static void invariants_hold_in_a_storm(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        assert_int_equal(storm(PST_ENGINE_SLOT, seed), storm(PST_ENGINE_SLOT, seed));
        assert_int_equal(storm(PST_ENGINE_TOKEN, seed), storm(PST_ENGINE_TOKEN, seed));
    }
    assert_int_not_equal(storm(PST_ENGINE_SLOT, 1), storm(PST_ENGINE_SLOT, 2));
}

/* The same history on every compiler, in every build. */
static void a_storm_is_the_same_everywhere(void **state)
{
    (void)state;
    assert_int_equal(storm(PST_ENGINE_SLOT, 1), UINT64_C(0x331c9735165a684));
    assert_int_equal(storm(PST_ENGINE_TOKEN, 1), UINT64_C(0xe4876f22aabc4657));
}

/* M/M/1: the mean time in system is S / (1 - rho). The model is a queue, so it must know. */
static void slot_mode_agrees_with_queueing_theory(void **state)
{
    struct pst_engine_config config = {.mode = PST_ENGINE_SLOT,
                                       .seed = 5,
                                       .requests_max = 4096,
                                       .slots = 1,
                                       .service = {.kind = PST_LAW_EXP, .mean = 10e6}};
    struct pst_law gap = {.kind = PST_LAW_EXP, .mean = 20e6};
    pst_ns arrived[4096], next = 0, total = 0;
    struct pst_engine_action action;
    struct pst_engine *engine;
    struct pst_prng prng;
    uint64_t added = 0, done = 0;

    (void)state;
    assert_int_equal(pst_engine_new(&config, &engine), PST_OK);
    pst_prng_init(&prng, 9);
    while (done < 200000) {
        pst_ns due = pst_engine_deadline(engine);
        struct pst_engine_event event = {.now = due, .kind = PST_ENGINE_TIME};

        if (next < due) {
            event = (struct pst_engine_event){.now = next,
                                              .kind = PST_ENGINE_ADD,
                                              .request = (uint32_t)(added % 4096),
                                              .prompt_tokens = 1,
                                              .output_tokens = 1,
                                              .sequences = 1};
            arrived[added++ % 4096] = next;
            next += pst_law_draw(&gap, &prng, 0, 0);
        }
        pst_engine_step(engine, &event);
        while (pst_engine_poll(engine, &action)) {
            if (action.kind == PST_ENGINE_DONE) {
                total += event.now - arrived[action.request];
                done++;
            }
        }
    }
    assert_in_range(total / done, 19400 * PST_US, 20600 * PST_US);
    pst_engine_free(engine);
}

static void numbers_out_of_range_are_refused(void **state)
{
    struct pst_engine_config good = TOKEN(4, 100, 100, 16), bad;
    struct pst_engine *engine = NULL;

    (void)state;
#define REFUSES(change)                                                                            \
    bad = good;                                                                                    \
    bad.change;                                                                                    \
    assert_int_equal(pst_engine_new(&bad, &engine), PST_E_INVALID);                                \
    assert_null(engine)
    REFUSES(slots = 0);
    REFUSES(requests_max = 0);
    REFUSES(iteration_tokens_max = 0);
    REFUSES(kv_blocks = 0);
    REFUSES(kv_block_tokens = 0);
    REFUSES(iteration_min = bad.iteration_base = 0);
    pst_engine_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traces_are_as_written),
        cmocka_unit_test(invariants_hold_in_a_storm),
        cmocka_unit_test(a_storm_is_the_same_everywhere),
        cmocka_unit_test(slot_mode_agrees_with_queueing_theory),
        cmocka_unit_test(numbers_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
