/* plan_fit_yaml.c - what was found in a log, as a scenario with its evidence in comments. */
#include <stdio.h>

#include "cmd/plan_fit.h"
#include "cmd/units.h"
#include "config/scalar.h"
#include "core/num.h"

static const char *const defaults[] = {"high", "medium", "low"};

static void put_value(double value, bool duration, struct pst_text *text)
{
    if (!duration)
        pst_text_print(text, "%.3f", value);
    else if (value >= 1e6)
        pst_text_print(text, "%.3fms", value / 1e6);
    else
        pst_text_print(text, "%.3fus", value / 1e3);
}

void pst_plan_put_law(const struct pst_law *law, enum pst_plan_law_form form, struct pst_text *text)
{
    const bool duration = form == PST_PLAN_LAW_DURATION;

    switch (law->kind) {
    case PST_LAW_CONST:
        pst_text_put(text, "const");
        break;
    case PST_LAW_EXP:
        pst_text_put(text, "exp");
        break;
    case PST_LAW_GAMMA:
        pst_text_print(text, "gamma:%.3f", law->shape);
        break;
    case PST_LAW_WEIBULL:
        pst_text_print(text, "weibull:%.3f", law->shape);
        break;
    case PST_LAW_LOGNORMAL:
        pst_text_print(text, "lognormal:%.3f", law->shape);
        break;
    case PST_LAW_PARETO:
        pst_text_print(text, "pareto:%.3f", law->shape);
        break;
    case PST_LAW_TOKENS:
        pst_text_put(text, "tokens:");
        put_value(law->mean, true, text);
        pst_text_put(text, ":");
        put_value(law->per_prompt, true, text);
        pst_text_put(text, ":");
        put_value(law->per_output, true, text);
        return;
    case PST_LAW_UNIFORM:
    case PST_LAW_KIND_COUNT:
        PST_ASSERT(!"a law that is fitted");
    }
    if (form == PST_PLAN_LAW_GAPS)
        return;
    pst_text_put(text, ":");
    put_value(law->mean, duration, text);
}

/* ---- evidence ---- */

static void put_fits(const char *what, const struct pst_fit fits[PST_LAW_KIND_COUNT],
                     enum pst_law_kind chosen, uint32_t count, enum pst_plan_law_form form,
                     struct pst_text *text)
{
    for (int k = 0; k < PST_LAW_KIND_COUNT; k++) {
        const struct pst_fit *fit = &fits[k];

        if (!fit->exists)
            continue;
        pst_text_print(text, "    #   %c %s ", (int)chosen == k ? '*' : ' ', what);
        pst_plan_put_law(&fit->law, form, text);
        pst_text_print(text, "  distance %.4f", fit->distance);
        if (fit->shape_error > 0)
            pst_text_print(text, ", shape +- %.3f", fit->shape_error);
        if (form == PST_PLAN_LAW_DURATION && k != PST_LAW_TOKENS) {
            pst_text_put(text, ", mean +- ");
            put_value(fit->mean_error, true, text);
        }
        if (k == PST_LAW_TOKENS)
            pst_text_print(text, ", explains %.1f %%", 100 * fit->explained);
        pst_text_put(text, "\n");
    }
    if (count > 0)
        pst_text_print(text, "    #   (of %u; %.4f is chance in 1 of 20)\n", count,
                       1.358 / pst_sqrt(count));
}

static void put_evidence(const struct pst_plan_group *group, struct pst_text *text)
{
    const struct pst_fit_found *found = &group->found;
    char all[PST_UNITS_MAX], served[PST_UNITS_MAX], mean[PST_UNITS_MAX];

    pst_text_print(text,
                   "    # %s requests, %.4g a second; gaps: CV %.2f, index of dispersion of counts "
                   "%.2f\n",
                   pst_units((double)found->arrived, PST_UNIT_COUNT, all), found->per_s,
                   found->gap_cv, found->dispersion);
    if (found->by_counts)
        pst_text_put(text, "    #   too close for the log's milliseconds: their form is from the "
                           "counts\n");
    else
        put_fits("gaps", found->gaps, found->gap_kind, found->gaps_sampled, PST_PLAN_LAW_GAPS,
                 text);
    if (found->burst.count > 0)
        pst_text_print(text, "    # %u bursts%s\n", found->burst.count,
                       found->burst.periodic ? ", each in its place"
                                             : ", in no order: their places are drawn");
    pst_text_print(text, "    # %s served: mean %s, CV %.2f\n",
                   pst_units((double)found->served, PST_UNIT_COUNT, served),
                   pst_units(found->service_mean, PST_UNIT_TIME, mean), found->service_cv);
    put_fits("service", found->service, found->service_kind, found->service_sampled,
             PST_PLAN_LAW_DURATION, text);
}

