/* kube_fleet.c - see kube.h: from pods to replicas, and what all of them together say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/num.h"
#include "scale/kube.h"

static struct pst_kube_replica *find_pod(struct pst_kube *kube, const char *uid)
{
    for (size_t i = 0; i < kube->count; i++)
        if (strcmp(kube->replicas[i].pod.uid, uid) == 0)
            return &kube->replicas[i];
    return NULL;
}

struct pst_kube_replica *pst_kube_fleet_find(struct pst_kube *kube, uint32_t key)
{
    for (size_t i = 0; i < kube->count; i++)
        if (kube->replicas[i].key == key)
            return &kube->replicas[i];
    return NULL;
}

static enum pst_replica_state state_of(const struct pst_kube_pod *pod)
{
    bool is_up = pod->run != 0 && pod->ip[0] != '\0';

    if (pod->is_over || (pod->is_deleted && !is_up))
        return PST_REPLICA_GONE;
    if (pod->is_deleted)
        return PST_REPLICA_DRAINING;
    return is_up ? PST_REPLICA_LOADING : PST_REPLICA_STARTING;
}

/* Until deletionTimestamp, which has the grace period in it; by the wall clock, which is all it names. */
static pst_ns time_left(const struct pst_kube_pod *pod)
{
    uint64_t now = pst_clock_wall_ns(), dies = pst_mul_sat(pod->dies_s, PST_S);

    return pod->dies_s == 0 ? 0 : dies > now ? dies - now : 1;
}

static void tell(struct pst_kube *kube, struct pst_kube_replica *replica,
                 enum pst_replica_state state, enum pst_cause cause)
{
    const struct pst_kube_pod *pod = &replica->pod;
    const struct pst_source_host *host = kube->source.host;
    size_t len = strlen(pod->name);
    struct pst_wire_replica found = {
        .key = replica->key,
        .pool = kube->source.pool,
        .state = (uint8_t)state,
        .cause = (uint8_t)cause,
        .revision = replica->revision,
        .until = state == PST_REPLICA_DRAINING ? time_left(pod) : 0,
    };

    /* Of a name too long for people, the end: what is made in numbers differs there. */
    strcpy(found.name, pod->name + (len < sizeof found.name ? 0 : len - (sizeof found.name - 1)));
    if (pod->ip[0] != '\0' && pod->run != 0)
        snprintf(found.url, sizeof found.url,
                 strchr(pod->ip, ':') == NULL ? "http://%s:%u" : "http://[%s]:%u", pod->ip,
                 kube->config.port);
    replica->told = (uint8_t)state;
    host->found(host->user, &found);
}

/* Somebody's wish, or its own end? */
static enum pst_cause cause_of(const struct pst_kube_pod *pod)
{
    return pod->is_deleted || pod->is_evicted ? PST_CAUSE_REMOVED : PST_CAUSE_CRASH;
}

/*
 * Later templates have larger numbers, whatever their hashes are: the time at which the first pod of it
 * that we know was made.
 */
static uint32_t revision_of(const struct pst_kube *kube, const struct pst_kube_pod *pod)
{
    if (pod->template_ == 0)
        return 0;
    for (size_t i = 0; i < kube->count; i++)
        if (kube->replicas[i].pod.template_ == pod->template_)
            return kube->replicas[i].revision;
    return (uint32_t)pod->created_s;
}

static void remove_replica(struct pst_kube *kube, struct pst_kube_replica *replica,
                           enum pst_cause cause)
{
    tell(kube, replica, PST_REPLICA_GONE, cause);
    if (replica->is_asked) /* nothing is left to be marked */
        pst_kube_mark_result(kube, replica->key, replica->wants_mark, PST_RESULT_OK);
    *replica = kube->replicas[--kube->count];
    kube->crowded = false;
}

