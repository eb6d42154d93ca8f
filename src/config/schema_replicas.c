/* schema_replicas.c - the rows of where a pool's replicas come from, and what they do first. */
#include "config/schema_rows.h"

static const struct pst_field url_rows[] = {
    {.kind = PST_FIELD_URL, ITEM(struct pst_config_replica), .doc = "a URL"}};
static const struct pst_section url_section = {.title = "pools[].replicas.static",
                                               .size = sizeof(struct pst_config_replica),
                                               NOWHERE,
                                               ROWS(url_rows)};

static const struct pst_field dns_rows[] = {
    {.key = "name",
     .kind = PST_FIELD_HOST,
     POOL(own.dns.name),
     .required = true,
     .doc = "The name whose A and AAAA records are the replicas: a headless Service with "
            "`publishNotReadyAddresses: true`."},
    {.key = "port",
     .kind = PST_FIELD_COUNT,
     POOL(own.dns.port),
     .required = true,
     .min = 1,
     .max = UINT16_MAX,
     .doc = "Where each of them listens."},
    {.key = "server",
     .kind = PST_FIELD_ADDRESS,
     POOL(own.dns.server),
     .fallback_note = "the system's",
     .doc = "The name server that is asked."},
    {.key = "every",
     .kind = PST_FIELD_DURATION,
     POOL(own.dns.every),
     .fallback = "2s",
     .min = PST_S / 10,
     .max = 3600 * PST_S,
     .doc = "How often the name is looked up; an address leaves after three answers without it and "
            "a failed probe."},
};
static const struct pst_section dns_section = {
    .title = "pools[].replicas.dns",
    .doc = "Replicas by their addresses. It needs no rights in the cluster; what it cannot know is "
           "which replica leaves next, which revision it is of, and that one is starting.",
    NOWHERE,
    ROWS(dns_rows)};

static const struct pst_field word_rows[] = {
    {.kind = PST_FIELD_TEXT, ITEM(char *), .doc = "a text"}};
static const struct pst_section word_section = {
    .title = "pools[].replicas.local.command", .size = sizeof(char *), NOWHERE, ROWS(word_rows)};

static const struct pst_field env_rows[] = {{.kind = PST_FIELD_PRIVATE,
                                             AT(struct pst_config_text_pair, value),
                                             .required = true,
                                             .doc = "the value"}};
static const struct pst_section env_section = {.title = "pools[].replicas.local.env",
                                               .size = sizeof(struct pst_config_text_pair),
                                               .name_offset =
                                                   offsetof(struct pst_config_text_pair, name),
                                               .node_offset = PST_SECTION_NOWHERE,
                                               ROWS(env_rows)};

static const struct pst_field gpu_rows[] = {
    {.kind = PST_FIELD_COUNT, ITEM(uint32_t), .max = 4095, .doc = "an index"}};
static const struct pst_section gpu_section = {
    .title = "pools[].replicas.local.gpus", .size = sizeof(uint32_t), NOWHERE, ROWS(gpu_rows)};

static const struct pst_choice exits[] = {{"stop", 0, NULL}, {"keep", 1, NULL}, {NULL, 0, NULL}};

static const struct pst_field local_rows[] = {
    {.key = "command",
     .kind = PST_FIELD_LIST,
     POOL(command),
     .section = &word_section,
     .required = true,
     .min = 1,
     .max = 256,
     .doc = "The program and its arguments, without a shell. `{port}`, `{gpu}` (the first), "
            "`{gpus}` (all, with commas), `{name}` and `{model}` are replaced."},
    {.key = "env",
     .kind = PST_FIELD_NAMED,
     POOL(env),
     .section = &env_section,
     .max = 256,
     .fallback_note = "none",
     .doc = "Environment beside our own, with the same replacements."},
    {.key = "directory",
     .kind = PST_FIELD_TEXT,
     POOL(own.local.directory),
     .fallback_note = "where we are",
     .doc = "Folder in which it runs."},
    {.key = "host",
     .kind = PST_FIELD_HOST,
     POOL(own.local.host),
     .fallback = "127.0.0.1",
     .doc = "Where the engines listen."},
    {.key = "ports",
     .kind = PST_FIELD_PORTS,
     POOL(ports),
     .required = true,
     .doc = "Each engine gets one of them."},
    {.key = "gpus",
     .kind = PST_FIELD_LIST,
     POOL(gpus),
     .section = &gpu_section,
     .max = 1024,
     .fallback_note = "none: `scaler.max` is the only bound",
     .doc =
         "Indexes of the GPUs that engines may use. One engine has a GPU for itself, and is told "
         "in CUDA_VISIBLE_DEVICES, unless `env` says otherwise."},
    {.key = "gpus_each",
     .kind = PST_FIELD_COUNT,
     POOL(own.local.gpus_each),
     .fallback = "1",
     .min = 1,
     .max = 64,
     .doc = "GPUs of one engine: its tensor parallel size."},
    {.key = "log",
     .kind = PST_FIELD_TEXT,
     POOL(own.local.log),
     .fallback_note = "`log` in `state`, and line by line our own log",
     .doc = "Folder for what the engines print, one file for each, kept below 16 MiB."},
    {.key = "on_exit",
     .kind = PST_FIELD_CHOICE,
     POOL(own.local.keeps),
     .choices = exits,
     .fallback = "stop",
     .doc = "When we are stopped, the engines are too; or they stay, and the next start takes them "
            "over. A crash or kill of ours leaves them in any case."},
    {.key = "stop_timeout",
     .kind = PST_FIELD_DURATION,
     POOL(own.local.stop_timeout),
     .fallback = "30s",
     .min = PST_MS,
     .max = 3600 * PST_S,
     .doc = "An engine that has not ended so long after SIGTERM is killed."},
};
static const struct pst_section local_section = {
    .title = "pools[].replicas.local",
    .doc = "Engine processes on this host, started and stopped as the scaler decides. Needs "
           "`state`.",
    NOWHERE,
    ROWS(local_rows)};

