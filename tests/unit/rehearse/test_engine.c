#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "net/upstream.h"
#include "rehearse/engine_server.h"
#include "base/text.h"

#define GUARD (20 * PST_S) /* against hanging; nothing is measured by it */

/* The engine and its clients, on one loop, over real sockets. */
struct bench {
    struct pst_loop *loop;
    struct pst_engine_server *engine;
    struct pst_upstream *upstream;
    bool opened, ended;
};

struct client {
    struct pst_call call;
    struct pst_chain body;
    struct pst_text text;
    uint16_t status;
    bool over;
    enum pst_call_end how;
};

static struct client *client_of(struct pst_call *call)
{
    return (struct client *)(void *)((char *)call - offsetof(struct client, call));
}

static void client_head(struct pst_call *call, const struct pst_head *head)
{
    client_of(call)->status = head->status;
}

static void client_body(struct pst_call *call, const char *data, size_t len)
{
    pst_text_add(&client_of(call)->text, data, len);
}

static void client_end(struct pst_call *call, enum pst_call_end how)
{
    client_of(call)->over = true;
    client_of(call)->how = how;
}

static const struct pst_call_handler handler = {client_head, client_body, client_end};

static void opened(void *user, uint16_t port)
{
    assert_int_not_equal(port, 0);
    ((struct bench *)user)->opened = true;
}

static void ended(void *user)
{
    ((struct bench *)user)->ended = true;
}

static const char *const models[] = {"tiny", "other"};

static struct pst_engine_server_config base_config(enum pst_engine_like like)
{
    return (struct pst_engine_server_config){
        .listen = "127.0.0.1:0",
        .like = like,
        .model = {.mode = PST_ENGINE_TOKEN,
                  .seed = 1,
                  .requests_max = 64,
                  .slots = 4,
                  .iteration_min = PST_MS,
                  .iteration_token = PST_US,
                  .iteration_tokens_max = 512,
                  .kv_blocks = 1000,
                  .kv_block_tokens = 16,
                  .service = {.mean = 5e6}},
        .speed = 1.0,
        .models = models,
        .models_count = 2,
        .output = {.mean = 8},
        .cancel_lag = 50 * PST_MS,
        .listening = opened,
        .ended = ended,
    };
}

static void setup(struct bench *b, struct pst_engine_server_config config, const char *fault)
{
    struct pst_upstream_config upstream = {.host = "127.0.0.1",
                                           .connect_timeout = 5 * PST_S,
                                           .idle_timeout = 5 * PST_S,
                                           .idle_max = 16,
                                           .head_max = 16384};
    const char *why = NULL;

    *b = (struct bench){0};
    config.user = b;
    if (fault[0] != '\0' && pst_engine_fault_set(&config.faults, fault, &why) != PST_OK)
        fail_msg("%s: %s", fault, why);
    assert_int_equal(pst_loop_new(&b->loop), PST_OK);
    assert_int_equal(pst_engine_server_new(b->loop, &config, &b->engine), PST_OK);
    upstream.port = pst_engine_server_port(b->engine);
    assert_int_equal(pst_upstream_new(b->loop, &upstream, &b->upstream), PST_OK);
}

static void teardown(struct bench *b)
{
    struct pst_engine_stats s;

    pst_engine_server_stats(b->engine, &s);
    assert_int_equal(s.received, s.completed + s.failed + s.refused + s.cancelled + s.open);
    pst_upstream_free(b->upstream);
    pst_engine_server_free(b->engine);
    pst_loop_free(b->loop);
}

static void start(struct bench *b, struct client *c, const char *method, const char *path,
                  const char *body)
{
    char head[512];
    int len = snprintf(head, sizeof head,
                       "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %zu\r\n"
                       "X-Request-Id: %s\r\n\r\n",
                       method, path, pst_upstream_authority(b->upstream), strlen(body), path);

    *c = (struct client){.call = {.handler = &handler}};
    pst_chain_init(&c->body);
    assert_int_equal(pst_chain_append(&c->body, body, strlen(body), 0), PST_OK);
    assert_int_equal(
        pst_call_start(b->upstream, &c->call, pst_slice(head, (size_t)len), &c->body, false),
        PST_OK);
}

