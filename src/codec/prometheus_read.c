/* prometheus_read.c - the reading half of prometheus.h. */
#include <string.h>

#include "codec/decimal.h"
#include "codec/prometheus.h"

struct cursor {
    const char *at;
    const char *end;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t'))
        cursor->at++;
}

static bool take(struct cursor *cursor, char c)
{
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

static bool is_name(char c, bool is_first)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' ||
           (!is_first && c >= '0' && c <= '9');
}

static size_t take_name(struct cursor *cursor, const char **ret_name)
{
    *ret_name = cursor->at;
    while (cursor->at < cursor->end && is_name(*cursor->at, cursor->at == *ret_name))
        cursor->at++;
    return (size_t)(cursor->at - *ret_name);
}

/* A quoted value as written, the cursor behind its closing quote. */
static bool take_value(struct cursor *cursor, struct cursor *ret_value)
{
    if (!take(cursor, '"'))
        return false;
    ret_value->at = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != '"')
        cursor->at += *cursor->at == '\\' && cursor->at + 1 < cursor->end ? 2 : 1;
    ret_value->end = cursor->at;
    return take(cursor, '"');
}

/* name="value" and the comma or blanks behind it. */
static bool take_label(struct cursor *cursor, struct cursor *ret_name, struct cursor *ret_value)
{
    size_t len;

    skip_blanks(cursor);
    len = take_name(cursor, &ret_name->at);
    ret_name->end = ret_name->at + len;
    skip_blanks(cursor);
    if (len == 0 || !take(cursor, '='))
        return false;
    skip_blanks(cursor);
    if (!take_value(cursor, ret_value))
        return false;
    skip_blanks(cursor);
    return true;
}

/* The cursor stands behind {; ends behind }. */
static bool take_labels(struct cursor *cursor, struct pst_prometheus_sample *sample)
{
    struct cursor name, value;

    sample->labels = cursor->at;
    for (;;) {
        skip_blanks(cursor);
        if (cursor->at < cursor->end && *cursor->at == '}')
            break;
        if (!take_label(cursor, &name, &value))
            return false;
        if (!take(cursor, ',') && (cursor->at == cursor->end || *cursor->at != '}'))
            return false;
    }
    sample->labels_len = (size_t)(cursor->at++ - sample->labels);
    return true;
}

static struct cursor take_word(struct cursor *cursor)
{
    struct cursor word = {.at = cursor->at};

    while (cursor->at < cursor->end && *cursor->at != ' ' && *cursor->at != '\t')
        cursor->at++;
    word.end = cursor->at;
    return word;
}

static bool word_is(struct cursor word, const char *lower_case)
{
    size_t len = strlen(lower_case);

    if ((size_t)(word.end - word.at) != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = word.at[i];

        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != lower_case[i])
            return false;
    }
    return true;
}

static bool read_value(struct cursor word, double *ret_value)
{
    struct pst_decimal number;

    if (word_is(word, "nan")) {
        *ret_value = __builtin_nan("");
        return true;
    }
    if (word_is(word, "inf") || word_is(word, "+inf")) {
        *ret_value = __builtin_inf();
        return true;
    }
    if (word_is(word, "-inf")) {
        *ret_value = -__builtin_inf();
        return true;
    }
    if (pst_decimal_read(word.at, (size_t)(word.end - word.at), &number) != PST_OK)
        return false;
    *ret_value = pst_decimal_to_double(&number);
    return true;
}

/* Behind the value: nothing, a time stamp, an exemplar. */
static bool tail_is_right(struct cursor *cursor)
{
    struct pst_decimal stamp;
    struct cursor word;

    skip_blanks(cursor);
    if (cursor->at == cursor->end || *cursor->at == '#')
        return true;
    word = take_word(cursor);
    skip_blanks(cursor);
    return pst_decimal_read(word.at, (size_t)(word.end - word.at), &stamp) == PST_OK &&
           (cursor->at == cursor->end || *cursor->at == '#');
}

enum pst_prometheus_line pst_prometheus_read_line(const char *line, size_t len,
                                                  struct pst_prometheus_sample *ret_sample)
{
    struct pst_prometheus_sample sample = {0};
    struct cursor cursor = {line, line + len};

    while (cursor.end > cursor.at && (cursor.end[-1] == '\n' || cursor.end[-1] == '\r'))
        cursor.end--;
    skip_blanks(&cursor);
    if (cursor.at == cursor.end || *cursor.at == '#')
        return PST_PROMETHEUS_LINE_NOTHING;
    sample.name_len = take_name(&cursor, &sample.name);
    if (sample.name_len == 0)
        return PST_PROMETHEUS_LINE_WRONG;
    skip_blanks(&cursor);
    sample.labels = cursor.at;
    if (take(&cursor, '{') && !take_labels(&cursor, &sample))
        return PST_PROMETHEUS_LINE_WRONG;
    skip_blanks(&cursor);
    if (!read_value(take_word(&cursor), &sample.value) || !tail_is_right(&cursor))
        return PST_PROMETHEUS_LINE_WRONG;
    *ret_sample = sample;
    return PST_PROMETHEUS_LINE_SAMPLE;
}

bool pst_prometheus_read(const char **text, size_t *len, struct pst_prometheus_sample *ret_sample,
                         uint32_t *wrong_lines)
{
    while (*len > 0) {
        const char *line = *text;
        const char *feed = memchr(line, '\n', *len);
        size_t line_len = feed == NULL ? *len : (size_t)(feed - line) + 1;

        *text += line_len;
        *len -= line_len;
        switch (pst_prometheus_read_line(line, line_len, ret_sample)) {
        case PST_PROMETHEUS_LINE_SAMPLE:
            return true;
        case PST_PROMETHEUS_LINE_WRONG:
            ++*wrong_lines;
            break;
        case PST_PROMETHEUS_LINE_NOTHING:
        case PST_PROMETHEUS_LINE_COUNT:
            break;
        }
    }
    return false;
}

bool pst_prometheus_is(const struct pst_prometheus_sample *sample, const char *name)
{
    return strlen(name) == sample->name_len && memcmp(name, sample->name, sample->name_len) == 0;
}

static int unescape(struct cursor value, char *buffer, size_t size)
{
    size_t len = 0;

    while (value.at < value.end) {
        char c = *value.at++;

        if (c == '\\' && value.at < value.end) {
            c = *value.at++;
            if (c == 'n')
                c = '\n';
        }
        if (len + 1 >= size)
            return PST_E_FULL;
        buffer[len++] = c;
    }
    if (len >= size)
        return PST_E_FULL;
    buffer[len] = '\0';
    return PST_OK;
}

int pst_prometheus_label(const struct pst_prometheus_sample *sample, const char *name, char *buffer,
                         size_t size)
{
    struct cursor cursor = {sample->labels, sample->labels + sample->labels_len};
    struct cursor label, value;

    while (cursor.at < cursor.end && take_label(&cursor, &label, &value)) {
        size_t len = (size_t)(label.end - label.at);

        if (strlen(name) == len && memcmp(name, label.at, len) == 0)
            return unescape(value, buffer, size);
        if (!take(&cursor, ','))
            break;
    }
    return PST_E_INVALID;
}
