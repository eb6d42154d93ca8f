/* asking.c - see asking.h. */
#include "cmd/asking.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cmd/commands.h"

#define TOKEN_MAX 4096

/* The question on its way. */
struct way {
    const struct pst_asking *asking;
    struct pst_loop *loop;
    int exit_code;
};

/* "" without a file. False: said why. */
static bool token_read(const struct pst_asking *asking, char token[TOKEN_MAX])
{
    FILE *file;

    token[0] = '\0';
    if (asking->token_file == NULL)
        return true;
    file = fopen(asking->token_file, "re");
    if (file == NULL || fgets(token, TOKEN_MAX, file) == NULL) {
        fprintf(stderr, "penstock %s: %s: no token can be read from it\n", asking->command,
                asking->token_file);
        if (file != NULL)
            (void)fclose(file);
        return false;
    }
    (void)fclose(file);
    token[strcspn(token, "\r\n")] = '\0';
    for (const char *c = token; *c != '\0'; c++)
        if (!isgraph((unsigned char)*c)) {
            fprintf(stderr, "penstock %s: %s: a token is one word\n", asking->command,
                    asking->token_file);
            return false;
        }
    return true;
}

/* "127.0.0.1:9900", "[::1]:9900", "name:9900" */
static bool address_split(const char *text, char *host, size_t size, uint16_t *ret_port)
{
    const char *colon = strrchr(text, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - text);
    char *end;
    unsigned long port = colon == NULL ? 0 : strtoul(colon + 1, &end, 10);

    if (len == 0 || port == 0 || port > UINT16_MAX || *end != '\0')
        return false;
    if (text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    }
    if (len == 0 || len >= size)
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    *ret_port = (uint16_t)port;
    return true;
}

bool pst_asking_encode(const char *text, char *target, size_t size)
{
    size_t len = strlen(target);

    for (const char *c = text; *c != '\0'; c++) {
        bool plain = isalnum((unsigned char)*c) || strchr("-._~", *c) != NULL;

        if (len + 4 > size)
            return false;
        len +=
            (size_t)snprintf(target + len, size - len, plain ? "%c" : "%%%02X", (unsigned char)*c);
    }
    return true;
}

/* False: does not fit. */
static bool head_write(const struct pst_asking *asking, const char *authority, const char *token,
                       char *head, size_t size)
{
    int len = snprintf(
        head, size,
        "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nConnection: close\r\n"
        "%s%s%s%s%s%s\r\n",
        asking->method, asking->target, authority,
        asking->accept == NULL ? "" : "Accept: ", asking->accept == NULL ? "" : asking->accept,
        asking->accept == NULL ? "" : "\r\n", token[0] == '\0' ? "" : "Authorization: Bearer ",
        token, token[0] == '\0' ? "" : "\r\n");

    return len > 0 && (size_t)len < size;
}

void pst_asking_refused(const struct pst_asking *asking, const struct pst_fetch_result *result)
{
    cJSON *root = cJSON_Parse(result->body.at);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));

    fprintf(stderr, "penstock %s: the gateway answers %u: %s\n", asking->command, result->status,
            message != NULL ? message : "no reason given");
    cJSON_Delete(root);
}

static void on_done(void *user, const struct pst_fetch_result *result)
{
    struct way *way = user;
    const struct pst_asking *asking = way->asking;

    way->exit_code = PST_EXIT_FAILED;
    if (result->status != 0)
        way->exit_code = asking->answered(asking->user, result);
    else if (result->how == PST_CALL_REFUSED)
        fprintf(stderr, "penstock %s: no connection to %s\n", asking->command, asking->admin);
    else
        fprintf(stderr, "penstock %s: %s gave no answer\n", asking->command, asking->admin);
    pst_loop_stop(way->loop);
}

static int go(struct way *way, const struct pst_upstream_config *config, const char *token)
{
    const struct pst_asking *asking = way->asking;
    struct pst_upstream *upstream = NULL;
    struct pst_fetch *fetch;
    char head[PST_ASKING_HEAD];
    int rc = pst_loop_new(&way->loop);

    if (rc == PST_OK)
        rc = pst_upstream_new(way->loop, config, &upstream);
    if (rc == PST_OK &&
        !head_write(asking, pst_upstream_authority(upstream), token, head, sizeof head))
        rc = PST_E_FULL;
    if (rc == PST_OK)
        rc = pst_fetch_start(upstream, way->loop, pst_slice_of(head), PST_SLICE(""), asking->within,
                             asking->answer_max, on_done, way, &fetch);
    if (rc == PST_OK)
        rc = pst_loop_run(way->loop);
    else
        fprintf(stderr, "penstock %s: cannot ask %s\n", asking->command, asking->admin);
    if (upstream != NULL)
        pst_upstream_free(upstream);
    if (way->loop != NULL)
        pst_loop_free(way->loop);
    return rc == PST_OK ? way->exit_code : PST_EXIT_FAILED;
}

int pst_asking(const struct pst_asking *asking)
{
    struct pst_upstream_config config = {
        .connect_timeout = 10 * PST_S,
        .idle_timeout = 10 * PST_S,
        .idle_max = 1,
        .head_max = 32 << 10,
    };
    struct way way = {.asking = asking, .exit_code = PST_EXIT_FAILED};
    char host[256], token[TOKEN_MAX];

    if (!address_split(asking->admin, host, sizeof host, &config.port)) {
        fprintf(stderr, "penstock %s: --admin takes HOST:PORT\n", asking->command);
        return PST_EXIT_USAGE;
    }
    if (!token_read(asking, token))
        return PST_EXIT_USAGE;
    config.host = host;
    return go(&way, &config, token);
}
