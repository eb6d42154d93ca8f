/*
 * warn.h - what the files of warnings share; draft.h has the way in.
 */
#ifndef PST_CONFIG_WARN_H
#define PST_CONFIG_WARN_H

#include "config/draft.h"
#include "config/problems.h"

struct pst_warner {
    const struct pst_draft *draft;
    const struct pst_config *config;
    struct pst_problems *problems;
};

/* node: where it stands; NULL is the whole file. */
#define PST_WARN(w, node, ...)                                                                     \
    pst_problems_add((w)->problems, PST_PROBLEM_WARNING, (node) == NULL ? 0 : (node)->line,        \
                     (node) == NULL ? 0 : (node)->column, __VA_ARGS__)

/* The longest backlog that classes which reject let through; PST_NEVER when some class waits. */
pst_ns pst_warn_backlog_bound(const struct pst_config *config);
/* What makes the number of replicas of pool i flap, stand still or come too late. */
void pst_warn_capacity(const struct pst_warner *w, size_t i);

#endif
