/*
 * engine_job.c - a request's way into the model, past the faults, and out when its client leaves.
 */
#include "rehearse/engine_job.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/num.h"

#define HEADERS_AFTER    (30 * PST_MS)
#define LAG_VLLM         (30 * PST_MS)
#define LAG_LLAMA_STREAM (40 * PST_MS)
#define SEQUENCES_MAX    1024
#define IMAGE_TOKENS     256

struct pst_engine_job *pst_engine_job_new(struct pst_engine_server *server, struct pst_exchange *x)
{
    struct pst_engine_job *job;

    if (server->free_count == 0)
        return NULL;
    job = calloc(1, sizeof *job);
    if (job == NULL)
        return NULL;
    job->server = server;
    job->exchange = x;
    job->index = server->free_jobs[--server->free_count];
    job->answer.like = server->config.like;
    job->arrived = pst_clock_now();
    pst_engine_job_timers_init(job);
    server->jobs[job->index] = job;
    pst_exchange_set_user(x, job);
    return job;
}

static void job_free(struct pst_engine_job *job)
{
    struct pst_engine_server *server = job->server;

    pst_timer_cancel(server->loop, &job->headers_timer);
    pst_timer_cancel(server->loop, &job->lag_timer);
    pst_timer_cancel(server->loop, &job->drip_timer);
    server->jobs[job->index] = NULL;
    server->free_jobs[server->free_count++] = job->index;
    pst_text_done(&job->body);
    pst_text_done(&job->output);
    free(job);
    pst_engine_job_ended(server);
}

void pst_engine_job_out_of_model(struct pst_engine_job *job)
{
    job->in_model = false;
    if (job->exchange == NULL)
        job_free(job);
}

void pst_engine_job_leave_model(struct pst_engine_job *job)
{
    if (!job->in_model || job->cancelling)
        return;
    job->cancelling = true;
    pst_engine_post(job->server,
                    &(struct pst_engine_event){.kind = PST_ENGINE_CANCEL, .request = job->index});
}

void pst_engine_job_left(struct pst_engine_job *job)
{
    struct pst_engine_server *server = job->server;
    pst_ns lag = LAG_VLLM;

    job->exchange = NULL;
    pst_timer_cancel(server->loop, &job->headers_timer);
    pst_timer_cancel(server->loop, &job->drip_timer);
    if (!job->counted && job->kind == PST_JOB_INFERENCE)
        server->stats.cancelled++;
    job->counted = true;
    if (!job->in_model) {
        job_free(job);
        return;
    }
    job->stage = PST_JOB_LEAVING;
    if (server->config.like == PST_ENGINE_LIKE_LLAMACPP)
        lag = job->stream ? LAG_LLAMA_STREAM : server->config.cancel_lag;
    if (job->cancelling)
        return;
    lag = pst_engine_scaled(server, lag);
    if (lag == 0)
        pst_engine_job_leave_model(job);
    else
        pst_timer_set(server->loop, &job->lag_timer, pst_loop_now(server->loop) + lag);
}

/* About four letters of Latin text a token, one of Chinese or Japanese. */
static uint32_t count_prompt_tokens(const struct pst_peek_result *body)
{
    uint64_t narrow = body->text_chars - body->wide_chars;
    uint64_t tokens = (narrow + 3) / 4 + body->wide_chars + body->tokens_given +
                      (uint64_t)body->media_parts * IMAGE_TOKENS;

    return (uint32_t)pst_min_u64(pst_max_u64(tokens, 1), UINT32_MAX / 4);
}

static const char *find_model(const struct pst_engine_server *server, const char *name)
{
    const struct pst_engine_server_config *config = &server->config;

    if (*name == '\0')
        return config->models[0];
    for (size_t i = 0; i < config->models_count; i++)
        if (strcmp(config->models[i], name) == 0)
            return config->models[i];
    /* llama.cpp serves whatever is asked for. */
    return config->like == PST_ENGINE_LIKE_LLAMACPP ? config->models[0] : NULL;
}

/* vLLM wants an integer there. Inside a string the quotes would be escaped: this is the key. */
static bool priority_is_wrong(const struct pst_text *body)
{
    static const char key[] = "\"priority\"";
    const char *end = body->at + body->len;
    const char *at = memmem(body->at, body->len, key, sizeof key - 1);

    if (at == NULL)
        return false;
    at += sizeof key - 1;
    while (at < end && isspace((unsigned char)*at))
        at++;
    if (at == end || *at++ != ':')
        return false;
    while (at < end && isspace((unsigned char)*at))
        at++;
    if (at < end && *at == '-')
        at++;
    while (at < end && isdigit((unsigned char)*at))
        at++;
    return at == end || !(isdigit((unsigned char)at[-1]) &&
                          (*at == ',' || *at == '}' || isspace((unsigned char)*at)));
}

