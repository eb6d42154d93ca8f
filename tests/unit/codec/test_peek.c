/* What the peek reads from request bodies, form by form, in one piece and byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/peek.h"

/* Expected results as "key=value" words; what is not named is not compared. */
static const struct row {
    const char *promise;
    enum pst_peek_form form;
    const char *body;
    const char *expect;
} rows[] = {
    {"the empty object is a request for the default", PST_PEEK_CHAT, "{}",
     "model= model_bytes=0 user= text=0 seqs=1 prompts=1 max=0 stream=0 has_stream=0 usage=0"},
    {"model with its place", PST_PEEK_CHAT, "{ \"model\" : \"llama-3\" }",
     "model=llama-3 model_at=12 model_bytes=9"},
    {"model with escapes, place as written", PST_PEEK_CHAT, "{\"model\":\"l\\u00e9\\/x\"}",
     "model=l\xc3\xa9/x model_at=9 model_bytes=12"},
    {"the key may be escaped too", PST_PEEK_CHAT, "{\"mod\\u0065l\":\"a\"}", "model=a"},
    {"the last model counts", PST_PEEK_CHAT, "{\"model\":\"first\",\"model\":\"b\"}",
     "model=b model_at=25 model_bytes=3"},
    {"a model that is no string is none", PST_PEEK_CHAT, "{\"model\":\"a\",\"model\":7}",
     "model= model_bytes=0 model_at=0"},
    {"a model inside is not the model", PST_PEEK_CHAT, "{\"metadata\":{\"model\":\"x\"}}",
     "model="},
    {"stream", PST_PEEK_CHAT, "{\"stream\":true}", "stream=1 has_stream=1"},
    {"stream off", PST_PEEK_CHAT, "{\"stream\":true,\"stream\":false}", "stream=0 has_stream=1"},
    {"stream null", PST_PEEK_CHAT, "{\"stream\":true,\"stream\":null}", "stream=0 has_stream=0"},
    {"include_usage", PST_PEEK_CHAT, "{\"stream_options\":{\"include_usage\":true}}", "usage=1"},
    {"the last stream_options counts", PST_PEEK_CHAT,
     "{\"stream_options\":{\"include_usage\":true},\"stream_options\":{}}", "usage=0"},
    {"max_tokens", PST_PEEK_CHAT, "{\"max_tokens\":5}", "max=5"},
    {"max_completion_tokens wins behind", PST_PEEK_CHAT,
     "{\"max_tokens\":5,\"max_completion_tokens\":7}", "max=7"},
    {"max_completion_tokens wins before", PST_PEEK_CHAT,
     "{\"max_completion_tokens\":7,\"max_tokens\":5}", "max=7"},
    {"max_output_tokens", PST_PEEK_RESPONSES, "{\"max_output_tokens\":9}", "max=9"},
    {"a huge max_tokens saturates", PST_PEEK_CHAT, "{\"max_tokens\":99999999999}",
     "max=4294967295"},
    {"wrong types are absent", PST_PEEK_CHAT,
     "{\"max_tokens\":\"5\",\"n\":-2,\"stream\":\"yes\",\"user\":[],\"messages\":7}",
     "max=0 seqs=1 has_stream=0 user= text=0"},
    {"n", PST_PEEK_CHAT, "{\"n\":4}", "seqs=4 prompts=1"},
    {"n as a float is what the engine makes of it", PST_PEEK_CHAT, "{\"n\":4.0}", "seqs=4"},
    {"n and best_of: the larger", PST_PEEK_COMPLETION, "{\"n\":2,\"best_of\":5,\"prompt\":\"x\"}",
     "seqs=5"},
    {"sequences saturate", PST_PEEK_COMPLETION, "{\"n\":4294967295,\"prompt\":[\"a\",\"b\"]}",
     "seqs=4294967295 prompts=2"},
    {"user", PST_PEEK_CHAT, "{\"user\":\"u-1\"}", "user=u-1"},
    {"Anthropic's user_id", PST_PEEK_MESSAGES, "{\"metadata\":{\"user_id\":\"u-2\"}}", "user=u-2"},

    {"chat: strings and text parts", PST_PEEK_CHAT,
     "{\"messages\":[{\"role\":\"system\",\"content\":\"abc\"},{\"role\":\"user\",\"content\":"
     "[{\"type\":\"text\",\"text\":\"de\"}]}]}",
     "text=5 chars=5 media=0"},
    {"chat: an image is no text", PST_PEEK_CHAT,
     "{\"messages\":[{\"content\":[{\"type\":\"text\",\"text\":\"what?\"},{\"type\":\"image_url\","
     "\"image_url\":{\"url\":\"data:image/png;base64,iVBORw0KGgo=\"}}]}]}",
     "text=5 media=1"},
    {"chat: a part without type is known by its key", PST_PEEK_CHAT,
     "{\"messages\":[{\"content\":[{\"image_url\":\"http://x/y.png\"}]}]}", "text=0 media=1"},
    {"chat: a data: URL in place of text is no text", PST_PEEK_CHAT,
     "{\"messages\":[{\"content\":\"data:image/png;base64,iVBORw0KGgo=\"}]}", "text=0 media=1"},
    {"chat: text that begins like one is text", PST_PEEK_CHAT,
     "{\"messages\":[{\"content\":\"data:imagine\"},{\"content\":\"data\"}]}", "text=16 media=0"},
    {"chat: audio and files", PST_PEEK_CHAT,
     "{\"messages\":[{\"content\":[{\"type\":\"input_audio\",\"input_audio\":{\"data\":\"AAAA\"}},"
     "{\"type\":\"file\",\"file\":{\"file_data\":\"AAAA\"}}]}]}",
     "text=0 media=2"},
    {"chat: tools are prompt, keys too", PST_PEEK_CHAT,
     "{\"tools\":[{\"function\":{\"name\":\"get\"}}],\"messages\":[{\"content\":\"hi\"}]}",
     "text=17 prompts=1"},
    {"chat: tool calls in the history are prompt", PST_PEEK_CHAT,
     "{\"messages\":[{\"tool_calls\":[{\"id\":\"1\"}],\"content\":null}]}", "text=3"},
    {"chat: the last messages count", PST_PEEK_CHAT,
     "{\"messages\":[{\"content\":\"long text\"}],\"messages\":[{\"content\":\"hi\"}]}", "text=2"},
    {"chat: duplicates of one key leave the others", PST_PEEK_CHAT,
     "{\"tools\":[\"ab\"],\"messages\":[{\"content\":\"x\"}],\"tools\":[\"c\"]}", "text=2"},
    {"B098: CJK is counted by characters", PST_PEEK_CHAT,
     "{\"messages\":[{\"content\":\"\xe4\xbd\xa0\xe5\xa5\xbd\xef\xbc\x8cok\"}]}",
     "text=11 chars=5 wide=3"},
    {"B098: escaped CJK as well", PST_PEEK_CHAT,
     "{\"messages\":[{\"content\":\"\\u4f60\\u597d\\uff0cok\"}]}", "text=11 chars=5 wide=3"},

    {"completion: a string", PST_PEEK_COMPLETION, "{\"prompt\":\"abc\",\"suffix\":\"d\"}",
     "text=4 prompts=1 seqs=1"},
    {"completion: strings", PST_PEEK_COMPLETION, "{\"prompt\":[\"a\",\"bc\"],\"n\":3}",
     "text=3 prompts=2 seqs=6"},
    {"completion: tokens are one prompt", PST_PEEK_COMPLETION, "{\"prompt\":[1,2,3],\"n\":2}",
     "text=0 tokens=3 prompts=1 seqs=2"},
    {"completion: lists of tokens", PST_PEEK_COMPLETION, "{\"prompt\":[[1,2],[3]]}",
     "tokens=3 prompts=2 seqs=2"},
    {"completion: an empty list is one", PST_PEEK_COMPLETION, "{\"prompt\":[]}",
     "prompts=1 seqs=1"},
    {"completion: the last prompt counts", PST_PEEK_COMPLETION,
     "{\"prompt\":[\"a\",\"b\",\"c\"],\"prompt\":[1,2]}", "text=0 tokens=2 prompts=1"},

    {"responses: a string", PST_PEEK_RESPONSES, "{\"input\":\"abc\",\"instructions\":\"de\"}",
     "text=5 prompts=1"},
    {"responses: items", PST_PEEK_RESPONSES,
     "{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"abc\"},"
     "{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,AA\"}]},"
     "{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"xy\"}]}",
     "text=5 media=1 prompts=1"},
    {"messages: system and blocks", PST_PEEK_MESSAGES,
     "{\"system\":[{\"type\":\"text\",\"text\":\"ab\"}],\"max_tokens\":9,\"messages\":[{\"role\":"
     "\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"data\":\"AAAA\"}}"
     ","
     "{\"type\":\"tool_result\",\"content\":[{\"type\":\"text\",\"text\":\"c\"}]}]}]}",
     "text=3 media=1 max=9"},
    {"embeddings: inputs are sequences", PST_PEEK_EMBEDDINGS, "{\"input\":[\"a\",\"b\",\"cd\"]}",
     "text=4 prompts=3 seqs=3"},
    {"embeddings: tokens are one input", PST_PEEK_EMBEDDINGS, "{\"input\":[7,8]}",
     "tokens=2 prompts=1"},
    {"rerank: every document", PST_PEEK_RERANK,
     "{\"query\":\"q\",\"documents\":[\"ab\",{\"text\":\"cd\"}]}", "text=5 prompts=2 seqs=2"},
    {"other: TGI", PST_PEEK_OTHER,
     "{\"inputs\":\"abc\",\"parameters\":{\"max_new_tokens\":20,\"best_of\":2}}",
     "text=3 max=20 seqs=2"},
    {"other: SGLang", PST_PEEK_OTHER,
     "{\"text\":[\"a\",\"b\"],\"sampling_params\":{\"n\":2,\"max_new_tokens\":4},\"image_data\":"
     "\"iVBORw0KGgo\",\"stream\":true}",
     "text=2 max=4 seqs=4 prompts=2 media=1 stream=1"},
    {"other: Triton", PST_PEEK_OTHER,
     "{\"inputs\":[{\"name\":\"t\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"hello\"]}]}",
     "text=11 tokens=0 prompts=1"},
    {"other: token ids", PST_PEEK_OTHER, "{\"input_ids\":[[1,2,3]]}", "tokens=3 prompts=1"},
};

