#include "config/schema.h"

#include <string.h>

#include "config/draft.h"

/* clang-format off */
#define AT(type, member) offsetof(type, member), sizeof(((type *)0)->member)
#define ROWS(rows)       .fields = (rows), .count = PST_COUNT_OF(rows)
#define NOWHERE          .name_offset = PST_SECTION_NOWHERE, .node_offset = PST_SECTION_NOWHERE
#define DAY              (UINT64_C(86400) * PST_S)
#define GIB              (UINT64_C(1) << 30)

/* ---- classes ---------------------------------------------------------------------------------- */

static const struct pst_choice on_full[] = {
    {"reject", PST_ON_FULL_REJECT, NULL},
    {"wait", PST_ON_FULL_WAIT, NULL},
    {"spill", 0, "`spill` needs a store, and none can be configured; `reject` or `wait`"},
    {NULL, 0, NULL}};

static const struct pst_field bin_rows[] = {
    {.key = "on_full", .kind = PST_FIELD_CHOICE, .offset = 0, .size = 1, .choices = on_full,
     .required = true, .doc = "What happens to a request of this length past the bound."},
};
static const struct pst_section bin_section = {
    .title = "classes.*.short, .mid, .long", .doc = "One length bin may differ from its class.",
    NOWHERE, ROWS(bin_rows)};

#define KEEPALIVE(member) offsetof(struct pst_draft_class, member) -                               \
    offsetof(struct pst_draft_class, keepalive_after), sizeof(pst_ns)
static const struct pst_field keepalive_rows[] = {
    {.key = "after", .kind = PST_FIELD_DURATION, KEEPALIVE(keepalive_after), .required = true,
     .min = PST_S / 10, .max = DAY,
     .doc = "A stream that waited so long is answered 200 and kept alive with comments; a later refusal comes in-band."},
    {.key = "every", .kind = PST_FIELD_DURATION, KEEPALIVE(keepalive_every), .fallback = "15s",
     .min = PST_S / 10, .max = DAY, .doc = "Time between two comments."},
};
static const struct pst_section keepalive_section = {
    .title = "classes.*.keepalive", .doc = "Off unless given.", NOWHERE, ROWS(keepalive_rows)};

#define BIN(name, bin)                                                                             \
    {.key = name, .kind = PST_FIELD_SECTION, .section = &bin_section,                              \
     .offset = offsetof(struct pst_draft_class, gate.on_full_length) + (bin),                      \
     .fallback_note = "as the class", .doc = "Its own `on_full` for " name " prompts."}

static const struct pst_field class_rows[] = {
    {.key = "target", .kind = PST_FIELD_DURATION, AT(struct pst_draft_class, gate.target), .min = PST_MS, .max = DAY,
     .fallback_note = "100ms, 500ms, 10s for high, medium, low", .doc = "Aim for the P99 wait in the queue."},
    {.key = "max_wait", .kind = PST_FIELD_DURATION, AT(struct pst_draft_class, gate.max_wait), .min = PST_MS, .max = DAY,
     .fallback_note = "5s, 15s, 60s for high, medium, low",
     .doc = "The deadline: past this predicted wait `on_full` decides, and a ticket's slack is counted against it."},
    {.key = "ttl", .kind = PST_FIELD_DURATION, AT(struct pst_draft_class, gate.ttl), .min = PST_MS, .max = DAY,
     .fallback_note = "30s, 60s, 10m for high, medium, low", .doc = "Longest time in the queue; then 429."},
    {.key = "on_full", .kind = PST_FIELD_CHOICE, AT(struct pst_draft_class, gate.on_full), .choices = on_full,
     .fallback_note = "`wait` for low, else `reject`",
     .doc = "Past the work bound: refuse at once, or hold the connection up to `ttl`."},
    {.key = "guard", .kind = PST_FIELD_SHARE, AT(struct pst_draft_class, gate.guard_ppm), .max = PST_PPM / 2,
     .fallback_note = "none for the first class, 5% for the last, 10% between",
     .doc = "Share of the slot-time left by the first class that tickets past their slack may use."},
    BIN("short", PST_LENGTH_SHORT), BIN("mid", PST_LENGTH_MID), BIN("long", PST_LENGTH_LONG),
    {.key = "keepalive", .kind = PST_FIELD_SECTION, .offset = offsetof(struct pst_draft_class, keepalive_after),
     .section = &keepalive_section, .fallback_note = "off", .doc = "Comments to a stream that waits."},
};
static const struct pst_section class_section = {
    .title = "classes.*", .doc = "One priority class. Other names than high, medium and low must give target, max_wait and ttl.",
    .size = sizeof(struct pst_draft_class), .name_offset = offsetof(struct pst_draft_class, name),
    .node_offset = offsetof(struct pst_draft_class, node), .prepare = pst_draft_class_defaults, ROWS(class_rows)};

