/*
 * config.h - one YAML file as plain structs, and all that is wrong with it at once.
 *
 * Why: `penstock check`, start and SIGHUP must read the same thing the same way; a gateway that starts
 * on half a configuration is worse than one that does not start.
 *
 * Guarantee: on PST_OK every value is in range and every reference resolves. Otherwise every problem is
 * in the report, with file, line and column. Strings stay strings (no yes/no/octal guessing); durations
 * and sizes must carry a unit. Secrets are read from files or the environment and never printed.
 */
#ifndef PST_CONFIG_CONFIG_H
#define PST_CONFIG_CONFIG_H

#include "core/gate.h"
#include "core/scaler.h"

enum pst_engine_kind {
    PST_ENGINE_OPENAI,
    PST_ENGINE_VLLM,
    PST_ENGINE_SGLANG,
    PST_ENGINE_TGI,
    PST_ENGINE_TRITON,
    PST_ENGINE_LLAMACPP,
    PST_ENGINE_KIND_COUNT
};

/* How a replica shows that it can answer. */
enum pst_ready_kind {
    PST_READY_COMPLETION,
    PST_READY_EMBEDDINGS,
    PST_READY_LISTED,
    PST_READY_KIND_COUNT
};

struct pst_config_model {
    char *name;      /* as clients say it, and as the engine is told unless it is an alias */
    char *upstream;  /* the engine's name for an alias; NULL: the same */
    uint32_t weight; /* percent */
};

struct pst_config_replica {
    char *url; /* as written */
    char *host;
    uint16_t port;
    char *base_path; /* "" or "/prefix" */
};

/* replicas.dns: the addresses of a name, asked again every `every`. */
struct pst_config_dns {
    char *name; /* NULL: not used */
    uint16_t port;
    char *server; /* "10.0.0.10:53"; NULL: the system's */
    pst_ns every;
};

struct pst_config_text_pair {
    char *name, *value;
};

/* replicas.local: engine processes on this host. {port}, {gpu}, {gpus}, {name}, {model} are replaced. */
struct pst_config_local {
    char **command; /* NULL: not used. Secret: wiped in the process that parses requests */
    size_t command_count;
    struct pst_config_text_pair *env; /* secret, likewise */
    size_t env_count;
    char *directory; /* NULL: where we are */
    char *host;      /* where they listen, 127.0.0.1 */
    uint16_t port_first, port_last;
    uint32_t
        *gpus; /* each is a place for 1 / gpus_each of a replica; none: max is the only bound */
    size_t gpus_count;
    uint32_t gpus_each;
    char *log;           /* folder for <name>.log, rotated; NULL: lines go to our own log */
    bool keeps;          /* on_exit: keep; else they are stopped with us */
    pst_ns stop_timeout; /* from SIGTERM to SIGKILL */
};

/* replicas.kubernetes: pods by their labels, over the API server. */
struct pst_config_kubernetes {
    char *selector;   /* NULL: not used */
    char *namespace_; /* NULL: our own, from the service account */
    uint16_t port;
    char *server;                                      /* NULL: from the environment of a pod */
    char *token_file, *ca_file, *cert_file, *key_file; /* NULL: of the service account; none */
};

/* signals: what is known beside our own accounting. */
struct pst_config_query {
    uint8_t signal; /* enum pst_signal */
    char *query;    /* PromQL, of one value */
};
struct pst_config_signals {
    pst_ns engine_every; /* engine metrics; 0: not asked */
    char *engine_path;
    char *dcgm;       /* URL of a DCGM exporter; NULL: none */
    bool nvidia_smi;  /* where it is installed */
    char *prometheus; /* URL; NULL: none */
    char *prometheus_token_file;
    struct pst_config_query *queries;
    size_t queries_count;
    pst_ns every; /* of dcgm, nvidia_smi and queries */
};

/* scaler.cron[]: a floor from one time to another, as cron says both. */
struct pst_config_cron {
    char *from, *until; /* five fields */
    char *zone;         /* "Europe/Berlin"; NULL: UTC */
    uint32_t replicas;
};
enum pst_profile_source { PST_PROFILE_NONE, PST_PROFILE_HISTORY, PST_PROFILE_PROMETHEUS };
struct pst_config_prescale {
    struct pst_config_cron *cron;
    size_t cron_count;
    char **holidays; /* "2026-12-25": cron rules and profile take the day for a Sunday */
    size_t holidays_count;
    uint8_t profile;     /* enum pst_profile_source */
    char *profile_query; /* NULL: our own scaler_replicas, of kind needed */
    char *zone;          /* of profile and holidays; NULL: UTC */
    uint32_t weeks;      /* of the past that count */
    pst_ns lead;         /* 0: the measured start time */
};

/* keda: how a pool's decision is exported. */
struct pst_config_export {
    uint8_t mode; /* enum pst_export_mode, where the trigger's metadata says none */
    uint8_t band; /* enum pst_export_band */
    uint32_t tolerance_ppm;
};

/* warmup: requests that run before a replica is warm or ready. */
struct pst_config_warmup {
    char **prompts;
    size_t prompts_count;
    uint32_t max_tokens;
    pst_ns timeout; /* of one */
};

