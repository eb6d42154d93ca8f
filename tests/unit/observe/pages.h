/*
 * pages.h - an observe room over a real loop, gate and sockets, for the tests of its pages.
 *
 * The program beside it is this test: drains and reloads are noted. Two replicas of pool "chat", the
 * first called as a URL with a quote in it, to see it escaped.
 */
#ifndef PST_TEST_OBSERVE_PAGES_H
#define PST_TEST_OBSERVE_PAGES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "observe/observe.h"

#define ANSWER_MAX (1 << 20)
#define TEST_LIMIT (20 * PST_S) /* of one wait; a slow machine must not fail */

struct pages {
    struct pst_config config;
    struct pst_registry registry;
    struct pst_loop *loop;
    struct pst_drive *drive;
    struct pst_capacity *capacity;
    struct pst_metrics *metrics;
    struct pst_observe *observe;
    struct pst_drain_status drain;
    uint32_t drains, reloads;
    pst_ns grace, deadline; /* as asked for */
    int reload_rc;
    struct pst_gate_action dispatch; /* the last one */
    char answer[ANSWER_MAX];
};

static inline void pages_request(void *user, const struct pst_gate_action *action)
{
    struct pages *w = user;

    if (action->kind == PST_ACTION_CONTINUE) {
        struct pst_gate_event event = {.now = pst_loop_now(w->loop), .kind = PST_EVENT_ARRIVE};

        event.u.arrive.id = action->u.ticket.id;
        event.u.arrive.prompt_bytes = 400;
        event.u.arrive.sequences = 1;
        event.u.arrive.weight = 100;
        pst_drive_event(w->drive, &event);
    }
    if (action->kind == PST_ACTION_DISPATCH)
        w->dispatch = *action;
}

static inline void pages_fleet(void *user, const struct pst_gate_action *action)
{
    struct pages *w = user;

    if (action->kind == PST_ACTION_CHECK) {
        struct pst_gate_event event = {.now = pst_loop_now(w->loop), .kind = PST_EVENT_PROBE};

        event.u.probe.replica = action->u.check.replica;
        event.u.probe.probe = action->u.check.probe;
        pst_drive_event(w->drive, &event);
    }
    pst_capacity_fleet_action(w->capacity, action, pst_loop_now(w->loop));
    if (w->observe != NULL)
        pst_observe_fleet_action(w->observe, action);
}

static inline void pages_act(void *user, const struct pst_scaler_action *action)
{
    (void)user;
    (void)action; /* nobody starts anything here */
}

static inline void pages_decided(void *user, const struct pst_capacity_decision *decision)
{
    struct pages *w = user;

    if (w->observe != NULL)
        pst_observe_decided(w->observe, decision);
}

static inline void pages_settled(void *user, pst_ns deadline)
{
    (void)user;
    (void)deadline;
}

static inline uint32_t pages_connections(void *user)
{
    (void)user;
    return 42;
}

static inline void pages_drain_status(void *user, struct pst_drain_status *ret_status)
{
    *ret_status = ((const struct pages *)user)->drain;
}

static inline void pages_drain(void *user, pst_ns grace, pst_ns deadline)
{
    struct pages *w = user;

    w->drains++;
    w->grace = grace;
    w->deadline = deadline;
    if (w->drain.phase == PST_DRAIN_SERVING)
        w->drain = (struct pst_drain_status){PST_DRAIN_GRACE, 0, 0, 3};
}

static inline int pages_reload(void *user, char message[PST_OBSERVE_MESSAGE_MAX])
{
    struct pages *w = user;

    w->reloads++;
    (void)snprintf(message, PST_OBSERVE_MESSAGE_MAX, "line 3 is \"wrong\"");
    return w->reload_rc;
}

