/* fetch.c - a whole small exchange with a time limit; see upstream.h. */
#include <stdlib.h>

#include "net/upstream.h"

struct pst_fetch {
    struct pst_call call; /* first: a call is its fetch */
    struct pst_timer timer;
    struct pst_loop *loop;
    struct pst_chain request;
    char *body; /* body_max + 1 bytes at most */
    size_t body_len, body_size, body_max;
    uint16_t status;
    void (*done)(void *user, const struct pst_fetch_result *result);
    void *user;
};

static struct pst_fetch *fetch_of(struct pst_call *call)
{
    return (struct pst_fetch *)(void *)call;
}

static void fetch_free(struct pst_fetch *fetch)
{
    pst_timer_cancel(fetch->loop, &fetch->timer);
    pst_chain_done(&fetch->request);
    free(fetch->body);
    free(fetch);
}

static void finish(struct pst_fetch *fetch, enum pst_call_end how, bool timed_out)
{
    struct pst_fetch_result result = {.how = how, .timed_out = timed_out};

    pst_call_cancel(&fetch->call);
    pst_timer_cancel(fetch->loop, &fetch->timer);
    if (how == PST_CALL_DONE) {
        result.status = fetch->status;
        if (fetch->body != NULL)
            fetch->body[fetch->body_len] = '\0';
        result.body = pst_slice(fetch->body == NULL ? "" : fetch->body, fetch->body_len);
    }
    fetch->done(fetch->user, &result);
    fetch_free(fetch);
}

static void fetch_head(struct pst_call *call, const struct pst_head *head)
{
    fetch_of(call)->status = head->status;
}

static void fetch_body(struct pst_call *call, const char *data, size_t len)
{
    struct pst_fetch *fetch = fetch_of(call);
    size_t size = fetch->body_size == 0 ? 1024 : fetch->body_size;

    if (len > fetch->body_max - fetch->body_len) {
        finish(fetch, PST_CALL_CUT, false);
        return;
    }
    while (size < fetch->body_len + len + 1)
        size *= 2;
    if (size != fetch->body_size) {
        char *bigger = realloc(fetch->body, size);

        if (bigger == NULL) {
            finish(fetch, PST_CALL_CUT, false);
            return;
        }
        fetch->body = bigger;
        fetch->body_size = size;
    }
    memcpy(fetch->body + fetch->body_len, data, len);
    fetch->body_len += len;
}

static void fetch_end(struct pst_call *call, enum pst_call_end how)
{
    finish(fetch_of(call), how, false);
}

static void fetch_timed_out(struct pst_timer *timer)
{
    struct pst_fetch *fetch =
        (struct pst_fetch *)(void *)((char *)timer - offsetof(struct pst_fetch, timer));

    finish(fetch, PST_CALL_CUT, true);
}

int pst_fetch_start(struct pst_upstream *upstream, struct pst_loop *loop, struct pst_slice head,
                    struct pst_slice body, pst_ns timeout, size_t body_max,
                    void (*done)(void *user, const struct pst_fetch_result *result), void *user,
                    struct pst_fetch **ret_fetch)
{
    static const struct pst_call_handler handler = {fetch_head, fetch_body, fetch_end};
    struct pst_fetch *fetch = calloc(1, sizeof *fetch);
    int rc = PST_E_NOMEM;

    if (fetch == NULL)
        return PST_E_NOMEM;
    fetch->call.handler = &handler;
    fetch->timer.fire = fetch_timed_out;
    fetch->loop = loop;
    fetch->body_max = body_max;
    fetch->done = done;
    fetch->user = user;
    pst_chain_init(&fetch->request);
    if (body.len > 0 && pst_chain_append(&fetch->request, body.at, body.len, body.len) != PST_OK)
        goto fail;
    rc = pst_call_start(upstream, &fetch->call, head, body.len > 0 ? &fetch->request : NULL, false);
    if (rc != PST_OK)
        goto fail;
    pst_timer_set(loop, &fetch->timer, pst_loop_now(loop) + timeout);
    if (ret_fetch != NULL)
        *ret_fetch = fetch;
    return PST_OK;

fail:
    fetch_free(fetch);
    return rc;
}

void pst_fetch_cancel(struct pst_fetch *fetch)
{
    if (fetch == NULL)
        return;
    pst_call_cancel(&fetch->call);
    fetch_free(fetch);
}
