/* test_admin.c - who may ask the admin listener what, and that drains answer when they are over. */
#include "pages.h"

#include <cjson/cJSON.h>

static struct pages world;

static char admin_token[] = "open-sesame", drain_token[] = "only-drain";

#define ADMIN "Authorization: Bearer open-sesame\r\n"
#define DRAIN "Authorization: Bearer only-drain\r\n"

static void a_token_opens_what_it_may(void **state)
{
    static const struct {
        const char *request, *headers;
        int status;
    } rows[] = {
        {"GET /state", "", 401},
        {"GET /healthz", "", 401},
        {"GET /state", "Authorization: Bearer open-sesam\r\n", 401},
        {"GET /state", "Authorization: Bearer open-sesamee\r\n", 401},
        {"GET /state", "Authorization: Bearer open-sesameopen-sesame\r\n", 401},
        {"GET /state", "Authorization: Basic open-sesame\r\n", 401},
        {"GET /state", "Authorization: Bearer \r\n", 401},
        {"GET /state", ADMIN, 200},
        {"GET /state", "authorization: bearer  open-sesame\r\n", 200},
        {"GET /metrics", ADMIN, 200},
        {"GET /nothing", ADMIN, 404},
        {"GET /nothing", "", 401},
        {"GET /state", DRAIN, 403},
        {"GET /metrics", DRAIN, 403},
        {"POST /drain", DRAIN, 403},
        {"POST /reload", DRAIN, 403},
        {"POST /replicas/0/undrain", DRAIN, 403},
        {"POST /replicas/0/drain", DRAIN, 200},
        {"POST /replicas/0/drain", ADMIN, 200},
        {"POST /replicas/0/drain", "", 401},
        {"GET /replicas/0/drain", ADMIN, 405},
        {"POST /state", ADMIN, 405},
        {"GET /drain", ADMIN, 405},
        {"POST /replicas//drain", ADMIN, 404},
        {"POST /replicas/0/1/drain", ADMIN, 404},
        {"POST /replicas/2/drain", ADMIN, 404},
        {"POST /replicas/999999/drain", ADMIN, 404},
        {"POST /replicas/-1/drain", ADMIN, 404},
        {"POST /replicas/http%3A%2F%2Fb%3A2/undrain", ADMIN, 200},
        {"POST /replicas/http%3A%2F%2Fc%3A2/undrain", ADMIN, 404},
    };

    (void)state;
    pages_begin(&world, admin_token, drain_token);
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        if (pages_ask(&world, pst_observe_admin_port(world.observe), rows[i].request,
                      rows[i].headers) != rows[i].status)
            fail_msg("%s with %s: %.60s", rows[i].request, rows[i].headers, world.answer);
    assert_int_equal(world.drains + world.reloads, 0);
    pages_end(&world);
}

static void without_a_token_loopback_is_enough(void **state)
{
    (void)state;
    pages_begin(&world, NULL, NULL);
    assert_int_equal(pages_ask(&world, pst_observe_admin_port(world.observe), "GET /state", ""),
                     200);
    pages_end(&world);
}

static void a_drain_is_answered_when_it_has_ended(void **state)
{
    static const struct {
        uint32_t left;
        int status;
        const char *body;
    } rows[] = {
        {0, 200, "{\"drained\":true,\"left\":0}\n"},
        {2, 409, "{\"drained\":false,\"left\":2}\n"},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        int first, second, gone;
        uint16_t port;

        pages_begin(&world, NULL, NULL);
        port = pst_observe_admin_port(world.observe);
        first = pages_send(port, "POST /drain?grace=1s&deadline=9s", "");
        second = pages_send(port, "POST /drain", "");
        gone = pages_send(port, "POST /drain", "");
        while (world.drains < 3)
            assert_int_equal(pst_loop_turn(world.loop, 10 * PST_MS), PST_OK);
        (void)close(gone); /* one that does not wait for it */
        assert_int_equal(recv(first, world.answer, 1, MSG_DONTWAIT), -1); /* nothing yet */
        assert_int_equal(world.grace, 10 * PST_S); /* the last one asked for what is configured */
        assert_int_equal(world.deadline, 170 * PST_S);

        world.drain.phase = PST_DRAIN_ENDED;
        world.drain.left = rows[i].left;
        pst_observe_drain_changed(world.observe);
        pages_wait(&world, first, NULL);
        assert_int_equal(pages_status(&world), rows[i].status);
        assert_string_equal(pages_body(&world), rows[i].body);
        pages_wait(&world, second, NULL);
        assert_int_equal(pages_status(&world), rows[i].status);
        /* Afterwards the answer comes at once. */
        assert_int_equal(pages_ask(&world, port, "POST /drain", ""), rows[i].status);
        (void)close(first);
        (void)close(second);
        pages_end(&world);
    }
}

