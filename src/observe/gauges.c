/* gauges.c - what the gate knows now, into the cells; see render.h. */
#include "observe/render.h"

static void read_class(const struct pst_view *view, uint16_t pool, uint8_t class_)
{
    struct pst_metrics *metrics = view->metrics;
    struct pst_labels labels = {.pool = pool, .class_ = class_};
    struct pst_gate_class_view now;

    pst_gate_class_view(pst_drive_gate(view->drive), pool, class_, pst_loop_now(view->loop), &now);
    for (uint8_t length = 0; length < PST_LENGTH_COUNT; length++) {
        labels.length = length;
        pst_metric_set(metrics, PST_METRIC_QUEUE_DEPTH, labels, now.queued[length]);
    }
    pst_metric_set(metrics, PST_METRIC_QUEUE_BYTES, labels, now.queued_bytes);
    pst_metric_set(metrics, PST_METRIC_QUEUE_TOKENS, labels, now.queued_tokens);
    pst_metric_set(metrics, PST_METRIC_QUEUE_BACKLOG, labels, now.backlog);
    pst_metric_set(metrics, PST_METRIC_QUEUE_OLDEST, labels, now.oldest);
    pst_metric_set(metrics, PST_METRIC_INFLIGHT, labels, now.inflight);
}

static void read_replica(const struct pst_view *view, uint16_t replica)
{
    struct pst_labels labels = {.replica = replica};
    struct pst_gate_replica_view now = {.state = PST_REPLICA_GONE};

    (void)pst_gate_replica_view(pst_drive_gate(view->drive), replica, &now);
    for (uint8_t state = 0; state < PST_REPLICA_STATE_COUNT; state++) {
        labels.state = state;
        pst_metric_set(view->metrics, PST_METRIC_REPLICA_STATE, labels, now.state == state);
    }
    pst_metric_set(view->metrics, PST_METRIC_REPLICA_INFLIGHT, labels, now.inflight);
}

void pst_gauges_read(const struct pst_view *view)
{
    static const struct pst_labels none;
    const struct pst_registry *registry = view->registry;
    struct pst_gate_counters counters;

    for (uint16_t pool = 0; pool < registry->pools_count; pool++)
        for (uint8_t class_ = 0; class_ < registry->classes_count; class_++)
            read_class(view, pool, class_);
    for (uint16_t replica = 0; replica < PST_REPLICAS_MAX; replica++)
        if (pst_registry_replica_is_named(registry, replica, pst_loop_now(view->loop)))
            read_replica(view, replica);

    pst_gate_counters(pst_drive_gate(view->drive), &counters);
    pst_metric_set(view->metrics, PST_METRIC_STALE, none, counters.stale_events);
    pst_metric_set(view->metrics, PST_METRIC_BYTES_HELD, none, counters.bytes_held);
    pst_metric_set(view->metrics, PST_METRIC_CONNECTIONS, none,
                   view->program->connections(view->user));
    pst_metric_set(view->metrics, PST_METRIC_LOG_DROPPED, none,
                   view->access_log == NULL ? 0 : pst_log_dropped(view->access_log));
}
