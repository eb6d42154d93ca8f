/* sse.c - see sse.h. */
#include "codec/sse.h"

#include <string.h>

/*
 *  MARK --> LINE --name--> FIELD --:--> SPACE --> VALUE --line end--> LINE
 *             \--{--> RAW --line end--> LINE
 */
enum state { STATE_MARK, STATE_LINE, STATE_FIELD, STATE_SPACE, STATE_VALUE, STATE_RAW };

enum field { FIELD_OTHER, FIELD_DATA, FIELD_EVENT };

#define NOTHING PST_SSE_KIND_COUNT

void pst_sse_init(struct pst_sse *sse)
{
    memset(sse, 0, sizeof *sse);
}

static void begin_event(struct pst_sse *sse)
{
    sse->is_open = false;
    sse->is_raw = false;
    sse->has_data = false;
    sse->name_len = 0;
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static const char *line_end(const char *at, const char *end)
{
    const char *feed = memchr(at, '\n', (size_t)(end - at));
    const char *stop = feed == NULL ? end : feed;
    const char *carriage = memchr(at, '\r', (size_t)(stop - at));

    return carriage == NULL ? stop : carriage;
}

static void take_line_end(struct pst_sse *sse, struct pst_sse_input *input)
{
    sse->after_cr = *input->at++ == '\r';
    sse->state = STATE_LINE;
}

/* An answer may open with U+FEFF; anything else there is its first line. */
static void step_mark(struct pst_sse *sse, struct pst_sse_input *input)
{
    static const char mark[] = "\xef\xbb\xbf";

    if (*input->at == mark[sse->mark]) {
        input->at++;
        if (++sse->mark == sizeof mark - 1)
            sse->state = STATE_LINE;
        return;
    }
    /* Half a mark is the beginning of some unknown field. */
    sse->state = sse->mark == 0 ? STATE_LINE : STATE_FIELD;
    sse->field_len = sse->mark == 0 ? 0 : sizeof sse->field_name;
}

/* In bare JSON no line begins with a letter that begins a field. */
static bool begins_field(char c)
{
    return c == 'd' || c == 'e' || c == 'i' || c == 'r' || c == ':';
}

static enum pst_sse_kind step_line(struct pst_sse *sse, struct pst_sse_input *input)
{
    char c = *input->at;
    bool was_open = sse->is_open;

    if (sse->after_cr) {
        sse->after_cr = false;
        if (c == '\n') {
            input->at++;
            return NOTHING;
        }
    }
    if (is_line_end(c)) {
        take_line_end(sse, input);
        sse->is_open = false;
        return was_open ? PST_SSE_END : NOTHING;
    }
    if (sse->is_open && (sse->is_raw ? begins_field(c) : c == '{')) {
        sse->is_open = false; /* fields and bare JSON share no event, blank line or not */
        return PST_SSE_END;
    }
    if (!sse->is_open)
        begin_event(sse);
    sse->is_raw = sse->is_raw || (c == '{' && !sse->is_open);
    sse->is_open = sse->is_open || sse->is_raw;
    sse->state = sse->is_raw ? STATE_RAW : STATE_FIELD;
    sse->field_len = 0;
    return NOTHING;
}

static enum field field_of(const struct pst_sse *sse)
{
    if (sse->field_len == 4 && memcmp(sse->field_name, "data", 4) == 0)
        return FIELD_DATA;
    if (sse->field_len == 5 && memcmp(sse->field_name, "event", 5) == 0)
        return FIELD_EVENT;
    return FIELD_OTHER;
}

/* The field's name is complete; a second line of data is joined to the first. */
static enum pst_sse_kind begin_value(struct pst_sse *sse, struct pst_sse_text *ret_text)
{
    bool joins;

    sse->field = (uint8_t)field_of(sse);
    sse->is_open = true;
    if (sse->field == FIELD_EVENT)
        sse->name_len = 0;
    if (sse->field != FIELD_DATA)
        return NOTHING;
    joins = sse->has_data;
    sse->has_data = true;
    if (!joins)
        return NOTHING;
    *ret_text = (struct pst_sse_text){"\n", 1};
    return PST_SSE_DATA;
}

static enum pst_sse_kind step_field(struct pst_sse *sse, struct pst_sse_input *input,
                                    struct pst_sse_text *ret_text)
{
    char c = *input->at;

    for (; c != ':' && !is_line_end(c); c = *input->at) {
        if (sse->field_len < sizeof sse->field_name)
            sse->field_name[sse->field_len++] = c;
        if (++input->at == input->end)
            return NOTHING;
    }
    if (c == ':' && sse->field_len == 0) {
        sse->field = FIELD_OTHER; /* a comment: it opens no event */
        sse->state = STATE_VALUE;
        return NOTHING;
    }
    if (c == ':') {
        input->at++;
        sse->state = STATE_SPACE;
        return begin_value(sse, ret_text);
    }
    sse->state = STATE_VALUE; /* a name alone is a field with an empty value */
    return begin_value(sse, ret_text);
}

static void add_name(struct pst_sse *sse, const char *at, size_t len)
{
    if (sse->name_len + len > PST_SSE_NAME_MAX) {
        sse->name_len = PST_SSE_NAME_MAX + 1;
        return;
    }
    memcpy(sse->name + sse->name_len, at, len);
    sse->name_len = (uint8_t)(sse->name_len + len);
}

static enum pst_sse_kind step_value(struct pst_sse *sse, struct pst_sse_input *input,
                                    struct pst_sse_text *ret_text)
{
    const char *from = input->at;

    if (sse->state == STATE_SPACE) {
        sse->state = STATE_VALUE;
        if (*from == ' ') {
            input->at++;
            return NOTHING;
        }
    }
    if (is_line_end(*from)) {
        take_line_end(sse, input);
        return NOTHING;
    }
    input->at = line_end(from, input->end);
    if (sse->field == FIELD_EVENT)
        add_name(sse, from, (size_t)(input->at - from));
    if (sse->field != FIELD_DATA)
        return NOTHING;
    *ret_text = (struct pst_sse_text){from, (size_t)(input->at - from)};
    return PST_SSE_DATA;
}

/* Line ends are blanks to JSON: they are handed on with their line. */
static enum pst_sse_kind step_raw(struct pst_sse *sse, struct pst_sse_input *input,
                                  struct pst_sse_text *ret_text)
{
    const char *from = input->at;

    input->at = line_end(from, input->end);
    if (input->at < input->end)
        take_line_end(sse, input);
    *ret_text = (struct pst_sse_text){from, (size_t)(input->at - from)};
    return PST_SSE_RAW;
}

static enum pst_sse_kind step(struct pst_sse *sse, struct pst_sse_input *input,
                              struct pst_sse_text *ret_text)
{
    switch ((enum state)sse->state) {
    case STATE_MARK:
        step_mark(sse, input);
        return NOTHING;
    case STATE_LINE:
        return step_line(sse, input);
    case STATE_FIELD:
        return step_field(sse, input, ret_text);
    case STATE_SPACE:
    case STATE_VALUE:
        return step_value(sse, input, ret_text);
    case STATE_RAW:
        return step_raw(sse, input, ret_text);
    }
    return NOTHING;
}

enum pst_sse_kind pst_sse_next(struct pst_sse *sse, struct pst_sse_input *input,
                               struct pst_sse_text *ret_text)
{
    while (input->at < input->end) {
        enum pst_sse_kind kind = step(sse, input, ret_text);

        if (kind != NOTHING)
            return kind;
    }
    return PST_SSE_MORE;
}

bool pst_sse_at_boundary(const struct pst_sse *sse)
{
    bool at_line = sse->state == STATE_LINE || (sse->state == STATE_MARK && sse->mark == 0);

    return at_line && !sse->is_open;
}

bool pst_sse_named(const struct pst_sse *sse, const char *name)
{
    return strlen(name) == sse->name_len && memcmp(name, sse->name, sse->name_len) == 0;
}
