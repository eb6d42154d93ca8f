/*
 * study.h - what `penstock sim FILE` does: every policy against every seed of one scenario, and what
 * is told of it.
 *
 *   scenario, policies, seeds ─► runs (on threads) ─► figures ─► verdicts ─► text, JSON, HTML
 *
 * Why: one answer has three forms, and all of them must say the same. Figures and verdicts are computed
 * in one place; the forms only write them down.
 *
 * Guarantee: what is written depends on the scenario, the policies and the seeds alone, byte for byte,
 * but for times that were asked for (`timing`). A run's neighbours do not change it.
 */
#ifndef PST_CMD_STUDY_H
#define PST_CMD_STUDY_H

#include <stdio.h>

#include "base/text.h"
#include "model/scenario.h"
#include "sim/report.h"

#define PST_STUDY_SEEDS_MAX    1000
#define PST_STUDY_EXTERNAL     UINT32_MAX
#define PST_STUDY_COMPARED_MAX (2 * PST_POLICIES_MAX)

/* One of those that are compared. */
struct pst_study_policy {
    struct pst_scenario_policy policy;
    uint32_t index; /* among the scenario's; PST_STUDY_EXTERNAL: named by its parts */
};

/* One policy against one seed. */
struct pst_study_run {
    const struct pst_study_policy *policy;
    uint64_t seed;
    struct pst_sim_report *report; /* of other seeds than the first without its course */
    pst_ns elapsed;                /* of our time */
    int rc;                        /* enum pst_status */
    const char *why;               /* with PST_E_INVALID */
};

struct pst_study {
    const char *path;
    const struct pst_scenario *scenario;
    struct pst_study_policy policies[PST_STUDY_COMPARED_MAX];
    uint32_t policies_count;
    uint64_t seed; /* the first */
    uint32_t seeds_count;
    struct pst_study_run *runs; /* of one policy together: runs[policy * seeds_count + seed] */
    uint32_t runs_count;
    bool timing; /* tell how long it took */
};

/*
 * study_policies.c: `names` is a list with commas, of the file's policies and of names by parts; with
 * ":grid" behind it a peer is tried at each target of its grid. NULL: all that the scenario has.
 * PST_E_SYNTAX: *ret_why says what (static), *ret_name of which (inside `names`, *ret_len long).
 */
int pst_study_choose(struct pst_study *study, const char *names, const char **ret_why,
                     const char **ret_name, size_t *ret_len);

/* study_run.c: fills runs, on so many threads; progress (may be NULL) is a terminal. */
int pst_study_run(struct pst_study *study, uint32_t threads, FILE *progress);
void pst_study_done(struct pst_study *study);

/*
 * study_figures.c: the mean of a policy's runs, in the measure's unit, and half of its 95 % confidence
 * interval: over the seeds, or of one run by batch means. ret_half may be NULL. False: there is none.
 */
bool pst_study_value(const struct pst_study *study, uint32_t policy, uint8_t class_,
                     enum pst_measure measure, double *ret_value);
bool pst_study_half(const struct pst_study *study, uint32_t policy, uint8_t class_,
                    enum pst_measure measure, double *ret_half);
/* Mean replica-hours that were spent in the states of the mask (1 << enum pst_replica_state). */
double pst_study_hours(const struct pst_study *study, uint32_t policy, uint32_t states);

/* study_judge.c: an expectation, judged on each seed; the worst counts. */
struct pst_verdict {
    bool judged; /* false: one of its policies was not run */
    bool met;
    double value, bound; /* in the measure's unit */
    uint64_t seed;
};
void pst_study_judge(const struct pst_study *study, const struct pst_expectation *expectation,
                     struct pst_verdict *ret_verdict);
/* How many were judged, and how many of them not met. */
uint32_t pst_study_breaches(const struct pst_study *study, uint32_t *ret_judged);

/* The three forms. */
void pst_study_text(const struct pst_study *study, struct pst_text *text);
void pst_study_json(const struct pst_study *study, struct pst_text *text);
void pst_study_html(const struct pst_study *study, struct pst_text *text);
/* The members of the object that pst_study_json writes, without its braces: the page adds its own. */
void pst_study_members(const struct pst_study *study, struct pst_text *text);

#endif
