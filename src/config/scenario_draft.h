/*
 * scenario_draft.h - a scenario as it was written, before its parts know one another.
 *
 * As draft.h: the rows of scenario_schema.c and its neighbours fill these structs, and each file that
 * reads a part of them turns names into indexes. A scenario extends a configuration, so it begins with
 * the draft of one.
 */
#ifndef PST_CONFIG_SCENARIO_DRAFT_H
#define PST_CONFIG_SCENARIO_DRAFT_H

#include <stdio.h>

#include "config/draft.h"
#include "config/problems.h"
#include "config/scenario.h"
#include "config/schema_rows.h"

struct pst_draft_share { /* class → share */
    const struct pst_tree_node *node;
    char *name;
    uint32_t ppm;
};

struct pst_draft_limit { /* class → duration */
    const struct pst_tree_node *node;
    char *name;
    pst_ns wait;
};

struct pst_draft_stream {
    const struct pst_tree_node *node;
    char *name, *pool, *class_, *type, *tenant;
    struct pst_stream own;
    pst_ns ttl;
    struct pst_items shares; /* struct pst_draft_share */
    struct pst_items pieces; /* struct pst_rate_piece */
    char *rates;             /* a file of them … */
    double rates_scale;      /* … multiplied */
    char *trace;
    double speed;      /* of the trace: 2 is twice as fast */
    uint32_t thin_ppm; /* so much of the trace is kept */
    pst_ns trace_end;  /* its last request, kept or not */
    char *recording;
    char *prompt_table, *output_table;
};

struct pst_draft_fault {
    const struct pst_tree_node *node;
    struct pst_fault own;
    bool is_on; /* of kinds without a count */
    char *pool;
};

struct pst_draft_policy {
    const struct pst_tree_node *node;
    char *name;
    struct pst_scenario_policy own;
    uint32_t gate, pilot, actuator; /* by name */
    char *target;
    struct pst_items max_wait; /* struct pst_draft_limit */
};

struct pst_draft_line {
    const struct pst_tree_node *node;
    char *text;
};

struct pst_draft_expect { /* policy → lines */
    char *policy;
    struct pst_items lines; /* struct pst_draft_line */
};

struct pst_scenario_draft {
    struct pst_draft base;
    char *name;
    pst_ns horizon, cut, history;
    struct pst_items streams, faults, policies, expects;
};

/* What the files that turn a draft into a scenario share. */
struct pst_scenario_reader {
    struct pst_scenario_draft *draft;
    struct pst_scenario *scenario;
    struct pst_arena *arena;
    struct pst_problems *problems;
    const char *path; /* of the scenario: files are looked for beside it */
};

#define PST_SCENARIO_ERROR(reader, node, ...)                                                      \
    pst_problems_add((reader)->problems, PST_PROBLEM_ERROR, (node) == NULL ? 0 : (node)->line,     \
                     (node) == NULL ? 0 : (node)->column, __VA_ARGS__)
#define PST_SCENARIO_WARN(reader, node, ...)                                                       \
    pst_problems_add((reader)->problems, PST_PROBLEM_WARNING, (node) == NULL ? 0 : (node)->line,   \
                     (node) == NULL ? 0 : (node)->column, __VA_ARGS__)

extern const struct pst_section pst_schema_scenario, pst_schema_stream, pst_schema_life;

/* A name into its place; too long is a problem at `node`. */
void pst_scenario_name(struct pst_scenario_reader *r, const struct pst_tree_node *node,
                       const char *name, char ret_name[PST_SCENARIO_NAME_MAX]);
/* A class or pool by its name; false and a problem at `node`, which says what is likely. */
bool pst_scenario_class(struct pst_scenario_reader *r, const struct pst_tree_node *node,
                        const char *name, uint8_t *ret_class);
/* NULL: the only pool. */
bool pst_scenario_pool(struct pst_scenario_reader *r, const struct pst_tree_node *node,
                       const char *name, uint16_t *ret_pool);

/* The parts, in this order. */
void pst_scenario_resolve_pools(struct pst_scenario_reader *r);
void pst_scenario_resolve_streams(struct pst_scenario_reader *r);
void pst_scenario_resolve_faults(struct pst_scenario_reader *r);
void pst_scenario_resolve_policies(struct pst_scenario_reader *r);
void pst_scenario_resolve_expectations(struct pst_scenario_reader *r);
void pst_scenario_warn(const struct pst_scenario_reader *r);

/* What lines of `expect` may speak of, as a chapter. */
void pst_scenario_document_measures(FILE *out);

/* Files that a stream names. Each says what is wrong with one. */
char *pst_scenario_beside(const struct pst_scenario_reader *r, const char *file);
void pst_scenario_load_trace(struct pst_scenario_reader *r, struct pst_draft_stream *stream);
void pst_scenario_load_rates(struct pst_scenario_reader *r, struct pst_draft_stream *stream);
void pst_scenario_load_table(struct pst_scenario_reader *r, const struct pst_tree_node *node,
                             const char *file, struct pst_quantiles *ret_table);

#endif
