/*
 * relay.c - the replica's answer on its way to the client.
 *
 *   head --error status--> held whole, judged at its end: FULL, LOADING, ERROR_STATUS
 *     |
 *     +--2xx … 4xx--> held until the first byte that belongs to an answer
 *                        | failure event first --> FULL or ERROR_EVENT, nothing was seen
 *                        v
 *                     begun: FIRST, status line and all that was held; then bytes pass as they come
 *
 * Until begun the ticket may run elsewhere, so nothing of this attempt may reach the client. After it
 * nothing is tried again, and a loss must be seen: an error event where one fits, a broken connection
 * where none does.
 */
#include <stdlib.h>

#include "gateway/inside.h"

static struct pst_request *request_of(struct pst_call *call)
{
    return (struct pst_request *)(void *)((char *)call - offsetof(struct pst_request, call));
}

static struct pst_request *of_stall(struct pst_timer *timer)
{
    return (struct pst_request *)(void *)((char *)timer - offsetof(struct pst_request, stall));
}

void pst_relay_reset(struct pst_request *request)
{
    pst_kept_head_done(&request->kept);
    request->held_len = 0;
    request->error_answer = request->oversized = request->begun = request->whole = false;
    PST_ASSERT(!request->paused);
    request->attempt = 0;
    pst_timer_cancel(request->gateway->loop, &request->stall);
}

/* The client is slow: its replica waits for it, and is not to be blamed for the silence. */
static void hold_back(struct pst_request *request, bool on)
{
    struct pst_gateway_replica *replica = &request->gateway->replicas[request->replica];

    PST_ASSERT(request->paused != on);
    request->paused = on;
    replica->held_back += on ? 1 : -1;
    if (pst_call_running(&request->call))
        pst_call_read(&request->call, !on);
}

void pst_relay_close(struct pst_request *request)
{
    pst_call_cancel(&request->call);
    if (request->paused) {
        hold_back(request, false);
        pst_replicas_progress(request->gateway, request->replica, 0, true);
    }
    if (!request->committed || !request->begun)
        pst_relay_reset(request);
    request->attempt = 0;
}

/* The attempt is over for us; what it means is the gate's to say. */
static void end_attempt(struct pst_request *request, enum pst_end kind)
{
    struct pst_gateway *gateway = request->gateway;
    struct pst_gate_event event = {.kind = PST_EVENT_END};
    uint32_t index = request->ticket.index;

    pst_call_cancel(&request->call);
    pst_timer_cancel(gateway->loop, &request->stall);
    if (request->paused) {
        hold_back(request, false);
        pst_replicas_progress(gateway, request->replica, 0, true);
        if (gateway->by_ticket[index] != request)
            return; /* a limit came due in that step */
    }
    event.u.end.id = request->ticket;
    event.u.end.attempt = request->attempt;
    event.u.end.kind = (uint8_t)kind;
    if (request->begun) {
        event.u.end.tokens_in = request->answer.tokens_in;
        event.u.end.tokens_out = request->answer.tokens_out != 0 ? request->answer.tokens_out
                                                                 : request->answer.data_events;
        request->record.tokens_in = event.u.end.tokens_in;
        request->record.tokens_out = event.u.end.tokens_out;
    }
    if (kind == PST_END_FULL)
        event.u.end.retry_after_ms = request->kept.retry_after_ms;
    pst_gateway_event(gateway, &event);
}

static bool hold(struct pst_request *request, const char *data, size_t len)
{
    if (request->held_len + len > request->held_size) {
        size_t size = request->held_size == 0 ? 2048 : request->held_size;
        char *grown;

        while (size < request->held_len + len)
            size *= 2;
        grown = realloc(request->held, size);
        if (grown == NULL)
            return false;
        request->held = grown;
        request->held_size = size;
    }
    memcpy(request->held + request->held_len, data, len);
    request->held_len += len;
    return true;
}

/*
 * A stream that was begun with comments, and then the replica says that the request is wrong: its own
 * words become the stream's error event. Another shape, or no JSON: it cannot go on.
 */
