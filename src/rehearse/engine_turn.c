/*
 * engine_turn.c - steps the model and passes on what it says.
 *
 * Writing to a client may end an exchange, and with it begin the next request on that connection: so
 * events are put in a ring and the model is stepped by the outermost caller alone.
 */
#include "rehearse/engine_job.h"

#include "base/clock.h"

static void job_started(struct pst_engine_job *job, const struct pst_engine_action *action)
{
    job->started = pst_clock_now();
    if (job->stage != PST_JOB_WAITING)
        return;
    job->stage = PST_JOB_RUNNING;
    pst_engine_histogram_add(&job->server->queue_time, job->started - job->arrived);
    if (action->service > 0 && job->answer.output_tokens > 0)
        job->first_planned = action->service / job->answer.output_tokens;
}

static void send_tokens(struct pst_engine_job *job, uint32_t number)
{
    struct pst_text *text = &job->server->scratch;

    pst_text_clear(text);
    if (number == 1) {
        pst_engine_histogram_add(&job->server->first_token, pst_clock_now() - job->arrived);
        if (!pst_exchange_responded(job->exchange))
            pst_engine_job_respond_stream(job);
        pst_engine_text_lead(&job->answer, text);
    }
    pst_engine_text_tokens(&job->answer, number, text);
    if (job->truncate && number * 2 >= job->answer.output_tokens) {
        text->len /= 2; /* in the middle of an event */
        job->resets = true;
    }
    pst_engine_job_send(job, text);
}

static void job_tokens(struct pst_engine_job *job, uint32_t number)
{
    bool half = number * 2 >= job->answer.output_tokens;

    if (job->stage != PST_JOB_RUNNING)
        return;
    send_tokens(job, number);
    if (job->exchange == NULL || job->stage != PST_JOB_RUNNING)
        return; /* it left while we wrote */
    if (job->stall_after != 0 && number >= job->stall_after) {
        job->stage = PST_JOB_HUNG;
        return;
    }
    if (job->reset_after != 0 && number >= job->reset_after)
        job->resets = true;
    if (job->resets) {
        pst_engine_job_leave_model(job);
        pst_engine_job_close(job);
    } else if (half && job->kills_worker) {
        pst_engine_worker_died(job->server);
    } else if (half && job->dies) {
        pst_engine_job_leave_model(job);
        pst_engine_job_fail(job, PST_ENGINE_ERROR_INTERNAL, NULL);
    }
}

static void job_done(struct pst_engine_job *job)
{
    struct pst_text *text = &job->server->scratch;

    if (job->stage != PST_JOB_RUNNING)
        return;
    pst_engine_histogram_add(&job->server->whole_time, pst_clock_now() - job->arrived);
    if (!job->stream && job->kills_worker) {
        pst_engine_worker_died(job->server);
    } else if (!job->stream && job->dies) {
        pst_engine_job_fail(job, PST_ENGINE_ERROR_INTERNAL, NULL);
    } else if (!job->stream && job->stall_after != 0) {
        job->stage = PST_JOB_HUNG;
    } else if (!job->stream) {
        pst_engine_job_send_whole(job);
    } else {
        if (!pst_exchange_responded(job->exchange))
            pst_engine_job_respond_stream(job);
        pst_text_clear(text);
        pst_engine_text_tail(&job->answer, text);
        pst_engine_job_send(job, text);
        if (job->exchange != NULL && job->stage == PST_JOB_RUNNING)
            pst_engine_job_close(job);
    }
}

/* vLLM answers some streams with 200 and says no inside them. */
static void job_refused(struct pst_engine_job *job)
{
    struct pst_engine_server *server = job->server;

    if (job->stage != PST_JOB_WAITING)
        return;
    if (job->stream && server->config.like == PST_ENGINE_LIKE_VLLM &&
        !pst_exchange_responded(job->exchange) && pst_prng_below(&server->dice, 2) == 0)
        pst_engine_job_respond_stream(job);
    pst_engine_job_fail(job, PST_ENGINE_ERROR_BUSY, NULL);
}

/* A job that is in the model is not freed by its end: out_of_model does that, last. */
static void pass_on(struct pst_engine_server *server, const struct pst_engine_action *action)
{
    struct pst_engine_job *job = server->jobs[action->request];

    PST_ASSERT(job != NULL && job->in_model);
    switch (action->kind) {
    case PST_ENGINE_START:
        job_started(job, action);
        return;
    case PST_ENGINE_TOKENS:
        job_tokens(job, action->count);
        return;
    case PST_ENGINE_REFUSED:
        job_refused(job);
        pst_engine_job_out_of_model(job);
        return;
    case PST_ENGINE_TOO_LONG:
        if (job->stage == PST_JOB_WAITING)
            pst_engine_job_fail(job, PST_ENGINE_ERROR_TOO_LONG, NULL);
        pst_engine_job_out_of_model(job);
        return;
    case PST_ENGINE_DONE:
        job_done(job);
        pst_engine_job_out_of_model(job);
        return;
    case PST_ENGINE_ACTION_COUNT:
        break;
    }
    PST_ASSERT(false);
}

/* The index may have got another job since: its last one was done when the cancel came. */
static void cancelled(struct pst_engine_server *server, uint32_t index)
{
    struct pst_engine_job *job = server->jobs[index];

    if (job != NULL && job->in_model && job->cancelling)
        pst_engine_job_out_of_model(job);
}

static void step(struct pst_engine_server *server, struct pst_engine_event event)
{
    struct pst_engine_action action;

    event.now = pst_loop_now(server->loop);
    pst_engine_step(server->model, &event);
    while (pst_engine_poll(server->model, &action))
        pass_on(server, &action);
    if (event.kind == PST_ENGINE_CANCEL)
        cancelled(server, event.request);
}

void pst_engine_turn(struct pst_engine_server *server)
{
    struct pst_engine_view view;
    pst_ns deadline;

    if (server->in_turn || pst_engine_is_frozen(server))
        return;
    server->in_turn = true;
    step(server, (struct pst_engine_event){.kind = PST_ENGINE_TIME});
    while (server->pending_count > 0) {
        struct pst_engine_event event = server->pending[server->pending_first];

        server->pending_first = (server->pending_first + 1) % server->pending_size;
        server->pending_count--;
        step(server, event);
    }
    server->in_turn = false;
    pst_engine_view(server->model, &view);
    if (view.waiting > server->stats.waiting_max)
        server->stats.waiting_max = view.waiting;
    deadline = pst_engine_deadline(server->model);
    pst_timer_set(server->loop, &server->model_timer, deadline);
}

void pst_engine_post(struct pst_engine_server *server, const struct pst_engine_event *event)
{
    PST_ASSERT(server->pending_count < server->pending_size);
    server->pending[(server->pending_first + server->pending_count) % server->pending_size] =
        *event;
    server->pending_count++;
    pst_engine_turn(server);
}
