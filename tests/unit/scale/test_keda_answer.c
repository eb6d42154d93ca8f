/*
 * KEDA's four questions against a real gate and a real scaler, with a fake clock and no sockets: what is
 * said before anything is known, while replicas load, serve, and have nothing to do; and whatever the bytes are.
 */
#include "keda_room.h"

#define BEGIN (1000 * PST_S)

static struct {
    struct pst_config *config;
    struct pst_drive *drive;
    struct pst_capacity *capacity;
    struct pst_keda_waits waits;
    struct pst_keda_world world;
    pst_ns now;
    struct pst_ticket_id tickets[16];
    uint32_t tickets_count;
} w;

static void on_request(void *user, const struct pst_gate_action *action)
{
    struct pst_gate_event arrive = {.now = w.now, .kind = PST_EVENT_ARRIVE};

    (void)user;
    if (action->kind != PST_ACTION_CONTINUE)
        return;
    arrive.u.arrive.id = action->u.ticket.id;
    arrive.u.arrive.prompt_bytes = 400;
    arrive.u.arrive.sequences = 1;
    arrive.u.arrive.weight = 100;
    pst_drive_event(w.drive, &arrive);
}

/* Whatever is asked is well. */
static void on_fleet(void *user, const struct pst_gate_action *action)
{
    struct pst_gate_event probe = {.now = w.now, .kind = PST_EVENT_PROBE};

    (void)user;
    if (action->kind == PST_ACTION_CHECK) {
        probe.u.probe.replica = action->u.check.replica;
        probe.u.probe.probe = action->u.check.probe;
        probe.u.probe.result = PST_PROBE_OK;
        pst_drive_event(w.drive, &probe);
    } else if (w.capacity != NULL)
        pst_capacity_fleet_action(w.capacity, action, w.now);
}

static void on_act(void *user, const struct pst_scaler_action *action)
{
    (void)user;
    (void)action; /* others keep the number */
}

static void on_decided(void *user, const struct pst_capacity_decision *decision)
{
    (void)user;
    (void)decision;
}

static void on_settled(void *user, pst_ns deadline)
{
    (void)user;
    (void)deadline;
}

static void begin(const char *text)
{
    const struct pst_drive_handlers gate = {NULL, on_request, on_fleet, on_settled};
    const struct pst_capacity_handlers scaler = {NULL, on_act, on_decided, on_settled};

    memset(&w, 0, sizeof w);
    w.now = BEGIN;
    w.config = configured(text);
    assert_int_equal(pst_drive_new(&w.config->gate, &w.drive), PST_OK);
    assert_int_equal(pst_capacity_new(&w.config->scaler, w.drive, &w.capacity), PST_OK);
    pst_drive_handlers(w.drive, &gate);
    pst_capacity_handlers(w.capacity, &scaler);
    for (uint16_t p = 0; p < w.config->pools_count; p++) {
        const struct pst_scaler_event synced = {.now = w.now, .kind = PST_SCALER_SYNCED, .pool = p};

        assert_int_equal(w.config->scaler.pools[p].actuate, PST_ACTUATE_NUMBER);
        pst_capacity_event(w.capacity, &synced);
    }
    w.world = (struct pst_keda_world){w.config, w.capacity, w.drive, &w.waits};
}

static void finish(void)
{
    pst_capacity_free(w.capacity);
    pst_drive_free(w.drive);
    pst_config_free(w.config);
}

static void pass(uint32_t seconds)
{
    for (uint32_t s = 0; s < seconds; s++) {
        const struct pst_gate_event time = {.now = w.now += PST_S, .kind = PST_EVENT_TIME};

        pst_drive_event(w.drive, &time);
        pst_capacity_tick(w.capacity, w.now, 0);
    }
}

static void replica(uint16_t replica, enum pst_replica_state state)
{
    struct pst_gate_event event = {.now = w.now, .kind = PST_EVENT_REPLICA};

    event.u.replica.replica = replica;
    event.u.replica.state = (uint8_t)state;
    event.u.replica.cause = state == PST_REPLICA_GONE ? PST_CAUSE_REMOVED : PST_CAUSE_CONFIG;
    pst_drive_event(w.drive, &event);
}

