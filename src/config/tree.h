/*
 * tree.h - YAML as a small tree in which every node knows its line and column.
 *
 * Why: messages must point at the place; YAML's own types must not be guessed (`no`, 0080, 1e3 are
 * three texts); and a file is a stranger until it has been read.
 *
 * Guarantee: bounded in bytes, nodes, depth and aliases, checked before memory is taken. One document,
 * no tags, no merge keys, no key twice, no control characters in a text. The tree has no cycles: an
 * alias is known only after its anchor's node has ended.
 */
#ifndef PST_CONFIG_TREE_H
#define PST_CONFIG_TREE_H

#include "config/arena.h"
#include "config/config.h"

enum pst_tree_kind { PST_TREE_TEXT, PST_TREE_MAP, PST_TREE_LIST };

struct pst_tree_node {
    enum pst_tree_kind kind;
    uint32_t line, column;              /* from 1 */
    const char *text;                   /* TEXT */
    bool quoted;                        /* TEXT: an empty one that is quoted is meant */
    const struct pst_tree_node **items; /* LIST: items; MAP: key, value, key, value … */
    size_t count;
};

/*
 * PST_OK, PST_E_INVALID (said in `problems`) or PST_E_NOMEM. An empty file is an empty map. A tree may
 * come back together with problems when only a part of it was left out.
 */
int pst_tree_read(const char *text, size_t len, struct pst_arena *arena,
                  struct pst_problems *problems, const struct pst_tree_node **ret_root);

/*
 * The documents of a file that others read too, as a list: texts may have lines, nesting is deeper. Bounded as
 * above. Nothing between two marks is no document.
 */
int pst_tree_read_documents(const char *text, size_t len, struct pst_arena *arena,
                            struct pst_problems *problems, const struct pst_tree_node **ret_list);

/* The value of a key; NULL: not there, or not a map (NULL included). */
const struct pst_tree_node *pst_tree_get(const struct pst_tree_node *map, const char *key);
/* The same for messages: the map itself where the key is not there. */
const struct pst_tree_node *pst_tree_at(const struct pst_tree_node *map, const char *key);

#endif