/* ---- the stream ---- */

/* Never an exponent: the reader takes none. */
static void put_rate(double per_s, struct pst_text *text)
{
    pst_text_print(text, "%.*f/s", per_s >= 100 ? 2 : 6, per_s);
}

static void put_span(pst_ns span, struct pst_text *text)
{
    pst_text_print(text, "%llums", (unsigned long long)(span / PST_MS));
}

static void put_rates(const struct pst_fit_found *found, struct pst_text *text)
{
    if (found->pieces_count == 1) {
        pst_text_put(text, "    rate: ");
        put_rate(found->pieces[0].per_s, text);
        pst_text_put(text, "\n");
        return;
    }
    pst_text_put(text, "    rate:\n      pieces:\n");
    for (uint32_t i = 0; i < found->pieces_count; i++) {
        pst_text_print(text, "        - {at: %llus, rate: ",
                       (unsigned long long)(found->pieces[i].at / PST_S));
        put_rate(found->pieces[i].per_s, text);
        pst_text_put(text, "}\n");
    }
    if (found->period > 0)
        pst_text_put(text, "      period: 24h\n");
}

static void put_uniform(pst_ns from, pst_ns to, struct pst_text *text)
{
    if (to > from) {
        pst_text_put(text, "\"uniform:");
        put_span(from, text);
        pst_text_put(text, ":");
        put_span(to, text);
        pst_text_put(text, "\"");
    } else {
        put_span(from, text);
    }
}

static void put_burst(const struct pst_fit_burst *burst, struct pst_text *text)
{
    if (burst->count == 0 || burst->per_s <= 0)
        return;
    pst_text_put(text, "    burst: {every: ");
    put_span(burst->every, text);
    pst_text_put(text, ", offset: ");
    put_uniform(burst->offset_from, burst->offset_to, text);
    pst_text_put(text, ", length: ");
    put_uniform(burst->length_from, burst->length_to, text);
    pst_text_put(text, ", rate: ");
    put_rate(burst->per_s, text);
    pst_text_put(text, "}\n");
}

static void put_tokens(const char *name, const struct pst_fit *fit, struct pst_text *text)
{
    if (!fit->exists)
        return;
    pst_text_print(text, "    %s: \"", name);
    pst_plan_put_law(&fit->law, PST_PLAN_LAW_COUNT, text);
    pst_text_put(text, "\"\n");
}

static bool has_pools(const struct pst_plan_fitted *fitted)
{
    for (uint32_t i = 1; i < fitted->groups_count; i++)
        if (strcmp(fitted->groups[i]->pool, fitted->groups[0]->pool) != 0)
            return true;
    return false;
}

/* A type that a configuration could not name is told by the stream's name alone. */
static bool is_other(const char *type)
{
    return !pst_scalar_is_name(type) || strcmp(type, "other") == 0;
}

static void put_stream(const struct pst_plan_fitted *fitted, const struct pst_plan_group *group,
                       struct pst_text *text)
{
    const struct pst_fit_found *found = &group->found;
    const struct pst_law even = {.kind = PST_LAW_CONST, .mean = found->service_mean};

    pst_text_print(text, "  %s:\n", group->name);
    put_evidence(group, text);
    if (has_pools(fitted))
        pst_text_print(text, "    pool: %s\n", group->pool);
    pst_text_print(text, "    class: %s\n", group->class_);
    if (fitted->slots > 0 && !is_other(group->type))
        pst_text_print(text, "    type: %s\n", group->type);
    put_rates(found, text);
    put_burst(&found->burst, text);
    pst_text_put(text, "    gaps: \"");
    if (found->gap_kind == PST_LAW_EXP)
        pst_text_put(text, "exp");
    else
        pst_plan_put_law(&found->gaps[found->gap_kind].law, PST_PLAN_LAW_GAPS, text);
    pst_text_put(text, "\"\n");
    put_tokens("prompt", &found->prompt, text);
    put_tokens("output", &found->output, text);
    pst_text_put(text, "    service: \"");
    pst_plan_put_law(
        found->service_kind == PST_LAW_CONST ? &even : &found->service[found->service_kind].law,
        PST_PLAN_LAW_DURATION, text);
    pst_text_put(text, "\"\n");
}

/* ---- what a scenario wants besides ---- */