static void ticket(void)
{
    struct pst_gate_event offer = {.now = w.now, .kind = PST_EVENT_OFFER};
    struct pst_ticket_id id;

    assert_true(pst_drive_ticket(w.drive, &id));
    w.tickets[w.tickets_count++] = id;
    offer.u.offer.id = id;
    offer.u.offer.body_bytes = 100;
    offer.u.offer.pool = PST_POOL_NONE;
    offer.u.offer.weight = 100;
    pst_drive_event(w.drive, &offer);
}

static void clients_leave(void)
{
    while (w.tickets_count > 0) {
        struct pst_gate_event cancel = {.now = w.now, .kind = PST_EVENT_CANCEL};

        cancel.u.cancel.id = w.tickets[--w.tickets_count];
        pst_drive_event(w.drive, &cancel);
    }
}

enum method { IS_ACTIVE, STREAM, SPEC, METRICS, METHODS };

static struct pst_keda_answer answer;

static void ask_bytes(enum method method, struct pst_slice request)
{
    uint16_t pool;

    memset(&answer, 0xa5, sizeof answer);
    switch (method) {
    case IS_ACTIVE:
        pst_keda_is_active(&w.world, request, w.now, &answer);
        break;
    case STREAM:
        if (pst_keda_stream_pool(&w.world, request, &answer, &pool)) {
            assert_true(pool < w.config->pools_count);
            pst_keda_answer_active(true, &answer);
        }
        break;
    case SPEC:
        pst_keda_metric_spec(&w.world, request, &answer);
        break;
    case METRICS:
    case METHODS:
        pst_keda_metrics(&w.world, request, w.now, &answer);
        break;
    }
    if (answer.status == PST_RPC_OK)
        assert_true(answer.len <= sizeof answer.bytes);
    else
        assert_non_null(memchr(answer.why, '\0', sizeof answer.why));
}

static void ask(enum method method, const char *metadata, const char *name)
{
    uint8_t packed[1024];
    struct trigger t;
    size_t len;

    trigger(&t, metadata);
    if (method == METRICS) {
        Externalscaler__GetMetricsRequest request;
        char own[128];

        externalscaler__get_metrics_request__init(&request);
        request.scaledobjectref = &t.ref;
        request.metricname = strcpy(own, name);
        len = externalscaler__get_metrics_request__pack(&request, packed);
    } else
        len = externalscaler__scaled_object_ref__pack(&t.ref, packed);
    ask_bytes(method, pst_slice((const char *)packed, len));
}

static void must_give(const char *metadata, const char *name, double value, int64_t integer)
{
    Externalscaler__GetMetricsResponse *response;

    ask(METRICS, metadata, name);
    if (answer.status != PST_RPC_OK)
        fail_msg("%s: %u %s", name, answer.status, answer.why);
    response = externalscaler__get_metrics_response__unpack(NULL, answer.len, answer.bytes);
    assert_non_null(response);
    assert_int_equal(response->n_metricvalues, 1); /* exactly one */
    assert_float_equal(response->metricvalues[0]->metricvaluefloat, value, 1e-9);
    assert_int_equal(response->metricvalues[0]->metricvalue, integer);
    externalscaler__get_metrics_response__free_unpacked(response, NULL);
}

static void must_aim_at(const char *metadata, const char *name, double target, int64_t integer)
{
    Externalscaler__GetMetricSpecResponse *response;

    ask(SPEC, metadata, NULL);
    assert_int_equal(answer.status, PST_RPC_OK);
    response = externalscaler__get_metric_spec_response__unpack(NULL, answer.len, answer.bytes);
    assert_non_null(response);
    assert_int_equal(response->n_metricspecs, 1);
    assert_string_equal(response->metricspecs[0]->metricname, name);
    assert_float_equal(response->metricspecs[0]->targetsizefloat, target, 1e-9);
    assert_int_equal(response->metricspecs[0]->targetsize, integer);
    externalscaler__get_metric_spec_response__free_unpacked(response, NULL);
}

static void must_be_active(bool active)
{
    Externalscaler__IsActiveResponse *response;

    ask(IS_ACTIVE, "", NULL);
    if (answer.status != PST_RPC_OK)
        fail_msg("%u %s", answer.status, answer.why);
    response = externalscaler__is_active_response__unpack(NULL, answer.len, answer.bytes);
    assert_non_null(response);
    assert_int_equal(response->result, active);
    externalscaler__is_active_response__free_unpacked(response, NULL);
}

static void must_refuse(enum method method, const char *metadata, const char *name,
                        enum pst_rpc_status status, const char *why)
{
    ask(method, metadata, name);
    assert_int_equal(answer.status, status);
    if (strstr(answer.why, why) == NULL)
        fail_msg("'%s' does not say '%s'", answer.why, why);
}

