/*
 * peek.c - see peek.h. The walk says at which place of the map a token stands; here is what each
 * place does with it. Text below a nested duplicate key counts twice: an estimate may be too large,
 * never too small.
 */
#include "codec/peek.h"

#include <string.h>

#include "codec/peek_map.h"

_Static_assert(PST_PEEK_DEPTH_MAX == PST_JSON_DEPTH_MAX, "one limit for nesting");
_Static_assert(PST_PEEK_FORM_COUNT <= 8, "forms are bits of a byte");

enum { HASHED_MAX = 1024 };

void pst_peek_init(struct pst_peek *peek, enum pst_peek_form form)
{
    memset(peek, 0, sizeof *peek);
    pst_walk_init(&peek->walk, pst_peek_map, (uint8_t)(1u << form));
    peek->form = form;
    pst_hash_init(&peek->prefix);
}

static int refuse(struct pst_peek *peek, const char *why)
{
    peek->error = why;
    peek->error_at = peek->walk.json.offset;
    return PST_E_SYNTAX;
}

static struct pst_peek_tally *tally_of(struct pst_peek *peek)
{
    return &peek->tallies[peek->tally];
}

/*
 * A value of the body's object begins: counts of an earlier one under the same key are forgotten. The
 * last tally is shared by keys beyond the table and by those without a name in the map.
 */
static void open_tally(struct pst_peek *peek)
{
    const struct pst_walk_rule *rule = peek->walk.rule;
    uint8_t i = 0;

    if (rule->key_len == 0) {
        peek->tally = PST_PEEK_TALLIES_MAX - 1;
        return;
    }
    while (i < peek->tallies_count && peek->tallies[i].rule != rule)
        i++;
    peek->tally = i;
    if (i == PST_PEEK_TALLIES_MAX - 1)
        return;
    if (i == peek->tallies_count)
        peek->tallies_count++;
    peek->tallies[i] = (struct pst_peek_tally){.rule = rule};
}

/* Whatever its type, a value replaces what an earlier one under its key said. */
static void open_value(struct pst_peek *peek, uint8_t depth_around)
{
    switch ((enum pst_peek_place)peek->walk.place) {
    case PST_PEEK_AT_MODEL:
        peek->model_len = 0;
        peek->result.model_bytes = 0;
        peek->result.model_at = 0;
        peek->result.model_is_odd = true; /* until it is seen to be a string or null */
        break;
    case PST_PEEK_AT_USER:
    case PST_PEEK_AT_METADATA:
        peek->user_len = 0;
        break;
    case PST_PEEK_AT_STREAM:
        peek->result.stream = false;
        peek->result.has_stream = false;
        break;
    case PST_PEEK_AT_STREAM_OPTIONS:
    case PST_PEEK_AT_INCLUDE_USAGE:
        peek->result.include_usage = false;
        break;
    case PST_PEEK_AT_MAX_TOKENS:
        peek->max_tokens = 0;
        break;
    case PST_PEEK_AT_MAX_COMPLETION_TOKENS:
        peek->max_completion_tokens = 0;
        break;
    case PST_PEEK_AT_N:
        peek->n = 0;
        break;
    case PST_PEEK_AT_BEST_OF:
        peek->best_of = 0;
        break;
    case PST_PEEK_AT_PART_TYPE:
        peek->word_len = 0;
        break;
    default:
        if (peek->walk.place >= PST_PEEK_AT_COUNTED && depth_around == 1)
            open_tally(peek);
        break;
    }
}

/* The part around the value is media; counted once however often it says so. */
static void mark_part(struct pst_peek *peek, uint8_t depth_around)
{
    uint64_t bit = UINT64_C(1) << (depth_around - 1);

    if ((peek->media_levels & bit) == 0)
        tally_of(peek)->media_parts++;
    peek->media_levels |= bit;
}