static void finish(struct client *c)
{
    pst_call_cancel(&c->call);
    pst_chain_done(&c->body);
    pst_text_done(&c->text);
}

#define TURN_UNTIL(b, condition)                                                                   \
    do {                                                                                           \
        pst_ns guard_ = pst_clock_now() + GUARD;                                                   \
        while (!(condition)) {                                                                     \
            assert_true(pst_loop_turn((b)->loop, 100 * PST_MS) == PST_OK);                         \
            if (pst_clock_now() > guard_)                                                          \
                fail_msg("never: %s", #condition);                                                 \
        }                                                                                          \
    } while (0)

static bool contains(const struct client *c, const char *text)
{
    return c->text.len > 0 && strstr(c->text.at, text) != NULL;
}

static struct pst_engine_stats stats(const struct bench *b)
{
    struct pst_engine_stats s;

    pst_engine_server_stats(b->engine, &s);
    return s;
}

#define CHAT "/v1/chat/completions"
#define PLAIN                                                                                      \
    "{\"model\":\"tiny\",\"max_tokens\":4,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
#define STREAM      "{\"stream\":true,\"max_tokens\":4,\"messages\":[]}"
#define LONG_STREAM "{\"stream\":true,\"max_tokens\":12,\"messages\":[]}"
#define BUSY        "\"code\":503"
#define INTERNAL    "\"code\":500"
#define DONE        "data: [DONE]"

static const struct row {
    const char *promise;
    enum pst_engine_like like;
    const char *fault, *path, *body;
    enum pst_call_end how;
    uint16_t status;
    const char *has, *has_not; /* in the body */
} rows[] = {
    {"a plain answer", 0, "", CHAT, PLAIN, PST_CALL_DONE, 200,
     "\"content\":\" water flows where gates\"", DONE},
    {"usage counts tokens", 0, "", CHAT, PLAIN, PST_CALL_DONE, 200,
     "\"prompt_tokens\":1,\"completion_tokens\":4,\"total_tokens\":5", NULL},
    {"the request id is the answer's", 0, "", CHAT, PLAIN, PST_CALL_DONE, 200, "chatcmpl-/v1/chat",
     NULL},
    {"a stream begins with the role", 0, "", CHAT, STREAM, PST_CALL_DONE, 200,
     "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}", "usage"},
    {"a stream ends", 0, "", CHAT, STREAM, PST_CALL_DONE, 200,
     "\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n", NULL},
    {"usage when asked for", 0, "", CHAT,
     "{\"stream\":true,\"max_tokens\":2,\"stream_options\":{\"include_usage\":true}}",
     PST_CALL_DONE, 200, "\"choices\":[],\"usage\":{", NULL},
    {"n choices", 0, "", CHAT, "{\"n\":3,\"max_tokens\":2}", PST_CALL_DONE, 200, "\"index\":2",
     NULL},
    {"messages", 0, "", "/v1/messages", STREAM, PST_CALL_DONE, 200, "event: message_stop", DONE},
    {"responses", 0, "", "/v1/responses", "{\"stream\":true,\"input\":\"x\"}", PST_CALL_DONE, 200,
     "event: response.completed", DONE},
    {"embeddings", 0, "", "/v1/embeddings", "{\"input\":[\"a\",\"b\"]}", PST_CALL_DONE, 200,
     "\"index\":1,\"embedding\":[", NULL},
    {"completions", 0, "", "/v1/completions", "{\"prompt\":\"x\",\"max_tokens\":1}", PST_CALL_DONE,
     200, "\"text\":\" water\"", NULL},
    {"vllm knows its models", 0, "", CHAT, "{\"model\":\"none\"}", PST_CALL_DONE, 404,
     "\"code\":404", NULL},
    {"llama.cpp serves any", 1, "", CHAT, "{\"model\":\"none\"}", PST_CALL_DONE, 200,
     "\"model\":\"tiny\"", NULL},
    {"bad JSON", 0, "", CHAT, "{", PST_CALL_DONE, 400, "\"type\":\"Bad Request\"", NULL},
    {"a priority that is no integer", 0, "", CHAT, "{\"priority\":\"high\"}", PST_CALL_DONE, 400,
     "Bad Request", NULL},
    {"a priority that is one", 0, "", CHAT, "{\"priority\": -3}", PST_CALL_DONE, 200, "choices",
     NULL},
    {"too long for the blocks", 0, "", CHAT, "{\"max_tokens\":16001}", PST_CALL_DONE, 400,
     "BadRequestError", NULL},
    {"llama.cpp says it otherwise", 1, "", CHAT, "{\"max_tokens\":16001}", PST_CALL_DONE, 400,
     "exceed_context_size_error", NULL},
    {"unknown path", 0, "", "/v1/nothing", PLAIN, PST_CALL_DONE, 404, NULL, NULL},

    {"full as a status", 0, "full", CHAT, PLAIN, PST_CALL_DONE, 503, BUSY, NULL},
    {"full as an event", 0, "full-event", CHAT, STREAM, PST_CALL_DONE, 200, BUSY, "choices"},
    {"… and then [DONE]", 0, "full-event", CHAT, STREAM, PST_CALL_DONE, 200, DONE, "choices"},
    {"500 to everything", 0, "error-all", CHAT, PLAIN, PST_CALL_DONE, 500, INTERNAL, NULL},
    {"loading", 1, "loading", CHAT, PLAIN, PST_CALL_DONE, 503, "\"message\":\"Loading model\"",
     NULL},
    {"reset before the first byte", 0, "reset-before", CHAT, PLAIN, PST_CALL_RESET, 0, NULL, NULL},
    {"reset after two tokens", 0, "reset-after=2", CHAT, STREAM, PST_CALL_CUT, 200, " flows",
     " where"},
    {"truncated JSON", 0, "truncate", CHAT, PLAIN, PST_CALL_CUT, 200, "\"id\"", "usage"},
    {"truncated stream", 0, "truncate", CHAT, STREAM, PST_CALL_CUT, 200, "data: ", DONE},
    {"vllm dies mid-stream in words", 0, "die-mid-stream", CHAT, STREAM, PST_CALL_DONE, 200,
     "\"code\":500}}\n\ndata: [DONE]\n\n", " where"},
    {"… on /v1/messages too", 0, "die-mid-stream", "/v1/messages", STREAM, PST_CALL_DONE, 200,
     "event: error", "message_stop"},
    {"… non-streaming: a 500", 0, "die-mid-stream", CHAT, PLAIN, PST_CALL_DONE, 500, INTERNAL,
     NULL},
    {"llama.cpp is cut", 1, "die-mid-stream", CHAT, STREAM, PST_CALL_CUT, 200, " flows", DONE},
    {"a slow drip is whole in the end", 0, "slow-drip=100us", CHAT, STREAM, PST_CALL_DONE, 200,
     "data: [DONE]\n\n", NULL},
    {"a slow drip of JSON", 0, "slow-drip=100us", CHAT, PLAIN, PST_CALL_DONE, 200,
     "total_tokens\":5}}", NULL},
};

static void run_row(const struct row *row)
{
    struct client c;
    struct bench b;

    setup(&b, base_config(row->like), row->fault);
    start(&b, &c, "POST", row->path, row->body);
    TURN_UNTIL(&b, c.over);
    if (c.how != row->how || c.status != row->status)
        fail_msg("%s: ended %d with status %u", row->promise, c.how, c.status);
    if (row->has != NULL && !contains(&c, row->has))
        fail_msg("%s: not '%s' but: %s", row->promise, row->has, c.text.at);
    if (row->has_not != NULL && contains(&c, row->has_not))
        fail_msg("%s: '%s' in: %s", row->promise, row->has_not, c.text.at);
    finish(&c);
    TURN_UNTIL(&b, stats(&b).open == 0);
    teardown(&b);
}

static void answers_are_the_engines(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        run_row(&rows[i]);
}

/* Faults that leave a request open: it gets so much and no more, /health stays 200, leaving ends it. */
static const struct {
    const char *fault;
    const char *has;
} silent[] = {
    {"hang", NULL},
    {"asleep", NULL},
    {"stall-after=2", " flows"},
};

static void silence_is_ended_by_the_client_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(silent); i++) {
        struct client c, health;
        struct bench b;

        setup(&b, base_config(PST_ENGINE_LIKE_VLLM), silent[i].fault);
        start(&b, &c, "POST", CHAT, LONG_STREAM);
        TURN_UNTIL(&b, stats(&b).open == 1);
        if (silent[i].has != NULL)
            TURN_UNTIL(&b, contains(&c, silent[i].has));
        start(&b, &health, "GET", "/health", "");
        TURN_UNTIL(&b, health.over);
        assert_int_equal(health.status, 200);
        assert_false(c.over);
        assert_false(contains(&c, " where"));
        finish(&c);
        finish(&health);
        TURN_UNTIL(&b, stats(&b).open == 0);
        assert_int_equal(stats(&b).cancelled, 1);
        teardown(&b);
    }
}

