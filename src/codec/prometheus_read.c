/* prometheus_read.c - see prometheus_read.h. */
#include "codec/prometheus_read.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_blanks(const char **at, const char *end)
{
    while (*at < end && is_blank(**at))
        (*at)++;
}

/* A name of a metric (with colons) or of a label (without). Its length; 0: there is none. */
static size_t name_len(const char *at, const char *end, bool with_colons)
{
    const char *from = at;

    while (at < end &&
           (is_letter(*at) || (with_colons && *at == ':') || (at > from && is_digit(*at))))
        at++;
    return (size_t)(at - from);
}

/* Past a string in quotes, whose escapes are taken two by two. False: it does not end. */
static bool skip_quoted(const char **at, const char *end)
{
    const char *c = *at;

    if (c == end || *c != '"')
        return false;
    for (c++; c < end && *c != '"'; c++)
        if (*c == '\\' && ++c == end)
            return false;
    *at = c + 1;
    return c < end;
}

/* One label, or a metric's name that is no plain one and stands here in quotes. */
static bool skip_label(const char **at, const char *end)
{
    size_t len = name_len(*at, end, false);

    if (len == 0 && !skip_quoted(at, end))
        return false;
    *at += len;
    skip_blanks(at, end);
    if (*at == end || **at != '=')
        return len == 0;
    (*at)++;
    skip_blanks(at, end);
    return skip_quoted(at, end);
}

/* From behind the opening brace to behind the closing one. */
static bool skip_labels(const char **at, const char *end)
{
    for (;;) {
        skip_blanks(at, end);
        if (*at < end && **at == '}') {
            (*at)++;
            return true;
        }
        if (!skip_label(at, end))
            return false;
        skip_blanks(at, end);
        if (*at < end && **at == ',')
            (*at)++;
        else if (*at == end || **at != '}')
            return false;
    }
}

static size_t word_len(const char *at, const char *end)
{
    const char *from = at;

    while (at < end && !is_blank(*at))
        at++;
    return (size_t)(at - from);
}

/* NaN, Inf, +Inf, -Infinity, in any case of letters. */
static bool is_no_number(const char *at, size_t len)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    size_t w, i;

    if (len > 0 && (*at == '+' || *at == '-')) {
        at++;
        len--;
    }
    for (w = 0; w < PST_COUNT_OF(words); w++) {
        for (i = 0; i < len && words[w][i] != '\0' && (at[i] | ' ') == words[w][i];)
            i++;
        if (i == len && words[w][i] == '\0')
            return true;
    }
    return false;
}

static bool read_value(const char **at, const char *end, struct pst_prometheus_sample *sample)
{
    size_t len = word_len(*at, end);

    sample->value = (struct pst_decimal){0};
    sample->is_finite = pst_decimal_read(*at, len, &sample->value) == PST_OK;
    if (!sample->is_finite && !is_no_number(*at, len))
        return false;
    *at += len;
    return true;
}

/* A time, and an exemplar behind '#', of which no more is looked at. */
static bool skip_rest(const char *at, const char *end)
{
    struct pst_decimal time;

    skip_blanks(&at, end);
    if (at < end && *at != '#') {
        size_t len = word_len(at, end);

        if (pst_decimal_read(at, len, &time) != PST_OK)
            return false;
        at += len;
        skip_blanks(&at, end);
    }
    return at == end || *at == '#';
}

static bool read_line(const char *at, const char *end, struct pst_prometheus_sample *ret_sample)
{
    struct pst_prometheus_sample sample = {.name = at, .name_len = name_len(at, end, true)};
    const char *behind;

    at += sample.name_len;
    behind = at;
    skip_blanks(&at, end);
    if (at < end && *at == '{') {
        sample.labels = ++at;
        if (!skip_labels(&at, end))
            return false;
        sample.labels_len = (size_t)(at - 1 - sample.labels);
        skip_blanks(&at, end);
    } else if (sample.name_len == 0 || at == behind) {
        return false;
    }
    if (!read_value(&at, end, &sample) || !skip_rest(at, end))
        return false;
    *ret_sample = sample;
    return true;
}

int pst_prometheus_next(struct pst_prometheus_reader *reader,
                        struct pst_prometheus_sample *ret_sample)
{
    while (reader->at < reader->end) {
        const char *at = reader->at;
        const char *end = memchr(at, '\n', (size_t)(reader->end - at));
        const char *stop = end;

        if (end == NULL)
            return PST_E_SYNTAX;
        if (stop > at && stop[-1] == '\r')
            stop--;
        skip_blanks(&at, stop);
        if (at < stop && *at != '#') {
            if (!read_line(at, stop, ret_sample))
                return PST_E_SYNTAX;
            reader->at = end + 1;
            return PST_OK;
        }
        reader->at = end + 1;
    }
    return PST_E_UNKNOWN;
}

bool pst_prometheus_is(const struct pst_prometheus_sample *sample, const char *name)
{
    return strlen(name) == sample->name_len && memcmp(name, sample->name, sample->name_len) == 0;
}

/* The text in quotes at `at`, which is known to end. */
static bool unescape(const char *at, char *value, size_t size)
{
    size_t len = 0;

    for (at++; *at != '"'; at++) {
        bool is_escaped = *at == '\\';

        if (is_escaped)
            at++;
        if (len + 1 >= size)
            return false;
        value[len++] = is_escaped && *at == 'n' ? '\n' : *at;
    }
    value[len] = '\0';
    return true;
}

bool pst_prometheus_label_of(const struct pst_prometheus_sample *sample, const char *label,
                             char *value, size_t size)
{
    const char *at = sample->labels, *end;
    size_t wanted = strlen(label);

    if (at == NULL)
        return false;
    end = at + sample->labels_len;
    while (skip_blanks(&at, end), at < end) {
        size_t len = name_len(at, end, false);
        bool found = len == wanted && memcmp(at, label, len) == 0;
        const char *from = at;

        if (!skip_label(&at, end))
            return false;
        if (found) {
            from += len;
            while (*from != '"')
                from++;
            return unescape(from, value, size);
        }
        skip_blanks(&at, end);
        if (at < end && *at == ',')
            at++;
    }
    return false;
}
