/* access_line.c - see access_line.h. */
#include "cmd/access_line.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "codec/json.h"
#include "core/num.h"

#define KEY_MAX    32
#define NS_OF_MS   6 /* power of ten */
#define YEAR_FIRST 1970
#define YEAR_LAST  2200

struct reader {
    struct pst_json json;
    struct pst_json_input input;
    struct pst_access_row row;
    bool has_time, has_duration;
    const char *why;
};

/* Key or string, cut to its room; true: it is whole now. */
static bool collect(const struct pst_json_text *run, enum pst_json_kind kind, char *word,
                    size_t size, size_t *len)
{
    for (size_t i = 0; i < run->len && *len + 1 < size; i++)
        word[(*len)++] = run->at[i];
    word[*len] = '\0';
    return kind == PST_JSON_TEXT_END;
}

/* "2026-11-29T17:35:03.123Z" */
static bool read_time(const char *text, pst_ns *ret_at)
{
    struct tm utc = {0};
    unsigned ms;
    int used = 0;
    time_t seconds;

    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3uZ%n", &utc.tm_year, &utc.tm_mon, &utc.tm_mday,
               &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &ms, &used) != 7 ||
        text[used] != '\0' || used != 24)
        return false;
    if (utc.tm_year < YEAR_FIRST || utc.tm_year > YEAR_LAST)
        return false;
    utc.tm_year -= 1900;
    utc.tm_mon--;
    seconds = timegm(&utc);
    if (seconds < 0)
        return false;
    *ret_at = (pst_ns)seconds * PST_S + ms * PST_MS;
    return true;
}

static bool store_text(struct reader *r, const char *key, const char *value)
{
    const struct {
        const char *key;
        char *place;
    } words[] = {{"pool", r->row.pool},
                 {"class", r->row.class_},
                 {"type", r->row.type},
                 {"outcome", r->row.outcome}};

    for (size_t i = 0; i < PST_COUNT_OF(words); i++)
        if (strcmp(words[i].key, key) == 0)
            memcpy(words[i].place, value, PST_ACCESS_WORD_MAX);
    if (strcmp(key, "time") != 0)
        return true;
    r->why = "its time is not as 2026-11-29T17:35:03.123Z";
    r->has_time = read_time(value, &r->row.ended);
    return r->has_time;
}

static bool store_number(struct reader *r, const char *key)
{
    const struct {
        const char *key;
        pst_ns *span; /* from milliseconds; or a count */
        uint32_t *count;
    } numbers[] = {
        {"duration_ms", &r->row.duration, NULL}, {"wait_ms", &r->row.wait, NULL},
        {"status", NULL, &r->row.status},        {"tries", NULL, &r->row.tries},
        {"tokens_in", NULL, &r->row.tokens_in},  {"tokens_out", NULL, &r->row.tokens_out}};
    uint64_t count;

    for (size_t i = 0; i < PST_COUNT_OF(numbers); i++) {
        if (strcmp(numbers[i].key, key) != 0)
            continue;
        r->why = "a number of it is negative or not whole";
        if (numbers[i].span != NULL) {
            if (!pst_decimal_to_scaled(&r->json.number, NS_OF_MS, numbers[i].span))
                return false;
            r->has_duration = r->has_duration || i == 0;
        } else {
            if (!pst_decimal_to_u64(&r->json.number, &count))
                return false;
            *numbers[i].count = (uint32_t)pst_min_u64(count, UINT32_MAX);
        }
    }
    return true;
}

/* The value of a key: one token, or a text in runs; containers are passed over. */
static bool read_value(struct reader *r, const char *key, enum pst_json_kind kind)
{
    char word[PST_ACCESS_WORD_MAX] = "";
    struct pst_json_text run;
    size_t len = 0;

    if (kind == PST_JSON_OBJECT || kind == PST_JSON_ARRAY) {
        pst_json_skip(&r->json);
        pst_json_next(&r->json, &r->input, &run);
        return true;
    }
    if (kind == PST_JSON_NUMBER)
        return store_number(r, key);
    if (kind != PST_JSON_STRING)
        return true;
    do {
        kind = pst_json_next(&r->json, &r->input, &run);
        if (kind != PST_JSON_TEXT && kind != PST_JSON_TEXT_END)
            return true; /* broken: the next look says so */
    } while (!collect(&run, kind, word, sizeof word, &len));
    return store_text(r, key, word);
}

static bool read_object(struct reader *r)
{
    struct pst_json_text run;
    enum pst_json_kind kind = pst_json_next(&r->json, &r->input, &run);

    r->why = "it is not one JSON object";
    if (kind != PST_JSON_OBJECT)
        return false;
    for (;;) {
        char key[KEY_MAX];
        size_t len = 0;

        do {
            kind = pst_json_next(&r->json, &r->input, &run);
            if (kind == PST_JSON_OBJECT_END)
                return r->input.at == r->input.end ||
                       pst_json_next(&r->json, &r->input, &run) == PST_JSON_MORE;
            if (kind != PST_JSON_TEXT && kind != PST_JSON_TEXT_END)
                return false;
        } while (!collect(&run, kind, key, sizeof key, &len));
        kind = pst_json_next(&r->json, &r->input, &run);
        if (kind == PST_JSON_ERROR || kind == PST_JSON_MORE)
            return false;
        if (!read_value(r, key, kind))
            return false;
        r->why = "it is not one JSON object";
    }
}

int pst_access_line_read(const char *line, size_t len, struct pst_access_row *ret_row,
                         const char **ret_why)
{
    struct reader r = {.input = {line, line + len}};

    pst_json_init(&r.json);
    *ret_why = NULL;
    if (!read_object(&r))
        *ret_why = r.why;
    else if (!r.has_time || !r.has_duration)
        *ret_why = "it has no time or no duration_ms";
    if (*ret_why != NULL)
        return PST_E_SYNTAX;
    *ret_row = r.row;
    return PST_OK;
}