static void a_frozen_worker_goes_on_when_thawed(void **state)
{
    const char *why;
    struct client c;
    struct bench b;

    (void)state;
    setup(&b, base_config(PST_ENGINE_LIKE_VLLM), "");
    start(&b, &c, "POST", CHAT, "{\"stream\":true,\"max_tokens\":400}");
    TURN_UNTIL(&b, contains(&c, " flows"));
    assert_int_equal(pst_engine_server_fault(b.engine, "freeze", &why), PST_OK);
    assert_int_equal(stats(&b).open, 1);
    assert_false(c.over);
    pst_engine_server_clear_faults(b.engine);
    TURN_UNTIL(&b, c.over);
    assert_true(contains(&c, DONE));
    finish(&c);
    teardown(&b);
}

/* By like, stream or not: the model gives its place back after the lag, and someone waiting runs. */
static void a_client_that_leaves_frees_its_place(void **state)
{
    (void)state;
    for (int like = 0; like < PST_ENGINE_LIKE_COUNT; like++) {
        for (int stream = 0; stream < 2; stream++) {
            struct pst_engine_server_config config = base_config((enum pst_engine_like)like);
            const char *body =
                stream ? "{\"stream\":true,\"max_tokens\":9000}" : "{\"max_tokens\":9000}";
            struct client c, waiting;
            struct bench b;

            config.model.slots = 1;
            setup(&b, config, "");
            start(&b, &c, "POST", CHAT, body);
            TURN_UNTIL(&b, stats(&b).open == 1);
            start(&b, &waiting, "POST", CHAT, PLAIN);
            TURN_UNTIL(&b, stats(&b).waiting_max == 1);
            finish(&c);
            TURN_UNTIL(&b, waiting.over);
            assert_int_equal(waiting.status, 200);
            assert_int_equal(stats(&b).cancelled, 1);
            assert_int_equal(stats(&b).completed, 1);
            finish(&waiting);
            teardown(&b);
        }
    }
}

