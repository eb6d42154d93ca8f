/* drain.c - `penstock drain`: asks a running gateway to end its work in order, and waits; see admin.h. */
#include "cmd/commands.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "cmd/options.h"
#include "net/upstream.h"

#define HEAD_MAX   8192
#define TOKEN_MAX  4096
#define ANSWER_MAX (16 << 10)
/* The gateway answers at its own deadline; this is for one that is gone without a word. */
#define ANSWER_WITHIN (86400 * PST_S)

struct drain {
    const char *admin, *token_file, *replica;
    pst_ns deadline, grace;
    bool json;
    char token[TOKEN_MAX];
    struct pst_loop *loop;
    int exit_code;
};

static bool token_read(struct drain *drain)
{
    FILE *file;

    if (drain->token_file == NULL)
        return true;
    file = fopen(drain->token_file, "re");
    if (file == NULL || fgets(drain->token, sizeof drain->token, file) == NULL) {
        fprintf(stderr, "penstock drain: %s: no token can be read from it\n", drain->token_file);
        if (file != NULL)
            (void)fclose(file);
        return false;
    }
    (void)fclose(file);
    drain->token[strcspn(drain->token, "\r\n")] = '\0';
    for (const char *c = drain->token; *c != '\0'; c++)
        if (!isgraph((unsigned char)*c)) {
            fprintf(stderr, "penstock drain: %s: a token is one word\n", drain->token_file);
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

static void put_encoded(FILE *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        if (isalnum((unsigned char)*c) || strchr("-._~", *c) != NULL)
            fputc(*c, out);
        else
            fprintf(out, "%%%02X", (unsigned char)*c);
    }
}

static void put_duration(FILE *out, const char *separator, const char *name, pst_ns value)
{
    if (value != PST_NEVER)
        fprintf(out, "%s%s=%llums", separator, name,
                (unsigned long long)((value + PST_MS - 1) / PST_MS));
}

/* False: does not fit. */
static bool head_write(const struct drain *drain, const char *authority, char *head, size_t size)
{
    FILE *out = fmemopen(head, size, "w");
    bool whole;

    if (out == NULL)
        return false;
    fputs("POST ", out);
    if (drain->replica != NULL) {
        fputs("/replicas/", out);
        put_encoded(out, drain->replica);
    }
    fputs("/drain", out);
    put_duration(out, "?", "deadline", drain->deadline);
    put_duration(out, drain->deadline == PST_NEVER ? "?" : "&", "grace", drain->grace);
    fprintf(out, " HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nConnection: close\r\n", authority);
    if (drain->token[0] != '\0')
        fprintf(out, "Authorization: Bearer %s\r\n", drain->token);
    fputs("\r\n", out);
    whole = fflush(out) == 0 && ferror(out) == 0;
    return fclose(out) == 0 && whole;
}

static void say_left(const char *body)
{
    cJSON *root = cJSON_Parse(body);
    const cJSON *left = cJSON_GetObjectItemCaseSensitive(root, "left");

    if (cJSON_IsNumber(left))
        fprintf(stderr, "penstock drain: the deadline came first; %.0f left\n", left->valuedouble);
    else
        fputs("penstock drain: the deadline came first\n", stderr);
    cJSON_Delete(root);
}

static void say_refused(uint16_t status, const char *body)
{
    cJSON *root = cJSON_Parse(body);
    const cJSON *error = cJSON_GetObjectItemCaseSensitive(root, "error");
    const char *message = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(error, "message"));

    fprintf(stderr, "penstock drain: the gateway answers %u: %s\n", status,
            message != NULL ? message : "no reason given");
    cJSON_Delete(root);
}

static void on_done(void *user, const struct pst_fetch_result *result)
{
    struct drain *drain = user;

    drain->exit_code = result->status == 200 ? PST_EXIT_OK : PST_EXIT_FAILED;
    if (drain->json && result->status != 0) {
        fputs(result->body.at, stdout); /* what the gateway says is JSON */
    } else if (result->status == 200) {
        puts("drained");
    } else if (result->status == 409) {
        say_left(result->body.at);
    } else if (result->status != 0) {
        say_refused(result->status, result->body.at);
    } else if (result->how == PST_CALL_REFUSED) {
        fprintf(stderr, "penstock drain: no connection to %s\n", drain->admin);
    } else {
        fprintf(stderr, "penstock drain: %s gave no answer\n", drain->admin);
    }
    pst_loop_stop(drain->loop);
}