/* ---- pools ------------------------------------------------------------------------------------ */

#define POOL(member) AT(struct pst_draft_pool, member)

static const struct pst_choice engines[] = {
    {"openai", PST_ENGINE_OPENAI, NULL}, {"vllm", PST_ENGINE_VLLM, NULL}, {"sglang", PST_ENGINE_SGLANG, NULL},
    {"tgi", PST_ENGINE_TGI, NULL}, {"triton", PST_ENGINE_TRITON, NULL}, {"llamacpp", PST_ENGINE_LLAMACPP, NULL},
    {NULL, 0, NULL}};
static const struct pst_choice policies[] = {
    {"adaptive", PST_POLICY_ADAPTIVE, NULL}, {"fixed", PST_POLICY_FIXED, NULL}, {NULL, 0, NULL}};
static const struct pst_choice scopes[] = {{"pool", 0, NULL}, {"replica", 1, NULL}, {NULL, 0, NULL}};
static const struct pst_choice readiness[] = {
    {"completion", PST_DRAFT_COMPLETION, NULL}, {"embeddings", PST_DRAFT_EMBEDDINGS, NULL},
    {"listed", PST_DRAFT_LISTED, NULL}, {"none", PST_DRAFT_NONE, NULL}, {NULL, 0, NULL}};

static const struct pst_field model_rows[] = {
    {.key = "name", .kind = PST_FIELD_TEXT, AT(struct pst_config_model, name), .required = true,
     .doc = "As clients and the engine say it."},
    {.key = "weight", .kind = PST_FIELD_WEIGHT, AT(struct pst_config_model, weight), .fallback = "1", .min = 1,
     .max = 100000, .doc = "Share among the models of a pool, times the tenant's weight."},
};
static const struct pst_section model_section = {
    .title = "pools[].models[]", .doc = "A model; a plain text is its name.", .size = sizeof(struct pst_config_model),
    .plain = "name", NOWHERE, ROWS(model_rows)};

static const struct pst_field alias_rows[] = {
    {.kind = PST_FIELD_TEXT, AT(struct pst_draft_pair, value), .required = true, .doc = "the model"}};
static const struct pst_section alias_section = {
    .title = "pools[].aliases", .size = sizeof(struct pst_draft_pair),
    .name_offset = offsetof(struct pst_draft_pair, name), .node_offset = offsetof(struct pst_draft_pair, node), ROWS(alias_rows)};

static const struct pst_field path_rows[] = {{.kind = PST_FIELD_PATH, .size = sizeof(char *), .required = true, .doc = "a path"}};
static const struct pst_section path_section = {
    .title = "pools[].paths", .size = sizeof(char *), NOWHERE, ROWS(path_rows)};

static const struct pst_field count_rows[] = {
    {.kind = PST_FIELD_COUNT, .size = sizeof(uint32_t), .required = true, .min = 1, .max = 1000000, .doc = "a number"}};
static const struct pst_section count_section = {
    .title = "pools[].fixed", .size = sizeof(uint32_t), NOWHERE, ROWS(count_rows)};

static const struct pst_field url_rows[] = {
    {.kind = PST_FIELD_URL, .size = sizeof(struct pst_config_replica), .required = true, .doc = "a URL"}};
