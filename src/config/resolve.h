/*
 * resolve.h - what the two halves of resolving share; draft.h has the way in.
 */
#ifndef PST_CONFIG_RESOLVE_H
#define PST_CONFIG_RESOLVE_H

#include <string.h>

#include "config/draft.h"
#include "config/problems.h"

struct pst_resolver {
    struct pst_draft *draft;
    struct pst_config *config; /* the draft's own */
    struct pst_arena *arena;
    struct pst_problems *problems;
};

/* node: where it stands; NULL is the whole file. */
#define PST_RESOLVE_ERROR(resolver, node, ...)                                                     \
    pst_problems_add((resolver)->problems, PST_PROBLEM_ERROR, (node) == NULL ? 0 : (node)->line,   \
                     (node) == NULL ? 0 : (node)->column, __VA_ARGS__)

/* False for texts that could not be read. */
static inline bool pst_resolve_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Entry i of a list in a map; the map itself where there is none. */
static inline const struct pst_tree_node *pst_resolve_item(const struct pst_tree_node *map,
                                                           const char *key, size_t i)
{
    const struct pst_tree_node *list = pst_tree_get(map, key);

    return list != NULL && list->kind == PST_TREE_LIST && i < list->count ? list->items[i] : map;
}

/* Parts of a pool: where replicas come from, what is known of them, what is wanted by the clock. */
void pst_resolve_replicas(struct pst_resolver *resolver, struct pst_draft_pool *pool);
void pst_resolve_signals(struct pst_draft_pool *pool, struct pst_arena *arena);
void pst_resolve_prescale(struct pst_resolver *resolver, struct pst_draft_pool *pool);
/* Classes must have been resolved. */
void pst_resolve_pools(struct pst_resolver *resolver);
/* Classes and pools must have been. */
void pst_resolve_scaler(struct pst_resolver *resolver);

#endif
