/* kube.c - see kube.h: the source (source.h), from its configuration to its end. */
#include "scale/kube.h"

#include <stdlib.h>

#include "base/log.h"

/* A watch is a minute long, so that one that hangs is noticed soon; a new one costs a request. */
#define WATCH       (60 * PST_S)
#define MARGIN      (15 * PST_S)
#define BACKOFF_MIN PST_S
#define BACKOFF_MAX (30 * PST_S)
#define TELL_EVERY  (10 * PST_S) /* what holds is told again: it counts only while it is fresh */

const struct pst_config_pool *pst_kube_pool(const struct pst_kube *kube)
{
    return &kube->source.host->config->pools[kube->source.pool];
}

static void tell_again(struct pst_timer *timer)
{
    struct pst_kube *kube =
        (struct pst_kube *)((char *)timer - offsetof(struct pst_kube, tell_next));
    struct pst_loop *loop = kube->source.host->loop;

    if (pst_kube_watch_is_live(kube->watch))
        pst_kube_fleet_tell(kube);
    pst_timer_set(loop, timer, pst_loop_now(loop) + TELL_EVERY);
}

static void end_watching(struct pst_kube *kube)
{
    struct pst_loop *loop = kube->source.host->loop;

    pst_kube_watch_free(kube->watch);
    kube->watch = NULL;
    pst_curl_cancel(kube->patch);
    kube->patch = NULL;
    pst_timer_cancel(loop, &kube->tell_next);
    pst_timer_cancel(loop, &kube->mark_next);
    pst_kube_access_drop(kube);
}

static int begin_watching(struct pst_kube *kube)
{
    struct pst_loop *loop = kube->source.host->loop;
    struct pst_kube_watch_handlers handlers = pst_kube_fleet_handlers;
    struct pst_kube_watch_config config = {.access = &kube->access,
                                           .watch = WATCH,
                                           .margin = MARGIN,
                                           .backoff_min = BACKOFF_MIN,
                                           .backoff_max = BACKOFF_MAX};
    char *url;
    int rc = pst_kube_access_take(kube, &url);

    if (rc == PST_E_INVALID)
        pst_say(PST_LOG_ERROR, "pool %s: no API server: none is configured, and this is no pod",
                pst_kube_pool(kube)->name);
    if (rc != PST_OK)
        return rc;
    config.url = url;
    handlers.user = kube;
    rc = pst_kube_watch_new(loop, kube->curl, &config, &handlers, &kube->watch);
    free(url);
    if (rc == PST_OK)
        pst_timer_set(loop, &kube->tell_next, pst_loop_now(loop) + TELL_EVERY);
    return rc;
}

static void act(struct pst_source *source, uint32_t key, const struct pst_scaler_action *action)
{
    struct pst_kube *kube = (struct pst_kube *)source;
    struct pst_kube_replica *replica = pst_kube_fleet_find(kube, key);
    bool wants_mark = action->kind == PST_SCALER_MARK;

    switch ((enum pst_scaler_action_kind)action->kind) {
    case PST_SCALER_MARK:
    case PST_SCALER_UNDRAIN:
        if (replica == NULL)
            pst_kube_mark_result(kube, key, wants_mark, PST_RESULT_OK);
        else if (kube->watch != NULL)
            pst_kube_mark(kube, replica, wants_mark);
        else
            pst_kube_mark_result(kube, key, wants_mark, PST_RESULT_FAILED);
        break;
    case PST_SCALER_START: /* by the number, which others keep */
    case PST_SCALER_CANCEL:
    case PST_SCALER_REMOVE:
    case PST_SCALER_PROMOTE:
    case PST_SCALER_DRAIN:
    case PST_SCALER_DECISION:
    case PST_SCALER_ACTION_COUNT:
        break;
    }
}

/* Other pods, by another way: what is known stays until the first list says otherwise. */
static void reload(struct pst_source *source)
{
    struct pst_kube *kube = (struct pst_kube *)source;
    const struct pst_config_kubernetes *config = &pst_kube_pool(kube)->kubernetes;

    if (pst_kube_access_is_same(kube))
        return;
    if (config->selector == NULL || config->port != kube->config.port)
        pst_kube_fleet_leave(kube, PST_CAUSE_CONFIG);
    end_watching(kube);
    if (config->selector != NULL && begin_watching(kube) != PST_OK)
        pst_say(PST_LOG_ERROR, "pool %s: the API server cannot be asked",
                pst_kube_pool(kube)->name);
}

/* Pods are the cluster's: they stay. */
static void stop(struct pst_source *source, void (*stopped)(void *user), void *user)
{
    end_watching((struct pst_kube *)source);
    stopped(user);
}

static void free_source(struct pst_source *source)
{
    struct pst_kube *kube = (struct pst_kube *)source;

    end_watching(kube);
    pst_curl_free(kube->curl);
    free(kube->list);
    free(kube);
}

static const struct pst_source_kind kind = {
    .name = "kubernetes", .act = act, .reload = reload, .stop = stop, .free = free_source};

int pst_kube_new(const struct pst_source_host *host, uint16_t pool, struct pst_source **ret_source)
{
    struct pst_kube *kube = calloc(1, sizeof *kube);
    int rc = PST_E_NOMEM;

    if (kube == NULL)
        return PST_E_NOMEM;
    kube->source = (struct pst_source){.kind = &kind, .host = host, .pool = pool};
    kube->tell_next.fire = tell_again;
    kube->mark_next.fire = pst_kube_mark_next;
    kube->list = calloc(PST_KUBE_LIST_MAX, sizeof *kube->list);
    if (kube->list == NULL)
        goto fail;
    rc = pst_curl_new(host->loop, &kube->curl);
    if (rc == PST_OK)
        rc = begin_watching(kube);
    if (rc != PST_OK)
        goto fail;
    *ret_source = &kube->source;
    return PST_OK;

fail:
    free_source(&kube->source);
    return rc;
}