static void an_engine_with_free_places_has_nobody_waiting(void **state)
{
    struct client c[4];
    struct bench b;

    (void)state;
    setup(&b, base_config(PST_ENGINE_LIKE_VLLM), "");
    for (int i = 0; i < 4; i++) {
        start(&b, &c[i], "POST", CHAT, LONG_STREAM);
        TURN_UNTIL(&b, stats(&b).received == (uint64_t)i + 1);
    }
    for (int i = 0; i < 4; i++) {
        TURN_UNTIL(&b, c[i].over);
        finish(&c[i]);
    }
    assert_int_equal(stats(&b).waiting_max, 0);
    assert_int_equal(stats(&b).completed, 4);
    teardown(&b);
}

/* vLLM refuses in words or as a status; nobody is lost. */
static void admission_is_bounded(void **state)
{
    struct pst_engine_server_config config = base_config(PST_ENGINE_LIKE_VLLM);
    struct client c[16];
    struct bench b;
    int refused = 0, as_event = 0;

    (void)state;
    config.model.admitted_max = 4;
    setup(&b, config, "");
    for (size_t i = 0; i < PST_COUNT_OF(c); i++)
        start(&b, &c[i], "POST", CHAT, "{\"stream\":true,\"max_tokens\":100}");
    for (size_t i = 0; i < PST_COUNT_OF(c); i++) {
        TURN_UNTIL(&b, c[i].over);
        assert_int_equal(c[i].how, PST_CALL_DONE);
        if (contains(&c[i], BUSY)) {
            refused++;
            as_event += c[i].status == 200;
        } else {
            assert_int_equal(c[i].status, 200);
        }
        finish(&c[i]);
    }
    assert_int_equal(refused, 12);
    assert_in_range(as_event, 1, 11);
    assert_int_equal(stats(&b).refused, 12);
    assert_int_equal(stats(&b).completed, 4);
    teardown(&b);
}

