/* vitals.c - see vitals.h. */
#include "codec/vitals.h"

#include <string.h>

#include "codec/prometheus_read.h"

enum vital { RUNNING, WAITING, KV, TOKENS, AWAKE, VITAL_COUNT };

/* In order: the first of a vital that is on the page is believed. */
static const struct row {
    enum vital vital;
    const char *name;
    const char *label, *is; /* only series with it; NULL: all */
} rows[] = {
    {RUNNING, "vllm:num_requests_running", NULL, NULL},
    {RUNNING, "sglang:num_running_reqs", NULL, NULL},
    {RUNNING, "tgi_batch_current_size", NULL, NULL},
    {RUNNING, "nv_trt_llm_request_metrics", "request_type", "scheduled"},
    {RUNNING, "llamacpp:requests_processing", NULL, NULL},
    {WAITING, "vllm:num_requests_waiting", NULL, NULL},
    {WAITING, "sglang:num_queue_reqs", NULL, NULL},
    {WAITING, "tgi_queue_size", NULL, NULL},
    {WAITING, "nv_trt_llm_request_metrics", "request_type", "waiting"},
    {WAITING, "nv_inference_pending_request_count", NULL, NULL},
    {WAITING, "llamacpp:requests_deferred", NULL, NULL},
    {KV, "vllm:kv_cache_usage_perc", NULL, NULL},
    {KV, "vllm:gpu_cache_usage_perc", NULL, NULL}, /* before vLLM 0.9 */
    {KV, "sglang:token_usage", NULL, NULL},
    {KV, "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "fraction"},
    {KV, "llamacpp:kv_cache_usage_ratio", NULL, NULL},
    {TOKENS, "vllm:generation_tokens_total", NULL, NULL},
    {TOKENS, "sglang:generation_tokens_total", NULL, NULL},
    {TOKENS, "tgi_request_generated_tokens_sum", NULL, NULL}, /* of requests that have ended */
    {TOKENS, "llamacpp:tokens_predicted_total", NULL, NULL},
    {AWAKE, "vllm:engine_sleep_state", "sleep_state", "awake"},
};

/* What the series of one row say together. */
struct tally {
    bool seen;
    bool broken; /* one of them is no number that could be */
    uint64_t value;
};

static void add(struct tally *tally, enum vital vital, const struct pst_prometheus_sample *sample)
{
    uint64_t value;
    bool is_sum = vital == RUNNING || vital == WAITING || vital == TOKENS;

    if (!sample->is_finite || !pst_decimal_to_scaled(&sample->value, vital == KV ? 6 : 0, &value) ||
        (is_sum && __builtin_add_overflow(value, tally->value, &value)))
        tally->broken = true;
    else if (is_sum || !tally->seen || (vital == KV ? value > tally->value : value < tally->value))
        tally->value = value; /* the fullest; the one that sleeps */
    tally->seen = true;
}

static bool belongs(const struct pst_prometheus_sample *sample, const struct row *row)
{
    char value[32];

    return pst_prometheus_is(sample, row->name) &&
           (row->label == NULL ||
            (pst_prometheus_label_of(sample, row->label, value, sizeof value) &&
             strcmp(value, row->is) == 0));
}

/* UINT64_MAX: not said, or not below `most`. */
static uint64_t said(const struct tally tallies[], enum vital vital, uint64_t most)
{
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct tally *tally = &tallies[i];

        if (rows[i].vital == vital && tally->seen)
            return tally->broken || tally->value > most ? UINT64_MAX : tally->value;
    }
    return UINT64_MAX;
}

int pst_vitals_read(const char *page, size_t len, struct pst_vitals *ret_vitals)
{
    struct pst_prometheus_reader reader = {page, page + len};
    struct tally tallies[PST_COUNT_OF(rows)] = {0};
    struct pst_prometheus_sample sample;
    bool any = false;
    int rc;

    while ((rc = pst_prometheus_next(&reader, &sample)) == PST_OK) {
        for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
            if (belongs(&sample, &rows[i]))
                add(&tallies[i], rows[i].vital, &sample);
    }
    if (rc != PST_E_UNKNOWN)
        return rc;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++)
        any = any || tallies[i].seen;
    if (!any)
        return PST_E_UNKNOWN;
    ret_vitals->running = (uint32_t)said(tallies, RUNNING, UINT32_MAX - 1);
    ret_vitals->waiting = (uint32_t)said(tallies, WAITING, UINT32_MAX - 1);
    ret_vitals->kv_ppm = (uint32_t)said(tallies, KV, PST_PPM);
    ret_vitals->tokens = said(tallies, TOKENS, UINT64_MAX - 1);
    ret_vitals->asleep = said(tallies, AWAKE, 0) == 0;
    return PST_OK;
}
