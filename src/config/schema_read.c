/* schema_read.c - walks a tree along the rows of the schema. */
#include "config/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "config/likely.h"
#include "config/problems.h"
#include "config/scalar.h"
#include "config/secret.h"
#include "config/value.h"

#define LIST_MAX 4096 /* entries, where a row does not say */
#define SECRET   "a secret is not written here; say {env: NAME} or {file: PATH}"

struct walk {
    enum pst_schema_secrets secrets;
    struct pst_items *variables;
    struct pst_arena *arena;
    struct pst_problems *problems;
};

static void read_section(struct walk *w, const struct pst_section *section,
                         const struct pst_tree_node *node, void *base);

static void complain(struct walk *w, const struct pst_tree_node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void complain(struct walk *w, const struct pst_tree_node *node, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pst_problems_add(w->problems, PST_PROBLEM_ERROR, node->line, node->column, "%s", text);
}

static void complain_unknown(struct walk *w, const struct pst_section *section,
                             const struct pst_tree_node *key)
{
    struct pst_likely likely = pst_likely_begin(key->text);
    char meant[96];

    for (const struct pst_section *from = section; from != NULL; from = from->extends) {
        for (size_t i = 0; i < from->count; i++)
            pst_likely_offer(&likely, from->fields[i].key);
    }
    complain(w, key, "unknown key `%.80s`%s%s%s", key->text,
             section->title[0] == '\0' ? "" : " in ", section->title,
             pst_likely_text(&likely, meant, sizeof meant));
}

static void read_scalar(struct walk *w, const char *name, const struct pst_field *field,
                        const struct pst_tree_node *node, void *place)
{
    const char *refused = NULL;
    char form[256];
    int rc;

    pst_value_form(field, true, form, sizeof form);
    if (node->kind != PST_TREE_TEXT || node->text[0] == '\0') {
        complain(w, node, "%s: %s; expected %s", name,
                 node->kind == PST_TREE_TEXT ? "no value" : "not a single value", form);
        return;
    }
    rc = pst_value_store(field, node->text, place, w->arena, &refused);
    if (rc == PST_E_INVALID)
        complain(w, node, "%s: %s", name, refused);
    else if (rc != PST_OK)
        complain(w, node, "%s: '%.80s' %s; expected %s", name, node->text,
                 rc == PST_E_FULL ? "is out of range" : "cannot be read", form);
}

/* What need not be a secret; "" is a value too. */
static void read_plain(struct walk *w, const struct pst_tree_node *node, void *place)
{
    char *text = pst_arena_text(w->arena, node->text, strlen(node->text));

    memcpy(place, &text, sizeof text);
}

static void note_variable(struct walk *w, const char *name)
{
    struct pst_items *known = w->variables;
    char **names = known->items;

    if ((known->count & (known->count - 1)) == 0) /* full: it has room for a power of two */
        names = pst_arena_grow(w->arena, names, known->count * sizeof *names,
                               (known->count == 0 ? 1 : 2 * known->count) * sizeof *names);
    if (names == NULL)
        return;
    known->items = names;
    names[known->count] = pst_arena_text(w->arena, name, strlen(name));
    if (names[known->count] != NULL)
        known->count++;
}

static void read_secret(struct walk *w, const char *name, const struct pst_tree_node *node,
                        void *place)
{
    const struct pst_tree_node *env = pst_tree_get(node, "env"), *file = pst_tree_get(node, "file");
    const struct pst_tree_node *from = env != NULL ? env : file;
    const char *fault = NULL;
    char *secret = NULL;
    int rc;

    if (node->kind != PST_TREE_MAP || node->count != 2 || from == NULL ||
        from->kind != PST_TREE_TEXT) {
        complain(w, node, "%s: " SECRET, name);
        return;
    }
    if (env != NULL)
        note_variable(w, env->text);
    if (w->secrets == PST_SCHEMA_ELSEWHERE) {
        read_plain(w, from, place);
        return;
    }
    rc = env != NULL ? pst_secret_from_env(env->text, w->arena, &secret, &fault)
                     : pst_secret_from_file(file->text, w->arena, &secret, &fault);
    if (rc == PST_OK)
        memcpy(place, &secret, sizeof secret);
    else
        complain(w, from, "%s: %.200s: %s", name, from->text, fault);
}

/* The name of a NAMED element, and the defaults that hang on it. */
static void take_name(struct walk *w, const char *name, const struct pst_section *section,
                      const struct pst_tree_node *key, unsigned char *element)
{
    char *text = pst_arena_text(w->arena, key->text, strlen(key->text));

    if (key->text[0] == '\0' || strlen(key->text) > 255)
        complain(w, key, "%s: a name of 1 to 255 characters is expected", name);
    if (text == NULL)
        return;
    if (section->prepare != NULL)
        section->prepare(element, text);
    memcpy(element + section->name_offset, &text, sizeof text);
}

/* One element per entry, also where an entry has problems: indexes agree with the tree's. */
static void read_items(struct walk *w, const char *name, const struct pst_field *field,
                       const struct pst_tree_node *node, void *place)
{
    const struct pst_section *section = field->section;
    const bool named = field->kind == PST_FIELD_NAMED;
    const size_t stride = named ? 2 : 1;
    const size_t count = node->count / stride;
    const size_t most = field->max == 0 ? LIST_MAX : field->max;
    struct pst_items items = {0};

    if (node->kind != (named ? PST_TREE_MAP : PST_TREE_LIST)) {
        complain(w, node, "%s: %s is expected here", name, named ? "a map" : "a list");
        return;
    }
    if (count < field->min || count > most) {
        complain(w, node, "%s: %zu entries; %zu to %zu are allowed", name, count,
                 (size_t)field->min, most);
        return;
    }
    items.items = pst_arena_take(w->arena, count * section->size);
    if (items.items == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        unsigned char *element = (unsigned char *)items.items + i * section->size;
        if (named)
            take_name(w, name, section, node->items[i * stride], element);
        read_section(w, section, node->items[i * stride + (named ? 1 : 0)], element);
    }
    items.count = count;
    memcpy(place, &items, sizeof items);
}

/* name: what the value is called in messages. */
static void read_field(struct walk *w, const char *name, const struct pst_field *field,
                       const struct pst_tree_node *node, void *base)
{
    unsigned char *place = (unsigned char *)base + field->offset;

    if (pst_value_is_scalar(field->kind))
        read_scalar(w, name, field, node, place);
    else if (field->kind == PST_FIELD_SECTION)
        read_section(w, field->section, node, place);
    else if (field->kind == PST_FIELD_PRIVATE && node->kind == PST_TREE_TEXT)
        read_plain(w, node, place);
    else if (field->kind == PST_FIELD_SECRET || field->kind == PST_FIELD_PRIVATE)
        read_secret(w, name, node, place);
    else if (field->kind == PST_FIELD_REFUSED)
        complain(w, node, "%s: %s", name, field->doc);
    else if (field->kind != PST_FIELD_IGNORED)
        read_items(w, name, field, node, place);
}

/* Written as a user would, so a default that cannot be read is our bug. */
static void apply_defaults(struct walk *w, const struct pst_section *section, void *base)
{
    if (section->extends != NULL)
        apply_defaults(w, section->extends, base);
    for (size_t i = 0; i < section->count; i++) {
        const struct pst_field *field = &section->fields[i];
        unsigned char *place = (unsigned char *)base + field->offset;
        const char *refused;
        if (field->fallback != NULL)
            PST_ASSERT(pst_value_store(field, field->fallback, place, w->arena, &refused) ==
                       PST_OK);
        else if (field->kind == PST_FIELD_SECTION && !field->required)
            apply_defaults(w, field->section, place);
    }
}

static const struct pst_field *find(const struct pst_section *section, const char *key)
{
    for (; section != NULL; section = section->extends) {
        for (size_t i = 0; i < section->count; i++) {
            if (section->fields[i].key != NULL && strcmp(section->fields[i].key, key) == 0)
                return &section->fields[i];
        }
    }
    return NULL;
}

static void complain_missing(struct walk *w, const struct pst_section *section,
                             const struct pst_tree_node *node)
{
    for (const struct pst_section *from = section; from != NULL; from = from->extends) {
        for (size_t i = 0; i < from->count; i++) {
            const struct pst_field *field = &from->fields[i];
            char form[256];
            if (!field->required || pst_tree_get(node, field->key) != NULL ||
                find(section, field->key) != field)
                continue;
            pst_value_form(field, true, form, sizeof form);
            complain(w, node, "`%s` is missing%s%s: %s", field->key,
                     section->title[0] == '\0' ? "" : " in ", section->title, form);
        }
    }
}

static void read_map(struct walk *w, const struct pst_section *section,
                     const struct pst_tree_node *node, void *base)
{
    for (size_t i = 0; i < node->count; i += 2) {
        const struct pst_field *field = find(section, node->items[i]->text);
        if (field == NULL)
            complain_unknown(w, section, node->items[i]);
        else
            read_field(w, field->key, field, node->items[i + 1], base);
    }
    complain_missing(w, section, node);
}

static void read_section(struct walk *w, const struct pst_section *section,
                         const struct pst_tree_node *node, void *base)
{
    if (section->node_offset != PST_SECTION_NOWHERE)
        memcpy((unsigned char *)base + section->node_offset, &node, sizeof node);
    apply_defaults(w, section, base);

    if (section->fields[0].key == NULL)
        read_field(w, section->title, &section->fields[0], node, base);
    else if (node->kind == PST_TREE_MAP)
        read_map(w, section, node, base);
    else if (section->listed != NULL && node->kind == PST_TREE_LIST)
        read_field(w, section->title, find(section, section->listed), node, base);
    else if (section->plain != NULL && node->kind == PST_TREE_TEXT)
        read_field(w, section->title, find(section, section->plain), node, base);
    else if (node->kind == PST_TREE_TEXT && node->text[0] == '\0' && !node->quoted)
        complain(w, node, "%s: nothing is given; write {} for the defaults", section->title);
    else
        complain(w, node, "%s: a map is expected here", section->title);
}

void pst_schema_read(const struct pst_section *section, const struct pst_tree_node *map, void *base,
                     enum pst_schema_secrets secrets, struct pst_items *variables,
                     struct pst_arena *arena, struct pst_problems *problems)
{
    struct walk w = {secrets, variables, arena, problems};

    read_section(&w, section, map, base);
}
