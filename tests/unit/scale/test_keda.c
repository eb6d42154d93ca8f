/*
 * The external scaler over real sockets: answers and statuses on the wire, streams that are told at once and
 * by pool, their end by either side. Time is the loop's own; nothing here waits for it.
 */
#include "keda_room.h"

#include "../net/h2_client.h"
#include "base/fd.h"
#include "scale/keda.h"

#define GRPC          "application/grpc"
#define SERVICE       "/externalscaler.ExternalScaler/"
#define REQUEST_BYTES 512

static struct pst_config *config;
static struct pst_loop *loop;
static struct pst_drive *drive;
static struct pst_capacity *capacity;
static struct pst_metrics *metrics;
static struct pst_keda *keda;
static struct client client;
static char requests[16][REQUEST_BYTES];
static uint32_t requests_count;

static void on_action(void *user, const struct pst_gate_action *action)
{
    (void)user;
    (void)action;
}

static void on_act(void *user, const struct pst_scaler_action *action)
{
    (void)user;
    (void)action;
}

static void on_decided(void *user, const struct pst_capacity_decision *decision)
{
    (void)user;
    if (keda != NULL)
        pst_keda_decided(keda, decision->action.pool);
}

static void on_settled(void *user, pst_ns deadline)
{
    (void)user;
    (void)deadline;
}