static int open_container(struct pst_peek *peek, bool is_object)
{
    uint8_t depth = peek->walk.json.depth;

    if (depth == 1) {
        peek->is_object = is_object;
        return is_object ? PST_OK : refuse(peek, "the body is not an object");
    }
    open_value(peek, (uint8_t)(depth - 1));
    if (is_object)
        peek->media_levels &= ~(UINT64_C(1) << (depth - 1));
    if (peek->walk.place == PST_PEEK_AT_PROMPT_ITEM && (!is_object || peek->form != PST_PEEK_OTHER))
        tally_of(peek)->prompts++;
    else if (peek->walk.place == PST_PEEK_AT_MEDIA && is_object)
        tally_of(peek)->media_parts++;
    else if (peek->walk.place == PST_PEEK_AT_PART_MEDIA)
        mark_part(peek, (uint8_t)(depth - 1));
    return PST_OK;
}

static void add_text(struct pst_peek *peek, const char *at, size_t len, uint64_t chars,
                     uint64_t wide)
{
    struct pst_peek_tally *tally = tally_of(peek);
    size_t hash_len = HASHED_MAX - (size_t)peek->prefix.bytes;

    tally->text_bytes += len;
    tally->text_chars += chars;
    tally->wide_chars += wide;
    pst_hash_add(&peek->prefix, at, len < hash_len ? len : hash_len);
}

/* What was held back is text after all. */
static void release_opening(struct pst_peek *peek)
{
    add_text(peek, peek->opening_text, peek->opening_len, peek->opening_len, 0);
    peek->opening_len = 0;
    peek->opening = false;
}

/* Judges the beginning of a string: true when it may still be, or is, an image's URL. */
static bool add_opening(struct pst_peek *peek, char c)
{
    static const char *const openings[] = {"data:image/", "data:audio/", "data:video/",
                                           "data:application/"};

    peek->opening_text[peek->opening_len] = c;
    for (size_t i = 0; i < PST_COUNT_OF(openings); i++) {
        if (strncmp(openings[i], peek->opening_text, peek->opening_len + 1u) != 0)
            continue;
        peek->opening_len++;
        if (openings[i][peek->opening_len] == '\0') {
            peek->opening = false;
            peek->is_media = true;
            tally_of(peek)->media_parts++;
        }
        return true;
    }
    return false;
}

static void count_text(struct pst_peek *peek, const struct pst_json_text *text)
{
    struct pst_json_text rest = *text;

    while (peek->opening && rest.len > 0) {
        if (!add_opening(peek, *rest.at)) {
            release_opening(peek);
            break;
        }
        rest.at++;
        rest.len--;
        rest.chars--; /* openings are ASCII */
    }
    if (!peek->is_media && !peek->opening)
        add_text(peek, rest.at, rest.len, rest.chars, rest.wide);
}

static bool counts_as_text(enum pst_peek_place place)
{
    return place == PST_PEEK_AT_TEXT || place == PST_PEEK_AT_CONTENT || place == PST_PEEK_AT_PART ||
           place == PST_PEEK_AT_PROMPT || place == PST_PEEK_AT_PROMPT_ITEM ||
           place == PST_PEEK_AT_SCHEMA || place == PST_PEEK_AT_ANYTHING;
}

static void open_string(struct pst_peek *peek)
{
    uint8_t depth = peek->walk.json.depth;
    enum pst_peek_place place = (enum pst_peek_place)peek->walk.place;

    open_value(peek, depth);
    peek->opening = counts_as_text(place);
    peek->opening_len = 0;
    peek->is_media = false;
    if (place == PST_PEEK_AT_MODEL) {
        peek->result.model_at = peek->walk.json.offset - 1;
        peek->result.model_is_odd = false;
    } else if (place == PST_PEEK_AT_PROMPT || place == PST_PEEK_AT_PROMPT_ITEM)
        tally_of(peek)->prompts++;
    else if (place == PST_PEEK_AT_MEDIA)
        tally_of(peek)->media_parts++;
    else if (place == PST_PEEK_AT_PART_MEDIA)
        mark_part(peek, depth);
}

/* Wherever the name was found wrong, the error is at its beginning. */
static int refuse_model(struct pst_peek *peek, const char *why)
{
    peek->error = why;
    peek->error_at = peek->result.model_at;
    return PST_E_SYNTAX;
}

