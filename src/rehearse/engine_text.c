#include "rehearse/engine_text.h"

#include "core/prng.h"

static const char words[] = " water flows where gates allow"
                            " steel pipes carry every river"
                            " under heavy loads while slope";

/* Status and type by engine. Source: answers of vLLM 0.32 and llama.cpp's server. */
static const struct {
    uint16_t status;
    const char *type[PST_ENGINE_LIKE_COUNT];
    const char *message[PST_ENGINE_LIKE_COUNT];
} errors[PST_ENGINE_ERROR_COUNT] = {
    [PST_ENGINE_ERROR_SYNTAX] = {400,
                                 {"Bad Request", "invalid_request_error"},
                                 {"The request body is not valid", "Failed to parse the request"}},
    [PST_ENGINE_ERROR_TOO_LONG] = {400,
                                   {"BadRequestError", "exceed_context_size_error"},
                                   {"The prompt is longer than the maximum model length",
                                    "the request exceeds the available context size"}},
    [PST_ENGINE_ERROR_MODEL] = {404,
                                {"NotFoundError", "not_found_error"},
                                {"This model does not exist", "This model does not exist"}},
    [PST_ENGINE_ERROR_PATH] = {404,
                               {"NotFoundError", "not_found_error"},
                               {"Not Found", "File Not Found"}},
    [PST_ENGINE_ERROR_METHOD] = {405,
                                 {"Method Not Allowed", "invalid_request_error"},
                                 {"Method Not Allowed", "Method Not Allowed"}},
    [PST_ENGINE_ERROR_BUSY] = {503,
                               {"ServiceUnavailableError", "unavailable_error"},
                               {"The engine is currently busy, please try again later",
                                "The server is currently busy"}},
    [PST_ENGINE_ERROR_LOADING] = {503,
                                  {"ServiceUnavailableError", "unavailable_error"},
                                  {"Loading model", "Loading model"}},
    [PST_ENGINE_ERROR_INTERNAL] = {500,
                                   {"InternalServerError", "server_error"},
                                   {"The engine has encountered an issue",
                                    "The server had an error"}},
};

uint16_t pst_engine_error_status(enum pst_engine_error error)
{
    return errors[error].status;
}

static void add_error_object(enum pst_engine_like like, enum pst_engine_error error,
                             const char *detail, struct pst_text *text)
{
    struct pst_text message = {0};

    pst_text_put(&message, errors[error].message[like]);
    if (detail != NULL)
        pst_text_print(&message, ": %s", detail);
    pst_text_put(text, "{\"message\":");
    pst_text_quote(text, message.broken ? "" : message.at);
    pst_text_print(text, ",\"type\":\"%s\"%s,\"code\":%u}", errors[error].type[like],
                   like == PST_ENGINE_LIKE_VLLM ? ",\"param\":null" : "", errors[error].status);
    pst_text_done(&message);
}

void pst_engine_text_error(enum pst_engine_like like, enum pst_engine_form form,
                           enum pst_engine_error error, const char *detail, struct pst_text *text)
{
    pst_text_put(text,
                 form == PST_ENGINE_MESSAGES ? "{\"type\":\"error\",\"error\":" : "{\"error\":");
    add_error_object(like, error, detail, text);
    pst_text_put(text, "}");
}

void pst_engine_text_words(uint32_t from, uint32_t count, struct pst_text *text)
{
    const uint32_t cycle = (sizeof words - 1) / PST_ENGINE_TOKEN_BYTES;

    while (count > 0) {
        uint32_t first = from % cycle;
        uint32_t take = count < cycle - first ? count : cycle - first;

        pst_text_add(text, words + (size_t)first * PST_ENGINE_TOKEN_BYTES,
                     (size_t)take * PST_ENGINE_TOKEN_BYTES);
        from += take;
        count -= take;
    }
}

