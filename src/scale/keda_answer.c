/* keda_answer.c - see keda_answer.h. */
#include "scale/keda_answer.h"

#include <stdio.h>

#define MILLI       UINT64_C(1000)
#define ARENA_BYTES 65536

/*
 * Where a request is unpacked: given out in order, taken back as a whole. A request that needs more than
 * this (thousands of empty pairs) is refused, as one that cannot be read.
 */
struct arena {
    size_t used;
    _Alignas(max_align_t) uint8_t bytes[ARENA_BYTES];
};

static void *arena_alloc(void *user, size_t size)
{
    struct arena *arena = user;
    size_t rounded = (size + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    void *at = arena->bytes + arena->used;

    if (rounded < size || rounded > ARENA_BYTES - arena->used)
        return NULL;
    arena->used += rounded;
    return at;
}

static void arena_free(void *user, void *at)
{
    (void)user;
    (void)at;
}

/* A reason is read by people and terminals: what a stranger put in is made harmless. */
static void refuse(struct pst_keda_answer *answer, enum pst_rpc_status status)
{
    answer->status = status;
    for (char *c = answer->why; *c != '\0'; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

static ProtobufCMessage *unpack(struct arena *arena, const ProtobufCMessageDescriptor *type,
                                struct pst_slice request, struct pst_keda_answer *answer)
{
    ProtobufCAllocator allocator = {arena_alloc, arena_free, arena};
    ProtobufCMessage *message;

    arena->used = 0;
    message = protobuf_c_message_unpack(type, &allocator, request.len, (const uint8_t *)request.at);
    if (message == NULL) {
        (void)snprintf(answer->why, sizeof answer->why, "the message is no %s, or too large",
                       type->short_name);
        refuse(answer, PST_RPC_INVALID_ARGUMENT);
    }
    return message;
}

static void pack(const ProtobufCMessage *message, struct pst_keda_answer *answer)
{
    answer->len = protobuf_c_message_get_packed_size(message);
    PST_ASSERT(answer->len <=
               sizeof answer->bytes); /* names are bounded, and all else is numbers */
    (void)protobuf_c_message_pack(message, answer->bytes);
    answer->status = PST_RPC_OK;
}

static bool read_ask(const struct pst_keda_world *world, const Externalscaler__ScaledObjectRef *ref,
                     struct pst_keda_answer *answer, struct pst_keda_ask *ret_ask)
{
    if (pst_keda_ask_read(world->config, ref, ret_ask, answer->why) == PST_OK)
        return true;
    refuse(answer, PST_RPC_INVALID_ARGUMENT);
    return false;
}

static bool read_ref(const struct pst_keda_world *world, struct pst_slice request,
                     struct pst_keda_answer *answer, struct pst_keda_ask *ret_ask)
{
    struct arena arena;
    const Externalscaler__ScaledObjectRef *ref =
        (void *)unpack(&arena, &externalscaler__scaled_object_ref__descriptor, request, answer);

    return ref != NULL && read_ask(world, ref, answer, ret_ask);
}

static void not_known(const struct pst_keda_world *world, uint16_t pool,
                      struct pst_keda_answer *answer)
{
    (void)snprintf(answer->why, sizeof answer->why,
                   "pool '%.64s': what it needs is not known now; keep what there is",
                   world->config->pools[pool].name);
    refuse(answer, PST_RPC_UNAVAILABLE);
}

void pst_keda_answer_active(bool active, struct pst_keda_answer *answer)
{
    Externalscaler__IsActiveResponse response;

    externalscaler__is_active_response__init(&response);
    response.result = active;
    pack(&response.base, answer);
}

void pst_keda_is_active(const struct pst_keda_world *world, struct pst_slice request, pst_ns now,
                        struct pst_keda_answer *answer)
{
    struct pst_export_input input;
    struct pst_keda_ask ask;
    bool active;

    if (!read_ref(world, request, answer, &ask))
        return;
    pst_keda_look(world, ask.pool, now, &input);
    if (pst_export_active(&input, &active) != PST_OK)
        not_known(world, ask.pool, answer);
    else
        pst_keda_answer_active(active, answer);
}

bool pst_keda_stream_pool(const struct pst_keda_world *world, struct pst_slice request,
                          struct pst_keda_answer *answer, uint16_t *ret_pool)
{
    struct pst_keda_ask ask;

    if (!read_ref(world, request, answer, &ask))
        return false;
    *ret_pool = ask.pool;
    return true;
}

static uint64_t target_integer(uint64_t target_milli)
{
    return target_milli < MILLI ? 1 : target_milli / MILLI;
}

void pst_keda_metric_spec(const struct pst_keda_world *world, struct pst_slice request,
                          struct pst_keda_answer *answer)
{
    Externalscaler__GetMetricSpecResponse response;
    Externalscaler__MetricSpec spec, *specs[] = {&spec};
    char name[PST_KEDA_NAME_MAX];
    struct pst_keda_ask ask;
    uint64_t target;

    if (!read_ref(world, request, answer, &ask))
        return;
    pst_keda_ask_name(world->config, &ask, name);
    target = pst_export_target(&ask.export_, &world->config->scaler.pools[ask.pool]);
    externalscaler__metric_spec__init(&spec);
    spec.metricname = name;
    spec.targetsize = (int64_t)target_integer(target);
    spec.targetsizefloat = (double)target / (double)MILLI;
    externalscaler__get_metric_spec_response__init(&response);
    response.n_metricspecs = 1;
    response.metricspecs = specs;
    pack(&response.base, answer);
}

/* For clients that read it by the integer target. */
static int64_t value_integer(uint64_t value_milli, uint64_t target_milli)
{
    /* Both factors are bounded by export.h: 10^12 and 4 x 10^6. */
    uint64_t scaled = value_milli * target_integer(target_milli);

    return (int64_t)((scaled + target_milli - 1) / target_milli);
}

static void answer_value(const struct pst_keda_world *world, const struct pst_keda_ask *ask,
                         char *name, pst_ns now, struct pst_keda_answer *answer)
{
    Externalscaler__GetMetricsResponse response;
    Externalscaler__MetricValue value, *values[] = {&value};
    struct pst_export_input input;
    uint64_t milli;

    pst_keda_look(world, ask->pool, now, &input);
    if (pst_export_value(&ask->export_, &input, &milli) != PST_OK) {
        not_known(world, ask->pool, answer);
        return;
    }
    externalscaler__metric_value__init(&value);
    value.metricname = name;
    value.metricvalue = value_integer(
        milli, pst_export_target(&ask->export_, &world->config->scaler.pools[ask->pool]));
    value.metricvaluefloat = (double)milli / (double)MILLI;
    externalscaler__get_metrics_response__init(&response);
    response.n_metricvalues = 1;
    response.metricvalues = values;
    pack(&response.base, answer);
}

void pst_keda_metrics(const struct pst_keda_world *world, struct pst_slice request, pst_ns now,
                      struct pst_keda_answer *answer)
{
    Externalscaler__ScaledObjectRef nobody;
    struct arena arena;
    const Externalscaler__GetMetricsRequest *message =
        (void *)unpack(&arena, &externalscaler__get_metrics_request__descriptor, request, answer);
    char name[PST_KEDA_NAME_MAX];
    struct pst_keda_ask ask;

    externalscaler__scaled_object_ref__init(&nobody);
    if (message == NULL ||
        !read_ask(world, message->scaledobjectref == NULL ? &nobody : message->scaledobjectref,
                  answer, &ask))
        return;
    pst_keda_ask_name(world->config, &ask, name);
    if (!pst_slice_equal_nocase(pst_slice_of(name), pst_slice_of(message->metricname))) {
        (void)snprintf(answer->why, sizeof answer->why, "there is no metric '%.64s' here; it is %s",
                       message->metricname, name);
        refuse(answer, PST_RPC_NOT_FOUND);
        return;
    }
    answer_value(world, &ask, name, now, answer);
}
