/*
 * public.c - see public.h.
 *
 * A package: the gateway's secrets, each "NAME=value" and a NUL; an empty one; the text, which names
 * them as variables of the environment.
 */
#include "config/public.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/problems.h"
#include "config/secret.h"
#include "config/tree.h"

#define SECRETS_MAX 64
#define MEMORY_MAX  (32u << 20)
#define VARIABLE    "PENSTOCK_SECRET_"

/* Where we are in the file, as far as it matters. */
enum place {
    FILE_TOP,
    POOLS,
    POOL,
    REPLICAS,
    LOCAL,
    COMMAND,
    ENV,
    VALUE,  /* of a variable of the engines */
    SECRET, /* {env: NAME} or {file: PATH}, of the gateway */
    ELSEWHERE
};

static const struct {
    enum place in;
    const char *key;
    enum place place;
} places[] = {
    {FILE_TOP, "pools", POOLS},        {FILE_TOP, "admin_token", SECRET},
    {FILE_TOP, "drain_token", SECRET}, {POOL, "replicas", REPLICAS},
    {POOL, "upstream_auth", SECRET},   {REPLICAS, "local", LOCAL},
    {LOCAL, "command", COMMAND},       {LOCAL, "env", ENV},
};

struct writer {
    struct pst_arena arena;
    struct pst_text secrets, text;
    uint32_t line;
    unsigned secrets_count;
    int rc;
};

static enum place place_of(enum place in, const char *key)
{
    for (size_t i = 0; i < PST_COUNT_OF(places); i++)
        if (places[i].in == in && strcmp(places[i].key, key) == 0)
            return places[i].place;
    return ELSEWHERE;
}

/* To the node's own line, so that messages point there. One that an alias repeats stands where it may. */
static void go_to(struct writer *w, const struct pst_tree_node *node)
{
    for (; w->line < node->line; w->line++)
        pst_text_put(&w->text, "\n");
}

/* As long as it was, and with its placeholders, which are looked for. */
static void put_blank(struct writer *w, const char *secret)
{
    static const char *const kept[] = {"{port}", "{gpu}", "{gpus}", "{name}", "{model}"};

    pst_text_put(&w->text, "\"");
    while (*secret != '\0') {
        size_t i = 0;

        while (i < PST_COUNT_OF(kept) && strncmp(secret, kept[i], strlen(kept[i])) != 0)
            i++;
        pst_text_put(&w->text, i < PST_COUNT_OF(kept) ? kept[i] : "x");
        secret += i < PST_COUNT_OF(kept) ? strlen(kept[i]) : 1;
    }
    pst_text_put(&w->text, "\"");
}

/* The gateway's own secret: what is behind the name goes along. */
static void put_secret(struct writer *w, const struct pst_tree_node *node)
{
    const struct pst_tree_node *env = pst_tree_get(node, "env"), *file = pst_tree_get(node, "file");
    const struct pst_tree_node *from = env != NULL ? env : file;
    const char *fault;
    char *secret = NULL;

    if (from == NULL || from->kind != PST_TREE_TEXT || w->secrets_count == SECRETS_MAX) {
        w->rc = PST_E_INVALID;
        return;
    }
    w->rc = env != NULL ? pst_secret_from_env(from->text, &w->arena, &secret, &fault)
                        : pst_secret_from_file(from->text, &w->arena, &secret, &fault);
    if (w->rc != PST_OK)
        return;
    pst_text_print(&w->secrets, VARIABLE "%u=", w->secrets_count);
    pst_text_add(&w->secrets, secret, strlen(secret) + 1);
    pst_text_print(&w->text, "{\"env\": \"" VARIABLE "%u\"}", w->secrets_count++);
}

static void put_node(struct writer *w, const struct pst_tree_node *node, enum place place);

static void put_list(struct writer *w, const struct pst_tree_node *node, enum place place)
{
    pst_text_put(&w->text, "[");
    for (size_t i = 0; i < node->count; i++) {
        put_node(w, node->items[i], place == POOLS ? POOL : place);
        pst_text_put(&w->text, i + 1 < node->count ? ", " : "");
    }
    pst_text_put(&w->text, "]");
}

