/*
 * plant.h - a small discrete-event plant around the gate: streams of arrivals, replicas that end what
 * they run after a drawn service time, and what every stream saw. Everything goes through gate.h.
 */
#ifndef PST_TEST_CORE_PLANT_H
#define PST_TEST_CORE_PLANT_H

#include "harness.h"

#define PLANT_TICKETS 16384
#define PLANT_STREAMS 8

/* A stream of requests of one kind. */
struct plant_stream {
    uint32_t per_1000_s; /* arrivals in 1,000 s, Poisson; 0: always `backlog` queued */
    uint32_t backlog;
    pst_ns begin, end;
    uint8_t class_;
    uint32_t flow;
    uint16_t weight;
    uint32_t prompt_bytes;
    pst_ns service; /* mean; Pareto of shape 2.5 */
    uint16_t sequences;
};

struct plant_seen {
    struct pst_hist wait;        /* of those dispatched */
    struct pst_hist retry_after; /* of those refused, ms */
    uint64_t arrived, dispatched, done, refused, expired;
};

struct plant {
    struct pst_gate *gate;
    struct pst_gate_config config;
    struct pst_prng prng;
    struct pst_heap ends;     /* running tickets by their end */
    struct pst_heap arrivals; /* streams by their next arrival */
    const struct plant_stream *streams;
    uint32_t streams_count;
    struct plant_seen seen[PLANT_STREAMS];
    pst_ns now, measure_from;
    bool mute[PLANT_STREAMS]; /* its answers do not tell the tokens of the prompt */
    bool constant;            /* service times are their mean, arrivals come at a beat */
    uint64_t seq;
    uint32_t free_count;
    uint32_t free[PLANT_TICKETS];
    struct {
        uint32_t generation, attempt;
        uint8_t stream;
    } tickets[PLANT_TICKETS];
    uint32_t waiting[PLANT_STREAMS]; /* tickets of the stream not yet dispatched */
    /* Called at each dispatch, for what a test wants to see of the order. */
    void (*on_dispatch)(struct plant *plant, uint32_t stream);
    void *context;
};

static inline pst_ns plant_exponential(struct plant *p, double mean)
{
    return pst_to_u64(p->constant ? mean : -mean * pst_ln(1 - pst_prng_unit(&p->prng)));
}

/* Pareto of shape 2.5: the mean is 5/3 of the least. */
static inline pst_ns plant_service(struct plant *p, pst_ns mean)
{
    return p->constant
               ? mean
               : pst_to_u64((double)mean * 0.6 * pst_pow(1 - pst_prng_unit(&p->prng), -0.4));
}

static inline void plant_handle(struct plant *p, const struct pst_gate_action *action)
{
    uint32_t index = action->u.ticket.id.index;
    uint8_t s = p->tickets[index].stream;
    struct plant_seen *seen = &p->seen[s];
    bool counts = p->now >= p->measure_from;

    switch ((enum pst_gate_action_kind)action->kind) {
    case PST_ACTION_DISPATCH:
        p->tickets[index].attempt = action->u.dispatch.attempt;
        p->waiting[s]--;
        pst_heap_put(&p->ends, index, p->now + plant_service(p, p->streams[s].service), ++p->seq);
        seen->dispatched += counts;
        if (counts)
            pst_hist_add(&seen->wait, action->u.dispatch.waited);
        if (p->on_dispatch != NULL)
            p->on_dispatch(p, s);
        break;
    case PST_ACTION_FINISH:
        seen->done += counts && action->u.finish.outcome == PST_OUTCOME_DONE;
        seen->refused += counts && action->u.finish.outcome == PST_OUTCOME_REFUSED;
        if (counts && action->u.finish.outcome == PST_OUTCOME_REFUSED)
            pst_hist_add(&seen->retry_after, action->u.finish.retry_after_ms);
        seen->expired += counts && action->u.finish.outcome == PST_OUTCOME_EXPIRED;
        if (action->u.finish.outcome != PST_OUTCOME_DONE)
            p->waiting[s]--;
        p->free[p->free_count++] = index;
        break;
    case PST_ACTION_CONTINUE:
    case PST_ACTION_PAUSE:
    case PST_ACTION_CLOSE:
    case PST_ACTION_CHECK:
    case PST_ACTION_DRAINED:
    case PST_ACTION_WAKE:
    case PST_ACTION_STATE:
    case PST_ACTION_COUNT:
        break;
    }
}

static inline void plant_step(struct plant *p, const struct pst_gate_event *event)
{
    struct pst_gate_action action;
    uint16_t checks[PST_REPLICAS_MAX];
    uint8_t kinds[PST_REPLICAS_MAX];
    uint32_t checks_count = 0;

    pst_gate_step(p->gate, event);
    while (pst_gate_poll(p->gate, &action)) {
        if (action.kind == PST_ACTION_CHECK) {
            kinds[checks_count] = action.u.check.probe;
            checks[checks_count++] = action.u.check.replica;
        } else if (action.kind != PST_ACTION_STATE) {
            plant_handle(p, &action);
        }
    }
    for (uint32_t i = 0; i < checks_count; i++) {
        struct pst_gate_event answer = harness_event(PST_EVENT_PROBE, event->now);

        answer.u.probe.replica = checks[i];
        answer.u.probe.probe = kinds[i];
        answer.u.probe.result = PST_PROBE_OK;
        plant_step(p, &answer);
    }
}