static void add_pod(struct pst_kube *kube, const struct pst_kube_pod *pod)
{
    struct pst_kube_replica *replica;
    enum pst_replica_state state = state_of(pod);

    if (state == PST_REPLICA_GONE)
        return; /* the remains of one that was, or never will be */
    if (kube->count == PST_COUNT_OF(kube->replicas)) {
        if (!kube->crowded)
            pst_say(PST_LOG_WARN, "pool %s: more than %d pods; the others are not used",
                    pst_kube_pool(kube)->name, PST_REPLICAS_MAX);
        kube->crowded = true;
        return;
    }
    replica = &kube->replicas[kube->count];
    *replica = (struct pst_kube_replica){
        .pod = *pod,
        .key = kube->source.host->next_key(kube->source.host->user),
        .revision = revision_of(kube, pod),
        .listed = true,
    };
    kube->count++;
    tell(kube, replica, state, PST_CAUSE_CONFIG);
    if (pod->is_marked && !pod->is_deleted)
        pst_kube_mark(kube, replica, false); /* of a run of ours that is over */
}

/* The same pod, another process, or none: what ran is gone. */
static void end_run(struct pst_kube *kube, struct pst_kube_replica *replica,
                    const struct pst_kube_pod *pod)
{
    tell(kube, replica, PST_REPLICA_GONE, cause_of(pod));
    replica->key = kube->source.host->next_key(kube->source.host->user);
    replica->told = PST_REPLICA_GONE;
    replica->is_asked = false; /* who asked knows the old key */
}

static void change_pod(struct pst_kube *kube, struct pst_kube_replica *replica,
                       const struct pst_kube_pod *pod)
{
    enum pst_replica_state state = state_of(pod);
    bool ran = replica->told == PST_REPLICA_LOADING || replica->told == PST_REPLICA_DRAINING;
    bool ends = ran && (pod->run != replica->pod.run || strcmp(pod->ip, replica->pod.ip) != 0);
    bool later = pod->dies_s != replica->pod.dies_s;

    if (state == PST_REPLICA_GONE) {
        remove_replica(kube, replica, cause_of(pod));
        return;
    }
    if (ends)
        end_run(kube, replica, pod);
    replica->pod = *pod;
    replica->listed = true;
    if (replica->told != (uint8_t)state || later)
        tell(kube, replica, state, PST_CAUSE_CONFIG);
    if (ends && (replica->wants_mark || pod->is_marked)) /* the one that was to go has gone */
        pst_kube_mark(kube, replica, false);
    pst_kube_mark_seen(kube, replica);
}

static void take_pod(struct pst_kube *kube, const struct pst_kube_pod *pod)
{
    struct pst_kube_replica *replica = find_pod(kube, pod->uid);

    if (replica == NULL)
        add_pod(kube, pod);
    else
        change_pod(kube, replica, pod);
}

static bool is_rolling(const struct pst_kube *kube)
{
    for (size_t i = 1; i < kube->count; i++)
        if (kube->replicas[i].pod.template_ != kube->replicas[0].pod.template_)
            return true;
    return false;
}

static void event(struct pst_kube *kube, const struct pst_scaler_event *event)
{
    kube->source.host->event(kube->source.host->user, 0, event);
}

static void signal(struct pst_kube *kube, enum pst_signal kind, uint64_t value)
{
    struct pst_scaler_event e = {.now = pst_loop_now(kube->source.host->loop),
                                 .kind = PST_SCALER_SIGNAL,
                                 .pool = kube->source.pool};

    e.u.signal.kind = (uint8_t)kind;
    e.u.signal.value = value;
    event(kube, &e);
}

static struct pst_kube_whole look(const struct pst_kube *kube)
{
    struct pst_kube_whole whole = {.is_rolling = is_rolling(kube)};

    for (size_t i = 0; i < kube->count; i++) {
        whole.pods += !kube->replicas[i].pod.is_deleted;
        whole.is_short = whole.is_short || kube->replicas[i].pod.is_unschedulable;
    }
    return whole;
}

