/* study_json.c - a study as one JSON object; keys are the measures' names, as in `expect`. */
#include "cmd/study.h"
#include "cmd/units.h"

/* Times are seconds, shares 0 … 1; the key says so. */
static const struct {
    const char *suffix;
    double one;
} units[PST_UNIT_COUNT_OF] = {
    [PST_UNIT_TIME] = {"_s", 1e9},
    [PST_UNIT_COUNT] = {"", 1},
    [PST_UNIT_HOURS] = {"", 1},
    [PST_UNIT_SHARE] = {"", 1e6},
};

static void put_number(struct pst_text *text, double value)
{
    if (value - value != 0) /* JSON has no infinity */
        pst_text_put(text, "null");
    else
        pst_text_print(text, "%.12g", value);
}

static void put_in_unit(struct pst_text *text, enum pst_measure measure, double value)
{
    put_number(text, value / units[pst_measure_unit(measure)].one);
}

static void put_comma(struct pst_text *text)
{
    if (text->len > 0 && text->at[text->len - 1] != '{')
        pst_text_put(text, ",");
}

static void put_name_key(struct pst_text *text, const char *name)
{
    put_comma(text);
    pst_text_quote(text, name);
    pst_text_put(text, ":");
}

static void put_measure_key(struct pst_text *text, enum pst_measure measure)
{
    put_comma(text);
    pst_text_print(text, "\"%s%s\":", pst_measure_name(measure),
                   units[pst_measure_unit(measure)].suffix);
}

/* All that can be said of a class, or of the whole. */
static void put_values(const struct pst_study *study, const struct pst_sim_report *report,
                       uint8_t class_, struct pst_text *text)
{
    for (int m = 0; m < PST_MEASURE_COUNT; m++) {
        const enum pst_measure measure = (enum pst_measure)m;
        double value;

        if (pst_measure_is_of_class(measure) != (class_ != PST_CLASS_DRAWN))
            continue;
        put_measure_key(text, measure);
        if (pst_report_value(report, study->scenario, class_, measure, &value))
            put_in_unit(text, measure, value);
        else
            pst_text_put(text, "null");
    }
}

static void put_class(const struct pst_study *study, const struct pst_sim_report *report,
                      uint8_t class_, struct pst_text *text)
{
    static const enum pst_measure batched[] = {PST_MEASURE_WAIT_MEAN, PST_MEASURE_WAIT_P99};

    pst_text_put(text, "{");
    put_values(study, report, class_, text);
    pst_text_print(text, ",\"cancelled\":%llu,\"retried\":%llu,\"half_width\":{",
                   (unsigned long long)report->classes[class_].outcomes[PST_OUTCOME_CANCELLED],
                   (unsigned long long)report->classes[class_].retried);
    for (size_t i = 0; i < PST_COUNT_OF(batched); i++) {
        double half;

        if (!pst_report_half_width(report, class_, batched[i], &half))
            continue;
        put_measure_key(text, batched[i]);
        put_in_unit(text, batched[i], half);
    }
    pst_text_put(text, "}}");
}

static void put_run(const struct pst_study *study, const struct pst_study_run *run,
                    struct pst_text *text)
{
    const struct pst_scenario_policy *policy = &run->policy->policy;
    const struct pst_sim_report *report = run->report;

    pst_text_put(text, "{\"policy\":");
    pst_text_quote(text, policy->name);
    pst_text_print(text,
                   ",\"gate\":\"%s\",\"pilot\":\"%s\",\"actuator\":\"%s\",\"seed\":%llu"
                   ",\"arrivals_total\":%llu,\"events_total\":%llu,\"digest\":\"%016llx\"",
                   pst_scenario_gate_name(policy->gate), pst_scenario_pilot_name(policy->pilot),
                   pst_scenario_actuator_name(policy->actuator), (unsigned long long)run->seed,
                   (unsigned long long)report->arrivals_total,
                   (unsigned long long)report->events_total, (unsigned long long)report->digest);
    if (study->timing)
        pst_text_print(text, ",\"elapsed_s\":%.6f", (double)run->elapsed / PST_S);
    pst_text_put(text, ",\"classes\":{");
    for (uint8_t c = 0; c < study->scenario->gate.classes_count; c++) {
        put_name_key(text, study->scenario->class_names[c]);
        put_class(study, report, c, text);
    }
    pst_text_put(text, "}");
    put_values(study, report, PST_CLASS_DRAWN, text);
    pst_text_print(text, ",\"bursts\":%llu", (unsigned long long)report->bursts);
    pst_text_put(text, ",\"replica_hours_by_state\":{");
    for (int s = PST_REPLICA_GONE + 1; s < PST_REPLICA_STATE_COUNT; s++) {
        put_name_key(text, pst_replica_state_name((enum pst_replica_state)s));
        put_number(text, (double)report->replica_ns[s] / (3600.0 * PST_S));
    }
    pst_text_put(text, "}}");
}

