/* kube_watch.c - see kube_watch.h. */
#include "scale/kube_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/random.h"
#include "base/text.h"

#define PAGE_ITEMS       100
#define PAGE_BYTES_MAX   ((size_t)32 << 20)
#define CONNECT_TIMEOUT  (5 * PST_S)
#define VERSION_MAX      128 /* of a resourceVersion */
#define PAGES_MAX        1000
#define LISTS_WELL       2 /* in a row: the second is the way back from a 410 */
#define RELIST_AFTER     3 /* failures of a watch in a row: the version itself may be refused */
#define BACKOFF_STEP_MAX 16

struct pst_kube_watch {
    struct pst_loop *loop;
    struct pst_curl *curl;
    struct pst_kube_watch_config config;
    struct pst_kube_watch_handlers handlers;
    struct pst_random random;
    char *url;
    struct pst_curl_call *call;
    struct pst_timer next;
    struct pst_text line;      /* of the event that is coming in */
    char version[VERSION_MAX]; /* up to which all is known; "": list */
    char *page;                /* continue: where the next page begins; NULL: the first */
    uint32_t pages;            /* of this list */
    pst_ns started;            /* the last request */
    uint32_t failures;         /* in a row */
    uint32_t lists;            /* since a watch brought something */
    bool has_listed;
    bool has_progressed; /* this watch brought something */
    bool is_refused;     /* 401: the token was read again for this try */
};

