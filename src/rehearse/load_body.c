/*
 * load_body.c - request bytes, put together from parts that are made once.
 *
 * A prompt of n tokens is 4 n bytes of English; its first word is the request's number, so that no two
 * bodies are alike and caches of answers or prefixes have nothing to hold on to.
 */
#include "rehearse/load_request.h"

#include <stdlib.h>

#define BYTES_PER_TOKEN 4

static const char filler[] =
    " the gate holds back the river and lets it run when the wheel can take it, so the mill turns"
    " evenly in flood and drought alike; what does not fit is told so at once and may come again"
    " later, and whoever waits knows for how long and why, which is all that one can ask of a gate";

static void add_filler(struct pst_text *text, uint64_t number, uint64_t bytes)
{
    size_t from = text->len;

    pst_text_print(text, "%llu", (unsigned long long)number);
    while (text->len - from < bytes && !text->broken) {
        size_t left = bytes - (text->len - from);

        pst_text_add(text, filler, left < sizeof filler - 1 ? left : sizeof filler - 1);
    }
}

static void add_open(struct pst_text *text, const struct pst_load_traffic *traffic)
{
    pst_text_put(text, "{");
    if (traffic->model[0] != '\0')
        pst_text_print(text, "\"model\":\"%s\",", traffic->model);
    if (traffic->stream)
        pst_text_put(text, "\"stream\":true,");
    if (traffic->stream && traffic->usage && traffic->answer == PST_ANSWER_OPENAI)
        pst_text_put(text, "\"stream_options\":{\"include_usage\":true},");
}

static void add_max_tokens(struct pst_text *text, const char *key, uint32_t tokens)
{
    if (tokens > 0)
        pst_text_print(text, "\"%s\":%u,", key, tokens);
}

static void add_body(struct pst_text *text, const struct pst_load_traffic *traffic,
                     const struct pst_load_request *request)
{
    uint64_t bytes = (uint64_t)request->arrival.prompt_tokens * BYTES_PER_TOKEN;
    uint32_t output = request->arrival.output_tokens;
    const char *close = "\"}";

    add_open(text, traffic);
    switch (traffic->form) {
    case PST_LOAD_CHAT:
    case PST_LOAD_MESSAGES:
        add_max_tokens(text, "max_tokens", output);
        pst_text_put(text, "\"messages\":[{\"role\":\"user\",\"content\":\"");
        close = "\"}]}";
        break;
    case PST_LOAD_COMPLETION:
        add_max_tokens(text, "max_tokens", output);
        pst_text_put(text, "\"prompt\":\"");
        break;
    case PST_LOAD_RESPONSES:
        add_max_tokens(text, "max_output_tokens", output);
        pst_text_put(text, "\"input\":\"");
        break;
    case PST_LOAD_EMBEDDINGS:
        pst_text_put(text, "\"input\":\"");
        break;
    case PST_LOAD_FORM_COUNT:
        PST_ASSERT(false);
    }
    add_filler(text, request->number, bytes);
    pst_text_put(text, close);
}

static void add_header(struct pst_text *head, const char *name, const char *value)
{
    if (value[0] != '\0')
        pst_text_print(head, "%s: %s\r\n", name, value);
}

static void add_head(struct pst_text *head, const struct pst_load_run *run,
                     const struct pst_load_traffic *traffic, const struct pst_load_request *request,
                     size_t length)
{
    const char *key = traffic->tenant[0] != '\0' ? traffic->tenant : request->arrival.key;

    pst_text_print(head,
                   "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\nX-Request-Id: load-%llu-%llu\r\n",
                   traffic->path, pst_upstream_authority(run->upstream), length,
                   (unsigned long long)run->config.seed, (unsigned long long)request->number);
    add_header(head, "X-Priority", traffic->class_);
    add_header(head, "X-Request-Type", traffic->type);
    if (key[0] != '\0')
        pst_text_print(head, "Authorization: Bearer %s\r\n", key);
    if (request->tries > 0)
        pst_text_print(head, "x-stainless-retry-count: %u\r\n", request->tries);
    pst_text_put(head, "\r\n");
}

int pst_load_compose(struct pst_load_run *run, struct pst_load_request *request)
{
    const struct pst_load_traffic *traffic = &run->config.mix[request->arrival.traffic];

    pst_text_clear(&run->text);
    add_body(&run->text, traffic, request);
    pst_text_clear(&run->head);
    add_head(&run->head, run, traffic, request, run->text.len);
    if (run->text.broken || run->head.broken)
        return PST_E_NOMEM;
    pst_chain_done(&request->body);
    pst_chain_init(&request->body);
    return pst_chain_append(&request->body, run->text.at, run->text.len, run->text.len);
}
