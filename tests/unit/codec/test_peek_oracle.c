/*
 * The peek against two JSON libraries, on bodies at random: yajl and jansson judge what is JSON,
 * jansson's tree gives the values. Where the two differ the reason must be one that is known:
 *
 *   jansson refuses numbers beyond a double and NUL in keys; RFC 8259 does not: yajl is right.
 *   yajl takes lone surrogates, some malformed UTF-8, and an unfinished token behind the value; jansson
 *   does not: jansson is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <jansson.h>
#include <xxhash.h>
#include <yajl/yajl_parse.h>

#include <cmocka.h>

#include "body_maker.h"
#include "codec/json.h"
#include "codec/peek.h"

enum { CASES = 40000 };

/* Seeds make a run repeatable: PST_SEED=n names another one. */
static uint64_t first_seed(void)
{
    const char *text = getenv("PST_SEED");

    return text == NULL ? 20260 : strtoull(text, NULL, 10);
}

/* -- who says what is JSON -- */

static int yajl_takes_number(void *context, const char *digits, size_t len)
{
    (void)context;
    (void)digits;
    (void)len;
    return 1;
}

static bool yajl_accepts(const struct maker *maker)
{
    static const yajl_callbacks callbacks = {.yajl_number = yajl_takes_number};
    yajl_handle handle = yajl_alloc(&callbacks, NULL, NULL);
    bool accepted;

    assert_non_null(handle);
    accepted =
        yajl_parse(handle, (const unsigned char *)maker->text, maker->len) == yajl_status_ok &&
        yajl_complete_parse(handle) == yajl_status_ok;
    yajl_free(handle);
    return accepted;
}

static bool json_accepts(struct maker *maker, const char **ret_why)
{
    struct pst_json json;
    struct pst_json_text text;
    size_t at = 0;

    pst_json_init(&json);
    while (at < maker->len) {
        size_t left = maker->len - at, piece = 1 + maker_below(maker, 64);
        struct pst_json_input input = {maker->text + at,
                                       maker->text + at + (piece < left ? piece : left)};
        enum pst_json_kind kind;

        at = (size_t)(input.end - maker->text);
        while ((kind = pst_json_next(&json, &input, &text)) != PST_JSON_MORE) {
            if (kind == PST_JSON_ERROR) {
                *ret_why = json.error;
                return false;
            }
        }
    }
    *ret_why = "";
    return pst_json_finish(&json);
}

/* What only yajl lets pass, by jansson's words for it. */
static bool yajl_is_lenient(const char *jansson_says)
{
    static const char *const known[] = {"UTF-8", "decode byte", "Unicode", "\\u",
                                        "premature end of input"};

    for (size_t i = 0; i < PST_COUNT_OF(known); i++)
        if (strstr(jansson_says, known[i]) != NULL)
            return true;
    return false;
}

static void check_verdicts(struct maker *maker, json_t *tree, const json_error_t *error,
                           uint64_t seed)
{
    bool yajl = yajl_accepts(maker), jansson = tree != NULL, right = jansson;
    const char *why;
    bool ours = json_accepts(maker, &why);

    if (!jansson && (strstr(error->text, "real number overflow") != NULL ||
                     strstr(error->text, "NUL byte in object key") != NULL))
        right = yajl;
    else if (jansson && !yajl)
        fail_msg("seed %llu: yajl alone refuses: %.*s", (unsigned long long)seed, (int)maker->len,
                 maker->text);
    else if (!jansson && yajl && !yajl_is_lenient(error->text))
        fail_msg("seed %llu: yajl alone accepts (%s): %.*s", (unsigned long long)seed, error->text,
                 (int)maker->len, maker->text);
    if (ours != right)
        fail_msg("seed %llu: we say %d (%s), they %d (%s): %.*s", (unsigned long long)seed, ours,
                 why, right, error->text, (int)maker->len, maker->text);
}

/* -- what the values are, from a whole tree -- */

struct oracle {
    enum pst_peek_form form;
    struct pst_peek_result want;
    uint64_t max_completion_tokens;
    uint64_t n, best_of;
    char prefix[1024];
    size_t prefix_len;
};