static const struct pst_section url_section = {
    .title = "pools[].replicas.static", .size = sizeof(struct pst_config_replica), NOWHERE, ROWS(url_rows)};

static const struct pst_field lengths_rows[] = {
    {.key = "short", .kind = PST_FIELD_COUNT, POOL(gate.length_short_tokens), .fallback = "512", .min = 1, .max = 10000000,
     .doc = "Prompts of at most so many estimated tokens are short."},
    {.key = "long", .kind = PST_FIELD_COUNT, POOL(gate.length_long_tokens), .fallback = "2048", .min = 1, .max = 10000000,
     .doc = "Prompts of more are long."},
    {.key = "long_share", .kind = PST_FIELD_SHARE, POOL(gate.long_share_ppm), .fallback = "0.5", .min = 1, .max = PST_PPM,
     .doc = "Most of the slots that long prompts hold while shorter ones wait."},
};
static const struct pst_section lengths_section = {
    .title = "pools[].lengths", .doc = "Length bins, by estimated prompt tokens.", NOWHERE, ROWS(lengths_rows)};

static const struct pst_field ready_rows[] = {
    {.key = "path", .kind = PST_FIELD_PATH, POOL(own.ready_path),
     .fallback_note = "`/health`; triton `/v2/health/ready`; openai `/v1/models`", .doc = "Health path."},
    {.key = "model", .kind = PST_FIELD_CHOICE, POOL(ready), .choices = readiness,
     .fallback_note = "`completion`; triton `none`",
     .doc = "What must be answered before a replica is sent work: one token, an embedding, the model's name in the list, or nothing but the health path."},
    {.key = "interval", .kind = PST_FIELD_DURATION, POOL(gate.probe_interval), .fallback = "5s", .min = PST_S / 10,
     .max = 600 * PST_S, .doc = "Time between probes, jittered."},
    {.key = "timeout", .kind = PST_FIELD_DURATION, POOL(gate.probe_timeout), .fallback = "5s", .min = PST_S / 100,
     .max = 600 * PST_S, .doc = "Longest wait for an answer."},
    {.key = "rise", .kind = PST_FIELD_COUNT, POOL(gate.probe_rise), .fallback = "1", .min = 1, .max = 100,
     .doc = "Good answers in a row before ready."},
    {.key = "fall", .kind = PST_FIELD_COUNT, POOL(gate.probe_fall), .fallback = "3", .min = 1, .max = 100,
     .doc = "Failed probes in a row before suspect; a replica that makes progress is not ejected by time-outs."},
};
static const struct pst_section ready_section = {
    .title = "pools[].ready", .doc = "How a replica shows that it can answer.", NOWHERE, ROWS(ready_rows)};

static const struct pst_field fixed_rows[] = {
    {.key = "queues", .kind = PST_FIELD_LIST, POOL(fixed_queues), .section = &count_section, .min = 1, .max = PST_CLASSES_MAX,
     .fallback_note = "[50, 100, 200]", .doc = "Bound of each class's queue, requests, in priority order; the last one counts for the rest."},
    {.key = "in_flight", .kind = PST_FIELD_LIST, POOL(fixed_in_flight), .section = &count_section, .min = 1,
     .max = PST_CLASSES_MAX, .fallback_note = "[8, 4, 2]", .doc = "Most in flight of each class, in the same way."},
    {.key = "promote_after", .kind = PST_FIELD_DURATION, POOL(gate.fixed_promote_after), .fallback = "15s", .min = PST_MS,
     .max = DAY, .doc = "A request of the last class that waited so long joins the one above, once."},
    {.key = "scope", .kind = PST_FIELD_CHOICE, POOL(gate.fixed_scope_replica), .choices = scopes, .fallback = "pool",
     .doc = "`replica` multiplies `in_flight` by the ready replicas."},
};
static const struct pst_section fixed_section = {
    .title = "pools[].fixed", .doc = "Numbers of `policy: fixed`.", NOWHERE, ROWS(fixed_rows)};

