/* report.c - see report.h. */
#include "codec/report.h"

#include <string.h>

enum place {
    AT_ROOT = PST_WALK_ROOT,
    AT_TYPE,
    AT_OBJECT,
    AT_ERROR,    /* makes the text an error unless null */
    AT_DETAIL,   /* an error's details inside an envelope: only its code is read */
    AT_ENVELOPE, /* "response", "message": the answer as an object of its own */
    AT_CODE,
    AT_USAGE,
    AT_TOKENS_IN,
    AT_TOKENS_OUT,
    AT_CHOICES,
    AT_CHOICE,
    AT_DELTA,
    AT_ROLE,
    AT_OUTPUT,
    AT_FINISH,
    AT_COUNT
};

#define EVENT PST_REPORT_EVENT
#define ANY   (PST_REPORT_EVENT | PST_REPORT_ANSWER)

static const struct pst_walk_rule in_root[] = {
    {EVENT, AT_TYPE, PST_WALK_KEY("type")},
    {EVENT, AT_OBJECT, PST_WALK_KEY("object")},
    {EVENT, AT_ERROR, PST_WALK_KEY("error")},
    {EVENT, AT_CODE, PST_WALK_KEY("code")},
    {EVENT, AT_CODE, PST_WALK_KEY("error_type")},
    {EVENT, AT_ENVELOPE, PST_WALK_KEY("response")},
    {EVENT, AT_ENVELOPE, PST_WALK_KEY("message")},
    {ANY, AT_USAGE, PST_WALK_KEY("usage")},
    {ANY, AT_USAGE, PST_WALK_KEY("details")},              /* TGI */
    {ANY, AT_USAGE, PST_WALK_KEY("meta_info")},            /* SGLang */
    {ANY, AT_TOKENS_IN, PST_WALK_KEY("tokens_evaluated")}, /* llama.cpp */
    {ANY, AT_TOKENS_OUT, PST_WALK_KEY("tokens_predicted")},
    {EVENT, AT_CHOICES, PST_WALK_KEY("choices")},
};

static const struct pst_walk_rule in_envelope[] = {
    {EVENT, AT_USAGE, PST_WALK_KEY("usage")},
    {EVENT, AT_DETAIL, PST_WALK_KEY("error")},
};

static const struct pst_walk_rule in_error[] = {
    {EVENT, AT_CODE, PST_WALK_KEY("code")},
    {EVENT, AT_CODE, PST_WALK_KEY("type")},
};

static const struct pst_walk_rule in_detail[] = {
    {EVENT, AT_CODE, PST_WALK_KEY("code")},
    {EVENT, AT_CODE, PST_WALK_KEY("type")},
};

static const struct pst_walk_rule in_usage[] = {
    {ANY, AT_TOKENS_IN, PST_WALK_KEY("prompt_tokens")},
    {ANY, AT_TOKENS_IN, PST_WALK_KEY("input_tokens")},
    {ANY, AT_TOKENS_IN, PST_WALK_KEY("input_length")},
    {ANY, AT_TOKENS_OUT, PST_WALK_KEY("completion_tokens")},
    {ANY, AT_TOKENS_OUT, PST_WALK_KEY("output_tokens")},
    {ANY, AT_TOKENS_OUT, PST_WALK_KEY("generated_tokens")},
};

static const struct pst_walk_rule in_choices[] = {
    {EVENT, AT_CHOICE, PST_WALK_ELEMENT},
};

static const struct pst_walk_rule in_choice[] = {
    {EVENT, AT_OUTPUT, PST_WALK_KEY("text")},
    {EVENT, AT_DELTA, PST_WALK_KEY("delta")},
    {EVENT, AT_DELTA, PST_WALK_KEY("message")},
    {EVENT, AT_FINISH, PST_WALK_KEY("finish_reason")},
};

static const struct pst_walk_rule in_delta[] = {
    {EVENT, AT_ROLE, PST_WALK_KEY("role")},
    {EVENT, AT_OUTPUT, PST_WALK_ANY_KEY},
};

static const struct pst_walk_rule in_output[] = {
    {EVENT, AT_OUTPUT, PST_WALK_ELEMENT},
    {EVENT, AT_OUTPUT, PST_WALK_ANY_KEY},
};

static const struct pst_walk_place map[AT_COUNT] = {
    [AT_ROOT] = PST_WALK_RULES(in_root),     [AT_ENVELOPE] = PST_WALK_RULES(in_envelope),
    [AT_ERROR] = PST_WALK_RULES(in_error),   [AT_DETAIL] = PST_WALK_RULES(in_detail),
    [AT_USAGE] = PST_WALK_RULES(in_usage),   [AT_CHOICES] = PST_WALK_RULES(in_choices),
    [AT_CHOICE] = PST_WALK_RULES(in_choice), [AT_DELTA] = PST_WALK_RULES(in_delta),
    [AT_OUTPUT] = PST_WALK_RULES(in_output),
};