static const cJSON *get(const cJSON *object, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static pst_ns jittered(struct pst_kube_watch *watch, pst_ns time)
{
    uint32_t random;

    pst_random_fill(&watch->random, &random, sizeof random);
    return time / 4 * 3 + (time / 2) * (random % 1024) / 1024;
}

/* The next request: no sooner than backoff_min after the last, later the more of them failed. */
static void go_on(struct pst_kube_watch *watch, pst_ns at_least)
{
    pst_ns now = pst_loop_now(watch->loop), wait = watch->config.backoff_min, at;
    uint32_t step = watch->failures < BACKOFF_STEP_MAX ? watch->failures : BACKOFF_STEP_MAX;

    for (; step > 1 && wait < watch->config.backoff_max; step--)
        wait *= 2;
    if (wait > watch->config.backoff_max)
        wait = watch->config.backoff_max;
    if (wait < at_least)
        wait = at_least;
    at = (watch->failures == 0 ? watch->started : now) + jittered(watch, wait);
    pst_timer_set(watch->loop, &watch->next, at > now ? at : now);
}

static void fail(struct pst_kube_watch *watch, const char *what, pst_ns at_least)
{
    watch->failures++;
    if ((watch->failures & (watch->failures - 1)) == 0)
        watch->handlers.trouble(watch->handlers.user, what);
    go_on(watch, at_least);
}

static void at_once(struct pst_kube_watch *watch)
{
    pst_timer_set(watch->loop, &watch->next, pst_loop_now(watch->loop));
}

static void calm(struct pst_kube_watch *watch)
{
    if (watch->failures == 0)
        return;
    watch->failures = 0;
    watch->handlers.trouble(watch->handlers.user, NULL);
}

static void progress(struct pst_kube_watch *watch)
{
    watch->has_progressed = true;
    watch->is_refused = false;
    watch->lists = 0;
    calm(watch);
}

static void list_again(struct pst_kube_watch *watch)
{
    watch->version[0] = '\0';
    watch->pages = 0;
    free(watch->page);
    watch->page = NULL;
}

void pst_kube_watch_explain(const struct pst_curl_answer *answer, const char *verb, char *out,
                            size_t size)
{
    if (answer->rc == PST_E_AGAIN && answer->status == 200)
        snprintf(out, size, "%s: silent for too long", verb);
    else if (answer->rc != PST_OK)
        snprintf(out, size, "%s: %s", verb, answer->error);
    else if (answer->status == 401)
        snprintf(out, size, "%s: 401, the token is refused", verb);
    else if (answer->status == 403)
        snprintf(out, size, "%s: 403, the role lacks \"%s\" on pods", verb, verb);
    else
        snprintf(out, size, "%s: status %ld", verb, answer->status);
}

/* An answer that is not what was asked for. */
static void refused(struct pst_kube_watch *watch, const struct pst_curl_answer *answer,
                    const char *verb)
{
    char what[256];

    if (answer->status == 401 && !watch->is_refused) {
        watch->is_refused = true; /* it may have been renewed this moment: once, at once */
        pst_curl_access_forget(watch->config.access);
        at_once(watch);
        return;
    }
    pst_kube_watch_explain(answer, verb, what, sizeof what);
    fail(watch, what, answer->retry_after);
}

static bool take_version(struct pst_kube_watch *watch, const cJSON *object)
{
    const char *version = cJSON_GetStringValue(get(get(object, "metadata"), "resourceVersion"));

    if (version == NULL || *version == '\0' || strlen(version) >= sizeof watch->version)
        return false;
    strcpy(watch->version, version);
    return true;
}

/* Where the next page begins. A list without end is none: what it does not have is not gone. */
static void take_cursor(struct pst_kube_watch *watch, const char *more)
{
    if (++watch->pages == PAGES_MAX) {
        list_again(watch);
        fail(watch, "list: it has no end", 0);
        return;
    }
    watch->page = strdup(more);
    at_once(watch);
}

static void take_page(struct pst_kube_watch *watch, const cJSON *list)
{
    const cJSON *items = get(list, "items"), *item;
    const char *more = cJSON_GetStringValue(get(get(list, "metadata"), "continue"));
    bool first = watch->page == NULL;

    if (!cJSON_IsArray(items) && !cJSON_IsNull(items)) {
        list_again(watch);
        fail(watch, "list: the answer is no list", 0);
        return;
    }
    if (first)
        watch->handlers.begin(watch->handlers.user);
    cJSON_ArrayForEach(item, items) watch->handlers.item(watch->handlers.user, item);
    free(watch->page);
    watch->page = NULL;
    if (more != NULL && *more != '\0') {
        take_cursor(watch, more);
        return;
    }
    if (!take_version(watch, list)) {
        list_again(watch);
        fail(watch, "list: the answer has no resourceVersion", 0);
        return;
    }
    watch->has_listed = true;
    if (watch->lists++ < LISTS_WELL)
        calm(watch); /* where no watch brings anything, more lists are no progress */
    watch->handlers.end(watch->handlers.user);
    at_once(watch);
}

static void listed(void *user, const struct pst_curl_answer *answer)
{
    struct pst_kube_watch *watch = user;
    cJSON *list;

    watch->call = NULL;
    if (answer->rc != PST_OK || answer->status != 200) {
        if (answer->status == 410)
            list_again(watch); /* the next page is of a past that is gone */
        refused(watch, answer, "list");
        return;
    }
    watch->is_refused = false;
    list = cJSON_ParseWithLength(answer->body, answer->len);
    if (list == NULL) {
        list_again(watch);
        fail(watch, "list: the answer is no JSON", 0);
        return;
    }
    take_page(watch, list);
    cJSON_Delete(list);
}

/* False: this watch is over, and what comes next is arranged. */
static bool take_error(struct pst_kube_watch *watch, const cJSON *status)
{
    double code = cJSON_GetNumberValue(get(status, "code"));
    char what[64];

    if (code == 410) {
        list_again(watch);
        if (watch->has_progressed) {
            go_on(watch, 0);
            return false;
        }
    }
    snprintf(what, sizeof what, "watch: error %.0f", code >= 0 && code < 1000 ? code : 0.0);
    fail(watch, what, 0);
    return false;
}

static bool take_event(struct pst_kube_watch *watch, const cJSON *event)
{
    const char *type = cJSON_GetStringValue(get(event, "type"));
    const cJSON *object = get(event, "object");

    if (type != NULL && strcmp(type, "ERROR") == 0)
        return take_error(watch, object);
    if (type == NULL || !take_version(watch, object)) {
        list_again(watch);
        fail(watch, "watch: an event that is none", 0);
        return false;
    }
    progress(watch);
    if (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)
        watch->handlers.changed(watch->handlers.user, object, false);
    else if (strcmp(type, "DELETED") == 0)
        watch->handlers.changed(watch->handlers.user, object, true);
    return true; /* of a BOOKMARK, the version is all */
}

static bool take_line(struct pst_kube_watch *watch)
{
    cJSON *event;
    bool more;

    if (watch->line.len == 0)
        return true;
    event = cJSON_ParseWithLength(watch->line.at, watch->line.len);
    pst_text_clear(&watch->line);
    more = take_event(watch, event);
    cJSON_Delete(event);
    return more;
}

static bool watched_piece(void *user, const char *bytes, size_t len)
{
    struct pst_kube_watch *watch = user;

    while (len > 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end == NULL ? len : (size_t)(end - bytes);

        if (part > PST_KUBE_EVENT_MAX - watch->line.len) {
            watch->call = NULL;
            list_again(watch);
            fail(watch, "watch: an event of more than 4 MiB", 0);
            return false;
        }
        pst_text_add(&watch->line, bytes, part);
        if (end == NULL)
            break;
        if (!take_line(watch)) {
            watch->call = NULL;
            return false;
        }
        bytes += part + 1;
        len -= part + 1;
    }
    return true;
}

static void watch_over(void *user, const struct pst_curl_answer *answer)
{
    struct pst_kube_watch *watch = user;
    pst_ns lasted = pst_loop_now(watch->loop) - watch->started;

    watch->call = NULL;
    if (answer->rc != PST_OK || answer->status != 200) {
        if (answer->status == 410 || watch->failures + 1 >= RELIST_AFTER)
            list_again(watch);
        refused(watch, answer, "watch");
    } else if (watch->has_progressed || lasted >= watch->config.watch / 2) {
        progress(watch);
        go_on(watch, 0); /* its time was over, or the server's */
    } else {
        fail(watch, "watch: it ends at once", 0);
    }
}

static void start(struct pst_timer *timer)
{
    struct pst_kube_watch *watch =
        (struct pst_kube_watch *)((char *)timer - offsetof(struct pst_kube_watch, next));
    bool is_list = watch->version[0] == '\0';
    const char *cursor = is_list ? watch->page : watch->version;
    char *escaped = cursor == NULL ? NULL : curl_easy_escape(NULL, cursor, 0);
    struct pst_text url = {0};
    struct pst_curl_request request = {
        .access = watch->config.access,
        .headers = {"Accept: application/json"},
        .connect_timeout = CONNECT_TIMEOUT,
        .timeout = watch->config.margin + (is_list ? 0 : watch->config.watch),
        .bytes_max = is_list ? PAGE_BYTES_MAX : 64 * 1024,
        .data = is_list ? NULL : watched_piece,
        .done = is_list ? listed : watch_over,
        .user = watch,
    };

    pst_text_put(&url, watch->url);
    if (is_list)
        pst_text_print(&url, "&limit=%d", PAGE_ITEMS);
    else
        pst_text_print(&url, "&watch=1&allowWatchBookmarks=true&timeoutSeconds=%llu",
                       (unsigned long long)(watch->config.watch / PST_S));
    if (escaped != NULL)
        pst_text_print(&url, is_list ? "&continue=%s" : "&resourceVersion=%s", escaped);
    request.url = url.at;
    pst_text_clear(&watch->line);
    watch->started = pst_loop_now(watch->loop);
    watch->has_progressed = false;
    if (url.broken || (cursor != NULL && escaped == NULL) ||
        pst_curl_start(watch->curl, &request, &watch->call) != PST_OK)
        fail(watch, "no memory", 0);
    curl_free(escaped);
    pst_text_done(&url);
}

int pst_kube_watch_new(struct pst_loop *loop, struct pst_curl *curl,
                       const struct pst_kube_watch_config *config,
                       const struct pst_kube_watch_handlers *handlers,
                       struct pst_kube_watch **ret_watch)
{
    struct pst_kube_watch *watch = calloc(1, sizeof *watch);

    PST_ASSERT(config->watch >= PST_S && config->margin > 0 && config->backoff_min > 0 &&
               config->backoff_max >= config->backoff_min);
    if (watch == NULL || (watch->url = strdup(config->url)) == NULL) {
        free(watch);
        return PST_E_NOMEM;
    }
    watch->loop = loop;
    watch->curl = curl;
    watch->config = *config;
    watch->handlers = *handlers;
    watch->next.fire = start;
    pst_timer_set(loop, &watch->next, pst_loop_now(loop));
    *ret_watch = watch;
    return PST_OK;
}

void pst_kube_watch_free(struct pst_kube_watch *watch)
{
    if (watch == NULL)
        return;
    pst_curl_cancel(watch->call);
    pst_timer_cancel(watch->loop, &watch->next);
    pst_text_done(&watch->line);
    free(watch->page);
    free(watch->url);
    free(watch);
}

bool pst_kube_watch_is_live(const struct pst_kube_watch *watch)
{
    return watch->has_listed && watch->failures == 0;
}
