/*
 * load_mix.h - one stream of like requests, written as a line: who asks, how often, for how much.
 *
 *   class=high,rate=200,arrivals=poisson,prompt=64,output=16,stream=1,tenant=KEY
 *
 *   class      X-Priority; also the row of the report
 *   rate       requests a second; not with a trace
 *   share      with a trace: weight of this stream among those that may take a row
 *   arrivals   poisson (default), const, gamma:CV, pareto:ALPHA, lognormal:CV
 *   prompt     tokens, a law of counts: 64, lognormal:1:512
 *   output     max_tokens, a law of counts; 0: not said
 *   stream     1: a stream of events
 *   usage      0: do not ask a stream for its usage
 *   path       default /v1/chat/completions
 *   model, tenant (a key), type (X-Request-Type)
 */
#ifndef PST_REHEARSE_LOAD_MIX_H
#define PST_REHEARSE_LOAD_MIX_H

#include "codec/answer.h"
#include "model/law.h"

#define PST_LOAD_NAME_MAX 128

enum pst_load_form {
    PST_LOAD_CHAT,
    PST_LOAD_COMPLETION,
    PST_LOAD_RESPONSES,
    PST_LOAD_MESSAGES,
    PST_LOAD_EMBEDDINGS,
    PST_LOAD_FORM_COUNT
};

struct pst_load_traffic {
    char class_[PST_LOAD_NAME_MAX], type[PST_LOAD_NAME_MAX], model[PST_LOAD_NAME_MAX];
    char tenant[PST_LOAD_NAME_MAX], path[PST_LOAD_NAME_MAX];
    enum pst_load_form form;
    enum pst_answer_form answer;
    double rate; /* requests a second; 0: none of its own */
    double share;
    struct pst_law gap; /* mean 1 / rate, ns */
    struct pst_law prompt, output;
    bool prompt_given, output_given; /* they go before a trace's */
    bool stream, usage;
};

/* PST_OK, or PST_E_SYNTAX and *ret_why (English, static). */
int pst_load_mix_read(const char *text, struct pst_load_traffic *ret_traffic, const char **ret_why);

#endif
