/* plan_fit_json.c - what was found in a log, as JSON: times in seconds. */
#include "cmd/plan_fit.h"

static void put_fits(const char *name, const struct pst_fit fits[PST_LAW_KIND_COUNT],
                     enum pst_plan_law_form form, struct pst_text *text)
{
    const char *comma = "";

    pst_text_print(text, ",\"%s\":[", name);
    for (int k = 0; k < PST_LAW_KIND_COUNT; k++) {
        const struct pst_fit *fit = &fits[k];

        if (!fit->exists)
            continue;
        pst_text_print(text, "%s{\"law\":\"", comma);
        pst_plan_put_law(&fit->law, form, text);
        pst_text_print(text, "\",\"distance\":%.6g,\"shape\":%.6g,\"shape_error\":%.6g",
                       fit->distance, fit->law.shape, fit->shape_error);
        if (form == PST_PLAN_LAW_DURATION)
            pst_text_print(text, ",\"mean_s\":%.9g,\"mean_error_s\":%.6g", fit->law.mean / PST_S,
                           fit->mean_error / PST_S);
        pst_text_put(text, "}");
        comma = ",";
    }
    pst_text_put(text, "]");
}

static void put_law(const char *name, const struct pst_law *law, enum pst_plan_law_form form,
                    struct pst_text *text)
{
    pst_text_print(text, ",\"%s\":\"", name);
    pst_plan_put_law(law, form, text);
    pst_text_put(text, "\"");
}

static void put_rates(const struct pst_fit_found *found, struct pst_text *text)
{
    pst_text_put(text, ",\"rates\":[");
    for (uint32_t i = 0; i < found->pieces_count; i++)
        pst_text_print(text, "%s{\"at_s\":%.9g,\"per_s\":%.9g}", i > 0 ? "," : "",
                       (double)found->pieces[i].at / PST_S, found->pieces[i].per_s);
    pst_text_print(text, "],\"period_s\":%.9g", (double)found->period / PST_S);
    if (found->burst.count == 0)
        return;
    pst_text_print(text,
                   ",\"bursts\":{\"count\":%u,\"every_s\":%.9g,\"periodic\":%s,\"length_s\":[%.9g,"
                   "%.9g],\"per_s\":%.9g}",
                   found->burst.count, (double)found->burst.every / PST_S,
                   found->burst.periodic ? "true" : "false",
                   (double)found->burst.length_from / PST_S, (double)found->burst.length_to / PST_S,
                   found->burst.per_s);
}

static void put_group(const struct pst_plan_group *group, struct pst_text *text)
{
    static const struct pst_law poisson = {.kind = PST_LAW_EXP, .mean = 1};
    const struct pst_fit_found *found = &group->found;
    const struct pst_law even = {.kind = PST_LAW_CONST, .mean = found->service_mean};

    pst_text_put(text, "{\"name\":");
    pst_text_quote(text, group->name);
    pst_text_put(text, ",\"pool\":");
    pst_text_quote(text, group->pool);
    pst_text_put(text, ",\"class\":");
    pst_text_quote(text, group->class_);
    pst_text_put(text, ",\"type\":");
    pst_text_quote(text, group->type);
    pst_text_print(text,
                   ",\"requests\":%llu,\"served\":%llu,\"per_s\":%.9g,\"gap_cv\":%.6g"
                   ",\"dispersion\":%.6g",
                   (unsigned long long)found->arrived, (unsigned long long)found->served,
                   found->per_s, found->gap_cv, found->dispersion);
    put_rates(found, text);
    put_law("gaps", found->gap_kind == PST_LAW_EXP ? &poisson : &found->gaps[found->gap_kind].law,
            PST_PLAN_LAW_GAPS, text);
    put_fits("gap_fits", found->gaps, PST_PLAN_LAW_GAPS, text);
    if (found->has_service) {
        pst_text_print(text, ",\"service_mean_s\":%.9g,\"service_cv\":%.6g",
                       found->service_mean / PST_S, found->service_cv);
        put_law("service",
                found->service_kind == PST_LAW_CONST ? &even
                                                     : &found->service[found->service_kind].law,
                PST_PLAN_LAW_DURATION, text);
        put_fits("service_fits", found->service, PST_PLAN_LAW_DURATION, text);
    }
    pst_text_put(text, "}");
}

void pst_plan_fit_json(const struct pst_plan_fitted *fitted, struct pst_text *text)
{
    pst_text_print(text,
                   "{\"lines\":%llu,\"wrong_lines\":%llu,\"requests\":%llu,\"aside\":%llu"
                   ",\"left_out\":%llu,\"span_s\":%.9g,\"streams\":[",
                   (unsigned long long)fitted->lines, (unsigned long long)fitted->wrong_lines,
                   (unsigned long long)fitted->requests, (unsigned long long)fitted->aside,
                   (unsigned long long)fitted->over, (double)fitted->span / PST_S);
    for (uint32_t i = 0; i < fitted->groups_count; i++) {
        pst_text_put(text, i > 0 ? "," : "");
        put_group(fitted->groups[i], text);
    }
    pst_text_put(text, "]}\n");
}