static int peek_in_pieces(enum pst_peek_form form, const char *body, size_t len, size_t piece,
                          struct pst_peek_result *ret_result, uint64_t *ret_offset,
                          const char **ret_why)
{
    struct pst_peek peek;
    int rc = PST_OK;

    pst_peek_init(&peek, form);
    for (size_t at = 0; at < len && rc == PST_OK; at += piece)
        rc = pst_peek_feed(&peek, body + at, len - at < piece ? len - at : piece);
    if (rc == PST_OK)
        rc = pst_peek_finish(&peek, ret_result);
    *ret_why = pst_peek_error(&peek, ret_offset);
    return rc;
}

static void value_of(const struct pst_peek_result *r, const char *key, char *out, size_t size)
{
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"model_at", r->model_at},   {"model_bytes", r->model_bytes}, {"text", r->text_bytes},
        {"chars", r->text_chars},    {"wide", r->wide_chars},         {"tokens", r->tokens_given},
        {"media", r->media_parts},   {"max", r->max_tokens},          {"seqs", r->sequences},
        {"prompts", r->prompts},     {"stream", r->stream},           {"has_stream", r->has_stream},
        {"usage", r->include_usage},
    };

    if (strcmp(key, "model") == 0)
        snprintf(out, size, "%s", r->model);
    else if (strcmp(key, "user") == 0)
        snprintf(out, size, "%s", r->user);
    for (size_t i = 0; i < PST_COUNT_OF(numbers); i++)
        if (strcmp(key, numbers[i].key) == 0)
            snprintf(out, size, "%llu", (unsigned long long)numbers[i].value);
}