static void add_usage(const struct pst_engine_answer *answer, struct pst_text *text)
{
    uint64_t output = (uint64_t)answer->output_tokens * answer->sequences;
    uint64_t total = answer->prompt_tokens + output;

    pst_text_print(text, "{\"prompt_tokens\":%u,\"completion_tokens\":%llu,\"total_tokens\":%llu}",
                   answer->prompt_tokens, (unsigned long long)output, (unsigned long long)total);
}

static void add_head(const struct pst_engine_answer *answer, const char *object,
                     struct pst_text *text)
{
    pst_text_print(text, "{\"id\":\"%s-%s\",\"object\":\"%s\",\"created\":%llu,\"model\":\"%s\",",
                   answer->form == PST_ENGINE_CHAT ? "chatcmpl" : "cmpl", answer->id, object,
                   (unsigned long long)answer->created, answer->model);
}

static const char *finish_reason(const struct pst_engine_answer *answer)
{
    return answer->limited ? "length" : "stop";
}

static void add_whole_choices(const struct pst_engine_answer *answer, struct pst_text *text)
{
    bool chat = answer->form == PST_ENGINE_CHAT;

    for (uint32_t i = 0; i < answer->sequences; i++) {
        pst_text_print(text, "%s{\"index\":%u,%s", i == 0 ? "" : ",", i,
                       chat ? "\"message\":{\"role\":\"assistant\",\"content\":\"" : "\"text\":\"");
        pst_engine_text_words(0, answer->output_tokens, text);
        pst_text_print(text, "\"%s,\"logprobs\":null,\"finish_reason\":\"%s\"}", chat ? "}" : "",
                       finish_reason(answer));
    }
}

static void add_embeddings(const struct pst_engine_answer *answer, struct pst_text *text)
{
    struct pst_prng prng;

    pst_text_put(text, "{\"object\":\"list\",\"data\":[");
    for (uint32_t i = 0; i < answer->sequences; i++) {
        pst_prng_init(&prng, i);
        pst_text_print(text, "%s{\"object\":\"embedding\",\"index\":%u,\"embedding\":[",
                       i == 0 ? "" : ",", i);
        for (int n = 0; n < 8; n++)
            pst_text_print(text, "%s%.6f", n == 0 ? "" : ",", pst_prng_unit(&prng) * 2 - 1);
        pst_text_put(text, "]}");
    }
    pst_text_print(text, "],\"model\":\"%s\",\"usage\":{\"prompt_tokens\":%u,\"total_tokens\":%u}}",
                   answer->model, answer->prompt_tokens, answer->prompt_tokens);
}

void pst_engine_text_whole(const struct pst_engine_answer *answer, struct pst_text *text)
{
    switch (answer->form) {
    case PST_ENGINE_CHAT:
    case PST_ENGINE_COMPLETION:
        add_head(answer, answer->form == PST_ENGINE_CHAT ? "chat.completion" : "text_completion",
                 text);
        pst_text_put(text, "\"choices\":[");
        add_whole_choices(answer, text);
        pst_text_put(text, "],\"usage\":");
        add_usage(answer, text);
        pst_text_put(text, "}");
        return;
    case PST_ENGINE_RESPONSES:
        pst_engine_responses_whole(answer, text);
        return;
    case PST_ENGINE_MESSAGES:
        pst_engine_messages_whole(answer, text);
        return;
    case PST_ENGINE_EMBEDDINGS:
        add_embeddings(answer, text);
        return;
    case PST_ENGINE_FORM_COUNT:
        break;
    }
    PST_ASSERT(false);
}

/* One event of one choice: number 0 is the role, 1 … n a token, beyond it the finish. */
static void add_chunk(const struct pst_engine_answer *answer, uint32_t choice, uint32_t number,
                      struct pst_text *text)
{
    bool chat = answer->form == PST_ENGINE_CHAT;
    bool finish = number > answer->output_tokens;