static int add_model(struct pst_peek *peek, const struct pst_json_text *text)
{
    if (memchr(text->at, '\0', text->len) != NULL)
        return refuse_model(peek, "the model's name contains NUL");
    if (text->len > PST_PEEK_TEXT_MAX - peek->model_len)
        return refuse_model(peek, "the model's name is too long");
    memcpy(peek->result.model + peek->model_len, text->at, text->len);
    peek->model_len += (uint32_t)text->len;
    return PST_OK;
}

static void add_bounded(char *to, uint32_t *len, uint32_t max, const struct pst_json_text *text)
{
    size_t room = max - *len;
    size_t add = text->len < room ? text->len : room;

    memcpy(to + *len, text->at, add);
    *len += (uint32_t)add;
}

static int add_string(struct pst_peek *peek, const struct pst_json_text *text)
{
    enum pst_peek_place place = (enum pst_peek_place)peek->walk.place;

    if (peek->walk.json.in_key) {
        if (place == PST_PEEK_AT_SCHEMA)
            add_text(peek, text->at, text->len, text->chars, text->wide);
        return PST_OK;
    }
    if (place == PST_PEEK_AT_MODEL)
        return add_model(peek, text);
    if (place == PST_PEEK_AT_USER)
        add_bounded(peek->result.user, &peek->user_len, PST_PEEK_TEXT_MAX, text);
    else if (place == PST_PEEK_AT_PART_TYPE)
        add_bounded(peek->word, &peek->word_len, sizeof peek->word, text);
    else if (counts_as_text(place))
        count_text(peek, text);
    return PST_OK;
}

static void close_string(struct pst_peek *peek)
{
    uint8_t depth = peek->walk.json.depth;
    enum pst_peek_place place = (enum pst_peek_place)peek->walk.place;

    if (peek->walk.json.in_key)
        return;
    if (peek->opening)
        release_opening(peek);
    if (place == PST_PEEK_AT_MODEL)
        peek->result.model_bytes = (uint32_t)(peek->walk.json.offset - peek->result.model_at);
    else if (place == PST_PEEK_AT_PART_TYPE && pst_peek_is_media_type(peek->word, peek->word_len))
        mark_part(peek, depth);
}

static void take_number(struct pst_peek *peek)
{
    enum pst_peek_place place = (enum pst_peek_place)peek->walk.place;
    uint64_t wide;
    uint32_t value;

    open_value(peek, peek->walk.json.depth);
    if (place == PST_PEEK_AT_TOKEN || place == PST_PEEK_AT_PROMPT_ITEM) {
        tally_of(peek)->tokens_given++;
        return;
    }
    if (!pst_decimal_to_u64(&peek->walk.json.number, &wide))
        return;
    value = wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
    if (place == PST_PEEK_AT_MAX_TOKENS)
        peek->max_tokens = value;
    else if (place == PST_PEEK_AT_MAX_COMPLETION_TOKENS)
        peek->max_completion_tokens = value;
    else if (place == PST_PEEK_AT_N)
        peek->n = value;
    else if (place == PST_PEEK_AT_BEST_OF)
        peek->best_of = value;
}

static void take_word(struct pst_peek *peek, enum pst_json_kind kind)
{
    bool is_true = kind == PST_JSON_TRUE;

    open_value(peek, peek->walk.json.depth);
    if (kind == PST_JSON_NULL) {
        peek->result.model_is_odd &= peek->walk.place != PST_PEEK_AT_MODEL;
        return;
    }
    if (peek->walk.place == PST_PEEK_AT_STREAM) {
        peek->result.stream = is_true;
        peek->result.has_stream = true;
    } else if (peek->walk.place == PST_PEEK_AT_INCLUDE_USAGE) {
        peek->result.include_usage = is_true;
    }
}

