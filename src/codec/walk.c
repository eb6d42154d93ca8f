/* walk.c - see walk.h. */
#include "codec/walk.h"

#include <string.h>

void pst_walk_init(struct pst_walk *walk, const struct pst_walk_place *places, uint8_t map)
{
    pst_json_init(&walk->json);
    walk->places = places;
    walk->rule = NULL;
    walk->map = map;
    walk->place = PST_WALK_ROOT;
    walk->key_len = 0;
    walk->key_done = false;
}

static uint8_t element_place(const struct pst_walk *walk, uint8_t in)
{
    const struct pst_walk_place *place = &walk->places[in];

    for (size_t i = 0; i < place->count; i++)
        if (place->rules[i].key == NULL && (place->rules[i].maps & walk->map) != 0)
            return place->rules[i].to;
    return PST_WALK_ELSEWHERE;
}

static bool key_is(const struct pst_walk *walk, const struct pst_walk_rule *rule)
{
    if (rule->key_len == 0)
        return rule->key != NULL;
    return rule->key_len == walk->key_len && memcmp(rule->key, walk->key, rule->key_len) == 0;
}

static void find_key(struct pst_walk *walk)
{
    const struct pst_walk_place *place = &walk->places[walk->place];

    walk->rule = NULL;
    walk->place = PST_WALK_ELSEWHERE;
    for (size_t i = 0; i < place->count; i++) {
        const struct pst_walk_rule *rule = &place->rules[i];

        if ((rule->maps & walk->map) != 0 && key_is(walk, rule)) {
            walk->rule = rule;
            walk->place = rule->to;
            return;
        }
    }
}

static void add_key(struct pst_walk *walk, const struct pst_json_text *text)
{
    if (walk->key_len + text->len > PST_WALK_KEY_MAX) {
        walk->key_len = PST_WALK_KEY_MAX + 1;
        return;
    }
    memcpy(walk->key + walk->key_len, text->at, text->len);
    walk->key_len = (uint8_t)(walk->key_len + text->len);
}

/* Where the value that begins now stands: its key was looked up when it ended. */
static void enter_value(struct pst_walk *walk, uint8_t depth_around)
{
    bool in_array = depth_around > 0 && (walk->json.objects >> (depth_around - 1) & 1) == 0;

    if (in_array) {
        walk->place = walk->element[depth_around - 1];
        walk->rule = NULL;
    }
}

enum pst_json_kind pst_walk_next(struct pst_walk *walk, struct pst_json_input *input,
                                 struct pst_json_text *ret_text)
{
    enum pst_json_kind kind;
    uint8_t depth;

    /* Looked up only now: while its key is read, the place is still the object's. */
    if (walk->key_done) {
        find_key(walk);
        walk->key_done = false;
        walk->key_len = 0;
    }
    kind = pst_json_next(&walk->json, input, ret_text);
    depth = walk->json.depth;
    switch (kind) {
    case PST_JSON_OBJECT:
    case PST_JSON_ARRAY:
        enter_value(walk, (uint8_t)(depth - 1));
        walk->container[depth - 1] = walk->place;
        walk->element[depth - 1] = kind == PST_JSON_ARRAY ? element_place(walk, walk->place) : 0;
        if (walk->place == PST_WALK_ELSEWHERE)
            pst_json_skip(&walk->json);
        break;
    case PST_JSON_OBJECT_END:
    case PST_JSON_ARRAY_END:
        walk->place = walk->container[depth];
        break;
    case PST_JSON_TEXT:
    case PST_JSON_TEXT_END:
        if (walk->json.in_key) {
            walk->place = walk->container[depth - 1];
            add_key(walk, ret_text);
            walk->key_done = kind == PST_JSON_TEXT_END;
        }
        break;
    case PST_JSON_STRING:
    case PST_JSON_NUMBER:
    case PST_JSON_TRUE:
    case PST_JSON_FALSE:
    case PST_JSON_NULL:
        enter_value(walk, depth);
        break;
    case PST_JSON_MORE:
    case PST_JSON_ERROR:
    case PST_JSON_KIND_COUNT:
        break;
    }
    return kind;
}
