/*
 * kube_pod.h - what of a pod's JSON matters to us, as a struct.
 *
 * Why: a pod is 10 KiB of text, of which a dozen facts say whether it can serve, and for how long.
 * Guarantee: whatever the object looks like, the struct is in bounds and terminated; PST_E_SYNTAX where it is
 * no pod (no name or uid). Numbers that are missing are 0.
 * Source: Kubernetes API reference, Pod v1 core; "Pod Lifecycle".
 */
#ifndef PST_SCALE_KUBE_POD_H
#define PST_SCALE_KUBE_POD_H

#include <cjson/cJSON.h>

#include "pst.h"

#define PST_KUBE_NAME_MAX 254 /* with NUL */
#define PST_KUBE_UID_MAX  64
#define PST_KUBE_IP_MAX   46
/* Lower is removed first; pods without it cost 0. */
#define PST_KUBE_COST        "controller.kubernetes.io/pod-deletion-cost"
#define PST_KUBE_COST_MARKED "-100"

struct pst_kube_pod {
    char name[PST_KUBE_NAME_MAX];
    char uid[PST_KUBE_UID_MAX];
    char ip[PST_KUBE_IP_MAX];   /* "": none yet */
    bool is_over;               /* its phase is Failed or Succeeded: it will not run again */
    bool is_deleted;            /* somebody asked for its end; it has until dies_s */
    bool is_evicted;            /* it is ended for the cluster's sake, not for its own fault */
    bool is_unschedulable;      /* no node has room for it */
    bool is_marked;             /* its deletion cost is PST_KUBE_COST_MARKED */
    uint64_t dies_s, created_s; /* Unix seconds */
    uint64_t template_;         /* hash of pod-template-hash; 0: none */
    uint64_t
        run; /* of the engine's container: another number, another process; 0: it does not run */
};

/*
 * The engine's container is the one that declares `port`; else the first. Others (sidecars) may restart
 * without us.
 */
int pst_kube_pod_read(const cJSON *object, uint16_t port, struct pst_kube_pod *ret_pod);

#endif