static const struct pst_field replicas_rows[] = {
    {.key = "static", .kind = PST_FIELD_LIST, POOL(statics), .section = &url_section, .max = PST_REPLICAS_MAX,
     .required = true, .doc = "Base URLs, `http://host:port` with an optional prefix."},
    {.key = "dns", .kind = PST_FIELD_REFUSED, .doc = "replicas cannot be found by DNS; list them under `static`"},
    {.key = "local", .kind = PST_FIELD_REFUSED, .doc = "replicas cannot be started as processes; list running ones under `static`"},
    {.key = "kubernetes", .kind = PST_FIELD_REFUSED, .doc = "replicas cannot be found in a cluster; list them under `static`"},
};
static const struct pst_section replicas_section = {
    .title = "pools[].replicas", .doc = "Where the replicas are.", NOWHERE, ROWS(replicas_rows)};

static const struct pst_field scaler_rows[] = {
    {.key = "min", .kind = PST_FIELD_COUNT, POOL(scaler.min), .fallback = "1", .max = PST_REPLICAS_MAX, .doc = "Fewest replicas."},
    {.key = "max", .kind = PST_FIELD_COUNT, POOL(scaler.max), .fallback = "256", .min = 1, .max = PST_REPLICAS_MAX, .doc = "Most replicas."},
    {.key = "warm", .kind = PST_FIELD_COUNT, POOL(scaler.warm), .fallback = "0", .max = PST_REPLICAS_MAX, .doc = "Loaded replicas kept beside the ready ones."},
    {.key = "out_above", .kind = PST_FIELD_DURATION, POOL(scaler.out_above), .fallback = "2s", .min = PST_MS, .max = DAY, .doc = "Backlog above which more are asked for."},
    {.key = "in_below", .kind = PST_FIELD_DURATION, POOL(scaler.in_below), .fallback = "500ms", .max = DAY, .doc = "Backlog below which fewer are thought of."},
    {.key = "in_after", .kind = PST_FIELD_DURATION, POOL(scaler.in_after), .fallback = "1m", .max = DAY, .doc = "How long that must last."},
    {.key = "cost_per_hour", .kind = PST_FIELD_MONEY, POOL(scaler.cost_per_hour), .fallback_note = "none", .doc = "Price of a replica."},
};
static const struct pst_section scaler_section = {
    .title = "pools[].scaler", .doc = "Read by the scaler; checked, and of no effect on requests.", NOWHERE, ROWS(scaler_rows)};

