/* plan_text.c - a plan as a page of text, and its sentences. */
#include <stdio.h>

#include "cmd/plan_size.h"
#include "cmd/study_table.h"
#include "cmd/units.h"

#define WIDTH       120
#define TOKEN_BYTES 4 /* of prompt text, about */

double pst_plan_utilisation(const struct pst_plan_answer *answer)
{
    const struct pst_plan_load *load = &answer->load;
    const double slots = (double)answer->replicas * answer->scene->scenario.gate.pools[0].slots;

    return load->upto[load->classes_count - 1].erlangs / slots;
}

static bool has_formula(const struct pst_plan_answer *a, uint8_t c)
{
    return a->load.methods[c] == PST_PLAN_FORMULA;
}

void pst_plan_say_method(const struct pst_plan_answer *a, uint8_t c, struct pst_text *text)
{
    const struct pst_plan_stream *upto = &a->load.upto[c];
    char span[PST_UNITS_MAX];

    switch (a->load.methods[c]) {
    case PST_PLAN_FORMULA:
        pst_text_print(text,
                       "Erlang C with Allen-Cunneen: arrivals close to independent (index of "
                       "dispersion %.1f), service CV %.2f",
                       upto->dispersion, upto->service_cv);
        return;
    case PST_PLAN_BURSTS:
    case PST_PLAN_WAVES:
        pst_text_print(text,
                       "simulated: %s (index of dispersion %.0f over %s), the formula does not "
                       "hold",
                       a->load.methods[c] == PST_PLAN_BURSTS ? "arrivals come in bursts"
                                                             : "the rate goes up and down",
                       upto->irregularity, pst_units_span((pst_ns)upto->window_s * PST_S, span));
        return;
    case PST_PLAN_HEAVY_TAIL:
        pst_text_put(text, "simulated: heavy tail, the variance of service is infinite");
        return;
    case PST_PLAN_SPREAD:
        pst_text_print(text, "simulated: service CV %.1f, two moments do not say its tail",
                       upto->service_cv);
        return;
    case PST_PLAN_SEQUENCES:
        pst_text_put(text, "simulated: requests take several slots at once");
        return;
    case PST_PLAN_ENGINE:
        pst_text_put(text, "simulated: replicas batch, service depends on who else is there");
        return;
    case PST_PLAN_METHOD_COUNT:
        break;
    }
    PST_ASSERT(!"a method");
}

/* ---- what comes ---- */

static void put_cell(struct pst_table_row *row, size_t column, int decimals, double value)
{
    if (value < 1e300)
        snprintf(row->cells[column], PST_TABLE_CELL_MAX, "%.*f", decimals, value);
    else
        snprintf(row->cells[column], PST_TABLE_CELL_MAX, "infinite");
}

static void put_unit(struct pst_table_row *row, size_t column, double value, enum pst_unit unit)
{
    char text[PST_UNITS_MAX];

    snprintf(row->cells[column], PST_TABLE_CELL_MAX, "%s", pst_units(value, unit, text));
}

static void put_load_row(const struct pst_plan_answer *a, uint8_t c, struct pst_table *table)
{
    const struct pst_scenario *scenario = &a->scene->scenario;
    const struct pst_plan_stream *own = &a->load.own[c];
    const uint32_t slots = a->replicas * scenario->gate.pools[0].slots;
    struct pst_table_row *row = pst_table_row(table);
    char span[PST_UNITS_MAX];

    if (row == NULL)
        return;
    snprintf(row->cells[0], PST_TABLE_CELL_MAX, "%s", scenario->class_names[c]);
    put_unit(row, 1, own->per_s, PST_UNIT_HOURS);
    if (a->load.methods[c] != PST_PLAN_ENGINE) {
        put_unit(row, 2, own->service_s * PST_S, PST_UNIT_TIME);
        put_cell(row, 3, 2, own->service_cv);
        put_cell(row, 4, 1, own->erlangs);
    }
    put_cell(row, 5, own->irregularity < 100 ? 1 : 0, own->irregularity);
    snprintf(row->cells[6], PST_TABLE_CELL_MAX, "%s",
             pst_units_span(scenario->gate.classes[c].target, span));
    if (!has_formula(a, c))
        return;
    put_unit(row, 7, pst_plan_replicas(&a->load, scenario, c, PST_REPLICAS_MAX), PST_UNIT_COUNT);
    put_unit(row, 8, pst_plan_wait_p99(&a->load, c, slots) * PST_S, PST_UNIT_TIME);
}

static void put_load(const struct pst_plan_answer *a, struct pst_text *text)
{
    struct pst_table table = {
        .columns = {{"", false},
                    {"requests/s", false},
                    {"service", false},
                    {"CV", false},
                    {"load, slots", false},
                    {"dispersion", false},
                    {"target", false},
                    {"formula: replicas", true},
                    {"P99 wait", true}},
        .columns_count = 9,
    };

    for (uint8_t c = 0; c < a->load.classes_count; c++)
        if (a->load.own[c].arrived > 0)
            put_load_row(a, c, &table);
    if (table.broken)
        text->broken = true;
    pst_table_print(&table, WIDTH, text);
    pst_table_done(&table);
    pst_text_put(text, "\n");
    for (uint8_t c = 0; c < a->load.classes_count; c++) {
        if (a->load.own[c].arrived == 0)
            continue;
        pst_text_print(text, "%s: ", a->scene->scenario.class_names[c]);
        pst_plan_say_method(a, c, text);
        pst_text_put(text, ".\n");
    }
}

