/* answer.c - see answer.h. */
#include "codec/answer.h"

#include <string.h>

/* What one whole event means for the answer it is part of. */
enum meaning {
    MEANS_NOTHING, /* it belongs to the envelope */
    MEANS_OUTPUT,
    MEANS_START, /* of the answer, without output: a role, an empty block */
    MEANS_FAILURE,
    MEANS_THE_END,
};

void pst_answer_init(struct pst_answer *answer, enum pst_answer_form form,
                     enum pst_answer_kind kind)
{
    memset(answer, 0, sizeof *answer);
    answer->form = form;
    answer->kind = kind;
    answer->at_boundary = true;
    pst_sse_init(&answer->sse);
    pst_report_init(&answer->report,
                    kind == PST_ANSWER_JSON ? PST_REPORT_ANSWER : PST_REPORT_EVENT);
}

static bool data_is_done(const struct pst_answer *answer)
{
    static const char done[] = "[DONE]";

    return answer->data_head_len == sizeof done - 1 &&
           memcmp(answer->data_head, done, sizeof done - 1) == 0;
}

static bool name_is(const char *name, size_t len, const char *want)
{
    return strlen(want) == len && memcmp(name, want, len) == 0;
}

static bool name_begins(const char *name, size_t len, const char *want)
{
    return len >= strlen(want) && memcmp(name, want, strlen(want)) == 0;
}

static bool name_ends(const char *name, size_t len, const char *want)
{
    return len >= strlen(want) && memcmp(name + len - strlen(want), want, strlen(want)) == 0;
}

/*
 * Output, or a chunk in which the tokenizer still holds a token's bytes back: no role, no finish. What
 * cannot be read is taken for output.
 */
static enum meaning openai_meaning(const struct pst_report *report)
{
    if (report->has_output || report->is_broken)
        return MEANS_OUTPUT;
    if (report->has_choices && !report->has_role && !report->has_finish)
        return MEANS_OUTPUT;
    return MEANS_START;
}

static enum meaning responses_meaning(const char *type, size_t len)
{
    if (name_is(type, len, "error") || name_is(type, len, "response.failed"))
        return MEANS_FAILURE;
    if (name_is(type, len, "response.completed") || name_is(type, len, "response.incomplete"))
        return MEANS_THE_END;
    if (name_ends(type, len, ".delta"))
        return MEANS_OUTPUT;
    if (name_begins(type, len, "response.output_item") ||
        name_begins(type, len, "response.content_part") || name_ends(type, len, ".done"))
        return MEANS_START;
    return MEANS_NOTHING;
}

static enum meaning messages_meaning(const char *type, size_t len)
{
    if (name_is(type, len, "error"))
        return MEANS_FAILURE;
    if (name_is(type, len, "message_stop"))
        return MEANS_THE_END;
    if (name_is(type, len, "content_block_delta"))
        return MEANS_OUTPUT;
    if (name_begins(type, len, "content_block_"))
        return MEANS_START;
    return MEANS_NOTHING;
}

static enum meaning meaning_of(const struct pst_answer *answer)
{
    const struct pst_report *report = &answer->report;
    const char *type = report->type;
    size_t len = report->type_len;

    if (answer->sse.name_len > 0 && answer->sse.name_len <= PST_SSE_NAME_MAX) {
        type = answer->sse.name;
        len = answer->sse.name_len;
    }
    if (report->has_error || (answer->sse.has_data && name_is(type, len, "error")))
        return MEANS_FAILURE;
    if (answer->sse.is_raw || !answer->sse.has_data)
        return MEANS_NOTHING;
    if (data_is_done(answer))
        return MEANS_THE_END;
    switch (answer->form) {
    case PST_ANSWER_OPENAI:
        return openai_meaning(report);
    case PST_ANSWER_RESPONSES:
        return responses_meaning(type, len);
    case PST_ANSWER_MESSAGES:
        return messages_meaning(type, len);
    case PST_ANSWER_PLAIN:
    case PST_ANSWER_FORM_COUNT:
        break;
    }
    return MEANS_OUTPUT;
}