static int set_up(void **state)
{
    const struct pst_drive_handlers gate = {NULL, on_action, on_action, on_settled};
    const struct pst_capacity_handlers scaler = {NULL, on_act, on_decided, on_settled};
    const struct pst_metric_sizes sizes = {.pools = 2, .classes = 2, .lengths = 3};
    struct pst_keda_config k;

    (void)state;
    pst_fd_ignore_sigpipe();
    requests_count = 0;
    keda = NULL;
    config = configured(TOP POOL("chat", "scaler: {min: 0, max: 9}")
                            POOL("code", "scaler: {min: 0, max: 9}"));
    assert_int_equal(pst_loop_new(&loop), PST_OK);
    assert_int_equal(pst_metrics_new(&sizes, &metrics), PST_OK);
    assert_int_equal(pst_drive_new(&config->gate, &drive), PST_OK);
    assert_int_equal(pst_capacity_new(&config->scaler, drive, &capacity), PST_OK);
    pst_drive_handlers(drive, &gate);
    pst_capacity_handlers(capacity, &scaler);
    k = (struct pst_keda_config){loop, config, capacity, drive, metrics};
    assert_int_equal(pst_keda_new(&k, &keda), PST_OK);
    client_connect(&client, pst_keda_port(keda), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    client_close(&client);
    pst_keda_free(keda);
    pst_capacity_free(capacity);
    pst_drive_free(drive);
    pst_metrics_free(metrics);
    pst_loop_free(loop);
    pst_config_free(config);
    return 0;
}

static struct call *call(const char *method, const char *metadata)
{
    char *request = requests[requests_count++], path[96];
    struct trigger t;
    size_t len;

    assert_true(requests_count <= PST_COUNT_OF(requests));
    trigger(&t, metadata);
    len = externalscaler__scaled_object_ref__pack(&t.ref, (uint8_t *)request + 5);
    assert_true(len < 256);
    memcpy(request, "\0\0\0\0", 4);
    request[4] = (char)len;
    (void)snprintf(path, sizeof path, SERVICE "%s", method);
    return client_request(&client, "POST", path, GRPC, NULL, NULL, request, len + 5, true);
}

#define UNTIL(condition) CLIENT_UNTIL(loop, &client, condition)

static uint32_t streams(void)
{
    struct pst_rpc_figures f;

    pst_keda_figures(keda, &f);
    return f.streams;
}

static struct call *park(const char *metadata)
{
    uint32_t before = streams();
    struct call *parked = call("StreamIsActive", metadata);

    UNTIL(streams() == before + 1);
    return parked;
}

/* A message of one boolean: `true` is a byte more than `false`. */
#define TRUE_BYTES  "\0\0\0\0\2\x08\1"
#define TRUE_LEN    7
#define FALSE_BYTES "\0\0\0\0\0"

static void synced_and_ticked(void)
{
    for (uint16_t p = 0; p < config->pools_count; p++) {
        const struct pst_scaler_event synced = {
            .now = pst_loop_now(loop), .kind = PST_SCALER_SYNCED, .pool = p};

        pst_capacity_event(capacity, &synced);
    }
    pst_capacity_tick(capacity, pst_loop_now(loop), 0);
    pst_capacity_tick(capacity, pst_loop_now(loop) + PST_S, 0);
}

static void test_statuses(void **state)
{
    struct call *unknown = call("IsActive", "pool=chat"), *wrong = call("IsActive", "pool=no"),
                *spec = call("GetMetricSpec", "pool=code"), *later = call("StreamMetricSpec", "");

    (void)state;
    UNTIL(unknown->closed && wrong->closed && spec->closed && later->closed);
    assert_int_equal(unknown->grpc_status, PST_RPC_UNAVAILABLE);
    assert_int_equal(unknown->got_len, 0);
    assert_int_equal(wrong->grpc_status, PST_RPC_INVALID_ARGUMENT);
    assert_non_null(strstr(wrong->message, "'pool'"));
    assert_int_equal(spec->grpc_status, PST_RPC_OK);
    assert_true(spec->got_len > 5);
    assert_int_equal(later->grpc_status, PST_RPC_UNIMPLEMENTED);
    assert_true(client.streams_max >= 65536);
}

static void test_known_zero(void **state)
{
    struct call *active;

    (void)state;
    synced_and_ticked();
    active = call("IsActive", "pool=chat");
    UNTIL(active->closed);
    assert_int_equal(active->grpc_status, PST_RPC_OK);
    assert_int_equal(active->got_len, 5);
    assert_memory_equal(active->got, FALSE_BYTES, 5);
}

/* A push needs no tick and no timer: what is parked there hears it, once, and nobody else. */
static void test_push_by_pool(void **state)
{
    struct call *chat = park("pool=chat"), *again = park("pool=chat;metric=p99-wait"),
                *code = park("pool=code"), *late;

    (void)state;
    pst_keda_wake(keda, 0);
    UNTIL(chat->got_len > 0 && again->got_len > 0);
    assert_int_equal(chat->got_len, TRUE_LEN);
    assert_memory_equal(chat->got, TRUE_BYTES, TRUE_LEN);
    assert_memory_equal(again->got, TRUE_BYTES, TRUE_LEN);
    late = park("pool=chat"); /* hears at once what was said last */
    UNTIL(late->got_len > 0);
    assert_memory_equal(late->got, TRUE_BYTES, TRUE_LEN);
    assert_int_equal(code->got_len, 0);
    assert_false(chat->closed || again->closed || code->closed || late->closed);
}

/* B079: true, false, true within 2 s of the pool: one `true`, and no `false`. */
static void test_B079_no_hasty_false(void **state)
{
    struct call *parked = park("pool=chat"), *active;

    (void)state;
    pst_keda_wake(keda, 0);
    UNTIL(parked->got_len == TRUE_LEN);
    synced_and_ticked(); /* nothing waits: it is known to be idle */
    active = call("IsActive", "pool=chat");
    UNTIL(active->closed);
    assert_memory_equal(active->got, FALSE_BYTES, 5);
    pst_keda_decided(keda, 0);
    pst_keda_wake(keda, 0);
    active = call("IsActive",
                  "pool=code"); /* what was pushed before this has come when its answer has */
    UNTIL(active->closed);
    assert_int_equal(parked->got_len % TRUE_LEN, 0);
    assert_memory_equal(parked->got, TRUE_BYTES, TRUE_LEN);
    assert_true(parked->got_len <= 2 * TRUE_LEN);
    assert_memory_equal(parked->got + parked->got_len - TRUE_LEN, TRUE_BYTES, TRUE_LEN);
}

static void test_drain(void **state)
{
    struct call *chat = park("pool=chat"), *code = park("pool=code");

    (void)state;
    pst_keda_drain(keda);
    pst_keda_drain(keda);
    UNTIL(chat->closed && code->closed);
    assert_int_equal(chat->grpc_status, PST_RPC_OK);
    assert_int_equal(code->grpc_status, PST_RPC_OK);
    assert_int_equal(chat->error_code, NGHTTP2_NO_ERROR);
    UNTIL(client.goaways > 0);
    pst_keda_wake(keda, 0); /* nobody is there to be told */
    assert_int_equal(streams(), 0);
}

static void test_client_leaves(void **state)
{
    struct call *chat = park("pool=chat"), *code = park("pool=code");

    (void)state;
    assert_int_equal(nghttp2_submit_rst_stream(client.session, 0, chat->id, NGHTTP2_CANCEL), 0);
    UNTIL(streams() == 1);
    pst_keda_wake(keda, 0);
    pst_keda_wake(keda, 1);
    UNTIL(code->got_len == TRUE_LEN);
    client_close(&client);
    WIRE_UNTIL(loop, streams() == 0);
    pst_keda_wake(keda, 1);
}

static void test_wrong_stream_is_not_parked(void **state)
{
    struct call *wrong = call("StreamIsActive", "pool=chat;mode=desired");

    (void)state;
    UNTIL(wrong->closed);
    assert_int_equal(wrong->grpc_status, PST_RPC_INVALID_ARGUMENT);
    assert_non_null(strstr(wrong->message, "'mode'"));
    assert_int_equal(streams(), 0);
}

/* Other numbers, and a pool more; who is parked stays so. */
static void test_reload(void **state)
{
    struct pst_config *before = config;
    struct call *parked = park("pool=chat"), *spec;

    (void)state;
    config = configured(TOP POOL("chat", "scaler: {min: 0, max: 9}, export: {mode: p99-wait}") POOL(
        "code", "scaler: {min: 0, max: 9}") POOL("new", "scaler: {min: 0, max: 9}"));
    assert_int_equal(pst_drive_reconfigure(drive, &config->gate), PST_OK);
    assert_int_equal(pst_capacity_reconfigure(capacity, &config->scaler), PST_OK);
    pst_keda_reload(keda, config);
    pst_config_free(before);
    spec = call("GetMetricSpec", "pool=chat");
    UNTIL(spec->closed);
    assert_non_null(memmem(spec->got, spec->got_len, "penstock-chat-p99-wait", 22));
    spec = call("GetMetricSpec", "pool=new");
    UNTIL(spec->closed);
    assert_non_null(memmem(spec->got, spec->got_len, "penstock-new-desired", 20));
    pst_keda_wake(keda, 0);
    UNTIL(parked->got_len == TRUE_LEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_statuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_known_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_push_by_pool, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_B079_no_hasty_false, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_drain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_client_leaves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_stream_is_not_parked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reload, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
