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

/* Classes must have been resolved. */
void pst_resolve_pools(struct pst_resolver *resolver);
/* Classes and pools must have been. */
void pst_resolve_scaler(struct pst_resolver *resolver);

#endif
