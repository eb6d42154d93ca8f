/* plan_json.c - a plan as JSON: times in seconds, shares 0 to 1; what is infinite or not known is null. */
#include "cmd/plan_size.h"

static void put_number(struct pst_text *text, const char *name, bool known, double value)
{
    if (known && value < 1e300)
        pst_text_print(text, ",\"%s\":%.9g", name, value);
    else
        pst_text_print(text, ",\"%s\":null", name);
}

static void put_class(const struct pst_plan_answer *a, uint8_t c, struct pst_text *text)
{
    const struct pst_scenario *scenario = &a->scene->scenario;
    const struct pst_plan_stream *own = &a->load.own[c];
    const bool formula = a->load.methods[c] == PST_PLAN_FORMULA;
    const bool slots = a->load.methods[c] != PST_PLAN_ENGINE;
    struct pst_text reason = {0};

    pst_text_put(text, "{\"name\":");
    pst_text_quote(text, scenario->class_names[c]);
    pst_text_print(text, ",\"requests\":%llu", (unsigned long long)own->arrived);
    put_number(text, "requests_per_s", true, own->per_s);
    put_number(text, "service_s", slots, own->service_s);
    put_number(text, "service_cv", slots, own->service_cv);
    put_number(text, "load_slots", slots, own->erlangs);
    put_number(text, "dispersion", true, own->irregularity);
    put_number(text, "target_s", true, (double)scenario->gate.classes[c].target / PST_S);
    put_number(text, "max_wait_s", true, (double)scenario->gate.classes[c].max_wait / PST_S);
    pst_text_print(text,
                   ",\"method\":\"%s\",\"reason\":", pst_plan_method_name(a->load.methods[c]));
    pst_plan_say_method(a, c, &reason);
    pst_text_quote(text, reason.broken ? "" : reason.at);
    pst_text_done(&reason);
    put_number(text, "formula_replicas", formula,
               pst_plan_replicas(&a->load, scenario, c, PST_REPLICAS_MAX));
    put_number(text, "formula_wait_p99_s", formula,
               pst_plan_wait_p99(&a->load, c, a->replicas * scenario->gate.pools[0].slots));
    put_number(text, "queue_requests", slots, (double)a->queue[c]);
    pst_text_put(text, "}");
}

static void put_run(const struct pst_plan_answer *a, const struct pst_sim_report *report,
                    uint32_t replicas, struct pst_text *text)
{
    const struct pst_scenario *scenario = &a->scene->scenario;
    const char *comma = "";

    pst_text_print(text, "{\"replicas\":%u,\"passes\":%s,\"classes\":[", replicas,
                   pst_plan_passes(report, scenario) ? "true" : "false");
    for (uint8_t c = 0; c < a->load.classes_count; c++) {
        double p99 = 0, attained = 0;
        bool waited = pst_report_value(report, scenario, c, PST_MEASURE_WAIT_P99, &p99);

        if (!pst_report_value(report, scenario, c, PST_MEASURE_ATTAINMENT, &attained))
            continue;
        pst_text_print(text, "%s{\"name\":", comma);
        pst_text_quote(text, scenario->class_names[c]);
        put_number(text, "wait_p99_s", waited, p99 / PST_S);
        put_number(text, "attainment", true, attained / PST_PPM);
        pst_text_print(text, ",\"passes\":%s}",
                       pst_plan_class_passes(report, scenario, c) ? "true" : "false");
        comma = ",";
    }
    pst_text_put(text, "]}");
}

static void put_warm(const struct pst_plan_answer *a, struct pst_text *text)
{
    pst_text_put(text, ",\"warm_pool\":");
    if (a->offers_count == 0) {
        pst_text_put(text, "null");
        return;
    }
    pst_text_print(text, "{\"verdict\":\"%s\",\"best\":%u,\"min\":%u,\"max\":%u,\"offers\":[",
                   pst_plan_worth_name(a->worth), a->best, a->scene->scenario.scaler.pools[0].min,
                   a->scene->scenario.scaler.pools[0].max);
    for (uint32_t i = 0; i < a->offers_count; i++) {
        const struct pst_plan_offer *offer = &a->offers[i];

        pst_text_print(text, "%s{\"warm\":%u,\"more_ready\":%d", i > 0 ? "," : "", offer->warm,
                       i + 1 == a->offers_count);
        put_number(text, "attainment", true, offer->attained);
        put_number(text, "in_target", true, offer->in_target);
        put_number(text, "replica_hours", true, offer->hours);
        put_number(text, "cost", a->scene->scenario.scaler.pools[0].cost_micro > 0, offer->cost);
        pst_text_print(text, ",\"meets\":%s}", offer->meets ? "true" : "false");
    }
    pst_text_put(text, "]}");
}

void pst_plan_json(const struct pst_plan_answer *a, struct pst_text *text)
{
    const struct pst_scenario *scenario = &a->scene->scenario;
    const char *comma = "";

    pst_text_put(text, "{\"scenario\":");
    pst_text_quote(text, scenario->name);
    pst_text_print(text, ",\"pool\":%u,\"seed\":%llu,\"slots\":%u", a->pool + 1u,
                   (unsigned long long)a->seed, scenario->gate.pools[0].slots);
    put_number(text, "span_s", true, a->load.span_s);
    pst_text_put(text, ",\"classes\":[");
    for (uint8_t c = 0; c < a->load.classes_count; c++) {
        if (a->load.own[c].arrived == 0)
            continue;
        pst_text_put(text, comma);
        put_class(a, c, text);
        comma = ",";
    }
    pst_text_print(text, "],\"replicas\":%u,\"method\":\"%s\"", a->replicas,
                   a->by_formula && a->formula == a->replicas ? "formula" : "simulation");
    put_number(text, "formula_replicas", a->formula > 0, a->formula);
    put_number(text, "plain_queue_replicas", a->plain > 0, a->plain);
    put_number(text, "calm_replicas", true, a->calm);
    put_number(text, "target_utilisation", a->load.methods[0] != PST_PLAN_ENGINE,
               pst_plan_utilisation(a));
    pst_text_put(text, ",\"runs\":[");
    put_run(a, a->at, a->replicas, text);
    if (a->below != NULL) {
        pst_text_put(text, ",");
        put_run(a, a->below, a->replicas - 1, text);
    }
    pst_text_put(text, "]");
    put_warm(a, text);
    pst_text_put(text, "}");
}