static bool objects(const struct pst_request *request)
{
    return request->committed && request->kept.has_body && request->kept.status >= 400 &&
           request->kept.status < 500 && request->kept.status != 429 &&
           request->answer.kind == PST_ANSWER_JSON &&
           request->route->answer != PST_ANSWER_RESPONSES;
}

static bool begin_objection(struct pst_request *request)
{
    static const char named[] = "event: error\n", data[] = "data: ";

    return (!request->route->anthropic || hold(request, named, sizeof named - 1)) &&
           hold(request, data, sizeof data - 1);
}

static bool end_objection(struct pst_request *request)
{
    size_t at = request->route->anthropic ? sizeof "event: error\n" - 1 : 0;

    for (; at < request->held_len; at++)
        if (request->held[at] == '\n' || request->held[at] == '\r')
            request->held[at] = ' '; /* JSON has none inside its strings */
    return hold(request, "\n\n", 2);
}

static void on_head(struct pst_call *call, const struct pst_head *head)
{
    struct pst_request *request = request_of(call);

    if (!pst_kept_head_take(&request->kept, head)) {
        end_attempt(request, PST_END_BAD_FRAMING);
        return;
    }
    pst_answer_init(&request->answer, request->route->answer, request->kept.kind);
    request->error_answer = head->status == 429 || head->status >= 500 || objects(request);
    if (objects(request) && !begin_objection(request))
        end_attempt(request, PST_END_RESET);
}

/* The whole answer is an error: only its beginning can matter, to tell Loading or to be passed on. */
static void hold_error(struct pst_request *request, const char *data, size_t len)
{
    if (request->held_len + len <= PST_GATEWAY_HOLD_MAX && hold(request, data, len))
        return;
    request->oversized = true;
    end_attempt(request, request->kept.status == 429 || request->kept.status == 529
                             ? PST_END_FULL
                             : PST_END_ERROR_STATUS);
}

void pst_relay_respond(struct pst_request *request)
{
    struct pst_kept_head *kept = &request->kept;
    struct pst_header *headers = kept->headers;
    size_t n = kept->count;
    bool buffering_said = false;
    char queue[PST_REQUEST_TIMING_MAX];

    for (size_t i = 0; i < n; i++)
        buffering_said |= pst_slice_equal_nocase(headers[i].name, PST_SLICE("x-accel-buffering"));
    headers[n++] = (struct pst_header){PST_SLICE("X-Request-Id"), pst_slice_of(request->id)};
    headers[n++] =
        (struct pst_header){PST_SLICE("server-timing"), pst_request_timing(request, queue)};
    request->events = request->answer.kind == PST_ANSWER_EVENTS;
    if (request->events && !buffering_said) /* a proxy in front must not collect events */
        headers[n++] = (struct pst_header){PST_SLICE("X-Accel-Buffering"), PST_SLICE("no")};
    if (kept->status >= 500)
        headers[n++] = (struct pst_header){PST_SLICE("x-should-retry"), PST_SLICE("false")};
    /* Events never keep a promised length: an error event of ours must fit behind them. */
    pst_exchange_respond(request->exchange, kept->status, headers, n,
                         !kept->has_body   ? 0
                         : request->events ? PST_LENGTH_UNKNOWN
                                           : kept->content_length);
    request->record.status = kept->status;
    request->committed = true;
}

static void deliver(struct pst_request *request, const char *data, size_t len)
{
    if (request->exchange == NULL || len == 0)
        return;
    request->record.bytes_out += len;
    if (pst_exchange_write(request->exchange, data, len) > PST_GATEWAY_HIGH_WATER &&
        !request->paused && pst_call_running(&request->call))
        hold_back(request, true);
}

void pst_relay_drained(struct pst_request *request)
{
    if (!request->paused)
        return;
    hold_back(request, false);
    request->last_event = pst_loop_now(request->gateway->loop); /* the silence was ours */
    pst_replicas_progress(request->gateway, request->replica, 0, true);
}

