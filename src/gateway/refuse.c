/*
 * refuse.c - answers of our own, in the shape that the path's clients read.
 *
 * Sources: OpenAI's error object {"error":{message,type,param,code}}; Anthropic's {"type":"error",…};
 * the headers that the OpenAI SDKs obey (retry-after-ms, retry-after, x-should-retry).
 */
#include <stdio.h>

#include "gateway/inside.h"
#include "gateway/writer.h"

#define TYPE_INVALID "invalid_request_error"
#define TYPE_LIMIT   "rate_limit_error"
#define TYPE_SERVER  "server_error"
#define BODY_MAX     2048

/* What each reason means to a client. Status 0: the configured overload status. */
static const struct pst_refusal by_reason[PST_REASON_COUNT] = {
    [PST_REASON_NONE] = {502, TYPE_SERVER, "failed", "The request failed.", NULL, NULL, -1, 0},
    [PST_REASON_QUEUE_FULL] = {0, TYPE_LIMIT, "queue_full",
                               "Too much work of this priority is waiting; retry later.", NULL,
                               "rejected-saturated", 1, 0},
    [PST_REASON_KV_FULL] = {0, TYPE_LIMIT, "queue_full",
                            "Too many tokens are waiting; retry later.", NULL, "rejected-saturated",
                            1, 0},
    [PST_REASON_BYTES_FULL] = {0, TYPE_LIMIT, "memory_full",
                               "Too many request bytes are held; retry later.", NULL,
                               "rejected-saturated", 1, 0},
    [PST_REASON_SLAB_FULL] = {0, TYPE_LIMIT, "too_many_requests",
                              "Too many requests are open; retry later.", NULL,
                              "rejected-saturated", 1, 0},
    [PST_REASON_TTL] = {0, TYPE_LIMIT, "ttl_expired",
                        "The request waited as long as it may; retry later.", NULL,
                        "rejected-ttl-expired", 1, 0},
    [PST_REASON_NO_REPLICA] = {503, TYPE_SERVER, "no_replica",
                               "No replica became ready in time; retry later.", NULL,
                               "rejected-no-endpoints", 1, 0},
    [PST_REASON_DRAINING] = {503, TYPE_SERVER, "shutting_down",
                             "This gateway is shutting down; retry elsewhere.", NULL,
                             "rejected-draining", 1, 0},
    [PST_REASON_CLIENT] = {499, TYPE_INVALID, "client_closed", "The client left.", NULL, NULL, -1,
                           0},
    [PST_REASON_PASSED_ON] = {502, TYPE_SERVER, "upstream_error",
                              "The replica answered with an error.", NULL, NULL, 0, 0},
    [PST_REASON_UPSTREAM_RESET] = {502, TYPE_SERVER, "upstream_reset",
                                   "The replica's connection ended before it answered.", NULL, NULL,
                                   -1, 0},
    [PST_REASON_UPSTREAM_STALL] = {504, TYPE_SERVER, "upstream_stall",
                                   "The replica stopped answering.", NULL, NULL, 0, 0},
    [PST_REASON_FIRST_BYTE] = {504, TYPE_SERVER, "first_byte_timeout",
                               "The replica did not begin an answer in time.", NULL, NULL, 0, 0},
    [PST_REASON_REPLICA_DIED] = {502, TYPE_SERVER, "replica_died",
                                 "Replicas died while running this request; it is not tried again.",
                                 NULL, NULL, 0, 0},
    [PST_REASON_BROKEN] = {502, TYPE_SERVER, "upstream_broken",
                           "The replica failed inside its answer.", NULL, NULL, -1, 0},
};

struct pst_refusal pst_refuse_words(const struct pst_gateway *gateway, enum pst_reason reason,
                                    uint32_t retry_after_ms)
{
    struct pst_refusal words = by_reason[reason];

    if (words.status == 0)
        words.status = gateway->config->overload_status;
    words.retry_after_ms = retry_after_ms;
    return words;
}

static void put_error(struct pst_writer *text, bool anthropic, const struct pst_refusal *refusal)
{
    if (anthropic) {
        PST_WRITER_PUT(text, "{\"type\":\"error\",\"error\":{\"type\":\"");
        pst_writer_put(text, refusal->status == 429   ? PST_SLICE("rate_limit_error")
                             : refusal->status == 401 ? PST_SLICE("authentication_error")
                             : refusal->status == 404 ? PST_SLICE("not_found_error")
                             : refusal->status == 413 ? PST_SLICE("request_too_large")
                             : refusal->status == 529 ? PST_SLICE("overloaded_error")
                             : refusal->status >= 500 ? PST_SLICE("api_error")
                                                      : PST_SLICE("invalid_request_error"));
        PST_WRITER_PUT(text, "\",\"message\":\"");
        pst_writer_json(text, pst_slice_of(refusal->message));
        PST_WRITER_PUT(text, "\"}}");
        return;
    }
    PST_WRITER_PUT(text, "{\"error\":{\"message\":\"");
    pst_writer_json(text, pst_slice_of(refusal->message));
    PST_WRITER_PUT(text, "\",\"type\":\"");
    pst_writer_put(text, pst_slice_of(refusal->type));
    PST_WRITER_PUT(text, "\",\"param\":");
    if (refusal->param == NULL) {
        PST_WRITER_PUT(text, "null");
    } else {
        PST_WRITER_PUT(text, "\"");
        pst_writer_json(text, pst_slice_of(refusal->param));
        PST_WRITER_PUT(text, "\"");
    }
    PST_WRITER_PUT(text, ",\"code\":\"");
    pst_writer_put(text, pst_slice_of(refusal->code));
    PST_WRITER_PUT(text, "\"}}");
}

