/*
 * intake.c - from a head on a socket to a queued ticket.
 *
 * The head decides what it can (path, key, class, sizes) and is OFFERed; the body is read only when the
 * gate said CONTINUE, and its peek decides the rest (model, pool, sequences) for ARRIVE.
 */
#include <stdio.h>
#include <stdlib.h>

#include "codec/hash.h"
#include "base/percent.h"
#include "gateway/classify.h"
#include "gateway/inside.h"
#include "gateway/writer.h"

#define TOLD_EVERY (256 * 1024) /* HELD for a chunked body */

/* Refused before it became a ticket, or while it had one: `why` is the record's word for it. */
static void refuse_early(struct pst_request *request, const char *why, struct pst_refusal refusal)
{
    request->record.refusal = why;
    request->record.outcome = PST_OUTCOME_REFUSED;
    pst_refuse(request, &refusal);
    if (request->ticketed)
        pst_request_cancel(request);
    else
        pst_request_finished(request);
}

static void refuse_invalid(struct pst_request *request, const char *why, uint16_t status,
                           const char *message, const char *param)
{
    refuse_early(request, why,
                 (struct pst_refusal){.status = status,
                                      .type = "invalid_request_error",
                                      .code = why,
                                      .message = message,
                                      .param = param,
                                      .retry = -1});
}

static void refuse_no_memory(struct pst_request *request)
{
    refuse_early(request, "no_memory",
                 (struct pst_refusal){.status = 503,
                                      .type = "server_error",
                                      .code = "no_memory",
                                      .message = "Out of memory.",
                                      .retry = 1});
}

/* A model named in a path, escapes and all. NULL: refused. */
static const struct pst_catalog_entry *find_in_path(struct pst_request *request,
                                                    struct pst_slice escaped)
{
    const struct pst_catalog_entry *entry = NULL;
    char name[PST_PEEK_TEXT_MAX + 1];

    if (pst_percent_decode(escaped, name, sizeof name))
        entry = pst_catalog_find(&request->gateway->catalog, pst_slice_of(name));
    if (entry == NULL)
        refuse_invalid(request, "model_not_found", 404, "No such model here.", "model");
    return entry;
}

/* The client's own id when it is fit to be logged and sent on, else one of ours. */
static void take_id(struct pst_request *request, const struct pst_head *head)
{
    const struct pst_header *given = pst_head_find(head, PST_SLICE("x-request-id"));
    bool fit = given != NULL && given->value.len > 0 && given->value.len < sizeof request->id;

    for (size_t i = 0; fit && i < given->value.len; i++)
        fit = given->value.at[i] > ' ' && given->value.at[i] < 0x7f;
    if (fit) {
        memcpy(request->id, given->value.at, given->value.len);
        request->id[given->value.len] = '\0';
        return;
    }
    pst_request_new_id(request->gateway, request->id, sizeof request->id);
}

/* traceparent: 00-<32 hex>-<16 hex>-<2 hex>; carried through unchanged, its trace id logged. */
static void take_trace(struct pst_request *request, const struct pst_head *head)
{
    const struct pst_header *given = pst_head_find(head, PST_SLICE("traceparent"));

    if (given != NULL && given->value.len >= 55 && given->value.at[2] == '-' &&
        given->value.at[35] == '-')
        pst_request_name(&request->trace, pst_slice(given->value.at + 3, 32));
}

static void take_record(struct pst_request *request, const struct pst_head *head)
{
    static const struct pst_slice methods[PST_METHOD_COUNT] = {
        [PST_METHOD_GET] = {"GET", 3},
        [PST_METHOD_HEAD] = {"HEAD", 4},
        [PST_METHOD_POST] = {"POST", 4},
        [PST_METHOD_OTHER] = {"other", 5},
    };
    const char *query = memchr(head->target.at, '?', head->target.len);

    request->record.started = pst_loop_now(request->gateway->loop);
    request->record.method = methods[head->method];
    pst_request_name(&request->path,
                     query == NULL ? head->target
                                   : pst_slice(head->target.at, (size_t)(query - head->target.at)));
    take_id(request, head);
    take_trace(request, head);
    pst_request_peer(pst_exchange_peer(request->exchange), request->peer);
}

