/*
 * engine_pages.c - the small pages: health, models, slots, and what a test wants to know.
 */
#include "rehearse/engine_job.h"

#include <unistd.h>

#include <cjson/cJSON.h>

#define SEEN_IN_STATS 1000 /* ids; a longer list is asked for at /seen */

struct page {
    const char *path;
    enum pst_method method;
    int like;           /* -1: every engine */
    bool while_loading; /* answered whatever the engine's state is */
    void (*answer)(struct pst_engine_server *server, struct pst_exchange *x);
};

void pst_engine_reply(struct pst_exchange *x, uint16_t status, const char *type,
                      const struct pst_text *text)
{
    struct pst_header header = {PST_SLICE("content-type"), pst_slice_of(type)};

    if (text->broken) {
        pst_exchange_abort(x);
        return;
    }
    pst_exchange_respond(x, status, &header, 1, text->len);
    if (text->len > 0)
        pst_exchange_write(x, text->at, text->len);
    pst_exchange_end(x);
}

void pst_engine_reply_error(struct pst_engine_server *server, struct pst_exchange *x,
                            enum pst_engine_form form, enum pst_engine_error error,
                            const char *detail)
{
    struct pst_text text = {0};

    pst_engine_text_error(server->config.like, form, error, detail, &text);
    pst_engine_reply(x, pst_engine_error_status(error), "application/json", &text);
    pst_text_done(&text);
}

static void health(struct pst_engine_server *server, struct pst_exchange *x)
{
    bool vllm = server->config.like == PST_ENGINE_LIKE_VLLM;
    struct pst_text text = {0};

    if (server->dead || pst_engine_fault_is_on(&server->faults, PST_FAULT_UNHEALTHY)) {
        pst_engine_reply(x, 503, "application/json", &text);
        return;
    }
    if (!vllm)
        pst_text_put(&text, "{\"status\":\"ok\"}");
    pst_engine_reply(x, 200, "application/json", &text);
    pst_text_done(&text);
}

static void models(struct pst_engine_server *server, struct pst_exchange *x)
{
    const struct pst_engine_server_config *config = &server->config;
    struct pst_text text = {0};

    pst_text_put(&text, "{\"object\":\"list\",\"data\":[");
    for (size_t i = 0; i < config->models_count; i++) {
        pst_text_put(&text, i == 0 ? "{\"id\":" : ",{\"id\":");
        pst_text_quote(&text, config->models[i]);
        pst_text_print(&text, ",\"object\":\"model\",\"created\":1700000000,\"owned_by\":\"%s\"",
                       config->like == PST_ENGINE_LIKE_VLLM ? "vllm" : "llamacpp");
        if (config->context_tokens != 0)
            pst_text_print(&text, ",\"max_model_len\":%u", config->context_tokens);
        pst_text_put(&text, "}");
    }
    pst_text_put(&text, "]}");
    pst_engine_reply(x, 200, "application/json", &text);
    pst_text_done(&text);
}

static void slots(struct pst_engine_server *server, struct pst_exchange *x)
{
    struct pst_engine_view view;
    struct pst_text text = {0};

    pst_engine_view(server->model, &view);
    pst_text_put(&text, "[");
    for (uint32_t i = 0; i < server->config.model.slots; i++)
        pst_text_print(&text, "%s{\"id\":%u,\"n_ctx\":%u,\"is_processing\":%s}", i == 0 ? "" : ",",
                       i, server->config.context_tokens, i < view.running ? "true" : "false");
    pst_text_put(&text, "]");
    pst_engine_reply(x, 200, "application/json", &text);
    pst_text_done(&text);
}

static void props(struct pst_engine_server *server, struct pst_exchange *x)
{
    struct pst_text text = {0};

    pst_text_print(&text, "{\"total_slots\":%u,\"model_path\":", server->config.model.slots);
    pst_text_quote(&text, server->config.models[0]);
    pst_text_put(&text, "}");
    pst_engine_reply(x, 200, "application/json", &text);
    pst_text_done(&text);
}

/* Without --enable-server-load-tracking it says 0, whatever runs. */
static void server_load(struct pst_engine_server *server, struct pst_exchange *x)
{
    struct pst_text text = {0};

    (void)server;
    pst_text_put(&text, "{\"server_load\":0}");
    pst_engine_reply(x, 200, "application/json", &text);
    pst_text_done(&text);
}

static void add_faults(const struct pst_engine_server *server, struct pst_text *text)
{
    const char *comma = "";

    pst_text_put(text, "[");
    for (int i = 0; i < PST_FAULT_COUNT; i++) {
        if (!pst_engine_fault_is_on(&server->faults, (enum pst_engine_fault)i))
            continue;
        pst_text_print(text, "%s\"%s\"", comma, pst_engine_fault_name((enum pst_engine_fault)i));
        comma = ",";
    }
    pst_text_put(text, "]");
}

