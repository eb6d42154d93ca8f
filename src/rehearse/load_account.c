/*
 * load_account.c - one request, one outcome, one line.
 */
#include "rehearse/load_request.h"

#include "core/num.h"

static bool is_refusal(const struct pst_load_request *request)
{
    if (request->status == 429 || request->status == 529)
        return true;
    return request->status == 503 && request->may_retry;
}

enum pst_load_outcome pst_load_outcome_of(const struct pst_load_request *request,
                                          enum pst_call_end how)
{
    if (how != PST_CALL_DONE)
        return PST_LOAD_FAILED;
    if (request->ttl_expired)
        return PST_LOAD_EXPIRED;
    if (is_refusal(request))
        return PST_LOAD_REFUSED;
    if (request->status / 100 != 2)
        return PST_LOAD_FAILED;
    if (request->answer.failed || (request->events && !request->answer.ended))
        return PST_LOAD_FAILED; /* 200 is only how it began */
    return PST_LOAD_COMPLETED;
}

static pst_ns wait_seen(const struct pst_load_request *request)
{
    if (request->engine_service == PST_NEVER || request->first == 0)
        return PST_NEVER;
    return pst_sub_sat(request->first - request->intended, request->engine_service);
}

static void add_times(struct pst_load_class *class_, const struct pst_load_request *request,
                      pst_ns now)
{
    pst_ns seen = wait_seen(request), told = request->wait_told;

    if (told != PST_NEVER)
        pst_hist_add(&class_->wait_told, told);
    if (seen != PST_NEVER)
        pst_hist_add(&class_->wait_seen, seen);
    if (told != PST_NEVER && seen != PST_NEVER)
        pst_hist_add(&class_->wait_apart, told > seen ? told - seen : seen - told);
    if (request->first != 0)
        pst_hist_add(&class_->first, request->first - request->intended);
    pst_hist_add(&class_->total, now - request->intended);
    class_->tokens_in += request->answer.tokens_in;
    class_->tokens_out +=
        request->answer.tokens_out != 0 ? request->answer.tokens_out : request->answer.data_events;
}

static void add_failure(struct pst_load_tally *tally, const struct pst_load_request *request,
                        enum pst_call_end how)
{
    if (how != PST_CALL_DONE)
        tally->ends[how]++;
    else if (request->status / 100 == 2)
        tally->broken_streams++;
    else
        tally->statuses[request->status < PST_LOAD_STATUS_MAX ? request->status : 0]++;
}

void pst_load_record_header(FILE *file)
{
    fputs("intended_us,class,prompt_tokens,output_tokens,outcome,status,tries,late_us,wait_told_us,"
          "wait_seen_us,first_us,total_us,tokens_in,tokens_out\n",
          file);
}

static void print_us(FILE *file, pst_ns value)
{
    if (value == PST_NEVER)
        fputc(',', file);
    else
        fprintf(file, ",%llu", (unsigned long long)(value / PST_US));
}

static void record(const struct pst_load_request *request, const struct pst_load_class *class_,
                   enum pst_load_outcome outcome, pst_ns now)
{
    const struct pst_load_run *run = request->run;
    FILE *file = run->config.record;
    bool answered = request->status != 0;

    fprintf(file, "%llu,%s,%u,%u,%s,%u,%u",
            (unsigned long long)((request->intended - run->start) / PST_US), class_->name,
            request->arrival.prompt_tokens, request->arrival.output_tokens,
            pst_load_outcome_name(outcome), request->status, request->tries);
    print_us(file, request->sent == 0 ? PST_NEVER : request->sent - request->intended);
    print_us(file, request->wait_told);
    print_us(file, wait_seen(request));
    print_us(file, request->first == 0 ? PST_NEVER : request->first - request->intended);
    print_us(file, now - request->intended);
    fprintf(file, ",%u,%u\n", answered ? request->answer.tokens_in : 0,
            answered ? request->answer.tokens_out : 0);
}

void pst_load_account(struct pst_load_request *request, enum pst_load_outcome outcome,
                      enum pst_call_end how, pst_ns now)
{
    struct pst_load_run *run = request->run;
    struct pst_load_class *class_ = run->class_of[request->arrival.traffic];

    run->outcomes[outcome]++;
    run->finish = now;
    if (run->config.record != NULL)
        record(request, class_, outcome, now);
    if (request->intended < run->start + run->config.warmup) {
        run->tally.unmeasured++;
        return;
    }
    class_->sent++;
    class_->outcomes[outcome]++;
    class_->retries += request->tries;
    class_->refused_bare += outcome == PST_LOAD_REFUSED && !request->may_retry;
    if (outcome == PST_LOAD_COMPLETED)
        add_times(class_, request, now);
    if (outcome == PST_LOAD_FAILED)
        add_failure(&run->tally, request, how);
}