static const struct pst_field pool_rows[] = {
    {.key = "name", .kind = PST_FIELD_NAME, POOL(own.name), .required = true, .doc = "Its name in metrics, logs and messages."},
    {.key = "engine", .kind = PST_FIELD_CHOICE, POOL(own.engine), .choices = engines, .fallback = "openai",
     .doc = "What the replicas run; `openai` is anything that speaks its API."},
    {.key = "models", .kind = PST_FIELD_LIST, POOL(models), .section = &model_section, .required = true, .min = 1, .max = 256,
     .doc = "What the replicas serve: one base model with its adapters."},
    {.key = "aliases", .kind = PST_FIELD_NAMED, POOL(aliases), .section = &alias_section, .max = 256,
     .fallback_note = "none", .doc = "Other names for these models; only the body's `model` is rewritten."},
    {.key = "paths", .kind = PST_FIELD_LIST, POOL(paths), .section = &path_section, .max = 64, .fallback_note = "none",
     .doc = "Further paths that are open, exactly as written."},
    {.key = "policy", .kind = PST_FIELD_CHOICE, POOL(gate.policy), .choices = policies, .fallback = "adaptive",
     .doc = "Who runs next; `fixed` is three bounded queues with limits in flight."},
    {.key = "slots", .kind = PST_FIELD_COUNT, POOL(gate.slots), .required = true, .min = 1, .max = 65536,
     .doc = "Sequences at once per replica: the engine's `max_num_seqs` or less."},
    {.key = "lengths", .kind = PST_FIELD_SECTION, .section = &lengths_section, .doc = "Length bins."},
    {.key = "ready", .kind = PST_FIELD_SECTION, .section = &ready_section, .doc = "Probes."},
    {.key = "fixed", .kind = PST_FIELD_SECTION, .section = &fixed_section, .doc = "Numbers of the fixed policy."},
    {.key = "replicas", .kind = PST_FIELD_SECTION, .section = &replicas_section, .required = true, .doc = "Where they are."},
    {.key = "scaler", .kind = PST_FIELD_SECTION, .section = &scaler_section, .doc = "How many there should be."},
    {.key = "affinity", .kind = PST_FIELD_SWITCH, POOL(gate.affinity), .fallback = "true",
     .doc = "Requests that share a prefix or a session prefer one replica, up to 1.25 times the mean load."},
    {.key = "upstream_auth", .kind = PST_FIELD_SECRET, POOL(own.upstream_auth), .fallback_note = "the client's goes on",
     .doc = "`Authorization` towards the replicas, probes included; a bare key is sent as `Bearer`."},
    {.key = "connect_timeout", .kind = PST_FIELD_DURATION, POOL(own.connect_timeout), .fallback = "2s", .min = PST_MS,
     .max = 60 * PST_S, .doc = "Longest wait for a connection to a replica."},
    {.key = "upstream_idle_timeout", .kind = PST_FIELD_DURATION, POOL(own.upstream_idle_timeout), .fallback = "4s",
     .min = PST_MS, .max = 3600 * PST_S, .doc = "Idle connections are closed before the engine closes them (uvicorn: 5 s)."},
    {.key = "first_byte", .kind = PST_FIELD_DURATION, POOL(gate.first_byte), .fallback = "10m", .min = PST_MS, .max = DAY,
     .doc = "Longest wait for the first byte of an answer that is not a stream; then 504."},
    {.key = "first_byte_stream", .kind = PST_FIELD_DURATION, POOL(gate.first_byte_stream), .fallback = "2m", .min = PST_MS,
     .max = DAY, .doc = "The same for a stream: its first event that is part of an answer."},
    {.key = "stall", .kind = PST_FIELD_DURATION, POOL(gate.stall), .fallback = "60s", .min = PST_MS, .max = DAY,
     .doc = "Longest silence of a stream that has begun, and of all streams of a replica together."},
    {.key = "no_replica_ttl", .kind = PST_FIELD_DURATION, POOL(gate.no_replica_ttl), .fallback = "5m", .min = PST_MS,
     .max = DAY, .doc = "Longest wait while no replica is ready; then 503."},
    {.key = "slow_start", .kind = PST_FIELD_DURATION, POOL(gate.slow_start), .fallback = "0s", .max = 3600 * PST_S,
     .doc = "A fresh replica reaches all its slots after so long."},
    {.key = "cancel_lag", .kind = PST_FIELD_DURATION, POOL(gate.cancel_lag), .max = 60 * PST_S,
     .fallback_note = "40ms; llamacpp 1s, which notices a left non-streaming request late",
     .doc = "How long the engine goes on with a request whose client left: its slot comes free so much later."},
    {.key = "retry_budget", .kind = PST_FIELD_SHARE, POOL(gate.retry_budget_ppm), .fallback = "10%", .max = PST_PPM,
     .doc = "Most second attempts, as a share of dispatches; one replica's slots are always allowed."},
    {.key = "tries", .kind = PST_FIELD_COUNT, POOL(gate.tries_max), .fallback = "3", .min = 1, .max = 10,
     .doc = "Attempts of one request after resets, cuts and stalls before the first byte."},
    {.key = "kv_bytes_max", .kind = PST_FIELD_SIZE, POOL(kv_bytes_max), .min = 1, .max = UINT64_C(1) << 60,
     .fallback_note = "max_batch × max_seq_len × bytes_per_token × 2",
     .doc = "Bound on the KV cache that queued prompts will need, all replicas together."},
    {.key = "bytes_per_token", .kind = PST_FIELD_SIZE, POOL(bytes_per_token), .min = 1, .max = GIB, .fallback_note = "needed with `kv_bytes_max`",
     .doc = "KV cache of one token."},
    {.key = "max_batch", .kind = PST_FIELD_COUNT, POOL(max_batch), .min = 1, .max = 65536, .fallback_note = "`slots`",
     .doc = "Sequences for which KV cache is counted."},
    {.key = "max_seq_len", .kind = PST_FIELD_COUNT, POOL(max_seq_len), .min = 1, .max = 100000000,
     .fallback_note = "no KV bound", .doc = "The engine's longest sequence, tokens."},
};
static const struct pst_section pool_section = {
    .title = "pools[]", .doc = "Replicas that can serve the same requests.", .size = sizeof(struct pst_draft_pool),
    .name_offset = PST_SECTION_NOWHERE, .node_offset = offsetof(struct pst_draft_pool, node), ROWS(pool_rows)};

