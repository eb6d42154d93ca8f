/* access.c - see access.h. */
#include "observe/access.h"

#include "core/scaler.h"
#include "observe/line.h"

/* Cuts: enough to recognise, too little to flood. */
enum { ID_MAX = 128, WORD_MAX = 64, NAME_MAX_BYTES = 256, PATH_MAX_BYTES = 512 };

struct pst_metric_sizes pst_access_sizes(void)
{
    return (struct pst_metric_sizes){
        .pools = PST_POOLS_MAX + 1,
        .classes = PST_CLASSES_MAX + 1,
        .lengths = PST_LENGTH_COUNT,
        .outcomes = PST_OUTCOME_COUNT,
        .reasons = PST_REASON_COUNT,
        .replicas = PST_REPLICAS_MAX,
        .states = PST_REPLICA_STATE_COUNT,
        .refusals = PST_ACCESS_REFUSALS_MAX,
        .terms = PST_TERM_COUNT,
    };
}

static void line_text(struct pst_line *line, const char *name, struct pst_slice value, size_t max)
{
    if (value.len > 0)
        pst_line_text(line, name, value, max);
}

static void line_labels(struct pst_line *line, const struct pst_access *record,
                        const struct pst_registry *registry)
{
    line_text(line, "tenant", record->tenant, ID_MAX);
    line_text(line, "class_claimed", record->class_claimed, WORD_MAX);
    if (record->class_ < registry->classes_count)
        line_text(line, "class", pst_slice_of(registry->classes[record->class_]), WORD_MAX);
    line_text(line, "type", record->type, WORD_MAX);
    line_text(line, "model", record->model, NAME_MAX_BYTES);
    if (record->pool < registry->pools_count)
        line_text(line, "pool", pst_slice_of(registry->pools[record->pool]), NAME_MAX_BYTES);
    line_text(line, "replica", record->replica, NAME_MAX_BYTES);
}

static void line_result(struct pst_line *line, const struct pst_access *record)
{
    pst_line_number(line, "status", record->status);
    pst_line_text(line, "outcome", pst_slice_of(pst_outcome_name(record->outcome)), WORD_MAX);
    if (record->refusal != NULL)
        pst_line_text(line, "reason", pst_slice_of(record->refusal), WORD_MAX);
    else
        pst_line_text(line, "reason", pst_slice_of(pst_reason_name(record->reason)), WORD_MAX);
}

static void line_figures(struct pst_line *line, const struct pst_access *record)
{
    pst_line_bool(line, "stream", record->stream);
    if (record->refusal == NULL)
        pst_line_text(line, "length", pst_slice_of(pst_length_name(record->length)), WORD_MAX);
    pst_line_number(line, "tries", record->tries);
    pst_line_number(line, "bytes_in", record->bytes_in);
    pst_line_number(line, "bytes_out", record->bytes_out);
    pst_line_number(line, "tokens_estimated", record->tokens_estimated);
    pst_line_number(line, "tokens_in", record->tokens_in);
    pst_line_number(line, "tokens_out", record->tokens_out);
    pst_line_ms(line, "wait_ms", record->wait);
    if (record->ttft > 0)
        pst_line_ms(line, "ttft_ms", record->ttft);
    if (record->upstream > 0)
        pst_line_ms(line, "upstream_ms", record->upstream);
    pst_line_ms(line, "duration_ms", record->ended - record->started);
}

struct pst_slice pst_access_line(const struct pst_access *record,
                                 const struct pst_registry *registry, uint64_t wall_ns,
                                 char buffer[PST_ACCESS_LINE_MAX])
{
    struct pst_line line;

    pst_line_begin(&line, buffer, PST_ACCESS_LINE_MAX);
    pst_line_time(&line, "time", wall_ns);
    line_text(&line, "request_id", record->request_id, ID_MAX);
    line_text(&line, "trace_id", record->trace_id, ID_MAX);
    line_text(&line, "peer", record->peer, WORD_MAX);
    line_text(&line, "method", record->method, WORD_MAX);
    line_text(&line, "path", record->path, PATH_MAX_BYTES);
    line_labels(&line, record, registry);
    line_result(&line, record);
    line_figures(&line, record);
    return pst_line_end(&line);
}

/* Names are ours and few; what comes beyond the table is counted as its last. */
static uint8_t refusal_index(struct pst_refusals *refusals, const char *name)
{
    uint8_t i = 0;

    while (i < PST_ACCESS_REFUSALS_MAX - 1 && refusals->names[i] != NULL &&
           strcmp(refusals->names[i], name) != 0)
        i++;
    if (refusals->names[i] == NULL)
        refusals->names[i] = i < PST_ACCESS_REFUSALS_MAX - 1 ? name : "other";
    return i;
}

static void count_tokens(const struct pst_access *record, struct pst_labels labels,
                         struct pst_metrics *metrics)
{
    labels.direction = 0;
    pst_metric_add(metrics, PST_METRIC_TOKENS, labels, record->tokens_in);
    labels.direction = 1;
    pst_metric_add(metrics, PST_METRIC_TOKENS, labels, record->tokens_out);
}

void pst_access_count(const struct pst_access *record, struct pst_refusals *refusals,
                      struct pst_metrics *metrics)
{
    struct pst_labels labels = {
        .pool = record->pool < PST_POOLS_MAX ? record->pool : PST_POOLS_MAX,
        .class_ = record->class_ < PST_CLASSES_MAX ? record->class_ : PST_CLASSES_MAX,
        .length = record->length,
        .outcome = record->outcome,
        .reason = record->reason,
    };

    if (record->pool == PST_ACCESS_NO_POOL && record->outcome == PST_OUTCOME_DONE)
        return; /* answered by us: a list of models is neither a ticket nor a refusal */
    if (record->refusal != NULL) {
        labels.refusal = refusal_index(refusals, record->refusal);
        pst_metric_add(metrics, PST_METRIC_REFUSED_EARLY, labels, 1);
        return;
    }
    pst_metric_add(metrics, PST_METRIC_REQUESTS, labels, 1);
    if (record->tries > 0)
        pst_metric_observe(metrics, PST_METRIC_QUEUE_WAIT, labels, record->wait);
    if (record->tries > 1)
        pst_metric_add(metrics, PST_METRIC_RETRIES, labels, record->tries - 1);
    if (record->ttft > 0)
        pst_metric_observe(metrics, PST_METRIC_TTFT, labels, record->ttft);
    if (record->outcome == PST_OUTCOME_DONE)
        pst_metric_observe(metrics, PST_METRIC_DURATION, labels, record->ended - record->started);
    count_tokens(record, labels, metrics);
}