static inline void plant_arrive(struct plant *p, uint8_t stream)
{
    const struct plant_stream *s = &p->streams[stream];
    struct pst_gate_event event = harness_event(PST_EVENT_OFFER, p->now);
    struct pst_ticket_id id;
    uint64_t refused = 0;

    assert_true(p->free_count > 0);
    id.index = p->free[--p->free_count];
    id.generation = ++p->tickets[id.index].generation;
    p->tickets[id.index].stream = stream;
    p->waiting[stream]++;
    p->seen[stream].arrived += p->now >= p->measure_from;
    event.u.offer.id = id;
    event.u.offer.pool = PST_POOL_NONE;
    event.u.offer.body_bytes = s->prompt_bytes;
    refused = p->free_count;
    plant_step(p, &event);
    if (p->free_count > refused)
        return;
    event = harness_event(PST_EVENT_ARRIVE, p->now);
    event.u.arrive.id = id;
    event.u.arrive.class_ = s->class_;
    event.u.arrive.type = s->class_;
    event.u.arrive.flow = s->flow;
    event.u.arrive.weight = s->weight;
    event.u.arrive.prompt_bytes = s->prompt_bytes;
    event.u.arrive.sequences = s->sequences;
    plant_step(p, &event);
}

static inline void plant_init(struct plant *p, const struct pst_gate_config *config,
                              const struct plant_stream *streams, uint32_t streams_count,
                              uint16_t replicas, uint64_t seed)
{
    memset(p, 0, sizeof *p);
    p->config = *config;
    p->config.tickets_max = PLANT_TICKETS;
    p->streams = streams;
    p->streams_count = streams_count;
    p->now = PST_S;
    pst_prng_init(&p->prng, seed);
    assert_int_equal(pst_gate_new(&p->config, &p->gate), PST_OK);
    assert_int_equal(pst_heap_init(&p->ends, PLANT_TICKETS), PST_OK);
    assert_int_equal(pst_heap_init(&p->arrivals, PLANT_STREAMS), PST_OK);
    for (uint32_t i = 0; i < PLANT_TICKETS; i++)
        p->free[p->free_count++] = PLANT_TICKETS - 1 - i;
    for (uint16_t r = 0; r < replicas; r++) {
        struct pst_gate_event event = harness_event(PST_EVENT_REPLICA, p->now);

        event.u.replica.replica = r;
        event.u.replica.state = PST_REPLICA_LOADING;
        plant_step(p, &event);
    }
    for (uint32_t s = 0; s < streams_count; s++) {
        if (streams[s].per_1000_s > 0)
            pst_heap_put(&p->arrivals, s, p->now + streams[s].begin + s * PST_MS, ++p->seq);
    }
}

static inline void plant_top_up(struct plant *p)
{
    for (uint32_t s = 0; s < p->streams_count; s++) {
        while (p->streams[s].backlog > 0 && p->waiting[s] < p->streams[s].backlog)
            plant_arrive(p, (uint8_t)s);
    }
}

static inline void plant_end(struct plant *p, uint32_t index)
{
    struct pst_gate_event event = harness_event(PST_EVENT_END, p->now);
    uint8_t stream = p->tickets[index].stream;

    pst_heap_remove(&p->ends, index);
    event.u.end.id = (struct pst_ticket_id){index, p->tickets[index].generation};
    event.u.end.attempt = p->tickets[index].attempt;
    event.u.end.kind = PST_END_DONE;
    event.u.end.tokens_in = p->mute[stream] ? 0 : p->streams[stream].prompt_bytes / 4;
    event.u.end.tokens_out = 100;
    plant_step(p, &event);
}

static inline void plant_run(struct plant *p, pst_ns until)
{
    for (;;) {
        pst_ns end, arrival, deadline, at;

        plant_top_up(p);
        end = pst_heap_top_key(&p->ends);
        arrival = pst_heap_top_key(&p->arrivals);
        deadline = pst_max_u64(pst_gate_deadline(p->gate), p->now);
        at = pst_min_u64(pst_min_u64(end, arrival), deadline);
        if (at > until)
            break;
        p->now = at;
        if (end == at) {
            plant_end(p, pst_heap_top(&p->ends));
        } else if (arrival == at) {
            uint32_t s = pst_heap_top(&p->arrivals);
            pst_ns next = at + plant_exponential(p, 1e12 / p->streams[s].per_1000_s);

            if (next < p->streams[s].end)
                pst_heap_put(&p->arrivals, s, next, ++p->seq);
            else
                pst_heap_remove(&p->arrivals, s);
            plant_arrive(p, (uint8_t)s);
        } else {
            struct pst_gate_event event = harness_event(PST_EVENT_TIME, at);

            plant_step(p, &event);
        }
    }
    p->now = until;
}

static inline void plant_done(struct plant *p)
{
    pst_gate_verify(p->gate);
    pst_heap_done(&p->ends);
    pst_heap_done(&p->arrivals);
    pst_gate_free(p->gate);
}

static inline uint64_t plant_wait_us(const struct plant *p, uint32_t stream, uint32_t q_ppm)
{
    return pst_hist_quantile(&p->seen[stream].wait, q_ppm) / PST_US;
}

#endif
