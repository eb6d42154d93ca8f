/* study_text.c - a study as a page of text: what each class got, what it took, what was expected. */
#include <string.h>

#include "cmd/study.h"
#include "cmd/study_table.h"
#include "cmd/units.h"

#define WIDTH        120
#define SENTENCE_MAX (PST_SCENARIO_NAME_MAX + PST_SCENARIO_TEXT_MAX + 2)

/* The tables as data: which figure stands in which column. */
struct column {
    const char *title;
    enum pst_measure measure;
    bool half;  /* not the figure, but half of its interval */
    bool spare; /* left out when nobody has any */
};

static const struct column class_columns[] = {
    {"wait P50", PST_MEASURE_WAIT_P50, false, false},
    {"P95", PST_MEASURE_WAIT_P95, false, false},
    {"P99", PST_MEASURE_WAIT_P99, false, false},
    {"±", PST_MEASURE_WAIT_P99, true, true},
    {"TTFT P50", PST_MEASURE_TTFT_P50, false, false},
    {"P95", PST_MEASURE_TTFT_P95, false, false},
    {"P99", PST_MEASURE_TTFT_P99, false, false},
    {"SLO", PST_MEASURE_ATTAINMENT, false, false},
    {"refused", PST_MEASURE_REFUSED, false, false},
    {"expired", PST_MEASURE_EXPIRED, false, false},
    {"failed", PST_MEASURE_FAILED, false, true},
};

static const struct column count_columns[] = {
    {"cost", PST_MEASURE_COST, false, true},
    {"ups", PST_MEASURE_SCALE_UPS, false, false},
    {"downs", PST_MEASURE_SCALE_DOWNS, false, false},
    {"turns", PST_MEASURE_DIRECTION_CHANGES, false, false},
    {"ups/burst", PST_MEASURE_UPS_PER_BURST, false, true},
    {"ready min", PST_MEASURE_REPLICAS_MIN, false, false},
    {"most", PST_MEASURE_REPLICAS_MAX, false, false},
    {"killed", PST_MEASURE_KILLED_IN_FLIGHT, false, true},
};

static const struct {
    const char *title;
    uint32_t states;
    bool spare;
} hour_columns[] = {
    {"serving", 1u << PST_REPLICA_READY | 1u << PST_REPLICA_SUSPECT, false},
    {"start-up", 1u << PST_REPLICA_STARTING | 1u << PST_REPLICA_LOADING, false},
    {"drain", 1u << PST_REPLICA_DRAINING, false},
    {"warm", 1u << PST_REPLICA_WARM, true},
};

static void put_units(char cell[static PST_TABLE_CELL_MAX], double value, enum pst_unit unit)
{
    char text[PST_UNITS_MAX];

    snprintf(cell, PST_TABLE_CELL_MAX, "%s", pst_units(value, unit, text));
}

static void put_figure(const struct pst_study *study, uint32_t policy, uint8_t class_,
                       const struct column *column, bool half, char cell[static PST_TABLE_CELL_MAX])
{
    double value;

    if (half ? pst_study_half(study, policy, class_, column->measure, &value)
             : pst_study_value(study, policy, class_, column->measure, &value))
        put_units(cell, value, pst_measure_unit(column->measure));
    else
        snprintf(cell, PST_TABLE_CELL_MAX, "%s", half ? "" : "-");
}

static void put_row(const struct pst_study *study, struct pst_table *table, const char *name,
                    uint32_t policy, uint8_t class_)
{
    struct pst_table_row *row = pst_table_row(table);

    if (row == NULL)
        return;
    snprintf(row->cells[0], PST_TABLE_CELL_MAX, "%s", name);
    for (size_t c = 0; c < PST_COUNT_OF(class_columns); c++)
        if (!class_columns[c].half || study->seeds_count == 1)
            put_figure(study, policy, class_, &class_columns[c], class_columns[c].half,
                       row->cells[1 + c]);
    if (study->seeds_count == 1)
        return;
    row = pst_table_row(table); /* below each mean half of its interval */
    if (row == NULL)
        return;
    snprintf(row->cells[0], PST_TABLE_CELL_MAX, "%*s±", (int)(strspn(name, " ") + 2), "");
    for (size_t c = 0; c < PST_COUNT_OF(class_columns); c++)
        if (!class_columns[c].half)
            put_figure(study, policy, class_, &class_columns[c], true, row->cells[1 + c]);
}

