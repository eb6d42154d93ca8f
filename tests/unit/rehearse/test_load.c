#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "net/server.h"
#include "rehearse/engine_server.h"
#include "rehearse/load_report.h"

#define GUARD (30 * PST_S)

/* A generator in front of the stand-in engine, or of a server that says what a test wants. */
struct bench {
    struct pst_loop *loop;
    struct pst_engine_server *engine;
    struct pst_server *scripted;
    struct pst_load_traffic mix[4];
    size_t mix_count;
    struct pst_load_plan *plan;
    struct pst_load_run *run;
    bool ended;
};

static void ended(void *user)
{
    ((struct bench *)user)->ended = true;
}

static void add_mix(struct bench *b, const char *text)
{
    const char *why;

    if (pst_load_mix_read(text, &b->mix[b->mix_count++], &why) != PST_OK)
        fail_msg("%s: %s", text, why);
}

static void add_engine(struct bench *b, const char *service, const char *fault)
{
    static const char *const models[] = {"tiny"};
    struct pst_engine_server_config config = {
        .listen = "127.0.0.1:0",
        .model = {.mode = PST_ENGINE_SLOT, .seed = 1, .requests_max = 4096, .slots = 64},
        .speed = 1.0,
        .models = models,
        .models_count = 1,
        .output = {.mean = 8},
    };
    const char *why = NULL;

    assert_int_equal(
        pst_law_read(service, strlen(service), PST_LAW_DURATION, &config.model.service, &why),
        PST_OK);
    if (fault != NULL)
        assert_int_equal(pst_engine_fault_set(&config.faults, fault, &why), PST_OK);
    assert_int_equal(pst_engine_server_new(b->loop, &config, &b->engine), PST_OK);
}

static void begin(struct bench *b, struct pst_load_config config)
{
    const char *why = NULL;

    if (pst_load_plan_new(b->mix, b->mix_count, NULL, 1.0, 1, &b->plan, &why) != PST_OK)
        fail_msg("%s", why);
    config.host = "127.0.0.1";
    config.port =
        b->engine != NULL ? pst_engine_server_port(b->engine) : pst_server_port(b->scripted);
    config.mix = b->mix;
    config.mix_count = b->mix_count;
    config.plan = b->plan;
    config.seed = 1;
    config.ended = ended;
    config.user = b;
    assert_int_equal(pst_load_run_new(b->loop, &config, &b->run), PST_OK);
}

static void run_to_end(struct bench *b)
{
    pst_ns guard = pst_clock_now() + GUARD;

    while (!b->ended) {
        assert_true(pst_loop_turn(b->loop, 100 * PST_MS) == PST_OK);
        if (pst_clock_now() > guard)
            fail_msg("the run does not end");
    }
}

static void done(struct bench *b)
{
    const struct pst_load_tally *tally = pst_load_run_tally(b->run);

    for (size_t i = 0; i < tally->classes_count; i++) {
        uint64_t sum = 0;

        for (int k = 0; k < PST_LOAD_OUTCOME_COUNT; k++)
            sum += tally->classes[i].outcomes[k];
        assert_int_equal(sum, tally->classes[i].sent);
    }
    pst_load_run_free(b->run);
    pst_load_plan_free(b->plan);
    pst_engine_server_free(b->engine);
    pst_server_free(b->scripted);
    pst_loop_free(b->loop);
}

static struct pst_load_config second(void)
{
    return (struct pst_load_config){
        .duration = PST_S, .drain = 20 * PST_S, .connections_max = 1000};
}

static void setup(struct bench *b)
{
    *b = (struct bench){0};
    assert_int_equal(pst_loop_new(&b->loop), PST_OK);
}

