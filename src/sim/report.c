/* report.c - what can be said of a report: values, confidence, expectations. */
#include "sim/report.h"

#include "core/num.h"

#define NS_PER_HOUR 3600e9
#define NOT_SAID    (-1.0) /* no measure is negative */

/*
 * Student's t: 95 % of the distribution with so many degrees of freedom lie within. Source: the usual
 * table, as in Law, "Simulation modeling and analysis", appendix. Beyond it the last row stays: an interval
 * that is 2 % too wide claims nothing that is not so.
 */
static const double student[] = {
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
};

static double student_of(uint32_t freedom)
{
    return student[pst_min_u64(freedom, PST_COUNT_OF(student)) - 1];
}

bool pst_report_half_width_of_seeds(const double *values, uint32_t count, double *ret_mean,
                                    double *ret_half_width)
{
    double sum = 0, squares = 0, mean;

    if (count < 2)
        return false;
    for (uint32_t i = 0; i < count; i++)
        sum += values[i];
    mean = sum / count;
    for (uint32_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    *ret_mean = mean;
    *ret_half_width = student_of(count - 1) * pst_sqrt(squares / (count - 1) / count);
    return true;
}

static bool is_of(uint32_t class_, uint8_t wanted)
{
    return wanted == PST_CLASS_DRAWN || class_ == wanted;
}

bool pst_report_half_width(const struct pst_sim_report *report, uint8_t class_,
                           enum pst_measure measure, double *ret_half_width)
{
    double values[PST_REPORT_BATCHES], mean;
    uint32_t filled = 0;

    if (measure != PST_MEASURE_WAIT_MEAN && measure != PST_MEASURE_WAIT_P99)
        return false;
    if (measure == PST_MEASURE_WAIT_P99 && class_ == PST_CLASS_DRAWN)
        return false; /* quantiles of classes do not add up */
    for (uint32_t b = 0; b < PST_REPORT_BATCHES; b++) {
        uint64_t count = 0, sum_ns = 0, p99_ns = 0;

        for (uint32_t c = 0; c < PST_CLASSES_MAX; c++) {
            if (!is_of(c, class_))
                continue;
            count += report->classes[c].batches[b].count;
            sum_ns += report->classes[c].batches[b].sum_ns;
            p99_ns = report->classes[c].batches[b].p99_ns;
        }
        if (count > 0)
            values[filled++] =
                measure == PST_MEASURE_WAIT_P99 ? (double)p99_ns : (double)sum_ns / (double)count;
    }
    return pst_report_half_width_of_seeds(values, filled, &mean, ret_half_width);
}

static bool quantile_of(const struct pst_sim_report *report, uint8_t class_, bool ttft,
                        uint32_t q_ppm, double *ret_value)
{
    struct pst_hist all = {0};

    for (uint32_t c = 0; c < PST_CLASSES_MAX; c++)
        if (is_of(c, class_))
            pst_hist_merge(&all, ttft ? &report->classes[c].ttft : &report->classes[c].wait);
    if (all.count == 0)
        return false;
    *ret_value = (double)pst_hist_quantile(&all, q_ppm);
    return true;
}

/* Sums over the class, or over all of them. */
struct tally {
    uint64_t arrived, in_target, in_deadline, waited, wait_ns;
    uint64_t outcomes[PST_OUTCOME_COUNT];
};

static struct tally tally_of(const struct pst_sim_report *report, uint8_t class_)
{
    struct tally tally = {0};

    for (uint32_t c = 0; c < PST_CLASSES_MAX; c++) {
        const struct pst_report_class *of = &report->classes[c];

        if (!is_of(c, class_))
            continue;
        tally.arrived += of->arrived;
        tally.in_target += of->in_target;
        tally.in_deadline += of->in_deadline;
        tally.waited += of->wait.count;
        tally.wait_ns = pst_add_sat(tally.wait_ns, of->wait.sum);
        for (uint32_t o = 0; o < PST_OUTCOME_COUNT; o++)
            tally.outcomes[o] += of->outcomes[o];
    }
    return tally;
}

static bool quotient(double value, double by, double *ret_value)
{
    if (by <= 0)
        return false;
    *ret_value = value / by;
    return true;
}

/* All that is not gone is paid for: starting, loading, warm and draining replicas too. */
static double replica_hours(const struct pst_sim_report *report)
{
    uint64_t ns = 0;

    for (uint32_t s = 0; s < PST_REPLICA_STATE_COUNT; s++)
        if (s != PST_REPLICA_GONE)
            ns = pst_add_sat(ns, report->replica_ns[s]);
    return (double)ns / NS_PER_HOUR;
}

static bool is(double value, double *ret_value)
{
    *ret_value = value;
    return true;
}

bool pst_report_value(const struct pst_sim_report *report, const struct pst_scenario *scenario,
                      uint8_t class_, enum pst_measure measure, double *ret_value)
{
    struct tally tally = tally_of(report, class_);
    double hours = (double)(report->end - report->begin) / NS_PER_HOUR;

    PST_ASSERT(class_ == PST_CLASS_DRAWN || class_ < scenario->gate.classes_count);
    switch (measure) {
    case PST_MEASURE_WAIT_MEAN:
        return quotient((double)tally.wait_ns, (double)tally.waited, ret_value);
    case PST_MEASURE_WAIT_P50:
        return quantile_of(report, class_, false, 500000, ret_value);
    case PST_MEASURE_WAIT_P95:
        return quantile_of(report, class_, false, 950000, ret_value);
    case PST_MEASURE_WAIT_P99:
        return quantile_of(report, class_, false, 990000, ret_value);
    case PST_MEASURE_TTFT_P50:
        return quantile_of(report, class_, true, 500000, ret_value);
    case PST_MEASURE_TTFT_P95:
        return quantile_of(report, class_, true, 950000, ret_value);
    case PST_MEASURE_TTFT_P99:
        return quantile_of(report, class_, true, 990000, ret_value);
    case PST_MEASURE_ATTAINMENT:
        return quotient((double)tally.in_target * PST_PPM, (double)tally.arrived, ret_value);
    case PST_MEASURE_IN_DEADLINE:
        return quotient((double)tally.in_deadline * PST_PPM, (double)tally.arrived, ret_value);
    case PST_MEASURE_ARRIVED:
        return is((double)tally.arrived, ret_value);
    case PST_MEASURE_DONE:
        return is((double)tally.outcomes[PST_OUTCOME_DONE], ret_value);
    case PST_MEASURE_REFUSED:
        return is((double)tally.outcomes[PST_OUTCOME_REFUSED], ret_value);
    case PST_MEASURE_EXPIRED:
        return is((double)tally.outcomes[PST_OUTCOME_EXPIRED], ret_value);
    case PST_MEASURE_FAILED:
        return is((double)tally.outcomes[PST_OUTCOME_FAILED], ret_value);
    case PST_MEASURE_REPLICA_HOURS:
        return is(replica_hours(report), ret_value);
    case PST_MEASURE_COST:
        return is((double)report->cost_micro / 1e6, ret_value);
    case PST_MEASURE_REPLICAS_MIN:
        return is(report->ready_min, ret_value);
    case PST_MEASURE_REPLICAS_MAX:
        return is(report->existing_max, ret_value);
    case PST_MEASURE_SCALE_UPS:
        return is((double)report->ups, ret_value);
    case PST_MEASURE_SCALE_DOWNS:
        return is((double)report->downs, ret_value);
    case PST_MEASURE_DIRECTION_CHANGES:
        return is((double)report->direction_changes, ret_value);
    case PST_MEASURE_DIRECTION_CHANGES_PER_HOUR:
        return quotient((double)report->direction_changes, hours, ret_value);
    case PST_MEASURE_UPS_PER_BURST:
        return quotient((double)report->ups, (double)report->bursts, ret_value);
    case PST_MEASURE_KILLED_IN_FLIGHT:
        return is((double)report->killed_in_flight, ret_value);
    case PST_MEASURE_COUNT:
        break;
    }
    return false;
}

static bool compares(double value, enum pst_comparison comparison, double bound)
{
    switch (comparison) {
    case PST_AT_MOST:
        return value <= bound;
    case PST_BELOW:
        return value < bound;
    case PST_AT_LEAST:
        return value >= bound;
    case PST_ABOVE:
        return value > bound;
    case PST_EQUAL:
        return value >= bound && value <= bound;
    case PST_COMPARISON_COUNT:
        break;
    }
    return false;
}

bool pst_report_meets(const struct pst_sim_report *const *reports,
                      const struct pst_scenario *scenario,
                      const struct pst_expectation *expectation, double *ret_value,
                      double *ret_bound)
{
    const struct pst_sim_report *of = reports[expectation->policy], *other = NULL;
    double value = NOT_SAID, bound = expectation->bound, reference = NOT_SAID;
    bool is_relative = expectation->relative_to != UINT32_MAX, said;

    if (is_relative)
        other = reports[expectation->relative_to];
    if (of == NULL || (is_relative && other == NULL))
        return true;
    said = pst_report_value(of, scenario, expectation->class_, expectation->measure, &value);
    if (is_relative) {
        said &= pst_report_value(other, scenario, expectation->class_, expectation->measure,
                                 &reference);
        bound *= reference;
    }
    *ret_value = value;
    *ret_bound = bound;
    return said && compares(value, expectation->comparison, bound);
}