static void bodies_are_read_as_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        size_t len = strlen(row->body);
        const size_t pieces[] = {1, 2, 3, 7, len};

        for (size_t p = 0; p < PST_COUNT_OF(pieces); p++) {
            struct pst_peek_result result;
            char expect[256], *rest = expect, *word;
            const char *why;
            uint64_t offset;

            if (peek_in_pieces(row->form, row->body, len, pieces[p], &result, &offset, &why) != 0)
                fail_msg("%s: %s at %llu", row->promise, why, (unsigned long long)offset);
            snprintf(expect, sizeof expect, "%s", row->expect);
            while ((word = strtok_r(rest, " ", &rest)) != NULL) {
                char *want = strchr(word, '='), got[PST_PEEK_TEXT_MAX + 1] = "?";

                *want++ = '\0';
                value_of(&result, word, got, sizeof got);
                if (strcmp(got, want) != 0)
                    fail_msg("%s (pieces of %zu): %s is %s, not %s", row->promise, pieces[p], word,
                             got, want);
            }
        }
    }
}

static void wrong_bodies_are_refused_with_their_place(void **state)
{
    static const struct {
        const char *body;
        uint64_t at;
    } wrong[] = {
        {"", 0},
        {"[]", 1},
        {"\"x\"", 1},
        {"7", 1},
        {"null", 4},
        {"{\"a\":1", 6},
        {"{\"a\":1}}", 7},
        {"{\"model\":\"\\u0000\"}", 9},
        {"{\"a\":\"\xff\"}", 6},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(wrong); i++) {
        for (size_t piece = 1; piece < 4; piece++) {
            struct pst_peek_result result;
            uint64_t at;
            const char *why;
            int rc = peek_in_pieces(PST_PEEK_CHAT, wrong[i].body, strlen(wrong[i].body), piece,
                                    &result, &at, &why);

            assert_int_equal(rc, PST_E_SYNTAX);
            assert_non_null(why);
            if (at != wrong[i].at)
                fail_msg("%s: %s at %llu", wrong[i].body, why, (unsigned long long)at);
        }
    }
}