#define DESIRED "penstock-chat-desired"

static const char from_zero[] =
    TOP POOL("chat", "scaler: {min: 0, max: 9, in_after: 1s, out_above: 2500ms}");

/* Before the first decision nothing is known: neither a number nor false. The target always is (B077). */
static void test_unknown_at_first(void **state)
{
    (void)state;
    begin(from_zero);
    must_refuse(METRICS, "", DESIRED, PST_RPC_UNAVAILABLE, "not known");
    must_refuse(METRICS, "metric=weighted-depth", "penstock-chat-weighted-depth",
                PST_RPC_UNAVAILABLE, "'chat'");
    must_refuse(IS_ACTIVE, "", NULL, PST_RPC_UNAVAILABLE, "not known");
    must_aim_at("", DESIRED, 1, 1);
    ticket(); /* work is a fact, whatever else is not known */
    must_be_active(true);
    must_refuse(METRICS, "", DESIRED, PST_RPC_UNAVAILABLE, "not known");
    clients_leave();
    finish();
}

static void test_min_is_a_fact(void **state)
{
    (void)state;
    begin(TOP POOL("chat", "scaler: {min: 2, max: 9}"));
    must_be_active(true);
    finish();
}

/* Zero in both fields, and no activity: known, and nothing. */
static void test_zero(void **state)
{
    (void)state;
    begin(from_zero);
    pass(600);
    must_give("", DESIRED, 0, 0);
    must_be_active(false);
    must_give("metric=weighted-depth", "penstock-chat-weighted-depth", 0, 0);
    must_give("metric=backlog-seconds", "penstock-chat-backlog-seconds", 0, 0);
    finish();
}

/* 0 -> 1 by a ticket: active while it waits, while the replica loads, while it runs. */
static void test_active_while_anything(void **state)
{
    (void)state;
    begin(from_zero);
    pass(600);
    ticket();
    must_be_active(true);
    must_give("", DESIRED, 1, 1);
    replica(0, PST_REPLICA_STARTING);
    clients_leave();
    must_be_active(true); /* it loads */
    ticket();
    replica(0, PST_REPLICA_LOADING);
    pass(1);
    must_be_active(true); /* it runs */
    clients_leave();
    replica(1, PST_REPLICA_STARTING);
    replica(1, PST_REPLICA_LOADING);
    pass(1);
    must_be_active(true); /* N > 1 */
    finish();
}

static void test_specs(void **state)
{
    (void)state;
    begin(from_zero);
    must_aim_at("metric=desired", DESIRED, 1, 1);
    must_aim_at("metric=weighted-depth", "penstock-chat-weighted-depth", 5, 5);
    must_aim_at("metric=p99-wait", "penstock-chat-p99-wait", 1, 1);
    must_aim_at("metric=backlog-seconds", "penstock-chat-backlog-seconds", 2.5, 2);
    finish();
    begin(TOP POOL("chat", "scaler: {min: 0, max: 9, out_above: 500ms, in_below: 100ms}"));
    must_aim_at("metric=backlog-seconds", "penstock-chat-backlog-seconds", 0.5, 1);
    finish();
}

/* Nothing drains yet: seconds of backlog have no end, and what was decided is asked for, not max. */
static void test_backlog_without_end(void **state)
{
    (void)state;
    begin(from_zero);
    pass(600);
    ticket();
    must_give("metric=backlog-seconds", "penstock-chat-backlog-seconds", 2.5, 2);
    replica(0, PST_REPLICA_STARTING);
    pass(1);
    must_give("metric=backlog-seconds", "penstock-chat-backlog-seconds", 2.5, 2);
    clients_leave();
    finish();
}

/* One ticket of the first class waited 40 ms: P99 is the bound above it. */
static void waited(struct pst_metrics **ret_metrics)
{
    const struct pst_metric_sizes sizes = {.pools = 1, .classes = 2, .lengths = 3};
    const struct pst_labels first = {0};

    assert_int_equal(pst_metrics_new(&sizes, ret_metrics), PST_OK);
    pass(600);
    pst_keda_waits_note(&w.waits, *ret_metrics, w.now);
    pst_metric_observe(*ret_metrics, PST_METRIC_QUEUE_WAIT, first, 40 * PST_MS);
    pst_keda_waits_note(&w.waits, *ret_metrics, w.now);
}