static inline struct pst_gate_config pages_gate(void)
{
    return (struct pst_gate_config){
        .seed = 7,
        .bytes_max = 1 << 30,
        .body_max = 32 << 20,
        .tickets_max = 16,
        .flows_max = 16,
        .replicas_max = 4,
        .classes_count = 2,
        .pools_count = 1,
        .classes = {{100 * PST_MS, 5 * PST_S, 30 * PST_S, 0, PST_ON_FULL_REJECT, {2, 2, 2}},
                    {PST_S, 15 * PST_S, 60 * PST_S, 50000, PST_ON_FULL_WAIT, {2, 2, 2}}},
        .pools = {{.slots = 2,
                   .length_short_tokens = 512,
                   .length_long_tokens = 2048,
                   .long_share_ppm = 500000,
                   .retry_budget_ppm = 100000,
                   .tries_max = 3,
                   .first_byte = 600 * PST_S,
                   .first_byte_stream = 120 * PST_S,
                   .stall = 60 * PST_S,
                   .no_replica_ttl = 300 * PST_S,
                   .probe_interval = 5 * PST_S,
                   .probe_timeout = 5 * PST_S,
                   .probe_rise = 1,
                   .probe_fall = 3,
                   .fixed_queue = {50, 100},
                   .fixed_inflight = {8, 4},
                   .fixed_promote_after = 15 * PST_S}},
    };
}

static inline struct pst_scaler_config pages_scaler(void)
{
    return (struct pst_scaler_config){
        .classes_count = 2,
        .pools_count = 1,
        .replicas_max = 4,
        .classes = {{.target = 100 * PST_MS, .max_wait = 5 * PST_S, .sheds = 1},
                    {.target = PST_S, .max_wait = 15 * PST_S}},
        .pools = {{.min = 3,
                   .max = 3,
                   .slots = 2,
                   .out_above = 2 * PST_S,
                   .in_below = 500 * PST_MS,
                   .in_after = 60 * PST_S,
                   .start_time = 100 * PST_S,
                   .drain_deadline = 60 * PST_S,
                   .stale_after = 15 * PST_S,
                   .utilisation_ppm = 900000,
                   .inflight_guard_ppm = 800000,
                   .cost_micro = 3600000}},
    };
}

static inline void pages_begin(struct pages *w, char *admin_token, char *drain_token)
{
    static const struct pst_view_program program = {pages_connections, pages_drain_status,
                                                    pages_drain, pages_reload};
    static char listen[] = "127.0.0.1:0";
    const struct pst_metric_sizes sizes = pst_access_sizes();
    const struct pst_drive_handlers handlers = {w, pages_request, pages_fleet, pages_settled};
    const struct pst_capacity_handlers capacity = {w, pages_act, pages_decided, pages_settled};
    uint16_t pool, replica;

    memset(w, 0, sizeof *w);
    w->config.gate = pages_gate();
    w->config.scaler = pages_scaler();
    w->config.metrics = w->config.admin = listen;
    w->config.admin_token = admin_token;
    w->config.drain_token = drain_token;
    w->config.drain_grace = 10 * PST_S;
    w->config.drain_deadline = 170 * PST_S;
    pst_registry_init(&w->registry);
    assert_int_equal(pst_registry_pool(&w->registry, "chat", &pool), PST_OK);
    assert_int_equal(pst_registry_class(&w->registry, "high"), PST_OK);
    assert_int_equal(pst_registry_class(&w->registry, "low"), PST_OK);
    assert_int_equal(pst_loop_new(&w->loop), PST_OK);
    assert_int_equal(pst_metrics_new(&sizes, &w->metrics), PST_OK);
    assert_int_equal(pst_drive_new(&w->config.gate, &w->drive), PST_OK);
    assert_int_equal(pst_capacity_new(&w->config.scaler, w->drive, &w->capacity), PST_OK);
    pst_capacity_handlers(w->capacity, &capacity);
    pst_drive_handlers(w->drive, &handlers);
    assert_int_equal(pst_observe_new(
                         &(struct pst_observe_config){
                             .loop = w->loop,
                             .drive = w->drive,
                             .capacity = w->capacity,
                             .registry = &w->registry,
                             .metrics = w->metrics,
                             .config = &w->config,
                             .version = "9.9.9",
                             .program = &program,
                             .user = w,
                         },
                         &w->observe),
                     PST_OK);
    for (uint16_t i = 0; i < 2; i++) {
        const char *url = i == 0 ? "http://a:1/\"q\"" : "http://b:2";
        struct pst_gate_event event = {.now = pst_loop_now(w->loop), .kind = PST_EVENT_REPLICA};

        assert_int_equal(pst_registry_replica_add(&w->registry, pool, url, 0, &replica), PST_OK);
        assert_int_equal(pst_registry_replica_address(&w->registry, replica, url), PST_OK);
        event.u.replica.replica = replica;
        event.u.replica.state = PST_REPLICA_LOADING;
        pst_drive_event(w->drive, &event);
    }
}