static void put_title(struct pst_table *table, const char *title)
{
    struct pst_table_row *row = pst_table_row(table);

    if (row != NULL)
        snprintf(row->cells[0], PST_TABLE_CELL_MAX, "%s", title);
}

/* Policies beside one another, class by class; of one policy its classes. */
static void put_classes(const struct pst_study *study, struct pst_text *text)
{
    const struct pst_scenario *scenario = study->scenario;
    struct pst_table table = {.columns = {{"", false}}, .columns_count = 1};
    char name[PST_SCENARIO_NAME_MAX + 2];

    for (size_t c = 0; c < PST_COUNT_OF(class_columns); c++)
        table.columns[table.columns_count++] =
            (struct pst_table_column){class_columns[c].title, class_columns[c].spare};
    for (uint8_t class_ = 0; class_ < scenario->gate.classes_count; class_++) {
        if (study->policies_count == 1) {
            put_row(study, &table, scenario->class_names[class_], 0, class_);
            continue;
        }
        put_title(&table, scenario->class_names[class_]);
        for (uint32_t p = 0; p < study->policies_count; p++) {
            snprintf(name, sizeof name, "  %s", study->policies[p].policy.name);
            put_row(study, &table, name, p, class_);
        }
    }
    pst_table_print(&table, WIDTH, text);
    text->broken = text->broken || table.broken;
    pst_table_done(&table);
}

static void put_replicas_row(const struct pst_study *study, struct pst_table *table,
                             uint32_t policy, bool half)
{
    const struct column total = {.measure = PST_MEASURE_REPLICA_HOURS};
    struct pst_table_row *row = pst_table_row(table);
    size_t cell = 0;

    if (row == NULL)
        return;
    snprintf(row->cells[cell++], PST_TABLE_CELL_MAX, "%s",
             half ? "  ±" : study->policies[policy].policy.name);
    put_figure(study, policy, PST_CLASS_DRAWN, &total, half, row->cells[cell++]);
    for (size_t c = 0; c < PST_COUNT_OF(hour_columns); c++, cell++)
        if (!half)
            put_units(row->cells[cell], pst_study_hours(study, policy, hour_columns[c].states),
                      PST_UNIT_HOURS);
    for (size_t c = 0; c < PST_COUNT_OF(count_columns); c++)
        put_figure(study, policy, PST_CLASS_DRAWN, &count_columns[c], half, row->cells[cell++]);
}

static void put_replicas(const struct pst_study *study, struct pst_text *text)
{
    struct pst_table table = {.columns = {{"", false}, {"replica-hours", false}},
                              .columns_count = 2};

    for (size_t c = 0; c < PST_COUNT_OF(hour_columns); c++)
        table.columns[table.columns_count++] =
            (struct pst_table_column){hour_columns[c].title, hour_columns[c].spare};
    for (size_t c = 0; c < PST_COUNT_OF(count_columns); c++)
        table.columns[table.columns_count++] =
            (struct pst_table_column){count_columns[c].title, count_columns[c].spare};
    for (uint32_t p = 0; p < study->policies_count; p++) {
        put_replicas_row(study, &table, p, false);
        if (study->seeds_count > 1)
            put_replicas_row(study, &table, p, true);
    }
    pst_table_print(&table, WIDTH, text);
    text->broken = text->broken || table.broken;
    pst_table_done(&table);
}

/* What SLO means, class by class; on as many lines as it takes. */
static void put_targets(const struct pst_scenario *scenario, struct pst_text *text)
{
    static const char title[] = "SLO: of all that arrived, served within the class's target:";
    char target[PST_SCENARIO_NAME_MAX + PST_UNITS_MAX + 4], span[PST_UNITS_MAX];
    size_t used = sizeof title - 1;

    pst_text_put(text, title);
    for (uint32_t c = 0; c < scenario->gate.classes_count; c++) {
        const int len = snprintf(target, sizeof target, " %s %s%s", scenario->class_names[c],
                                 pst_units_span(scenario->gate.classes[c].target, span),
                                 c + 1 < scenario->gate.classes_count ? "," : "");

        if (used + (size_t)len > WIDTH) {
            pst_text_put(text, "\n   ");
            used = 3;
        }
        pst_text_put(text, target);
        used += (size_t)len;
    }
}

