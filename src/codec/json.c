/* json.c - see json.h. */
#include "codec/json.h"

#include <string.h>

#include "codec/plain.h"

/*
 *  VALUE --{--> FIRST_KEY --"--> STRING --"--> COLON --:--> VALUE
 *    | \--[--> FIRST_VALUE                                    |
 *    +--" STRING, number, literal--> AFTER --,--> KEY | VALUE-+
 *                                      \--} ]--> AFTER, or END at top level
 */
enum state {
    STATE_VALUE,
    STATE_FIRST_VALUE, /* after [: a value or ] */
    STATE_FIRST_KEY,   /* after {: a key or } */
    STATE_KEY,
    STATE_COLON,
    STATE_AFTER, /* after a value inside a container */
    STATE_END,
    STATE_STRING,
    STATE_ESCAPE,    /* after a backslash */
    STATE_HEX,       /* the digits of \u */
    STATE_SURROGATE, /* after a high surrogate: its backslash */
    STATE_MINUS,
    STATE_ZERO, /* a leading 0: no digit may follow */
    STATE_INTEGER,
    STATE_DOT,
    STATE_FRACTION,
    STATE_E,
    STATE_E_SIGN,
    STATE_EXPONENT,
    STATE_LITERAL,
    STATE_FAILED,
};

/* Inside: nothing to report yet, go on. */
#define NOTHING PST_JSON_KIND_COUNT

void pst_json_init(struct pst_json *json)
{
    memset(json, 0, sizeof *json);
    json->state = STATE_VALUE;
    json->depth_told = PST_JSON_DEPTH_MAX;
}

static enum pst_json_kind fail(struct pst_json *json, const char *why)
{
    json->error = why;
    json->state = STATE_FAILED;
    return PST_JSON_ERROR;
}

static bool in_object(const struct pst_json *json)
{
    return (json->objects >> (json->depth - 1) & 1) != 0;
}

static enum state after_value(const struct pst_json *json)
{
    return json->depth == 0 ? STATE_END : STATE_AFTER;
}

static enum pst_json_kind open_container(struct pst_json *json, struct pst_json_input *input,
                                         bool is_object)
{
    uint64_t bit;

    if (json->depth == PST_JSON_DEPTH_MAX)
        return fail(json, "nested too deeply");
    bit = UINT64_C(1) << json->depth++;
    json->objects = is_object ? json->objects | bit : json->objects & ~bit;
    json->state = is_object ? STATE_FIRST_KEY : STATE_FIRST_VALUE;
    input->at++;
    return is_object ? PST_JSON_OBJECT : PST_JSON_ARRAY;
}

static enum pst_json_kind close_container(struct pst_json *json, struct pst_json_input *input)
{
    bool is_object = in_object(json);

    if (*input->at != (is_object ? '}' : ']'))
        return fail(json, is_object ? "expected , or }" : "expected , or ]");
    input->at++;
    json->depth--;
    json->state = after_value(json);
    return is_object ? PST_JSON_OBJECT_END : PST_JSON_ARRAY_END;
}

static enum pst_json_kind open_literal(struct pst_json *json, struct pst_json_input *input,
                                       const char *rest, enum pst_json_kind kind)
{
    json->literal = rest;
    json->value = (uint8_t)kind;
    json->state = STATE_LITERAL;
    input->at++;
    return NOTHING;
}

static enum pst_json_kind open_number(struct pst_json *json, struct pst_json_input *input)
{
    char c = *input->at++;

    memset(&json->number, 0, sizeof json->number);
    json->number.negative = c == '-';
    json->state = c == '-' ? STATE_MINUS : c == '0' ? STATE_ZERO : STATE_INTEGER;
    if (c != '-')
        pst_decimal_digit(&json->number, c, false);
    return NOTHING;
}

static enum pst_json_kind open_value(struct pst_json *json, struct pst_json_input *input)
{
    switch (*input->at) {
    case '{':
        return open_container(json, input, true);
    case '[':
        return open_container(json, input, false);
    case '"':
        input->at++;
        json->in_key = false;
        json->state = STATE_STRING;
        return PST_JSON_STRING;
    case 't':
        return open_literal(json, input, "rue", PST_JSON_TRUE);
    case 'f':
        return open_literal(json, input, "alse", PST_JSON_FALSE);
    case 'n':
        return open_literal(json, input, "ull", PST_JSON_NULL);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return open_number(json, input);
    default:
        return fail(json, "expected a value");
    }
}

