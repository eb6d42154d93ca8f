/* study_figures.c - figures of one policy, over its seeds; see study.h. */
#include "cmd/study.h"

static const struct pst_study_run *runs_of(const struct pst_study *study, uint32_t policy)
{
    PST_ASSERT(policy < study->policies_count);
    return &study->runs[(size_t)policy * study->seeds_count];
}

bool pst_study_value(const struct pst_study *study, uint32_t policy, uint8_t class_,
                     enum pst_measure measure, double *ret_value)
{
    const struct pst_study_run *runs = runs_of(study, policy);
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < study->seeds_count; i++) {
        double value;
        if (!pst_report_value(runs[i].report, study->scenario, class_, measure, &value))
            continue;
        sum += value;
        count++;
    }
    if (count == 0)
        return false;
    *ret_value = sum / count;
    return true;
}

bool pst_study_half(const struct pst_study *study, uint32_t policy, uint8_t class_,
                    enum pst_measure measure, double *ret_half)
{
    const struct pst_study_run *runs = runs_of(study, policy);
    double values[PST_STUDY_SEEDS_MAX], mean;
    uint32_t count = 0;

    if (study->seeds_count == 1)
        return class_ != PST_CLASS_DRAWN &&
               pst_report_half_width(runs->report, class_, measure, ret_half);
    for (uint32_t i = 0; i < study->seeds_count; i++)
        if (pst_report_value(runs[i].report, study->scenario, class_, measure, &values[count]))
            count++;
    return count >= 2 && pst_report_half_width_of_seeds(values, count, &mean, ret_half);
}

double pst_study_hours(const struct pst_study *study, uint32_t policy, uint32_t states)
{
    const struct pst_study_run *runs = runs_of(study, policy);
    double ns = 0;

    for (uint32_t i = 0; i < study->seeds_count; i++)
        for (uint32_t state = 0; state < PST_REPLICA_STATE_COUNT; state++)
            if ((states >> state & 1u) != 0)
                ns += (double)runs[i].report->replica_ns[state];
    return ns / study->seeds_count / (3600.0 * PST_S);
}