static void wrong_durations_begin_nothing(void **state)
{
    static const char *const rows[] = {
        "POST /drain?deadline=5",
        "POST /drain?grace=",
        "POST /drain?grace=-1s",
        "POST /drain?deadline=5%20parsecs",
        "POST /replicas/0/drain?deadline=x",
    };

    (void)state;
    pages_begin(&world, NULL, NULL);
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        if (pages_ask(&world, pst_observe_admin_port(world.observe), rows[i], "") != 400)
            fail_msg("%s: %.60s", rows[i], world.answer);
    assert_int_equal(world.drains, 0);
    pages_end(&world);
}

static void a_replica_drain_waits_for_its_work(void **state)
{
    char request[64];
    struct pst_gate_replica_view view;
    uint16_t replica, port;
    int fd;

    (void)state;
    pages_begin(&world, NULL, NULL);
    port = pst_observe_admin_port(world.observe);
    replica = pages_occupy(&world);
    (void)snprintf(request, sizeof request, "POST /replicas/%u/drain", replica);
    fd = pages_send(port, request, "");
    do {
        assert_int_equal(pst_loop_turn(world.loop, 10 * PST_MS), PST_OK);
        assert_true(pst_gate_replica_view(pst_drive_gate(world.drive), replica, &view));
    } while (!view.draining);
    assert_int_equal(recv(fd, world.answer, 1, MSG_DONTWAIT), -1);
    pages_release(&world);
    pages_wait(&world, fd, NULL);
    assert_int_equal(pages_status(&world), 200);
    (void)close(fd);

    /* Its deadline comes first. */
    replica = pages_occupy(&world);
    (void)snprintf(request, sizeof request, "POST /replicas/%u/drain?deadline=50ms", replica);
    assert_int_equal(pages_ask(&world, port, request, ""), 409);
    assert_string_equal(pages_body(&world), "{\"drained\":false,\"left\":1}\n");
    pages_end(&world);
}

static void a_replica_has_the_deadline_of_its_pool(void **state)
{
    char request[64];

    (void)state;
    pages_begin(&world, NULL, NULL);
    world.config.drain_deadline = PST_NEVER; /* the gateway's own */
    world.config.scaler.pools[0].drain_deadline = 50 * PST_MS;
    (void)snprintf(request, sizeof request, "POST /replicas/%u/drain", pages_occupy(&world));
    assert_int_equal(pages_ask(&world, pst_observe_admin_port(world.observe), request, ""), 409);
    assert_string_equal(pages_body(&world), "{\"drained\":false,\"left\":1}\n");
    pages_end(&world);
}

static void an_undrain_answers_those_who_waited(void **state)
{
    char request[64];
    struct pst_gate_replica_view view;
    uint16_t replica, port;
    int fd;

    (void)state;
    pages_begin(&world, NULL, NULL);
    port = pst_observe_admin_port(world.observe);
    replica = pages_occupy(&world);
    (void)snprintf(request, sizeof request, "POST /replicas/%u/drain", replica);
    fd = pages_send(port, request, "");
    do {
        assert_int_equal(pst_loop_turn(world.loop, 10 * PST_MS), PST_OK);
        assert_true(pst_gate_replica_view(pst_drive_gate(world.drive), replica, &view));
    } while (!view.draining);
    (void)snprintf(request, sizeof request, "POST /replicas/%u/undrain", replica);
    assert_int_equal(pages_ask(&world, port, request, ""), 200);
    pages_wait(&world, fd, NULL);
    assert_int_equal(pages_status(&world), 409);
    assert_string_equal(pages_body(&world), "{\"drained\":false,\"left\":1}\n");
    (void)close(fd);
    pages_end(&world);
}

