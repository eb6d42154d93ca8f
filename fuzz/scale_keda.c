/*
 * scale_keda.c - any bytes as a request of KEDA's: the first says which method, the rest is the message.
 *
 * What is asserted: an answer is a message that its own type reads back, or a status with a printable
 * reason; nothing is allocated for it.
 */
#include <stdlib.h>
#include <string.h>

#include "scale/keda_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char yaml[] =
    "listen: 127.0.0.1:0\n"
    "keda: {listen: 127.0.0.1:0}\n"
    "pools:\n"
    "  - {name: a, engine: vllm, models: [{name: a, weight: 1}], slots: 4,\n"
    "     replicas: {static: ['http://127.0.0.1:9']}, scaler: {min: 0, max: 4}}\n"
    "  - {name: b, engine: vllm, models: [{name: b, weight: 1}], slots: 4,\n"
    "     replicas: {static: ['http://127.0.0.1:9']}, scaler: {min: 0, max: 4}}\n";

static struct pst_keda_waits waits;
static struct pst_keda_world world = {.waits = &waits};

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
    (void)decision;
}

static void on_settled(void *user, pst_ns deadline)
{
    (void)user;
    (void)deadline;
}

/* Pool a has been decided, pool b is not known. */
static void begin(void)
{
    static const struct pst_drive_handlers gate = {NULL, on_action, on_action, on_settled};
    static const struct pst_capacity_handlers scaler = {NULL, on_act, on_decided, on_settled};
    const struct pst_scaler_event synced = {.now = PST_S, .kind = PST_SCALER_SYNCED};
    struct pst_capacity *capacity;
    struct pst_problems problems;
    struct pst_config *config;
    struct pst_drive *drive;

    PST_ASSERT(pst_config_parse("fuzz.yaml", yaml, sizeof yaml - 1, &config, &problems) == PST_OK);
    pst_problems_done(&problems);
    PST_ASSERT(pst_drive_new(&config->gate, &drive) == PST_OK);
    PST_ASSERT(pst_capacity_new(&config->scaler, drive, &capacity) == PST_OK);
    pst_drive_handlers(drive, &gate);
    pst_capacity_handlers(capacity, &scaler);
    pst_capacity_event(capacity, &synced);
    pst_capacity_tick(capacity, 2 * PST_S, 0);
    pst_capacity_tick(capacity, 3 * PST_S, 0);
    world.config = config;
    world.capacity = capacity;
    world.drive = drive;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        &externalscaler__is_active_response__descriptor,
        &externalscaler__is_active_response__descriptor,
        &externalscaler__get_metric_spec_response__descriptor,
        &externalscaler__get_metrics_response__descriptor,
    };
    struct pst_keda_answer answer;
    struct pst_slice request;
    ProtobufCMessage *message;
    uint16_t pool;
    uint8_t method;

    if (world.config == NULL)
        begin();
    if (size == 0 || size > PST_KEDA_REQUEST_MAX)
        return 0;
    method = data[0] % PST_COUNT_OF(types);
    request = pst_slice((const char *)data + 1, size - 1);
    if (method == 0)
        pst_keda_is_active(&world, request, 3 * PST_S, &answer);
    else if (method == 1 && pst_keda_stream_pool(&world, request, &answer, &pool))
        pst_keda_answer_active(pool == 0, &answer);
    else if (method == 2)
        pst_keda_metric_spec(&world, request, &answer);
    else if (method == 3)
        pst_keda_metrics(&world, request, 3 * PST_S, &answer);
    if (answer.status != PST_RPC_OK) {
        for (const char *c = answer.why; *c != '\0'; c++)
            PST_ASSERT(*c >= ' ' && *c <= '~');
        return 0;
    }
    message = protobuf_c_message_unpack(types[method], NULL, answer.len, answer.bytes);
    PST_ASSERT(message != NULL);
    protobuf_c_message_free_unpacked(message, NULL);
    return 0;
}