static void put_map(struct writer *w, const struct pst_tree_node *node, enum place place)
{
    pst_text_put(&w->text, "{");
    for (size_t i = 0; i + 1 < node->count; i += 2) {
        const struct pst_tree_node *key = node->items[i];

        go_to(w, key);
        pst_text_quote(&w->text, key->text);
        pst_text_put(&w->text, ": ");
        put_node(w, node->items[i + 1], place == ENV ? VALUE : place_of(place, key->text));
        pst_text_put(&w->text, i + 2 < node->count ? ", " : "");
    }
    pst_text_put(&w->text, "}");
}

static void put_text(struct writer *w, const struct pst_tree_node *node, enum place place)
{
    if (place == COMMAND || place == VALUE)
        put_blank(w, node->text);
    else if (node->text[0] != '\0' || node->quoted)
        pst_text_quote(&w->text, node->text);
}

static void put_node(struct writer *w, const struct pst_tree_node *node, enum place place)
{
    go_to(w, node);
    if (place == SECRET) {
        put_secret(w, node);
        return;
    }
    if (place == VALUE && node->kind != PST_TREE_TEXT) {
        put_blank(w, "x"); /* {env: NAME} or {file: PATH}: not theirs to look for */
        return;
    }
    switch (node->kind) {
    case PST_TREE_TEXT:
        put_text(w, node, place);
        return;
    case PST_TREE_LIST:
        put_list(w, node, place);
        return;
    case PST_TREE_MAP:
        put_map(w, node, place);
        return;
    }
}

static void erase(struct pst_text *text)
{
    if (text->at != NULL)
        explicit_bzero(text->at, text->len);
    pst_text_done(text);
}

/* What the other process will understand, is it the same pools? An anchor may have reached further. */
static bool is_understood(const struct pst_config *config, const struct pst_text *package)
{
    const char *keys[PST_CONFIG_RESTART_MAX];
    struct pst_config *other = NULL;
    struct pst_problems problems;
    bool same = pst_config_parse_public(config->path, package->at, package->len, &other,
                                        &problems) == PST_OK &&
                pst_config_needs_restart(config, other, keys) == 0;

    pst_problems_done(&problems);
    pst_config_free(other);
    return same;
}

int pst_config_public(const struct pst_config *config, struct pst_text *ret_package)
{
    struct writer w = {.line = 1, .rc = PST_OK};
    struct pst_problems problems = {0};
    const struct pst_tree_node *root;

    pst_arena_init(&w.arena, MEMORY_MAX);
    w.rc = pst_tree_read(config->text, config->text_len, &w.arena, &problems, &root);
    if (w.rc == PST_OK)
        put_node(&w, root, FILE_TOP);
    pst_text_add(&w.secrets, "", 1);
    pst_text_add(&w.secrets, w.text.at, w.text.len);
    if (w.rc == PST_OK && (w.secrets.broken || w.text.broken || w.arena.failed))
        w.rc = PST_E_NOMEM;
    if (w.rc == PST_OK && !is_understood(config, &w.secrets))
        w.rc = PST_E_INVALID;
    pst_problems_done(&problems);
    pst_arena_done(&w.arena);
    erase(&w.text);
    if (w.rc == PST_OK)
        *ret_package = w.secrets;
    else
        erase(&w.secrets);
    return w.rc;
}

/* For the time of a parse, the environment says what the text asks for. */
static const char *take_secrets(const char *package, const char *end)
{
    while (package < end && *package != '\0') {
        const char *value = memchr(package, '=', (size_t)(end - package));
        const char *over = memchr(package, '\0', (size_t)(end - package));
        char name[64];

        if (value == NULL || over == NULL || value > over ||
            (size_t)(value - package) >= sizeof name ||
            strncmp(package, VARIABLE, strlen(VARIABLE)) != 0)
            return NULL;
        memcpy(name, package, (size_t)(value - package));
        name[value - package] = '\0';
        if (setenv(name, value + 1, 1) != 0)
            return NULL;
        package = over + 1;
    }
    return package < end ? package + 1 : NULL;
}

static void forget_secrets(void)
{
    for (unsigned i = 0; i < SECRETS_MAX; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, VARIABLE "%u", i);
        (void)unsetenv(name);
    }
}

int pst_config_parse_public(const char *path, const char *package, size_t len,
                            struct pst_config **ret_config, struct pst_problems *problems)
{
    const char *end = package + len, *text = take_secrets(package, end);
    int rc = PST_E_INVALID;

    *problems = (struct pst_problems){0};
    if (text != NULL)
        rc = pst_config_parse(path, text, (size_t)(end - text), ret_config, problems);
    forget_secrets();
    return rc;
}
