/*
 * engine_send.c - how an answer leaves: at once, in drops, or cut off.
 */
#include "rehearse/engine_job.h"

#include <stdio.h>

#include "base/clock.h"

#define DROP_BYTES    7
#define RESET_LINGER  (20 * PST_MS) /* what was written should arrive before the reset does */
#define NUMBER_LENGTH 24

/* Stamps of our own for whoever measures: how long it waited in here, how long its first byte took. */
struct stamps {
    char wait[NUMBER_LENGTH], service[NUMBER_LENGTH];
    struct pst_header headers[3];
    size_t count;
};

static struct pst_slice milliseconds(pst_ns value, char buffer[NUMBER_LENGTH])
{
    int len = snprintf(buffer, NUMBER_LENGTH, "%llu.%03llu", (unsigned long long)(value / PST_MS),
                       (unsigned long long)(value % PST_MS / PST_US));

    return pst_slice(buffer, (size_t)len);
}

static void make_headers(const struct pst_engine_job *job, const char *type, bool first_byte_now,
                         struct stamps *ret_stamps)
{
    pst_ns service = job->first_planned;

    ret_stamps->headers[0] = (struct pst_header){PST_SLICE("content-type"), pst_slice_of(type)};
    ret_stamps->count = 1;
    if (job->started == 0)
        return;
    if (first_byte_now)
        service = pst_clock_now() - job->started;
    if (service == 0)
        return; /* the headers go ahead of the first token, and nobody knows when that comes */
    ret_stamps->headers[1] = (struct pst_header){
        PST_SLICE("x-engine-wait"), milliseconds(job->started - job->arrived, ret_stamps->wait)};
    ret_stamps->headers[2] = (struct pst_header){PST_SLICE("x-engine-service"),
                                                 milliseconds(service, ret_stamps->service)};
    ret_stamps->count = 3;
}

static void respond_stream(struct pst_engine_job *job, bool first_byte_now)
{
    struct stamps stamps;

    pst_timer_cancel(job->server->loop, &job->headers_timer);
    make_headers(job, "text/event-stream; charset=utf-8", first_byte_now, &stamps);
    pst_exchange_respond(job->exchange, 200, stamps.headers, stamps.count, PST_LENGTH_UNKNOWN);
}

void pst_engine_job_respond_stream(struct pst_engine_job *job)
{
    respond_stream(job, job->stage == PST_JOB_RUNNING);
}

/* vLLM says 200 after 30 ms, whether a token is there or not. */
static void headers_due(struct pst_timer *timer)
{
    struct pst_engine_job *job = PST_OWNER_OF(timer, struct pst_engine_job, headers_timer);

    if (job->exchange == NULL || pst_exchange_responded(job->exchange))
        return;
    respond_stream(job, false);
    pst_exchange_flush(job->exchange);
}

static void drip_due(struct pst_timer *timer)
{
    struct pst_engine_job *job = PST_OWNER_OF(timer, struct pst_engine_job, drip_timer);
    size_t left = job->output.len - job->output_sent;
    size_t drop = left < DROP_BYTES ? left : DROP_BYTES;

    if (job->exchange == NULL)
        return;
    job->output_sent += drop;
    if (left > drop)
        pst_timer_set(job->server->loop, timer, pst_loop_now(job->server->loop) + job->drip);
    pst_exchange_write(job->exchange, job->output.at + job->output_sent - drop, drop);
    if (left > drop || job->exchange == NULL)
        return;
    pst_text_clear(&job->output);
    job->output_sent = 0;
    if (job->stage == PST_JOB_CLOSING)
        pst_engine_job_close(job);
}

void pst_engine_job_send(struct pst_engine_job *job, struct pst_text *text)
{
    if (job->exchange == NULL)
        return;
    if (text->broken) {
        job->resets = true;
        return;
    }
    if (job->drip == 0) {
        pst_exchange_write(job->exchange, text->at, text->len);
        return;
    }
    pst_text_add(&job->output, text->at, text->len);
    if (job->drip_timer.place == 0)
        pst_timer_set(job->server->loop, &job->drip_timer,
                      pst_loop_now(job->server->loop) + job->drip);
}

