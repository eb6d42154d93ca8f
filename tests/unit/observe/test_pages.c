/* test_pages.c - /metrics as promtool reads it, health, readiness, and what else is not served. */
#include "pages.h"

#include "observe/page.h"

static struct pages world;

/* Writes the page where promtool can read it. -1: no promtool here. */
static int promtool(const char *page)
{
    FILE *tool;
    int rc;

    if (system("command -v promtool >/dev/null 2>&1") != 0)
        return -1;
    tool = popen("promtool check metrics", "w");
    assert_non_null(tool);
    fputs(page, tool);
    rc = pclose(tool);
    return rc == 0 ? 0 : 1;
}

static void count_some(struct pages *w)
{
    const struct pst_access done = {.started = PST_S,
                                    .ended = 2 * PST_S,
                                    .wait = 3 * PST_MS,
                                    .ttft = 40 * PST_MS,
                                    .outcome = PST_OUTCOME_DONE,
                                    .tries = 2,
                                    .tokens_out = 5};
    const struct pst_access early = {.outcome = PST_OUTCOME_REFUSED,
                                     .refusal = "unauthorized",
                                     .pool = PST_ACCESS_NO_POOL,
                                     .class_ = PST_ACCESS_NO_CLASS};
    const struct pst_access unknown = {.outcome = PST_OUTCOME_CANCELLED,
                                       .reason = PST_REASON_CLIENT,
                                       .pool = PST_ACCESS_NO_POOL,
                                       .class_ = PST_ACCESS_NO_CLASS};

    pst_observe_finished(w->observe, &done);
    pst_observe_finished(w->observe, &early);
    pst_observe_finished(w->observe, &unknown);
}

static void the_metrics_page_says_what_happened(void **state)
{
    static const char *const lines[] = {
        "# TYPE penstock_requests_total counter\n",
        "\npenstock_requests_total{pool=\"chat\",class=\"high\",outcome=\"done\",reason=\"none\"} "
        "1\n",
        "\npenstock_requests_total{outcome=\"cancelled\",reason=\"client\"} 1\n",
        "\npenstock_rejected_requests_total{reason=\"unauthorized\"} 1\n",
        "\npenstock_retries_total{pool=\"chat\"} 1\n",
        "\npenstock_queue_wait_seconds_bucket{pool=\"chat\",class=\"high\",length=\"short\",le=\"0."
        "002\"} 0\n",
        "\npenstock_queue_wait_seconds_bucket{pool=\"chat\",class=\"high\",length=\"short\",le=\"0."
        "005\"} 1\n",
        "\npenstock_queue_wait_seconds_bucket{pool=\"chat\",class=\"high\",length=\"short\",le=\"+"
        "Inf\"} 1\n",
        "\npenstock_queue_wait_seconds_sum{pool=\"chat\",class=\"high\",length=\"short\"} 0.003\n",
        "\npenstock_queue_depth{pool=\"chat\",class=\"low\",length=\"long\"} 0\n",
        "\npenstock_replica_state{pool=\"chat\",replica=\"http://a:1/\\\"q\\\"\",state=\"ready\"} "
        "1\n",
        "\npenstock_replica_state{pool=\"chat\",replica=\"http://b:2\",state=\"loading\"} 0\n",
        "\npenstock_connections 42\n",
        "\npenstock_scaler_replicas{pool=\"chat\",kind=\"desired\"} 3\n",
        "\npenstock_scaler_replicas{pool=\"chat\",kind=\"needed\"} 0\n", /* 3 are a floor */
        "\npenstock_scaler_replicas{pool=\"chat\",kind=\"ready\"} 2\n",
        "\npenstock_scaler_decisions_total{pool=\"chat\",reason=\"min\"} 1\n",
        "\npenstock_replica_seconds_total{pool=\"chat\",state=\"draining\"} 0\n",
    };

    (void)state;
    pages_begin(&world, NULL, NULL);
    pst_capacity_tick(world.capacity, pst_loop_now(world.loop), 0);
    count_some(&world);
    assert_int_equal(pages_ask(&world, pst_observe_metrics_port(world.observe), "GET /metrics", ""),
                     200);
    for (size_t i = 0; i < PST_COUNT_OF(lines); i++)
        if (strstr(world.answer, lines[i]) == NULL)
            fail_msg("missing: %s", lines[i]);
    assert_null(strstr(world.answer, "\nqueue_backlog_seconds")); /* not asked for */
    pages_end(&world);
}