static void cold_vllm_refuses_cold_llama_says_so(void **state)
{
    (void)state;
    for (int like = 0; like < PST_ENGINE_LIKE_COUNT; like++) {
        struct pst_engine_server_config config = base_config((enum pst_engine_like)like);
        struct client c;
        struct bench b;

        config.cold_start = 700 * PST_MS;
        setup(&b, config, "");
        assert_int_equal(b.opened, like == PST_ENGINE_LIKE_LLAMACPP);
        start(&b, &c, "GET", "/health", "");
        TURN_UNTIL(&b, c.over);
        if (like == PST_ENGINE_LIKE_VLLM) {
            assert_int_equal(c.how, PST_CALL_REFUSED);
            TURN_UNTIL(&b, b.opened);
        } else {
            assert_int_equal(c.status, 503);
            assert_true(contains(&c, "{\"error\":{\"message\":\"Loading model\",\"type\":"
                                     "\"unavailable_error\",\"code\":503}}"));
        }
        do {
            finish(&c);
            start(&b, &c, "GET", "/health", "");
            TURN_UNTIL(&b, c.over);
        } while (c.status == 503);
        assert_int_equal(c.status, 200);
        finish(&c);
        teardown(&b);
    }
}

static void ready_early_is_healthy_and_answers_nothing(void **state)
{
    struct pst_engine_server_config config = base_config(PST_ENGINE_LIKE_VLLM);
    struct client c, health;
    struct bench b;

    (void)state;
    config.cold_start = 3600 * PST_S;
    setup(&b, config, "ready-early");
    start(&b, &c, "POST", CHAT, PLAIN);
    TURN_UNTIL(&b, stats(&b).open == 1);
    start(&b, &health, "GET", "/health", "");
    TURN_UNTIL(&b, health.over);
    assert_int_equal(health.status, 200);
    assert_false(c.over);
    finish(&c);
    finish(&health);
    teardown(&b);
}

static void sigterm_cuts_streams_off_in_words(void **state)
{
    struct client c;
    struct bench b;

    (void)state;
    setup(&b, base_config(PST_ENGINE_LIKE_VLLM), "");
    start(&b, &c, "POST", CHAT, "{\"stream\":true,\"max_tokens\":9000}");
    TURN_UNTIL(&b, contains(&c, " flows"));
    pst_engine_server_terminate(b.engine);
    TURN_UNTIL(&b, c.over && b.ended);
    assert_int_equal(c.how, PST_CALL_DONE);
    assert_true(contains(&c, INTERNAL) && contains(&c, DONE));
    finish(&c);
    teardown(&b);
}

