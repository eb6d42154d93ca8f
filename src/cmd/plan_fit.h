/*
 * plan_fit.h - what `penstock plan --fit` found in an access log, and the forms in which it is told.
 *
 * Lines are written when requests end; they are put in order of arrival by a heap that holds so many at
 * a time. Memory does not grow with the log.
 */
#ifndef PST_CMD_PLAN_FIT_H
#define PST_CMD_PLAN_FIT_H

#include "base/text.h"
#include "cmd/access_line.h"
#include "sim/fit_log.h"

/* Requests of one pool, class and type. */
struct pst_plan_group {
    char pool[PST_ACCESS_WORD_MAX], class_[PST_ACCESS_WORD_MAX], type[PST_ACCESS_WORD_MAX];
    char name[PST_SCENARIO_NAME_MAX]; /* of the stream */
    struct pst_fit_log *log;
    struct pst_fit_found found;
};

struct pst_plan_fitted {
    const char *path;
    uint64_t slots; /* 0: not said */
    struct pst_plan_group *groups[PST_STREAMS_MAX];
    uint32_t groups_count;
    uint64_t lines, requests;
    uint64_t wrong_lines, first_wrong; /* first_wrong: its number */
    const char *first_why;
    uint64_t aside; /* never came to a pool */
    uint64_t over;  /* of further pools, classes and types than may be told apart */
    uint64_t late;  /* longer under way than the heap holds others */
    pst_ns origin, span;
};

/* A law as scenarios take it. Durations are in ns. */
enum pst_plan_law_form { PST_PLAN_LAW_DURATION, PST_PLAN_LAW_COUNT, PST_PLAN_LAW_GAPS };
void pst_plan_put_law(const struct pst_law *law, enum pst_plan_law_form form,
                      struct pst_text *text);

void pst_plan_fit_yaml(const struct pst_plan_fitted *fitted, struct pst_text *text);
void pst_plan_fit_json(const struct pst_plan_fitted *fitted, struct pst_text *text);

#endif