/* It is absent while it is not known; then it is the number that whoever keeps it must be told. */
static void what_is_desired_is_what_is_told(void **state)
{
    struct pst_scaler_event synced = {.kind = PST_SCALER_SYNCED};
    char line[128];
    uint32_t number;

    (void)state;
    pages_begin(&world, NULL, NULL);
    world.config.scaler.pools[0].min = 1;
    world.config.scaler.pools[0].actuate = PST_ACTUATE_MARKED;
    assert_int_equal(pst_capacity_reconfigure(world.capacity, &world.config.scaler), PST_OK);
    for (int is_known = 0; is_known < 2; is_known++) {
        synced.now = pst_loop_now(world.loop);
        if (is_known)
            pst_capacity_event(world.capacity, &synced);
        pst_capacity_tick(world.capacity, pst_loop_now(world.loop), 0);
        assert_int_equal(
            pages_ask(&world, pst_observe_metrics_port(world.observe), "GET /metrics", ""), 200);
        assert_int_equal(pst_scaler_number(pst_capacity_scaler(world.capacity), 0, &number),
                         is_known);
        assert_int_equal(strstr(world.answer, "kind=\"desired\"") != NULL, is_known);
    }
    snprintf(line, sizeof line, "\npenstock_scaler_replicas{pool=\"chat\",kind=\"desired\"} %u\n",
             number);
    assert_non_null(strstr(world.answer, line));
    pages_end(&world);
}

/* 2 replicas at 3.6 an hour each: a thousandth a second for each. */
static void replicas_cost_what_their_time_costs(void **state)
{
    pst_ns begun, ended;
    double seconds = 0, cost = 0;
    const char *line;

    (void)state;
    pages_begin(&world, NULL, NULL);
    begun = pst_loop_now(world.loop);
    pst_observe_second(world.observe);
    while (pst_loop_now(world.loop) - begun < 20 * PST_MS)
        assert_int_equal(pst_loop_turn(world.loop, 5 * PST_MS), PST_OK);
    ended = pst_loop_now(world.loop);
    pst_observe_second(world.observe);
    assert_int_equal(pages_ask(&world, pst_observe_metrics_port(world.observe), "GET /metrics", ""),
                     200);
    line = strstr(world.answer, "\npenstock_replica_seconds_total{pool=\"chat\",state=\"ready\"} ");
    assert_non_null(line);
    seconds = strtod(strchr(line, ' '), NULL);
    line = strstr(world.answer, "\npenstock_cost_total{pool=\"chat\"} ");
    assert_non_null(line);
    cost = strtod(strchr(line, ' '), NULL);
    assert_float_equal(seconds, 2 * (double)(ended - begun) / PST_S, 1e-6);
    assert_float_equal(cost, seconds / 1000, 1e-6);
    pages_end(&world);
}

static void promtool_accepts_the_metrics_page(void **state)
{
    int rc;

    (void)state;
    pages_begin(&world, NULL, NULL);
    count_some(&world);
    assert_int_equal(pages_ask(&world, pst_observe_metrics_port(world.observe), "GET /metrics", ""),
                     200);
    rc = promtool(pages_body(&world));
    pages_end(&world);
    if (rc < 0)
        skip();
    assert_int_equal(rc, 0);
}

