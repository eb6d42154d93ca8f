/*
 * test_replicas.c - replicas that are found, get an address, are warmed up, leave and are lost: the gateway
 * with its gate, and an engine on a socket that writes down what it is asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "gateway/gateway.h"

#define LIMIT (20 * PST_S) /* of one wait; a slow machine must not fail */

static const char configuration[] = "listen: 127.0.0.1:0\n"
                                    "pools:\n"
                                    "  - name: chat\n"
                                    "    models: [{name: m}]\n"
                                    "    slots: 4\n"
                                    "    ready: {interval: 200ms}\n"
                                    "%s"
                                    "    replicas: {static: [\"http://127.0.0.1:1\"]}\n";

struct world {
    struct pst_loop *loop;
    struct pst_config *config;
    struct pst_registry registry;
    struct pst_metrics *metrics;
    struct pst_drive *drive;
    struct pst_gateway *gateway;
    struct pst_timer timer;
    struct pst_server *engine;
    char url[64];
    char asked[4096];  /* prompts, in order */
    char refuses[16];  /* a prompt that is answered 500, once */
    char states[1024]; /* of the replica that was found */
    uint32_t checks;   /* of it, asked for */
    uint16_t replica;
};

static struct world world;

static void answer(struct pst_exchange *x, uint16_t status)
{
    pst_exchange_respond(x, status, NULL, 0, 2);
    pst_exchange_write(x, "{}", 2);
    pst_exchange_end(x);
}

static void engine_head(struct pst_exchange *x, const struct pst_head *head)
{
    if (pst_slice_equal(head->target, PST_SLICE("/v1/completions")))
        pst_exchange_read(x, true);
    else
        answer(x, 200);
}

static void note(char *text, size_t size, const char *word)
{
    size_t len = strlen(text);

    (void)snprintf(text + len, size - len, "%s%s", len == 0 ? "" : " ", word);
}

static void engine_body(struct pst_exchange *x, const char *data, size_t len)
{
    static const char key[] = "\"prompt\":\"";
    char body[512], *prompt;

    (void)x;
    assert_true(len < sizeof body);
    memcpy(body, data, len);
    body[len] = '\0';
    prompt = strstr(body, key);
    assert_non_null(prompt);
    prompt += sizeof key - 1;
    *strchr(prompt, '"') = '\0';
    note(world.asked, sizeof world.asked, prompt);
}

static void engine_end(struct pst_exchange *x)
{
    const char *last = strrchr(world.asked, ' ');
    bool refused = strcmp(last == NULL ? world.asked : last + 1, world.refuses) == 0;

    if (refused)
        world.refuses[0] = '\0';
    answer(x, refused ? 500 : 200);
}

static void engine_ignores(struct pst_exchange *x)
{
    (void)x;
}

static void on_request(void *user, const struct pst_gate_action *action)
{
    (void)user;
    pst_gateway_request_action(world.gateway, action);
}

static void on_fleet(void *user, const struct pst_gate_action *action)
{
    (void)user;
    pst_gateway_fleet_action(world.gateway, action);
    world.checks += action->kind == PST_ACTION_CHECK && action->u.check.replica != 0;
    if (action->kind == PST_ACTION_STATE && action->u.state.replica != 0)
        note(world.states, sizeof world.states,
             pst_replica_state_name((enum pst_replica_state)action->u.state.to));
}

static void on_settled(void *user, pst_ns deadline)
{
    (void)user;
    pst_timer_set(world.loop, &world.timer, deadline);
}

static void on_time(struct pst_timer *timer)
{
    const struct pst_gate_event event = {.now = pst_loop_now(world.loop), .kind = PST_EVENT_TIME};

    (void)timer;
    pst_drive_event(world.drive, &event);
}

static void on_finished(void *user, const struct pst_access *record)
{
    (void)user;
    (void)record;
}

static struct pst_config *config_with(const char *lines)
{
    struct pst_problems problems;
    struct pst_config *config;
    char text[1024];
    int len = snprintf(text, sizeof text, configuration, lines);

    assert_int_equal(pst_config_parse("test.yaml", text, (size_t)len, &config, &problems), PST_OK);
    pst_problems_done(&problems);
    return config;
}

