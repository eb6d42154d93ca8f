/* keda.c - the server: methods, streams and the tick; see keda.h. */
#include "scale/keda.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "scale/keda_answer.h"
#include "scale/keda_cert.h"
#include "scale/keda_push.h"
#include "scale/keda_waits.h"

#define TICK        (1 * PST_S)
#define REQUEST     (10 * PST_S) /* heads of a thousand calls may come long before their messages */
#define DEADLINE    (500 * PST_MS)
#define STREAMS     65536 /* of one connection: a cluster's objects share one */
#define CONNECTIONS 1024  /* older KEDAs open one a call */
#define IDLE        (10 * 60 * PST_S)

/* An open StreamIsActive; on the list of its pool. */
struct stream {
    struct pst_rpc *rpc;
    struct stream *next, **link;
};

struct pool {
    struct stream *streams;
    struct pst_keda_push push;
};

struct pst_keda {
    struct pst_loop *loop;
    struct pst_metrics *metrics;
    struct pst_keda_world world;
    struct pst_keda_waits waits;
    struct pst_keda_cert cert;
    struct pst_rpc_server *server;
    struct pst_timer tick;
    bool draining;
    pst_ns push_took; /* at the last wake */
    struct pool pools[PST_POOLS_MAX];
};

static struct pst_keda *keda_of(const struct pst_rpc *rpc)
{
    return pst_rpc_server_user(rpc);
}

static void finish(struct pst_rpc *rpc, const struct pst_keda_answer *answer)
{
    const struct pst_slice message = {(const char *)answer->bytes, answer->len};

    if (answer->status != PST_RPC_OK)
        pst_rpc_end(rpc, answer->status, answer->why);
    else if (pst_rpc_send(rpc, message) == PST_OK)
        pst_rpc_end(rpc, PST_RPC_OK, NULL);
    else
        pst_rpc_end(rpc, PST_RPC_RESOURCE_EXHAUSTED, "out of memory");
}

static void on_is_active(struct pst_rpc *rpc, struct pst_slice request)
{
    struct pst_keda *keda = keda_of(rpc);
    struct pst_keda_answer answer;

    pst_keda_is_active(&keda->world, request, pst_loop_now(keda->loop), &answer);
    finish(rpc, &answer);
}

static void on_metric_spec(struct pst_rpc *rpc, struct pst_slice request)
{
    struct pst_keda_answer answer;

    pst_keda_metric_spec(&keda_of(rpc)->world, request, &answer);
    finish(rpc, &answer);
}

static void on_metrics(struct pst_rpc *rpc, struct pst_slice request)
{
    struct pst_keda *keda = keda_of(rpc);
    struct pst_keda_answer answer;

    pst_keda_metrics(&keda->world, request, pst_loop_now(keda->loop), &answer);
    finish(rpc, &answer);
}

static void on_unary_gone(struct pst_rpc *rpc)
{
    (void)rpc; /* nothing is kept for it */
}

/* Out of memory is not told: the next word replaces this one, or IsActive is asked. */
static void tell(struct stream *stream, enum pst_keda_say what)
{
    struct pst_keda_answer answer;

    pst_keda_answer_active(what == PST_KEDA_SAY_TRUE, &answer);
    (void)pst_rpc_latest(stream->rpc, pst_slice((const char *)answer.bytes, answer.len));
}

static void look_at_pool(struct pst_keda *keda, uint16_t pool, bool woke)
{
    struct pool *p = &keda->pools[pool];
    pst_ns now = pst_loop_now(keda->loop);
    struct pst_keda_push_input push;
    struct pst_export_input input;
    enum pst_keda_say what;

    pst_keda_look(&keda->world, pool, now, &input);
    push.known = pst_export_active(&input, &push.active) == PST_OK;
    push.hold = keda->world.config->scaler.pools[pool].in_after;
    push.staffed = input.existing > 0;
    if (woke)
        push.known = push.active = true;
    what = pst_keda_push_step(&p->push, &push, now);
    for (struct stream *s = p->streams; what != PST_KEDA_SAY_NOTHING && s != NULL; s = s->next)
        tell(s, what);
}

static void stream_free(struct stream *stream)
{
    *stream->link = stream->next;
    if (stream->next != NULL)
        stream->next->link = stream->link;
    free(stream);
}