/* Fills in what the body asks for. False: the job was answered with an error. */
static bool understand(struct pst_engine_job *job)
{
    struct pst_engine_server *server = job->server;
    struct pst_engine_answer *answer = &job->answer;
    struct pst_peek_result body;
    uint64_t at, context;

    if (job->peek_failed || pst_peek_finish(&job->peek, &body) != PST_OK) {
        pst_engine_job_fail(job, PST_ENGINE_ERROR_SYNTAX, pst_peek_error(&job->peek, &at));
        return false;
    }
    answer->model = find_model(server, body.model);
    if (answer->model == NULL) {
        pst_engine_job_fail(job, PST_ENGINE_ERROR_MODEL, body.model);
        return false;
    }
    if (body.sequences > SEQUENCES_MAX ||
        (server->config.like == PST_ENGINE_LIKE_VLLM && priority_is_wrong(&job->body))) {
        pst_engine_job_fail(job, PST_ENGINE_ERROR_SYNTAX, NULL);
        return false;
    }
    answer->prompt_tokens = count_prompt_tokens(&body);
    answer->sequences = body.sequences;
    answer->include_usage = body.include_usage;
    job->stream = body.stream && answer->form != PST_ENGINE_EMBEDDINGS;
    if (answer->form != PST_ENGINE_EMBEDDINGS) {
        uint64_t drawn = pst_law_draw(&server->config.output, &server->dice, 0, 0);

        answer->limited = body.max_tokens > 0;
        answer->output_tokens = answer->limited
                                    ? body.max_tokens
                                    : (uint32_t)pst_min_u64(pst_max_u64(drawn, 1), 1u << 20);
    }
    context = (uint64_t)answer->prompt_tokens + answer->output_tokens;
    if (server->config.context_tokens != 0 && context > server->config.context_tokens) {
        pst_engine_job_fail(job, PST_ENGINE_ERROR_TOO_LONG, NULL);
        return false;
    }
    return true;
}

static bool hits(struct pst_engine_job *job, enum pst_engine_fault fault)
{
    return pst_engine_fault_hits(&job->server->faults, fault, &job->server->dice);
}

/* What keeps a request from the model altogether. True: that happened. */
static bool meets_a_fault(struct pst_engine_job *job)
{
    struct pst_engine_server *server = job->server;

    if (pst_engine_fault_is_on(&server->faults, PST_FAULT_CRASH_ON) && job->body.len > 0 &&
        memmem(job->body.at, job->body.len, server->faults.mark, strlen(server->faults.mark)) &&
        hits(job, PST_FAULT_CRASH_ON))
        kill(getpid(), SIGKILL); /* nothing is closed, nothing is said */
    if (server->refusing || server->dead || hits(job, PST_FAULT_ERROR_ALL)) {
        pst_engine_job_fail(job, PST_ENGINE_ERROR_INTERNAL, NULL);
        return true;
    }
    if (hits(job, PST_FAULT_RESET_BEFORE)) {
        job->resets = true;
        pst_engine_job_close(job);
        return true;
    }
    if (hits(job, PST_FAULT_FULL)) {
        pst_engine_job_fail(job, PST_ENGINE_ERROR_BUSY, NULL);
        return true;
    }
    if (job->stream && hits(job, PST_FAULT_FULL_EVENT)) {
        pst_engine_job_respond_stream(job);
        pst_engine_job_fail(job, PST_ENGINE_ERROR_BUSY, NULL);
        return true;
    }
    if (!server->loaded || hits(job, PST_FAULT_HANG) || hits(job, PST_FAULT_ASLEEP)) {
        job->stage = PST_JOB_HUNG;
        return true;
    }
    return false;
}

static void draw_later_faults(struct pst_engine_job *job)
{
    const uint64_t *argument = job->server->faults.argument;

    if (hits(job, PST_FAULT_RESET_AFTER))
        job->reset_after = (uint32_t)argument[PST_FAULT_RESET_AFTER];
    if (hits(job, PST_FAULT_STALL_AFTER))
        job->stall_after = (uint32_t)argument[PST_FAULT_STALL_AFTER];
    if (hits(job, PST_FAULT_SLOW_DRIP))
        job->drip = pst_engine_scaled(job->server, argument[PST_FAULT_SLOW_DRIP]);
    job->truncate = hits(job, PST_FAULT_TRUNCATE);
    job->dies = hits(job, PST_FAULT_DIE_MID_STREAM);
    job->kills_worker = hits(job, PST_FAULT_WORKER_DIES);
}

void pst_engine_job_read_end(struct pst_engine_job *job)
{
    struct pst_engine_server *server = job->server;

    if (job->kind == PST_JOB_FAULT) {
        struct pst_exchange *exchange = job->exchange;
        struct pst_text body = job->body;

        pst_exchange_set_user(exchange, NULL);
        job->body = (struct pst_text){0};
        job->exchange = NULL;
        job_free(job);
        pst_engine_page_fault(server, exchange, &body);
        pst_text_done(&body);
        return;
    }
    server->last_body_bytes = job->body.len;
    if (!understand(job) || meets_a_fault(job))
        return;
    draw_later_faults(job);
    job->answer.created = pst_clock_wall_ns() / PST_S;
    job->stage = PST_JOB_WAITING;
    job->in_model = true;
    if (job->stream && server->config.like == PST_ENGINE_LIKE_VLLM)
        pst_timer_set(server->loop, &job->headers_timer,
                      pst_loop_now(server->loop) + pst_engine_scaled(server, HEADERS_AFTER));
    pst_engine_post(server, &(struct pst_engine_event){
                                .kind = PST_ENGINE_ADD,
                                .request = job->index,
                                .prompt_tokens = job->answer.prompt_tokens,
                                .output_tokens = job->answer.output_tokens,
                                .sequences = (uint16_t)job->answer.sequences,
                                .tokens = job->stream,
                            });
}