static void open_engine(const char *address)
{
    static const struct pst_server_handler engine = {
        .head = engine_head,
        .body = engine_body,
        .body_end = engine_end,
        .drained = engine_ignores,
        .gone = engine_ignores,
    };
    const struct pst_server_config server = {
        .handler = &engine,
        .head_max = 32768,
        .connections_max = 16,
        .head_timeout = 10 * PST_S,
        .body_timeout = 10 * PST_S,
        .idle_timeout = 75 * PST_S,
        .write_stall = 10 * PST_S,
    };

    assert_int_equal(pst_server_new(world.loop, &server, &world.engine), PST_OK);
    assert_int_equal(pst_server_listen(world.engine, address), PST_OK);
}

static void close_engine(void)
{
    pst_server_free(world.engine);
    world.engine = NULL;
}

static void begin(const char *lines)
{
    const struct pst_drive_handlers handlers = {NULL, on_request, on_fleet, on_settled};
    const struct pst_metric_sizes sizes = {1, 1, 1, 1, 1, 1, 1, 1, 1};

    world = (struct world){.timer = {.fire = on_time}};
    world.config = config_with(lines);
    pst_registry_init(&world.registry);
    assert_int_equal(pst_loop_new(&world.loop), PST_OK);
    assert_int_equal(pst_metrics_new(&sizes, &world.metrics), PST_OK);
    open_engine("127.0.0.1:0");
    (void)snprintf(world.url, sizeof world.url, "http://127.0.0.1:%u",
                   pst_server_port(world.engine));
    assert_int_equal(pst_drive_new(&world.config->gate, &world.drive), PST_OK);
    assert_int_equal(pst_gateway_new(
                         &(struct pst_gateway_config){
                             .loop = world.loop,
                             .drive = world.drive,
                             .registry = &world.registry,
                             .metrics = world.metrics,
                             .config = world.config,
                             .finished = on_finished,
                         },
                         &world.gateway),
                     PST_OK);
    pst_drive_handlers(world.drive, &handlers);
    assert_int_equal(pst_gateway_start(world.gateway), PST_OK);
}

static void end(void)
{
    pst_gate_verify(pst_drive_gate(world.drive));
    pst_gateway_free(world.gateway);
    close_engine();
    pst_drive_free(world.drive);
    pst_metrics_free(world.metrics);
    pst_loop_free(world.loop);
    pst_registry_done(&world.registry);
    pst_config_free(world.config);
}

static void found(const char *url, uint32_t revision, int rc)
{
    const struct pst_gateway_found pod = {.name = "pod-1", .url = url, .revision = revision};

    assert_int_equal(pst_gateway_found(world.gateway, &pod, &world.replica), rc);
}

static enum pst_replica_state state(void)
{
    struct pst_gate_replica_view view;

    if (!pst_gate_replica_view(pst_drive_gate(world.drive), world.replica, &view))
        return PST_REPLICA_GONE;
    return (enum pst_replica_state)view.state;
}

static void wait_for(enum pst_replica_state wanted)
{
    pst_ns limit = pst_clock_now() + LIMIT;

    while (state() != wanted && pst_clock_now() < limit)
        assert_int_equal(pst_loop_turn(world.loop, 50 * PST_MS), PST_OK);
    assert_int_equal(state(), wanted);
}

static void one_without_an_address_starts_and_is_ready_once_it_has_one(void **unused)
{
    uint16_t index;

    (void)unused;
    begin("");
    found(NULL, 1, PST_OK);
    assert_int_equal(state(), PST_REPLICA_STARTING);
    assert_string_equal(world.registry.replicas[world.replica].name, "pod-1");
    assert_null(world.registry.replicas[world.replica].url);
    found("https://127.0.0.1:1", 1, PST_E_INVALID);
    assert_int_equal(state(), PST_REPLICA_STARTING);
    found(world.url, 1, PST_OK);
    wait_for(PST_REPLICA_READY);
    assert_true(pst_registry_replica_find(&world.registry, world.url, &index));
    assert_int_equal(index, world.replica);
    found(world.url, 1, PST_OK); /* no news */
    assert_int_equal(state(), PST_REPLICA_READY);
    found(world.url, 2, PST_OK); /* another process in its place */
    assert_int_equal(state(), PST_REPLICA_LOADING);
    wait_for(PST_REPLICA_READY);
    end();
}

