/*
 * curl_call.h - one request of curl.h, for its files. Nobody else includes it.
 *
 * A call is in the list of its curl from start to end, and in the queue of those that have something to
 * tell while libcurl runs: it may not be called from inside its own callbacks, and our users may want to.
 */
#ifndef PST_SCALE_CURL_CALL_H
#define PST_SCALE_CURL_CALL_H

#include <curl/curl.h>

#include "base/text.h"
#include "scale/curl.h"

struct pst_curl {
    struct pst_loop *loop;
    CURLM *multi;
    struct pst_timer timer;
    struct pst_later later; /* a call ended without libcurl */
    struct pst_curl_call *calls;
    struct pst_curl_call *ready, **ready_tail;
    struct pst_curl_call *telling; /* whose data() runs; NULL once that one was cancelled */
};

struct pst_curl_call {
    struct pst_curl *curl;
    struct pst_curl_call *next, **link;
    struct pst_curl_call *next_ready;
    bool is_ready, is_over;
    bool is_full; /* more came than was asked for */
    CURL *easy;
    struct pst_curl_request request;
    struct curl_slist *headers;
    struct pst_text text; /* not told yet */
    size_t head_bytes;
    int rc; /* when it is over; PST_OK: look at `code` */
    CURLcode code;
    const char *refusal; /* with rc */
    char error[CURL_ERROR_SIZE];
};

/* Makes the easy handle. PST_E_INVALID: a file of ours; call->refusal says which. */
int pst_curl_call_prepare(struct pst_curl_call *call);
void pst_curl_call_forget(struct pst_curl_call *call); /* what prepare made */
void pst_curl_call_ready(struct pst_curl_call *call);  /* it has something to tell */
void pst_curl_call_answer(const struct pst_curl_call *call, const struct pst_text *body,
                          struct pst_curl_answer *ret_answer);

/* *ret_header, "Authorization: Bearer …" or NULL, is the caller's to wipe and free. */
int pst_curl_access_header(struct pst_curl_access *access, char **ret_header);

#endif
