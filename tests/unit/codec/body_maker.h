/*
 * body_maker.h - request bodies at random, from a seed: valid ones of every form, and damaged ones.
 *
 * Why: the peek is compared with other JSON readers on bodies nobody thought of.
 */
#ifndef PST_TEST_BODY_MAKER_H
#define PST_TEST_BODY_MAKER_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "codec/peek.h"

struct maker {
    uint64_t random; /* xorshift64*; never 0 */
    size_t len;
    char text[1 << 14];
};

static inline uint32_t maker_below(struct maker *maker, uint32_t limit)
{
    maker->random ^= maker->random >> 12;
    maker->random ^= maker->random << 25;
    maker->random ^= maker->random >> 27;
    return (uint32_t)((maker->random * UINT64_C(0x2545f4914f6cdd1d)) >> 32) % limit;
}

static inline void maker_put(struct maker *maker, const char *text)
{
    size_t len = strlen(text);

    if (maker->len + len < sizeof maker->text) {
        memcpy(maker->text + maker->len, text, len);
        maker->len += len;
    }
}

static inline void maker_blank(struct maker *maker)
{
    static const char *const blanks[] = {"", "", "", "", " ", "\n  ", "\t", "\r\n"};

    maker_put(maker, blanks[maker_below(maker, 8)]);
}