static int take(struct pst_peek *peek, enum pst_json_kind kind, const struct pst_json_text *text)
{
    if (peek->walk.json.depth == 0 && kind != PST_JSON_OBJECT_END)
        return refuse(peek, "the body is not an object");
    switch (kind) {
    case PST_JSON_OBJECT:
    case PST_JSON_ARRAY:
        return open_container(peek, kind == PST_JSON_OBJECT);
    case PST_JSON_STRING:
        open_string(peek);
        return PST_OK;
    case PST_JSON_TEXT:
        return add_string(peek, text);
    case PST_JSON_TEXT_END:
        if (add_string(peek, text) != PST_OK)
            return PST_E_SYNTAX;
        close_string(peek);
        return PST_OK;
    case PST_JSON_NUMBER:
        take_number(peek);
        return PST_OK;
    case PST_JSON_TRUE:
    case PST_JSON_FALSE:
    case PST_JSON_NULL:
        take_word(peek, kind);
        return PST_OK;
    case PST_JSON_OBJECT_END:
    case PST_JSON_ARRAY_END:
    case PST_JSON_MORE:
    case PST_JSON_ERROR:
    case PST_JSON_KIND_COUNT:
        return PST_OK;
    }
    return PST_OK;
}

int pst_peek_feed(struct pst_peek *peek, const char *data, size_t len)
{
    struct pst_json_input input = {data, data + len};
    struct pst_json_text text = {0};
    enum pst_json_kind kind;

    if (peek->error != NULL)
        return PST_E_SYNTAX;
    if (len == 0)
        return PST_OK;
    while ((kind = pst_walk_next(&peek->walk, &input, &text)) != PST_JSON_MORE) {
        if (kind == PST_JSON_ERROR)
            return refuse(peek, peek->walk.json.error);
        if (take(peek, kind, &text) != PST_OK)
            return PST_E_SYNTAX;
    }
    return PST_OK;
}

/* A name cut inside a code point loses what is left of it. */
static uint32_t whole_utf8(const char *text, uint32_t len)
{
    uint32_t start = len;

    while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start > 0) {
        unsigned char lead = (unsigned char)text[start - 1];
        uint32_t want = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

        if (len - (start - 1) < want)
            return start - 1;
    }
    return len;
}

static uint32_t add_saturated(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t multiply_saturated(uint32_t a, uint32_t b)
{
    uint64_t product = (uint64_t)a * b;

    return product > UINT32_MAX ? UINT32_MAX : (uint32_t)product;
}

int pst_peek_finish(struct pst_peek *peek, struct pst_peek_result *ret_result)
{
    struct pst_peek_result result;
    uint32_t copies;

    if (peek->error != NULL)
        return PST_E_SYNTAX;
    if (!pst_json_finish(&peek->walk.json))
        return refuse(peek, peek->walk.json.error);
    if (!peek->is_object) /* a number, which only the end completes */
        return refuse(peek, "the body is not an object");
    result = peek->result;
    result.prefix_hash = pst_hash_value(&peek->prefix);
    result.model[result.model_bytes == 0 ? 0 : peek->model_len] = '\0';
    result.user[whole_utf8(result.user, peek->user_len)] = '\0';
    for (size_t i = 0; i < PST_PEEK_TALLIES_MAX; i++) {
        const struct pst_peek_tally *tally = &peek->tallies[i];

        result.text_bytes += tally->text_bytes;
        result.text_chars += tally->text_chars;
        result.wide_chars += tally->wide_chars;
        result.tokens_given += tally->tokens_given;
        result.media_parts = add_saturated(result.media_parts, tally->media_parts);
        result.prompts = add_saturated(result.prompts, tally->prompts);
    }
    if (result.prompts == 0)
        result.prompts = 1;
    copies = peek->n > peek->best_of ? peek->n : peek->best_of;
    result.sequences = multiply_saturated(result.prompts, copies == 0 ? 1 : copies);
    result.max_tokens =
        peek->max_completion_tokens != 0 ? peek->max_completion_tokens : peek->max_tokens;
    *ret_result = result;
    return PST_OK;
}

const char *pst_peek_error(const struct pst_peek *peek, uint64_t *ret_offset)
{
    *ret_offset = peek->error_at;
    return peek->error;
}