/* Mean and half of the interval, over the seeds. */
static void put_means(const struct pst_study *study, uint32_t policy, uint8_t class_,
                      struct pst_text *text)
{
    for (int m = 0; m < PST_MEASURE_COUNT; m++) {
        const enum pst_measure measure = (enum pst_measure)m;
        double value;

        if (pst_measure_is_of_class(measure) != (class_ != PST_CLASS_DRAWN) ||
            !pst_study_value(study, policy, class_, measure, &value))
            continue;
        put_measure_key(text, measure);
        pst_text_put(text, "{\"mean\":");
        put_in_unit(text, measure, value);
        if (pst_study_half(study, policy, class_, measure, &value)) {
            pst_text_put(text, ",\"half_width\":");
            put_in_unit(text, measure, value);
        }
        pst_text_put(text, "}");
    }
}

static void put_policy(const struct pst_study *study, uint32_t policy, struct pst_text *text)
{
    pst_text_put(text, "{\"policy\":");
    pst_text_quote(text, study->policies[policy].policy.name);
    pst_text_put(text, ",\"classes\":{");
    for (uint8_t c = 0; c < study->scenario->gate.classes_count; c++) {
        put_name_key(text, study->scenario->class_names[c]);
        pst_text_put(text, "{");
        put_means(study, policy, c, text);
        pst_text_put(text, "}");
    }
    pst_text_put(text, "}");
    put_means(study, policy, PST_CLASS_DRAWN, text);
    pst_text_put(text, "}");
}

static void put_expectation(const struct pst_study *study,
                            const struct pst_expectation *expectation,
                            const struct pst_verdict *verdict, struct pst_text *text)
{
    const struct pst_study_policy *policy = study->policies;

    while (policy->index != expectation->policy)
        policy++;
    pst_text_print(text, "{\"line\":%u,\"text\":", expectation->line);
    pst_text_quote(text, expectation->text);
    pst_text_put(text, ",\"policy\":");
    pst_text_quote(text, policy->policy.name);
    pst_text_print(text, ",\"met\":%s,\"value\":", verdict->met ? "true" : "false");
    put_in_unit(text, expectation->measure, verdict->value);
    pst_text_put(text, ",\"bound\":");
    put_in_unit(text, expectation->measure, verdict->bound);
    pst_text_print(text, ",\"seed\":%llu}", (unsigned long long)verdict->seed);
}

static void put_expectations(const struct pst_study *study, struct pst_text *text)
{
    const char *comma = "";

    pst_text_put(text, ",\"expectations\":[");
    for (uint32_t i = 0; i < study->scenario->expectations_count; i++) {
        const struct pst_expectation *expectation = &study->scenario->expectations[i];
        struct pst_verdict verdict;

        pst_study_judge(study, expectation, &verdict);
        if (!verdict.judged)
            continue;
        pst_text_put(text, comma);
        put_expectation(study, expectation, &verdict, text);
        comma = ",";
    }
    pst_text_put(text, "]");
}

void pst_study_members(const struct pst_study *study, struct pst_text *text)
{
    const struct pst_scenario *scenario = study->scenario;

    pst_text_put(text, "\"scenario\":");
    pst_text_quote(text, scenario->name);
    pst_text_put(text, ",\"file\":");
    pst_text_quote(text, study->path);
    pst_text_print(text, ",\"seed\":%llu,\"seeds\":%u,\"horizon_s\":%.12g,\"cut_s\":%.12g",
                   (unsigned long long)study->seed, study->seeds_count,
                   (double)scenario->horizon / PST_S, (double)scenario->cut / PST_S);
    pst_text_put(text, ",\"runs\":[");
    for (uint32_t i = 0; i < study->runs_count; i++) {
        pst_text_put(text, i > 0 ? "," : "");
        put_run(study, &study->runs[i], text);
    }
    pst_text_put(text, "],\"policies\":[");
    for (uint32_t p = 0; p < study->policies_count; p++) {
        pst_text_put(text, p > 0 ? "," : "");
        put_policy(study, p, text);
    }
    pst_text_put(text, "]");
    put_expectations(study, text);
}

void pst_study_json(const struct pst_study *study, struct pst_text *text)
{
    pst_text_put(text, "{");
    pst_study_members(study, text);
    pst_text_put(text, "}\n");
}