static void want_bytes(struct oracle *oracle, const char *text, size_t len)
{
    oracle->want.text_bytes += len;
    for (size_t i = 0; i < len; i++) {
        oracle->want.text_chars += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (oracle->prefix_len == sizeof oracle->prefix)
            continue;
        oracle->prefix[oracle->prefix_len++] = text[i];
    }
}

static void want_text(struct oracle *oracle, const json_t *value)
{
    static const char *const urls[] = {"data:image/", "data:audio/", "data:video/",
                                       "data:application/"};

    if (!json_is_string(value))
        return;
    for (size_t i = 0; i < 4; i++) {
        if (strncmp(json_string_value(value), urls[i], strlen(urls[i])) == 0) {
            oracle->want.media_parts++;
            return;
        }
    }
    want_bytes(oracle, json_string_value(value), json_string_length(value));
}

static void want_all(struct oracle *oracle, const json_t *value, bool keys_too)
{
    const char *key;
    json_t *member;
    size_t i, key_len;

    want_text(oracle, value);
    json_array_foreach(value, i, member) want_all(oracle, member, keys_too);
    if (!json_is_object(value))
        return;
    for (void *at = json_object_iter((json_t *)(uintptr_t)value); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)value, at)) {
        key = json_object_iter_key(at);
        key_len = strlen(key);
        if (keys_too)
            want_bytes(oracle, key, key_len);
        want_all(oracle, json_object_iter_value(at), keys_too);
    }
}

static bool is_one_of(const char *word, const char *list)
{
    size_t len = strlen(word);

    for (const char *at = list; len > 0 && (at = strstr(at, word)) != NULL; at++)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
            return true;
    return false;
}

static void want_part(struct oracle *oracle, json_t *part);

static void want_content(struct oracle *oracle, const json_t *content)
{
    json_t *part;
    size_t i;

    want_text(oracle, content);
    json_array_foreach(content, i, part) want_part(oracle, part);
}

static void want_part(struct oracle *oracle, json_t *part)
{
    bool is_media = false;
    const char *key;
    json_t *value;

    want_text(oracle, part);
    json_object_foreach(part, key, value)
    {
        if (strcmp(key, "type") == 0 && json_is_string(value))
            is_media |= strlen(json_string_value(value)) == json_string_length(value) &&
                        is_one_of(json_string_value(value), "image_url input_audio image");
        else if (strcmp(key, "text") == 0)
            want_text(oracle, value);
        else if (strcmp(key, "content") == 0)
            want_content(oracle, value);
        else if (strcmp(key, "tool_calls") == 0)
            want_all(oracle, value, true);
        else if (is_one_of(key, "image_url input_audio source"))
            is_media |= json_is_object(value) || json_is_array(value) || json_is_string(value);
    }
    oracle->want.media_parts += is_media;
}

static void want_prompt(struct oracle *oracle, const json_t *prompt)
{
    bool others = oracle->form == PST_PEEK_OTHER, ranks = oracle->form == PST_PEEK_RERANK;
    json_t *item, *token;
    size_t i, j;

    oracle->want.prompts += json_is_string(prompt);
    want_text(oracle, prompt);
    json_array_foreach(prompt, i, item)
    {
        want_text(oracle, item);
        oracle->want.prompts += json_is_string(item) || json_is_array(item);
        oracle->want.tokens_given += json_is_number(item);
        json_array_foreach(item, j, token) oracle->want.tokens_given += json_is_number(token);
        if (!json_is_object(item))
            continue;
        oracle->want.prompts += !others;
        if (others || ranks)
            want_all(oracle, item, false);
        else
            want_text(oracle, json_object_get(item, "text"));
    }
}

/* 0 unless it is a whole number. */
static uint64_t count_of(const json_t *value)
{
    double number = json_is_number(value) ? json_number_value(value) : 0;

    if (number > UINT32_MAX)
        return UINT32_MAX;
    return number < 0 || number != (double)(uint64_t)number ? 0 : (uint64_t)number;
}

static void want_short(const json_t *value, char *to)
{
    if (json_is_string(value))
        snprintf(to, PST_PEEK_TEXT_MAX + 1, "%s", json_string_value(value));
}

