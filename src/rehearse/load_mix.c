#include "rehearse/load_mix.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *path;
    enum pst_load_form form;
    enum pst_answer_form answer;
} forms[] = {
    {"/v1/chat/completions", PST_LOAD_CHAT, PST_ANSWER_OPENAI},
    {"/v1/completions", PST_LOAD_COMPLETION, PST_ANSWER_OPENAI},
    {"/v1/responses", PST_LOAD_RESPONSES, PST_ANSWER_RESPONSES},
    {"/v1/messages", PST_LOAD_MESSAGES, PST_ANSWER_MESSAGES},
    {"/v1/embeddings", PST_LOAD_EMBEDDINGS, PST_ANSWER_PLAIN},
};

static const char *read_number(const char *value, double *ret_number)
{
    struct pst_law law;
    const char *why;

    if (pst_law_read(value, strlen(value), PST_LAW_NUMBER, &law, &why) != PST_OK ||
        law.kind != PST_LAW_CONST)
        return "a number is wanted, as 200 or 0.5";
    *ret_number = law.mean;
    return NULL;
}

static const char *read_flag(const char *value, bool *ret_flag)
{
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        return "0 or 1 is wanted";
    *ret_flag = *value == '1';
    return NULL;
}

/* A name goes into a header or a JSON string as it is. */
static const char *read_name(const char *value, char name[static PST_LOAD_NAME_MAX])
{
    size_t len = strlen(value);

    if (len == 0 || len >= PST_LOAD_NAME_MAX)
        return "a name has 1 to 127 bytes";
    for (const char *c = value; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~' || *c == '"' || *c == '\\')
            return "a name is printable ASCII without quotes, backslashes and spaces";
    memcpy(name, value, len + 1);
    return NULL;
}

/* A law of gaps with mean 1: "gamma:2" is gamma:2:1. */
static const char *read_arrivals(const char *value, struct pst_law *ret_gap)
{
    const char *why = NULL;
    char text[64];

    if (strchr(value, ':') == NULL)
        snprintf(text, sizeof text, "%s:1", strcmp(value, "poisson") == 0 ? "exp" : value);
    else
        snprintf(text, sizeof text, "%s:1", value);
    if (pst_law_read(text, strlen(text), PST_LAW_NUMBER, ret_gap, &why) != PST_OK)
        return why;
    if (ret_gap->kind == PST_LAW_UNIFORM || ret_gap->kind == PST_LAW_TOKENS)
        return "arrivals are poisson, const, gamma:CV, lognormal:CV or pareto:ALPHA";
    return NULL;
}

static const char *read_path(const char *value, struct pst_load_traffic *traffic)
{
    for (size_t i = 0; i < PST_COUNT_OF(forms); i++) {
        if (strcmp(value, forms[i].path) == 0) {
            traffic->form = forms[i].form;
            traffic->answer = forms[i].answer;
            return read_name(value, traffic->path);
        }
    }
    return "the path is none of /v1/chat/completions, completions, responses, messages, embeddings";
}

static const char *read_count(const char *value, struct pst_law *ret_law, bool *ret_given)
{
    const char *why = NULL;

    *ret_given = true;
    pst_law_read(value, strlen(value), PST_LAW_NUMBER, ret_law, &why);
    return why;
}

static const char *read_pair(const char *key, const char *value, struct pst_load_traffic *traffic)
{
    if (strcmp(key, "class") == 0)
        return read_name(value, traffic->class_);
    if (strcmp(key, "rate") == 0)
        return read_number(value, &traffic->rate);
    if (strcmp(key, "share") == 0)
        return read_number(value, &traffic->share);
    if (strcmp(key, "arrivals") == 0)
        return read_arrivals(value, &traffic->gap);
    if (strcmp(key, "prompt") == 0)
        return read_count(value, &traffic->prompt, &traffic->prompt_given);
    if (strcmp(key, "output") == 0)
        return read_count(value, &traffic->output, &traffic->output_given);
    if (strcmp(key, "stream") == 0)
        return read_flag(value, &traffic->stream);
    if (strcmp(key, "usage") == 0)
        return read_flag(value, &traffic->usage);
    if (strcmp(key, "path") == 0)
        return read_path(value, traffic);
    if (strcmp(key, "model") == 0)
        return read_name(value, traffic->model);
    if (strcmp(key, "tenant") == 0)
        return read_name(value, traffic->tenant);
    if (strcmp(key, "type") == 0)
        return read_name(value, traffic->type);
    return "the keys are class, rate, share, arrivals, prompt, output, stream, usage, path, model, "
           "tenant and type";
}

int pst_load_mix_read(const char *text, struct pst_load_traffic *ret_traffic, const char **ret_why)
{
    struct pst_load_traffic traffic = {
        .path = "/v1/chat/completions",
        .answer = PST_ANSWER_OPENAI,
        .share = 1.0,
        .usage = true,
        .gap = {.kind = PST_LAW_EXP, .mean = 1.0},
        .prompt = {.kind = PST_LAW_CONST, .mean = 64.0},
        .output = {.kind = PST_LAW_CONST, .mean = 16.0},
    };
    char copy[1024], *save = NULL;

    *ret_why = "the line is too long";
    if (strlen(text) >= sizeof copy)
        return PST_E_SYNTAX;
    memcpy(copy, text, strlen(text) + 1);
    for (char *pair = strtok_r(copy, ",", &save); pair; pair = strtok_r(NULL, ",", &save)) {
        char *value = strchr(pair, '=');

        *ret_why = "KEY=VALUE is wanted, separated by commas";
        if (value == NULL)
            return PST_E_SYNTAX;
        *value++ = '\0';
        *ret_why = read_pair(pair, value, &traffic);
        if (*ret_why != NULL)
            return PST_E_SYNTAX;
    }
    if (traffic.rate > 0.0)
        traffic.gap = pst_law_scaled(&traffic.gap, 1e9 / traffic.rate);
    *ret_traffic = traffic;
    return PST_OK;
}