static void let_go(struct pst_engine_job *job)
{
    struct pst_exchange *exchange = job->exchange;
    bool resets = job->resets, cut = job->truncate;

    pst_exchange_set_user(exchange, NULL);
    job->exchange = NULL;
    if (!job->in_model)
        pst_engine_job_out_of_model(job); /* freed: and the exchange may begin the next one */
    if (resets && cut)
        pst_exchange_abort(exchange); /* closed in the middle, without a reset */
    else if (resets)
        pst_exchange_reset(exchange);
    else
        pst_exchange_end(exchange);
}

void pst_engine_job_close(struct pst_engine_job *job)
{
    struct pst_engine_server *server = job->server;

    job->stage = PST_JOB_CLOSING;
    if (!job->counted) {
        job->counted = true;
        if (job->kind == PST_JOB_INFERENCE && job->resets)
            server->stats.failed++;
        else if (job->kind == PST_JOB_INFERENCE)
            server->stats.completed++;
    }
    if (job->output.len > job->output_sent)
        return; /* when the last drop fell */
    if (job->resets && pst_exchange_responded(job->exchange))
        pst_timer_set(server->loop, &job->lag_timer, pst_loop_now(server->loop) + RESET_LINGER);
    else
        let_go(job);
}

/* Either the client left so long ago, or it is time to reset the connection. */
static void lag_over(struct pst_timer *timer)
{
    struct pst_engine_job *job = PST_OWNER_OF(timer, struct pst_engine_job, lag_timer);

    if (job->stage == PST_JOB_LEAVING)
        pst_engine_job_leave_model(job);
    else if (job->exchange != NULL)
        let_go(job);
}

void pst_engine_job_timers_init(struct pst_engine_job *job)
{
    job->headers_timer.fire = headers_due;
    job->drip_timer.fire = drip_due;
    job->lag_timer.fire = lag_over;
}

void pst_engine_job_send_whole(struct pst_engine_job *job)
{
    struct pst_text text = {0};
    struct stamps stamps;

    pst_engine_text_whole(&job->answer, &text);
    make_headers(job, "application/json", true, &stamps);
    pst_exchange_respond(job->exchange, 200, stamps.headers, stamps.count, text.len);
    if (job->truncate || job->reset_after != 0) {
        text.len /= 2;
        job->resets = true;
    }
    pst_engine_job_send(job, &text);
    pst_text_done(&text);
    if (job->exchange != NULL)
        pst_engine_job_close(job);
}

void pst_engine_job_fail(struct pst_engine_job *job, enum pst_engine_error error,
                         const char *detail)
{
    struct pst_engine_server *server = job->server;
    bool events = pst_exchange_responded(job->exchange);
    struct pst_text text = {0};

    job->counted = true;
    if (error == PST_ENGINE_ERROR_BUSY)
        server->stats.refused++;
    else
        server->stats.failed++;
    if (!events) {
        struct pst_header type = {PST_SLICE("content-type"), PST_SLICE("application/json")};

        pst_timer_cancel(server->loop, &job->headers_timer);
        pst_engine_text_error(job->answer.like, job->answer.form, error, detail, &text);
        pst_exchange_respond(job->exchange, pst_engine_error_status(error), &type, 1, text.len);
    } else if (job->answer.like == PST_ENGINE_LIKE_VLLM) {
        pst_engine_text_failure(&job->answer, error, &text);
    } else {
        job->resets = true; /* llama.cpp has no words for it */
    }
    if (text.len > 0)
        pst_engine_job_send(job, &text);
    pst_text_done(&text);
    if (job->exchange != NULL)
        pst_engine_job_close(job);
}
