/* metric.c - see metric.h. */
#include "base/metric.h"

#include <stdlib.h>

const struct pst_metric_row pst_metric_rows[PST_METRIC_COUNT] = {
#define ROW(id, name, type, labels, help) {name, PST_METRIC_##type, labels, help},
    PST_METRICS(ROW)
#undef ROW
};

const struct pst_metric_alias pst_metric_aliases[PST_METRIC_ALIASES] = {
    {PST_METRIC_QUEUE_BACKLOG, "queue_backlog_seconds", "pool", "class"},
    {PST_METRIC_INFLIGHT, "inflight_requests", "pool", "class"},
    {PST_METRIC_QUEUE_DEPTH, "inference_queue_depth", "pool", "class"},
    {PST_METRIC_INFLIGHT, "inference_inflight_requests", "pool", "class"},
    {PST_METRIC_DURATION, "inference_request_duration_seconds", "pool", "class"},
    {PST_METRIC_QUEUE_DEPTH, "llm_d_epp_flow_control_queue_size", "inference_pool", "priority"},
};

const pst_ns pst_metric_bounds[PST_METRIC_BOUNDS] = {
    1 * PST_MS,   2 * PST_MS,   5 * PST_MS,  10 * PST_MS, 20 * PST_MS, 50 * PST_MS,  100 * PST_MS,
    200 * PST_MS, 500 * PST_MS, 1 * PST_S,   2 * PST_S,   5 * PST_S,   10 * PST_S,   20 * PST_S,
    30 * PST_S,   60 * PST_S,   120 * PST_S, 300 * PST_S, 600 * PST_S, 1800 * PST_S,
};

struct pst_metrics {
    uint32_t sizes[PST_LABELS_COUNT];
    uint64_t dropped;
    uint32_t cells[PST_METRIC_COUNT];
    uint64_t *value[PST_METRIC_COUNT];                        /* counters and gauges */
    struct pst_metric_histogram *histogram[PST_METRIC_COUNT]; /* the others */
};

/* False when an index is out of range: counted, and nothing is to be written. */
static bool find_cell(struct pst_metrics *metrics, enum pst_metric metric, struct pst_labels labels,
                      uint32_t *ret_cell)
{
    const uint32_t list[PST_LABELS_COUNT] = {
        labels.pool,    labels.class_,  labels.length, labels.outcome,
        labels.reason,  labels.replica, labels.state,  labels.direction,
        labels.refusal, labels.kind,    labels.term,
    };
    uint32_t cell = 0;

    for (uint32_t left = pst_metric_rows[metric].labels; left != 0; left &= left - 1) {
        int i = __builtin_ctz(left);

        if (list[i] >= metrics->sizes[i]) {
            metrics->dropped++;
            return false;
        }
        cell = cell * metrics->sizes[i] + list[i];
    }
    *ret_cell = cell;
    return true;
}

int pst_metrics_new(const struct pst_metric_sizes *sizes, struct pst_metrics **ret_metrics)
{
    struct pst_metrics *metrics = calloc(1, sizeof *metrics);
    const uint32_t list[PST_LABELS_COUNT] = {
        sizes->pools,    sizes->classes,  sizes->lengths, sizes->outcomes,
        sizes->reasons,  sizes->replicas, sizes->states,  2,
        sizes->refusals, PST_KIND_COUNT,  sizes->terms,
    };

    if (metrics == NULL)
        return PST_E_NOMEM;
    for (int i = 0; i < PST_LABELS_COUNT; i++)
        metrics->sizes[i] = list[i];
    for (int m = 0; m < PST_METRIC_COUNT; m++) {
        uint32_t cells = 1;

        for (int i = 0; i < PST_LABELS_COUNT; i++)
            if ((pst_metric_rows[m].labels & 1u << i) != 0)
                cells *= list[i];
        metrics->cells[m] = cells;
        if (pst_metric_rows[m].type == PST_METRIC_HISTOGRAM)
            metrics->histogram[m] = calloc(cells, sizeof *metrics->histogram[m]);
        else
            metrics->value[m] = calloc(cells, sizeof *metrics->value[m]);
        if (metrics->histogram[m] == NULL && metrics->value[m] == NULL)
            goto fail;
    }
    *ret_metrics = metrics;
    return PST_OK;

fail:
    pst_metrics_free(metrics);
    return PST_E_NOMEM;
}

