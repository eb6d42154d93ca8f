/*
 * kube.h - replicas that are a cluster's pods: what the files behind pst_kube_new() share.
 *
 *   API server --kube_watch--> kube_fleet: pods to replicas --> found(), SCALE, ROLLOUT, QUOTA, synced()
 *              <--kube_mark--- MARK, UNDRAIN: a pod's deletion cost, seen back on the watch --> RESULT
 *
 *   no address, or the engine's container does not run --> STARTING
 *   its container runs                                 --> LOADING: our own model probe decides from here on
 *   it has a deletionTimestamp                         --> DRAINING until then
 *   its container ended                                --> GONE, CRASH; STARTING again with another key
 *   it ended, or the pod is not there any more         --> GONE; REMOVED unless it ended by itself
 *
 * Why: a pod's life is told here seconds before any connection breaks, and this is the one place where
 * we can say who leaves when others lower the number.
 *
 * Guarantee: rights needed are get, list, watch and patch on pods of one namespace; what is patched is
 * one annotation. A pod is not sent to because it is Ready, nor kept from work because it is not:
 * readiness gates and probes are for those who know no better (a Service). An API server that is
 * silent changes nothing.
 */
#ifndef PST_SCALE_KUBE_H
#define PST_SCALE_KUBE_H

#include "base/random.h"
#include "scale/kube_pod.h"
#include "scale/kube_watch.h"
#include "scale/source.h"

#define PST_KUBE_LIST_MAX ((size_t)2 * PST_REPLICAS_MAX)

struct pst_kube_replica {
    struct pst_kube_pod pod;
    uint32_t key;
    uint32_t revision;
    uint8_t told; /* enum pst_replica_state; GONE: nothing of this key was told */
    bool listed;  /* in the list that is being read */
    /*
     * Its mark. Asked for until it was answered well and seen on the watch; in doubt while what was sent
     * last was not seen: what the watch shows may then be older than it.
     */
    bool wants_mark, is_asked, is_answered, is_doubtful;
    uint32_t tries;
    pst_ns try_at;
};

/* What all pods together say. */
struct pst_kube_whole {
    uint32_t pods;   /* that nobody ends */
    bool is_rolling; /* there are pods of more than one template */
    bool is_short;   /* no node has room for one */
};

struct pst_kube {
    struct pst_source source;
    struct pst_random random;
    struct pst_curl *curl;
    struct pst_kube_watch *watch;
    struct pst_curl_access access;       /* its strings are ours */
    char *pods_url;                      /* "https://host/api/v1/namespaces/n/pods" */
    struct pst_config_kubernetes config; /* as it was when we began, strings copied */
    struct pst_timer tell_next;
    struct pst_timer mark_next;
    struct pst_curl_call *patch; /* one at a time */
    uint32_t patch_key;
    bool patch_wants_mark;
    bool synced, crowded;
    bool is_forbidden;         /* it was said that marks are */
    struct pst_kube_pod *list; /* that is being read: those that are known, and as many new ones */
    size_t list_count;
    struct pst_kube_whole whole; /* as it was told last */
    struct pst_kube_replica replicas[PST_REPLICAS_MAX];
    size_t count;
};

const struct pst_config_pool *pst_kube_pool(const struct pst_kube *kube);

/* kube_access.c: where the API server is, and who we are. PST_E_INVALID: neither configured nor in a pod. */
int pst_kube_access_take(struct pst_kube *kube, char **ret_watch_url);
void pst_kube_access_drop(struct pst_kube *kube);
bool pst_kube_access_is_same(const struct pst_kube *kube);

/* kube_fleet.c */
extern const struct pst_kube_watch_handlers pst_kube_fleet_handlers;    /* user: the kube */
void pst_kube_fleet_tell(struct pst_kube *kube);                        /* SCALE, ROLLOUT, QUOTA */
void pst_kube_fleet_leave(struct pst_kube *kube, enum pst_cause cause); /* all */
struct pst_kube_replica *pst_kube_fleet_find(struct pst_kube *kube, uint32_t key);

/* kube_mark.c */
void pst_kube_mark(struct pst_kube *kube, struct pst_kube_replica *replica, bool wants_mark);
void pst_kube_mark_seen(struct pst_kube *kube, struct pst_kube_replica *replica);
void pst_kube_mark_next(struct pst_timer *timer);
/* How a MARK, or what takes it back, ended. */
void pst_kube_mark_result(struct pst_kube *kube, uint32_t key, bool wants_mark,
                          enum pst_result result);

#endif
