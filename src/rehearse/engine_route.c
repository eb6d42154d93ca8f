/*
 * engine_route.c - which path is what: small pages, inference, or nothing.
 */
#include "rehearse/engine_job.h"

#include <stdio.h>

static const struct {
    const char *path;
    enum pst_engine_form form;
    enum pst_peek_form peek;
} inference[] = {
    {"/v1/chat/completions", PST_ENGINE_CHAT, PST_PEEK_CHAT},
    {"/v1/completions", PST_ENGINE_COMPLETION, PST_PEEK_COMPLETION},
    {"/v1/embeddings", PST_ENGINE_EMBEDDINGS, PST_PEEK_EMBEDDINGS},
    {"/v1/responses", PST_ENGINE_RESPONSES, PST_PEEK_RESPONSES},
    {"/v1/messages", PST_ENGINE_MESSAGES, PST_PEEK_MESSAGES},
};

static bool is_loading(const struct pst_engine_server *server)
{
    if (pst_engine_fault_is_on(&server->faults, PST_FAULT_LOADING))
        return true;
    return !server->loaded && !pst_engine_fault_is_on(&server->faults, PST_FAULT_READY_EARLY);
}

/* The head as it came, for tests of what a gateway passes on. */
static void remember(struct pst_engine_server *server, const struct pst_head *head)
{
    struct pst_text *text = &server->last;
    char buffer[1024];

    pst_text_clear(text);
    snprintf(buffer, sizeof buffer, "%.*s", (int)head->target.len, head->target.at);
    pst_text_put(text, "{\"target\":");
    pst_text_quote(text, buffer);
    pst_text_put(text, ",\"headers\":[");
    for (size_t i = 0; i < head->count; i++) {
        pst_text_put(text, i == 0 ? "[" : ",[");
        snprintf(buffer, sizeof buffer, "%.*s", (int)head->headers[i].name.len,
                 head->headers[i].name.at);
        pst_text_quote(text, buffer);
        pst_text_put(text, ",");
        snprintf(buffer, sizeof buffer, "%.*s", (int)head->headers[i].value.len,
                 head->headers[i].value.at);
        pst_text_quote(text, buffer);
        pst_text_put(text, "]");
    }
    pst_text_put(text, "]");
}

/* X-Request-Id becomes the answer's id, where it can stand in JSON as it is. */
static void take_id(struct pst_engine_job *job, const struct pst_head *head)
{
    const struct pst_header *header = pst_head_find(head, PST_SLICE("x-request-id"));
    struct pst_engine_server *server = job->server;
    bool plain = header != NULL && header->value.len > 0 && header->value.len <= PST_ENGINE_ID_MAX;

    for (size_t i = 0; plain && i < header->value.len; i++) {
        unsigned char c = (unsigned char)header->value.at[i];

        plain = c > 0x20 && c < 0x7f && c != '"' && c != '\\';
    }
    if (!plain) {
        snprintf(job->answer.id, sizeof job->answer.id, "%016llx",
                 (unsigned long long)++server->ids);
        return;
    }
    memcpy(job->answer.id, header->value.at, header->value.len);
    if (pst_seen_count(&server->seen, header->value) == 1)
        server->stats.ids_twice++;
    pst_seen_add(&server->seen, header->value);
}

static void begin_job(struct pst_engine_server *server, struct pst_exchange *x,
                      const struct pst_head *head, int which)
{
    struct pst_engine_job *job;

    if (which >= 0) {
        server->stats.received++;
        remember(server, head);
    }
    job = pst_engine_job_new(server, x);
    if (job == NULL) {
        server->stats.refused += which >= 0;
        pst_engine_reply_error(server, x, PST_ENGINE_CHAT, PST_ENGINE_ERROR_BUSY, NULL);
        return;
    }
    job->kind = PST_JOB_FAULT;
    if (which >= 0) {
        job->kind = PST_JOB_INFERENCE;
        job->answer.form = inference[which].form;
        pst_peek_init(&job->peek, inference[which].peek);
        take_id(job, head);
    }
    pst_exchange_read(x, true);
}

static struct pst_slice path_of(const struct pst_head *head)
{
    const char *query = memchr(head->target.at, '?', head->target.len);

    return query == NULL ? head->target
                         : pst_slice(head->target.at, (size_t)(query - head->target.at));
}

static void reply_error(struct pst_engine_server *server, struct pst_exchange *x,
                        enum pst_engine_error error)
{
    pst_engine_reply_error(server, x, PST_ENGINE_CHAT, error, NULL);
}

static void route_inference(struct pst_engine_server *server, struct pst_exchange *x,
                            const struct pst_head *head, int which)
{
    if (head->method != PST_METHOD_POST) {
        reply_error(server, x, PST_ENGINE_ERROR_METHOD);
    } else if (is_loading(server)) {
        server->stats.received++;
        server->stats.refused++;
        pst_engine_reply_error(server, x, inference[which].form, PST_ENGINE_ERROR_LOADING, NULL);
    } else {
        begin_job(server, x, head, which);
    }
}

void pst_engine_route(struct pst_engine_server *server, struct pst_exchange *x,
                      const struct pst_head *head)
{
    struct pst_slice path = path_of(head);

    for (size_t i = 0; i < PST_COUNT_OF(inference); i++) {
        if (pst_slice_equal(path, pst_slice_of(inference[i].path))) {
            route_inference(server, x, head, (int)i);
            return;
        }
    }
    if (pst_slice_equal(path, PST_SLICE("/fault")) && head->method == PST_METHOD_POST) {
        begin_job(server, x, head, -1);
        return;
    }
    switch (pst_engine_page(server, x, path, head->method, is_loading(server))) {
    case PST_ENGINE_PAGE_ANSWERED:
        return;
    case PST_ENGINE_PAGE_METHOD:
        reply_error(server, x, PST_ENGINE_ERROR_METHOD);
        return;
    case PST_ENGINE_PAGE_NONE:
        reply_error(server, x,
                    is_loading(server) ? PST_ENGINE_ERROR_LOADING : PST_ENGINE_ERROR_PATH);
        return;
    }
    PST_ASSERT(false);
}