static void stalled(struct pst_timer *timer)
{
    struct pst_request *request = of_stall(timer);
    struct pst_loop *loop = request->gateway->loop;
    pst_ns limit = request->gateway->config->pools[request->pool].stream_stall;

    if (request->paused)
        pst_timer_set(loop, timer, pst_loop_now(loop) + limit);
    else if (pst_loop_now(loop) - request->last_event < limit)
        pst_timer_set(loop, timer, request->last_event + limit);
    else
        end_attempt(request, PST_END_STALL);
}

/* The first byte that belongs to an answer: from here on this attempt is the answer. */
static void begin(struct pst_request *request)
{
    struct pst_gateway *gateway = request->gateway;
    pst_ns now = pst_loop_now(gateway->loop);

    request->begun = true;
    request->last_event = now;
    request->record.ttft = now - request->record.started;
    request->record.upstream = now - request->dispatched;
    pst_keepalive_stop(request);
    request->stall.fire = stalled;
    pst_timer_set(gateway->loop, &request->stall,
                  now + gateway->config->pools[request->pool].stream_stall);
    if (request->exchange == NULL)
        return;
    if (!request->committed)
        pst_relay_respond(request);
    deliver(request, request->held, request->held_len);
    request->held_len = 0;
}

/* FIRST. False: a limit came due in the same step, and the request is no more. */
static bool say_first(struct pst_request *request)
{
    struct pst_gateway *gateway = request->gateway;
    uint32_t index = request->ticket.index;
    struct pst_gate_event event = {.kind = PST_EVENT_FIRST};

    event.u.first.id = request->ticket;
    event.u.first.attempt = request->attempt;
    pst_gateway_event(gateway, &event);
    return gateway->by_ticket[index] == request && request->attempt == event.u.first.attempt;
}

/* A stream whose status we sent ourselves (comments while it waited) can only go on as a stream. */
static bool fits_committed(const struct pst_request *request)
{
    return !request->committed ||
           (request->kept.status == 200 && request->answer.kind == PST_ANSWER_EVENTS);
}

static enum pst_end end_of_event(const struct pst_answer *answer)
{
    return answer->error_code == 429 || answer->error_code == 503 || answer->error_code == 529
               ? PST_END_FULL
               : PST_END_ERROR_EVENT;
}

/* Before begun: holds what comes. Returns how many bytes were dealt with; SIZE_MAX: it is over. */
static size_t look_for_beginning(struct pst_request *request, const char *data, size_t len)
{
    size_t at = 0;

    while (at < len && !request->answer.begun) {
        at += pst_answer_feed(&request->answer, data + at, len - at);
        if (request->answer.failed_first) {
            end_attempt(request, end_of_event(&request->answer));
            return SIZE_MAX;
        }
    }
    if (!request->answer.begun && request->held_len + at <= PST_GATEWAY_HOLD_MAX) {
        if (hold(request, data, at))
            return at;
        end_attempt(request, PST_END_RESET); /* no memory: as if the connection had failed */
        return SIZE_MAX;
    }
    if (!fits_committed(request)) {
        end_attempt(request, PST_END_ERROR_STATUS);
        return SIZE_MAX;
    }
    begin(request);
    deliver(request, data, at);
    return at;
}

static void measure(struct pst_request *request, uint32_t events_before)
{
    struct pst_gateway *gateway = request->gateway;
    struct pst_labels labels = {.pool = request->pool, .class_ = request->class_};
    uint32_t events = request->answer.data_events - events_before;
    pst_ns now = pst_loop_now(gateway->loop);

    if (events_before != 0 && events != 0)
        pst_metric_observe(gateway->metrics, PST_METRIC_INTER_TOKEN, labels,
                           (now - request->last_event) / events);
    request->last_event = now;
}

/* Last of all: a step of the gate may end the request. at_once: it began, or is held back from now. */
static void tell_progress(struct pst_request *request, bool first, bool at_once, uint32_t events)
{
    struct pst_gateway *gateway = request->gateway;
    bool streams = request->answer.kind == PST_ANSWER_EVENTS;
    uint16_t replica = request->replica;

    if (first && !say_first(request))
        return;
    if (streams && (first || events != 0))
        pst_replicas_progress(gateway, replica, events == 0 ? 1 : events, at_once);
}