void pst_report_init(struct pst_report *report, enum pst_report_of of)
{
    pst_walk_init(&report->walk, map, (uint8_t)of);
    report->is_broken = false;
    report->has_error = false;
    report->has_usage = false;
    report->has_tokens_in = false;
    report->has_tokens_out = false;
    report->has_output = false;
    report->has_choices = false;
    report->has_role = false;
    report->has_finish = false;
    report->status = 0;
    report->status_named = 0;
    report->tokens_in = 0;
    report->tokens_out = 0;
    report->word_len = 0;
    report->type_len = 0;
}

static bool word_is(const struct pst_report *report, const char *word)
{
    return strlen(word) == report->word_len && memcmp(word, report->word, report->word_len) == 0;
}

static void take_code_word(struct pst_report *report)
{
    static const struct {
        const char *name;
        uint16_t status;
    } names[] = {
        {"overloaded_error", 529},    {"overloaded", 429}, /* Anthropic, TGI */
        {"rate_limit_error", 429},    {"rate_limit_exceeded", 429},
        {"service_unavailable", 503}, {"unavailable_error", 503}, /* llama.cpp */
        {"server_error", 500},        {"api_error", 500},
    };
    uint16_t number = 0;

    for (size_t i = 0; i < PST_COUNT_OF(names); i++)
        if (word_is(report, names[i].name))
            report->status_named = names[i].status;
    if (report->word_len != 3)
        return;
    for (size_t i = 0; i < 3; i++) {
        if (report->word[i] < '0' || report->word[i] > '9')
            return;
        number = (uint16_t)(number * 10 + (report->word[i] - '0'));
    }
    if (number >= 100 && number <= 599)
        report->status = number;
}

static void add_word(struct pst_report *report, const struct pst_json_text *text)
{
    if (report->word_len + text->len > PST_REPORT_WORD_MAX) {
        report->word_len = PST_REPORT_WORD_MAX + 1;
        return;
    }
    memcpy(report->word + report->word_len, text->at, text->len);
    report->word_len = (uint8_t)(report->word_len + text->len);
}

static void take_text(struct pst_report *report, const struct pst_json_text *text)
{
    enum place place = (enum place)report->walk.place;

    if (report->walk.json.in_key || text->len == 0)
        return;
    if (place == AT_OUTPUT)
        report->has_output = true;
    else if (place == AT_TYPE || place == AT_OBJECT || place == AT_CODE)
        add_word(report, text);
}

static void take_word(struct pst_report *report)
{
    enum place place = (enum place)report->walk.place;

    if (report->walk.json.in_key)
        return;
    if (place == AT_CODE) {
        take_code_word(report);
    } else if (place == AT_OBJECT) {
        report->has_error |= word_is(report, "error"); /* vLLM before 0.10 */
    } else if (place == AT_TYPE && report->word_len <= PST_REPORT_WORD_MAX) {
        memcpy(report->type, report->word, report->word_len);
        report->type_len = report->word_len;
    }
}

static void take_number(struct pst_report *report)
{
    enum place place = (enum place)report->walk.place;
    uint64_t value;

    if (!pst_decimal_to_u64(&report->walk.json.number, &value))
        return;
    if (place == AT_CODE && value >= 100 && value <= 599)
        report->status = (uint16_t)value;
    if (place != AT_TOKENS_IN && place != AT_TOKENS_OUT)
        return;
    if (value > UINT32_MAX)
        value = UINT32_MAX;
    if (place == AT_TOKENS_IN) {
        report->tokens_in = (uint32_t)value;
        report->has_tokens_in = true;
    } else {
        report->tokens_out = (uint32_t)value;
        report->has_tokens_out = true;
    }
}

/* A value of any type but null begins. */
static void take_value(struct pst_report *report)
{
    enum place place = (enum place)report->walk.place;

    report->word_len = 0;
    if (place == AT_ERROR)
        report->has_error = true;
    else if (place == AT_CHOICE)
        report->has_choices = true;
    else if (place == AT_ROLE)
        report->has_role = true;
    else if (place == AT_FINISH)
        report->has_finish = true;
}

void pst_report_feed(struct pst_report *report, const char *data, size_t len)
{
    struct pst_json_input input = {data, data + len};
    struct pst_json_text text = {0};

    while (!report->is_broken) {
        switch (pst_walk_next(&report->walk, &input, &text)) {
        case PST_JSON_MORE:
            return;
        case PST_JSON_ERROR:
            report->is_broken = true;
            return;
        case PST_JSON_NUMBER:
            take_value(report);
            take_number(report);
            break;
        case PST_JSON_TEXT:
            take_text(report, &text);
            break;
        case PST_JSON_TEXT_END:
            take_text(report, &text);
            take_word(report);
            break;
        case PST_JSON_OBJECT:
        case PST_JSON_ARRAY:
        case PST_JSON_STRING:
        case PST_JSON_TRUE:
        case PST_JSON_FALSE:
            take_value(report);
            break;
        case PST_JSON_NULL:
        case PST_JSON_OBJECT_END:
        case PST_JSON_ARRAY_END:
        case PST_JSON_KIND_COUNT:
            break;
        }
    }
}

bool pst_report_is_whole(const struct pst_report *report)
{
    struct pst_json json = report->walk.json;

    return !report->is_broken && pst_json_finish(&json);
}