/* One of a list of strings. */
#define MAKER_PICK(maker, ...)                                                                     \
    maker_pick(maker, (const char *const[]){__VA_ARGS__},                                          \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static inline const char *maker_pick(struct maker *maker, const char *const *list, size_t count)
{
    return list[maker_below(maker, (uint32_t)count)];
}

static inline void maker_string(struct maker *maker)
{
    uint32_t pieces = maker_below(maker, 5);

    maker_put(maker, "\"");
    if (maker_below(maker, 12) == 0)
        maker_put(maker, MAKER_PICK(maker, "data:", "data:image/png;base64,AAAA", "data:imag",
                                    "data:audio\\/wav;base64,", "d\\u0061ta:video/mp4", "da"));
    while (pieces-- > 0)
        maker_put(maker,
                  MAKER_PICK(maker, "plain words ",
                             "a rather longer run of plain text, as prompts are", "caf\xc3\xa9",
                             "\xe4\xbd\xa0\xe5\xa5\xbd\xef\xbc\x8c", "\xf0\x9f\x98\x80", "\\n",
                             "\\\"", "\\\\", "\\/", "\\u00e9", "\\u4f60", "\\ud83d\\ude00",
                             "\\u0000", "\x7f", "{\\\"error\\\":1}", "x"));
    maker_put(maker, "\"");
}

static inline void maker_number(struct maker *maker)
{
    maker_put(maker, MAKER_PICK(maker, "0", "1", "2", "3", "7", "128", "4.0", "2e2", "0.5", "-1",
                                "1e-3", "-0", "5000000000", "25E-1", "40e-1"));
}

static inline void maker_value(struct maker *maker, uint32_t depth);

static inline void maker_list(struct maker *maker, void (*item)(struct maker *), uint32_t most)
{
    uint32_t count = maker_below(maker, most + 1);

    maker_put(maker, "[");
    for (uint32_t i = 0; i < count; i++) {
        maker_put(maker, i == 0 ? "" : ",");
        maker_blank(maker);
        item(maker);
        maker_blank(maker);
    }
    maker_put(maker, "]");
}

static inline void maker_anything(struct maker *maker)
{
    maker_value(maker, 3);
}

/* Any value; keys of an object differ. */
static inline void maker_value(struct maker *maker, uint32_t depth)
{
    switch (maker_below(maker, depth == 0 ? 4 : 6)) {
    case 0:
        maker_put(maker, MAKER_PICK(maker, "true", "false", "null"));
        break;
    case 1:
        maker_number(maker);
        break;
    case 2:
    case 3:
        maker_string(maker);
        break;
    case 4:
        maker_put(maker, "[");
        for (uint32_t i = maker_below(maker, 3); i > 0; i--) {
            maker_value(maker, depth - 1);
            maker_put(maker, i > 1 ? " , " : "");
        }
        maker_put(maker, "]");
        break;
    case 5:
        maker_put(maker, "{");
        for (uint32_t i = maker_below(maker, 4); i > 0; i--) {
            char key[32];

            snprintf(key, sizeof key,
                     "\"%s%u\":", MAKER_PICK(maker, "text", "type", "k\\u0065y", "\xc3\xa9"), i);
            maker_put(maker, key);
            maker_value(maker, depth - 1);
            maker_put(maker, i > 1 ? "," : "");
        }
        maker_put(maker, "}");
        break;
    }
}

static inline void maker_part(struct maker *maker)
{
    switch (maker_below(maker, 6)) {
    case 0:
        maker_put(maker, "{\"type\":\"image_url\",\"image_url\":{\"url\":");
        maker_string(maker);
        maker_put(maker, "}}");
        break;
    case 1:
        maker_put(maker, "{\"input_audio\":{\"data\":\"AAAA\"},\"type\":\"input_audio\"}");
        break;
    case 2:
        maker_string(maker);
        break;
    case 3:
        maker_put(maker, "{\"type\":\"tool_result\",\"content\":[{\"type\":\"text\",\"text\":");
        maker_string(maker);
        maker_put(maker, "},{\"type\":\"image\",\"source\":{\"data\":\"AA\"}}]}");
        break;
    default:
        maker_put(maker, "{\"type\":\"text\",\"text\":");
        maker_string(maker);
        maker_put(maker, "}");
        break;
    }
}

static inline void maker_content(struct maker *maker)
{
    if (maker_below(maker, 8) == 0)
        maker_value(maker, 1);
    else if (maker_below(maker, 2) == 0)
        maker_string(maker);
    else
        maker_list(maker, maker_part, 4);
}

static inline void maker_message(struct maker *maker)
{
    maker_put(maker, MAKER_PICK(maker, "{\"role\":\"user\",\"content\":", "{\"content\":",
                                "{\"type\":\"message\",\"id\":\"x\",\"content\":"));
    maker_content(maker);
    if (maker_below(maker, 5) == 0) {
        maker_put(maker, ",\"tool_calls\":");
        maker_value(maker, 2);
    }
    maker_put(maker, "}");
}

static inline void maker_token_list(struct maker *maker)
{
    maker_list(maker, maker_number, 4);
}

static inline void maker_prompt(struct maker *maker)
{
    switch (maker_below(maker, 5)) {
    case 0:
        maker_string(maker);
        break;
    case 1:
        maker_list(maker, maker_string, 4);
        break;
    case 2:
        maker_token_list(maker);
        break;
    case 3:
        maker_list(maker, maker_token_list, 3);
        break;
    case 4:
        maker_list(maker, maker_anything, 3);
        break;
    }
}

static inline void maker_member(struct maker *maker, const char *key)
{
    maker_put(maker, "\"");
    maker_put(maker, key);
    maker_put(maker, "\"");
    maker_blank(maker);
    maker_put(maker, ":");
    maker_blank(maker);
    if (strcmp(key, "model") == 0 || strcmp(key, "user") == 0)
        maker_put(maker, MAKER_PICK(maker, "\"llama-3\"", "\"a\\/b\"", "\"\\u00e9\"", "7", "null",
                                    "[\"x\"]", "\"\""));
    else if (strcmp(key, "stream") == 0)
        maker_put(maker, MAKER_PICK(maker, "true", "false", "null", "\"true\"", "1"));
    else if (strcmp(key, "stream_options") == 0)
        maker_put(maker, MAKER_PICK(maker, "{\"include_usage\":true}", "{\"include_usage\":false}",
                                    "{}", "null", "{\"include_usage\":{\"include_usage\":true}}"));
    else if (strcmp(key, "metadata") == 0)
        maker_put(maker, MAKER_PICK(maker, "{\"user_id\":\"u-7\"}", "{}", "{\"model\":\"x\"}"));
    else if (strcmp(key, "messages") == 0 || strcmp(key, "input") == 0 ||
             strcmp(key, "system") == 0 || strcmp(key, "instructions") == 0) {
        switch (maker_below(maker, 4)) {
        case 0:
            maker_content(maker);
            break;
        case 1:
            maker_prompt(maker);
            break;
        default:
            maker_list(maker, maker_message, 4);
        }
    } else if (strcmp(key, "prompt") == 0 || strcmp(key, "documents") == 0 ||
               strcmp(key, "inputs") == 0 || strcmp(key, "text") == 0)
        maker_prompt(maker);
    else if (strncmp(key, "max_", 4) == 0 || strcmp(key, "n") == 0 || strcmp(key, "best_of") == 0)
        maker_number(maker);
    else
        maker_value(maker, 3);
}

/* A valid object with keys that the forms know, and others. */
static inline void maker_body(struct maker *maker)
{
    static const char *const keys[] = {
        "model",
        "user",
        "stream",
        "stream_options",
        "metadata",
        "max_tokens",
        "n",
        "best_of",
        "messages",
        "input",
        "prompt",
        "system",
        "tools",
        "query",
        "documents",
        "suffix",
        "inputs",
        "text",
        "functions",
        "max_completion_tokens",
        "max_output_tokens",
        "instructions",
        "temperature",
        "x-unknown",
    };

    maker->len = 0;
    maker_blank(maker);
    maker_put(maker, "{");
    for (uint32_t count = maker_below(maker, 9); count > 0; count--) {
        uint32_t i = maker_below(maker, (uint32_t)(sizeof keys / sizeof keys[0]));

        maker_blank(maker);
        maker_member(maker, keys[i]);
        maker_blank(maker);
        maker_put(maker, count > 1 ? "," : "");
    }
    maker_put(maker, "}");
    maker_blank(maker);
}

/* A few bytes changed, lost, doubled or cut off. */
static inline void maker_damage(struct maker *maker)
{
    static const char bytes[] =
        "\"\\{}[]:,0123456789eE+-.tfnu \n\t\x01\x7f\x80\xbf\xc0\xe4\xed\xf0\xf4\xff"
        "\xa0/du";

    for (uint32_t count = 1 + maker_below(maker, 2); count > 0 && maker->len > 1; count--) {
        size_t at = maker_below(maker, (uint32_t)maker->len);
        char byte = bytes[maker_below(maker, sizeof bytes - 1)];

        switch (maker_below(maker, 5)) {
        case 0:
            maker->text[at] = byte;
            break;
        case 1:
            memmove(maker->text + at, maker->text + at + 1, maker->len - at - 1);
            maker->len--;
            break;
        case 2:
        case 3:
            if (maker->len + 1 == sizeof maker->text)
                break;
            memmove(maker->text + at + 1, maker->text + at, maker->len - at);
            maker->text[at] = byte;
            maker->len++;
            break;
        case 4:
            if (maker_below(maker, 3) == 0)
                maker->len = at;
            break;
        }
    }
}

#endif
