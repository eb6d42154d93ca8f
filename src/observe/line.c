/* line.c - see line.h. */
#include "observe/line.h"

#include <stdio.h>
#include <time.h>

#include "base/escape.h"

/* One byte is always kept for the closing brace. */
static bool append(struct pst_line *line, const char *data, size_t len)
{
    if (line->len + len + 1 > line->size)
        return false;
    memcpy(line->at + line->len, data, len);
    line->len += len;
    return true;
}

void pst_line_begin(struct pst_line *line, char *buffer, size_t size)
{
    PST_ASSERT(size >= 3);
    *line = (struct pst_line){buffer, 0, size};
    (void)append(line, "{", 1);
}

struct pst_slice pst_line_end(struct pst_line *line)
{
    line->at[line->len++] = '}';
    return pst_slice(line->at, line->len);
}

static bool append_name(struct pst_line *line, const char *name)
{
    return (line->len == 1 || append(line, ",", 1)) && append(line, "\"", 1) &&
           append(line, name, strlen(name)) && append(line, "\":", 2);
}

/* A whole field or none of it. */
static void append_field(struct pst_line *line, const char *name, const char *value, size_t len)
{
    size_t before = line->len;

    if (!append_name(line, name) || !append(line, value, len))
        line->len = before;
}

void pst_line_text(struct pst_line *line, const char *name, struct pst_slice value, size_t max)
{
    size_t before = line->len, at = 0;
    bool fits = append_name(line, name) && append(line, "\"", 1);

    while (fits && at < value.len) {
        struct pst_escaped next = pst_escape(pst_slice(value.at + at, value.len - at));

        at += next.taken;
        if (at > max)
            break;
        fits = append(line, next.at, next.len);
    }
    if (!fits || !append(line, "\"", 1))
        line->len = before;
}

void pst_line_number(struct pst_line *line, const char *name, uint64_t value)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%llu", (unsigned long long)value);

    append_field(line, name, text, (size_t)len);
}

void pst_line_bool(struct pst_line *line, const char *name, bool value)
{
    append_field(line, name, value ? "true" : "false", value ? 4 : 5);
}

void pst_line_json(struct pst_line *line, const char *name, struct pst_slice json)
{
    append_field(line, name, json.at, json.len);
}

void pst_line_ms(struct pst_line *line, const char *name, pst_ns value)
{
    char text[32];
    uint64_t us = value / PST_US;
    int len = snprintf(text, sizeof text, "%llu.%03u", (unsigned long long)(us / 1000),
                       (unsigned)(us % 1000));

    append_field(line, name, text, (size_t)len);
}

void pst_line_time(struct pst_line *line, const char *name, uint64_t wall_ns)
{
    char text[64];
    time_t seconds = (time_t)(wall_ns / PST_S);
    struct tm utc;
    int len;

    PST_ASSERT(gmtime_r(&seconds, &utc) != NULL);
    len = snprintf(text, sizeof text, "\"%04d-%02d-%02dT%02d:%02d:%02d.%03uZ\"", utc.tm_year + 1900,
                   utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                   (unsigned)(wall_ns % PST_S / PST_MS));
    append_field(line, name, text, (size_t)len);
}