static void on_stream(struct pst_rpc *rpc, struct pst_slice request)
{
    struct pst_keda *keda = keda_of(rpc);
    struct pst_keda_answer answer;
    enum pst_keda_say first;
    struct stream *stream;
    struct pool *pool;
    uint16_t index;

    if (!pst_keda_stream_pool(&keda->world, request, &answer, &index)) {
        finish(rpc, &answer);
        return;
    }
    stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        pst_rpc_end(rpc, PST_RPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    look_at_pool(keda, index, false); /* so that what it is told first is no second old */
    pool = &keda->pools[index];
    *stream = (struct stream){.rpc = rpc, .next = pool->streams, .link = &pool->streams};
    if (stream->next != NULL)
        stream->next->link = &stream->next;
    pool->streams = stream;
    pst_rpc_set_user(rpc, stream);
    first = pst_keda_push_first(&pool->push);
    if (first != PST_KEDA_SAY_NOTHING)
        tell(stream, first);
}

static void on_stream_gone(struct pst_rpc *rpc)
{
    struct stream *stream = pst_rpc_user(rpc);

    if (stream != NULL)
        stream_free(stream);
}

static const struct pst_rpc_method methods[] = {
    {"/externalscaler.ExternalScaler/IsActive", false, on_is_active, on_unary_gone},
    {"/externalscaler.ExternalScaler/StreamIsActive", true, on_stream, on_stream_gone},
    {"/externalscaler.ExternalScaler/GetMetricSpec", false, on_metric_spec, on_unary_gone},
    {"/externalscaler.ExternalScaler/GetMetrics", false, on_metrics, on_unary_gone},
};

static void write_figures(struct pst_keda *keda)
{
    const struct pst_labels none = {0};
    struct pst_rpc_figures f;

    pst_rpc_server_figures(keda->server, &f);
    pst_metric_set(keda->metrics, PST_METRIC_KEDA_CALLS, none, f.calls);
    pst_metric_set(keda->metrics, PST_METRIC_KEDA_FAILED, none, f.failed);
    pst_metric_set(keda->metrics, PST_METRIC_KEDA_P99, none, f.p99_us * PST_US);
    pst_metric_set(keda->metrics, PST_METRIC_KEDA_PUSH, none, keda->push_took);
    pst_metric_set(keda->metrics, PST_METRIC_KEDA_STREAMS, none, f.streams);
    pst_metric_set(keda->metrics, PST_METRIC_KEDA_CONNECTIONS, none, f.connections);
}

static void on_tick(struct pst_timer *timer)
{
    struct pst_keda *keda = (struct pst_keda *)((char *)timer - offsetof(struct pst_keda, tick));
    pst_ns now = pst_loop_now(keda->loop);

    pst_keda_waits_note(&keda->waits, keda->metrics, now);
    for (size_t p = 0; p < keda->world.config->pools_count; p++)
        look_at_pool(keda, (uint16_t)p, false);
    pst_keda_cert_look(&keda->cert);
    write_figures(keda);
    pst_timer_set(keda->loop, &keda->tick, now + TICK);
}

static int listen_at(struct pst_keda *keda, const char *address)
{
    const struct pst_rpc_config config = {
        .methods = methods,
        .methods_count = PST_COUNT_OF(methods),
        .user = keda,
        .tls = keda->cert.tls,
        .message_max = PST_KEDA_REQUEST_MAX,
        .request_max = REQUEST,
        .deadline_max = DEADLINE,
        .streams_max = STREAMS,
        .connections_max = CONNECTIONS,
        .idle_timeout = IDLE,
    };
    int rc = pst_rpc_server_new(keda->loop, &config, &keda->server);

    if (rc == PST_OK)
        rc = pst_rpc_server_listen(keda->server, address);
    if (rc != PST_OK)
        pst_say(PST_LOG_ERROR, "%s: cannot listen for KEDA: %s", address,
                rc == PST_E_SYSTEM  ? strerror(errno)
                : rc == PST_E_NOMEM ? "out of memory"
                                    : "no address");
    return rc;
}

int pst_keda_new(const struct pst_keda_config *config, struct pst_keda **ret_keda)
{
    const struct pst_config *c = config->config;
    struct pst_keda *keda = calloc(1, sizeof *keda);
    int rc = PST_OK;

    if (keda == NULL)
        return PST_E_NOMEM;
    keda->loop = config->loop;
    keda->metrics = config->metrics;
    keda->world = (struct pst_keda_world){
        .config = c,
        .capacity = config->capacity,
        .drive = config->drive,
        .waits = &keda->waits,
    };
    keda->tick.fire = on_tick;
    if (c->keda.cert != NULL)
        rc = pst_keda_cert_init(&keda->cert, c->keda.cert, c->keda.key, c->keda.client_ca);
    if (rc == PST_OK)
        rc = listen_at(keda, c->keda.listen);
    if (rc != PST_OK) {
        pst_keda_free(keda);
        return rc;
    }
    pst_timer_set(keda->loop, &keda->tick, pst_loop_now(keda->loop) + TICK);
    *ret_keda = keda;
    return PST_OK;
}

void pst_keda_free(struct pst_keda *keda)
{
    if (keda == NULL)
        return;
    pst_rpc_server_free(keda->server); /* streams are gone with it */
    pst_timer_cancel(keda->loop, &keda->tick);
    pst_keda_cert_done(&keda->cert);
    free(keda);
}

uint16_t pst_keda_port(const struct pst_keda *keda)
{
    return pst_rpc_server_port(keda->server);
}

void pst_keda_wake(struct pst_keda *keda, uint16_t pool)
{
    look_at_pool(keda, pool, true);
    keda->push_took = pst_clock_now() - pst_loop_now(keda->loop);
}

void pst_keda_decided(struct pst_keda *keda, uint16_t pool)
{
    look_at_pool(keda, pool, false);
}

void pst_keda_reload(struct pst_keda *keda, const struct pst_config *config)
{
    keda->world.config = config;
}

void pst_keda_drain(struct pst_keda *keda)
{
    if (keda->draining)
        return;
    keda->draining = true;
    pst_rpc_server_drain(keda->server);
}

void pst_keda_figures(const struct pst_keda *keda, struct pst_rpc_figures *ret_figures)
{
    pst_rpc_server_figures(keda->server, ret_figures);
}