static void state_is_json_with_all_that_is_known(void **state)
{
    cJSON *root;
    const cJSON *pool, *replica;

    (void)state;
    pages_begin(&world, NULL, NULL);
    (void)pages_occupy(&world);
    assert_int_equal(pages_ask(&world, pst_observe_admin_port(world.observe), "GET /state", ""),
                     200);
    root = cJSON_Parse(pages_body(&world));
    assert_non_null(root);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(root, "version")), "9.9.9");
    pool = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "pools"), 0);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(pool, "slots")) == 4);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(pool, "inflight")) == 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(pool, "classes")), 2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "replicas")), 2);
    replica = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "replicas"), 0);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(replica, "url")),
                        "http://a:1/\"q\"");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(replica, "state")), "ready");
    cJSON_Delete(root);
    pages_end(&world);
}

static void explain_names_the_bound_that_is_next(void **state)
{
    uint16_t port;

    (void)state;
    pages_begin(&world, NULL, NULL);
    port = pst_observe_admin_port(world.observe);
    for (int i = 0; i < 4; i++)
        (void)pages_occupy(&world);
    assert_int_equal(pages_ask(&world, port, "GET /explain?pool=chat", ""), 200);
    assert_non_null(strstr(world.answer, "2 ready replicas with 4 slots, 4 of them in use"));
    assert_non_null(strstr(world.answer, "tickets: 4 of 16 (25.0 %)"));
    assert_non_null(strstr(world.answer, "next to refuse: tickets"));
    assert_int_equal(pages_ask(&world, port, "GET /explain", ""), 200);
    assert_int_equal(pages_ask(&world, port, "GET /explain?pool=nope", ""), 404);
    assert_int_equal(pages_ask(&world, port, "GET /explain?pool=%zz", ""), 404);
    pages_end(&world);
}

static void events_come_as_they_happen(void **state)
{
    const struct pst_access refused = {.outcome = PST_OUTCOME_REFUSED,
                                       .reason = PST_REASON_QUEUE_FULL};
    uint16_t port;
    int fd;

    (void)state;
    pages_begin(&world, NULL, NULL);
    port = pst_observe_admin_port(world.observe);
    fd = pages_send(port, "GET /events", "");
    pages_wait(&world, fd, ": events of penstock");
    assert_non_null(strstr(world.answer, "Content-Type: text/event-stream"));
    for (int i = 0; i < 3; i++)
        pst_observe_finished(world.observe, &refused);
    assert_int_equal(pages_ask(&world, port, "POST /replicas/1/drain", ""), 200);
    pages_wait(&world, fd,
               "event: replica\ndata: {\"index\":1,\"pool\":\"chat\",\"replica\":\"http://b:2\","
               "\"from\":\"ready\",\"to\":\"draining\"}\n\n");
    pages_wait(&world, fd,
               "event: refused\ndata: {\"pool\":\"chat\",\"class\":\"high\","
               "\"reason\":\"queue_full\",\"count\":3}\n\n");
    pst_observe_reloaded(world.observe, NULL, "line 3\nis wrong");
    pages_wait(&world, fd, "data: {\"reloaded\":false,\"message\":\"line 3\\u000ais wrong\"}\n\n");
    (void)close(fd);
    pages_end(&world);
}

static void a_reload_says_what_was_wrong(void **state)
{
    uint16_t port;

    (void)state;
    pages_begin(&world, NULL, NULL);
    port = pst_observe_admin_port(world.observe);
    assert_int_equal(pages_ask(&world, port, "POST /reload", ""), 200);
    world.reload_rc = PST_E_INVALID;
    assert_int_equal(pages_ask(&world, port, "POST /reload", ""), 409);
    assert_string_equal(pages_body(&world),
                        "{\"error\":{\"message\":\"line 3 is \\\"wrong\\\"\"}}\n");
    assert_int_equal(world.reloads, 2);
    pages_end(&world);
}

static void those_who_ask_for_a_reload_wait_for_another_process(void **state)
{
    static const struct {
        const char *message, *answer;
    } rows[] = {
        {NULL, "{\"reloaded\":true}\n"},
        {"line 3 is wrong", "{\"error\":{\"message\":\"line 3 is wrong\"}}\n"},
    };
    int first, second;
    uint16_t port;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        pages_begin(&world, NULL, NULL);
        world.reload_rc = PST_E_AGAIN;
        port = pst_observe_admin_port(world.observe);
        first = pages_send(port, "POST /reload", "");
        second = pages_send(port, "POST /reload", "");
        while (world.reloads < 2)
            assert_int_equal(pst_loop_turn(world.loop, 10 * PST_MS), PST_OK);
        pst_observe_reloaded(world.observe, &world.config, rows[i].message);
        pages_wait(&world, first, rows[i].answer);
        pages_wait(&world, second, rows[i].answer);
        (void)close(first);
        (void)close(second);
        pages_end(&world);
    }
}