static void a_reload_keeps_who_was_found(void **unused)
{
    struct pst_config *before, *next = config_with("    stall: 30s\n");

    (void)unused;
    begin("");
    before = world.config;
    found(world.url, 1, PST_OK);
    wait_for(PST_REPLICA_READY);
    assert_int_equal(pst_gateway_reload(world.gateway, next), PST_OK);
    world.config = next;
    pst_config_free(before);
    assert_int_equal(state(), PST_REPLICA_READY);
    end();
}

static void who_leaves_drains_and_who_is_lost_is_gone(void **unused)
{
    (void)unused;
    begin("");
    found(world.url, 1, PST_OK);
    wait_for(PST_REPLICA_READY);
    pst_gateway_leaves(world.gateway, world.replica, pst_clock_now() + 60 * PST_S);
    wait_for(PST_REPLICA_GONE);
    assert_string_equal(world.states, "loading ready draining gone");
    assert_false(world.registry.replicas[world.replica].present);
    pst_gateway_leaves(world.gateway, world.replica, 0); /* late news of one that went */
    pst_gateway_lost(world.gateway, world.replica, PST_CAUSE_CRASH);
    found(world.url, 1, PST_OK); /* in the same turn */
    wait_for(PST_REPLICA_READY);
    pst_gateway_lost(world.gateway, world.replica, PST_CAUSE_CRASH);
    assert_int_equal(state(), PST_REPLICA_GONE);
    end();
}

/* The answer to each but the last of them has come. */
static void more_checks(uint32_t count)
{
    uint32_t until = world.checks + count;
    pst_ns limit = pst_clock_now() + LIMIT;

    while (world.checks < until && pst_clock_now() < limit)
        assert_int_equal(pst_loop_turn(world.loop, 50 * PST_MS), PST_OK);
    assert_true(world.checks >= until);
}

/* Drained on request. Where an address is all that is known, the next one behind it drains no more. */
static void a_drain_is_of_the_engine_that_was_there(void **unused)
{
    (void)unused;
    for (int by_address = 0; by_address < 2; by_address++) {
        struct pst_gate_event drain = {.kind = PST_EVENT_DRAIN};

        begin("");
        assert_int_equal(pst_gateway_found(world.gateway,
                                           &(struct pst_gateway_found){.name = world.url,
                                                                       .url = world.url,
                                                                       .by_address = by_address},
                                           &world.replica),
                         PST_OK);
        wait_for(PST_REPLICA_READY);
        drain.now = pst_loop_now(world.loop);
        drain.u.drain.replica = world.replica;
        drain.u.drain.until = PST_NEVER;
        pst_drive_event(world.drive, &drain);
        more_checks(3);
        assert_int_equal(state(), PST_REPLICA_DRAINING); /* it is well, and drains still */
        close_engine();
        more_checks(3);
        assert_int_equal(state(), PST_REPLICA_DRAINING);
        open_engine(strstr(world.url, "127"));
        if (by_address)
            wait_for(PST_REPLICA_READY);
        more_checks(3);
        assert_int_equal(state(), by_address ? PST_REPLICA_READY : PST_REPLICA_DRAINING);
        end();
    }
}

static void the_warm_up_comes_before_ready(void **unused)
{
    static const struct {
        const char *name, *refuses, *asked;
    } rows[] = {
        {"one by one, after the model answered", "", "hi one two"},
        {"what fails begins again", "two", "hi one two hi one two"},
    };

    (void)unused;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        begin("    warmup: {prompts: [one, two], max_tokens: 4, timeout: 5s}\n");
        (void)snprintf(world.refuses, sizeof world.refuses, "%s", rows[i].refuses);
        found(world.url, 1, PST_OK);
        wait_for(PST_REPLICA_READY);
        if (strcmp(world.asked, rows[i].asked) != 0)
            fail_msg("%s: asked %s", rows[i].name, world.asked);
        assert_string_equal(world.states, "loading ready");
        end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_without_an_address_starts_and_is_ready_once_it_has_one),
        cmocka_unit_test(a_reload_keeps_who_was_found),
        cmocka_unit_test(who_leaves_drains_and_who_is_lost_is_gone),
        cmocka_unit_test(a_drain_is_of_the_engine_that_was_there),
        cmocka_unit_test(the_warm_up_comes_before_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