static void answer_models(struct pst_request *request, struct pst_slice id)
{
    struct pst_gateway *gateway = request->gateway;
    const struct pst_catalog_entry *entry = NULL;
    struct pst_header headers[2];
    char *json;
    size_t len;

    if (id.len != 0) {
        entry = find_in_path(request, id);
        if (entry == NULL)
            return;
    }
    if (pst_catalog_render(&gateway->catalog, entry, gateway->created, &json, &len) != PST_OK) {
        refuse_no_memory(request);
        return;
    }
    headers[0] = (struct pst_header){PST_SLICE("Content-Type"), PST_SLICE("application/json")};
    headers[1] = (struct pst_header){PST_SLICE("X-Request-Id"), pst_slice_of(request->id)};
    pst_exchange_respond(request->exchange, 200, headers, 2, len);
    pst_exchange_write(request->exchange, json, len);
    free(json);
    pst_exchange_end(request->exchange);
    request->exchange = NULL;
    request->record.status = 200;
    request->record.bytes_out = len;
    request->record.outcome = PST_OUTCOME_DONE;
    pst_request_finished(request);
}

/* A content coding hides the body from the peek. */
static bool body_is_readable(struct pst_request *request, const struct pst_head *head)
{
    const struct pst_header *coding = pst_head_find(head, PST_SLICE("content-encoding"));
    char message[160];

    if (coding == NULL || coding->value.len == 0 ||
        pst_slice_equal_nocase(coding->value, PST_SLICE("identity")))
        return true;
    snprintf(message, sizeof message,
             "Content-Encoding %.*s is not read here; send the body without it.",
             coding->value.len > 64 ? 64 : (int)coding->value.len, coding->value.at);
    refuse_invalid(request, "unsupported_encoding", 415, message, NULL);
    return false;
}

static bool body_is_small_enough(struct pst_request *request, uint64_t bytes)
{
    char message[128];

    if (bytes <= request->gateway->config->body_max)
        return true;
    snprintf(message, sizeof message, "The body is larger than %llu bytes (limits.body).",
             (unsigned long long)request->gateway->config->body_max);
    refuse_invalid(request, "body_too_large", 413, message, NULL);
    return false;
}

/* The unit of fairness: model and tenant, and the user where the tenant is known by its key. */
static uint32_t flow_of(const struct pst_request *request, struct pst_slice user)
{
    uint32_t key = ((uint32_t)request->tenant << 16 | request->model_number) ^ request->flow_key;

    return pst_classify_key(key, request->authenticated ? user : pst_slice(NULL, 0));
}

static uint8_t retry_flag(const struct pst_request *request)
{
    return request->client_retry ? PST_ARRIVE_RETRY : 0;
}

static void offer(struct pst_request *request)
{
    struct pst_gateway *gateway = request->gateway;
    struct pst_gate_event event = {.kind = PST_EVENT_OFFER};

    if (!pst_drive_ticket(gateway->drive, &request->ticket)) {
        request->record.reason = PST_REASON_SLAB_FULL;
        request->record.outcome = PST_OUTCOME_REFUSED;
        pst_refuse_finished(request, PST_REASON_SLAB_FULL, 1000);
        pst_request_finished(request);
        return;
    }
    request->ticketed = true;
    gateway->by_ticket[request->ticket.index] = request;
    event.flags = retry_flag(request);
    event.u.offer.id = request->ticket;
    event.u.offer.body_bytes = request->content_length;
    event.u.offer.pool = gateway->config->pools_count == 1 ? 0 : request->pool;
    event.u.offer.class_ = request->class_;
    event.u.offer.type = request->type;
    event.u.offer.flow = flow_of(request, pst_slice(NULL, 0));
    event.u.offer.weight = request->tenant_weight;
    pst_gateway_event(gateway, &event);
}

