/* kube_mark.c - see kube.h: who shall go first, said to the cluster as a pod's deletion cost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/log.h"
#include "base/text.h"
#include "scale/kube.h"

#define CONNECT_TIMEOUT  (5 * PST_S)
#define TIMEOUT          (10 * PST_S)
#define SEEN_TIMEOUT     (10 * PST_S) /* it was answered, and does not show on the watch */
#define BACKOFF_FIRST    PST_S
#define BACKOFF_MAX      (30 * PST_S)
#define ANSWER_BYTES_MAX ((size_t)4 << 20) /* the whole pod */

void pst_kube_mark_result(struct pst_kube *kube, uint32_t key, bool wants_mark,
                          enum pst_result result)
{
    struct pst_scaler_event event = {.now = pst_loop_now(kube->source.host->loop),
                                     .kind = PST_SCALER_RESULT,
                                     .pool = kube->source.pool};

    event.u.result.action = wants_mark ? PST_SCALER_MARK : PST_SCALER_UNDRAIN;
    event.u.result.error = (uint8_t)result;
    kube->source.host->event(kube->source.host->user, key, &event);
}

static void settle(struct pst_kube *kube, struct pst_kube_replica *replica, enum pst_result result)
{
    replica->is_asked = false;
    pst_kube_mark_result(kube, replica->key, replica->wants_mark, result);
}

/* The timer fires when the first of those that are asked for may be tried. */
static void arrange(struct pst_kube *kube)
{
    pst_ns at = PST_NEVER;

    if (kube->patch != NULL)
        return;
    for (size_t i = 0; i < kube->count; i++)
        if (kube->replicas[i].is_asked && kube->replicas[i].try_at < at)
            at = kube->replicas[i].try_at;
    pst_timer_set(kube->source.host->loop, &kube->mark_next, at);
}

void pst_kube_mark(struct pst_kube *kube, struct pst_kube_replica *replica, bool wants_mark)
{
    replica->wants_mark = wants_mark;
    replica->is_asked = true;
    replica->is_answered = false;
    replica->tries = 0;
    replica->try_at = pst_loop_now(kube->source.host->loop);
    if (!replica->is_doubtful && replica->pod.is_marked == wants_mark)
        settle(kube, replica, PST_RESULT_OK); /* nothing to do */
    pst_kube_mark_seen(kube, replica);
    arrange(kube);
}

/* The watch is what counts: what was answered may be undone by then. A pod that ends needs no mark. */
void pst_kube_mark_seen(struct pst_kube *kube, struct pst_kube_replica *replica)
{
    bool is_seen = replica->is_answered && replica->pod.is_marked == replica->wants_mark;

    if (!replica->is_asked || !(is_seen || replica->pod.is_deleted))
        return;
    replica->is_doubtful = false;
    settle(kube, replica, PST_RESULT_OK);
}

static void put_off(struct pst_kube *kube, struct pst_kube_replica *replica, pst_ns at_least)
{
    pst_ns wait = BACKOFF_FIRST;
    uint32_t random;

    for (uint32_t i = 0; i < replica->tries && wait < BACKOFF_MAX; i++)
        wait *= 2;
    replica->tries++;
    wait = wait > BACKOFF_MAX ? BACKOFF_MAX : wait;
    wait = wait < at_least ? at_least : wait;
    pst_random_fill(&kube->random, &random, sizeof random);
    replica->try_at =
        pst_loop_now(kube->source.host->loop) + wait / 4 * 3 + (wait / 2) * (random % 1024) / 1024;
}

static void say_failure(struct pst_kube *kube, const struct pst_curl_answer *answer)
{
    char what[256];

    if (kube->is_forbidden)
        return;
    kube->is_forbidden = answer->status == 403;
    pst_kube_watch_explain(answer, "patch", what, sizeof what);
    pst_say(PST_LOG_WARN, "pool %s: pods cannot be marked to go first: %s",
            pst_kube_pool(kube)->name, what);
}

static void patched(void *user, const struct pst_curl_answer *answer)
{
    struct pst_kube *kube = user;
    struct pst_kube_replica *replica = pst_kube_fleet_find(kube, kube->patch_key);
    long status = answer->rc == PST_OK ? answer->status : 0;

    kube->patch = NULL;
    if (status == 200)
        kube->is_forbidden = false;
    if (replica == NULL || !replica->is_asked)
        goto out;
    if (replica->wants_mark != kube->patch_wants_mark)
        goto out; /* wished otherwise meanwhile: its turn comes */
    if (status == 200) {
        replica->is_answered = true;
        pst_kube_mark_seen(kube, replica); /* it may have shown on the watch already */
        if (replica->is_asked)
            put_off(kube, replica, SEEN_TIMEOUT);
    } else if (status == 404) {
        settle(kube, replica, PST_RESULT_OK); /* it is gone; the watch will say so */
    } else if (status == 401) {
        pst_curl_access_forget(&kube->access);
        put_off(kube, replica, 0);
    } else if (status >= 400 && status < 500 && status != 409 && status != 429) {
        say_failure(kube, answer);
        settle(kube, replica, PST_RESULT_FAILED);
    } else {
        put_off(kube, replica, answer->retry_after);
    }
out:
    arrange(kube);
}

/* The uid makes it this pod's and no successor's of the same name: 409 otherwise. */
static void send_patch(struct pst_kube *kube, struct pst_kube_replica *replica)
{
    struct pst_text url = {0}, body = {0};
    char *name = curl_easy_escape(NULL, replica->pod.name, 0);
    struct pst_curl_request request = {
        .method = "PATCH",
        .access = &kube->access,
        .headers = {"Accept: application/json", "Content-Type: application/merge-patch+json"},
        .connect_timeout = CONNECT_TIMEOUT,
        .timeout = TIMEOUT,
        .bytes_max = ANSWER_BYTES_MAX,
        .done = patched,
        .user = kube,
    };

    pst_text_print(&url, "%s/%s", kube->pods_url, name == NULL ? "" : name);
    pst_text_put(&body, "{\"metadata\":{\"uid\":");
    pst_text_quote(&body, replica->pod.uid);
    pst_text_print(&body, ",\"annotations\":{\"" PST_KUBE_COST "\":%s}}}",
                   replica->wants_mark ? "\"" PST_KUBE_COST_MARKED "\"" : "null");
    request.url = url.at;
    request.body = body.at;
    request.body_len = body.len;
    kube->patch_key = replica->key;
    kube->patch_wants_mark = replica->wants_mark;
    replica->is_doubtful = true;
    replica->is_answered = false;
    if (name == NULL || url.broken || body.broken ||
        pst_curl_start(kube->curl, &request, &kube->patch) != PST_OK)
        put_off(kube, replica, 0);
    curl_free(name);
    pst_text_done(&url);
    pst_text_done(&body);
}

void pst_kube_mark_next(struct pst_timer *timer)
{
    struct pst_kube *kube =
        (struct pst_kube *)((char *)timer - offsetof(struct pst_kube, mark_next));
    pst_ns now = pst_loop_now(kube->source.host->loop);

    for (size_t i = 0; i < kube->count && kube->patch == NULL; i++)
        if (kube->replicas[i].is_asked && kube->replicas[i].try_at <= now)
            send_patch(kube, &kube->replicas[i]);
    arrange(kube);
}
