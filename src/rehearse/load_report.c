#include "rehearse/load_report.h"

#include <stdio.h>

#include <cjson/cJSON.h>

#define P50 500000
#define P99 990000
#define LATE_BAD                                                                                   \
    (5 * PST_MS) /* P99 of sends: beyond it the generator is part of what is measured */

static const char *const end_names[PST_CALL_END_COUNT] = {
    [PST_CALL_DONE] = "done",   [PST_CALL_REFUSED] = "no connection",
    [PST_CALL_RESET] = "reset", [PST_CALL_RESET_REUSED] = "reset of a reused connection",
    [PST_CALL_CUT] = "cut",     [PST_CALL_BAD_FRAMING] = "bad framing",
};

static double milliseconds(pst_ns value)
{
    return (double)value / 1e6;
}

static double per_second(uint64_t count, pst_ns measured)
{
    return measured == 0 ? 0.0 : (double)count / ((double)measured / 1e9);
}

/* Nine columns for two quantiles; a dash where nothing was measured. */
static void add_quantiles(struct pst_text *text, const struct pst_hist *hist)
{
    if (hist->count == 0) {
        pst_text_print(text, " %9s %9s", "-", "-");
        return;
    }
    pst_text_print(text, " %9.1f %9.1f", milliseconds(pst_hist_quantile(hist, P50)),
                   milliseconds(pst_hist_quantile(hist, P99)));
}

static void add_row(struct pst_text *text, const struct pst_load_class *c, pst_ns measured)
{
    pst_text_print(text, "%-10.24s %8llu %9llu %8llu %8llu %7llu %6llu", c->name,
                   (unsigned long long)c->sent, (unsigned long long)c->outcomes[PST_LOAD_COMPLETED],
                   (unsigned long long)c->outcomes[PST_LOAD_REFUSED],
                   (unsigned long long)c->outcomes[PST_LOAD_EXPIRED],
                   (unsigned long long)c->outcomes[PST_LOAD_FAILED],
                   (unsigned long long)c->outcomes[PST_LOAD_UNFINISHED]);
    add_quantiles(text, &c->wait_told);
    add_quantiles(text, &c->wait_seen);
    add_quantiles(text, &c->first);
    add_quantiles(text, &c->total);
    pst_text_print(text, " %9.0f\n", per_second(c->tokens_out, measured));
}

static void add_failures(struct pst_text *text, const struct pst_load_tally *tally)
{
    const char *lead = "failed:";

    for (unsigned i = 0; i < PST_LOAD_STATUS_MAX; i++) {
        if (tally->statuses[i] == 0)
            continue;
        pst_text_print(text, "%s %llu x status %u", lead, (unsigned long long)tally->statuses[i],
                       i);
        lead = ",";
    }
    for (int i = 0; i < PST_CALL_END_COUNT; i++) {
        if (tally->ends[i] == 0)
            continue;
        pst_text_print(text, "%s %llu x %s", lead, (unsigned long long)tally->ends[i],
                       end_names[i]);
        lead = ",";
    }
    if (tally->broken_streams > 0) {
        pst_text_print(text, "%s %llu x a stream that failed or did not end", lead,
                       (unsigned long long)tally->broken_streams);
        lead = ",";
    }
    if (*lead == ',')
        pst_text_put(text, "\n");
}

static uint64_t all_bare_refusals(const struct pst_load_tally *tally)
{
    uint64_t count = 0;

    for (size_t i = 0; i < tally->classes_count; i++)
        count += tally->classes[i].refused_bare;
    return count;
}

void pst_load_report_table(const struct pst_load_tally *tally, struct pst_text *text)
{
    uint64_t bare = all_bare_refusals(tally);
    pst_ns late = pst_hist_quantile(&tally->late, P99);

    pst_text_print(text, "%-10s %8s %9s %8s %8s %7s %6s %19s %19s %19s %19s %9s\n", "class", "sent",
                   "completed", "refused", "expired", "failed", "open", "wait told P50 P99",
                   "wait seen P50 P99", "first P50 P99", "total P50 P99", "tokens/s");
    for (size_t i = 0; i < tally->classes_count; i++)
        add_row(text, &tally->classes[i], tally->measured);
    pst_text_print(text, "times in ms from the intended moment of sending, over %.1f s",
                   (double)tally->measured / 1e9);
    if (tally->unmeasured > 0)
        pst_text_print(text, " (%llu requests of the warm-up cut)",
                       (unsigned long long)tally->unmeasured);
    pst_text_put(text, "\n");
    add_failures(text, tally);
    if (bare > 0)
        pst_text_print(text, "refused without Retry-After: %llu\n", (unsigned long long)bare);
    pst_text_print(text, "sends were late by P50 %.2f, P99 %.2f ms%s\n",
                   milliseconds(pst_hist_quantile(&tally->late, P50)), milliseconds(late),
                   late > LATE_BAD ? ": the generator itself could not keep up" : "");
}

