/* trace.c - see trace.h. */
#include "codec/trace.h"

#include <string.h>

#include "codec/decimal.h"

enum field {
    FIELD_IGNORED,
    FIELD_ARRIVAL_US,
    FIELD_ARRIVAL_MS,
    FIELD_ARRIVAL_S,
    FIELD_PROMPT_TOKENS,
    FIELD_OUTPUT_TOKENS,
    FIELD_CLIENT,
    FIELD_RATE,
    FIELD_PREFIX_BLOCKS,
    FIELD_CLASS,
    FIELD_TENANT,
};

static const struct {
    const char *name;
    enum field field;
} columns[] = {
    {"arrival_us", FIELD_ARRIVAL_US},
    {"arrival_ms", FIELD_ARRIVAL_MS},
    {"t_s", FIELD_ARRIVAL_S},
    {"prompt_tokens", FIELD_PROMPT_TOKENS},
    {"output_tokens", FIELD_OUTPUT_TOKENS},
    {"client", FIELD_CLIENT},
    {"rate_per_s", FIELD_RATE},
    {"prefix_blocks_seen_before", FIELD_PREFIX_BLOCKS},
    {"class", FIELD_CLASS},
    {"tenant", FIELD_TENANT},
};

/* What is left of a line, and the value just cut from it. */
struct cursor {
    const char *at;
    const char *end;
    bool is_done;
    const char *value;
    size_t len;
};

static struct cursor cursor_of(const char *line, size_t len)
{
    while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
        len--;
    return (struct cursor){.at = line, .end = line + len};
}

static bool next_value(struct cursor *cursor)
{
    const char *comma;

    if (cursor->is_done)
        return false;
    cursor->value = cursor->at;
    comma = memchr(cursor->at, ',', (size_t)(cursor->end - cursor->at));
    cursor->len = (size_t)((comma == NULL ? cursor->end : comma) - cursor->at);
    cursor->is_done = comma == NULL;
    cursor->at = comma == NULL ? cursor->end : comma + 1;
    while (cursor->len > 0 && *cursor->value == ' ') {
        cursor->value++;
        cursor->len--;
    }
    while (cursor->len > 0 && cursor->value[cursor->len - 1] == ' ')
        cursor->len--;
    return true;
}

static int wrong(const char **ret_why, const char *why)
{
    *ret_why = why;
    return PST_E_SYNTAX;
}

static enum field field_named(const struct cursor *cursor)
{
    for (size_t i = 0; i < PST_COUNT_OF(columns); i++)
        if (strlen(columns[i].name) == cursor->len &&
            memcmp(columns[i].name, cursor->value, cursor->len) == 0)
            return columns[i].field;
    return FIELD_IGNORED;
}

static bool is_arrival(enum field field)
{
    return field == FIELD_ARRIVAL_US || field == FIELD_ARRIVAL_MS || field == FIELD_ARRIVAL_S;
}

/* Two columns that say the same thing cannot both be right. */
static bool has_field(const struct pst_trace_format *format, enum field field)
{
    for (uint8_t i = 0; i < format->columns; i++)
        if (format->field[i] == field ||
            (is_arrival(field) && is_arrival((enum field)format->field[i])))
            return true;
    return false;
}

int pst_trace_header(struct pst_trace_format *format, const char *line, size_t len,
                     const char **ret_why)
{
    static const char mark[] = "\xef\xbb\xbf";
    struct pst_trace_format read = {0};
    struct cursor cursor;
    size_t known = 0;

    if (len >= 3 && memcmp(line, mark, 3) == 0) {
        line += 3;
        len -= 3;
    }
    cursor = cursor_of(line, len);
    while (next_value(&cursor)) {
        enum field field = field_named(&cursor);

        if (read.columns == PST_TRACE_COLUMNS_MAX)
            return wrong(ret_why, "too many columns");
        if (field != FIELD_IGNORED && has_field(&read, field))
            return wrong(ret_why, "two columns for the same value");
        read.field[read.columns++] = (uint8_t)field;
        known += field != FIELD_IGNORED;
    }
    if (known == 0)
        return wrong(ret_why, "no column is known: the first line must name them (a compressed "
                              "file is unpacked first)");
    *format = read;
    return PST_OK;
}

