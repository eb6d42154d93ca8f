/*
 * engine_forms.c - answers of /v1/messages and /v1/responses: events with names, and an end of their own.
 */
#include "rehearse/engine_text.h"

static unsigned long long all_output(const struct pst_engine_answer *answer)
{
    return (unsigned long long)answer->output_tokens * answer->sequences;
}

void pst_engine_messages_whole(const struct pst_engine_answer *answer, struct pst_text *text)
{
    pst_text_print(
        text,
        "{\"id\":\"msg_%s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"%s\","
        "\"content\":[{\"type\":\"text\",\"text\":\"",
        answer->id, answer->model);
    pst_engine_text_words(0, answer->output_tokens, text);
    pst_text_print(text,
                   "\"}],\"stop_reason\":\"%s\",\"stop_sequence\":null,"
                   "\"usage\":{\"input_tokens\":%u,\"output_tokens\":%llu}}",
                   answer->limited ? "max_tokens" : "end_turn", answer->prompt_tokens,
                   all_output(answer));
}

void pst_engine_messages_lead(const struct pst_engine_answer *answer, struct pst_text *text)
{
    pst_text_print(text,
                   "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{"
                   "\"id\":\"msg_%s\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"%s\","
                   "\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,"
                   "\"usage\":{\"input_tokens\":%u,\"output_tokens\":0}}}\n\n"
                   "event: content_block_start\ndata: {\"type\":\"content_block_start\","
                   "\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
                   answer->id, answer->model, answer->prompt_tokens);
}

void pst_engine_messages_tokens(uint32_t number, struct pst_text *text)
{
    pst_text_put(text, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\","
                       "\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"");
    pst_engine_text_words(number - 1, 1, text);
    pst_text_put(text, "\"}}\n\n");
}

void pst_engine_messages_tail(const struct pst_engine_answer *answer, struct pst_text *text)
{
    pst_text_print(
        text,
        "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"
        "\"stop_reason\":\"%s\",\"stop_sequence\":null},"
        "\"usage\":{\"output_tokens\":%llu}}\n\n"
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        answer->limited ? "max_tokens" : "end_turn", all_output(answer));
}

/* The response object; `done`: with its output and usage. */
static void add_response(const struct pst_engine_answer *answer, bool done, struct pst_text *text)
{
    pst_text_print(
        text,
        "{\"id\":\"resp_%s\",\"object\":\"response\",\"created_at\":%llu,\"status\":\"%s\","
        "\"error\":null,\"incomplete_details\":null,\"model\":\"%s\",\"output\":[",
        answer->id, (unsigned long long)answer->created, done ? "completed" : "in_progress",
        answer->model);
    if (!done) {
        pst_text_put(text, "],\"usage\":null}");
        return;
    }
    pst_text_print(text,
                   "{\"id\":\"item_%s\",\"type\":\"message\",\"status\":\"completed\","
                   "\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
                   "\"annotations\":[],\"text\":\"",
                   answer->id);
    pst_engine_text_words(0, answer->output_tokens, text);
    pst_text_print(text,
                   "\"}]}],\"usage\":{\"input_tokens\":%u,\"output_tokens\":%llu,"
                   "\"total_tokens\":%llu}}",
                   answer->prompt_tokens, all_output(answer),
                   answer->prompt_tokens + all_output(answer));
}

void pst_engine_responses_whole(const struct pst_engine_answer *answer, struct pst_text *text)
{
    add_response(answer, true, text);
}

void pst_engine_responses_lead(const struct pst_engine_answer *answer, struct pst_text *text)
{
    pst_text_put(text, "event: response.created\ndata: {\"type\":\"response.created\","
                       "\"sequence_number\":0,\"response\":");
    add_response(answer, false, text);
    pst_text_print(text,
                   "}\n\nevent: response.output_item.added\ndata: {"
                   "\"type\":\"response.output_item.added\",\"sequence_number\":1,"
                   "\"output_index\":0,\"item\":{\"id\":\"item_%s\",\"type\":\"message\","
                   "\"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}}\n\n",
                   answer->id);
}

void pst_engine_responses_tokens(const struct pst_engine_answer *answer, uint32_t number,
                                 struct pst_text *text)
{
    pst_text_print(text,
                   "event: response.output_text.delta\ndata: {"
                   "\"type\":\"response.output_text.delta\",\"sequence_number\":%u,"
                   "\"item_id\":\"item_%s\",\"output_index\":0,\"content_index\":0,\"delta\":\"",
                   number + 1, answer->id);
    pst_engine_text_words(number - 1, 1, text);
    pst_text_put(text, "\"}\n\n");
}

void pst_engine_responses_tail(const struct pst_engine_answer *answer, struct pst_text *text)
{
    pst_text_print(text,
                   "event: response.output_text.done\ndata: {"
                   "\"type\":\"response.output_text.done\",\"sequence_number\":%u,"
                   "\"item_id\":\"item_%s\",\"output_index\":0,\"content_index\":0,\"text\":\"",
                   answer->output_tokens + 2, answer->id);
    pst_engine_text_words(0, answer->output_tokens, text);
    pst_text_print(text,
                   "\"}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\","
                   "\"sequence_number\":%u,\"response\":",
                   answer->output_tokens + 3);
    add_response(answer, true, text);
    pst_text_put(text, "}\n\n");
}