static int peek_at_name(const char *key, size_t name_len, struct pst_peek_result *ret_result)
{
    char body[2 * PST_PEEK_TEXT_MAX];
    const char *why;
    uint64_t at;
    int len = snprintf(body, sizeof body, "{\"%s\":\"", key);

    memset(body + len, 'm', name_len);
    memcpy(body + len + name_len, "\"}", 2);
    return peek_in_pieces(PST_PEEK_CHAT, body, (size_t)len + name_len + 2, 11, ret_result, &at,
                          &why);
}

static void names_end_at_the_limit(void **state)
{
    struct pst_peek_result result;

    (void)state;
    assert_int_equal(peek_at_name("model", PST_PEEK_TEXT_MAX, &result), PST_OK);
    assert_int_equal(strlen(result.model), PST_PEEK_TEXT_MAX);
    assert_int_equal(peek_at_name("model", PST_PEEK_TEXT_MAX + 1, &result), PST_E_SYNTAX);
    assert_int_equal(peek_at_name("model", 3 * PST_PEEK_TEXT_MAX / 2, &result), PST_E_SYNTAX);
    assert_int_equal(peek_at_name("user", PST_PEEK_TEXT_MAX + 9, &result), PST_OK);
    assert_int_equal(strlen(result.user), PST_PEEK_TEXT_MAX);
}

static void a_cut_user_is_still_utf8(void **state)
{
    char body[2 * PST_PEEK_TEXT_MAX] = "{\"user\":\"";
    struct pst_peek_result result;
    const char *why;
    uint64_t at;

    (void)state;
    memset(body + 9, 'u', PST_PEEK_TEXT_MAX - 1);
    strcpy(body + 9 + PST_PEEK_TEXT_MAX - 1, "\xe4\xbd\xa0\"}");
    assert_int_equal(peek_in_pieces(PST_PEEK_CHAT, body, strlen(body), 5, &result, &at, &why),
                     PST_OK);
    assert_int_equal(strlen(result.user), PST_PEEK_TEXT_MAX - 1);
}

static uint64_t hash_of(const char *head, char filler, size_t filler_len, const char *tail)
{
    static char body[8192];
    struct pst_peek_result result;
    const char *why;
    uint64_t at;
    int len = snprintf(body, sizeof body, "{\"messages\":[{\"content\":\"%s", head);

    memset(body + len, filler, filler_len);
    strcpy(body + len + filler_len, tail);
    strcat(body, "\"}]}");
    assert_int_equal(peek_in_pieces(PST_PEEK_CHAT, body, strlen(body), 13, &result, &at, &why),
                     PST_OK);
    return result.prefix_hash;
}

static void the_first_kibibyte_makes_the_prefix(void **state)
{
    (void)state;
    assert_int_equal(hash_of("a", 'x', 1023, "end"), hash_of("a", 'x', 1023, "other"));
    assert_int_not_equal(hash_of("a", 'x', 1022, "e"), hash_of("a", 'x', 1022, "o"));
    assert_int_not_equal(hash_of("a", 'x', 1023, ""), hash_of("b", 'x', 1023, ""));
}

/* B098: a body of an image is long, its prompt is not; runs of spaces are as long as they are. */
static void B098_images_are_not_text_and_spaces_are(void **state)
{
    static char body[1 << 16];
    struct pst_peek_result result;
    const char *why;
    uint64_t at;
    size_t len;

    (void)state;
    strcpy(body, "{\"messages\":[{\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\""
                 "data:image/png;base64,");
    len = strlen(body);
    memset(body + len, 'A', 40000);
    strcpy(body + len + 40000, "\"}},{\"type\":\"text\",\"text\":\"");
    len = strlen(body);
    memset(body + len, ' ', 2000);
    strcpy(body + len + 2000, "\"}]}]}");
    assert_int_equal(peek_in_pieces(PST_PEEK_CHAT, body, strlen(body), 4096, &result, &at, &why),
                     PST_OK);
    assert_int_equal(result.text_bytes, 2000);
    assert_int_equal(result.media_parts, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_read_as_promised),
        cmocka_unit_test(wrong_bodies_are_refused_with_their_place),
        cmocka_unit_test(names_end_at_the_limit),
        cmocka_unit_test(a_cut_user_is_still_utf8),
        cmocka_unit_test(the_first_kibibyte_makes_the_prefix),
        cmocka_unit_test(B098_images_are_not_text_and_spaces_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
