/*
 * kube_watch.h - a collection of the API server, as it was and as it changes: list, then watch, for ever.
 *
 *                 +------ 410, garbage, too large, 3 failures in a row ------+
 *                 v                                                          |
 *   wait --> list, page by page: begin(), item()*, end() --> wait --> watch: changed()* --+
 *                                                             ^                           |
 *                                                             +--- it ended, or hung -----+
 *
 * Why: a watch is the one way to hear of a pod's end in time, and breaks in every way a connection can:
 * its history is compacted (410), it ends quietly, it hangs, it answers 200 with nothing. What was missed
 * meanwhile shows only in a new list, whose reader must find what is not in it any more.
 *
 * Guarantee: what is known changes only by what the server says; a server that does not answer changes
 * nothing. Two watches begin at least backoff_min apart (jittered), as do two lists, and up to backoff_max
 * while they bring nothing; a watch that hangs is given up `margin` after its time. Memory: a page of a list, or
 * one event of PST_KUBE_EVENT_MAX. Not thread-safe: one owner.
 *
 * Source: Kubernetes API concepts: "Efficient detection of changes", "Retrieving large results sets in chunks".
 */
#ifndef PST_SCALE_KUBE_WATCH_H
#define PST_SCALE_KUBE_WATCH_H

#include <cjson/cJSON.h>

#include "scale/curl.h"

#define PST_KUBE_EVENT_MAX ((size_t)4 << 20)

struct pst_kube_watch_config {
    const char
        *url; /* with a query: "https://host/api/v1/namespaces/n/pods?labelSelector=…"; copied */
    struct pst_curl_access *access;
    pst_ns watch;  /* how long one watch lasts: the server is asked to end it, at least 1 s */
    pst_ns margin; /* how much longer it is waited for, and how long for a list */
    pst_ns backoff_min, backoff_max;
};

struct pst_kube_watch_handlers {
    void *user;
    void (*begin)(void *user); /* a list; one that had begun is void */
    void (*item)(void *user, const cJSON *object);
    void (*end)(void *user); /* the list is whole */
    void (*changed)(void *user, const cJSON *object, bool is_deleted);
    /* Worth a line in the log: the 1st, 2nd, 4th … failure in a row; NULL: it is over. */
    void (*trouble)(void *user, const char *what);
};

struct pst_kube_watch;

int pst_kube_watch_new(struct pst_loop *loop, struct pst_curl *curl,
                       const struct pst_kube_watch_config *config,
                       const struct pst_kube_watch_handlers *handlers,
                       struct pst_kube_watch **ret_watch);
void pst_kube_watch_free(struct pst_kube_watch *watch); /* takes NULL; not from a handler */
/* What was told is all there is, as far as a server that answers can say. */
bool pst_kube_watch_is_live(const struct pst_kube_watch *watch);

/* What an answer that is no success says, for people. */
void pst_kube_watch_explain(const struct pst_curl_answer *answer, const char *verb, char *out,
                            size_t size);

#endif
