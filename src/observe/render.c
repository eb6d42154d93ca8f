/* render.c - see render.h. */
#include "observe/render.h"

#include <string.h>

#include "core/num.h"

#define NAME_MAX_BYTES 96
#define SATURATION     "llm_d_epp_flow_control_pool_saturation"

/* A family as it is being written: a row, and what it and its labels are called here. */
struct family {
    const struct pst_view *view;
    struct pst_prometheus_page *page;
    enum pst_metric metric;
    const char *name, *pool, *class_;
};

static enum pst_prometheus_type type_of(enum pst_metric_type type)
{
    switch (type) {
    case PST_METRIC_COUNTER:
        return PST_PROMETHEUS_COUNTER;
    case PST_METRIC_GAUGE:
        return PST_PROMETHEUS_GAUGE;
    case PST_METRIC_HISTOGRAM:
        return PST_PROMETHEUS_HISTOGRAM;
    }
    return PST_PROMETHEUS_UNTYPED;
}

/* False: a cell of something that does not exist. The index behind the last means "not known". */
static bool exists(const struct pst_view *view, uint32_t has, struct pst_labels labels)
{
    const struct pst_registry *registry = view->registry;

    if ((has & PST_LABEL_POOL) != 0 && labels.pool != PST_POOLS_MAX &&
        labels.pool >= registry->pools_count)
        return false;
    if ((has & PST_LABEL_CLASS) != 0 && labels.class_ != PST_CLASSES_MAX &&
        labels.class_ >= registry->classes_count)
        return false;
    if ((has & PST_LABEL_REFUSAL) != 0 && view->refusals->names[labels.refusal] == NULL)
        return false;
    if ((has & PST_LABEL_STATE) != 0 && (has & PST_LABEL_REPLICA) == 0 &&
        labels.state == PST_REPLICA_GONE)
        return false; /* nobody counts those that are not there */
    return (has & PST_LABEL_REPLICA) == 0 ||
           pst_registry_replica_is_named(registry, labels.replica, pst_loop_now(view->loop));
}

/* True: the gauge would say a number, and there is none. */
static bool is_unknown(const struct family *family, struct pst_labels labels)
{
    uint32_t number;

    if (family->metric != PST_METRIC_SCALER_REPLICAS)
        return false;
    if (labels.kind == PST_KIND_DESIRED)
        return !pst_gauges_desired(family->view, labels.pool, &number);
    return labels.kind == PST_KIND_NEEDED && !pst_gauges_needed(family->view, labels.pool, &number);
}

/* True: listed only once it counted something. */
static bool is_sparse(uint32_t has, struct pst_labels labels)
{
    return (has & (PST_LABEL_OUTCOME | PST_LABEL_TERM)) != 0 ||
           ((has & PST_LABEL_POOL) != 0 && labels.pool == PST_POOLS_MAX) ||
           ((has & PST_LABEL_CLASS) != 0 && labels.class_ == PST_CLASSES_MAX);
}

static const char *known(char *const *names, uint32_t count, uint32_t index)
{
    return index < count ? names[index] : NULL;
}

const char *pst_render_kind_name(uint8_t kind)
{
    static const char *const names[PST_KIND_COUNT] = {
        [PST_KIND_DESIRED] = "desired", [PST_KIND_NEEDED] = "needed",
        [PST_KIND_READY] = "ready",     [PST_KIND_STARTING] = "starting",
        [PST_KIND_WARM] = "warm",       [PST_KIND_DRAINING] = "draining",
    };

    PST_ASSERT(kind < PST_KIND_COUNT);
    return names[kind];
}

/* The label with this bit, or false: the row has none, or its value is not known. */
static bool label_of(const struct family *family, struct pst_labels labels, uint32_t bit,
                     struct pst_prometheus_label *ret_label)
{
    const struct pst_registry *registry = family->view->registry;
    const char *name = NULL, *value = NULL;

    switch ((enum pst_metric_label)bit) {
    case PST_LABEL_POOL:
        name = family->pool;
        value = known(registry->pools, registry->pools_count, labels.pool);
        break;
    case PST_LABEL_CLASS:
        name = family->class_;
        value = known(registry->classes, registry->classes_count, labels.class_);
        break;
    case PST_LABEL_LENGTH:
        name = "length";
        value = pst_length_name(labels.length);
        break;
    case PST_LABEL_OUTCOME:
        name = "outcome";
        value = pst_outcome_name(labels.outcome);
        break;
    case PST_LABEL_REASON:
        name = "reason";
        value = pst_reason_name(labels.reason);
        break;
    case PST_LABEL_REPLICA:
        name = "replica";
        value = registry->replicas[labels.replica].name;
        break;
    case PST_LABEL_STATE:
        name = "state";
        value = pst_replica_state_name(labels.state);
        break;
    case PST_LABEL_DIRECTION:
        name = "direction";
        value = labels.direction == 0 ? "in" : "out";
        break;
    case PST_LABEL_REFUSAL:
        name = "reason";
        value = family->view->refusals->names[labels.refusal];
        break;
    case PST_LABEL_KIND:
        name = "kind";
        value = pst_render_kind_name(labels.kind);
        break;
    case PST_LABEL_TERM:
        name = "reason";
        value = pst_term_name(labels.term);
        break;
    }
    *ret_label = (struct pst_prometheus_label){name, value};
    return value != NULL;
}

static size_t labels_of(const struct family *family, struct pst_labels labels,
                        struct pst_prometheus_label list[PST_LABELS_COUNT + 1])
{
    uint32_t has = pst_metric_rows[family->metric].labels;
    size_t count = 0;

