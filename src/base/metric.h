/*
 * metric.h - metric cells: one table of names, plain counters of the thread that owns them.
 *
 * Why: counting must cost an addition. Whoever counts names a row and its labels by index; observe
 * renders names from the registry. Every metric is one row of PST_METRICS; its documentation is
 * generated from the row.
 *
 * Guarantee: no allocation after pst_metrics_new; indexes out of range are counted in cell 0 of
 * `dropped` and never written elsewhere. One owner thread; the renderer runs on it, or merges copies.
 */
#ifndef PST_BASE_METRIC_H
#define PST_BASE_METRIC_H

#include "pst.h"

enum pst_metric_type { PST_METRIC_COUNTER, PST_METRIC_GAUGE, PST_METRIC_HISTOGRAM };

/* Which labels a row has, in this order; sizes are given to pst_metrics_new. */
enum pst_metric_label {
    PST_LABEL_POOL = 1 << 0,
    PST_LABEL_CLASS = 1 << 1,
    PST_LABEL_LENGTH = 1 << 2,
    PST_LABEL_OUTCOME = 1 << 3,
    PST_LABEL_REASON = 1 << 4,
    PST_LABEL_REPLICA = 1 << 5,
    PST_LABEL_STATE = 1 << 6,
    PST_LABEL_DIRECTION = 1 << 7, /* in, out */
};

/* X(id, name without prefix, type, labels, help). Units are in the names. Rows that are read from the
 * gate when rendered (depths, backlog, states) are rows too: their value is set just before. */
#define PST_METRICS(X)                                                                             \
    X(REQUESTS, "requests_total", COUNTER,                                                         \
      PST_LABEL_POOL | PST_LABEL_CLASS | PST_LABEL_OUTCOME | PST_LABEL_REASON,                     \
      "Requests ended, by outcome and reason.")                                                    \
    X(REFUSED_EARLY, "rejected_requests_total", COUNTER, PST_LABEL_REASON,                         \
      "Requests refused before they became tickets: malformed, unauthorized, unknown path or "     \
      "model.")                                                                                    \
    X(QUEUE_DEPTH, "queue_depth", GAUGE, PST_LABEL_POOL | PST_LABEL_CLASS | PST_LABEL_LENGTH,      \
      "Requests waiting.")                                                                         \
    X(QUEUE_BYTES, "queue_bytes", GAUGE, PST_LABEL_POOL | PST_LABEL_CLASS,                         \
      "Bytes of request bodies waiting.")                                                          \
    X(QUEUE_TOKENS, "queue_tokens", GAUGE, PST_LABEL_POOL | PST_LABEL_CLASS,                       \
      "Estimated tokens waiting.")                                                                 \
    X(QUEUE_BACKLOG, "queue_backlog_seconds", GAUGE, PST_LABEL_POOL | PST_LABEL_CLASS,             \
      "Queued work of the class and all above it, divided by the drain rate.")                     \
    X(QUEUE_OLDEST, "queue_oldest_seconds", GAUGE, PST_LABEL_POOL | PST_LABEL_CLASS,               \
      "Age of the oldest waiting request.")                                                        \
    X(QUEUE_WAIT, "queue_wait_seconds", HISTOGRAM,                                                 \
      PST_LABEL_POOL | PST_LABEL_CLASS | PST_LABEL_LENGTH, "Time from arrival to dispatch.")       \
    X(INFLIGHT, "inflight_requests", GAUGE, PST_LABEL_POOL | PST_LABEL_CLASS,                      \
      "Sequences running on replicas.")                                                            \
    X(TTFT, "time_to_first_token_seconds", HISTOGRAM,                                              \
      PST_LABEL_POOL | PST_LABEL_CLASS | PST_LABEL_LENGTH,                                         \
      "Head read to first byte of the answer.")                                                    \
    X(INTER_TOKEN, "inter_token_seconds", HISTOGRAM, PST_LABEL_POOL | PST_LABEL_CLASS,             \
      "Time between events of a stream.")                                                          \
    X(DURATION, "request_duration_seconds", HISTOGRAM,                                             \
      PST_LABEL_POOL | PST_LABEL_CLASS | PST_LABEL_LENGTH,                                         \
      "Head read to end of the answer, of completed requests.")                                    \
    X(TOKENS, "tokens_total", COUNTER, PST_LABEL_POOL | PST_LABEL_CLASS | PST_LABEL_DIRECTION,     \
      "Tokens, from usage or counted events.")                                                     \
    X(RETRIES, "retries_total", COUNTER, PST_LABEL_POOL, "Attempts after the first.")              \
    X(GUARD, "guard_dispatches_total", COUNTER, PST_LABEL_POOL | PST_LABEL_CLASS,                  \
      "Dispatches that spent guard share.")                                                        \
    X(REPLICA_STATE, "replica_state", GAUGE, PST_LABEL_REPLICA | PST_LABEL_STATE,                  \
      "1 for the state the replica is in.")                                                        \
    X(REPLICA_INFLIGHT, "replica_inflight", GAUGE, PST_LABEL_REPLICA,                              \
      "Sequences running on the replica.")                                                         \
    X(UNLABELLED, "unlabelled_requests_total", COUNTER, 0,                                         \
      "Requests without a known priority, put into the default class.")                            \
    X(STALE, "stale_events_total", COUNTER, 0, "Replies that came after their attempt had ended.") \
    X(BYTES_HELD, "held_bytes", GAUGE, 0, "Bytes of request bodies held.")                         \
    X(CONNECTIONS, "connections", GAUGE, 0, "Client connections open.")                            \
    X(LOG_DROPPED, "log_lines_dropped_total", COUNTER, 0, "Log lines that found no room.")

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

/* How many values each label can have. */
struct pst_metric_sizes {
    uint32_t pools, classes, lengths, outcomes, reasons, replicas, states;
};

/* Indexes of labels; those that a row does not have are ignored. */
struct pst_labels {
    uint16_t pool, replica;
    uint8_t class_, length, outcome, reason, state, direction;
};

struct pst_metrics;
int pst_metrics_new(const struct pst_metric_sizes *sizes, struct pst_metrics **ret_metrics);
void pst_metrics_free(struct pst_metrics *metrics);
void pst_metric_add(struct pst_metrics *metrics, enum pst_metric metric, struct pst_labels labels,
                    uint64_t n);
void pst_metric_set(struct pst_metrics *metrics, enum pst_metric metric, struct pst_labels labels,
                    uint64_t value); /* gauges; seconds as ns */
void pst_metric_observe(struct pst_metrics *metrics, enum pst_metric metric,
                        struct pst_labels labels, pst_ns value);

#endif