static const struct pst_field kubernetes_rows[] = {
    {.key = "selector",
     .kind = PST_FIELD_TEXT,
     POOL(own.kubernetes.selector),
     .required = true,
     .doc = "Labels of the engines' pods, as `app=vllm,model=chat`."},
    {.key = "namespace",
     .kind = PST_FIELD_NAME,
     POOL(own.kubernetes.namespace_),
     .fallback_note = "our own",
     .doc = "Where the pods are."},
    {.key = "port",
     .kind = PST_FIELD_COUNT,
     POOL(own.kubernetes.port),
     .required = true,
     .min = 1,
     .max = UINT16_MAX,
     .doc = "Where each of them listens."},
    {.key = "server",
     .kind = PST_FIELD_ENDPOINT,
     POOL(own.kubernetes.server),
     .fallback_note = "as every pod is told",
     .doc = "The API server."},
    {.key = "token_file",
     .kind = PST_FIELD_TEXT,
     POOL(own.kubernetes.token_file),
     .fallback_note = "the service account's",
     .doc = "Bearer token, read again as it rotates."},
    {.key = "ca_file",
     .kind = PST_FIELD_TEXT,
     POOL(own.kubernetes.ca_file),
     .fallback_note = "the service account's",
     .doc = "Who signs for the API server, PEM."},
    {.key = "cert_file",
     .kind = PST_FIELD_TEXT,
     POOL(own.kubernetes.cert_file),
     .fallback_note = "none",
     .doc = "Client certificate in place of a token, PEM."},
    {.key = "key_file",
     .kind = PST_FIELD_TEXT,
     POOL(own.kubernetes.key_file),
     .fallback_note = "none",
     .doc = "Its key, PEM."},
};
static const struct pst_section kubernetes_section = {
    .title = "pools[].replicas.kubernetes",
    .doc = "Pods by their labels, watched over the API server; the scaler marks whom it would lose "
           "first.",
    NOWHERE,
    ROWS(kubernetes_rows)};

static const struct pst_field replicas_rows[] = {
    {.key = "static",
     .kind = PST_FIELD_LIST,
     POOL(statics),
     .section = &url_section,
     .max = PST_REPLICAS_MAX,
     .fallback_note = "none",
     .doc = "Base URLs, `http://host:port` with an optional prefix."},
    {.key = "dns",
     .kind = PST_FIELD_SECTION,
     .section = &dns_section,
     .fallback_note = "none",
     .doc = "The addresses of a name."},
    {.key = "local",
     .kind = PST_FIELD_SECTION,
     .section = &local_section,
     .fallback_note = "none",
     .doc = "Processes on this host that we start."},
    {.key = "kubernetes",
     .kind = PST_FIELD_SECTION,
     .section = &kubernetes_section,
     .fallback_note = "none",
     .doc = "Pods of a cluster."},
};
const struct pst_section pst_schema_replicas = {.title = "pools[].replicas",
                                                .doc = "Where the replicas come from: exactly one "
                                                       "of these. Another one needs a restart.",
                                                NOWHERE,
                                                ROWS(replicas_rows)};

static const struct pst_field warmup_rows[] = {
    {.key = "prompts",
     .kind = PST_FIELD_LIST,
     POOL(prompts),
     .section = &word_section,
     .max = 64,
     .fallback_note = "none",
     .doc = "Sent one after the other, each as a completion: the beginnings that most prompts "
            "share, so that their KV cache is there."},
    {.key = "max_tokens",
     .kind = PST_FIELD_COUNT,
     POOL(own.warmup.max_tokens),
     .fallback = "1",
     .min = 1,
     .max = 65536,
     .doc = "Tokens asked for with each."},
    {.key = "timeout",
     .kind = PST_FIELD_DURATION,
     POOL(own.warmup.timeout),
     .fallback = "1m",
     .min = PST_MS,
     .max = 3600 * PST_S,
     .doc = "Longest wait for one answer; then the next is sent. A replica is not held back for "
            "ever by a prompt that it cannot answer."},
};
const struct pst_section pst_schema_warmup = {
    .title = "pools[].warmup",
    .doc = "Requests that run before a replica is warm or ready, and when it is rotated.",
    NOWHERE,
    ROWS(warmup_rows)};