static void add_hist(cJSON *object, const char *name, const struct pst_hist *hist)
{
    cJSON *json = cJSON_AddObjectToObject(object, name);

    cJSON_AddNumberToObject(json, "count", (double)hist->count);
    if (hist->count == 0)
        return;
    cJSON_AddNumberToObject(json, "mean", milliseconds(pst_hist_mean(hist)));
    cJSON_AddNumberToObject(json, "p50", milliseconds(pst_hist_quantile(hist, P50)));
    cJSON_AddNumberToObject(json, "p90", milliseconds(pst_hist_quantile(hist, 900000)));
    cJSON_AddNumberToObject(json, "p95", milliseconds(pst_hist_quantile(hist, 950000)));
    cJSON_AddNumberToObject(json, "p99", milliseconds(pst_hist_quantile(hist, P99)));
    cJSON_AddNumberToObject(json, "max", milliseconds(hist->max));
}

static void add_class(cJSON *classes, const struct pst_load_class *c, pst_ns measured)
{
    cJSON *json = cJSON_CreateObject();

    cJSON_AddItemToArray(classes, json);
    cJSON_AddStringToObject(json, "class", c->name);
    cJSON_AddNumberToObject(json, "sent", (double)c->sent);
    for (int i = 0; i < PST_LOAD_OUTCOME_COUNT; i++)
        cJSON_AddNumberToObject(json, pst_load_outcome_name((enum pst_load_outcome)i),
                                (double)c->outcomes[i]);
    cJSON_AddNumberToObject(json, "refused_without_retry_after", (double)c->refused_bare);
    cJSON_AddNumberToObject(json, "retries", (double)c->retries);
    cJSON_AddNumberToObject(json, "completed_per_s",
                            per_second(c->outcomes[PST_LOAD_COMPLETED], measured));
    cJSON_AddNumberToObject(json, "tokens_in", (double)c->tokens_in);
    cJSON_AddNumberToObject(json, "tokens_out", (double)c->tokens_out);
    cJSON_AddNumberToObject(json, "tokens_out_per_s", per_second(c->tokens_out, measured));
    add_hist(json, "wait_told_ms", &c->wait_told);
    add_hist(json, "wait_seen_ms", &c->wait_seen);
    add_hist(json, "wait_apart_ms", &c->wait_apart);
    add_hist(json, "first_ms", &c->first);
    add_hist(json, "between_ms", &c->between);
    add_hist(json, "total_ms", &c->total);
}

static void add_failures_json(cJSON *root, const struct pst_load_tally *tally)
{
    cJSON *json = cJSON_AddObjectToObject(root, "failures");
    char name[8];

    for (unsigned i = 0; i < PST_LOAD_STATUS_MAX; i++) {
        if (tally->statuses[i] == 0)
            continue;
        snprintf(name, sizeof name, "%u", i);
        cJSON_AddNumberToObject(json, name, (double)tally->statuses[i]);
    }
    for (int i = 0; i < PST_CALL_END_COUNT; i++)
        if (tally->ends[i] > 0)
            cJSON_AddNumberToObject(json, end_names[i], (double)tally->ends[i]);
    if (tally->broken_streams > 0)
        cJSON_AddNumberToObject(json, "broken stream", (double)tally->broken_streams);
}

int pst_load_report_json(const struct pst_load_tally *tally, struct pst_text *text)
{
    cJSON *root = cJSON_CreateObject();
    cJSON *classes = cJSON_AddArrayToObject(root, "classes");
    char *printed;

    for (size_t i = 0; i < tally->classes_count; i++)
        add_class(classes, &tally->classes[i], tally->measured);
    cJSON_AddNumberToObject(root, "measured_s", (double)tally->measured / 1e9);
    cJSON_AddNumberToObject(root, "warmup_requests", (double)tally->unmeasured);
    cJSON_AddNumberToObject(root, "in_flight_max", (double)tally->in_flight_max);
    cJSON_AddNumberToObject(root, "reconnects", (double)tally->reconnects);
    add_hist(root, "late_ms", &tally->late);
    add_failures_json(root, tally);
    printed = cJSON_Print(root);
    if (printed != NULL) {
        pst_text_put(text, printed);
        pst_text_put(text, "\n");
    }
    cJSON_free(printed);
    cJSON_Delete(root);
    return printed == NULL || text->broken ? PST_E_NOMEM : PST_OK;
}

void pst_load_report_progress(const struct pst_load_progress *p, const struct pst_load_tally *tally,
                              struct pst_text *text)
{
    pst_text_print(text, "%3.0f s  sent %llu", (double)p->elapsed / 1e9,
                   (unsigned long long)p->sent);
    for (int i = 0; i < PST_LOAD_OUTCOME_COUNT; i++)
        if (p->outcomes[i] > 0)
            pst_text_print(text, "  %s %llu", pst_load_outcome_name((enum pst_load_outcome)i),
                           (unsigned long long)p->outcomes[i]);
    pst_text_print(text, "  in flight %llu", (unsigned long long)p->in_flight);
    if (p->waiting > 0)
        pst_text_print(text, "  waiting for a connection %llu", (unsigned long long)p->waiting);
    pst_text_print(text, "  late P99 %.2f ms", milliseconds(pst_hist_quantile(&tally->late, P99)));
}