static enum pst_json_kind open_key(struct pst_json *json, struct pst_json_input *input)
{
    if (*input->at != '"')
        return fail(json, "expected a key in double quotes");
    input->at++;
    json->in_key = true;
    json->state = STATE_STRING;
    return NOTHING;
}

static bool is_blank(char c)
{
    return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t');
}

static bool skip_blanks(struct pst_json_input *input)
{
    while (input->at < input->end && is_blank(*input->at))
        input->at++;
    return input->at < input->end;
}

/* Between values: blanks, brackets, commas, colons and the first byte of a value. */
static enum pst_json_kind step_between(struct pst_json *json, struct pst_json_input *input)
{
    if (!skip_blanks(input))
        return PST_JSON_MORE;
    switch (json->state) {
    case STATE_FIRST_VALUE:
        return *input->at == ']' ? close_container(json, input) : open_value(json, input);
    case STATE_FIRST_KEY:
        return *input->at == '}' ? close_container(json, input) : open_key(json, input);
    case STATE_KEY:
        return open_key(json, input);
    case STATE_COLON:
        if (*input->at != ':')
            return fail(json, "expected : after a key");
        input->at++;
        json->state = STATE_VALUE;
        return NOTHING;
    case STATE_AFTER:
        if (*input->at != ',')
            return close_container(json, input);
        input->at++;
        json->state = in_object(json) ? STATE_KEY : STATE_VALUE;
        return NOTHING;
    case STATE_END:
        return fail(json, "something follows the value");
    default:
        return open_value(json, input);
    }
}

static enum pst_json_kind step_literal(struct pst_json *json, struct pst_json_input *input)
{
    for (; input->at < input->end && *json->literal != '\0'; input->at++, json->literal++)
        if (*input->at != *json->literal)
            return fail(json, "expected true, false or null");
    if (*json->literal != '\0')
        return PST_JSON_MORE;
    json->state = after_value(json);
    return (enum pst_json_kind)json->value;
}

static bool number_may_end(enum state state)
{
    return state == STATE_ZERO || state == STATE_INTEGER || state == STATE_FRACTION ||
           state == STATE_EXPONENT;
}

/* The state after `c` inside a number; STATE_AFTER if it does not belong to it. */
static enum state number_state(enum state state, char c)
{
    bool is_digit = c >= '0' && c <= '9';
    bool is_e = c == 'e' || c == 'E';

    switch (state) {
    case STATE_MINUS:
        return c == '0' ? STATE_ZERO : is_digit ? STATE_INTEGER : STATE_AFTER;
    case STATE_ZERO:
        return c == '.' ? STATE_DOT : is_e ? STATE_E : STATE_AFTER;
    case STATE_INTEGER:
        return is_digit ? STATE_INTEGER : c == '.' ? STATE_DOT : is_e ? STATE_E : STATE_AFTER;
    case STATE_DOT:
        return is_digit ? STATE_FRACTION : STATE_AFTER;
    case STATE_FRACTION:
        return is_digit ? STATE_FRACTION : is_e ? STATE_E : STATE_AFTER;
    case STATE_E:
        return c == '+' || c == '-' ? STATE_E_SIGN : is_digit ? STATE_EXPONENT : STATE_AFTER;
    default: /* STATE_E_SIGN, STATE_EXPONENT */
        return is_digit ? STATE_EXPONENT : STATE_AFTER;
    }
}

static enum pst_json_kind step_number(struct pst_json *json, struct pst_json_input *input)
{
    for (; input->at < input->end; input->at++) {
        char c = *input->at;
        enum state next = number_state((enum state)json->state, c);

        if (next == STATE_AFTER) {
            if (!number_may_end((enum state)json->state))
                return fail(json, "not a number");
            json->state = after_value(json);
            return PST_JSON_NUMBER;
        }
        if (next == STATE_INTEGER || next == STATE_ZERO || next == STATE_FRACTION)
            pst_decimal_digit(&json->number, c, next == STATE_FRACTION);
        else if (next == STATE_EXPONENT)
            pst_decimal_exponent(&json->number, c);
        else if (next == STATE_E_SIGN)
            json->number.exponent_negative = c == '-';
        json->state = next;
    }
    return PST_JSON_MORE;
}

