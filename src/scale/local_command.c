/* local_command.c - see local_command.h. */
#include "scale/local_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/text.h"

#define DEVICES "CUDA_VISIBLE_DEVICES"

static void put_gpus(struct pst_text *out, const struct pst_local_words *words)
{
    for (size_t i = 0; i < words->gpus_count; i++)
        pst_text_print(out, "%s%u", i == 0 ? "" : ",", words->gpus[i]);
}

/* The length of the placeholder at `at` that was replaced; 0: it is none. */
static size_t replace(struct pst_text *out, const char *at, const struct pst_local_words *words)
{
    static const char *const names[] = {"{name}", "{model}", "{port}", "{gpu}", "{gpus}"};
    size_t i = 0;

    while (i < PST_COUNT_OF(names) && strncmp(at, names[i], strlen(names[i])) != 0)
        i++;
    switch (i) {
    case 0:
        pst_text_put(out, words->name);
        break;
    case 1:
        pst_text_put(out, words->model);
        break;
    case 2:
        pst_text_print(out, "%u", words->port);
        break;
    case 3:
        if (words->gpus_count > 0)
            pst_text_print(out, "%u", words->gpus[0]);
        break;
    case 4:
        put_gpus(out, words);
        break;
    default:
        return 0;
    }
    return strlen(names[i]);
}

static void expand(struct pst_text *out, const char *template_, const struct pst_local_words *words)
{
    while (*template_ != '\0') {
        size_t plain = strcspn(template_, "{"), used;

        pst_text_add(out, template_, plain);
        template_ += plain;
        used = *template_ == '{' ? replace(out, template_, words) : 0;
        if (*template_ == '{' && used == 0) {
            pst_text_add(out, "{", 1); /* another program's braces */
            used = 1;
        }
        template_ += used;
    }
}

/* Gives the text's memory to the list. */
static int finish_word(struct pst_text *text, char **ret_word)
{
    if (text->at == NULL && !text->broken)
        pst_text_put(text, "");
    if (text->broken || text->at == NULL)
        return PST_E_NOMEM;
    if (text->len >= PST_LOCAL_WORD_MAX) {
        explicit_bzero(text->at, text->len);
        return PST_E_FULL;
    }
    *ret_word = text->at;
    *text = (struct pst_text){0};
    return PST_OK;
}

static int make_argv(const struct pst_config_local *local, const struct pst_local_words *words,
                     struct pst_local_command *command)
{
    int rc = PST_OK;

    command->argv = calloc(local->command_count + 1, sizeof *command->argv);
    if (command->argv == NULL)
        return PST_E_NOMEM;
    for (size_t i = 0; i < local->command_count && rc == PST_OK; i++) {
        struct pst_text text = {0};

        expand(&text, local->command[i], words);
        rc = finish_word(&text, &command->argv[i]);
        pst_text_done(&text);
    }
    return rc;
}

static bool is_named(const char *pair, const char *name)
{
    size_t len = strlen(name);

    return strncmp(pair, name, len) == 0 && pair[len] == '=';
}

static bool is_in_template(const struct pst_config_local *local, const char *pair)
{
    for (size_t i = 0; i < local->env_count; i++)
        if (is_named(pair, local->env[i].name))
            return true;
    return false;
}

static bool is_secret(const struct pst_local_inherited *inherited, const char *pair)
{
    for (size_t i = 0; i < inherited->secrets_count; i++)
        if (is_named(pair, inherited->secrets[i]))
            return true;
    return false;
}

static int make_env(const struct pst_config_local *local, const struct pst_local_words *words,
                    const struct pst_local_inherited *inherited, struct pst_local_command *command)
{
    char *const *ours = inherited->environ_;
    bool names_devices = words->gpus_count > 0 && !is_in_template(local, DEVICES "=");
    size_t count = 0, n = 0;
    int rc = PST_OK;

    while (ours[count] != NULL)
        count++;
    command->env = calloc(count + local->env_count + 2, sizeof *command->env);
    if (command->env == NULL)
        return PST_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        if (is_in_template(local, ours[i]) || is_secret(inherited, ours[i]) ||
            (names_devices && is_named(ours[i], DEVICES)))
            continue;
        command->env[n] = strdup(ours[i]);
        if (command->env[n++] == NULL)
            return PST_E_NOMEM;
    }
    for (size_t i = 0; i < local->env_count && rc == PST_OK; i++) {
        struct pst_text text = {0};

        pst_text_print(&text, "%s=", local->env[i].name);
        expand(&text, local->env[i].value, words);
        rc = finish_word(&text, &command->env[n++]);
        pst_text_done(&text);
    }
    if (rc == PST_OK && names_devices) {
        struct pst_text text = {0};

        pst_text_put(&text, DEVICES "=");
        put_gpus(&text, words);
        rc = finish_word(&text, &command->env[n++]);
        pst_text_done(&text);
    }
    return rc;
}

int pst_local_command_make(const struct pst_config_local *local,
                           const struct pst_local_words *words,
                           const struct pst_local_inherited *inherited,
                           struct pst_local_command *ret_command)
{
    struct pst_local_command command = {0};
    int rc = make_argv(local, words, &command);

    if (rc == PST_OK)
        rc = make_env(local, words, inherited, &command);
    if (rc == PST_OK)
        *ret_command = command;
    else
        pst_local_command_done(&command);
    return rc;
}

static void erase(char **list)
{
    for (char **at = list; at != NULL && *at != NULL; at++) {
        explicit_bzero(*at, strlen(*at));
        free(*at);
    }
    free(list);
}

void pst_local_command_done(struct pst_local_command *command)
{
    erase(command->argv);
    erase(command->env);
    *command = (struct pst_local_command){0};
}

/* With its NUL, so that two words are not one. */
static bool digest_text(EVP_MD_CTX *digest, const char *text)
{
    return EVP_DigestUpdate(digest, text, strlen(text) + 1) == 1;
}

uint32_t pst_local_revision(const struct pst_config_local *local, const uint8_t *salt, size_t len)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    uint32_t revision = 0;
    bool good = digest != NULL && EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 &&
                EVP_DigestUpdate(digest, salt, len) == 1;

    for (size_t i = 0; i < local->command_count && good; i++)
        good = digest_text(digest, local->command[i]);
    for (size_t i = 0; i < local->env_count && good; i++)
        good = digest_text(digest, local->env[i].name) && digest_text(digest, local->env[i].value);
    good = good && digest_text(digest, local->directory == NULL ? "" : local->directory) &&
           EVP_DigestFinal_ex(digest, sum, NULL) == 1;
    EVP_MD_CTX_free(digest);
    if (good)
        memcpy(&revision, sum, sizeof revision);
    return revision == 0 ? 1 : revision;
}