static void decisions_are_explained_in_words_and_as_json(void **state)
{
    cJSON *root, *pool, *decision;
    uint16_t port;
    int fd;

    (void)state;
    pages_begin(&world, NULL, NULL);
    port = pst_observe_admin_port(world.observe);
    assert_int_equal(pages_ask(&world, port, "GET /explain?pool=chat", ""), 200);
    assert_non_null(strstr(world.answer, "nothing was decided yet"));
    fd = pages_send(port, "GET /events", "");
    pages_wait(&world, fd, ": events of penstock");
    pst_capacity_tick(world.capacity, pst_loop_now(world.loop), UINT64_C(1700000000123) * PST_MS);
    pages_wait(&world, fd,
               "event: decision\ndata: {\"time\":\"2023-11-14T22:13:20.123Z\",\"at_ms\":");
    assert_int_equal(pages_ask(&world, port, "GET /explain?decisions=5", ""), 200);
    assert_non_null(strstr(world.answer, "3 wanted, 3 before; 2 ready, 0 starting"));
    assert_non_null(strstr(world.answer, "min         3  as `min` says  <- the most"));
    assert_non_null(strstr(world.answer, "acts: nobody; this is advice"));
    assert_non_null(strstr(world.answer, "s ago: 3, was 3, by min;"));
    assert_int_equal(
        pages_ask(&world, port, "GET /explain?decisions=5", "Accept: application/json\r\n"), 200);
    root = cJSON_Parse(pages_body(&world));
    pool = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "pools"), 0);
    decision = cJSON_GetArrayItem(cJSON_GetObjectItem(pool, "decisions"), 0);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(decision, "winner")), "min");
    assert_true(
        cJSON_GetNumberValue(cJSON_GetObjectItem(cJSON_GetObjectItem(pool, "now"), "ready")) == 2);
    cJSON_Delete(root);
    assert_int_equal(pages_ask(&world, port, "GET /explain?format=json", ""), 200);
    assert_non_null(strstr(pages_body(&world), "\"decisions\":[]"));
    assert_int_equal(pages_ask(&world, port, "GET /explain?decisions=257", ""), 400);
    assert_int_equal(pages_ask(&world, port, "GET /explain?decisions=-1", ""), 400);
    assert_int_equal(pages_ask(&world, port, "GET /state", ""), 200);
    assert_non_null(strstr(pages_body(&world), "\"capacity\":[{"));
    (void)close(fd);
    pages_end(&world);
}

static void those_who_wait_are_told_when_the_listener_ends(void **state)
{
    int waiting, listening;
    uint16_t port;

    (void)state;
    pages_begin(&world, NULL, NULL);
    port = pst_observe_admin_port(world.observe);
    listening = pages_send(port, "GET /events", "");
    pages_wait(&world, listening, ": events");
    waiting = pages_send(port, "POST /drain", "");
    while (world.drains == 0)
        assert_int_equal(pst_loop_turn(world.loop, 10 * PST_MS), PST_OK);
    pages_end(&world); /* leaks and uses after free are the sanitizers' to find */
    (void)close(waiting);
    (void)close(listening);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_opens_what_it_may),
        cmocka_unit_test(without_a_token_loopback_is_enough),
        cmocka_unit_test(a_drain_is_answered_when_it_has_ended),
        cmocka_unit_test(wrong_durations_begin_nothing),
        cmocka_unit_test(a_replica_drain_waits_for_its_work),
        cmocka_unit_test(a_replica_has_the_deadline_of_its_pool),
        cmocka_unit_test(an_undrain_answers_those_who_waited),
        cmocka_unit_test(state_is_json_with_all_that_is_known),
        cmocka_unit_test(explain_names_the_bound_that_is_next),
        cmocka_unit_test(decisions_are_explained_in_words_and_as_json),
        cmocka_unit_test(those_who_ask_for_a_reload_wait_for_another_process),
        cmocka_unit_test(events_come_as_they_happen),
        cmocka_unit_test(a_reload_says_what_was_wrong),
        cmocka_unit_test(those_who_wait_are_told_when_the_listener_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