/* Scripts whose every character is about a token: what four bytes a token would under-count. */
static bool is_wide(uint32_t code)
{
    return (code >= 0x1100 && code <= 0x11ff) ||                  /* hangul jamo */
           (code >= 0x2e80 && code <= 0xa4cf) ||                  /* CJK, kana, bopomofo, Yi */
           (code >= 0xac00 && code <= 0xd7ff) ||                  /* hangul */
           (code >= 0xf900 && code <= 0xfaff) ||                  /* CJK compatibility */
           (code >= 0xfe30 && code <= 0xfe4f) ||                  /* vertical forms */
           (code >= 0xff00 && code <= 0xffef) || code >= 0x1f000; /* full width; emoji, CJK B ... */
}

/* The first byte of a code point of two to four; false if there is none that begins so. */
static bool utf8_begin(struct pst_json *json, unsigned char c)
{
    json->low = 0x80;
    json->high = 0xbf;
    if (c >= 0xc2 && c <= 0xdf) {
        json->need = 1;
        json->code = c & 0x1f;
    } else if (c >= 0xe0 && c <= 0xef) {
        json->need = 2;
        json->code = c & 0x0f;
        if (c == 0xe0)
            json->low = 0xa0; /* shorter forms exist */
        if (c == 0xed)
            json->high = 0x9f; /* surrogates */
    } else if (c >= 0xf0 && c <= 0xf4) {
        json->need = 3;
        json->code = c & 0x07;
        if (c == 0xf0)
            json->low = 0x90;
        if (c == 0xf4)
            json->high = 0x8f; /* beyond U+10FFFF */
    } else {
        return false;
    }
    return true;
}

static bool utf8_continue(struct pst_json *json, unsigned char c, struct pst_json_text *text)
{
    if (c < json->low || c > json->high)
        return false;
    json->low = 0x80;
    json->high = 0xbf;
    json->code = json->code << 6 | (c & 0x3f);
    if (--json->need == 0) {
        text->chars++;
        text->wide += is_wide(json->code);
    }
    return true;
}

static enum pst_json_kind step_string(struct pst_json *json, struct pst_json_input *input,
                                      struct pst_json_text *ret_text)
{
    struct pst_json_text text = {.at = input->at};
    bool is_utf8 = true;

    while (input->at < input->end) {
        const char *plain;

        if (json->need != 0) {
            is_utf8 = utf8_continue(json, (unsigned char)*input->at, &text);
            if (!is_utf8)
                break;
            input->at++;
            continue;
        }
        plain = pst_plain_end(input->at, input->end);
        text.chars += (uint64_t)(plain - input->at);
        input->at = plain;
        if (input->at == input->end || (unsigned char)*input->at < 0x80)
            break;
        is_utf8 = utf8_begin(json, (unsigned char)*input->at);
        if (!is_utf8)
            break;
        input->at++;
    }
    text.len = (size_t)(input->at - text.at);
    if (is_utf8 && input->at < input->end && *input->at == '"') {
        input->at++;
        json->state = json->in_key ? STATE_COLON : after_value(json);
        *ret_text = text;
        return PST_JSON_TEXT_END;
    }
    if (text.len > 0) { /* what is right comes first, then, in the next call, what is wrong */
        *ret_text = text;
        return PST_JSON_TEXT;
    }
    if (!is_utf8)
        return fail(json, "not UTF-8");
    if (input->at == input->end)
        return PST_JSON_MORE;
    if (*input->at != '\\')
        return fail(json, "a control character inside a string");
    input->at++;
    json->state = STATE_ESCAPE;
    return NOTHING;
}

/* Hands out the code point of an escape as UTF-8 and returns to the string. */
static enum pst_json_kind escaped(struct pst_json *json, uint32_t code,
                                  struct pst_json_text *ret_text)
{
    char *out = json->escape;

    if (code < 0x80) {
        *out++ = (char)code;
    } else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (char)(0xf0 | code >> 18);
        *out++ = (char)(0x80 | (code >> 12 & 0x3f));
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
    }
    json->state = STATE_STRING;
    *ret_text = (struct pst_json_text){
        .at = json->escape, .len = (size_t)(out - json->escape), .chars = 1, .wide = is_wide(code)};
    return PST_JSON_TEXT;
}

