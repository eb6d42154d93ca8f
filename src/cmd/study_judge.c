/* study_judge.c - expectations over seeds; see study.h. */
#include "cmd/study.h"

/* The reports of one seed, by the scenario's numbering of its policies; NULL: not run. */
static void gather(const struct pst_study *study, uint32_t seed,
                   const struct pst_sim_report *reports[static PST_POLICIES_MAX])
{
    for (uint32_t i = 0; i < PST_POLICIES_MAX; i++)
        reports[i] = NULL;
    for (uint32_t i = 0; i < study->policies_count; i++)
        if (study->policies[i].index != PST_STUDY_EXTERNAL)
            reports[study->policies[i].index] =
                study->runs[(size_t)i * study->seeds_count + seed].report;
}

static bool was_run(const struct pst_expectation *expectation,
                    const struct pst_sim_report *const *reports)
{
    return reports[expectation->policy] != NULL &&
           (expectation->relative_to == UINT32_MAX || reports[expectation->relative_to] != NULL);
}

/* By how much the value is on the wrong side of the bound; negative: on the right one. */
static double excess(enum pst_comparison comparison, double value, double bound)
{
    switch (comparison) {
    case PST_AT_MOST:
    case PST_BELOW:
        return value - bound;
    case PST_AT_LEAST:
    case PST_ABOVE:
        return bound - value;
    case PST_EQUAL:
        return value > bound ? value - bound : bound - value;
    case PST_COMPARISON_COUNT:
        break;
    }
    PST_ASSERT(!"a comparison");
    return 0;
}

/* A breach is worse than none; of two alike the farther one. */
static bool is_worse(const struct pst_verdict *a, const struct pst_verdict *b,
                     enum pst_comparison comparison)
{
    if (a->met != b->met)
        return b->met;
    return excess(comparison, a->value, a->bound) > excess(comparison, b->value, b->bound);
}

void pst_study_judge(const struct pst_study *study, const struct pst_expectation *expectation,
                     struct pst_verdict *ret_verdict)
{
    const struct pst_sim_report *reports[PST_POLICIES_MAX];
    struct pst_verdict worst = {0};

    for (uint32_t i = 0; i < study->seeds_count; i++) {
        struct pst_verdict verdict = {.judged = true, .seed = study->seed + i};

        gather(study, i, reports);
        if (!was_run(expectation, reports))
            break;
        verdict.met =
            pst_report_meets(reports, study->scenario, expectation, &verdict.value, &verdict.bound);
        if (!worst.judged || is_worse(&verdict, &worst, expectation->comparison))
            worst = verdict;
    }
    *ret_verdict = worst;
}

uint32_t pst_study_breaches(const struct pst_study *study, uint32_t *ret_judged)
{
    uint32_t breaches = 0, judged = 0;

    for (uint32_t i = 0; i < study->scenario->expectations_count; i++) {
        struct pst_verdict verdict;

        pst_study_judge(study, &study->scenario->expectations[i], &verdict);
        judged += verdict.judged;
        breaches += verdict.judged && !verdict.met;
    }
    *ret_judged = judged;
    return breaches;
}
