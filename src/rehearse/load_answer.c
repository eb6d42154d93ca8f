/*
 * load_answer.c - reads answers as they come: headers that tell waits, first bytes, tokens.
 */
#include "rehearse/load_request.h"

#include <string.h>

#include "base/clock.h"
#include "core/num.h"
#include "model/law.h"

#define RETRY_AFTER_MAX (3600 * PST_S)

static struct pst_load_request *request_of(struct pst_call *call)
{
    return (struct pst_load_request *)(void *)((char *)call -
                                               offsetof(struct pst_load_request, call));
}

/* A plain decimal in units of `unit` ns. False: it is none. */
static bool read_decimal(struct pst_slice text, double unit, pst_ns *ret_value)
{
    struct pst_law law;
    const char *why;

    if (pst_law_read(text.at, text.len, PST_LAW_NUMBER, &law, &why) != PST_OK ||
        law.kind != PST_LAW_CONST)
        return false;
    *ret_value = pst_to_u64(law.mean * unit + 0.5);
    return true;
}

/* The dur of the entry named queue: "queue;dur=12.5, upstream;dur=80". */
static pst_ns read_server_timing(struct pst_slice value)
{
    const char *at = value.at, *end = value.at + value.len;

    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *entry_end = comma == NULL ? end : comma;
        const char *dur;
        pst_ns wait;

        while (at < entry_end && *at == ' ')
            at++;
        dur = memmem(at, (size_t)(entry_end - at), ";dur=", 5);
        if (dur == at + 5 && memcmp(at, "queue", 5) == 0) {
            const char *from = dur + 5;
            const char *stop = memchr(from, ';', (size_t)(entry_end - from));

            if (stop == NULL)
                stop = entry_end;
            if (read_decimal(pst_slice(from, (size_t)(stop - from)), PST_MS, &wait))
                return wait;
        }
        at = comma == NULL ? end : comma + 1;
    }
    return PST_NEVER;
}

static bool starts_with(struct pst_slice text, struct pst_slice start)
{
    return text.len >= start.len && memcmp(text.at, start.at, start.len) == 0;
}

static void read_retry_after(struct pst_load_request *request, const struct pst_head *head)
{
    const struct pst_header *ms = pst_head_find(head, PST_SLICE("retry-after-ms"));
    const struct pst_header *s = pst_head_find(head, PST_SLICE("retry-after"));

    if (ms != NULL && read_decimal(ms->value, PST_MS, &request->retry_after))
        request->may_retry = true;
    else if (s != NULL && read_decimal(s->value, PST_S, &request->retry_after))
        request->may_retry = true;
    request->retry_after = pst_min_u64(request->retry_after, RETRY_AFTER_MAX);
}

void pst_load_answer_reset(struct pst_load_request *request)
{
    request->events = request->ttl_expired = request->may_retry = false;
    request->status = 0;
    request->first = request->last_event = request->retry_after = 0;
    request->wait_told = request->engine_service = PST_NEVER;
}

static void answer_head(struct pst_call *call, const struct pst_head *head)
{
    struct pst_load_request *request = request_of(call);
    const struct pst_load_traffic *traffic = &request->run->config.mix[request->arrival.traffic];
    const struct pst_header *type = pst_head_find(head, PST_SLICE("content-type"));
    const struct pst_header *timing = pst_head_find(head, PST_SLICE("server-timing"));
    const struct pst_header *service = pst_head_find(head, PST_SLICE("x-engine-service"));
    const struct pst_header *dropped =
        pst_head_find(head, PST_SLICE("x-llm-d-request-dropped-reason"));

    request->status = head->status;
    request->events = type != NULL && starts_with(type->value, PST_SLICE("text/event-stream"));
    if (timing != NULL)
        request->wait_told = read_server_timing(timing->value);
    if (service != NULL)
        read_decimal(service->value, PST_MS, &request->engine_service);
    if (dropped != NULL)
        request->ttl_expired = memmem(dropped->value.at, dropped->value.len, "ttl-expired", 11);
    read_retry_after(request, head);
    pst_answer_init(&request->answer, traffic->answer,
                    request->events ? PST_ANSWER_EVENTS : PST_ANSWER_JSON);
}

/* Several tokens in one read share the time since the last one. */
static void count_events(struct pst_load_request *request, uint32_t events, pst_ns now)
{
    struct pst_load_run *run = request->run;

    if (request->last_event != 0 && request->intended >= run->start + run->config.warmup)
        pst_hist_add_many(&run->class_of[request->arrival.traffic]->between,
                          (now - request->last_event) / events, events);
    request->last_event = now;
}

static void answer_body(struct pst_call *call, const char *data, size_t len)
{
    struct pst_load_request *request = request_of(call);
    uint32_t events = request->answer.data_events;
    pst_ns now = pst_clock_now();

    while (len > 0) {
        size_t taken = pst_answer_feed(&request->answer, data, len);

        data += taken;
        len -= taken;
        if (request->first == 0 && request->answer.begun)
            request->first = now;
    }
    events = request->answer.data_events - events;
    if (request->events && events > 0)
        count_events(request, events, now);
}

static void answer_end(struct pst_call *call, enum pst_call_end how)
{
    struct pst_load_request *request = request_of(call);

    if (request->status != 0)
        pst_answer_end(&request->answer);
    pst_load_request_ended(request, how);
}

const struct pst_call_handler pst_load_call_handler = {
    .head = answer_head,
    .body = answer_body,
    .end = answer_end,
};