static inline void pages_end(struct pages *w)
{
    pst_observe_free(w->observe);
    pst_capacity_free(w->capacity);
    pst_drive_free(w->drive);
    pst_metrics_free(w->metrics);
    pst_loop_free(w->loop);
    pst_registry_done(&w->registry);
}

/* Puts a request in flight on a replica; returns which. */
static inline uint16_t pages_occupy(struct pages *w)
{
    struct pst_gate_event event = {.now = pst_loop_now(w->loop), .kind = PST_EVENT_OFFER};

    w->dispatch.kind = PST_ACTION_COUNT;
    assert_true(pst_drive_ticket(w->drive, &event.u.offer.id));
    event.u.offer.body_bytes = 10;
    event.u.offer.pool = PST_POOL_NONE;
    event.u.offer.weight = 100;
    pst_drive_event(w->drive, &event);
    assert_int_equal(w->dispatch.kind, PST_ACTION_DISPATCH);
    return w->dispatch.u.dispatch.replica;
}

static inline void pages_release(struct pages *w)
{
    struct pst_gate_event event = {.now = pst_loop_now(w->loop), .kind = PST_EVENT_END};

    event.u.end.id = w->dispatch.u.dispatch.id;
    event.u.end.attempt = w->dispatch.u.dispatch.attempt;
    event.u.end.kind = PST_END_DONE;
    pst_drive_event(w->drive, &event);
}

/* ---------------------------------------------------------------------------------- a client */

static inline int pages_connect(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Sends "GET /path" with further header lines ("" or "Name: value\r\n"). */
static inline int pages_send(uint16_t port, const char *request, const char *headers)
{
    char text[2048];
    int len = snprintf(text, sizeof text, "%s HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n",
                       request, headers);
    int fd = pages_connect(port);

    assert_int_equal(write(fd, text, (size_t)len), len);
    return fd;
}

/* Turns the loop until `text` was received, or (NULL) until the connection ended. */
static inline void pages_wait(struct pages *w, int fd, const char *text)
{
    pst_ns began = pst_clock_now();
    size_t len = 0;

    w->answer[0] = '\0';
    for (;;) {
        ssize_t n = recv(fd, w->answer + len, ANSWER_MAX - 1 - len, MSG_DONTWAIT);

        if (n > 0) {
            len += (size_t)n;
            w->answer[len] = '\0';
        }
        if ((text == NULL && n == 0) || (text != NULL && strstr(w->answer, text) != NULL))
            return;
        if (n == 0 || pst_clock_now() - began > TEST_LIMIT)
            fail_msg("waited for '%s', got '%.300s'", text == NULL ? "the end" : text, w->answer);
        assert_int_equal(pst_loop_turn(w->loop, 10 * PST_MS), PST_OK);
    }
}

static inline int pages_status(const struct pages *w)
{
    return strncmp(w->answer, "HTTP/1.1 ", 9) == 0 ? atoi(w->answer + 9) : 0;
}

static inline const char *pages_body(const struct pages *w)
{
    const char *end = strstr(w->answer, "\r\n\r\n");

    assert_non_null(end);
    return end + 4;
}

/* A whole exchange; the status. */
static inline int pages_ask(struct pages *w, uint16_t port, const char *request,
                            const char *headers)
{
    int fd = pages_send(port, request, headers);

    pages_wait(w, fd, NULL);
    (void)close(fd);
    return pages_status(w);
}

#endif