/* ---- the rest --------------------------------------------------------------------------------- */

static const struct pst_field type_rows[] = {
    {.kind = PST_FIELD_TEXT, AT(struct pst_draft_pair, value), .required = true, .doc = "the class"}};
static const struct pst_section type_section = {
    .title = "types", .size = sizeof(struct pst_draft_pair),
    .name_offset = offsetof(struct pst_draft_pair, name), .node_offset = offsetof(struct pst_draft_pair, node), ROWS(type_rows)};

static const struct pst_field tenant_rows[] = {
    {.key = "name", .kind = PST_FIELD_TEXT, AT(struct pst_draft_tenant, own.name), .required = true,
     .doc = "`default` is for keys that are not listed."},
    {.key = "key_sha256", .kind = PST_FIELD_HASH, AT(struct pst_draft_tenant, own.key_sha256), .fallback_note = "none",
     .doc = "SHA-256 of the key, 64 hexadecimal digits: `printf %s KEY | sha256sum`."},
    {.key = "max_class", .kind = PST_FIELD_TEXT, AT(struct pst_draft_tenant, max_class), .fallback_note = "the first class",
     .doc = "The highest class it may ask for."},
    {.key = "weight", .kind = PST_FIELD_WEIGHT, AT(struct pst_draft_tenant, own.weight), .fallback = "1", .min = 1,
     .max = 100000, .doc = "Share among the tenants of a class."},
};
static const struct pst_section tenant_section = {
    .title = "tenants[]", .doc = "Who may ask for what.", .size = sizeof(struct pst_draft_tenant),
    .name_offset = PST_SECTION_NOWHERE, .node_offset = offsetof(struct pst_draft_tenant, node), ROWS(tenant_rows)};

static const struct pst_field network_rows[] = {
    {.kind = PST_FIELD_NETWORK, .size = sizeof(struct pst_config_network), .required = true, .doc = "a network"}};
static const struct pst_section network_section = {
    .title = "trusted_peers", .size = sizeof(struct pst_config_network), NOWHERE, ROWS(network_rows)};

static const struct pst_choice compat[] = {
    {"llm-d", PST_DRAFT_LLMD, NULL}, {"gateway", PST_DRAFT_GATEWAY, NULL}, {"smg", PST_DRAFT_SMG, NULL}, {NULL, 0, NULL}};
static const struct pst_field compat_rows[] = {
    {.kind = PST_FIELD_CHOICE, .size = sizeof(uint32_t), .required = true, .choices = compat, .doc = "whose"}};
static const struct pst_section compat_section = {
    .title = "compat_headers", .size = sizeof(uint32_t), NOWHERE, ROWS(compat_rows)};

#define FILE_AT(member) AT(struct pst_draft, config.member)

