/*
 * manifest_internal.h - what the judges of manifests share; manifest.h has the way in.
 */
#ifndef PST_CONFIG_MANIFEST_INTERNAL_H
#define PST_CONFIG_MANIFEST_INTERNAL_H

#include "config/arena.h"
#include "config/manifest.h"
#include "config/tree.h"
#include "config/warn.h"

struct pst_manifests {
    struct pst_arena arena;
    const struct pst_tree_node *files[PST_MANIFESTS_MAX]; /* lists of documents */
    size_t files_count;
    const struct pst_config *configs[PST_MANIFESTS_MAX];
    size_t configs_count;
    struct pst_config *own[PST_MANIFESTS_MAX]; /* of ConfigMaps; freed here */
    size_t own_count;
    struct pst_config *assumed; /* one pool with every default */
};

/* One object, and the numbers it is measured by. */
struct pst_judge {
    const struct pst_manifests *all;
    struct pst_problems *problems;
    const struct pst_tree_node *object, *spec;
    const char *name;
    const struct pst_config *config;
    uint32_t pool;   /* of config */
    bool is_assumed; /* nobody said, so the defaults count */
};

/* Down a path of keys, NULL at its end: the value, NULL where there is none. */
const struct pst_tree_node *pst_manifest_get(const struct pst_tree_node *node, ...)
    __attribute__((sentinel));
/* The text of a key; NULL: not there, or no text. */
const char *pst_manifest_text(const struct pst_tree_node *map, const char *key);
/* Its whole number; `otherwise` where there is none. */
uint64_t pst_manifest_number(const struct pst_tree_node *map, const char *key, uint64_t otherwise);

/* By its name; NULL: the only one there is. What is not known is measured by the defaults. */
void pst_judge_pool(struct pst_judge *judge, const char *pool);
static inline const struct pst_scaler_pool *pst_judge_scaler(const struct pst_judge *judge)
{
    return &judge->config->scaler.pools[judge->pool];
}

/* "180s", or "180s by default" where nobody said. */
struct pst_judge_time {
    char text[40];
};
struct pst_judge_time pst_judge_time(const struct pst_judge *judge, pst_ns time);

/* What a metric's name, or a query, gives the HPA to compare. */
enum pst_manifest_metric {
    PST_MANIFEST_OTHER,    /* nothing that is known here */
    PST_MANIFEST_PUSHED,   /* what the scaler tells KEDA, in any mode */
    PST_MANIFEST_REPLICAS, /* the decision, by way of Prometheus */
    PST_MANIFEST_BACKLOG,
    PST_MANIFEST_DEPTH,
};
/* NULL: none. */
enum pst_manifest_metric pst_manifest_metric(const char *text);
/* Its type ("Value", "AverageValue") and what it is compared with; NULL: not said. */
void pst_judge_target(const struct pst_judge *judge, enum pst_manifest_metric metric,
                      const struct pst_tree_node *type, const struct pst_tree_node *target);

/* What becomes of a number on its way through an HPA. */
struct pst_judge_behavior {
    const struct pst_tree_node *node;  /* `behavior`; NULL: the defaults */
    const struct pst_tree_node *place; /* for what is not there */
    uint64_t replicas_max;
    bool is_pushed; /* the metric is the decision itself, fresh; else it lags */
    bool is_banded; /* the exporter allows for the tolerance */
};
void pst_judge_behavior(const struct pst_judge *judge, const struct pst_judge_behavior *behavior);

/* What a container runs, as far as one can tell. */
enum pst_manifest_program {
    PST_MANIFEST_UNKNOWN,
    PST_MANIFEST_GATEWAY,
    PST_MANIFEST_ENGINE,
    PST_MANIFEST_SGLANG,
    PST_MANIFEST_TRITON,
};
/* When an engine's container counts as ready, and whether it is killed while it loads. */
void pst_judge_probes(const struct pst_judge *judge, enum pst_manifest_program engine,
                      const struct pst_tree_node *container);

void pst_judge_scaled_object(struct pst_judge *judge);
void pst_judge_hpa(struct pst_judge *judge);
/* False: neither an engine nor a gateway. */
bool pst_judge_workload(struct pst_judge *judge);

#endif