/* ---- replicas ---- */

static void put_run(const struct pst_plan_answer *a, const struct pst_sim_report *report,
                    uint32_t replicas, struct pst_text *text)
{
    const struct pst_scenario *scenario = &a->scene->scenario;
    const char *comma = "";

    pst_text_print(text, "  with %u: %s:", replicas,
                   pst_plan_passes(report, scenario) ? "all in time" : "not enough");
    for (uint8_t c = 0; c < a->load.classes_count; c++) {
        char wait[PST_UNITS_MAX], share[PST_UNITS_MAX];
        double p99 = -1, attained = -1;

        if (a->load.own[c].arrived == 0)
            continue;
        pst_report_value(report, scenario, c, PST_MEASURE_WAIT_P99, &p99);
        pst_report_value(report, scenario, c, PST_MEASURE_ATTAINMENT, &attained);
        pst_text_print(text, "%s %s P99 %s, %s within target%s", comma, scenario->class_names[c],
                       pst_units(p99, PST_UNIT_TIME, wait),
                       pst_units(attained, PST_UNIT_SHARE, share),
                       pst_plan_class_passes(report, scenario, c) ? "" : " (short)");
        comma = ";";
    }
    pst_text_put(text, "\n");
}

static void put_replicas(const struct pst_plan_answer *a, struct pst_text *text)
{
    const struct pst_scaler_pool *pool = &a->scene->scenario.scaler.pools[0];

    pst_text_print(text, "\nreplicas: %u, with %u slots each", a->replicas, pool->slots);
    if (a->by_formula && a->formula == a->replicas)
        pst_text_put(text, ", by formula, and simulation through the gate agrees\n");
    else if (a->by_formula)
        pst_text_print(text, ", by simulation through the gate; the formula says %u\n", a->formula);
    else
        pst_text_put(text, ", by simulation through the gate\n");
    put_run(a, a->at, a->replicas, text);
    if (a->below != NULL)
        put_run(a, a->below, a->replicas - 1, text);
    if (a->plain > 0 && a->plain != a->replicas)
        pst_text_print(text, "  a plain priority queue would need %u\n", a->plain);
    pst_text_print(text, "  one more bears the loss of one\n");
    if (a->load.methods[0] != PST_PLAN_ENGINE)
        pst_text_print(
            text,
            "target utilisation: %.0f %% of the slots in use on average, when all %u are "
            "there\n",
            100 * pst_plan_utilisation(a), a->replicas);
}

/* ---- queues ---- */

static void put_queues(const struct pst_plan_answer *a, struct pst_text *text)
{
    const struct pst_scenario *scenario = &a->scene->scenario;
    double bytes = 0, requests = 0;
    const char *comma = "";

    if (a->load.methods[0] == PST_PLAN_ENGINE)
        return;
    pst_text_put(text, "queues, in requests:");
    for (uint8_t c = 0; c < a->load.classes_count; c++) {
        char count[PST_UNITS_MAX], span[PST_UNITS_MAX];

        if (a->load.own[c].arrived == 0)
            continue;
        pst_text_print(text, "%s %s %s (%s)", comma, scenario->class_names[c],
                       pst_units((double)a->queue[c], PST_UNIT_COUNT, count),
                       pst_units_span(scenario->gate.classes[c].max_wait, span));
        requests += (double)a->queue[c];
        bytes += (double)a->queue[c] * a->load.own[c].prompt_tokens * TOKEN_BYTES;
        comma = ",";
    }
    pst_text_print(text,
                   "\n  what can be served within max_wait beside the classes above; together "
                   "limits.tickets >= %.0f,\n  limits.memory >= %.0f MiB (prompts alone, at %d "
                   "bytes a token)\n",
                   requests, bytes / (1 << 20) + 1, TOKEN_BYTES);
}

/* ---- the warm pool ---- */

static void put_offer(const struct pst_plan_answer *a, uint32_t i, struct pst_table *table)
{
    const struct pst_plan_offer *offer = &a->offers[i];
    struct pst_table_row *row = pst_table_row(table);

    if (row == NULL)
        return;
    if (i + 1 == a->offers_count)
        snprintf(row->cells[0], PST_TABLE_CELL_MAX, "  none, but min %u",
                 a->scene->scenario.scaler.pools[0].min + 1);
    else
        snprintf(row->cells[0], PST_TABLE_CELL_MAX, "  warm: %u", offer->warm);
    put_unit(row, 1, PST_PPM * offer->attained, PST_UNIT_SHARE);
    put_unit(row, 2, offer->hours, PST_UNIT_HOURS);
    if (a->scene->scenario.scaler.pools[0].cost_micro > 0)
        put_unit(row, 3, offer->cost, PST_UNIT_HOURS);
    snprintf(row->cells[4], PST_TABLE_CELL_MAX, "%s", offer->meets ? "yes" : "no");
}

