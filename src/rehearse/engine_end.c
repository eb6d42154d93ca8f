/*
 * engine_end.c - how the stand-in goes: on SIGTERM, and when its worker dies.
 *
 *   SIGTERM, vllm            port closes --> streams cut in words --> exit
 *   SIGTERM with a time-out  new requests 500 --last one ends--> exit
 *                                |
 *                                +--time-out--> what is open hangs for minutes --> exit
 *   SIGTERM, llama.cpp       port closes, connections are cut --> exit
 *   the worker dies          errors in all, /health 503 --> port closes --> exit
 */
#include "rehearse/engine_job.h"

/* How vLLM goes. Source: measured on 0.32. */
#define LISTENER_CLOSES (30 * PST_MS)   /* after SIGTERM */
#define STREAMS_CUT     (400 * PST_MS)  /* after SIGTERM without a time-out */
#define LAST_ANSWER     (100 * PST_MS)  /* from the last byte to the exit */
#define EXIT_AFTER_LAST (4700 * PST_MS) /* after a shutdown with a time-out */
#define HANGS_FOR       (300 * PST_S)   /* when that time-out expires */
#define WORKER_GONE     (1000 * PST_MS) /* from its death to a closed port */
#define WORKER_EXIT     (2400 * PST_MS) /* … and to the exit */

static void set_phase(struct pst_engine_server *server, pst_ns after,
                      void (*fire)(struct pst_timer *))
{
    server->phase_timer.fire = fire;
    pst_timer_set(server->loop, &server->phase_timer,
                  pst_loop_now(server->loop) + pst_engine_scaled(server, after));
}

static void set_exit(struct pst_engine_server *server, pst_ns after)
{
    pst_timer_set(server->loop, &server->exit_timer,
                  pst_loop_now(server->loop) + pst_engine_scaled(server, after));
}

void pst_engine_exit(struct pst_engine_server *server)
{
    if (server->ended_told)
        return;
    server->ended_told = true;
    if (server->config.ended != NULL)
        server->config.ended(server->config.user);
}

static void exit_due(struct pst_timer *timer)
{
    pst_engine_exit(PST_OWNER_OF(timer, struct pst_engine_server, exit_timer));
}

void pst_engine_end_init(struct pst_engine_server *server)
{
    server->exit_timer.fire = exit_due;
}

static void fail_job(struct pst_engine_server *server, struct pst_engine_job *job)
{
    switch (job->stage) {
    case PST_JOB_LEAVING:
    case PST_JOB_CLOSING:
    case PST_JOB_STAGE_COUNT:
        return;
    case PST_JOB_WAITING:
    case PST_JOB_RUNNING:
    case PST_JOB_READING:
    case PST_JOB_HUNG:
        break;
    }
    pst_engine_job_leave_model(job);
    if (server->config.like == PST_ENGINE_LIKE_VLLM) {
        pst_engine_job_fail(job, PST_ENGINE_ERROR_INTERNAL, NULL);
    } else {
        job->resets = true;
        pst_engine_job_close(job);
    }
}

/* Every request in flight ends in an error, in the engine's own way. The model is told afterwards. */
static void fail_jobs(struct pst_engine_server *server)
{
    bool in_turn = server->in_turn;

    server->in_turn = true;
    for (uint32_t i = 0; i < server->config.model.requests_max; i++) {
        struct pst_engine_job *job = server->jobs[i];

        if (job != NULL && job->kind == PST_JOB_INFERENCE && !job->counted)
            fail_job(server, job);
    }
    server->in_turn = in_turn;
    pst_engine_turn(server);
}

static void close_port(struct pst_timer *timer)
{
    struct pst_engine_server *server = PST_OWNER_OF(timer, struct pst_engine_server, phase_timer);

    pst_server_drain(server->http);
}

void pst_engine_worker_died(struct pst_engine_server *server)
{
    if (server->dead)
        return;
    server->dead = true;
    fail_jobs(server);
    set_phase(server, WORKER_GONE, close_port);
    set_exit(server, WORKER_EXIT);
}

/* SIGTERM without a time-out: the port goes first, then what is in flight. */
static void cut_off(struct pst_timer *timer)
{
    struct pst_engine_server *server = PST_OWNER_OF(timer, struct pst_engine_server, phase_timer);

    fail_jobs(server);
    set_exit(server, LAST_ANSWER);
}

static void port_closed(struct pst_timer *timer)
{
    close_port(timer);
    set_phase(PST_OWNER_OF(timer, struct pst_engine_server, phase_timer),
              STREAMS_CUT - LISTENER_CLOSES, cut_off);
}

/* The time-out of a graceful end expired: everything still open hangs, for minutes. */
static void graceful_expired(struct pst_timer *timer)
{
    struct pst_engine_server *server = PST_OWNER_OF(timer, struct pst_engine_server, phase_timer);

    server->faults.ppm[PST_FAULT_FREEZE] = PST_PPM;
    pst_timer_cancel(server->loop, &server->model_timer);
    set_exit(server, HANGS_FOR);
}

static bool jobs_are_open(const struct pst_engine_server *server)
{
    return server->free_count < server->config.model.requests_max;
}

void pst_engine_job_ended(struct pst_engine_server *server)
{
    if (server->refusing && !jobs_are_open(server) && server->exit_timer.place == 0) {
        pst_timer_cancel(server->loop, &server->phase_timer);
        set_exit(server, EXIT_AFTER_LAST);
    }
}

void pst_engine_server_terminate(struct pst_engine_server *server)
{
    if (server->ending || !server->loaded) {
        pst_engine_exit(server);
        return;
    }
    server->ending = true;
    if (server->config.like == PST_ENGINE_LIKE_LLAMACPP) {
        pst_server_drain(server->http);
        fail_jobs(server);
        set_exit(server, LAST_ANSWER);
    } else if (server->config.shutdown_timeout == 0) {
        set_phase(server, LISTENER_CLOSES, port_closed);
    } else {
        server->refusing = true;
        set_phase(server, server->config.shutdown_timeout, graceful_expired);
        pst_engine_job_ended(server);
    }
}