static void take_model(struct pst_request *request, const struct pst_catalog_entry *entry)
{
    request->pool = entry->pool;
    request->model_number = entry->number;
    request->model_weight = entry->model->weight;
    pst_request_name(&request->model, pst_slice_of(entry->model->name));
}

/* Who asks, and for which class. False: refused. */
static bool take_claim(struct pst_request *request, const struct pst_head *head)
{
    const struct pst_config *config = request->gateway->config;
    bool anthropic = request->route != NULL && request->route->anthropic;
    const struct pst_config_tenant *tenant;
    struct pst_claim claim;

    if (!pst_classify(config, head, anthropic, pst_exchange_peer(request->exchange), &claim)) {
        refuse_early(request, "invalid_api_key",
                     (struct pst_refusal){.status = 401,
                                          .type = "authentication_error",
                                          .code = "invalid_api_key",
                                          .message = "The API key is missing or not known here.",
                                          .retry = -1});
        return false;
    }
    tenant = &config->tenants[claim.tenant];
    request->tenant = claim.tenant;
    request->tenant_weight = tenant->weight;
    request->authenticated = claim.authenticated;
    request->class_ = claim.class_;
    request->labelled = claim.labelled;
    request->type = claim.type;
    request->client_retry = claim.client_retry;
    request->ttl_ms = claim.ttl_ms;
    request->flow_key = claim.flow_key;
    request->record.class_ = claim.class_;
    pst_request_name(&request->claimed, claim.claimed);
    pst_request_name(&request->tenant_name, pst_slice_of(tenant->name));
    return true;
}

static void on_head(struct pst_exchange *x, const struct pst_head *head)
{
    struct pst_gateway *gateway = pst_exchange_server_user(x);
    struct pst_request *request = pst_request_new(gateway);
    struct pst_route_match match = {NULL, PST_POOL_NONE, {NULL, 0}};
    struct pst_slice id = {NULL, 0};
    bool is_models;

    if (request == NULL) {
        pst_exchange_abort(x);
        return;
    }
    request->exchange = x;
    pst_exchange_set_user(x, request);
    take_record(request, head);

    is_models = pst_route_is_models(head->target, &id);
    if (!is_models && !pst_route_find(gateway->config, head->target, &match)) {
        refuse_invalid(request, "not_found", 404, "This path is not served here.", NULL);
        return;
    }
    request->route = match.route;
    if (head->method != (is_models ? PST_METHOD_GET : PST_METHOD_POST)) {
        refuse_invalid(request, "method_not_allowed", 405,
                       is_models ? "Only GET is served here." : "Only POST is served here.", NULL);
        return;
    }
    if (!take_claim(request, head))
        return;
    if (is_models) {
        answer_models(request, id);
        return;
    }
    if (!request->labelled)
        pst_metric_add(gateway->metrics, PST_METRIC_UNLABELLED, (struct pst_labels){0}, 1);

    request->pool = match.pool;
    request->content_length = head->has_body ? head->content_length : 0;
    if (!body_is_readable(request, head) ||
        (request->content_length != PST_LENGTH_UNKNOWN &&
         !body_is_small_enough(request, request->content_length)))
        return;
    if (request->content_length == 0) {
        refuse_invalid(request, "invalid_body", 400, "The request has no body; send a JSON object.",
                       NULL);
        return;
    }
    if (match.model.len != 0) {
        const struct pst_catalog_entry *entry = find_in_path(request, match.model);

        if (entry == NULL)
            return;
        take_model(request, entry);
    }
    if (pst_forward_keep_head(request, head) != PST_OK) {
        pst_exchange_abort(x);
        request->exchange = NULL;
        request->record.refusal = "no_memory";
        pst_request_finished(request);
        return;
    }
    pst_peek_init(&request->peek, match.route->body);
    offer(request);
}