static void the_names_that_others_know_are_added_on_demand(void **state)
{
    static const char *const lines[] = {
        "\nqueue_backlog_seconds{pool=\"chat\",class=\"high\"} 0\n",
        "\ninflight_requests{pool=\"chat\",class=\"high\"} 1\n",
        "\ninference_queue_depth{pool=\"chat\",class=\"low\",length=\"mid\"} 0\n",
        "\ninference_inflight_requests{pool=\"chat\",class=\"high\"} 1\n",
        "\ninference_request_duration_seconds_count{pool=\"chat\",class=\"high\",length=\"short\"} "
        "1\n",
        "\nllm_d_epp_flow_control_queue_size{inference_pool=\"chat\",priority=\"high\",length="
        "\"short\"} 0\n",
        "\nllm_d_epp_flow_control_pool_saturation{inference_pool=\"chat\"} 0.25\n",
    };

    (void)state;
    pages_begin(&world, NULL, NULL);
    world.config.compat_metrics = true;
    count_some(&world);
    (void)pages_occupy(&world); /* one of four slots */
    assert_int_equal(pages_ask(&world, pst_observe_metrics_port(world.observe), "GET /metrics", ""),
                     200);
    for (size_t i = 0; i < PST_COUNT_OF(lines); i++)
        if (strstr(world.answer, lines[i]) == NULL)
            fail_msg("missing: %s", lines[i]);
    pages_end(&world);
}

static void readiness_is_lost_by_draining_alone(void **state)
{
    static const struct {
        const char *what;
        enum pst_drain_phase phase;
        bool replicas;
        int ready, healthy;
    } rows[] = {
        {"serving", PST_DRAIN_SERVING, true, 200, 200},
        {"serving without a replica", PST_DRAIN_SERVING, false, 200, 200},
        {"in the grace", PST_DRAIN_GRACE, true, 503, 200},
        {"refusing", PST_DRAIN_REFUSING, true, 503, 200},
        {"ended", PST_DRAIN_ENDED, true, 503, 200},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        uint16_t port;

        pages_begin(&world, NULL, NULL);
        port = pst_observe_metrics_port(world.observe);
        world.drain.phase = rows[i].phase;
        for (uint16_t replica = 0; replica < 2 && !rows[i].replicas; replica++) {
            struct pst_gate_event event = {.now = pst_loop_now(world.loop),
                                           .kind = PST_EVENT_REPLICA};

            event.u.replica.replica = replica;
            event.u.replica.state = PST_REPLICA_GONE;
            event.u.replica.cause = PST_CAUSE_REMOVED;
            pst_drive_event(world.drive, &event);
        }
        if (pages_ask(&world, port, "GET /readyz", "") != rows[i].ready ||
            pages_ask(&world, port, "GET /healthz", "") != rows[i].healthy)
            fail_msg("%s: %s", rows[i].what, world.answer);
        pages_end(&world);
    }
}

static void nothing_else_is_served_to_the_network(void **state)
{
    static const struct {
        const char *request;
        int status;
    } rows[] = {
        {"GET /state", 404},     {"POST /drain", 404},
        {"GET /", 404},          {"GET /metrics/", 404},
        {"POST /metrics", 405},  {"HEAD /metrics", 405},
        {"DELETE /readyz", 405}, {"GET /metrics?x=1", 200},
        {"POST /reload", 404},   {"POST /replicas/0/drain", 404},
    };

    (void)state;
    pages_begin(&world, NULL, NULL);
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        if (pages_ask(&world, pst_observe_metrics_port(world.observe), rows[i].request, "") !=
            rows[i].status)
            fail_msg("%s: %.40s", rows[i].request, world.answer);
    assert_int_equal(world.drains + world.reloads, 0);
    pages_end(&world);
}

static void the_document_has_every_row(void **state)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    (void)state;
    pst_observe_document(out);
    (void)fclose(out);
    for (int m = 0; m < PST_METRIC_COUNT; m++)
        assert_non_null(strstr(text, pst_metric_rows[m].name));
    assert_non_null(strstr(text, "llm_d_epp_flow_control_pool_saturation"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_metrics_page_says_what_happened),
        cmocka_unit_test(what_is_desired_is_what_is_told),
        cmocka_unit_test(replicas_cost_what_their_time_costs),
        cmocka_unit_test(promtool_accepts_the_metrics_page),
        cmocka_unit_test(the_names_that_others_know_are_added_on_demand),
        cmocka_unit_test(readiness_is_lost_by_draining_alone),
        cmocka_unit_test(nothing_else_is_served_to_the_network),
        cmocka_unit_test(the_document_has_every_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