/* How many more there is room for is not told; that there is none is. */
void pst_kube_fleet_tell(struct pst_kube *kube)
{
    struct pst_scaler_event scale = {.now = pst_loop_now(kube->source.host->loop),
                                     .kind = PST_SCALER_SCALE,
                                     .pool = kube->source.pool};
    bool was_short = kube->whole.is_short;

    kube->whole = look(kube);
    scale.u.scale.replicas = kube->whole.pods;
    event(kube, &scale);
    signal(kube, PST_SIGNAL_ROLLOUT, kube->whole.is_rolling);
    if (kube->whole.is_short || was_short)
        signal(kube, PST_SIGNAL_QUOTA, kube->whole.is_short ? 0 : UINT32_MAX);
}

static void tell_change(struct pst_kube *kube)
{
    struct pst_kube_whole now = look(kube), *told = &kube->whole;

    if (now.pods != told->pods || now.is_rolling != told->is_rolling ||
        now.is_short != told->is_short)
        pst_kube_fleet_tell(kube);
}

void pst_kube_fleet_leave(struct pst_kube *kube, enum pst_cause cause)
{
    while (kube->count > 0)
        remove_replica(kube, &kube->replicas[kube->count - 1], cause);
}

static void list_begin(void *user)
{
    struct pst_kube *kube = user;

    kube->list_count = 0;
}

/* Kept apart until the list is whole. The remains of pods, of which there may be many, take no room. */
static void list_item(void *user, const cJSON *object)
{
    struct pst_kube *kube = user;
    struct pst_kube_pod pod;
    size_t max = PST_KUBE_LIST_MAX;

    if (pst_kube_pod_read(object, kube->config.port, &pod) != PST_OK)
        return;
    if (find_pod(kube, pod.uid) == NULL) {
        max -= kube->count; /* the places of those that are known */
        if (state_of(&pod) == PST_REPLICA_GONE)
            return;
    }
    if (kube->list_count < max)
        kube->list[kube->list_count++] = pod;
}

static int by_age(const void *a, const void *b)
{
    const struct pst_kube_pod *p = a, *q = b;

    if (p->created_s != q->created_s)
        return p->created_s < q->created_s ? -1 : 1;
    return strcmp(p->name, q->name);
}

/* What is not in it any more went while nobody looked; an object goes only because somebody deletes it. */
static void list_end(void *user)
{
    struct pst_kube *kube = user;

    for (size_t i = 0; i < kube->count; i++)
        kube->replicas[i].listed = false;
    for (size_t i = 0; i < kube->list_count; i++) {
        struct pst_kube_replica *known = find_pod(kube, kube->list[i].uid);

        if (known != NULL)
            known->listed = true;
    }
    for (size_t i = kube->count; i-- > 0;)
        if (!kube->replicas[i].listed)
            remove_replica(kube, &kube->replicas[i], PST_CAUSE_REMOVED);
    qsort(kube->list, kube->list_count, sizeof kube->list[0], by_age);
    for (size_t i = 0; i < kube->list_count; i++)
        take_pod(kube, &kube->list[i]);
    pst_kube_fleet_tell(kube);
    if (!kube->synced)
        kube->source.host->synced(kube->source.host->user, kube->source.pool);
    kube->synced = true;
}

static void changed(void *user, const cJSON *object, bool is_deleted)
{
    struct pst_kube *kube = user;
    struct pst_kube_replica *replica;
    struct pst_kube_pod pod;

    if (pst_kube_pod_read(object, kube->config.port, &pod) != PST_OK)
        return;
    replica = find_pod(kube, pod.uid);
    if (!is_deleted)
        take_pod(kube, &pod);
    else if (replica != NULL)
        remove_replica(kube, replica, PST_CAUSE_REMOVED);
    tell_change(kube);
}

static void trouble(void *user, const char *what)
{
    struct pst_kube *kube = user;
    const char *pool = pst_kube_pool(kube)->name;

    if (what == NULL)
        pst_say(PST_LOG_INFO, "pool %s: the API server answers again", pool);
    else
        pst_say(PST_LOG_WARN, "pool %s: pods: %s; the %zu that are known stay", pool, what,
                kube->count);
}

const struct pst_kube_watch_handlers pst_kube_fleet_handlers = {.begin = list_begin,
                                                                .item = list_item,
                                                                .end = list_end,
                                                                .changed = changed,
                                                                .trouble = trouble};