static bool is_first(const struct pst_plan_fitted *fitted, uint32_t index, bool by_class)
{
    for (uint32_t i = 0; i < index; i++)
        if (strcmp(by_class ? fitted->groups[i]->class_ : fitted->groups[i]->pool,
                   by_class ? fitted->groups[index]->class_ : fitted->groups[index]->pool) == 0)
            return false;
    return true;
}

static bool is_default(const char *class_)
{
    for (size_t i = 0; i < PST_COUNT_OF(defaults); i++)
        if (strcmp(defaults[i], class_) == 0)
            return true;
    return false;
}

static void put_classes(const struct pst_plan_fitted *fitted, struct pst_text *text)
{
    bool known = true;

    for (uint32_t i = 0; i < fitted->groups_count; i++)
        known = known && is_default(fitted->groups[i]->class_);
    if (known)
        return;
    pst_text_put(text, "classes: # a log does not say their order, targets and patience: yours go "
                       "here\n");
    for (uint32_t i = 0; i < fitted->groups_count; i++)
        if (is_first(fitted, i, true))
            pst_text_print(text, "  %s: {target: 1s, max_wait: 10s, ttl: 30s}\n",
                           fitted->groups[i]->class_);
}

static void put_types(const struct pst_plan_fitted *fitted, struct pst_text *text)
{
    const char *before = "types: {";

    for (uint32_t i = 0; i < fitted->groups_count; i++) {
        bool is_new = !is_other(fitted->groups[i]->type);

        for (uint32_t j = 0; j < i && is_new; j++)
            is_new = strcmp(fitted->groups[i]->type, fitted->groups[j]->type) != 0;
        if (!is_new)
            continue;
        pst_text_print(text, "%s%s: %s", before, fitted->groups[i]->type,
                       fitted->groups[i]->class_);
        before = ", ";
    }
    if (before[0] == ',')
        pst_text_put(text, "}\n");
}

static void put_frame(const struct pst_plan_fitted *fitted, struct pst_text *text)
{
    pst_text_print(text, "name: fitted\nhorizon: %llus\n",
                   (unsigned long long)fitted->span / PST_S + 1);
    put_classes(fitted, text);
    put_types(fitted, text);
    pst_text_put(text, "pools:\n");
    for (uint32_t i = 0; i < fitted->groups_count; i++)
        if (is_first(fitted, i, false))
            pst_text_print(text, "  - {name: %s, slots: %llu}\n", fitted->groups[i]->pool,
                           (unsigned long long)fitted->slots);
}

static void put_counts(const struct pst_plan_fitted *fitted, struct pst_text *text)
{
    char requests[PST_UNITS_MAX], span[PST_UNITS_MAX];

    pst_text_print(text, "# From an access log of %s: %s requests.\n",
                   pst_units_span(fitted->span / PST_S * PST_S, span),
                   pst_units((double)fitted->requests, PST_UNIT_COUNT, requests));
    if (fitted->wrong_lines > 0)
        pst_text_print(text, "# %llu lines could not be read; the first is line %llu: %s.\n",
                       (unsigned long long)fitted->wrong_lines,
                       (unsigned long long)fitted->first_wrong, fitted->first_why);
    if (fitted->aside > 0)
        pst_text_print(text, "# %llu requests never came to a pool.\n",
                       (unsigned long long)fitted->aside);
    if (fitted->over > 0)
        pst_text_print(text, "# %llu requests are of further pools, classes and types than %d.\n",
                       (unsigned long long)fitted->over, PST_STREAMS_MAX);
    if (fitted->late > 0)
        pst_text_print(text, "# %llu requests took so long that their gaps are out of order.\n",
                       (unsigned long long)fitted->late);
    if (fitted->slots == 0)
        pst_text_put(text, "# Add horizon and pools to it, or say --slots N, and it can be run.\n");
}

void pst_plan_fit_yaml(const struct pst_plan_fitted *fitted, struct pst_text *text)
{
    put_counts(fitted, text);
    if (fitted->slots > 0)
        put_frame(fitted, text);
    pst_text_put(text, "arrivals:\n");
    for (uint32_t i = 0; i < fitted->groups_count; i++) {
        if (fitted->groups[i]->found.has_service)
            put_stream(fitted, fitted->groups[i], text);
        else
            pst_text_print(text,
                           "  # %s: %llu requests, none of which was served: how long they take is "
                           "not known.\n",
                           fitted->groups[i]->name,
                           (unsigned long long)fitted->groups[i]->found.arrived);
    }
}
