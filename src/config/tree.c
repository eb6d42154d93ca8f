#include "config/tree.h"

#include <string.h>
#include <yaml.h>

#include "config/problems.h"

#define BYTES_MAX   (UINT32_C(1) << 20)
#define NODES_MAX   20000
#define DEPTH_MAX   16
#define DEEPER_MAX  32 /* of documents that others read too */
#define ANCHORS_MAX 64
#define ALIASES_MAX 64

struct anchor {
    const char *name;
    const struct pst_tree_node *node;
};

struct loader {
    yaml_parser_t parser;
    struct pst_arena *arena;
    struct pst_problems *problems;
    struct anchor anchors[ANCHORS_MAX];
    size_t anchors_count, aliases_count, nodes_count;
    unsigned depth_max;
    bool has_lines; /* texts may have line breaks and tabs */
};

static const struct pst_tree_node *read_node(struct loader *l, const yaml_event_t *event,
                                             unsigned depth);

static void complain(struct loader *l, const yaml_mark_t *mark, const char *what)
{
    pst_problems_add(l->problems, PST_PROBLEM_ERROR, (uint32_t)mark->line + 1,
                     (uint32_t)mark->column + 1, "%s", what);
}

/* The next event, or false after the parser's own complaint was passed on. */
static bool next_event(struct loader *l, yaml_event_t *ret_event)
{
    const yaml_parser_t *p = &l->parser;

    if (yaml_parser_parse(&l->parser, ret_event))
        return true;
    if (p->error == YAML_MEMORY_ERROR) {
        l->arena->failed = true;
        return false;
    }
    pst_problems_add(l->problems, PST_PROBLEM_ERROR, (uint32_t)p->problem_mark.line + 1,
                     (uint32_t)p->problem_mark.column + 1, "not YAML: %s%s%s",
                     p->problem == NULL ? "cannot be read" : p->problem,
                     p->context == NULL ? "" : " ", p->context == NULL ? "" : p->context);
    return false;
}

static struct pst_tree_node *new_node(struct loader *l, const yaml_event_t *event,
                                      enum pst_tree_kind kind)
{
    struct pst_tree_node *node;

    if (++l->nodes_count > NODES_MAX) {
        complain(l, &event->start_mark, "too many values in one file");
        return NULL;
    }
    node = pst_arena_take(l->arena, sizeof *node);
    if (node == NULL)
        return NULL;
    node->kind = kind;
    node->line = (uint32_t)event->start_mark.line + 1;
    node->column = (uint32_t)event->start_mark.column + 1;
    return node;
}

/* Lists double, in the arena: what is left behind is at most what is kept. */
static bool append(struct loader *l, struct pst_tree_node *node, const struct pst_tree_node *item)
{
    const size_t size = sizeof(struct pst_tree_node *);
    const size_t count = node->count;

    if ((count & (count - 1)) == 0) { /* 0, 1, 2, 4, 8 … are full */
        const size_t room = count == 0 ? 1 : 2 * count;
        void *items = pst_arena_grow(l->arena, node->items, count * size, room * size);
        if (items == NULL)
            return false;
        node->items = items;
    }
    node->items[node->count++] = item;
    return true;
}

static const struct pst_tree_node *read_text(struct loader *l, const yaml_event_t *event)
{
    const char *value = (const char *)event->data.scalar.value;
    const size_t len = event->data.scalar.length;
    struct pst_tree_node *node = new_node(l, event, PST_TREE_TEXT);

    if (node == NULL)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        if (l->has_lines && (value[i] == '\n' || value[i] == '\t'))
            continue;
        if ((unsigned char)value[i] < ' ' || value[i] == 0x7f) {
            complain(l, &event->start_mark,
                     "control characters and line breaks have no place here");
            break;
        }
    }
    node->text = pst_arena_text(l->arena, value, len);
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    return node->text == NULL ? NULL : node;
}

static const struct pst_tree_node *read_list(struct loader *l, const yaml_event_t *start,
                                             unsigned depth)
{
    struct pst_tree_node *node = new_node(l, start, PST_TREE_LIST);
    yaml_event_t event;

    if (node == NULL)
        return NULL;
    while (next_event(l, &event)) {
        const bool end = event.type == YAML_SEQUENCE_END_EVENT;
        const struct pst_tree_node *item = end ? NULL : read_node(l, &event, depth);
        yaml_event_delete(&event);
        if (end)
            return node;
        if (item == NULL || !append(l, node, item))
            return NULL;
    }
    return NULL;
}