static bool forms(const struct oracle *oracle, unsigned mask)
{
    return (1u << oracle->form & mask) != 0;
}

#define IN(form) (1u << PST_PEEK_##form)

/* One member of the body; false if the form does not know its key. */
static bool want_known(struct oracle *oracle, const char *key, json_t *value)
{
    const unsigned generates = IN(CHAT) | IN(COMPLETION) | IN(OTHER);

    if (strcmp(key, "model") == 0)
        want_short(value, oracle->want.model);
    else if (strcmp(key, "user") == 0)
        want_short(value, oracle->want.user);
    else if (strcmp(key, "stream") == 0) {
        oracle->want.has_stream = json_is_boolean(value);
        oracle->want.stream = json_is_true(value);
    } else if (strcmp(key, "stream_options") == 0 && forms(oracle, generates))
        oracle->want.include_usage = json_is_true(json_object_get(value, "include_usage"));
    else if (strcmp(key, "metadata") == 0 && forms(oracle, IN(MESSAGES)))
        want_short(json_object_get(value, "user_id"), oracle->want.user);
    else if (strcmp(key, "max_tokens") == 0 && forms(oracle, generates | IN(MESSAGES)))
        oracle->want.max_tokens = (uint32_t)count_of(value);
    else if (strcmp(key, "max_output_tokens") == 0 && forms(oracle, IN(RESPONSES)))
        oracle->want.max_tokens = (uint32_t)count_of(value);
    else if (strcmp(key, "max_completion_tokens") == 0 && forms(oracle, IN(CHAT) | IN(OTHER)))
        oracle->max_completion_tokens = count_of(value);
    else if (strcmp(key, "n") == 0 && forms(oracle, generates))
        oracle->n = count_of(value);
    else if (strcmp(key, "best_of") == 0 && forms(oracle, generates))
        oracle->best_of = count_of(value);
    else
        return false;
    return true;
}

static void want_member(struct oracle *oracle, const char *key, json_t *value)
{
    const unsigned talks = IN(CHAT) | IN(MESSAGES) | IN(EMBEDDINGS);
    json_t *message;
    size_t i;

    if (want_known(oracle, key, value))
        return;
    if (strcmp(key, "messages") == 0 && forms(oracle, talks)) {
        json_array_foreach(value, i, message) want_part(oracle, message);
    } else if (is_one_of(key, "input instructions") && forms(oracle, IN(RESPONSES)))
        want_content(oracle, value);
    else if (strcmp(key, "system") == 0 && forms(oracle, IN(MESSAGES)))
        want_content(oracle, value);
    else if ((strcmp(key, "prompt") == 0 && forms(oracle, IN(COMPLETION) | IN(OTHER))) ||
             (strcmp(key, "input") == 0 && forms(oracle, IN(EMBEDDINGS) | IN(OTHER))) ||
             (is_one_of(key, "inputs text") && forms(oracle, IN(OTHER))) ||
             (strcmp(key, "documents") == 0 && forms(oracle, IN(RERANK))))
        want_prompt(oracle, value);
    else if ((strcmp(key, "suffix") == 0 && forms(oracle, IN(COMPLETION))) ||
             (strcmp(key, "query") == 0 && forms(oracle, IN(RERANK))))
        want_text(oracle, value);
    else if ((strcmp(key, "tools") == 0 &&
              forms(oracle, IN(CHAT) | IN(RESPONSES) | IN(MESSAGES))) ||
             (is_one_of(key, "functions documents") && forms(oracle, IN(CHAT))))
        want_all(oracle, value, true);
    else if (forms(oracle, IN(OTHER)))
        want_all(oracle, value, false);
}

static void want_body(struct oracle *oracle, json_t *tree)
{
    struct pst_peek_result *want = &oracle->want;
    uint64_t copies, sequences;
    const char *key;
    json_t *value;

    json_object_foreach(tree, key, value) want_member(oracle, key, value);
    want->prefix_hash = XXH64(oracle->prefix, oracle->prefix_len, 0);
    if (want->prompts == 0)
        want->prompts = 1;
    copies = oracle->n > oracle->best_of ? oracle->n : oracle->best_of;
    sequences = want->prompts * (copies == 0 ? 1 : copies);
    want->sequences = sequences > UINT32_MAX ? UINT32_MAX : (uint32_t)sequences;
    if (oracle->max_completion_tokens != 0)
        want->max_tokens = (uint32_t)oracle->max_completion_tokens;
}

