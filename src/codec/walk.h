/*
 * walk.h - a JSON text read with a map: every value comes with the place where it stands.
 *
 * Why: who reads a body or an answer wants a few values at known places of a large text. The places are
 * a table of rules ("under ROOT, key model leads to MODEL"); walking it is the same work for all.
 *
 * Guarantee: as json.h; a value that no rule leads to stands at PST_WALK_ELSEWHERE, and nothing inside
 * it is told.
 */
#ifndef PST_CODEC_WALK_H
#define PST_CODEC_WALK_H

#include "codec/json.h"

#define PST_WALK_ELSEWHERE 0
#define PST_WALK_ROOT      1 /* the text's own value; the map's other places follow */
#define PST_WALK_KEY_MAX   32

/* One key of a container, and where it leads to. */
struct pst_walk_rule {
    uint8_t maps; /* bit set: the rule holds in these maps */
    uint8_t to;
    const char *key;
    uint8_t key_len;
};

#define PST_WALK_KEY(literal) (literal), sizeof(literal) - 1
#define PST_WALK_ELEMENT      NULL, 0 /* elements of an array */
#define PST_WALK_ANY_KEY      "", 0   /* every key that no rule before names */

/* The rules of the containers that stand at one place; a map is an array of these, by place. */
struct pst_walk_place {
    const struct pst_walk_rule *rules;
    size_t count;
};

#define PST_WALK_RULES(array)                                                                      \
    {                                                                                              \
        (array), PST_COUNT_OF(array)                                                               \
    }

struct pst_walk {
    struct pst_json json;
    const struct pst_walk_place *places;
    const struct pst_walk_rule *rule; /* that led to the value at hand; NULL: none */
    uint8_t map;                      /* one bit */
    uint8_t place;   /* of the value at hand; of the object while its keys are read */
    bool key_done;   /* a key was read, its value is next */
    uint8_t key_len; /* PST_WALK_KEY_MAX + 1: longer than any */
    char key[PST_WALK_KEY_MAX];
    uint8_t container[PST_JSON_DEPTH_MAX]; /* places of the open containers */
    uint8_t element[PST_JSON_DEPTH_MAX];   /* places of their elements */
};

void pst_walk_init(struct pst_walk *walk, const struct pst_walk_place *places, uint8_t map);

/* As pst_json_next; `place` and `rule` belong to the token returned. */
enum pst_json_kind pst_walk_next(struct pst_walk *walk, struct pst_json_input *input,
                                 struct pst_json_text *ret_text);

#endif