    if ((has & PST_LABEL_REPLICA) != 0) { /* whose pool is not in the cell, but in the registry */
        labels.pool = family->view->registry->replicas[labels.replica].pool;
        has |= PST_LABEL_POOL;
    }
    for (uint32_t i = 0; i < PST_LABELS_COUNT; i++)
        if ((has & 1u << i) != 0 && label_of(family, labels, 1u << i, &list[count]))
            count++;
    return count;
}

/* The unit is at the end of the name; seconds and money are kept in billionths. */
static bool is_in_billionths(enum pst_metric metric)
{
    static const char *const ends[] = {"_seconds", "_seconds_total", "cost_total"};
    const char *name = pst_metric_rows[metric].name;

    for (size_t i = 0; i < PST_COUNT_OF(ends); i++) {
        size_t len = strlen(name), end = strlen(ends[i]);

        if (len >= end && strcmp(name + len - end, ends[i]) == 0)
            return true;
    }
    return false;
}

static void write_histogram(const struct family *family, struct pst_prometheus_labels labels,
                            uint32_t cell)
{
    const struct pst_metric_histogram *cells =
        pst_metric_histogram(family->view->metrics, family->metric, cell);
    const struct pst_prometheus_histogram histogram = {
        .bounds = pst_metric_bounds,
        .counts = cells->buckets,
        .bounds_count = PST_METRIC_BOUNDS,
        .sum = cells->sum,
        .decimals = 9,
    };

    pst_prometheus_histogram(family->page, family->name, labels, &histogram);
}

static void write_value(const struct family *family, struct pst_prometheus_labels labels,
                        uint64_t value)
{
    if (!is_in_billionths(family->metric))
        pst_prometheus_integer(family->page, family->name, labels, value);
    else if (value <= INT64_MAX)
        pst_prometheus_fixed(family->page, family->name, labels, (int64_t)value, 9);
    else
        pst_prometheus_unknown(family->page, family->name,
                               labels); /* PST_NEVER: nothing serves it */
}

static void write_cell(const struct family *family, uint32_t cell)
{
    const struct pst_metric_row *row = &pst_metric_rows[family->metric];
    const struct pst_metrics *metrics = family->view->metrics;
    bool is_histogram = row->type == PST_METRIC_HISTOGRAM;
    struct pst_labels indexes = pst_metric_labels(metrics, family->metric, cell);
    struct pst_prometheus_label list[PST_LABELS_COUNT + 1];
    struct pst_prometheus_labels labels = {list, 0};
    uint64_t value = is_histogram ? pst_metric_histogram(metrics, family->metric, cell)->count
                                  : pst_metric_value(metrics, family->metric, cell);

    if (!exists(family->view, row->labels, indexes) || is_unknown(family, indexes))
        return;
    if (value == 0 && is_sparse(row->labels, indexes))
        return;
    labels.count = labels_of(family, indexes, list);
    if (is_histogram)
        write_histogram(family, labels, cell);
    else
        write_value(family, labels, value);
}

static void write_family(const struct family *family)
{
    const struct pst_metric_row *row = &pst_metric_rows[family->metric];
    uint32_t cells = pst_metric_cells(family->view->metrics, family->metric);

    pst_prometheus_family(family->page, family->name, type_of(row->type), row->help);
    for (uint32_t cell = 0; cell < cells; cell++)
        write_cell(family, cell);
}

/* Work in flight by what the ready replicas can hold; a pool without any is full. */
static void write_saturation(const struct pst_view *view, struct pst_prometheus_page *page)
{
    const char *name = SATURATION;

    pst_prometheus_family(page, name, PST_PROMETHEUS_GAUGE,
                          "Slots in use by slots of ready replicas.");
    for (uint16_t pool = 0; pool < view->registry->pools_count; pool++) {
        const struct pst_prometheus_label label = {"inference_pool", view->registry->pools[pool]};
        struct pst_gate_pool_view now;
        uint64_t ppm = PST_PPM;

        pst_gate_pool_view(pst_drive_gate(view->drive), pool, &now);
        if (now.slots > 0)
            ppm = pst_muldiv(now.inflight, PST_PPM, now.slots);
        pst_prometheus_fixed(page, name, (struct pst_prometheus_labels){&label, 1}, (int64_t)ppm,
                             6);
    }
}

void pst_render_metrics(const struct pst_view *view, struct pst_prometheus_page *page)
{
    char name[NAME_MAX_BYTES];
    struct family family = {
        .view = view, .page = page, .name = name, .pool = "pool", .class_ = "class"};

    for (int metric = 0; metric < PST_METRIC_COUNT; metric++) {
        (void)snprintf(name, sizeof name, "penstock_%s", pst_metric_rows[metric].name);
        family.metric = metric;
        write_family(&family);
    }
    if (!view->config->compat_metrics)
        return;
    for (size_t i = 0; i < PST_METRIC_ALIASES; i++) {
        const struct pst_metric_alias *a = &pst_metric_aliases[i];

        write_family(&(struct family){view, page, a->metric, a->name, a->pool, a->class_});
    }
    write_saturation(view, page);
}

void pst_render_document(FILE *out)
{
    for (size_t i = 0; i < PST_METRIC_ALIASES; i++) {
        const struct pst_metric_alias *a = &pst_metric_aliases[i];
        const struct pst_metric_row *row = &pst_metric_rows[a->metric];

        fprintf(out, "* `%s` (`%s`, `%s`%s): `penstock_%s`\n", a->name, a->pool, a->class_,
                (row->labels & PST_LABEL_LENGTH) != 0 ? ", `length`" : "", row->name);
    }
    fprintf(out, "* `%s` (`inference_pool`): slots in use by slots of ready replicas\n",
            SATURATION);
}
