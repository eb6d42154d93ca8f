/* page.c - see page.h. */
#include "observe/page.h"

#include <errno.h>
#include <stdlib.h>

#include "observe/query.h"
#include "observe/render.h"
#include "observe/reply.h"

struct pst_page {
    const struct pst_view *view;
    struct pst_server *server;
};

static void answer_metrics(struct pst_exchange *x, const struct pst_view *view)
{
    struct pst_prometheus_page page;
    char *buffer;

    pst_gauges_read(view);
    pst_prometheus_init(&page, NULL, 0);
    pst_render_metrics(view, &page);
    buffer = malloc(page.needed);
    if (buffer == NULL) {
        pst_reply_error(x, 500, NULL, "out of memory");
        return;
    }
    pst_prometheus_init(&page, buffer, page.needed);
    pst_render_metrics(view, &page);
    pst_reply(x, 200, PST_TYPE_METRICS, pst_slice(buffer, page.needed));
    free(buffer);
}

static void answer_health(struct pst_exchange *x, const struct pst_view *view)
{
    (void)view;
    pst_reply(x, 200, PST_TYPE_TEXT, PST_SLICE("ok\n"));
}

static void answer_ready(struct pst_exchange *x, const struct pst_view *view)
{
    struct pst_drain_status drain;

    view->program->drain_status(view->user, &drain);
    if (drain.phase == PST_DRAIN_SERVING)
        pst_reply(x, 200, PST_TYPE_TEXT, PST_SLICE("ready\n"));
    else
        pst_reply(x, 503, PST_TYPE_TEXT, PST_SLICE("draining\n"));
}

static const struct {
    const char *path;
    void (*answer)(struct pst_exchange *x, const struct pst_view *view);
} pages[] = {
    {"/metrics", answer_metrics},
    {"/healthz", answer_health},
    {"/readyz", answer_ready},
};

bool pst_page_answer(struct pst_exchange *x, const struct pst_view *view, enum pst_method method,
                     struct pst_slice path)
{
    for (size_t i = 0; i < PST_COUNT_OF(pages); i++) {
        if (!pst_slice_equal(path, pst_slice_of(pages[i].path)))
            continue;
        if (method == PST_METHOD_GET)
            pages[i].answer(x, view);
        else
            pst_reply_error(x, 405, "GET", "only GET is served here");
        return true;
    }
    return false;
}

static void on_head(struct pst_exchange *x, const struct pst_head *head)
{
    const struct pst_page *page = pst_exchange_server_user(x);
    struct pst_slice path, query;

    pst_target_split(head->target, &path, &query);
    if (!pst_page_answer(x, page->view, head->method, path))
        pst_reply_error(x, 404, NULL, "only /metrics, /healthz and /readyz are served here");
}

/* Bodies are never read, and answers are given at once: nothing is left to do in these. */
static void on_body(struct pst_exchange *x, const char *data, size_t len)
{
    (void)x;
    (void)data;
    (void)len;
}

static void on_nothing(struct pst_exchange *x)
{
    (void)x;
}

int pst_page_new(const struct pst_view *view, const char *address, struct pst_page **ret_page)
{
    static const struct pst_server_handler handler = {
        .head = on_head,
        .body = on_body,
        .body_end = on_nothing,
        .drained = on_nothing,
        .gone = on_nothing,
    };
    struct pst_page *page = calloc(1, sizeof *page);
    int rc, error;

    if (page == NULL)
        return PST_E_NOMEM;
    page->view = view;
    rc = pst_reply_listen(view->loop, &handler, page, address, &page->server);
    if (rc != PST_OK) {
        error = errno;
        pst_page_free(page);
        errno = error;
        return rc;
    }
    *ret_page = page;
    return PST_OK;
}

void pst_page_free(struct pst_page *page)
{
    if (page == NULL)
        return;
    if (page->server != NULL)
        pst_server_free(page->server);
    free(page);
}

uint16_t pst_page_port(const struct pst_page *page)
{
    return pst_server_port(page->server);
}