static void a_shutdown_timeout_lets_streams_finish_and_refuses_new_ones(void **state)
{
    struct pst_engine_server_config config = base_config(PST_ENGINE_LIKE_VLLM);
    struct client c, late, health;
    struct bench b;

    (void)state;
    config.speed = 10.0;
    config.model.iteration_min = 10 * PST_MS;
    config.shutdown_timeout = 600 * PST_S;
    setup(&b, config, "");
    start(&b, &c, "POST", CHAT, "{\"stream\":true,\"max_tokens\":100}");
    TURN_UNTIL(&b, contains(&c, " flows"));
    pst_engine_server_terminate(b.engine);
    start(&b, &late, "POST", CHAT, PLAIN);
    start(&b, &health, "GET", "/health", "");
    TURN_UNTIL(&b, late.over && health.over);
    assert_int_equal(late.status, 500);
    assert_int_equal(health.status, 200);
    TURN_UNTIL(&b, c.over);
    assert_true(contains(&c, DONE) && !contains(&c, "error"));
    assert_false(b.ended);
    TURN_UNTIL(&b, b.ended);
    finish(&c);
    finish(&late);
    finish(&health);
    teardown(&b);
}

static void an_expired_shutdown_leaves_streams_hanging(void **state)
{
    struct pst_engine_server_config config = base_config(PST_ENGINE_LIKE_VLLM);
    struct client c, health;
    struct bench b;
    size_t len;

    (void)state;
    config.shutdown_timeout = 50 * PST_MS;
    setup(&b, config, "");
    start(&b, &c, "POST", CHAT, "{\"stream\":true,\"max_tokens\":9000}");
    TURN_UNTIL(&b, contains(&c, " flows"));
    pst_engine_server_terminate(b.engine);
    do {
        len = c.text.len; /* until a whole exchange passes without a token */
        start(&b, &health, "GET", "/health", "");
        TURN_UNTIL(&b, health.over);
        assert_int_equal(health.status, 200);
        finish(&health);
        pst_loop_turn(b.loop, 20 * PST_MS);
    } while (c.text.len > len);
    assert_false(c.over);
    pst_engine_server_terminate(b.engine); /* a second one ends it */
    assert_true(b.ended);
    finish(&c);
    teardown(&b);
}

static void a_dead_worker_takes_all_with_it(void **state)
{
    struct client c, other, health;
    const char *why;
    struct bench b;

    (void)state;
    setup(&b, base_config(PST_ENGINE_LIKE_VLLM), "");
    start(&b, &other, "POST", CHAT, "{\"stream\":true,\"max_tokens\":9000}");
    TURN_UNTIL(&b, contains(&other, " flows"));
    assert_int_equal(pst_engine_server_fault(b.engine, "worker-dies", &why), PST_OK);
    start(&b, &c, "POST", CHAT, STREAM);
    TURN_UNTIL(&b, c.over && other.over);
    assert_true(contains(&c, INTERNAL) && contains(&c, DONE));
    assert_true(contains(&other, INTERNAL) && contains(&other, DONE));
    start(&b, &health, "GET", "/health", "");
    TURN_UNTIL(&b, health.over);
    assert_int_equal(health.status, 503);
    TURN_UNTIL(&b, b.ended);
    finish(&c);
    finish(&other);
    finish(&health);
    teardown(&b);
}