/* False: the key is no use, and was said to be. */
static bool take_key(struct loader *l, const struct pst_tree_node *map,
                     const struct pst_tree_node *key)
{
    const char *fault = NULL;

    if (key->kind != PST_TREE_TEXT)
        fault = "a key must be a plain text";
    else if (strcmp(key->text, "<<") == 0)
        fault = "merge keys (<<) are not read; write the values out";
    if (fault != NULL) {
        pst_problems_add(l->problems, PST_PROBLEM_ERROR, key->line, key->column, "%s", fault);
        return false;
    }
    for (size_t i = 0; i < map->count; i += 2) {
        if (strcmp(map->items[i]->text, key->text) == 0) {
            pst_problems_add(l->problems, PST_PROBLEM_ERROR, key->line, key->column,
                             "`%s` is given twice; the first is in line %u", key->text,
                             map->items[i]->line);
            return false;
        }
    }
    return true;
}

static const struct pst_tree_node *read_map(struct loader *l, const yaml_event_t *start,
                                            unsigned depth)
{
    struct pst_tree_node *node = new_node(l, start, PST_TREE_MAP);
    const struct pst_tree_node *key = NULL;
    yaml_event_t event;

    if (node == NULL)
        return NULL;
    while (next_event(l, &event)) {
        const bool end = event.type == YAML_MAPPING_END_EVENT;
        const struct pst_tree_node *item = end ? NULL : read_node(l, &event, depth);
        yaml_event_delete(&event);
        if (end)
            return node;
        if (item == NULL)
            return NULL;
        if (key == NULL) {
            key = item;
            continue;
        }
        if (take_key(l, node, key) && (!append(l, node, key) || !append(l, node, item)))
            return NULL;
        key = NULL;
    }
    return NULL;
}

static const struct pst_tree_node *read_alias(struct loader *l, const yaml_event_t *event)
{
    const char *name = (const char *)event->data.alias.anchor;

    if (++l->aliases_count > ALIASES_MAX) {
        complain(l, &event->start_mark, "too many aliases in one file");
        return NULL;
    }
    for (size_t i = l->anchors_count; i-- > 0;) {
        if (strcmp(l->anchors[i].name, name) == 0)
            return l->anchors[i].node;
    }
    complain(l, &event->start_mark, "an alias of nothing that stands before it");
    return NULL;
}

static bool keep_anchor(struct loader *l, const yaml_event_t *event, const char *name,
                        const struct pst_tree_node *node)
{
    if (l->anchors_count == ANCHORS_MAX) {
        complain(l, &event->start_mark, "too many anchors in one file");
        return false;
    }
    name = pst_arena_text(l->arena, name, strlen(name));
    if (name == NULL)
        return false;
    l->anchors[l->anchors_count++] = (struct anchor){name, node};
    return true;
}

/* One node and all below it. Depth is bounded here, so recursion is. */
static const struct pst_tree_node *read_node(struct loader *l, const yaml_event_t *event,
                                             unsigned depth)
{
    const struct pst_tree_node *node = NULL;
    const yaml_char_t *anchor = NULL, *tag = NULL;

    if (depth == l->depth_max) {
        complain(l, &event->start_mark, "nested too deeply");
        return NULL;
    }
    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(l, event);

    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
        node = read_text(l, event);
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
        node = read_list(l, event, depth + 1);
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
        node = read_map(l, event, depth + 1);
    }
    if (node == NULL)
        return NULL;
    if (tag != NULL)
        complain(l, &event->start_mark, "tags (!…) are not read: a key decides what its value is");
    if (anchor != NULL && !keep_anchor(l, event, (const char *)anchor, node))
        return NULL;
    return node;
}