static const struct pst_field limits_rows[] = {
    {.key = "body", .kind = PST_FIELD_SIZE, FILE_AT(body_max), .fallback = "32MiB", .min = 1024, .max = 4 * GIB, .doc = "Largest request body; 413 past it."},
    {.key = "memory", .kind = PST_FIELD_SIZE, FILE_AT(gate.bytes_max), .fallback = "2GiB", .min = 1 << 20, .max = 1024 * GIB, .doc = "Request bodies held, all together; 429 past it."},
    {.key = "head", .kind = PST_FIELD_SIZE, FILE_AT(head_max), .fallback = "64KiB", .min = 4096, .max = 1 << 20, .doc = "Largest request line with headers; 431 past it."},
    {.key = "tickets", .kind = PST_FIELD_COUNT, FILE_AT(gate.tickets_max), .fallback = "32768", .min = 16, .max = 1 << 20, .doc = "Requests inside at once, queued and running."},
    {.key = "connections", .kind = PST_FIELD_COUNT, FILE_AT(connections_max), .fallback = "32768", .min = 16, .max = 1 << 20, .doc = "Client connections at once."},
    {.key = "flows", .kind = PST_FIELD_COUNT, FILE_AT(gate.flows_max), .fallback = "4096", .min = 16, .max = 1 << 16, .doc = "Flows (model and tenant) told apart; more share buckets."},
};
static const struct pst_section limits_section = {
    .title = "limits", .doc = "Bounds of the process.", NOWHERE, ROWS(limits_rows)};

static const struct pst_field timeouts_rows[] = {
    {.key = "head", .kind = PST_FIELD_DURATION, FILE_AT(head_timeout), .fallback = "15s", .min = PST_MS, .max = 3600 * PST_S, .doc = "From the first byte of a request to the end of its headers; 408."},
    {.key = "body", .kind = PST_FIELD_DURATION, FILE_AT(body_timeout), .fallback = "60s", .min = PST_MS, .max = 3600 * PST_S, .doc = "Longest silence within a request body; 408."},
    {.key = "idle", .kind = PST_FIELD_DURATION, FILE_AT(idle_timeout), .fallback = "90s", .min = PST_MS, .max = DAY, .doc = "Idle client connections; longer than the load balancer in front keeps them."},
    {.key = "write_stall", .kind = PST_FIELD_DURATION, FILE_AT(write_stall), .fallback = "60s", .min = PST_MS, .max = DAY, .doc = "A client that takes nothing for so long is left."},
};
static const struct pst_section timeouts_section = {
    .title = "timeouts", .doc = "Towards clients.", NOWHERE, ROWS(timeouts_rows)};

static const struct pst_field drain_rows[] = {
    {.key = "grace", .kind = PST_FIELD_DURATION, FILE_AT(drain_grace), .fallback = "10s", .max = 3600 * PST_S, .doc = "`/readyz` is 503 and requests are still admitted."},
    {.key = "deadline", .kind = PST_FIELD_DURATION, FILE_AT(drain_deadline), .fallback = "170s", .min = PST_MS, .max = DAY, .doc = "Then what is left is counted and given up; less than the pod's grace period."},
};
static const struct pst_section drain_section = {
    .title = "drain", .doc = "On SIGTERM or `POST /drain`.", NOWHERE, ROWS(drain_rows)};

static const struct pst_choice auth[] = {{"optional", 0, NULL}, {"required", 1, NULL}, {NULL, 0, NULL}};
static const struct pst_choice overload[] = {{"429", 429, NULL}, {"503", 503, NULL}, {"529", 529, NULL}, {NULL, 0, NULL}};