/* A body of unknown length: what is held of it by now. */
static void tell_held(struct pst_request *request)
{
    struct pst_gate_event event = {.kind = PST_EVENT_HELD};

    request->body_told = request->body.bytes;
    event.u.held.id = request->ticket;
    event.u.held.bytes = request->body.bytes;
    pst_gateway_event(request->gateway, &event);
}

/* Bytes of the body still to come; 0: not known. */
static uint64_t expected_bytes(const struct pst_request *request)
{
    if (request->content_length == PST_LENGTH_UNKNOWN)
        return 0;
    return request->content_length - request->body.bytes;
}

static char *on_body_room(struct pst_exchange *x, size_t *ret_size)
{
    struct pst_request *request = pst_exchange_user(x);

    return pst_chain_room(&request->body, expected_bytes(request), ret_size);
}

static void on_body(struct pst_exchange *x, const char *data, size_t len)
{
    struct pst_request *request = pst_exchange_user(x);

    if (!body_is_small_enough(request, request->body.bytes + len))
        return;
    if (pst_chain_append(&request->body, data, len, expected_bytes(request)) != PST_OK) {
        refuse_no_memory(request);
        return;
    }
    request->record.bytes_in = request->body.bytes;
    (void)pst_peek_feed(&request->peek, data, len); /* its verdict is asked for at the end */
    if (request->content_length == PST_LENGTH_UNKNOWN &&
        request->body.bytes - request->body_told >= TOLD_EVERY)
        tell_held(request);
}

static uint64_t hash_of(const struct pst_chain *body)
{
    struct pst_chain_cursor cursor = {0};
    struct iovec pieces[16];
    struct pst_hash hash;
    size_t n;

    pst_hash_init(&hash);
    while ((n = pst_chain_pieces(body, &cursor, pieces, PST_COUNT_OF(pieces))) != 0) {
        for (size_t i = 0; i < n; i++) {
            pst_hash_add(&hash, pieces[i].iov_base, pieces[i].iov_len);
            pst_chain_advance(body, &cursor, pieces[i].iov_len);
        }
    }
    return pst_hash_value(&hash) | 1; /* 0 means none */
}

/* An alias changes the value of `model` and nothing else. */
static int rename_model(struct pst_request *request, const struct pst_peek_result *seen,
                        const struct pst_config_model *model)
{
    char value[6 * PST_PEEK_TEXT_MAX + 2];
    struct pst_writer text = pst_writer(value, sizeof value);

    if (model->upstream == NULL || seen->model_bytes == 0)
        return PST_OK;
    PST_WRITER_PUT(&text, "\"");
    pst_writer_json(&text, pst_slice_of(model->upstream));
    PST_WRITER_PUT(&text, "\"");
    return pst_chain_replace(&request->body, seen->model_at, seen->model_bytes, value, text.len);
}

/* Model to pool. False: refused. */
static bool settle_pool(struct pst_request *request, const struct pst_peek_result *seen)
{
    struct pst_gateway *gateway = request->gateway;
    const struct pst_catalog_entry *entry;
    char message[PST_PEEK_TEXT_MAX + 64];

    if (seen->model_is_odd) {
        refuse_invalid(request, "invalid_model", 400, "The model's name is not a string.", "model");
        return false;
    }
    if (request->pool != PST_POOL_NONE) /* the path said it */
        return true;
    if (seen->model_bytes == 0) {
        request->pool = gateway->config->default_pool;
        if (request->pool == PST_POOL_NONE)
            refuse_invalid(request, "model_required", 400, "The body names no model.", "model");
        return request->pool != PST_POOL_NONE;
    }
    entry = pst_catalog_find(&gateway->catalog, pst_slice_of(seen->model));
    if (entry == NULL) {
        snprintf(message, sizeof message, "The model '%s' does not exist here.", seen->model);
        refuse_invalid(request, "model_not_found", 404, message, "model");
        return false;
    }
    take_model(request, entry);
    if (rename_model(request, seen, entry->model) == PST_OK)
        return true;
    refuse_no_memory(request);
    return false;
}

