/* The JSON reader: what RFC 8259 allows and nothing else, wherever the text is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/json.h"

#define RIGHT UINT64_MAX

static const struct row {
    const char *text;
    uint64_t wrong_at; /* RIGHT, or offset of the first wrong byte */
} rows[] = {
    {"{}", RIGHT},
    {" \t\r\n[ ] \n", RIGHT},
    {"1", RIGHT},
    {"-0.5e+10", RIGHT},
    {"true", RIGHT},
    {"null ", RIGHT},
    {"\"\"", RIGHT},
    {"{\"a\":[1,2,{\"b\":null}],\"c\":\"d\"}", RIGHT},
    {"\"\\u00e9\\ud83d\\ude00\\n\\/\"", RIGHT},
    {"\"\x7f\"", RIGHT},
    {"\"\xf0\x9f\x98\x80\xe4\xbd\xa0\xc3\xa9\"", RIGHT},
    {"\"\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80\"", RIGHT},
    {"\"\\u0000\"", RIGHT},
    {"", 0},
    {"   ", 3},
    {"{", 1},
    {"{\"a\"}", 4},
    {"{\"a\":}", 5},
    {"{\"a\":1,}", 7},
    {"{a:1}", 1},
    {"{'a':1}", 1},
    {"{\"a\" 1}", 5},
    {"[1,]", 3},
    {"[,1]", 1},
    {"[1 2]", 3},
    {"[1}", 2},
    {"{\"a\":1]", 6},
    {"]", 0},
    {"1 2", 2},
    {"{}x", 2},
    {"01", 1},
    {"-", 1},
    {"-a", 1},
    {"1.", 2},
    {".5", 0},
    {"+1", 0},
    {"1e", 2},
    {"1.e1", 2},
    {"[1e+]", 4},
    {"tru", 3},
    {"trUe", 2},
    {"NaN", 0},
    {"Infinity", 0},
    {"nul]", 3},
    {"\"abc", 4},
    {"\"a\nb\"", 2},
    {"\"\\x\"", 2},
    {"\"\\u12g4\"", 5},
    {"\"\\ud83d\"", 7},
    {"\"\\ud83dx\"", 7},
    {"\"\\ud83d\\n\"", 8},
    {"\"\\ud83d\\ud83d\"", 13},
    {"\"\\ude00\"", 7},
    {"\"\x80\"", 1},
    {"\"\xc0\xaf\"", 1},
    {"\"\xc3\"", 2},
    {"\"\xe0\x80\x80\"", 2},
    {"\"\xed\xa0\x80\"", 2},
    {"\"\xf4\x90\x80\x80\"", 2},
    {"\"\xf5\x80\x80\x80\"", 1},
    {"\"\xe4\xbd\"", 3},
    {"\xef\xbb\xbf{}", 0},
    {"/**/{}", 0},
};

/* RIGHT, or where the reader stopped. */
static uint64_t verdict(const char *text, size_t len, size_t piece)
{
    struct pst_json json;
    struct pst_json_text run;

    pst_json_init(&json);
    for (size_t at = 0; at < len; at += piece) {
        size_t take = len - at < piece ? len - at : piece;
        struct pst_json_input input = {text + at, text + at + take};
        enum pst_json_kind kind;

        while ((kind = pst_json_next(&json, &input, &run)) != PST_JSON_MORE)
            if (kind == PST_JSON_ERROR)
                return json.offset;
    }
    return pst_json_finish(&json) ? RIGHT : json.offset;
}

static void verdicts_hold_for_every_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        size_t len = strlen(rows[i].text);

        for (size_t piece = 1; piece <= len + 1; piece++) {
            uint64_t at = verdict(rows[i].text, len, piece);

            if (at != rows[i].wrong_at)
                fail_msg("row %zu, pieces of %zu: wrong at %lld", i, piece, (long long)at);
        }
    }
}

static void nesting_ends_at_the_limit(void **state)
{
    char text[2 * (PST_JSON_DEPTH_MAX + 1)];

    (void)state;
    for (size_t depth = PST_JSON_DEPTH_MAX; depth <= PST_JSON_DEPTH_MAX + 1; depth++) {
        bool fits = depth <= PST_JSON_DEPTH_MAX;

        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        assert_int_equal(verdict(text, 2 * depth, 7), fits ? RIGHT : PST_JSON_DEPTH_MAX);
    }
}