static int ask(struct drain *drain, const char *host, uint16_t port)
{
    const struct pst_upstream_config config = {
        .host = host,
        .port = port,
        .connect_timeout = 10 * PST_S,
        .idle_timeout = 10 * PST_S,
        .idle_max = 1,
        .head_max = 32 << 10,
    };
    struct pst_upstream *upstream = NULL;
    struct pst_fetch *fetch;
    char head[HEAD_MAX];
    int rc = pst_loop_new(&drain->loop);

    drain->exit_code = PST_EXIT_FAILED;
    if (rc == PST_OK)
        rc = pst_upstream_new(drain->loop, &config, &upstream);
    if (rc == PST_OK && !head_write(drain, pst_upstream_authority(upstream), head, sizeof head))
        rc = PST_E_FULL;
    if (rc == PST_OK)
        rc = pst_fetch_start(upstream, drain->loop, pst_slice_of(head), PST_SLICE(""),
                             ANSWER_WITHIN, ANSWER_MAX, on_done, drain, &fetch);
    if (rc == PST_OK)
        rc = pst_loop_run(drain->loop);
    else
        fprintf(stderr, "penstock drain: cannot ask %s\n", drain->admin);
    if (upstream != NULL)
        pst_upstream_free(upstream);
    if (drain->loop != NULL)
        pst_loop_free(drain->loop);
    return rc == PST_OK ? drain->exit_code : PST_EXIT_FAILED;
}

int pst_cmd_drain(int argc, char **argv)
{
    struct drain drain = {
        .admin = "127.0.0.1:9900",
        .deadline = PST_NEVER,
        .grace = PST_NEVER,
    };
    const struct pst_option options[] = {
        {.name = "admin",
         .kind = PST_OPTION_TEXT,
         .value = &drain.admin,
         .argument = "ADDRESS",
         .help = "The gateway's admin listener (127.0.0.1:9900)."},
        {.name = "token-file",
         .kind = PST_OPTION_TEXT,
         .value = &drain.token_file,
         .argument = "FILE",
         .help = "The bearer token is the first line of it."},
        {.name = "replica",
         .kind = PST_OPTION_TEXT,
         .value = &drain.replica,
         .argument = "ID",
         .help = "Drain this replica only: its index or URL."},
        {.name = "deadline",
         .kind = PST_OPTION_DURATION,
         .value = &drain.deadline,
         .argument = "DURATION",
         .help = "When to give up (the gateway's `drain.deadline`)."},
        {.name = "grace",
         .kind = PST_OPTION_DURATION,
         .value = &drain.grace,
         .argument = "DURATION",
         .help = "How long new requests are still served (the gateway's `drain.grace`)."},
        {.name = "json",
         .kind = PST_OPTION_FLAG,
         .value = &drain.json,
         .help = "The gateway's answer as JSON: drained, left; or error."},
    };
    const struct pst_usage usage = {
        .command = "drain",
        .operands = "",
        .summary = "Ends the work of a running gateway, or of one replica, in order.",
        .detail =
            "Returns when nothing is queued or in flight: fit for a preStop hook. The gateway\n"
            "itself keeps running, unready, until it gets SIGTERM.\n\n"
            "Exit status: 0 drained; 1 the deadline came first, or no answer; 2 usage.",
        .options = options,
        .count = PST_COUNT_OF(options),
    };
    char host[256];
    uint16_t port;
    int first = pst_options_read(&usage, argc, argv);

    if (first < 0)
        return first == -1 ? PST_EXIT_OK : PST_EXIT_USAGE;
    if (first != argc || !address_split(drain.admin, host, sizeof host, &port)) {
        fputs("penstock drain: no operands; --admin takes HOST:PORT\n", stderr);
        return PST_EXIT_USAGE;
    }
    if (!token_read(&drain))
        return PST_EXIT_USAGE;
    return ask(&drain, host, port);
}