static const struct pst_field file_rows[] = {
    {.key = "listen", .kind = PST_FIELD_ADDRESS, FILE_AT(listen), .fallback = "0.0.0.0:8080", .doc = "Where requests come in."},
    {.key = "metrics", .kind = PST_FIELD_ADDRESS, FILE_AT(metrics), .fallback_note = "none", .doc = "Listener for `/metrics`, `/healthz` and `/readyz` only."},
    {.key = "admin", .kind = PST_FIELD_ADDRESS, FILE_AT(admin), .fallback_note = "none", .doc = "Listener for everything an operator does; off loopback it needs `admin_token`."},
    {.key = "admin_token", .kind = PST_FIELD_SECRET, FILE_AT(admin_token), .fallback_note = "none", .doc = "Bearer token of the admin listener."},
    {.key = "drain_token", .kind = PST_FIELD_SECRET, FILE_AT(drain_token), .fallback_note = "none", .doc = "A second token that may only drain replicas."},
    {.key = "classes", .kind = PST_FIELD_NAMED, AT(struct pst_draft, classes), .section = &class_section, .min = 1, .max = PST_CLASSES_MAX, .fallback_note = "high, medium, low", .doc = "Priority classes, highest first."},
    {.key = "types", .kind = PST_FIELD_NAMED, AT(struct pst_draft, types), .section = &type_section, .max = PST_TYPES_MAX - 1, .fallback_note = "none", .doc = "`X-Request-Type` → class where no priority is asked for."},
    {.key = "default_class", .kind = PST_FIELD_TEXT, AT(struct pst_draft, default_class), .fallback_note = "`medium`, or the last", .doc = "Class of requests that carry no label, or an unknown one."},
    {.key = "pools", .kind = PST_FIELD_LIST, AT(struct pst_draft, pools), .section = &pool_section, .required = true, .min = 1, .max = PST_POOLS_MAX, .doc = "What is served, and where."},
    {.key = "default_pool", .kind = PST_FIELD_TEXT, AT(struct pst_draft, default_pool), .fallback_note = "the only pool", .doc = "Pool of requests that name no model."},
    {.key = "tenants", .kind = PST_FIELD_LIST, AT(struct pst_draft, tenants), .section = &tenant_section, .max = 4096, .fallback_note = "`default` alone", .doc = "Keys, their highest class and weight."},
    {.key = "auth", .kind = PST_FIELD_CHOICE, FILE_AT(auth_required), .choices = auth, .fallback = "optional", .doc = "`required`: a key that is not listed is answered 401."},
    {.key = "trusted_peers", .kind = PST_FIELD_LIST, AT(struct pst_draft, trusted_peers), .section = &network_section, .max = 256, .fallback_note = "none", .doc = "Networks from which `X-Tenant` is believed."},
    {.key = "compat_headers", .kind = PST_FIELD_LIST, AT(struct pst_draft, compat_headers), .section = &compat_section, .max = 3, .fallback_note = "none", .doc = "Other gateways' request headers that are understood."},
    {.key = "compat_metrics", .kind = PST_FIELD_SWITCH, FILE_AT(compat_metrics), .fallback = "false", .doc = "Metrics under other gateways' names too."},
    {.key = "overload_status", .kind = PST_FIELD_CHOICE, FILE_AT(overload_status), .choices = overload, .fallback = "429", .doc = "Status of a refusal for lack of room."},
    {.key = "access_log", .kind = PST_FIELD_TEXT, FILE_AT(access_log), .fallback_note = "none", .doc = "File of JSON lines; `-` is stderr. Never prompts or keys."},
    {.key = "record", .kind = PST_FIELD_TEXT, FILE_AT(record), .fallback_note = "none", .doc = "File that takes every event and decision, to be stepped through again."},
    {.key = "limits", .kind = PST_FIELD_SECTION, .section = &limits_section, .doc = "Bounds."},
    {.key = "timeouts", .kind = PST_FIELD_SECTION, .section = &timeouts_section, .doc = "Time-outs towards clients."},
    {.key = "drain", .kind = PST_FIELD_SECTION, .section = &drain_section, .doc = "Leaving without loss."},
    {.key = "front_idle_timeout", .kind = PST_FIELD_DURATION, FILE_AT(front_idle_timeout), .min = PST_S, .max = DAY, .fallback_note = "not known", .doc = "How long the load balancer in front allows silence; longer waits are warned of."},
    {.key = "seed", .kind = PST_FIELD_COUNT, FILE_AT(gate.seed), .fallback = "1", .doc = "Of the pseudo-random jitter; recorded."},
};
const struct pst_section pst_schema = {
    .title = "", .doc = "One file; unknown keys are errors.", .size = sizeof(struct pst_draft),
    .name_offset = PST_SECTION_NOWHERE, .node_offset = offsetof(struct pst_draft, root), ROWS(file_rows)};
/* clang-format on */