/* Decoded text with its counts, however it is cut. */
static const struct text_row {
    const char *json;
    const char *text;
    uint64_t chars;
    uint64_t wide;
} texts[] = {
    {"\"plain text, longer than a word\"", "plain text, longer than a word", 30, 0},
    {"\"a\\tb\\\"\\\\\\u0041\"", "a\tb\"\\A", 6, 0},
    {"\"caf\xc3\xa9\"", "caf\xc3\xa9", 4, 0},
    {"\"caf\\u00e9\"", "caf\xc3\xa9", 4, 0},
    {"\"\xe4\xbd\xa0\xe5\xa5\xbd\"", "\xe4\xbd\xa0\xe5\xa5\xbd", 2, 2},
    {"\"\\u4f60\\u597d\"", "\xe4\xbd\xa0\xe5\xa5\xbd", 2, 2},
    {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 1, 1},
    {"\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80", 1, 1},
    {"\"\xed\x95\x9c\xea\xb8\x80 \xe3\x81\x82\"", "\xed\x95\x9c\xea\xb8\x80 \xe3\x81\x82", 4, 3},
    {"\"\xd0\xbf\xd1\x80\"", "\xd0\xbf\xd1\x80", 2, 0},
};

static void text_is_decoded_and_counted(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(texts); i++) {
        size_t len = strlen(texts[i].json);

        for (size_t piece = 1; piece <= len; piece++) {
            struct pst_json json;
            char out[64] = {0};
            size_t out_len = 0;
            uint64_t chars = 0, wide = 0;

            pst_json_init(&json);
            for (size_t at = 0; at < len; at += piece) {
                size_t take = len - at < piece ? len - at : piece;
                struct pst_json_input input = {texts[i].json + at, texts[i].json + at + take};
                struct pst_json_text run;
                enum pst_json_kind kind;

                while ((kind = pst_json_next(&json, &input, &run)) != PST_JSON_MORE) {
                    assert_int_not_equal(kind, PST_JSON_ERROR);
                    if (kind != PST_JSON_TEXT && kind != PST_JSON_TEXT_END)
                        continue;
                    memcpy(out + out_len, run.at, run.len);
                    out_len += run.len;
                    chars += run.chars;
                    wide += run.wide;
                }
            }
            assert_true(pst_json_finish(&json));
            assert_string_equal(out, texts[i].text);
            assert_int_equal(chars, texts[i].chars);
            assert_int_equal(wide, texts[i].wide);
        }
    }
}

/* Everything but what is inside the second container is told, whatever the cuts. */
static void what_is_skipped_is_judged_but_not_told(void **state)
{
    static const char text[] = "{\"a\":{\"b\":[1,{\"c\":\"]}\\n\"}],\"d\":[]},\"e\":true}";
    static const enum pst_json_kind told[] = {
        PST_JSON_OBJECT,   PST_JSON_TEXT_END, PST_JSON_OBJECT,    PST_JSON_OBJECT_END,
        PST_JSON_TEXT_END, PST_JSON_TRUE,     PST_JSON_OBJECT_END};

    (void)state;
    for (size_t first = 0; first < sizeof text; first++) {
        const char *cuts[] = {text, text + first, text + sizeof text - 1};
        struct pst_json json;
        struct pst_json_text run;
        size_t tokens = 0;

        pst_json_init(&json);
        for (size_t i = 0; i + 1 < PST_COUNT_OF(cuts); i++) {
            struct pst_json_input input = {cuts[i], cuts[i + 1]};
            enum pst_json_kind kind;

            while ((kind = pst_json_next(&json, &input, &run)) != PST_JSON_MORE) {
                if (kind == PST_JSON_TEXT) /* a key that was cut */
                    continue;
                assert_true(tokens < PST_COUNT_OF(told));
                assert_int_equal(kind, told[tokens++]);
                if (tokens == 3)
                    pst_json_skip(&json);
            }
        }
        assert_int_equal(tokens, PST_COUNT_OF(told));
        assert_true(pst_json_finish(&json));
    }
}

static void what_is_wrong_inside_what_is_skipped_is_found(void **state)
{
    static const char text[] = "[[1,[2,nil]]]";
    struct pst_json_input input = {text, text + sizeof text - 1};
    struct pst_json json;
    struct pst_json_text run;

    (void)state;
    pst_json_init(&json);
    assert_int_equal(pst_json_next(&json, &input, &run), PST_JSON_ARRAY);
    pst_json_skip(&json);
    assert_int_equal(pst_json_next(&json, &input, &run), PST_JSON_ERROR);
    assert_int_equal(json.offset, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_hold_for_every_cut),
        cmocka_unit_test(nesting_ends_at_the_limit),
        cmocka_unit_test(text_is_decoded_and_counted),
        cmocka_unit_test(what_is_skipped_is_judged_but_not_told),
        cmocka_unit_test(what_is_wrong_inside_what_is_skipped_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