static void check_values(struct maker *maker, json_t *tree, enum pst_peek_form form, uint64_t seed,
                         bool compare_hash)
{
    struct oracle oracle = {.form = form};
    struct pst_peek_result *want = &oracle.want, got;
    static struct pst_peek peek;
    uint64_t offset;
    int rc = PST_OK;

    want_body(&oracle, tree);
    pst_peek_init(&peek, form);
    for (size_t at = 0; at < maker->len && rc == PST_OK;) {
        size_t left = maker->len - at, piece = 1 + maker_below(maker, 200);

        piece = piece < left ? piece : left;
        rc = pst_peek_feed(&peek, maker->text + at, piece);
        at += piece;
    }
    if (rc == PST_OK)
        rc = pst_peek_finish(&peek, &got);
    if (!json_is_object(tree) || memchr(json_string_value(json_object_get(tree, "model")) == NULL
                                            ? ""
                                            : json_string_value(json_object_get(tree, "model")),
                                        '\0', json_string_length(json_object_get(tree, "model")))) {
        assert_int_equal(rc, PST_E_SYNTAX);
        return;
    }
    if (rc != PST_OK)
        fail_msg("seed %llu: %s: %.*s", (unsigned long long)seed, pst_peek_error(&peek, &offset),
                 (int)maker->len, maker->text);
#define SAME(field)                                                                                \
    if (got.field != want->field)                                                                  \
    fail_msg("seed %llu form %d: " #field " %llu, not %llu: %.*s", (unsigned long long)seed,       \
             (int)form, (unsigned long long)got.field, (unsigned long long)want->field,            \
             (int)maker->len, maker->text)
    SAME(text_bytes);
    SAME(text_chars);
    SAME(tokens_given);
    SAME(media_parts);
    SAME(max_tokens);
    SAME(prompts);
    SAME(sequences);
    SAME(stream);
    SAME(has_stream);
    SAME(include_usage);
    if (compare_hash)
        SAME(prefix_hash);
#undef SAME
    assert_string_equal(got.model, want->model);
    if (form != PST_PEEK_MESSAGES)
        assert_string_equal(got.user, want->user);
    if (got.model_bytes > 0) {
        assert_int_equal(maker->text[got.model_at], '"');
        assert_int_equal(maker->text[got.model_at + got.model_bytes - 1], '"');
    }
}

static bool has_no_duplicates(const struct maker *maker)
{
    json_error_t error;
    json_t *tree = json_loadb(maker->text, maker->len,
                              JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL |
                                  JSON_REJECT_DUPLICATES,
                              &error);

    json_decref(tree);
    return tree != NULL;
}

static void random_bodies_are_read_as_others_do(void **state)
{
    static struct maker maker;
    uint64_t valid = 0, invalid = 0;

    (void)state;
    for (uint64_t seed = first_seed(); seed < first_seed() + CASES; seed++) {
        json_error_t error;
        json_t *tree;
        bool is_damaged = seed % 2 != 0;

        maker.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
        maker_body(&maker);
        if (is_damaged)
            maker_damage(&maker);
        tree = json_loadb(maker.text, maker.len,
                          JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &error);
        check_verdicts(&maker, tree, &error, seed);
        if (tree != NULL) {
            enum pst_peek_form form = (enum pst_peek_form)(seed / 2 % PST_PEEK_FORM_COUNT);
            bool is_plain = has_no_duplicates(&maker);

            /*
             * The last duplicate counts where the form knows the key; text of others counts twice, and
             * so it is inside.
             */
            if (is_plain || (!is_damaged && form != PST_PEEK_OTHER))
                check_values(&maker, tree, form, seed, is_plain);
        }
        valid += tree != NULL;
        invalid += tree == NULL;
        json_decref(tree);
    }
    assert_true(valid > CASES / 2 && invalid > CASES / 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bodies_are_read_as_others_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
