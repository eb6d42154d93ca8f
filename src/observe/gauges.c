/* gauges.c - what the gate and the scaler know now, into the cells; see render.h. */
#include "core/num.h"
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

bool pst_gauges_desired(const struct pst_view *view, uint16_t pool, uint32_t *ret_desired)
{
    const struct pst_scaler *scaler = pst_capacity_scaler(view->capacity);
    struct pst_scaler_action last;
    uint8_t actuate;

    if (pool >= view->registry->pools_count)
        return false; /* the cell of requests without a pool */
    actuate = view->config->scaler.pools[pool].actuate;
    if (actuate == PST_ACTUATE_MARKED || actuate == PST_ACTUATE_NUMBER)
        return pst_scaler_number(scaler, pool, ret_desired);
    if (!pst_scaler_decision(scaler, pool, &last))
        return false;
    *ret_desired = last.u.decision.desired;
    return true;
}

bool pst_gauges_needed(const struct pst_view *view, uint16_t pool, uint32_t *ret_needed)
{
    struct pst_scaler_action last;

    return pool < view->registry->pools_count &&
           pst_scaler_decision(pst_capacity_scaler(view->capacity), pool, &last) &&
           pst_scaler_needed(&last, ret_needed);
}

/* Nothing decided yet is nothing said: the gauges stay as they were. */
static void read_scaler(const struct pst_view *view, uint16_t pool)
{
    uint32_t desired = 0, needed = 0;
    struct pst_scaler_action last;

    if (!pst_scaler_decision(pst_capacity_scaler(view->capacity), pool, &last))
        return;
    (void)pst_gauges_desired(view, pool, &desired); /* not known: not rendered */
    (void)pst_gauges_needed(view, pool, &needed);
    for (uint8_t kind = 0; kind < PST_KIND_COUNT; kind++) {
        const uint32_t values[PST_KIND_COUNT] = {
            [PST_KIND_DESIRED] = desired,
            [PST_KIND_NEEDED] = needed,
            [PST_KIND_READY] = last.u.decision.ready,
            [PST_KIND_STARTING] = last.u.decision.starting,
            [PST_KIND_WARM] = last.u.decision.warm,
            [PST_KIND_DRAINING] = last.u.decision.draining,
        };

        pst_metric_set(view->metrics, PST_METRIC_SCALER_REPLICAS,
                       (struct pst_labels){.pool = pool, .kind = kind}, values[kind]);
    }
}

void pst_gauges_second(const struct pst_view *view, pst_ns span)
{
    for (uint16_t pool = 0; pool < view->registry->pools_count; pool++) {
        uint64_t per_hour = view->config->scaler.pools[pool].cost_micro;
        struct pst_labels labels = {.pool = pool};
        struct pst_gate_pool_view now;
        pst_ns sum = 0;

        pst_gate_pool_view(pst_drive_gate(view->drive), pool, &now);
        for (uint8_t state = PST_REPLICA_GONE + 1; state < PST_REPLICA_STATE_COUNT; state++) {
            labels.state = state;
            pst_metric_add(view->metrics, PST_METRIC_REPLICA_SECONDS, labels,
                           span * now.replicas[state]);
            sum += span * now.replicas[state];
        }
        pst_metric_add(view->metrics, PST_METRIC_COST, labels,
                       pst_muldiv(sum, pst_mul_sat(per_hour, 1000), 3600 * PST_S));
    }
}

static uint64_t dropped(const struct pst_log *log)
{
    return log == NULL ? 0 : pst_log_dropped(log);
}

void pst_gauges_read(const struct pst_view *view)
{
    static const struct pst_labels none;
    const struct pst_registry *registry = view->registry;
    struct pst_gate_counters counters;

    for (uint16_t pool = 0; pool < registry->pools_count; pool++)
        for (uint8_t class_ = 0; class_ < registry->classes_count; class_++)
            read_class(view, pool, class_);
    for (uint16_t pool = 0; pool < registry->pools_count; pool++)
        read_scaler(view, pool);
    for (uint16_t replica = 0; replica < PST_REPLICAS_MAX; replica++)
        if (pst_registry_replica_is_named(registry, replica, pst_loop_now(view->loop)))
            read_replica(view, replica);

    pst_gate_counters(pst_drive_gate(view->drive), &counters);
    pst_metric_set(view->metrics, PST_METRIC_STALE, none, counters.stale_events);
    pst_metric_set(view->metrics, PST_METRIC_BYTES_HELD, none, counters.bytes_held);
    pst_metric_set(view->metrics, PST_METRIC_CONNECTIONS, none,
                   view->program->connections(view->user));
    pst_metric_set(view->metrics, PST_METRIC_LOG_DROPPED, none,
                   dropped(view->access_log) + dropped(view->decision_log));
}
