/*
 * asking.h - one question to a running gateway's admin listener, for the commands that ask one.
 *
 * Guarantee: says on stderr why there is no answer, in the command's name; the token is never printed.
 */
#ifndef PST_CMD_ASKING_H
#define PST_CMD_ASKING_H

#include "base/slice.h"
#include "cmd/options.h"
#include "net/upstream.h"

#define PST_ASKING_ADMIN "127.0.0.1:9900"
#define PST_ASKING_HEAD  8192 /* of a request */

struct pst_asking {
    const char *command;         /* "drain" */
    const char *admin;           /* HOST:PORT */
    const char *token_file;      /* NULL: no token */
    const char *method, *target; /* "GET", "/explain?pool=chat": target is encoded already */
    const char *accept;          /* NULL: whatever comes */
    pst_ns within;               /* for a gateway that is gone without a word */
    size_t answer_max;
    /* The exit code. `result` with a status: what does not come is said by asking.c. */
    int (*answered)(void *user, const struct pst_fetch_result *result);
    void *user;
};

/* Options of every such command, to be copied into its table. */
#define PST_ASKING_OPTIONS(asking)                                                                 \
    {.name = "admin",                                                                              \
     .kind = PST_OPTION_TEXT,                                                                      \
     .value = &(asking).admin,                                                                     \
     .argument = "ADDRESS",                                                                        \
     .help = "The gateway's admin listener (127.0.0.1:9900)."},                                    \
    {                                                                                              \
        .name = "token-file", .kind = PST_OPTION_TEXT, .value = &(asking).token_file,              \
        .argument = "FILE", .help = "The bearer token is the first line of it."                    \
    }

/* Asks, waits, and returns an exit code: USAGE for an address or a token that is none. */
int pst_asking(const struct pst_asking *asking);

/* What the gateway says is wrong, on stderr. */
void pst_asking_refused(const struct pst_asking *asking, const struct pst_fetch_result *result);
/* `text` as a part of a target, percent-encoded; false: it does not fit. */
bool pst_asking_encode(const char *text, char *target, size_t size);

#endif
