/* kube_pod.c - see kube_pod.h. */
#include "scale/kube_pod.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "codec/hash.h"
#include "net/address.h"

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* "" where there is no such string. */
static const char *text(const cJSON *object, const char *key)
{
    const char *value = cJSON_GetStringValue(get(object, key));

    return value == NULL ? "" : value;
}

static bool says(const cJSON *object, const char *key, const char *value)
{
    return strcmp(text(object, key), value) == 0;
}

static uint64_t hash(const char *string, uint64_t number)
{
    struct pst_hash h;

    pst_hash_init(&h);
    pst_hash_add(&h, string, strlen(string));
    pst_hash_add(&h, (const char *)&number, sizeof number);
    return pst_hash_value(&h) | 1; /* 0 is none */
}

/* "2026-11-29T23:55:23Z", as the API server writes times; 0: it is none. */
static uint64_t seconds(const char *time)
{
    struct tm parts = {0};
    const char *end = strptime(time, "%Y-%m-%dT%H:%M:%SZ", &parts);
    time_t s = end == NULL || *end != '\0' ? 0 : timegm(&parts);

    return s < 0 ? 0 : (uint64_t)s;
}

static bool has_condition(const cJSON *status, const char *type, const char *value,
                          const char *reason)
{
    const cJSON *condition;

    cJSON_ArrayForEach(condition, get(status, "conditions"))
    {
        if (says(condition, "type", type) && says(condition, "status", value) &&
            (reason == NULL || says(condition, "reason", reason)))
            return true;
    }
    return false;
}

/* Name of the engine's container. */
static const char *engine_of(const cJSON *spec, uint16_t port)
{
    const cJSON *containers = get(spec, "containers"), *container, *opened;

    cJSON_ArrayForEach(container, containers)
    {
        cJSON_ArrayForEach(opened, get(container, "ports"))
        {
            if (cJSON_GetNumberValue(get(opened, "containerPort")) == port)
                return text(container, "name");
        }
    }
    return text(cJSON_GetArrayItem(containers, 0), "name");
}

static uint64_t run_of(const cJSON *object, uint16_t port)
{
    const cJSON *status = get(object, "status"), *container;
    const char *engine = engine_of(get(object, "spec"), port);
    double restarts;

    if (!says(status, "phase", "Running"))
        return 0;
    cJSON_ArrayForEach(container, get(status, "containerStatuses"))
    {
        if (!says(container, "name", engine) ||
            !cJSON_IsObject(get(get(container, "state"), "running")))
            continue;
        restarts = cJSON_GetNumberValue(get(container, "restartCount"));
        return hash(text(container, "containerID"),
                    restarts > 0 && restarts < 1e15 ? (uint64_t)restarts : 0);
    }
    return 0;
}

static bool is_address(const char *ip)
{
    struct pst_address v4 = {.u.v4.sin_family = AF_INET}, v6 = {.u.v6.sin6_family = AF_INET6};

    if (strlen(ip) >= PST_KUBE_IP_MAX)
        return false;
    if (inet_pton(AF_INET, ip, &v4.u.v4.sin_addr) == 1)
        return pst_address_is_host(&v4);
    return inet_pton(AF_INET6, ip, &v6.u.v6.sin6_addr) == 1 && pst_address_is_host(&v6);
}

/* Names and uids go into URLs, logs and pages: DNS names are of nothing else. */
static bool is_name(const char *name, size_t size)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    size_t len = strlen(name);

    return len > 0 && len < size && strspn(name, allowed) == len;
}

int pst_kube_pod_read(const cJSON *object, uint16_t port, struct pst_kube_pod *ret_pod)
{
    const cJSON *meta = get(object, "metadata"), *status = get(object, "status");
    const char *name = text(meta, "name"), *uid = text(meta, "uid"), *ip = text(status, "podIP");
    const char *revision = text(get(meta, "labels"), "pod-template-hash");
    struct pst_kube_pod pod = {0};

    if (!is_name(name, sizeof pod.name) || !is_name(uid, sizeof pod.uid))
        return PST_E_SYNTAX;
    strcpy(pod.name, name);
    strcpy(pod.uid, uid);
    if (is_address(ip))
        strcpy(pod.ip, ip);
    pod.is_over = says(status, "phase", "Failed") || says(status, "phase", "Succeeded");
    pod.is_deleted = *text(meta, "deletionTimestamp") != '\0';
    pod.is_evicted = has_condition(status, "DisruptionTarget", "True", NULL) ||
                     says(status, "reason", "Evicted");
    pod.is_unschedulable = has_condition(status, "PodScheduled", "False", "Unschedulable");
    pod.is_marked = says(get(meta, "annotations"), PST_KUBE_COST, PST_KUBE_COST_MARKED);
    pod.dies_s = seconds(text(meta, "deletionTimestamp"));
    pod.created_s = seconds(text(meta, "creationTimestamp"));
    pod.template_ = *revision == '\0' ? 0 : hash(revision, 0);
    pod.run = run_of(object, port);
    *ret_pod = pod;
    return PST_OK;
}