static void counts_add_up_in_front_of_an_engine(void **state)
{
    const struct pst_load_tally *tally;
    const struct pst_load_class *high, *low;
    struct pst_load_config config = second();
    struct pst_engine_stats s;
    struct bench b;

    (void)state;
    setup(&b);
    add_engine(&b, "exp:5ms", NULL);
    add_mix(&b, "class=high,rate=100,stream=1,output=5,prompt=10");
    add_mix(&b, "class=low,rate=200,output=3,prompt=20");
    add_mix(&b, "class=low,rate=20,path=/v1/embeddings,prompt=20");
    config.warmup = 300 * PST_MS;
    begin(&b, config);
    run_to_end(&b);
    pst_engine_server_stats(b.engine, &s);
    tally = pst_load_run_tally(b.run);
    assert_int_equal(tally->classes_count, 2);
    high = &tally->classes[0];
    low = &tally->classes[1];
    assert_int_equal(s.received, high->sent + low->sent + tally->unmeasured);
    assert_int_equal(s.completed, s.received);
    assert_int_equal(s.ids_twice, 0);
    assert_true(tally->unmeasured > 30 && high->sent > 30 && low->sent > 80);
    assert_int_equal(high->outcomes[PST_LOAD_COMPLETED], high->sent);
    assert_int_equal(low->outcomes[PST_LOAD_COMPLETED], low->sent);
    assert_int_equal(high->tokens_out, 5 * high->sent);
    assert_int_equal(high->tokens_in, 10 * high->sent);
    assert_int_equal(low->tokens_in, 20 * low->sent);
    assert_int_equal(high->first.count, high->sent);
    assert_true(high->between.count > high->sent); /* tokens that came apart */
    assert_int_equal(low->between.count, 0);
    assert_int_equal(low->wait_seen.count, low->sent);
    assert_int_equal(tally->measured, 700 * PST_MS);
    done(&b);
}

static void a_silent_server_is_sent_to_all_the_same(void **state)
{
    struct pst_load_config config = second();
    const struct pst_load_class *class_;
    struct pst_engine_stats s;
    struct bench b;

    (void)state;
    setup(&b);
    add_engine(&b, "1ms", "hang");
    add_mix(&b, "rate=200,arrivals=const");
    config.drain = PST_S;
    begin(&b, config);
    run_to_end(&b);
    class_ = &pst_load_run_tally(b.run)->classes[0];
    assert_string_equal(class_->name, "-");
    assert_int_equal(class_->sent, 199); /* one each 5 ms, the first after the first gap */
    assert_int_equal(class_->outcomes[PST_LOAD_UNFINISHED], 199);
    pst_engine_server_stats(b.engine, &s);
    assert_int_equal(s.received, 199);
    assert_int_equal(pst_load_run_tally(b.run)->in_flight_max, 199);
    done(&b);
}

/* One connection, 20 ms of service, an arrival each 10 ms: the k-th waits 10 k ms more. */
static void waits_are_counted_from_the_intended_moment(void **state)
{
    struct pst_load_config config = second();
    const struct pst_load_tally *tally;
    struct bench b;

    (void)state;
    setup(&b);
    add_engine(&b, "20ms", NULL);
    add_mix(&b, "rate=100,arrivals=const");
    config.duration = 405 * PST_MS;
    config.connections_max = 1;
    begin(&b, config);
    run_to_end(&b);
    tally = pst_load_run_tally(b.run);
    assert_int_equal(tally->classes[0].outcomes[PST_LOAD_COMPLETED], 40);
    assert_int_equal(tally->in_flight_max, 1);
    assert_true(tally->classes[0].total.max >= (20 + 39 * 10) * PST_MS);
    assert_true(pst_hist_quantile(&tally->classes[0].total, 500000) >= 200 * PST_MS);
    assert_true(tally->classes[0].wait_seen.max >= 39 * 10 * PST_MS);
    assert_true(tally->late.max >= 39 * 10 * PST_MS); /* and that it was sent late is said */
    done(&b);
}

/* What the scripted server does with the n-th request. */
struct answer {
    uint16_t status; /* 0: the connection is cut; 1: in the middle of a body */
    const char *type, *body;
    struct pst_header header; /* one more */
    enum pst_load_outcome outcome;
    bool bare;
};

#define JSON   "application/json"
#define EVENTS "text/event-stream"
#define HEADER(name, value)                                                                        \
    {                                                                                              \
        {(name), sizeof(name) - 1},                                                                \
        {                                                                                          \
            (value), sizeof(value) - 1                                                             \
        }                                                                                          \
    }
#define GOOD "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"