/* The sentences' figures, as text: a price of hours and money, shares, requests an hour. */
struct figures {
    char price[3 * PST_UNITS_MAX];
    char none[PST_UNITS_MAX], warm[PST_UNITS_MAX], ready[PST_UNITS_MAX];
    char per_hour[PST_UNITS_MAX], usual[PST_UNITS_MAX];
};

static void put_figures(const struct pst_plan_answer *a, struct figures *f)
{
    const struct pst_plan_offer *none = &a->offers[0], *warm = &a->offers[a->best];
    const bool costs = warm->extra_hours > 0;
    char hours[PST_UNITS_MAX], cost[PST_UNITS_MAX];

    pst_units(costs ? warm->extra_hours : 0, PST_UNIT_HOURS, hours);
    if (warm->cost > none->cost)
        snprintf(f->price, sizeof f->price, "%s replica-hours (%s)", hours,
                 pst_units(warm->cost - none->cost, PST_UNIT_HOURS, cost));
    else
        snprintf(f->price, sizeof f->price, "%s replica-hours", hours);
    pst_units(PST_PPM * none->attained, PST_UNIT_SHARE, f->none);
    pst_units(PST_PPM * warm->attained, PST_UNIT_SHARE, f->warm);
    pst_units(PST_PPM * a->offers[a->offers_count - 1].attained, PST_UNIT_SHARE, f->ready);
    pst_units(costs && warm->extra_in_target > 0 ? warm->extra_in_target / warm->extra_hours : 0,
              PST_UNIT_COUNT, f->per_hour);
    pst_units(none->in_target / none->hours, PST_UNIT_COUNT, f->usual);
}

static void put_worth(const struct pst_plan_answer *a, struct pst_text *text)
{
    const struct pst_plan_offer *warm = &a->offers[a->best];
    const struct pst_plan_offer *ready = &a->offers[a->offers_count - 1];
    const char *s = warm->warm == 1 ? "s" : "";
    struct figures f;

    put_figures(a, &f);
    switch (a->worth) {
    case PST_PLAN_NOT_NEEDED:
        pst_text_print(text,
                       "  Not worth it: without one %s are in time and every class meets its "
                       "target; %u warm would take %s more.\n",
                       f.none, warm->warm, f.price);
        return;
    case PST_PLAN_WORTH_IT:
        pst_text_print(text,
                       "  Worth it: %u warm take%s %s more and lift%s what is in time from %s to "
                       "%s, %s requests for each of those hours%s.\n",
                       warm->warm, s, f.price, s, f.none, f.warm, f.per_hour,
                       warm->meets ? "" : "; not every class meets its target yet");
        return;
    case PST_PLAN_READY_IS_BETTER:
        pst_text_print(text,
                       "  Not worth it: one more ready replica instead lifts what is in time from "
                       "%s to %s for %.2f replica-hours; %u warm to %s for %s.\n",
                       f.none, f.ready, ready->extra_hours, warm->warm, f.warm, f.price);
        return;
    case PST_PLAN_TOO_LITTLE:
        pst_text_print(text,
                       "  Not worth it: %u warm take%s %s more and bring%s %s requests more in "
                       "time for each of those hours; an hour of the pool serves %s.\n",
                       warm->warm, s, f.price, s, f.per_hour, f.usual);
        return;
    case PST_PLAN_WORTH_COUNT:
        break;
    }
    PST_ASSERT(!"a verdict");
}

static void put_warm(const struct pst_plan_answer *a, struct pst_text *text)
{
    const struct pst_scaler_pool *pool = &a->scene->scenario.scaler.pools[0];
    struct pst_table table = {
        .columns = {{"", false},
                    {"in time", false},
                    {"replica-hours", false},
                    {"cost", true},
                    {"meets targets", false}},
        .columns_count = 5,
    };

    if (a->offers_count == 0) {
        pst_text_put(text, "warm pool: arrivals do not vary, so nothing has to start in a hurry; "
                           "it would only stand in for a crash\n");
        return;
    }
    pst_text_print(text, "warm pool, with the `ahead` scaler between %u and %u replicas:\n",
                   pool->min, pool->max);
    for (uint32_t i = 0; i < a->offers_count; i++)
        put_offer(a, i, &table);
    if (table.broken)
        text->broken = true;
    pst_table_print(&table, WIDTH, text);
    pst_table_done(&table);
    put_worth(a, text);
}

void pst_plan_text(const struct pst_plan_answer *a, struct pst_text *text)
{
    const struct pst_scenario *scenario = &a->scene->scenario;
    char horizon[PST_UNITS_MAX], cut[PST_UNITS_MAX];

    pst_text_print(text, "%s, pool %u: %s of arrivals, the first %s not counted; seed %llu\n\n",
                   scenario->name, a->pool + 1u, pst_units_span(scenario->horizon, horizon),
                   pst_units_span(scenario->cut, cut), (unsigned long long)a->seed);
    put_load(a, text);
    put_replicas(a, text);
    put_queues(a, text);
    put_warm(a, text);
}
