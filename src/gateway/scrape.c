/*
 * scrape.c - what an engine says of itself: its metrics page, asked again and again, becomes ENGINE events.
 *
 * It is asked from here and not from the process that holds credentials: the page is an answer of an engine
 * as all others, over the same connections and with the same key. Of an answer that is late, odd or none
 * nothing is told, and what was told grows old (hearsay.h). Pages above a MiB are not read: this is the
 * thread that serves requests.
 */
#include "base/log.h"
#include "codec/vitals.h"
#include "gateway/inside.h"

#define TIMEOUT_MAX (5 * PST_S)

static const struct pst_config_signals *signals_of(const struct pst_gateway_replica *replica)
{
    return &replica->gateway->config->pools[replica->pool].signals;
}

/* So that a fleet is not asked in one moment: ± a tenth of the period. */
static pst_ns share_of(struct pst_gateway *gateway, pst_ns span)
{
    uint16_t draw;

    pst_random_fill(&gateway->random, &draw, sizeof draw);
    return span / UINT16_MAX * draw;
}

static void ask_later(struct pst_gateway_replica *replica)
{
    struct pst_gateway *gateway = replica->gateway;
    pst_ns every = signals_of(replica)->engine_every;
    pst_ns wait = every - every / 10 + share_of(gateway, every / 5);
    pst_ns next = replica->scrape_sent_at + wait, now = pst_loop_now(gateway->loop);

    pst_timer_set(gateway->loop, &replica->scrape_next, next > now ? next : now + 1);
}

static void tell(struct pst_gateway_replica *replica, const struct pst_vitals *vitals)
{
    struct pst_gateway *gateway = replica->gateway;
    struct pst_gate_event event = {.kind = PST_EVENT_ENGINE};

    event.u.engine.replica = (uint16_t)(replica - gateway->replicas);
    event.u.engine.asleep = vitals->asleep;
    event.u.engine.running = vitals->running;
    event.u.engine.waiting = vitals->waiting;
    event.u.engine.kv_ppm = vitals->kv_ppm;
    event.u.engine.tokens = vitals->tokens;
    /* It may have been so as early as we asked. */
    event.u.engine.age = pst_loop_now(gateway->loop) - replica->scrape_sent_at;
    pst_gateway_event(gateway, &event);
}

/* Why nothing can be told; NULL: it can. */
static const char *judge(const struct pst_fetch_result *result, struct pst_vitals *ret_vitals)
{
    if (result->timed_out)
        return "no answer in time";
    if (result->status != 200)
        return result->status == 0 ? "no whole answer" : "an error status";
    switch (pst_vitals_read(result->body.at, result->body.len, ret_vitals)) {
    case PST_OK:
        return NULL;
    case PST_E_UNKNOWN:
        return "a page without a name that is known";
    default:
        return "a page that breaks its format";
    }
}

static void answered(void *user, const struct pst_fetch_result *result)
{
    struct pst_gateway_replica *replica = user;
    struct pst_gateway *gateway = replica->gateway;
    struct pst_vitals vitals;
    const char *why = judge(result, &vitals);
    bool refused =
        !result->timed_out && result->how == PST_CALL_REFUSED; /* it loads, or has ended */

    replica->scrape = NULL;
    ask_later(replica);
    if (why != NULL && !refused && !replica->scrape_fails)
        pst_say(PST_LOG_INFO, "replica %s: its metrics cannot be read: %s",
                gateway->registry->replicas[replica - gateway->replicas].name, why);
    replica->scrape_fails = why != NULL && !refused;
    if (why == NULL && replica->present)
        tell(replica, &vitals);
}

static void ask(struct pst_timer *timer)
{
    struct pst_gateway_replica *replica =
        (struct pst_gateway_replica *)(void *)((char *)timer -
                                               offsetof(struct pst_gateway_replica, scrape_next));
    const struct pst_config_signals *signals = signals_of(replica);
    const struct pst_question question = {
        .path = signals->engine_path,
        .timeout = signals->engine_every < TIMEOUT_MAX ? signals->engine_every : TIMEOUT_MAX,
        .done = answered,
    };

    replica->scrape_sent_at = pst_loop_now(replica->gateway->loop);
    if (pst_question_ask(replica, &question, &replica->scrape) != PST_OK)
        ask_later(replica);
}

/*
 * First at once: what others run on it (another gateway that drains) must be known before it is found ready,
 * and is sent all that it has slots for.
 */
void pst_scrape_start(struct pst_gateway_replica *replica)
{
    struct pst_gateway *gateway = replica->gateway;
    pst_ns every = signals_of(replica)->engine_every;

    pst_scrape_stop(replica);
    if (every == 0)
        return;
    replica->scrape_next.fire = ask;
    pst_timer_set(gateway->loop, &replica->scrape_next, pst_loop_now(gateway->loop));
}

void pst_scrape_stop(struct pst_gateway_replica *replica)
{
    if (replica->scrape != NULL)
        pst_fetch_cancel(replica->scrape);
    replica->scrape = NULL;
    replica->scrape_fails = false;
    if (replica->gateway != NULL)
        pst_timer_cancel(replica->gateway->loop, &replica->scrape_next);
}