static const struct answer answers[] = {
    {200, JSON, "{}", HEADER("Server-Timing", "queue;dur=12.5"), PST_LOAD_COMPLETED, 0},
    {200, JSON, "{}", HEADER("server-timing", "a;dur=3, queue;dur=40;desc=x"), PST_LOAD_COMPLETED,
     0},
    {200, JSON, "{}", HEADER("server-timing", "my-queue;dur=3"), PST_LOAD_COMPLETED, 0},
    {429, JSON, "{}", HEADER("Retry-After", "3"), PST_LOAD_REFUSED, 0},
    {429, JSON, "{}", HEADER("X-Nothing", "3"), PST_LOAD_REFUSED, 1},
    {429, JSON, "{}", HEADER("x-llm-d-request-dropped-reason", "rejected-ttl-expired"),
     PST_LOAD_EXPIRED, 0},
    {503, JSON, "{}", HEADER("retry-after-ms", "1500"), PST_LOAD_REFUSED, 0},
    {503, JSON, "{}", HEADER("X-Nothing", "3"), PST_LOAD_FAILED, 0},
    {529, JSON, "{}", HEADER("Retry-After", "1"), PST_LOAD_REFUSED, 0},
    {404, JSON, "{}", HEADER("Retry-After", "1"), PST_LOAD_FAILED, 0},
    {200, EVENTS, GOOD "data: [DONE]\n\n", HEADER("X-Nothing", "3"), PST_LOAD_COMPLETED, 0},
    {200, EVENTS, GOOD, HEADER("X-Nothing", "3"), PST_LOAD_FAILED, 0},
    {200, EVENTS, GOOD "data: {\"error\":{\"code\":500}}\n\ndata: [DONE]\n\n",
     HEADER("X-Nothing", "3"), PST_LOAD_FAILED, 0},
    {1, JSON, "{", HEADER("X-Nothing", "3"), PST_LOAD_FAILED, 0},
    /* On a fresh connection now; on a reused one it would be sent once more. */
    {0, JSON, "", HEADER("X-Nothing", "3"), PST_LOAD_FAILED, 0},
};

struct script {
    size_t count;
    bool refuse_first_tries;
    uint64_t retried;
};

static void scripted_head(struct pst_exchange *x, const struct pst_head *head)
{
    struct script *script = pst_exchange_server_user(x);
    const struct pst_header *retry = pst_head_find(head, PST_SLICE("x-stainless-retry-count"));

    if (retry != NULL) {
        assert_true(pst_slice_equal(retry->value, PST_SLICE("1")));
        script->retried++;
    }
    pst_exchange_set_user(x, retry == NULL ? NULL : script); /* not NULL: a retry */
    pst_exchange_read(x, true);
}

static void scripted_body(struct pst_exchange *x, const char *data, size_t len)
{
    (void)x, (void)data, (void)len;
}

static void scripted_answer(struct pst_exchange *x)
{
    struct script *script = pst_exchange_server_user(x);
    bool first_try = pst_exchange_user(x) == NULL;
    const struct answer *a = &answers[script->count++ % PST_COUNT_OF(answers)];
    struct pst_header headers[2] = {{PST_SLICE("Content-Type"), {0}}, a->header};
    size_t len = strlen(a->body);

    headers[0].value = pst_slice_of(a->type);
    if (script->refuse_first_tries) {
        headers[0].value = PST_SLICE(JSON);
        headers[1] = (struct pst_header)HEADER("retry-after-ms", "5");
        pst_exchange_respond(x, first_try ? 429 : 200, headers, 2, 2);
        pst_exchange_write(x, "{}", 2);
        pst_exchange_end(x);
        return;
    }
    if (a->status >= 200) {
        pst_exchange_respond(x, a->status, headers, 2, len);
        pst_exchange_write(x, a->body, len);
        pst_exchange_end(x);
        return;
    }
    if (a->status == 1) {
        pst_exchange_respond(x, 200, headers, 2, 100);
        pst_exchange_write(x, a->body, len);
    }
    pst_exchange_abort(x);
}

static void scripted_gone(struct pst_exchange *x)
{
    (void)x;
}

static void add_script(struct bench *b, struct script *script)
{
    static const struct pst_server_handler handler = {
        .head = scripted_head,
        .body = scripted_body,
        .body_end = scripted_answer,
        .drained = scripted_gone,
        .gone = scripted_gone,
    };
    struct pst_server_config config = {
        .handler = &handler,
        .user = script,
        .head_max = 32768,
        .connections_max = 100,
        .head_timeout = 10 * PST_S,
        .body_timeout = 10 * PST_S,
        .idle_timeout = 10 * PST_S,
        .write_stall = 10 * PST_S,
    };

    assert_int_equal(pst_server_new(b->loop, &config, &b->scripted), PST_OK);
    assert_int_equal(pst_server_listen(b->scripted, "127.0.0.1:0"), PST_OK);
}