static void put_head(const struct pst_study *study, struct pst_text *text)
{
    const struct pst_scenario *scenario = study->scenario;
    char span[PST_UNITS_MAX], count[PST_UNITS_MAX];

    pst_text_print(text, "%s: %s", scenario->name, pst_units_span(scenario->horizon, span));
    if (scenario->cut > 0)
        pst_text_print(text, ", the first %s not counted", pst_units_span(scenario->cut, span));
    if (study->seeds_count == 1)
        pst_text_print(text, "; seed %llu", (unsigned long long)study->seed);
    else
        pst_text_print(text, "; mean of %u seeds from %llu, ± half of the 95 %% interval",
                       study->seeds_count, (unsigned long long)study->seed);
    pst_text_print(text, "; %s arrivals\n",
                   pst_units((double)study->runs[0].report->arrivals_total, PST_UNIT_COUNT, count));
    put_targets(scenario, text);
    pst_text_put(text, "\n\n");
}

/* "ahead-6s: low wait_p99 <= 6s" */
static const char *sentence_of(const struct pst_study *study,
                               const struct pst_expectation *expectation,
                               char text[static SENTENCE_MAX])
{
    if (study->policies_count > 1 && expectation->policy < study->scenario->policies_count)
        snprintf(text, SENTENCE_MAX, "%s: %s", study->scenario->policies[expectation->policy].name,
                 expectation->text);
    else
        snprintf(text, SENTENCE_MAX, "%s", expectation->text);
    return text;
}

static void put_verdict(const struct pst_study *study, const struct pst_expectation *expectation,
                        int width, struct pst_text *text)
{
    const enum pst_unit unit = pst_measure_unit(expectation->measure);
    char sentence[SENTENCE_MAX], number[PST_UNITS_MAX];
    struct pst_verdict verdict;

    pst_study_judge(study, expectation, &verdict);
    if (!verdict.judged)
        return;
    pst_text_print(text, "%-6s  %s:%u: %-*s  %s", verdict.met ? "met" : "BREACH", study->path,
                   expectation->line, width, sentence_of(study, expectation, sentence),
                   pst_units(verdict.value, unit, number));
    pst_text_print(text, ", bound %s", pst_units(verdict.bound, unit, number));
    if (study->seeds_count > 1)
        pst_text_print(text, " (seed %llu)", (unsigned long long)verdict.seed);
    pst_text_put(text, "\n");
}

static void put_expectations(const struct pst_study *study, struct pst_text *text)
{
    const struct pst_scenario *scenario = study->scenario;
    char sentence[SENTENCE_MAX];
    uint32_t judged;
    const uint32_t breaches = pst_study_breaches(study, &judged);
    int width = 0;

    if (scenario->expectations_count == 0)
        return;
    pst_text_put(text, "\n");
    for (uint32_t i = 0; i < scenario->expectations_count; i++) {
        const int len = (int)strlen(sentence_of(study, &scenario->expectations[i], sentence));
        width = len > width ? len : width;
    }
    for (uint32_t i = 0; i < scenario->expectations_count; i++)
        put_verdict(study, &scenario->expectations[i], width, text);
    if (judged > 0)
        pst_text_print(text, "%u expectation%s, %u met, %u breached\n", judged,
                       judged == 1 ? "" : "s", judged - breaches, breaches);
    if (judged < scenario->expectations_count)
        pst_text_print(text, "%u expectations are of policies that were not run\n",
                       scenario->expectations_count - judged);
}

static void put_timing(const struct pst_study *study, struct pst_text *text)
{
    double arrivals = 0, elapsed = 0;
    char number[PST_UNITS_MAX], rate[PST_UNITS_MAX], took[PST_UNITS_MAX];

    for (uint32_t i = 0; i < study->runs_count; i++) {
        arrivals += (double)study->runs[i].report->arrivals_total;
        elapsed += (double)study->runs[i].elapsed;
    }
    pst_text_print(text, "\n%u runs, %s arrivals in %s of running: %s arrivals/s\n",
                   study->runs_count, pst_units(arrivals, PST_UNIT_COUNT, number),
                   pst_units(elapsed, PST_UNIT_TIME, took),
                   pst_units(arrivals / (elapsed / PST_S + 1e-9), PST_UNIT_COUNT, rate));
}

void pst_study_text(const struct pst_study *study, struct pst_text *text)
{
    put_head(study, text);
    put_classes(study, text);
    pst_text_put(text, "\n");
    put_replicas(study, text);
    put_expectations(study, text);
    if (study->timing)
        put_timing(study, text);
}