static void stats(struct pst_engine_server *server, struct pst_exchange *x)
{
    struct pst_engine_stats s;
    struct pst_engine_view view;
    struct pst_text text = {0};

    pst_engine_server_stats(server, &s);
    pst_engine_view(server->model, &view);
#define COUNT(name, value) pst_text_print(&text, ",\"" name "\":%llu", (unsigned long long)(value))
    pst_text_print(&text, "{\"pid\":%d", (int)getpid());
    COUNT("received", s.received);
    COUNT("completed", s.completed);
    COUNT("failed", s.failed);
    COUNT("refused", s.refused);
    COUNT("cancelled", s.cancelled);
    COUNT("open", s.open);
    COUNT("running", view.running);
    COUNT("waiting", view.waiting);
    COUNT("max_waiting_ever", s.waiting_max);
    COUNT("connections", pst_server_connections(server->http));
    COUNT("prompt_tokens", view.prompt_tokens);
    COUNT("output_tokens", view.output_tokens);
    COUNT("preemptions", view.preemptions);
    COUNT("ids_twice", s.ids_twice);
    COUNT("ids_lost", server->seen.lost);
#undef COUNT
    pst_text_print(&text, ",\"loaded\":%s,\"faults\":", server->loaded ? "true" : "false");
    add_faults(server, &text);
    pst_text_put(&text, ",\"seen\":");
    if (server->seen.count <= SEEN_IN_STATS)
        pst_seen_print(&server->seen, &text);
    else
        pst_text_put(&text, "null");
    pst_text_put(&text, "}");
    pst_engine_reply(x, 200, "application/json", &text);
    pst_text_done(&text);
}

static void seen(struct pst_engine_server *server, struct pst_exchange *x)
{
    struct pst_text text = {0};

    pst_seen_print(&server->seen, &text);
    pst_engine_reply(x, 200, "application/json", &text);
    pst_text_done(&text);
}

static void last(struct pst_engine_server *server, struct pst_exchange *x)
{
    struct pst_text text = {0};

    if (server->last.len > 0)
        pst_text_add(&text, server->last.at, server->last.len);
    else
        pst_text_put(&text, "{\"target\":null,\"headers\":[]");
    pst_text_print(&text, ",\"body_bytes\":%llu}", (unsigned long long)server->last_body_bytes);
    pst_engine_reply(x, 200, "application/json", &text);
    pst_text_done(&text);
}

static void set_asleep(struct pst_engine_server *server, struct pst_exchange *x, bool on)
{
    struct pst_text text = {0};

    server->faults.ppm[PST_FAULT_ASLEEP] = on ? PST_PPM : 0;
    pst_engine_reply(x, 200, "application/json", &text);
}

static void go_to_sleep(struct pst_engine_server *server, struct pst_exchange *x)
{
    set_asleep(server, x, true);
}

static void wake_up(struct pst_engine_server *server, struct pst_exchange *x)
{
    set_asleep(server, x, false);
}

static const struct page pages[] = {
    {"/health", PST_METHOD_GET, -1, false, health},
    {"/v1/models", PST_METHOD_GET, -1, false, models},
    {"/metrics", PST_METHOD_GET, -1, false, pst_engine_page_metrics},
    {"/load", PST_METHOD_GET, PST_ENGINE_LIKE_VLLM, false, server_load},
    {"/sleep", PST_METHOD_POST, PST_ENGINE_LIKE_VLLM, false, go_to_sleep},
    {"/wake_up", PST_METHOD_POST, PST_ENGINE_LIKE_VLLM, false, wake_up},
    {"/slots", PST_METHOD_GET, PST_ENGINE_LIKE_LLAMACPP, false, slots},
    {"/props", PST_METHOD_GET, PST_ENGINE_LIKE_LLAMACPP, false, props},
    {"/stats", PST_METHOD_GET, -1, true, stats},
    {"/seen", PST_METHOD_GET, -1, true, seen},
    {"/last", PST_METHOD_GET, -1, true, last},
};

/* {"clear": ["all"], "set": ["hang"]}: what is cleared is cleared first. */
void pst_engine_page_fault(struct pst_engine_server *server, struct pst_exchange *x,
                           const struct pst_text *body)
{
    cJSON *json = cJSON_ParseWithLength(body->at == NULL ? "" : body->at, body->len);
    const char *why = json == NULL ? "not JSON" : NULL;
    struct pst_text text = {0};
    cJSON *item;

    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "clear"))
    {
        if (!cJSON_IsString(item) ||
            pst_engine_fault_clear(&server->faults, item->valuestring) != PST_OK)
            why = "there is no fault of that name";
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "set"))
    {
        const char *reason = "a fault is a string";

        if (!cJSON_IsString(item) ||
            pst_engine_server_fault(server, item->valuestring, &reason) != PST_OK)
            why = reason;
    }
    cJSON_Delete(json);
    if (why != NULL) {
        pst_engine_reply_error(server, x, PST_ENGINE_CHAT, PST_ENGINE_ERROR_SYNTAX, why);
        return;
    }
    pst_text_put(&text, "{\"faults\":");
    add_faults(server, &text);
    pst_text_put(&text, "}");
    pst_engine_reply(x, 200, "application/json", &text);
    pst_text_done(&text);
    pst_engine_turn(server); /* it may have been frozen */
}

enum pst_engine_page pst_engine_page(struct pst_engine_server *server, struct pst_exchange *x,
                                     struct pst_slice path, enum pst_method method, bool loading)
{
    enum pst_engine_page found = PST_ENGINE_PAGE_NONE;

    for (size_t i = 0; i < PST_COUNT_OF(pages); i++) {
        const struct page *page = &pages[i];

        if (!pst_slice_equal(path, pst_slice_of(page->path)) ||
            (page->like >= 0 && page->like != (int)server->config.like))
            continue;
        found = PST_ENGINE_PAGE_METHOD;
        if (page->method != method)
            continue;
        if (loading && !page->while_loading)
            pst_engine_reply_error(server, x, PST_ENGINE_CHAT, PST_ENGINE_ERROR_LOADING, NULL);
        else
            page->answer(server, x);
        return PST_ENGINE_PAGE_ANSWERED;
    }
    return found;
}