/* B074: a fraction is in the float, and rounded up in the integer. */
static void test_B074_fractions(void **state)
{
    struct pst_metrics *metrics;

    (void)state;
    begin(from_zero);
    waited(&metrics);
    must_give("metric=p99-wait", "penstock-chat-p99-wait", 0.5, 1); /* of 100 ms */
    pst_metrics_free(metrics);
    finish();
}

/* B076: what is beyond all measure is a large number, not an overflow, in both fields. */
static void test_B076_very_large(void **state)
{
    struct pst_metrics *metrics;

    (void)state;
    begin(from_zero);
    w.config->scaler.classes[0].target = 1;
    waited(&metrics);
    must_give("metric=p99-wait", "penstock-chat-p99-wait", PST_EXPORT_MAX, PST_EXPORT_MAX);
    pst_metrics_free(metrics);
    finish();
}

static void test_names(void **state)
{
    (void)state;
    begin(from_zero);
    pass(600);
    must_give("", "Penstock-CHAT-desired", 0, 0);
    must_refuse(METRICS, "", "s0-" DESIRED, PST_RPC_NOT_FOUND, "'s0-" DESIRED "'");
    must_refuse(METRICS, "", "", PST_RPC_NOT_FOUND, "there is no metric ''");
    must_refuse(METRICS, "metric=p99-wait", DESIRED, PST_RPC_NOT_FOUND, DESIRED);
    must_refuse(METRICS, "", "\x1b[2J\xff", PST_RPC_NOT_FOUND, "'?[2J?'");
    finish();
}

static void test_wrong_metadata(void **state)
{
    (void)state;
    begin(TOP POOL("chat", "") POOL("code", ""));
    for (unsigned m = 0; m < METHODS; m++) {
        must_refuse((enum method)m, "", DESIRED, PST_RPC_INVALID_ARGUMENT, "'pool'");
        must_refuse((enum method)m, "pool=no", DESIRED, PST_RPC_INVALID_ARGUMENT, "'no'");
        must_refuse((enum method)m, "pool=chat;band=x\x01", DESIRED, PST_RPC_INVALID_ARGUMENT,
                    "'band': 'x?'");
        must_refuse((enum method)m, "pool=chat;colour=red", DESIRED, PST_RPC_INVALID_ARGUMENT,
                    "'colour'");
    }
    finish();
}

/* Nothing at all is a message: of no pool. Half of one is none. */
static void test_bytes(void **state)
{
    static char many[PST_KEDA_REQUEST_MAX];
    uint32_t random = 12345;
    char noise[64];

    (void)state;
    begin(TOP POOL("chat", "") POOL("code", ""));
    for (unsigned m = 0; m < METHODS; m++) {
        ask_bytes((enum method)m, pst_slice("", 0));
        assert_int_equal(answer.status, PST_RPC_INVALID_ARGUMENT);
        assert_non_null(strstr(answer.why, "'pool'"));
        ask_bytes((enum method)m, PST_SLICE("\x0a\x7f"));
        assert_int_equal(answer.status, PST_RPC_INVALID_ARGUMENT);
    }
    for (size_t i = 0; i < sizeof many; i++) /* as many empty pairs as a message can hold */
        many[i] = i % 2 == 0 ? 0x1a : 0;
    ask_bytes(IS_ACTIVE, pst_slice(many, sizeof many));
    assert_int_equal(answer.status, PST_RPC_INVALID_ARGUMENT);
    assert_non_null(strstr(answer.why, "too large"));
    for (uint32_t i = 0; i < 100000; i++) {
        size_t len = (random = random * 1664525 + 1013904223) >> 26;

        for (size_t b = 0; b < len; b++)
            noise[b] = (char)((random = random * 1664525 + 1013904223) >> (i % 3 == 0 ? 24 : 28));
        ask_bytes((enum method)(i % METHODS), pst_slice(noise, len));
        assert_int_equal(answer.status, PST_RPC_INVALID_ARGUMENT);
    }
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_at_first),
        cmocka_unit_test(test_min_is_a_fact),
        cmocka_unit_test(test_zero),
        cmocka_unit_test(test_active_while_anything),
        cmocka_unit_test(test_specs),
        cmocka_unit_test(test_backlog_without_end),
        cmocka_unit_test(test_B074_fractions),
        cmocka_unit_test(test_B076_very_large),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_wrong_metadata),
        cmocka_unit_test(test_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