static enum pst_json_kind step_escape(struct pst_json *json, struct pst_json_input *input,
                                      struct pst_json_text *ret_text)
{
    static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
    const char *found;
    char c;

    if (input->at == input->end)
        return PST_JSON_MORE;
    c = *input->at;
    if (json->state == STATE_SURROGATE) {
        if (c != '\\')
            return fail(json, "half of a surrogate pair");
        input->at++;
        json->state = STATE_ESCAPE;
        return NOTHING;
    }
    if (c == 'u') {
        input->at++;
        json->need = 4;
        json->code = 0;
        json->state = STATE_HEX;
        return NOTHING;
    }
    if (json->surrogate != 0)
        return fail(json, "half of a surrogate pair");
    found = memchr(names, c, sizeof names - 1);
    if (found == NULL)
        return fail(json, "no such escape");
    input->at++;
    return escaped(json, (unsigned char)codes[found - names], ret_text);
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static enum pst_json_kind step_hex(struct pst_json *json, struct pst_json_input *input,
                                   struct pst_json_text *ret_text)
{
    bool is_high, is_low;
    uint32_t code;

    for (; json->need > 0; json->need--, input->at++) {
        int digit;

        if (input->at == input->end)
            return PST_JSON_MORE;
        digit = hex_value(*input->at);
        if (digit < 0)
            return fail(json, "expected four hexadecimal digits");
        json->code = json->code << 4 | (uint32_t)digit;
    }
    code = json->code;
    is_high = code >= 0xd800 && code <= 0xdbff;
    is_low = code >= 0xdc00 && code <= 0xdfff;
    if (is_low != (json->surrogate != 0))
        return fail(json, "half of a surrogate pair");
    if (is_high) {
        json->surrogate = (uint16_t)code;
        json->state = STATE_SURROGATE;
        return NOTHING;
    }
    if (is_low)
        code = 0x10000 + ((json->surrogate - UINT32_C(0xd800)) << 10) + (code - 0xdc00);
    json->surrogate = 0;
    return escaped(json, code, ret_text);
}

static enum pst_json_kind step(struct pst_json *json, struct pst_json_input *input,
                               struct pst_json_text *ret_text)
{
    switch ((enum state)json->state) {
    case STATE_VALUE:
    case STATE_FIRST_VALUE:
    case STATE_FIRST_KEY:
    case STATE_KEY:
    case STATE_COLON:
    case STATE_AFTER:
    case STATE_END:
        return step_between(json, input);
    case STATE_STRING:
        return step_string(json, input, ret_text);
    case STATE_ESCAPE:
    case STATE_SURROGATE:
        return step_escape(json, input, ret_text);
    case STATE_HEX:
        return step_hex(json, input, ret_text);
    case STATE_MINUS:
    case STATE_ZERO:
    case STATE_INTEGER:
    case STATE_DOT:
    case STATE_FRACTION:
    case STATE_E:
    case STATE_E_SIGN:
    case STATE_EXPONENT:
        return step_number(json, input);
    case STATE_LITERAL:
        return step_literal(json, input);
    case STATE_FAILED:
        return PST_JSON_ERROR;
    }
    return PST_JSON_ERROR;
}

void pst_json_skip(struct pst_json *json)
{
    PST_ASSERT(json->depth > 0);
    json->depth_told = json->depth - 1;
}

static bool is_untold(const struct pst_json *json, enum pst_json_kind kind)
{
    return kind == NOTHING ||
           (json->depth > json->depth_told && kind != PST_JSON_MORE && kind != PST_JSON_ERROR);
}

enum pst_json_kind pst_json_next(struct pst_json *json, struct pst_json_input *input,
                                 struct pst_json_text *ret_text)
{
    const char *from = input->at;
    enum pst_json_kind kind;

    do
        kind = step(json, input, ret_text);
    while (is_untold(json, kind));
    if (json->depth == json->depth_told)
        json->depth_told = PST_JSON_DEPTH_MAX;
    json->offset += (uint64_t)(input->at - from);
    return kind;
}

bool pst_json_finish(struct pst_json *json)
{
    if (json->depth == 0 && number_may_end((enum state)json->state))
        json->state = STATE_END;
    if (json->state == STATE_END)
        return true;
    if (json->state != STATE_FAILED)
        fail(json, "ends too early");
    return false;
}