/* Stream and document around the one root. */
static const struct pst_tree_node *read_stream(struct loader *l)
{
    const struct pst_tree_node *root = NULL;
    yaml_event_t event;

    while (next_event(l, &event)) {
        const yaml_event_type_t type = event.type;
        bool go_on = true;
        if (type == YAML_STREAM_END_EVENT) {
            go_on = false;
            if (root == NULL)
                root = new_node(l, &event, PST_TREE_MAP);
        } else if (type == YAML_DOCUMENT_START_EVENT && root != NULL) {
            complain(l, &event.start_mark, "a second document; one file is one configuration");
            root = NULL;
            go_on = false;
        } else if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT &&
                   type != YAML_DOCUMENT_END_EVENT) {
            root = read_node(l, &event, 0);
            go_on = root != NULL;
        }
        yaml_event_delete(&event);
        if (!go_on)
            return root;
    }
    return NULL;
}

/* False: something was said, or there is no memory. */
static bool read_documents(struct loader *l, struct pst_tree_node *list)
{
    yaml_event_t event;
    bool good = true, end = false;

    while (good && !end && next_event(l, &event)) {
        const yaml_event_type_t type = event.type;

        end = type == YAML_STREAM_END_EVENT;
        if (type == YAML_DOCUMENT_START_EVENT) {
            l->anchors_count = 0; /* names are a document's own */
        } else if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_END_EVENT && !end) {
            const struct pst_tree_node *root = read_node(l, &event, 0);

            good = root != NULL && (root->kind != PST_TREE_MAP || append(l, list, root));
        }
        yaml_event_delete(&event);
    }
    return good && end;
}

/* libyaml counts a byte order mark as a column, and takes the first key for an indented one. */
static size_t mark_of(const char *text, size_t len)
{
    static const char mark[] = "\xef\xbb\xbf";

    return len >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
}

static int begin(struct loader *l, const char *text, size_t len)
{
    const size_t mark = mark_of(text, len);

    if (len > BYTES_MAX) {
        pst_problems_add(l->problems, PST_PROBLEM_ERROR, 0, 0, "larger than 1 MiB");
        return PST_E_INVALID;
    }
    if (!yaml_parser_initialize(&l->parser))
        return PST_E_NOMEM;
    yaml_parser_set_encoding(&l->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&l->parser, (const unsigned char *)text + mark, len - mark);
    return PST_OK;
}

int pst_tree_read(const char *text, size_t len, struct pst_arena *arena,
                  struct pst_problems *problems, const struct pst_tree_node **ret_root)
{
    struct loader l = {.arena = arena, .problems = problems, .depth_max = DEPTH_MAX};
    const struct pst_tree_node *root;
    int rc = begin(&l, text, len);

    if (rc != PST_OK)
        return rc;
    root = read_stream(&l);
    yaml_parser_delete(&l.parser);

    if (arena->failed)
        return PST_E_NOMEM;
    if (root == NULL)
        return PST_E_INVALID;
    if (root->kind != PST_TREE_MAP) {
        pst_problems_add(problems, PST_PROBLEM_ERROR, root->line, root->column,
                         "a configuration is a map of keys, as in `listen: 0.0.0.0:8080`");
        return PST_E_INVALID;
    }
    *ret_root = root;
    return PST_OK;
}

int pst_tree_read_documents(const char *text, size_t len, struct pst_arena *arena,
                            struct pst_problems *problems, const struct pst_tree_node **ret_list)
{
    struct loader l = {
        .arena = arena, .problems = problems, .depth_max = DEEPER_MAX, .has_lines = true};
    struct pst_tree_node *list = pst_arena_take(arena, sizeof *list);
    int rc = list == NULL ? PST_E_NOMEM : begin(&l, text, len);

    if (rc != PST_OK)
        return rc;
    list->kind = PST_TREE_LIST;
    list->line = list->column = 1;
    if (!read_documents(&l, list))
        rc = PST_E_INVALID;
    yaml_parser_delete(&l.parser);
    if (arena->failed)
        return PST_E_NOMEM;
    if (rc == PST_OK)
        *ret_list = list;
    return rc;
}

const struct pst_tree_node *pst_tree_get(const struct pst_tree_node *map, const char *key)
{
    if (map == NULL || map->kind != PST_TREE_MAP)
        return NULL;
    for (size_t i = 0; i < map->count; i += 2) {
        if (strcmp(map->items[i]->text, key) == 0)
            return map->items[i + 1];
    }
    return NULL;
}

const struct pst_tree_node *pst_tree_at(const struct pst_tree_node *map, const char *key)
{
    const struct pst_tree_node *node = pst_tree_get(map, key);

    return node != NULL ? node : map;
}
