/*
 * curl.h - requests to whoever tells us of the world: API server, metrics, queries. libcurl on our loop.
 *
 *   pst_curl_start -> data()* -> done() once            pst_curl_cancel: neither is called any more
 *
 * Why: the control plane needs TLS with files that rotate, streams that last for minutes, and time-outs,
 * and is asked a few times a second at most: a library's client is right where the relay's is not.
 *
 * Guarantee: http and https only; HTTP/1.1, so that a dead connection is one request's and not of all;
 * redirects are not followed and the environment's proxies not used (a token goes where configuration
 * says, or nowhere). Answers and heads are bounded. Tokens are read again when their file changes, are
 * wiped after use, and are in no message. Callbacks come from the loop, never from inside start or
 * cancel, and may start and cancel what they like. Not thread-safe: one owner.
 */
#ifndef PST_SCALE_CURL_H
#define PST_SCALE_CURL_H

#include <time.h>

#include "net/loop.h"

#define PST_CURL_TOKEN_MAX   ((size_t)64 * 1024)
#define PST_CURL_HEADERS_MAX 4

/* Who we are and whom we trust. The strings are its owner's; files are read when they are needed. */
struct pst_curl_access {
    const char *ca_file; /* NULL: the system's */
    const char *cert_file, *key_file;
    const char *token_file; /* Authorization: Bearer; NULL: none */
    /* Of the token that was read last. Zeroed at the start. */
    char *token;
    struct timespec token_changed;
    uint64_t token_inode;
};

void pst_curl_access_done(struct pst_curl_access *access); /* wipes the token; takes a zeroed one */
/* The token is read from its file with the next request, changed or not: it was refused. */
void pst_curl_access_forget(struct pst_curl_access *access);

struct pst_curl_answer {
    /*
     * PST_OK: a whole answer, whatever its status. PST_E_FULL: more than bytes_max. PST_E_AGAIN: a
     * time-out. PST_E_INVALID: our own files (`error` names it). PST_E_SYSTEM: everything else.
     */
    int rc;
    long status;      /* 0: none came */
    const char *body; /* what came, terminated; valid during the call. "" where data() had it */
    size_t len;
    pst_ns retry_after; /* 0: not said; at most a minute */
    const char *error;  /* for people, with rc; never NULL */
};

struct pst_curl_request {
    const char *method; /* NULL: GET */
    const char *url;
    struct pst_curl_access *access;            /* NULL: nobody; lives as long as the call */
    const char *headers[PST_CURL_HEADERS_MAX]; /* "Accept: text/plain" */
    const char *body;                          /* copied; NULL: none */
    size_t body_len;
    pst_ns connect_timeout, timeout; /* both > 0: nothing is waited for without end */
    size_t bytes_max;                /* of an answer that is collected */
    /* Of an answer with status 200, as it comes; NULL: it is collected. False: enough, it ends; done() is not called. */
    bool (*data)(void *user, const char *bytes, size_t len);
    void (*done)(void *user, const struct pst_curl_answer *answer);
    void *user;
};

struct pst_curl;
struct pst_curl_call;

int pst_curl_new(struct pst_loop *loop, struct pst_curl **ret_curl);
void pst_curl_free(struct pst_curl *curl); /* cancels what runs; takes NULL; not from a callback */

/* PST_OK: done() will come. The call is gone after done(), or when data() said false. */
int pst_curl_start(struct pst_curl *curl, const struct pst_curl_request *request,
                   struct pst_curl_call **ret_call);
void pst_curl_cancel(struct pst_curl_call *call); /* takes NULL */

#endif