static void on_body(struct pst_call *call, const char *data, size_t len)
{
    struct pst_request *request = request_of(call);
    uint32_t events_before = request->begun ? request->answer.data_events : 0;
    bool first = !request->begun, paused = request->paused;
    size_t at = 0;

    if (request->error_answer) {
        hold_error(request, data, len);
        return;
    }
    if (!request->begun) {
        at = look_for_beginning(request, data, len);
        if (at == SIZE_MAX || !request->begun)
            return;
    }
    for (size_t fed = at; fed < len;)
        fed += pst_answer_feed(&request->answer, data + fed, len - fed);
    measure(request, events_before);
    deliver(request, data + at, len - at);
    tell_progress(request, first, first || paused != request->paused,
                  request->answer.data_events - events_before);
}

static enum pst_end judge_error_status(const struct pst_request *request)
{
    uint16_t status = request->kept.status;

    if (pst_answer_is_loading(status, request->held, request->held_len))
        return PST_END_LOADING;
    return status == 429 || status == 503 || status == 529 ? PST_END_FULL : PST_END_ERROR_STATUS;
}

/* A whole message: is it a whole answer? */
static enum pst_end judge_whole(struct pst_request *request)
{
    if (objects(request)) {
        request->whole = end_objection(request);
        return request->whole ? PST_END_DONE : PST_END_RESET;
    }
    if (request->error_answer)
        return judge_error_status(request);
    pst_answer_end(&request->answer);
    if (request->answer.failed_first)
        return end_of_event(&request->answer);
    if (request->answer.kind == PST_ANSWER_EVENTS && request->kept.until_close &&
        !request->answer.ended)
        return PST_END_CUT; /* nothing but the end event tells a whole stream from a cut one */
    if (!request->begun && !fits_committed(request))
        return PST_END_ERROR_STATUS;
    request->whole = true;
    return request->answer.failed ? PST_END_ERROR_EVENT : PST_END_DONE;
}

static void on_end(struct pst_call *call, enum pst_call_end how)
{
    static const enum pst_end by_call[PST_CALL_END_COUNT] = {
        [PST_CALL_DONE] = PST_END_DONE,
        [PST_CALL_REFUSED] = PST_END_REFUSED,
        [PST_CALL_RESET_REUSED] = PST_END_RESET_REUSED,
        [PST_CALL_RESET] = PST_END_RESET,
        [PST_CALL_CUT] = PST_END_CUT,
        [PST_CALL_BAD_FRAMING] = PST_END_BAD_FRAMING,
    };
    struct pst_request *request = request_of(call);
    enum pst_end end = by_call[how];

    if (how == PST_CALL_DONE)
        end = judge_whole(request);
    else if (request->begun)
        pst_answer_end(&request->answer);
    if (request->whole &&
        !request->begun) { /* an answer without a body, or of nothing but comments */
        begin(request);
        if (!say_first(request))
            return;
    }
    end_attempt(request, end);
}

void pst_relay_pass_on(struct pst_request *request)
{
    request->answer.kind = PST_ANSWER_OPAQUE;
    request->kept.has_body = true;
    request->kept.content_length = request->held_len;
    pst_relay_respond(request);
    deliver(request, request->held, request->held_len);
    pst_exchange_end(request->exchange);
    request->exchange = NULL;
}

void pst_relay_break(struct pst_request *request, enum pst_reason reason)
{
    struct pst_refusal words = pst_refuse_words(request->gateway, reason, 0);
    char event[1024];
    size_t len;

    PST_ASSERT(request->committed && request->exchange != NULL);
    if (request->events && (!request->begun || request->answer.at_boundary)) {
        len = pst_refuse_event(request->route, &words, event, sizeof event);
        pst_exchange_write(request->exchange, event, len);
        request->record.bytes_out += len;
        pst_exchange_end(request->exchange);
    } else {
        pst_exchange_abort(request->exchange);
    }
    request->exchange = NULL;
}

const struct pst_call_handler pst_relay_handler = {
    .head = on_head,
    .body = on_body,
    .end = on_end,
};
