/* document.c - docs/metrics.md from the table of metrics; see page.h. */
#include "observe/page.h"

#include "observe/render.h"

static const struct {
    uint32_t bit;
    const char *name;
} labels[] = {
    {PST_LABEL_POOL, "pool"},      {PST_LABEL_CLASS, "class"},
    {PST_LABEL_LENGTH, "length"},  {PST_LABEL_OUTCOME, "outcome"},
    {PST_LABEL_REASON, "reason"},  {PST_LABEL_REPLICA, "pool, replica"},
    {PST_LABEL_STATE, "state"},    {PST_LABEL_DIRECTION, "direction"},
    {PST_LABEL_REFUSAL, "reason"}, {PST_LABEL_KIND, "kind"},
    {PST_LABEL_TERM, "reason"},
};

static const char *const types[] = {
    [PST_METRIC_COUNTER] = "counter",
    [PST_METRIC_GAUGE] = "gauge",
    [PST_METRIC_HISTOGRAM] = "histogram",
};

static void print_row(FILE *out, const struct pst_metric_row *row)
{
    const char *separator = "";

    fprintf(out, "| `penstock_%s` | %s | ", row->name, types[row->type]);
    for (size_t i = 0; i < PST_COUNT_OF(labels); i++) {
        if ((row->labels & labels[i].bit) == 0)
            continue;
        fprintf(out, "%s%s", separator, labels[i].name);
        separator = ", ";
    }
    fprintf(out, " | %s |\n", row->help);
}

static void print_names(FILE *out, const char *label, int count, const char *(*name)(int))
{
    fprintf(out, "* `%s`:", label);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s `%s`", i == 0 ? "" : ",", name(i));
    fputs("\n", out);
}

static const char *outcome_name(int i)
{
    return pst_outcome_name(i);
}

static const char *reason_name(int i)
{
    return pst_reason_name(i);
}

static const char *length_name(int i)
{
    return pst_length_name(i);
}

static const char *kind_name(int i)
{
    return pst_render_kind_name((uint8_t)i);
}

static const char *term_name(int i)
{
    return pst_term_name((enum pst_term)i);
}

static const char *state_name(int i)
{
    return pst_replica_state_name(i);
}

void pst_observe_document(FILE *out)
{
    fputs("# Metrics\n\n"
          "`GET /metrics` on the `metrics` and `admin` listeners, in the Prometheus text format.\n"
          "This page is printed from the table that the program counts by (`penstock docs "
          "metrics`).\n\n"
          "| name | type | labels | meaning |\n|---|---|---|---|\n",
          out);
    for (int i = 0; i < PST_METRIC_COUNT; i++)
        print_row(out, &pst_metric_rows[i]);
    fputs("\n## Label values\n\n", out);
    print_names(out, "outcome", PST_OUTCOME_COUNT, outcome_name);
    print_names(out, "reason", PST_REASON_COUNT, reason_name);
    print_names(out, "length", PST_LENGTH_COUNT, length_name);
    print_names(out, "state", PST_REPLICA_STATE_COUNT, state_name);
    print_names(out, "kind", PST_KIND_COUNT, kind_name);
    fputs("* `direction`: `in`, `out`\n"
          "* `pool`, `class`, `replica`: as the configuration names them; a request that ended "
          "before\n"
          "  its pool or class was known has no such label\n"
          "* `reason` of `rejected_requests_total`: the `code` of the error that the client got\n",
          out);
    print_names(out, "reason` of `scaler_decisions_total", PST_TERM_COUNT, term_name);
    fputs("\n"
          "A time that is not known (a backlog that nothing serves) is `NaN`.\n\n"
          "## Histogram bounds\n\nSeconds:",
          out);
    for (int i = 0; i < PST_METRIC_BOUNDS; i++)
        fprintf(out, " %g", (double)pst_metric_bounds[i] / (double)PST_S);
    fputs("\n\n## Names that others know\n\nWith `compat_metrics: true`, the same values again "
          "as:\n\n",
          out);
    pst_render_document(out);
}
