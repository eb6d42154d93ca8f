/*
 * keepalive.c - comments on a stream that waits, for clients and load balancers that give up on silence.
 *
 * It commits the response: status 200 goes out before anything is known, so a refusal after it can only
 * be an event in the stream, without Retry-After. Off by default; per class.
 */
#include "gateway/inside.h"

static const char comment[] = ": waiting\n\n";

static void commit(struct pst_request *request)
{
    struct pst_header headers[] = {
        {PST_SLICE("Content-Type"), PST_SLICE("text/event-stream")},
        {PST_SLICE("Cache-Control"), PST_SLICE("no-cache")},
        {PST_SLICE("X-Accel-Buffering"), PST_SLICE("no")},
        {PST_SLICE("X-Request-Id"), pst_slice_of(request->id)},
    };

    pst_exchange_respond(request->exchange, 200, headers, PST_COUNT_OF(headers),
                         PST_LENGTH_UNKNOWN);
    request->record.status = 200;
    request->committed = request->events = true;
}

static void fire(struct pst_timer *timer)
{
    struct pst_request *request =
        (struct pst_request *)(void *)((char *)timer - offsetof(struct pst_request, keepalive));
    struct pst_gateway *gateway = request->gateway;

    if (request->exchange == NULL || request->begun)
        return;
    if (!request->committed)
        commit(request);
    pst_exchange_write(request->exchange, comment, sizeof comment - 1);
    request->record.bytes_out += sizeof comment - 1;
    pst_timer_set(gateway->loop, timer,
                  pst_loop_now(gateway->loop) + gateway->config->keepalive[request->class_].every);
}

void pst_keepalive_start(struct pst_request *request)
{
    struct pst_gateway *gateway = request->gateway;

    if (!gateway->config->keepalive[request->class_].on)
        return;
    request->keepalive.fire = fire;
    pst_timer_set(gateway->loop, &request->keepalive,
                  pst_loop_now(gateway->loop) + gateway->config->keepalive[request->class_].after);
}

void pst_keepalive_stop(struct pst_request *request)
{
    pst_timer_cancel(request->gateway->loop, &request->keepalive);
}
