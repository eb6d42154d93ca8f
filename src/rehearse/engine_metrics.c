/*
 * engine_metrics.c - GET /metrics in the names of the engine that is stood in for.
 *
 * Names and labels as vLLM 0.32 and llama.cpp's server export them; only what schedulers read.
 */
#include "rehearse/engine_job.h"

#include <stdio.h>

static const double bounds_s[PST_ENGINE_BUCKETS] = {.001, .005, .01, .02, .05, .1, .25, .5,
                                                    1,    2.5,  5,   10,  20,  40, 80,  160};

void pst_engine_histogram_add(struct pst_engine_histogram *histogram, pst_ns value)
{
    double seconds = (double)value / 1e9;
    int i = 0;

    while (i < PST_ENGINE_BUCKETS && seconds > bounds_s[i])
        i++;
    histogram->buckets[i]++;
    histogram->count++;
    histogram->sum += seconds;
}

/* One page being written, in one engine's style. */
struct page {
    struct pst_text text;
    const char *prefix; /* "vllm" */
    char labels[256];   /* without braces; may be empty */
    bool is_nan;        /* every value is */
};

static void add_type(struct page *page, const char *name, const char *type)
{
    pst_text_print(&page->text, "# HELP %s:%s Of the stand-in engine.\n# TYPE %s:%s %s\n",
                   page->prefix, name, page->prefix, name, type);
}

/* `more`: labels beside the page's own, or "". */
static void add_value(struct page *page, const char *name, const char *more, double value)
{
    bool any = page->labels[0] != '\0' || more[0] != '\0';
    bool both = page->labels[0] != '\0' && more[0] != '\0';

    pst_text_print(&page->text, "%s:%s%s%s%s%s%s ", page->prefix, name, any ? "{" : "",
                   page->labels, both ? "," : "", more, any ? "}" : "");
    if (page->is_nan)
        pst_text_put(&page->text, "NaN\n");
    else
        pst_text_print(&page->text, "%.10g\n", value);
}

static void add_gauge(struct page *page, const char *name, double value)
{
    add_type(page, name, "gauge");
    add_value(page, name, "", value);
}

static void add_counter(struct page *page, const char *name, double value)
{
    add_type(page, name, "counter");
    add_value(page, name, "", value);
}

static void add_histogram(struct page *page, const char *name,
                          const struct pst_engine_histogram *histogram)
{
    struct pst_text line = {0};
    uint64_t below = 0;

    add_type(page, name, "histogram");
    for (int i = 0; i <= PST_ENGINE_BUCKETS; i++) {
        below += histogram->buckets[i];
        pst_text_print(&page->text, "%s:%s_bucket{%s,le=\"", page->prefix, name, page->labels);
        if (i < PST_ENGINE_BUCKETS)
            pst_text_print(&page->text, "%g\"} %llu\n", bounds_s[i], (unsigned long long)below);
        else
            pst_text_print(&page->text, "+Inf\"} %llu\n", (unsigned long long)below);
    }
    pst_text_print(&line, "%s_count", name);
    add_value(page, line.broken ? "" : line.at, "", (double)histogram->count);
    pst_text_clear(&line);
    pst_text_print(&line, "%s_sum", name);
    add_value(page, line.broken ? "" : line.at, "", histogram->sum);
    pst_text_done(&line);
}

static void write_vllm(const struct pst_engine_server *server, const struct pst_engine_view *view,
                       struct page *page)
{
    bool asleep = pst_engine_fault_is_on(&server->faults, PST_FAULT_ASLEEP);

    add_gauge(page, "num_requests_running", view->running);
    add_gauge(page, "num_requests_waiting", view->waiting);
    add_type(page, "num_requests_waiting_by_reason", "gauge");
    add_value(page, "num_requests_waiting_by_reason", "reason=\"capacity\"", view->waiting);
    add_value(page, "num_requests_waiting_by_reason", "reason=\"deferred\"", 0);
    add_type(page, "engine_sleep_state", "gauge");
    add_value(page, "engine_sleep_state", "sleep_state=\"awake\"", !asleep);
    add_value(page, "engine_sleep_state", "sleep_state=\"weights_offloaded\"", asleep);
    add_gauge(page, "kv_cache_usage_perc",
              view->kv_blocks == 0 ? 0.0 : (double)view->kv_blocks_used / view->kv_blocks);
    add_counter(page, "num_preemptions_total", (double)view->preemptions);
    add_counter(page, "prompt_tokens_total", (double)view->prompt_tokens);
    add_counter(page, "generation_tokens_total", (double)view->output_tokens);
    add_type(page, "request_success_total", "counter");
    add_value(page, "request_success_total", "finished_reason=\"length\"",
              (double)server->stats.completed);
    /* It stays 0 in vLLM too: clients that leave are not counted. */
    add_value(page, "request_success_total", "finished_reason=\"abort\"", 0);
    add_histogram(page, "time_to_first_token_seconds", &server->first_token);
    add_histogram(page, "request_queue_time_seconds", &server->queue_time);
    add_histogram(page, "e2e_request_latency_seconds", &server->whole_time);
}

static void write_llamacpp(const struct pst_engine_view *view, struct page *page)
{
    add_gauge(page, "requests_processing", view->running);
    add_gauge(page, "requests_deferred", view->waiting);
    add_counter(page, "prompt_tokens_total", (double)view->prompt_tokens);
    add_counter(page, "tokens_predicted_total", (double)view->output_tokens);
}

void pst_engine_page_metrics(struct pst_engine_server *server, struct pst_exchange *x)
{
    struct pst_text model = {0};
    struct pst_engine_view view;
    struct page page = {
        .prefix = "llamacpp",
        .is_nan = pst_engine_fault_is_on(&server->faults, PST_FAULT_NAN_METRICS),
    };

    pst_engine_view(server->model, &view);
    if (server->config.like == PST_ENGINE_LIKE_VLLM) {
        page.prefix = "vllm";
        pst_text_quote(&model, server->config.models[0]);
        snprintf(page.labels, sizeof page.labels, "engine=\"0\",model_name=%.200s",
                 model.broken ? "\"\"" : model.at);
        write_vllm(server, &view, &page);
    } else {
        write_llamacpp(&view, &page);
    }
    pst_engine_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", &page.text);
    pst_text_done(&page.text);
    pst_text_done(&model);
}