/*
 * Text bytes as the estimate wants them: some four a token, while a CJK character is about a token and
 * three bytes, and a token given as a number is one.
 */
static uint32_t prompt_bytes_of(const struct pst_peek_result *seen)
{
    uint64_t bytes = seen->text_bytes + seen->wide_chars + 4 * seen->tokens_given;

    return bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
}

static void arrive(struct pst_request *request, const struct pst_peek_result *seen)
{
    uint32_t weight = request->model_weight * request->tenant_weight / 100;
    struct pst_gate_event event = {.kind = PST_EVENT_ARRIVE};

    event.flags = (uint8_t)((request->stream ? PST_ARRIVE_STREAM : 0) | retry_flag(request));
    event.u.arrive.id = request->ticket;
    event.u.arrive.pool = request->pool;
    event.u.arrive.class_ = request->class_;
    event.u.arrive.type = request->type;
    event.u.arrive.flow = flow_of(request, pst_slice_of(seen->user));
    event.u.arrive.prompt_bytes = prompt_bytes_of(seen);
    event.u.arrive.max_tokens = seen->max_tokens;
    event.u.arrive.ttl_ms = request->ttl_ms;
    event.u.arrive.sequences =
        seen->sequences > UINT16_MAX ? UINT16_MAX : (uint16_t)seen->sequences;
    event.u.arrive.weight = weight == 0 ? 1 : weight > UINT16_MAX ? UINT16_MAX : (uint16_t)weight;
    event.u.arrive.body_hash = hash_of(&request->body);
    event.u.arrive.affinity = seen->prefix_hash;
    pst_gateway_event(request->gateway, &event);
}

static void refuse_body(struct pst_request *request)
{
    uint64_t offset;
    const char *why = pst_peek_error(&request->peek, &offset);
    char message[256];

    snprintf(message, sizeof message, "The body is not valid JSON: %s at byte %llu.", why,
             (unsigned long long)offset);
    refuse_invalid(request, "invalid_body", 400, message, NULL);
}

static void on_body_end(struct pst_exchange *x)
{
    struct pst_request *request = pst_exchange_user(x);
    struct pst_gateway *gateway = request->gateway;
    uint32_t index = request->ticket.index;
    struct pst_peek_result seen;

    if (pst_peek_finish(&request->peek, &seen) != PST_OK) {
        refuse_body(request);
        return;
    }
    if (request->content_length == PST_LENGTH_UNKNOWN) {
        tell_held(request);
        if (gateway->by_ticket[index] != request)
            return; /* a limit came due in that step */
    }
    if (!settle_pool(request, &seen))
        return;
    request->stream = seen.stream || request->route->streams_always;
    request->record.stream = request->stream;
    if (request->stream && request->route->answer != PST_ANSWER_PLAIN)
        pst_keepalive_start(request);
    arrive(request, &seen);
}

static void on_drained(struct pst_exchange *x)
{
    pst_relay_drained(pst_exchange_user(x));
}

static void on_gone(struct pst_exchange *x)
{
    struct pst_request *request = pst_exchange_user(x);

    request->exchange = NULL;
    request->record.status = 499;
    if (request->ticketed)
        pst_request_cancel(request);
}

static void on_broken(struct pst_exchange *x, uint16_t status, const char *why)
{
    refuse_invalid(pst_exchange_user(x), pst_refuse_code(status), status, why, NULL);
}

const struct pst_server_handler pst_intake_handler = {
    .head = on_head,
    .body = on_body,
    .body_room = on_body_room,
    .body_end = on_body_end,
    .drained = on_drained,
    .gone = on_gone,
    .broken = on_broken,
};
