/*
 * metric.h - metric cells: one table of names, plain counters of the thread that owns them.
 *
 * Why: counting must cost an addition. Whoever counts names a row and its labels by index; observe
 * renders names from the registry. Every metric is one row of PST_METRICS; its documentation is
 * generated from the row.
 *
 * Guarantee: no allocation after pst_metrics_new; what is counted with an index out of range is dropped
 * and the drops are counted, never written elsewhere. One owner thread; the renderer runs on it, or merges copies.
 */
#ifndef PST_BASE_METRIC_H
#define PST_BASE_METRIC_H

#include "pst.h"

enum pst_metric_type { PST_METRIC_COUNTER, PST_METRIC_GAUGE, PST_METRIC_HISTOGRAM };

/* Which labels a row has, rendered in this order; how many values each has is given to _new. */
enum pst_metric_label {
    PST_LABEL_POOL = 1 << 0,
    PST_LABEL_CLASS = 1 << 1,
    PST_LABEL_LENGTH = 1 << 2,
    PST_LABEL_OUTCOME = 1 << 3,
    PST_LABEL_REASON = 1 << 4,
    PST_LABEL_REPLICA = 1 << 5, /* its pool is named beside it */
    PST_LABEL_STATE = 1 << 6,
    PST_LABEL_DIRECTION = 1 << 7, /* in, out */
    PST_LABEL_REFUSAL = 1 << 8,   /* called `reason` too: why it never became a ticket */
    PST_LABEL_KIND = 1 << 9,      /* of a number of replicas */
    PST_LABEL_TERM = 1 << 10, /* called `reason` too: which question asked for the most replicas */
};

#define PST_LABELS_COUNT 11

/* Values of PST_LABEL_KIND. */
enum pst_metric_kind {
    PST_KIND_DESIRED,
    PST_KIND_NEEDED, /* by the load alone, floors left out */
    PST_KIND_READY,
    PST_KIND_STARTING,
    PST_KIND_WARM,
    PST_KIND_DRAINING,
    PST_KIND_COUNT
};

#define PST_LABELS_CLASS  (PST_LABEL_POOL | PST_LABEL_CLASS)
#define PST_LABELS_LENGTH (PST_LABELS_CLASS | PST_LABEL_LENGTH)
#define PST_LABELS_END    (PST_LABELS_CLASS | PST_LABEL_OUTCOME | PST_LABEL_REASON)
#define PST_LABELS_TOKENS (PST_LABELS_CLASS | PST_LABEL_DIRECTION)
#define PST_LABELS_STATE  (PST_LABEL_REPLICA | PST_LABEL_STATE)

/*
 * X(id, name without prefix, type, labels, help). Units are in the names. Gauges are read from their
 * owners just before they are rendered; counters and histograms are counted where things happen.
 */
/* clang-format off */
#define PST_METRICS(X)                                                                             \
    X(REQUESTS, "requests_total", COUNTER, PST_LABELS_END,                                         \
      "Requests ended, by outcome and reason.")                                                    \
    X(REFUSED_EARLY, "rejected_requests_total", COUNTER, PST_LABEL_REFUSAL,                        \
      "Requests refused before they became tickets: malformed, unauthorized, unknown path.")       \
    X(QUEUE_DEPTH, "queue_depth", GAUGE, PST_LABELS_LENGTH,                                        \
      "Requests waiting.")                                                                         \
    X(QUEUE_BYTES, "queue_bytes", GAUGE, PST_LABELS_CLASS,                                         \
      "Bytes of request bodies waiting.")                                                          \
    X(QUEUE_TOKENS, "queue_tokens", GAUGE, PST_LABELS_CLASS,                                       \
      "Estimated tokens waiting.")                                                                 \
    X(QUEUE_BACKLOG, "queue_backlog_seconds", GAUGE, PST_LABELS_CLASS,                             \
      "Queued work of the class and all above it, divided by the drain rate.")                     \
    X(QUEUE_OLDEST, "queue_oldest_seconds", GAUGE, PST_LABELS_CLASS,                               \
      "Age of the oldest waiting request.")                                                        \
    X(QUEUE_WAIT, "queue_wait_seconds", HISTOGRAM, PST_LABELS_LENGTH,                              \
      "Time in the queue of requests that were dispatched.")                                       \
    X(INFLIGHT, "inflight_requests", GAUGE, PST_LABELS_CLASS,                                      \
      "Sequences running on replicas.")                                                            \
    X(TTFT, "time_to_first_token_seconds", HISTOGRAM, PST_LABELS_LENGTH,                           \
      "From the head read to the first byte of the answer.")                                       \
    X(INTER_TOKEN, "inter_token_seconds", HISTOGRAM, PST_LABELS_CLASS,                             \
      "Time between events of a stream.")                                                          \
    X(DURATION, "request_duration_seconds", HISTOGRAM, PST_LABELS_LENGTH,                          \
      "From the head read to the end of the answer, of requests that ended done.")                 \
    X(TOKENS, "tokens_total", COUNTER, PST_LABELS_TOKENS,                                          \
      "Tokens, from usage or counted events.")                                                     \
    X(RETRIES, "retries_total", COUNTER, PST_LABEL_POOL,                                           \
      "Attempts after the first.")                                                                 \
    X(GUARD, "guard_dispatches_total", COUNTER, PST_LABELS_CLASS,                                  \
      "Dispatches that spent guard share.")                                                        \
    X(REPLICA_STATE, "replica_state", GAUGE, PST_LABELS_STATE,                                     \
      "1 for the state that the replica is in, 0 for the others.")                                 \
    X(REPLICA_INFLIGHT, "replica_inflight", GAUGE, PST_LABEL_REPLICA,                              \
      "Sequences running on the replica.")                                                         \
    X(UNLABELLED, "unlabelled_requests_total", COUNTER, 0,                                         \
      "Requests without a known priority, put into the default class.")                            \
    X(STALE, "stale_events_total", COUNTER, 0,                                                     \
      "Replies that came after their attempt had ended.")                                          \
    X(BYTES_HELD, "held_bytes", GAUGE, 0,                                                          \
      "Bytes of request bodies held.")                                                             \
    X(CONNECTIONS, "connections", GAUGE, 0,                                                        \
      "Client connections open.")                                                                  \
    X(KEDA_CALLS, "external_scaler_calls_total", COUNTER, 0,                                       \
      "Calls of KEDA that were answered.")                                                         \
    X(KEDA_FAILED, "external_scaler_failed_calls_total", COUNTER, 0,                               \
      "Of them, not OK: what was asked for is wrong, or not known.")                               \
    X(KEDA_P99, "external_scaler_p99_seconds", GAUGE, 0,                                           \
      "P99 of the time from the end of a call's request to its answer queued.")                \
    X(KEDA_PUSH, "external_scaler_push_seconds", GAUGE, 0,                                         \
      "The last time that a first request met no replica: until all pushes were queued.")           \
    X(KEDA_STREAMS, "external_scaler_streams", GAUGE, 0,                                           \
      "Streams of KEDA that wait for a push.")                                                     \
    X(KEDA_CONNECTIONS, "external_scaler_connections", GAUGE, 0,                                   \
      "Connections of KEDA open.")                                                                 \
    X(SCALER_REPLICAS, "scaler_replicas", GAUGE, PST_LABEL_POOL | PST_LABEL_KIND,                  \
      "Replicas as the scaler counts them: what there should be, what of it load needs, what there is.") \
    X(SCALER_DECISIONS, "scaler_decisions_total", COUNTER, PST_LABEL_POOL | PST_LABEL_TERM,        \
      "Decisions that differ from the one before, or are a minute after it, by what asked for the most.") \
    X(REPLICA_SECONDS, "replica_seconds_total", COUNTER, PST_LABEL_POOL | PST_LABEL_STATE,         \
      "Time that replicas were there, starting, warm and draining ones included.")                 \
    X(COST, "cost_total", COUNTER, PST_LABEL_POOL,                                                 \
      "What they cost, in the currency of `cost_per_hour`.")                                       \
    X(LOG_DROPPED, "log_lines_dropped_total", COUNTER, 0,                                          \
      "Log lines that found no room.")