    pst_text_put(text, "data: ");
    add_head(answer, chat ? "chat.completion.chunk" : "text_completion", text);
    pst_text_print(text, "\"choices\":[{\"index\":%u,%s", choice,
                   chat ? "\"delta\":{" : "\"text\":\"");
    if (chat && number == 0)
        pst_text_put(text, "\"role\":\"assistant\",");
    if (chat && !finish)
        pst_text_put(text, "\"content\":\"");
    if (number > 0 && !finish)
        pst_engine_text_words(number - 1, 1, text);
    pst_text_put(text, chat ? (finish ? "}" : "\"}") : "\"");
    if (finish)
        pst_text_print(text, ",\"logprobs\":null,\"finish_reason\":\"%s\"}]}\n\n",
                       finish_reason(answer));
    else
        pst_text_put(text, ",\"logprobs\":null,\"finish_reason\":null}]}\n\n");
}

void pst_engine_text_lead(const struct pst_engine_answer *answer, struct pst_text *text)
{
    if (answer->form == PST_ENGINE_MESSAGES)
        pst_engine_messages_lead(answer, text);
    else if (answer->form == PST_ENGINE_RESPONSES)
        pst_engine_responses_lead(answer, text);
    else if (answer->form == PST_ENGINE_CHAT)
        for (uint32_t i = 0; i < answer->sequences; i++)
            add_chunk(answer, i, 0, text);
}

void pst_engine_text_tokens(const struct pst_engine_answer *answer, uint32_t number,
                            struct pst_text *text)
{
    if (answer->form == PST_ENGINE_MESSAGES)
        pst_engine_messages_tokens(number, text);
    else if (answer->form == PST_ENGINE_RESPONSES)
        pst_engine_responses_tokens(answer, number, text);
    else
        for (uint32_t i = 0; i < answer->sequences; i++)
            add_chunk(answer, i, number, text);
}

void pst_engine_text_tail(const struct pst_engine_answer *answer, struct pst_text *text)
{
    if (answer->form == PST_ENGINE_MESSAGES) {
        pst_engine_messages_tail(answer, text);
        return;
    }
    if (answer->form == PST_ENGINE_RESPONSES) {
        pst_engine_responses_tail(answer, text);
        return;
    }
    for (uint32_t i = 0; i < answer->sequences; i++)
        add_chunk(answer, i, answer->output_tokens + 1, text);
    if (answer->include_usage) {
        pst_text_put(text, "data: ");
        add_head(answer,
                 answer->form == PST_ENGINE_CHAT ? "chat.completion.chunk" : "text_completion",
                 text);
        pst_text_put(text, "\"choices\":[],\"usage\":");
        add_usage(answer, text);
        pst_text_put(text, "}\n\n");
    }
    pst_text_put(text, "data: [DONE]\n\n");
}

void pst_engine_text_failure(const struct pst_engine_answer *answer, enum pst_engine_error error,
                             struct pst_text *text)
{
    switch (answer->form) {
    case PST_ENGINE_MESSAGES:
        pst_text_put(text, "event: error\ndata: ");
        pst_engine_text_error(answer->like, answer->form, error, NULL, text);
        pst_text_put(text, "\n\n");
        return;
    case PST_ENGINE_RESPONSES:
        pst_text_print(text,
                       "event: error\ndata: {\"type\":\"error\",\"code\":\"%u\",\"message\":\"%s\","
                       "\"param\":null}\n\n",
                       errors[error].status, errors[error].message[answer->like]);
        return;
    case PST_ENGINE_CHAT:
    case PST_ENGINE_COMPLETION:
    case PST_ENGINE_EMBEDDINGS:
        pst_text_put(text, "data: ");
        pst_engine_text_error(answer->like, answer->form, error, NULL, text);
        pst_text_put(text, "\n\ndata: [DONE]\n\n");
        return;
    case PST_ENGINE_FORM_COUNT:
        break;
    }
    PST_ASSERT(false);
}