const char *pst_refuse_code(uint16_t status)
{
    switch (status) {
    case 408:
        return "request_timeout";
    case 413:
        return "body_too_large";
    case 431:
        return "headers_too_large";
    default:
        return "bad_request";
    }
}

size_t pst_refuse_body(uint16_t status, const char *why, char *buffer, size_t size)
{
    struct pst_refusal refusal = {
        .status = status, .type = TYPE_INVALID, .code = pst_refuse_code(status), .message = why};
    struct pst_writer text = pst_writer(buffer, size);

    put_error(&text, false, &refusal);
    return text.full ? 0 : text.len;
}

size_t pst_refuse_event(const struct pst_route *route, const struct pst_refusal *refusal,
                        char *buffer, size_t size)
{
    struct pst_writer text = pst_writer(buffer, size);

    if (route->anthropic || route->answer == PST_ANSWER_RESPONSES)
        PST_WRITER_PUT(&text, "event: error\n");
    PST_WRITER_PUT(&text, "data: ");
    if (route->answer == PST_ANSWER_RESPONSES) {
        PST_WRITER_PUT(&text, "{\"type\":\"error\",\"code\":\"");
        pst_writer_put(&text, pst_slice_of(refusal->code));
        PST_WRITER_PUT(&text, "\",\"message\":\"");
        pst_writer_json(&text, pst_slice_of(refusal->message));
        PST_WRITER_PUT(&text, "\",\"param\":null}");
    } else {
        put_error(&text, route->anthropic, refusal);
    }
    PST_WRITER_PUT(&text, "\n\n");
    return text.full ? 0 : text.len;
}

static bool is_anthropic(const struct pst_request *request)
{
    return request->route != NULL && request->route->anthropic;
}

void pst_refuse(struct pst_request *request, const struct pst_refusal *refusal)
{
    char body[BODY_MAX], seconds[16], milliseconds[16], queue[PST_REQUEST_TIMING_MAX];
    struct pst_writer text = pst_writer(body, sizeof body);
    struct pst_header headers[8];
    size_t n = 0;

    request->record.status = refusal->status;
    if (request->exchange == NULL)
        return;
    put_error(&text, is_anthropic(request), refusal);
    if (text.full) { /* a message with an echo of the client's own, too long to echo */
        struct pst_refusal shorter = *refusal;

        shorter.message = shorter.code;
        text = pst_writer(body, sizeof body);
        put_error(&text, is_anthropic(request), &shorter);
    }
    headers[n++] = (struct pst_header){PST_SLICE("Content-Type"), PST_SLICE("application/json")};
    headers[n++] = (struct pst_header){PST_SLICE("X-Request-Id"), pst_slice_of(request->id)};
    if (refusal->retry_after_ms != 0) {
        snprintf(seconds, sizeof seconds, "%u", (refusal->retry_after_ms + 999) / 1000);
        snprintf(milliseconds, sizeof milliseconds, "%u", refusal->retry_after_ms);
        headers[n++] = (struct pst_header){PST_SLICE("Retry-After"), pst_slice_of(seconds)};
        headers[n++] = (struct pst_header){PST_SLICE("retry-after-ms"), pst_slice_of(milliseconds)};
    }
    if (refusal->retry >= 0)
        headers[n++] = (struct pst_header){PST_SLICE("x-should-retry"),
                                           refusal->retry ? PST_SLICE("true") : PST_SLICE("false")};
    if (refusal->dropped != NULL)
        headers[n++] = (struct pst_header){PST_SLICE("x-llm-d-request-dropped-reason"),
                                           pst_slice_of(refusal->dropped)};
    if (request->ticketed) {
        headers[n++] =
            (struct pst_header){PST_SLICE("server-timing"), pst_request_timing(request, queue)};
    }
    if (refusal->status == 405)
        headers[n++] = (struct pst_header){
            PST_SLICE("Allow"), request->route == NULL ? PST_SLICE("GET") : PST_SLICE("POST")};
    PST_ASSERT(n <= PST_COUNT_OF(headers));
    pst_exchange_respond(request->exchange, refusal->status, headers, n, text.len);
    pst_exchange_write(request->exchange, body, text.len);
    request->record.bytes_out += text.len;
    pst_exchange_end(request->exchange);
    request->exchange = NULL;
}

void pst_refuse_finished(struct pst_request *request, enum pst_reason reason,
                         uint32_t retry_after_ms)
{
    struct pst_refusal words = pst_refuse_words(request->gateway, reason, retry_after_ms);

    pst_refuse(request, &words);
}