static void every_answer_has_its_outcome(void **state)
{
    uint64_t want[PST_LOAD_OUTCOME_COUNT] = {0}, bare = 0;
    struct pst_load_config config = second();
    const struct pst_load_tally *tally;
    struct script script = {0};
    struct pst_text text = {0};
    struct bench b;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(answers); i++) {
        want[answers[i].outcome]++;
        bare += answers[i].bare;
    }
    setup(&b);
    add_script(&b, &script);
    add_mix(&b, "class=high,rate=1000,arrivals=const");
    config.duration = PST_COUNT_OF(answers) * PST_MS + PST_MS; /* as many as there are answers */
    config.connections_max = 1;                                /* they come in order */
    begin(&b, config);
    run_to_end(&b);
    tally = pst_load_run_tally(b.run);
    assert_int_equal(tally->classes[0].sent, PST_COUNT_OF(answers));
    for (int i = 0; i < PST_LOAD_OUTCOME_COUNT; i++)
        if (tally->classes[0].outcomes[i] != want[i])
            fail_msg("%s: %llu, not %llu", pst_load_outcome_name((enum pst_load_outcome)i),
                     (unsigned long long)tally->classes[0].outcomes[i],
                     (unsigned long long)want[i]);
    assert_int_equal(tally->classes[0].refused_bare, bare);
    assert_int_equal(tally->statuses[503], 1);
    assert_int_equal(tally->statuses[404], 1);
    assert_int_equal(tally->broken_streams, 2);
    assert_int_equal(tally->ends[PST_CALL_CUT], 1);
    /* server-timing: two of three entries are the queue's */
    assert_int_equal(tally->classes[0].wait_told.count, 2);
    assert_int_equal(tally->classes[0].wait_told.sum, 52500 * PST_US);

    pst_load_report_table(tally, &text);
    assert_non_null(strstr(text.at, "1 x status 404"));
    assert_non_null(strstr(text.at, "refused without Retry-After: 1"));
    pst_text_clear(&text);
    assert_int_equal(pst_load_report_json(tally, &text), PST_OK);
    assert_non_null(strstr(text.at, "\"broken stream\":\t2"));
    pst_text_done(&text);
    done(&b);
}

static void refused_requests_come_again_when_asked_to(void **state)
{
    for (uint32_t retries = 0; retries < 2; retries++) {
        struct script script = {.refuse_first_tries = true};
        struct pst_load_config config = second();
        const struct pst_load_class *class_;
        struct bench b;

        (void)state;
        setup(&b);
        add_script(&b, &script);
        add_mix(&b, "rate=500,arrivals=const");
        config.duration = 101 * PST_MS;
        config.retries_max = retries;
        begin(&b, config);
        run_to_end(&b);
        class_ = &pst_load_run_tally(b.run)->classes[0];
        assert_int_equal(class_->sent, 50);
        assert_int_equal(script.retried, retries * 50);
        assert_int_equal(class_->retries, retries * 50);
        assert_int_equal(class_->outcomes[retries ? PST_LOAD_COMPLETED : PST_LOAD_REFUSED], 50);
        if (retries) /* the wait before the retry is part of it */
            assert_true(pst_hist_quantile(&class_->total, 10000) >= 4900 * PST_US);
        done(&b);
    }
}

static void nobody_there_is_a_failure_each(void **state)
{
    struct pst_load_config config = second();
    struct script script = {0};
    struct bench b;

    (void)state;
    setup(&b);
    add_script(&b, &script);
    add_mix(&b, "rate=500,arrivals=const");
    config.duration = 101 * PST_MS;
    begin(&b, config);
    pst_server_drain(b.scripted); /* the port refuses from here on */
    run_to_end(&b);
    assert_int_equal(pst_load_run_tally(b.run)->ends[PST_CALL_REFUSED], 50);
    done(&b);
}

static void a_stopped_run_has_what_there_is(void **state)
{
    const struct pst_load_class *class_;
    struct pst_load_progress progress;
    struct bench b;

    (void)state;
    setup(&b);
    add_engine(&b, "1ms", "hang@0.5");
    add_mix(&b, "rate=500");
    begin(&b, second());
    do {
        assert_true(pst_loop_turn(b.loop, 100 * PST_MS) == PST_OK);
        pst_load_run_progress(b.run, &progress);
    } while (progress.outcomes[PST_LOAD_COMPLETED] < 20 || progress.in_flight < 5);
    pst_load_run_stop(b.run);
    class_ = &pst_load_run_tally(b.run)->classes[0];
    assert_true(class_->outcomes[PST_LOAD_COMPLETED] >= 20);
    assert_int_equal(class_->outcomes[PST_LOAD_UNFINISHED], progress.in_flight);
    assert_false(b.ended);
    done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_add_up_in_front_of_an_engine),
        cmocka_unit_test(a_silent_server_is_sent_to_all_the_same),
        cmocka_unit_test(waits_are_counted_from_the_intended_moment),
        cmocka_unit_test(every_answer_has_its_outcome),
        cmocka_unit_test(refused_requests_come_again_when_asked_to),
        cmocka_unit_test(nobody_there_is_a_failure_each),
        cmocka_unit_test(a_stopped_run_has_what_there_is),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