static void take_usage(struct pst_answer *answer)
{
    if (answer->report.has_tokens_in)
        answer->tokens_in = answer->report.tokens_in;
    if (answer->report.has_tokens_out)
        answer->tokens_out = answer->report.tokens_out;
}

static void fail(struct pst_answer *answer)
{
    const struct pst_report *report = &answer->report;

    if (answer->failed)
        return; /* the first failure is the cause */
    answer->failed = true;
    answer->failed_first = !answer->begun;
    answer->error_code = report->status != 0 ? report->status : report->status_named;
}

static void judge_event(struct pst_answer *answer)
{
    enum meaning meaning = meaning_of(answer);

    take_usage(answer);
    switch (meaning) {
    case MEANS_NOTHING:
        break;
    case MEANS_FAILURE:
        fail(answer);
        break;
    case MEANS_OUTPUT:
        answer->data_events++;
        answer->begun |= !answer->failed;
        break;
    case MEANS_THE_END:
        answer->ended = true;
        answer->begun |= !answer->failed;
        break;
    case MEANS_START:
        answer->begun |= !answer->failed;
        break;
    }
    pst_report_init(&answer->report, PST_REPORT_EVENT);
    answer->data_head_len = 0;
}

static void take_data(struct pst_answer *answer, const struct pst_sse_text *text)
{
    size_t room = sizeof answer->data_head - answer->data_head_len;
    size_t add = text->len < room ? text->len : room;

    memcpy(answer->data_head + answer->data_head_len, text->at, add);
    answer->data_head_len = (uint8_t)(answer->data_head_len + add);
    pst_report_feed(&answer->report, text->at, text->len);
}

/* Up to and including the first event that changes the verdict. */
static size_t feed_events(struct pst_answer *answer, const char *data, size_t len)
{
    struct pst_sse_input input = {data, data + len};
    struct pst_sse_text text = {0};
    enum pst_sse_kind kind;
    bool begun = answer->begun, failed = answer->failed, ended = answer->ended;

    while ((kind = pst_sse_next(&answer->sse, &input, &text)) != PST_SSE_MORE) {
        if (kind == PST_SSE_DATA)
            take_data(answer, &text);
        else if (kind == PST_SSE_RAW)
            pst_report_feed(&answer->report, text.at, text.len);
        else
            judge_event(answer);
        if (answer->begun == begun && answer->failed == failed && answer->ended == ended)
            continue;
        if (input.at > data)
            break;
        input.end = data + 1; /* the line behind it ended the event: its first byte goes along */
    }
    answer->at_boundary = pst_sse_at_boundary(&answer->sse);
    return (size_t)(input.at - data);
}

size_t pst_answer_feed(struct pst_answer *answer, const char *data, size_t len)
{
    if (len == 0)
        return 0;
    if (answer->kind == PST_ANSWER_EVENTS)
        return feed_events(answer, data, len);
    answer->begun = true;
    answer->at_boundary = false;
    if (answer->kind == PST_ANSWER_JSON) {
        pst_report_feed(&answer->report, data, len);
        take_usage(answer);
    }
    return len;
}

void pst_answer_end(struct pst_answer *answer)
{
    bool is_complete;

    if (answer->kind != PST_ANSWER_EVENTS) {
        answer->ended = true;
        return;
    }
    /* What came after the last blank line is judged only when it is complete in itself. */
    is_complete = pst_report_is_whole(&answer->report) || data_is_done(answer);
    if (answer->sse.is_open && (is_complete || answer->report.has_error))
        judge_event(answer);
    if (answer->form == PST_ANSWER_PLAIN && !answer->failed)
        answer->ended = true;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool pst_answer_is_loading(uint16_t status, const char *body, size_t len)
{
    static const char word[] = "loading";
    const size_t word_len = sizeof word - 1;

    if (status != 503)
        return false;
    for (size_t at = 0; at + word_len <= len; at++) {
        size_t same = 0;

        while (same < word_len && lower(body[at + same]) == word[same])
            same++;
        if (same == word_len)
            return true;
    }
    return false;
}
