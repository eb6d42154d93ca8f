/* Event framing: the same events for every kind of line end and every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/sse.h"

/* Expected: data as is, {raw}, events end with |, a name stands before as name=. Then . at a boundary. */
static const struct row {
    const char *promise;
    const char *bytes;
    const char *expect;
} rows[] = {
    {"nothing", "", "."},
    {"one event", "data: a\n\n", "a|."},
    {"no blank after the colon", "data:a\n\n", "a|."},
    {"only one blank is cut", "data:  a\n\n", " a|."},
    {"carriage returns", "data: a\r\rdata: b\r\r", "a|b|."},
    {"both", "data: a\r\n\r\ndata: b\r\n\r\n", "a|b|."},
    {"mixed", "data: a\r\n\ndata: b\n\r\n", "a|b|."},
    {"lines are joined", "data: a\ndata: b\n\n", "a\nb|."},
    {"an empty second line joins too", "data: a\ndata\n\n", "a\n|."},
    {"a name", "event: error\ndata: x\n\n", "xerror=|."},
    {"the last name counts", "event: a\nevent: b\ndata: x\n\n", "xb=|."},
    {"names do not outlive their event", "event: a\ndata: x\n\ndata: y\n\n", "xa=|y|."},
    {"comments open nothing", ": keep-alive\n", "."},
    {"comments inside", "data: a\n: x\n\n", "a|."},
    {"comment cut", ": keep-al", ""},
    {"unknown fields and ids", "id: 7\nretry: 9\nfoo: x\ndata: a\n\n", "a|."},
    {"a name that only begins so", "database: x\n\n", "|."},
    {"byte order mark",
     "\xef\xbb\xbf"
     "data: a\n\n",
     "a|."},
    {"half a mark is no data",
     "\xef\xbb"
     "data: a\n\n",
     "|."},
    {"blank lines alone are nothing", "\n\r\n\n", "."},
    {"cut inside a line", "data: a\n\ndata: {\"cho", "a|{\"cho"},
    {"cut behind a line", "data: a\n", "a"},
    {"bare JSON", "data: a\n\n{\"error\":{}}", "a|{{\"error\":{}}}"},
    {"bare JSON over lines", "{\n \"error\": 1\n}\n\n", "{{\n}{ \"error\": 1\n}{}\n}|."},
    {"an event behind bare JSON", "{\"a\":1}\ndata: x\n\n", "{{\"a\":1}\n}|x|."},
    {"bare JSON behind an open event", "data: x\n{\"a\":1}\n\n", "x|{{\"a\":1}\n}|."},
};

static void frame(const char *bytes, size_t len, size_t piece, char *out, size_t size)
{
    struct pst_sse sse;
    bool in_raw = false;
    size_t used = 0;

#define PUT(...) used += (size_t)snprintf(out + used, size - used, __VA_ARGS__)
    out[0] = '\0';
    pst_sse_init(&sse);
    for (size_t at = 0; at < len; at += piece) {
        size_t take = len - at < piece ? len - at : piece;
        struct pst_sse_input input = {bytes + at, bytes + at + take};
        struct pst_sse_text text;
        enum pst_sse_kind kind;

        while ((kind = pst_sse_next(&sse, &input, &text)) != PST_SSE_MORE) {
            if (kind == PST_SSE_RAW && !in_raw)
                PUT("{");
            if (kind == PST_SSE_END) {
                PUT("%.*s%s|", sse.name_len, sse.name, sse.name_len > 0 ? "=" : "");
                continue;
            }
            PUT("%.*s", (int)text.len, text.at);
            in_raw = kind == PST_SSE_RAW && text.at[text.len - 1] != '\n';
            if (kind == PST_SSE_RAW && !in_raw)
                PUT("}");
        }
    }
    if (in_raw)
        PUT("}");
    PUT("%s", pst_sse_at_boundary(&sse) ? "." : "");
#undef PUT
}

static void events_do_not_depend_on_cuts(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        size_t len = strlen(rows[i].bytes);

        for (size_t piece = 1; piece <= len + 1; piece++) {
            char got[256];

            frame(rows[i].bytes, len, piece, got, sizeof got);
            if (strcmp(got, rows[i].expect) != 0)
                fail_msg("%s (pieces of %zu): %s", rows[i].promise, piece, got);
        }
    }
}

static void long_names_are_no_names(void **state)
{
    char bytes[256] = "event: ";
    struct pst_sse sse;
    struct pst_sse_text text;

    (void)state;
    memset(bytes + 7, 'n', 100);
    strcpy(bytes + 107, "\n\n");
    struct pst_sse_input input = {bytes, bytes + strlen(bytes)};

    pst_sse_init(&sse);
    assert_int_equal(pst_sse_next(&sse, &input, &text), PST_SSE_END);
    assert_int_equal(sse.name_len, PST_SSE_NAME_MAX + 1);
    assert_false(pst_sse_named(&sse, "n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_do_not_depend_on_cuts),
        cmocka_unit_test(long_names_are_no_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