struct pst_config_pool {
    struct pst_config_dns dns;
    struct pst_config_local local;
    struct pst_config_kubernetes kubernetes;
    struct pst_config_signals signals;
    struct pst_config_prescale prescale;
    struct pst_config_export export_;
    struct pst_config_warmup warmup;
    char *name;
    enum pst_engine_kind engine;
    struct pst_config_model *models; /* aliases included */
    size_t models_count;
    struct pst_config_replica *replicas;
    size_t replicas_count;
    char **paths; /* further open paths, exact */
    size_t paths_count;
    char *ready_path;
    enum pst_ready_kind ready;
    char *upstream_auth; /* the whole Authorization value, or NULL: the client's goes on */
    pst_ns connect_timeout, upstream_idle_timeout;
    pst_ns stream_stall; /* between events of one stream */
    uint32_t line;       /* where it stands in the file */
};

struct pst_config_tenant {
    char *name;
    uint8_t key_sha256[32];
    bool has_key;      /* false only for "default" */
    uint8_t max_class; /* index; may not claim a class above (a lower index than) this */
    uint32_t weight;   /* percent */
};

struct pst_config_type {
    char *name;
    uint8_t class_;
};

/* One network of `trusted_peers`: IPv4 is kept as IPv4-mapped IPv6. */
struct pst_config_network {
    uint8_t address[16];
    uint8_t prefix; /* bits, of 128 */
};

struct pst_config {
    char *path;
    char *text; /* that it was read from */
    size_t text_len;
    char **secrets; /* names of variables that engines of ours do not inherit */
    size_t secrets_count;
    char *listen;       /* data plane */
    char *metrics;      /* NULL: none */
    char *admin;        /* NULL: none */
    char *admin_token;  /* NULL only where admin is on loopback */
    char *drain_token;  /* NULL: none */
    char *access_log;   /* NULL: none; "-": stderr */
    char *record;       /* NULL: none */
    char *decision_log; /* NULL: none; "-": stderr */
    char *state;        /* folder of state files; NULL: none */
    struct {
        char *listen; /* NULL: no external scaler */
        char *cert, *key, *client_ca;
    } keda;
    uint32_t gateways; /* that share the replicas: each takes its part of the slots; >= 1 */
    struct pst_gate_config gate;
    struct pst_scaler_config scaler;
    char *class_names[PST_CLASSES_MAX];
    struct {
        bool on;
        pst_ns after, every;
    } keepalive[PST_CLASSES_MAX]; /* SSE comments while a stream waits */
    uint8_t default_class;
    struct pst_config_type *types; /* type 0 is "other" */
    size_t types_count;
    struct pst_config_pool *pools;
    size_t pools_count;
    uint16_t default_pool;             /* PST_POOL_NONE: a model is required */
    struct pst_config_tenant *tenants; /* tenant 0 is "default" */
    size_t tenants_count;
    bool auth_required;
    struct pst_config_network *trusted_peers;
    size_t trusted_peers_count;
    bool compat_headers_llmd, compat_headers_gateway, compat_headers_smg;
    bool compat_metrics;
    uint16_t overload_status; /* 429, 503 or 529 */
    uint64_t body_max;
    uint32_t head_max;
    uint32_t connections_max;
    pst_ns head_timeout, body_timeout, idle_timeout, write_stall;
    pst_ns drain_grace, drain_deadline;
    pst_ns front_idle_timeout; /* 0: not said */
};

enum pst_problem_level { PST_PROBLEM_WARNING, PST_PROBLEM_ERROR, PST_PROBLEM_LEVEL_COUNT };

struct pst_problem {
    enum pst_problem_level level;
    uint32_t line, column; /* from 1; 0: the whole file */
    char *message;         /* what is wrong, and what to do */
};

struct pst_problems {
    struct pst_problem *item; /* in the order of the file */
    size_t count, errors;
};

/* Reads a file. PST_OK (there may be warnings), PST_E_INVALID (errors), PST_E_SYSTEM, PST_E_NOMEM. */
int pst_config_read(const char *path, struct pst_config **ret_config,
                    struct pst_problems *problems);
/* The same from memory; `path` names it in messages. */
int pst_config_parse(const char *path, const char *text, size_t len, struct pst_config **ret_config,
                     struct pst_problems *problems);
/* The same of a file that is another machine's: secrets are not looked for, and such a configuration cannot run. */
int pst_config_parse_elsewhere(const char *path, const char *text, size_t len,
                               struct pst_config **ret_config, struct pst_problems *problems);
void pst_config_free(struct pst_config *config);
void pst_problems_done(struct pst_problems *problems);

/*
 * What a reload may not change (listeners, class count, slab size …): the names of all such keys that
 * differ, and how many they are; 0 when `next` can replace `now`.
 */
#define PST_CONFIG_RESTART_MAX 17
size_t pst_config_needs_restart(const struct pst_config *now, const struct pst_config *next,
                                const char *keys[PST_CONFIG_RESTART_MAX]);

/* "500ms", "15s", "10m", "1h", "2d"; "64MiB", "1GB", "512B". Used for options too. */
int pst_config_duration(const char *text, pst_ns *ret_ns);
int pst_config_size(const char *text, uint64_t *ret_bytes);

/* docs/configuration.md, from the table that the reader uses. */
#include <stdio.h>
void pst_config_document(FILE *out);

#endif