/* clang-format on */

enum pst_metric {
#define PST_METRIC_ID(id, name, type, labels, help) PST_METRIC_##id,
    PST_METRICS(PST_METRIC_ID)
#undef PST_METRIC_ID
        PST_METRIC_COUNT
};

struct pst_metric_row {
    const char *name;
    enum pst_metric_type type;
    uint32_t labels;
    const char *help;
};
extern const struct pst_metric_row pst_metric_rows[PST_METRIC_COUNT];

/* Names that others gave the same things, of metric and labels; exported with `compat_metrics`. */
struct pst_metric_alias {
    enum pst_metric metric;
    const char *name, *pool, *class_;
};
#define PST_METRIC_ALIASES 6
extern const struct pst_metric_alias pst_metric_aliases[PST_METRIC_ALIASES];

/* How many values each label can have. */
struct pst_metric_sizes {
    uint32_t pools, classes, lengths, outcomes, reasons, replicas, states, refusals, terms;
};

/* Indexes of labels; those that a row does not have are ignored. */
struct pst_labels {
    uint16_t pool, replica;
    uint8_t class_, length, outcome, reason, state, direction, refusal, kind, term;
};

/* Upper bounds of a histogram's buckets, ascending; one more bucket has none. */
#define PST_METRIC_BOUNDS 20
extern const pst_ns pst_metric_bounds[PST_METRIC_BOUNDS];

/* All zero is an empty one. Buckets are not cumulative here. */
struct pst_metric_histogram {
    uint64_t count;
    uint64_t sum; /* ns */
    uint64_t buckets[PST_METRIC_BOUNDS + 1];
};

struct pst_metrics;
int pst_metrics_new(const struct pst_metric_sizes *sizes, struct pst_metrics **ret_metrics);
void pst_metrics_free(struct pst_metrics *metrics);

void pst_metric_add(struct pst_metrics *metrics, enum pst_metric metric, struct pst_labels labels,
                    uint64_t n);
/* Gauges, and counters kept elsewhere. Seconds as ns. */
void pst_metric_set(struct pst_metrics *metrics, enum pst_metric metric, struct pst_labels labels,
                    uint64_t value);
void pst_metric_observe(struct pst_metrics *metrics, enum pst_metric metric,
                        struct pst_labels labels, pst_ns value);

/* Reading: a row's cells are numbered from 0; labels vary in the order of pst_metric_label. */
uint32_t pst_metric_cells(const struct pst_metrics *metrics, enum pst_metric metric);
struct pst_labels pst_metric_labels(const struct pst_metrics *metrics, enum pst_metric metric,
                                    uint32_t cell);
uint64_t pst_metric_value(const struct pst_metrics *metrics, enum pst_metric metric, uint32_t cell);
const struct pst_metric_histogram *pst_metric_histogram(const struct pst_metrics *metrics,
                                                        enum pst_metric metric, uint32_t cell);
uint64_t pst_metrics_dropped(const struct pst_metrics *metrics);

#endif
