/*
 * draft.h - a configuration as it was written, before its parts know one another.
 *
 * The rows of schema.c fill these structs; resolve.c turns names into indexes and checks what no single
 * key can; warn.c looks for what is allowed and unwise. Nodes are kept for the place in the file.
 */
#ifndef PST_CONFIG_DRAFT_H
#define PST_CONFIG_DRAFT_H

#include "config/scalar.h"
#include "config/schema.h"
#include "model/scenario.h"

/* How readiness is asked for; NONE is for engines that speak plain HTTP. */
enum pst_draft_ready {
    PST_DRAFT_COMPLETION,
    PST_DRAFT_EMBEDDINGS,
    PST_DRAFT_LISTED,
    PST_DRAFT_NONE
};

struct pst_draft_class {
    const struct pst_tree_node *node;
    char *name;
    struct pst_gate_class gate;
    pst_ns keepalive_after, keepalive_every;
    bool envelope;
};

struct pst_draft_pair { /* type → class, alias → model */
    const struct pst_tree_node *node;
    char *name, *value;
};

struct pst_draft_cron {
    const struct pst_tree_node *node;
    struct pst_config_cron own;
};

struct pst_draft_pool {
    const struct pst_tree_node *node;
    struct pst_config_pool own;
    struct pst_gate_pool gate;
    struct pst_items models, aliases, paths, statics;
    struct pst_items fixed_queues, fixed_in_flight; /* uint32_t */
    struct pst_items command, env, gpus, prompts;   /* of replicas.local; of warmup */
    struct pst_items cron, holidays;                /* struct pst_draft_cron; char * */
    struct pst_scalar_ports ports;
    char *queries[PST_SIGNAL_COUNT]; /* NULL: none */
    bool acts;
    uint32_t places;      /* for local engines; 0: no bound */
    uint32_t slots_whole; /* of a replica, for all gateways */
    uint8_t ready;        /* enum pst_draft_ready */
    uint64_t kv_bytes_max, bytes_per_token;
    uint32_t max_batch, max_seq_len;
    struct pst_scaler_pool scaler;
    double qps; /* of the scaler's rule qps, requests per second of one replica */
    struct pst_scenario_pool life; /* in a scenario */
};

struct pst_draft_tenant {
    const struct pst_tree_node *node;
    struct pst_config_tenant own;
    char *max_class;
};

struct pst_draft {
    const struct pst_tree_node *root;
    struct pst_config config;
    struct pst_items classes, types, pools, tenants, trusted_peers, compat_headers;
    char *default_class, *default_pool;
};

enum pst_draft_compat { PST_DRAFT_LLMD, PST_DRAFT_GATEWAY, PST_DRAFT_SMG };

/* What a class of this name has when the file does not say. */
void pst_draft_class_defaults(void *element, const char *name);

struct pst_config_reader {
    struct pst_arena *arena;
    struct pst_problems *problems;
};

/* Joins the parts into draft->config; every fault is a problem. */
void pst_draft_resolve(struct pst_draft *draft, const struct pst_config_reader *reader);
/* Allowed, and unwise: with the reason. Only for drafts without errors. */
void pst_draft_warn(const struct pst_draft *draft, struct pst_problems *problems);

#endif
