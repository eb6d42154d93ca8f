/* What five engines say on their pages; what is missing or no number is not said, and never zero. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/vitals.h"

/* "running waiting kv tokens", "-" for what is not said, and " asleep"; or "none", "broken". */
static void as_text(const char *page, size_t len, char *out, size_t size)
{
    struct pst_vitals v;
    char part[4][24];
    const uint64_t none[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT64_MAX};
    int rc = pst_vitals_read(page, len, &v);

    if (rc != PST_OK) {
        snprintf(out, size, "%s", rc == PST_E_UNKNOWN ? "none" : "broken");
        return;
    }
    const uint64_t values[] = {v.running, v.waiting, v.kv_ppm, v.tokens};
    for (size_t i = 0; i < PST_COUNT_OF(values); i++)
        snprintf(part[i], sizeof part[i], values[i] == none[i] ? "-" : "%" PRIu64, values[i]);
    snprintf(out, size, "%s %s %s %s%s", part[0], part[1], part[2], part[3],
             v.asleep ? " asleep" : "");
}

#define VLLM(name, value) "vllm:" name "{engine=\"0\",model_name=\"m\"} " value "\n"

static const struct row {
    const char *promise, *page, *expected;
} rows[] = {
    {"vLLM before 0.9",
     "# TYPE vllm:num_requests_running gauge\n" VLLM("num_requests_running", "3.0")
         VLLM("num_requests_waiting", "5.0") VLLM("gpu_cache_usage_perc", "0.73")
             VLLM("generation_tokens_total", "1.234567e+06"),
     "3 5 730000 1234567"},
    {"vLLM with both names of the cache: the newer",
     VLLM("gpu_cache_usage_perc", "0.1") VLLM("kv_cache_usage_perc", "0.9"), "- - 900000 -"},
    {"vLLM with two engines: added up, and the fullest cache",
     "vllm:num_requests_running{engine=\"0\"} 3.0\nvllm:num_requests_running{engine=\"1\"} 4.0\n"
     "vllm:kv_cache_usage_perc{engine=\"0\"} 0.25\nvllm:kv_cache_usage_perc{engine=\"1\"} 0.5\n"
     "vllm:kv_cache_usage_perc{engine=\"2\"} 0.125\n"
     "vllm:generation_tokens_total{engine=\"0\"} 10.0\n"
     "vllm:generation_tokens_total{engine=\"1\"} 20.0\n",
     "7 - 500000 30"},
    {"waiting by reason is no second waiting",
     VLLM("num_requests_waiting",
          "5.0") "vllm:num_requests_waiting_by_reason{engine=\"0\",reason=\"capacity\"} 5.0\n",
     "- 5 - -"},
    {"vLLM asleep",
     VLLM("num_requests_running",
          "0.0") "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"awake\"} 0.0\n"
                 "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"weights_offloaded\"} 1.0\n",
     "0 - - - asleep"},
    {"vLLM awake",
     VLLM("num_requests_running",
          "0.0") "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"awake\"} 1.0\n"
                 "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"weights_offloaded\"} 0.0\n",
     "0 - - -"},
    {"one of two engines asleep",
     "vllm:engine_sleep_state{engine=\"0\",sleep_state=\"awake\"} 1.0\n"
     "vllm:engine_sleep_state{engine=\"1\",sleep_state=\"awake\"} 0.0\n",
     "- - - - asleep"},
    {"SGLang",
     "# HELP sglang:num_running_reqs The number of running requests\n"
     "# TYPE sglang:num_running_reqs gauge\n"
     "sglang:num_running_reqs{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 162.0\n"
     "sglang:num_used_tokens{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 123859.0\n"
     "sglang:token_usage{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 0.28\n"
     "sglang:gen_throughput{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 86.50814177726902\n"
     "sglang:num_queue_reqs{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} 2826.0\n"
     "sglang:generation_tokens_total{model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} "
     "7.557572e+06\n",
     "162 2826 280000 7557572"},
    {"TGI: no cache, and tokens of requests that have ended",
     "# TYPE tgi_queue_size gauge\ntgi_queue_size 7\n\n"
     "# TYPE tgi_batch_current_size gauge\ntgi_batch_current_size 4\n\n"
     "# TYPE tgi_request_generated_tokens histogram\n"
     "tgi_request_generated_tokens_bucket{le=\"1\"} 0\n"
     "tgi_request_generated_tokens_bucket{le=\"+Inf\"} 44\n"
     "tgi_request_generated_tokens_sum 8123\ntgi_request_generated_tokens_count 44\n",
     "4 7 - 8123"},
    {"Triton, plain: what is pending, of all models",
     "# TYPE nv_inference_pending_request_count gauge\n"
     "nv_inference_pending_request_count{model=\"resnet50\",version=\"1\"} 3\n"
     "nv_inference_pending_request_count{model=\"bert\",version=\"2\"} 11\n"
     "nv_gpu_utilization{gpu_uuid=\"GPU-aaa\"} 0.78\n",
     "- 14 - -"},
    {"Triton with TensorRT-LLM: its batch manager knows better",
     "nv_inference_pending_request_count{model=\"tensorrt_llm\",version=\"1\"} 9\n"
     "nv_trt_llm_request_metrics{model=\"tensorrt_llm\",request_type=\"waiting\",version=\"1\"} 1\n"
     "nv_trt_llm_request_metrics{model=\"tensorrt_llm\",request_type=\"context\",version=\"1\"} 2\n"
     "nv_trt_llm_request_metrics{model=\"tensorrt_llm\",request_type=\"scheduled\",version=\"1\"} "
     "6\n"
     "nv_trt_llm_request_metrics{model=\"tensorrt_llm\",request_type=\"max\",version=\"1\"} 512\n"
     "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"fraction\",model=\"tensorrt_llm\","
     "version=\"1\"} 0.5\n"
     "nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type=\"used\",model=\"tensorrt_llm\","
     "version=\"1\"} 4000\n",
     "6 1 500000 -"},
    {"llama.cpp",
     "# HELP llamacpp:prompt_tokens_total Number of prompt tokens processed.\n"
     "# TYPE llamacpp:prompt_tokens_total counter\nllamacpp:prompt_tokens_total 77690\n"
     "llamacpp:tokens_predicted_total 28499\nllamacpp:predicted_tokens_seconds 93.634\n"
     "llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n",
     "2 1 - 28499"},
    {"llama.cpp that still counts its cache",
     "llamacpp:kv_cache_usage_ratio 0.000244141\nllamacpp:requests_processing 0\n", "0 - 244 -"},

    {"an empty page", "", "none"},
    {"a good page of somebody else", "process_cpu_seconds_total 12.5\nup 1\n", "none"},
    {"names that only begin like ours", "vllm:num_requests_running_total 5\n", "none"},
    {"NaN", VLLM("num_requests_running", "NaN") VLLM("num_requests_waiting", "2"), "- 2 - -"},
    {"infinite", VLLM("num_requests_running", "+Inf"), "- - - -"},
    {"below zero", VLLM("num_requests_running", "-1"), "- - - -"},
    {"minus zero is zero", VLLM("num_requests_running", "-0.0"), "0 - - -"},
    {"the largest that can be said", VLLM("num_requests_running", "4294967294"),
     "4294967294 - - -"},
    {"… and one more", VLLM("num_requests_running", "4294967295"), "- - - -"},
    {"a number that nothing holds", VLLM("generation_tokens_total", "1e300"), "- - - -"},
    {"a sum that nothing holds",
     "vllm:generation_tokens_total{engine=\"0\"} 18446744073709551614\n"
     "vllm:generation_tokens_total{engine=\"1\"} 18446744073709551614\n",
     "- - - -"},
    {"a full cache", VLLM("kv_cache_usage_perc", "1.0"), "- - 1000000 -"},
    {"fuller than full", VLLM("kv_cache_usage_perc", "1.1"), "- - - -"},
    {"one of several is NaN: no sum",
     "vllm:num_requests_running{engine=\"0\"} 3\nvllm:num_requests_running{engine=\"1\"} NaN\n",
     "- - - -"},
    {"a newer name that is NaN is not replaced by an older",
     VLLM("kv_cache_usage_perc", "NaN") VLLM("gpu_cache_usage_perc", "0.5"), "- - - -"},
    {"a cut page says nothing at all", VLLM("num_requests_running", "3") "vllm:num_requests_wait",
     "broken"},
    {"nor does one with a line that is none", VLLM("num_requests_running", "3") "oops\n", "broken"},
    {"a page of HTML", "<html><body>Not found</body></html>\n", "broken"},
};

static void pages_say_what_they_say(void **state)
{
    char out[128];

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        as_text(rows[i].page, strlen(rows[i].page), out, sizeof out);
        if (strcmp(out, rows[i].expected) != 0)
            fail_msg("%s: %s", rows[i].promise, out);
    }
}

static char *load(const char *name, size_t *ret_len)
{
    char path[512], *text = malloc(1 << 20);
    FILE *file;

    snprintf(path, sizeof path, "%s/metrics/%s", PST_TEST_DATA, name);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(text);
    *ret_len = fread(text, 1, 1 << 20, file);
    fclose(file);
    return text;
}

static void a_real_page_of_vllm(void **state)
{
    size_t len;
    char *page = load("vllm.prom", &len), out[128];

    (void)state;
    as_text(page, len, out, sizeof out);
    assert_string_equal(out, "8 12 31372 9");
    /* Cut anywhere inside a line, it says nothing. */
    for (size_t cut = 1; cut < len; cut++) {
        if (page[cut - 1] == '\n')
            continue;
        as_text(page, cut, out, sizeof out);
        assert_string_equal(out, "broken");
    }
    free(page);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_say_what_they_say),
        cmocka_unit_test(a_real_page_of_vllm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
