#include "rehearse/load_run.h"

#include <stdlib.h>

#include "base/clock.h"
#include "core/num.h"
#include "rehearse/load_request.h"

#define CONNECT_TIMEOUT (5 * PST_S)
#define IDLE_TIMEOUT    (30 * PST_S)
#define HEAD_MAX        ((size_t)64 << 10)

#define OWNER_OF(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

static void link_open(struct pst_load_run *run, struct pst_load_request *request)
{
    request->next = run->open;
    if (run->open != NULL)
        run->open->previous = request;
    run->open = request;
}

static void unlink_open(struct pst_load_run *run, struct pst_load_request *request)
{
    if (request->previous != NULL)
        request->previous->next = request->next;
    else
        run->open = request->next;
    if (request->next != NULL)
        request->next->previous = request->previous;
}

static void free_request(struct pst_load_request *request)
{
    struct pst_load_run *run = request->run;

    unlink_open(run, request);
    pst_timer_cancel(run->loop, &request->retry_timer);
    pst_chain_done(&request->body);
    free(request);
}

static void finish_if_done(struct pst_load_run *run)
{
    if (run->has_next || run->open != NULL || run->stopped)
        return;
    run->stopped = true;
    pst_timer_cancel(run->loop, &run->drain_timer);
    if (run->config.ended != NULL)
        run->config.ended(run->config.user);
}

static void settle(struct pst_load_request *request, enum pst_load_outcome outcome,
                   enum pst_call_end how)
{
    pst_load_account(request, outcome, how, pst_clock_now());
    free_request(request);
}

/* False: it could not even be begun, and is settled as failed. */
static bool send_request(struct pst_load_request *request, bool fresh)
{
    struct pst_load_run *run = request->run;
    bool first_time = request->sent == 0;

    pst_load_answer_reset(request);
    request->call.handler = &pst_load_call_handler;
    if (pst_load_compose(run, request) != PST_OK ||
        pst_call_start(run->upstream, &request->call, pst_slice(run->head.at, run->head.len),
                       &request->body, fresh) != PST_OK) {
        settle(request, PST_LOAD_FAILED, PST_CALL_REFUSED);
        return false;
    }
    request->sent = pst_clock_now();
    request->in_flight = true;
    run->in_flight++;
    run->tally.in_flight_max = pst_max_u64(run->tally.in_flight_max, run->in_flight);
    if (first_time && request->intended >= run->start + run->config.warmup)
        pst_hist_add(&run->tally.late, request->sent - request->intended);
    return true;
}

static void send_or_wait(struct pst_load_request *request)
{
    struct pst_load_run *run = request->run;

    if (run->in_flight < run->config.connections_max) {
        send_request(request, false);
        return;
    }
    request->next_waiting = NULL;
    if (run->waiting_last != NULL)
        run->waiting_last->next_waiting = request;
    else
        run->waiting_first = request;
    run->waiting_last = request;
    run->waiting++;
}

static void send_waiting(struct pst_load_run *run)
{
    while (run->waiting_first != NULL && run->in_flight < run->config.connections_max) {
        struct pst_load_request *request = run->waiting_first;

        run->waiting_first = request->next_waiting;
        if (run->waiting_first == NULL)
            run->waiting_last = NULL;
        run->waiting--;
        send_request(request, false);
    }
}

static void retry_due(struct pst_timer *timer)
{
    struct pst_load_request *request = OWNER_OF(timer, struct pst_load_request, retry_timer);
    struct pst_load_run *run = request->run;

    request->tries++;
    send_or_wait(request);
    finish_if_done(run);
}

void pst_load_request_ended(struct pst_load_request *request, enum pst_call_end how)
{
    struct pst_load_run *run = request->run;
    enum pst_load_outcome outcome = pst_load_outcome_of(request, how);

    request->in_flight = false;
    run->in_flight--;
    if (how == PST_CALL_RESET_REUSED && !request->reconnected) {
        /* Nothing of an answer came: the server closed the idle connection as we wrote to it. */
        request->reconnected = true;
        run->tally.reconnects++;
        send_request(request, true);
    } else if (outcome == PST_LOAD_REFUSED && request->tries < run->config.retries_max) {
        pst_timer_set(run->loop, &request->retry_timer,
                      pst_loop_now(run->loop) +
                          (request->may_retry ? request->retry_after : PST_S));
    } else {
        settle(request, outcome, how);
    }
    send_waiting(run);
    finish_if_done(run);
}

static void begin_request(struct pst_load_run *run, const struct pst_load_arrival *arrival)
{
    struct pst_load_request *request = calloc(1, sizeof *request);

    if (request == NULL) {
        run->outcomes[PST_LOAD_FAILED]++;
        return;
    }
    request->run = run;
    request->arrival = *arrival;
    request->number = ++run->sent;
    request->intended = run->start + arrival->at;
    request->retry_timer.fire = retry_due;
    pst_load_answer_reset(request);
    pst_chain_init(&request->body);
    link_open(run, request);
    send_or_wait(request);
}