bool pst_trace_has_times(const struct pst_trace_format *format)
{
    return has_field(format, FIELD_ARRIVAL_US); /* in whichever unit */
}

bool pst_trace_has_clients(const struct pst_trace_format *format)
{
    return has_field(format, FIELD_CLIENT);
}

bool pst_trace_has_rates(const struct pst_trace_format *format)
{
    return has_field(format, FIELD_RATE);
}

static int read_scaled(const struct cursor *cursor, int32_t power, uint64_t *ret_value,
                       const char **ret_why)
{
    struct pst_decimal number;
    uint64_t value;

    if (pst_decimal_read(cursor->value, cursor->len, &number) != PST_OK)
        return wrong(ret_why, cursor->len == 0 ? "a number is missing" : "not a number");
    if (!pst_decimal_to_scaled(&number, power, &value))
        return wrong(ret_why, "a number is negative");
    if (value == UINT64_MAX)
        return wrong(ret_why, "a number is too large");
    *ret_value = value;
    return PST_OK;
}

static int read_count(const struct cursor *cursor, uint32_t *ret_value, const char **ret_why)
{
    struct pst_decimal number;
    uint64_t value;

    if (pst_decimal_read(cursor->value, cursor->len, &number) != PST_OK)
        return wrong(ret_why, cursor->len == 0 ? "a number is missing" : "not a number");
    if (!pst_decimal_to_u64(&number, &value))
        return wrong(ret_why, "not a whole number");
    if (value > UINT32_MAX)
        return wrong(ret_why, "a number is too large");
    *ret_value = (uint32_t)value;
    return PST_OK;
}

static int read_name(const struct cursor *cursor, char *to, const char **ret_why)
{
    if (cursor->len >= PST_TRACE_NAME_MAX)
        return wrong(ret_why, "a name is too long");
    for (size_t i = 0; i < cursor->len; i++)
        if (cursor->value[i] == '"' || (unsigned char)cursor->value[i] < ' ')
            return wrong(ret_why, "a name contains a quote or a control character");
    memcpy(to, cursor->value, cursor->len);
    to[cursor->len] = '\0';
    return PST_OK;
}

static int read_field(enum field field, const struct cursor *cursor, struct pst_trace_row *row,
                      const char **ret_why)
{
    switch (field) {
    case FIELD_IGNORED:
        return PST_OK;
    case FIELD_ARRIVAL_US:
        return read_scaled(cursor, 3, &row->arrival, ret_why);
    case FIELD_ARRIVAL_MS:
        return read_scaled(cursor, 6, &row->arrival, ret_why);
    case FIELD_ARRIVAL_S:
        return read_scaled(cursor, 9, &row->arrival, ret_why);
    case FIELD_PROMPT_TOKENS:
        return read_count(cursor, &row->prompt_tokens, ret_why);
    case FIELD_OUTPUT_TOKENS:
        return read_count(cursor, &row->output_tokens, ret_why);
    case FIELD_CLIENT:
        return read_count(cursor, &row->client, ret_why);
    case FIELD_RATE:
        return read_scaled(cursor, 6, &row->rate_micro, ret_why);
    case FIELD_PREFIX_BLOCKS:
        return read_count(cursor, &row->prefix_blocks_seen, ret_why);
    case FIELD_CLASS:
        return read_name(cursor, row->class_, ret_why);
    case FIELD_TENANT:
        return read_name(cursor, row->tenant, ret_why);
    }
    return PST_OK;
}

int pst_trace_line(const struct pst_trace_format *format, const char *line, size_t len,
                   struct pst_trace_row *ret_row, const char **ret_why)
{
    struct pst_trace_row row = {0};
    struct cursor cursor = cursor_of(line, len);
    uint8_t column = 0;

    while (next_value(&cursor)) {
        if (column == format->columns)
            return wrong(ret_why, "more values than columns");
        if (read_field((enum field)format->field[column++], &cursor, &row, ret_why) != PST_OK)
            return PST_E_SYNTAX;
    }
    if (column < format->columns)
        return wrong(ret_why, "fewer values than columns");
    *ret_row = row;
    return PST_OK;
}