/* A process of its own, for it is killed: the client sees a reset, the parent SIGKILL. */
static void a_marked_prompt_kills_the_process(void **state)
{
    int ports[2], status;
    uint16_t port;
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ports), 0);
    child = fork();
    if (child == 0) {
        struct bench b;

        setup(&b, base_config(PST_ENGINE_LIKE_VLLM), "crash-on=POISON");
        port = pst_engine_server_port(b.engine);
        if (write(ports[1], &port, sizeof port) != sizeof port)
            _exit(1);
        pst_loop_run(b.loop);
        _exit(1);
    }
    assert_int_equal(read(ports[0], &port, sizeof port), sizeof port);
    for (int poisonous = 0; poisonous < 2; poisonous++) {
        struct pst_upstream_config upstream = {.host = "127.0.0.1",
                                               .port = port,
                                               .connect_timeout = 5 * PST_S,
                                               .idle_timeout = 5 * PST_S,
                                               .head_max = 16384};
        struct bench b = {0};
        struct client c;

        assert_int_equal(pst_loop_new(&b.loop), PST_OK);
        assert_int_equal(pst_upstream_new(b.loop, &upstream, &b.upstream), PST_OK);
        start(&b, &c, "POST", CHAT,
              poisonous ? "{\"prompt\":\"some POISON here\"}" : "{\"prompt\":\"none here\"}");
        TURN_UNTIL(&b, c.over);
        assert_int_equal(c.how, poisonous ? PST_CALL_RESET : PST_CALL_DONE);
        finish(&c);
        pst_upstream_free(b.upstream);
        pst_loop_free(b.loop);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    close(ports[0]);
    close(ports[1]);
}

static void pages_tell_what_happened(void **state)
{
    static const struct {
        enum pst_engine_like like;
        const char *method, *path, *body;
        const char *has;
    } pages[] = {
        {0, "GET", "/v1/models", "", "\"id\":\"other\""},
        {0, "GET", "/metrics", "",
         "vllm:num_requests_running{engine=\"0\",model_name=\"tiny\"} 0\n"},
        {0, "GET", "/metrics", "",
         "vllm:generation_tokens_total{engine=\"0\",model_name=\"tiny\"} 4\n"},
        {0, "GET", "/metrics", "",
         "vllm:time_to_first_token_seconds_bucket{engine=\"0\","
         "model_name=\"tiny\",le=\"+Inf\"} 1\n"},
        {0, "GET", "/load", "", "\"server_load\":0"},
        {1, "GET", "/metrics", "", "llamacpp:requests_deferred 0\n"},
        {1, "GET", "/slots", "", "\"id\":3"},
        {1, "GET", "/health", "", "{\"status\":\"ok\"}"},
        {0, "GET", "/stats", "", "\"seen\":{\"/v1/chat/completions\":1}"},
        {0, "GET", "/last", "", "[\"X-Request-Id\",\"/v1/chat/completions\"]"},
        {0, "POST", "/fault", "{\"set\":[\"hang@0.5\",\"full\"]}",
         "{\"faults\":[\"hang\",\"full\"]}"},
        {0, "POST", "/fault", "{\"set\":[\"no-such\"]}", "no fault of that name"},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(pages); i++) {
        struct client c;
        struct bench b;

        setup(&b, base_config(pages[i].like), "");
        start(&b, &c, "POST", CHAT, STREAM);
        TURN_UNTIL(&b, c.over);
        finish(&c);
        start(&b, &c, pages[i].method, pages[i].path, pages[i].body);
        TURN_UNTIL(&b, c.over);
        if (!contains(&c, pages[i].has))
            fail_msg("%s: not '%s' in: %s", pages[i].path, pages[i].has, c.text.at);
        finish(&c);
        teardown(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_marked_prompt_kills_the_process),
        cmocka_unit_test(answers_are_the_engines),
        cmocka_unit_test(silence_is_ended_by_the_client_alone),
        cmocka_unit_test(a_frozen_worker_goes_on_when_thawed),
        cmocka_unit_test(a_client_that_leaves_frees_its_place),
        cmocka_unit_test(an_engine_with_free_places_has_nobody_waiting),
        cmocka_unit_test(admission_is_bounded),
        cmocka_unit_test(cold_vllm_refuses_cold_llama_says_so),
        cmocka_unit_test(ready_early_is_healthy_and_answers_nothing),
        cmocka_unit_test(sigterm_cuts_streams_off_in_words),
        cmocka_unit_test(a_shutdown_timeout_lets_streams_finish_and_refuses_new_ones),
        cmocka_unit_test(an_expired_shutdown_leaves_streams_hanging),
        cmocka_unit_test(a_dead_worker_takes_all_with_it),
        cmocka_unit_test(pages_tell_what_happened),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