static void measured_until(struct pst_load_run *run, pst_ns end)
{
    run->tally.measured = pst_sub_sat(end, run->config.warmup);
}

/* A trace may end before the duration does: then its last arrival ends what was measured. */
static void take_next(struct pst_load_run *run)
{
    pst_ns last = run->next_arrival.at;
    bool planned = pst_load_plan_next(run->config.plan, &run->next_arrival);

    run->has_next = planned && run->next_arrival.at < run->config.duration;
    if (!run->has_next)
        measured_until(run, planned ? run->config.duration : last);
}

static void plan_due(struct pst_timer *timer)
{
    struct pst_load_run *run = OWNER_OF(timer, struct pst_load_run, plan_timer);

    while (run->has_next && run->start + run->next_arrival.at <= pst_clock_now()) {
        begin_request(run, &run->next_arrival);
        take_next(run);
    }
    if (run->has_next) {
        pst_timer_set(run->loop, timer, run->start + run->next_arrival.at);
        return;
    }
    pst_timer_set(run->loop, &run->drain_timer,
                  pst_add_sat(pst_loop_now(run->loop), run->config.drain));
    finish_if_done(run);
}

/* Whoever is not answered by now is unfinished. */
static void give_up(struct pst_load_run *run)
{
    while (run->open != NULL) {
        struct pst_load_request *request = run->open;

        if (request->in_flight)
            pst_call_cancel(&request->call);
        settle(request, PST_LOAD_UNFINISHED, PST_CALL_CUT);
    }
    run->waiting_first = run->waiting_last = NULL;
    run->waiting = run->in_flight = 0;
}

static void drain_over(struct pst_timer *timer)
{
    struct pst_load_run *run = OWNER_OF(timer, struct pst_load_run, drain_timer);

    give_up(run);
    finish_if_done(run);
}

void pst_load_run_stop(struct pst_load_run *run)
{
    if (run->has_next)
        measured_until(run, pst_clock_now() - run->start);
    run->stopped = true;
    run->has_next = false;
    pst_timer_cancel(run->loop, &run->plan_timer);
    pst_timer_cancel(run->loop, &run->drain_timer);
    give_up(run);
}

int pst_load_run_new(struct pst_loop *loop, const struct pst_load_config *config,
                     struct pst_load_run **ret_run)
{
    struct pst_upstream_config upstream = {
        .host = config->host,
        .port = config->port,
        .connect_timeout = CONNECT_TIMEOUT,
        .idle_timeout = IDLE_TIMEOUT,
        .idle_max = config->connections_max,
        .head_max = HEAD_MAX,
    };
    struct pst_load_run *run;
    int rc = PST_E_NOMEM;

    if (config->mix_count == 0 || config->connections_max == 0)
        return PST_E_INVALID;
    run = calloc(1, sizeof *run);
    if (run == NULL)
        return PST_E_NOMEM;
    run->loop = loop;
    run->config = *config;
    run->plan_timer.fire = plan_due;
    run->drain_timer.fire = drain_over;
    run->class_of = calloc(config->mix_count, sizeof(struct pst_load_class *));
    if (run->class_of == NULL ||
        pst_load_tally_init(&run->tally, config->mix, config->mix_count) != PST_OK)
        goto fail;
    for (size_t i = 0; i < config->mix_count; i++)
        run->class_of[i] = pst_load_tally_class(&run->tally, config->mix[i].class_);
    rc = pst_upstream_new(loop, &upstream, &run->upstream);
    if (rc != PST_OK)
        goto fail;
    if (config->record != NULL)
        pst_load_record_header(config->record);
    run->start = run->finish = pst_clock_now();
    take_next(run);
    pst_timer_set(loop, &run->plan_timer, run->start + (run->has_next ? run->next_arrival.at : 0));
    *ret_run = run;
    return PST_OK;

fail:
    pst_load_run_free(run);
    return rc;
}

void pst_load_run_free(struct pst_load_run *run)
{
    if (run == NULL)
        return;
    pst_load_run_stop(run);
    if (run->upstream != NULL)
        pst_upstream_free(run->upstream);
    pst_load_tally_done(&run->tally);
    pst_text_done(&run->head);
    pst_text_done(&run->text);
    free(run->class_of);
    free(run);
}

void pst_load_run_progress(const struct pst_load_run *run, struct pst_load_progress *ret_progress)
{
    *ret_progress = (struct pst_load_progress){
        .elapsed = pst_clock_now() - run->start,
        .sent = run->sent,
        .in_flight = run->in_flight,
        .waiting = run->waiting,
    };
    for (int i = 0; i < PST_LOAD_OUTCOME_COUNT; i++)
        ret_progress->outcomes[i] = run->outcomes[i];
}

const struct pst_load_tally *pst_load_run_tally(const struct pst_load_run *run)
{
    return &run->tally;
}