void pst_metrics_free(struct pst_metrics *metrics)
{
    if (metrics == NULL)
        return;
    for (int m = 0; m < PST_METRIC_COUNT; m++) {
        free(metrics->value[m]);
        free(metrics->histogram[m]);
    }
    free(metrics);
}

void pst_metric_add(struct pst_metrics *metrics, enum pst_metric metric, struct pst_labels labels,
                    uint64_t n)
{
    uint32_t cell;

    PST_ASSERT(pst_metric_rows[metric].type == PST_METRIC_COUNTER);
    if (find_cell(metrics, metric, labels, &cell))
        metrics->value[metric][cell] += n;
}

void pst_metric_set(struct pst_metrics *metrics, enum pst_metric metric, struct pst_labels labels,
                    uint64_t value)
{
    uint32_t cell;

    PST_ASSERT(pst_metric_rows[metric].type != PST_METRIC_HISTOGRAM);
    if (find_cell(metrics, metric, labels, &cell))
        metrics->value[metric][cell] = value;
}

void pst_metric_observe(struct pst_metrics *metrics, enum pst_metric metric,
                        struct pst_labels labels, pst_ns value)
{
    struct pst_metric_histogram *histogram;
    uint32_t cell, bucket = 0;

    PST_ASSERT(pst_metric_rows[metric].type == PST_METRIC_HISTOGRAM);
    if (!find_cell(metrics, metric, labels, &cell))
        return;
    while (bucket < PST_METRIC_BOUNDS && value > pst_metric_bounds[bucket])
        bucket++;
    histogram = &metrics->histogram[metric][cell];
    histogram->buckets[bucket]++;
    histogram->count++;
    histogram->sum += value;
}

uint32_t pst_metric_cells(const struct pst_metrics *metrics, enum pst_metric metric)
{
    return metrics->cells[metric];
}

struct pst_labels pst_metric_labels(const struct pst_metrics *metrics, enum pst_metric metric,
                                    uint32_t cell)
{
    uint32_t list[PST_LABELS_COUNT] = {0};

    PST_ASSERT(cell < metrics->cells[metric]);
    for (int i = PST_LABELS_COUNT - 1; i >= 0; i--) {
        if ((pst_metric_rows[metric].labels & 1u << i) == 0)
            continue;
        list[i] = cell % metrics->sizes[i];
        cell /= metrics->sizes[i];
    }
    return (struct pst_labels){
        .pool = (uint16_t)list[0],
        .class_ = (uint8_t)list[1],
        .length = (uint8_t)list[2],
        .outcome = (uint8_t)list[3],
        .reason = (uint8_t)list[4],
        .replica = (uint16_t)list[5],
        .state = (uint8_t)list[6],
        .direction = (uint8_t)list[7],
        .refusal = (uint8_t)list[8],
        .kind = (uint8_t)list[9],
        .term = (uint8_t)list[10],
    };
}

uint64_t pst_metric_value(const struct pst_metrics *metrics, enum pst_metric metric, uint32_t cell)
{
    PST_ASSERT(cell < metrics->cells[metric] && metrics->value[metric] != NULL);
    return metrics->value[metric][cell];
}

const struct pst_metric_histogram *pst_metric_histogram(const struct pst_metrics *metrics,
                                                        enum pst_metric metric, uint32_t cell)
{
    PST_ASSERT(cell < metrics->cells[metric] && metrics->histogram[metric] != NULL);
    return &metrics->histogram[metric][cell];
}

uint64_t pst_metrics_dropped(const struct pst_metrics *metrics)
{
    return metrics->dropped;
}
