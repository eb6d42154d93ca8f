/* gate.c - the facade: what each event changes. See gate.h; what follows from it is gate_poll.c. */
#include "core/gate.h"

#include "core/admit.h"
#include "core/fixed.h"
#include "core/gate_internal.h"
#include "core/num.h"

/* The queue's verdict on one more ticket. by_head: its body is not known yet. */
static enum pst_reason judge(struct pst_gate *gate, const struct pst_ticket *ticket, bool by_head)
{
    const struct pst_pool *pool = &gate->pools[ticket->pool];
    struct pst_ask ask = {
        .tokens = by_head ? 0 : pst_ticket_tokens(ticket),
        .flow = ticket->flow,
        .weight = ticket->weight,
        .class_ = ticket->class_,
        .length = by_head ? PST_LENGTH_UNKNOWN : ticket->length,
    };

    if (pool->config->policy == PST_POLICY_ADAPTIVE)
        return pst_admit_judge(pool, &ask, gate->now);
    return pst_fixed_admits(pool, ticket, gate->now) ? PST_REASON_NONE : PST_REASON_QUEUE_FULL;
}

static void refuse_without_ticket(struct pst_gate *gate, const struct pst_gate_event *event)
{
    struct pst_gate_action *action = pst_gate_say(gate, PST_ACTION_FINISH);
    struct pst_totals_ticket demand = {
        .flow = event->u.offer.flow,
        .weight = event->u.offer.weight,
        .class_ = event->u.offer.class_,
    };

    if (event->u.offer.pool != PST_POOL_NONE && (event->flags & PST_ARRIVE_RETRY) == 0) {
        struct pst_pool *pool = &gate->pools[event->u.offer.pool];

        demand.work = pst_service_class_mean(&pool->service, demand.class_);
        pst_totals_refused(&pool->totals, &demand, gate->now);
    }
    action->u.finish.id = event->u.offer.id;
    action->u.finish.outcome = PST_OUTCOME_REFUSED;
    action->u.finish.reason = PST_REASON_SLAB_FULL;
    action->u.finish.retry_after_ms = pst_admit_retry_after_ms(NULL, 0, gate->now, &gate->prng);
    gate->finished++;
}

static void offer(struct pst_gate *gate, const struct pst_gate_event *event)
{
    struct pst_ticket_id id = event->u.offer.id;
    enum pst_reason reason = PST_REASON_NONE;
    struct pst_ticket *ticket;

    gate->offers++;
    if (id.index >= gate->slab.max) {
        refuse_without_ticket(gate, event);
        return;
    }
    ticket = pst_slab_open(&gate->slab, id);
    ticket->pool = event->u.offer.pool;
    ticket->client_retry = (event->flags & PST_ARRIVE_RETRY) != 0;
    if (ticket->pool != PST_POOL_NONE) {
        PST_ASSERT(ticket->pool < gate->config.pools_count);
        PST_ASSERT(event->u.offer.class_ < gate->config.classes_count);
        ticket->class_ = ticket->queue_class = event->u.offer.class_;
        ticket->flow = event->u.offer.flow;
        ticket->weight = event->u.offer.weight;
        reason = judge(gate, ticket, true);
    }
    if (pst_gate_refuses_all(gate))
        reason = PST_REASON_DRAINING;
    else if (reason == PST_REASON_NONE &&
             !pst_bodies_reserve(&gate->bodies, ticket, event->u.offer.body_bytes))
        reason = PST_REASON_BYTES_FULL;
    if (reason != PST_REASON_NONE) {
        pst_gate_finish(gate, ticket, PST_OUTCOME_REFUSED, reason);
        return;
    }
    pst_ticket_append(&gate->offered, PST_CHAIN_AGE, ticket);
    pst_gate_say(gate, PST_ACTION_CONTINUE)->u.ticket.id = id;
}

static void held(struct pst_gate *gate, struct pst_ticket *ticket, uint64_t bytes)
{
    if (pst_bodies_held(&gate->bodies, ticket, bytes) || ticket->state == PST_TICKET_PAUSED)
        return;
    pst_gate_take_off(gate, ticket);
    pst_ticket_change_state(&gate->slab, ticket, PST_TICKET_PAUSED);
    ticket->queued_at = gate->now;
    pst_ticket_append(&gate->bodies.paused, PST_CHAIN_AGE, ticket);
    pst_gate_say(gate, PST_ACTION_PAUSE)->u.ticket.id = ticket->id;
}

/* What the body told: estimates, bin, ttl. */
static void describe(struct pst_gate *gate, struct pst_ticket *ticket,
                     const struct pst_gate_event *event)
{
    const struct pst_gate_pool *pool = &gate->config.pools[event->u.arrive.pool];
    uint32_t sequences = event->u.arrive.sequences;
    uint32_t output;

    PST_ASSERT(event->u.arrive.pool < gate->config.pools_count);
    PST_ASSERT(event->u.arrive.class_ < gate->config.classes_count);
    PST_ASSERT(event->u.arrive.type < PST_TYPES_MAX);
    ticket->pool = event->u.arrive.pool;
    ticket->class_ = ticket->queue_class = event->u.arrive.class_;
    ticket->type = event->u.arrive.type;
    ticket->flow = event->u.arrive.flow;
    ticket->weight = event->u.arrive.weight;
    ticket->prompt_bytes = event->u.arrive.prompt_bytes;
    ticket->stream = (event->flags & PST_ARRIVE_STREAM) != 0;
    ticket->client_retry |= (event->flags & PST_ARRIVE_RETRY) != 0;
    ticket->described = true;
    ticket->fleet.body_hash = event->u.arrive.body_hash;
    ticket->fleet.affinity = event->u.arrive.affinity;
    ticket->fleet.sequences = (uint16_t)pst_min_u64(sequences == 0 ? 1 : sequences, pool->slots);

    ticket->tokens_prompt =
        pst_estimate_prompt(&gate->estimate, ticket->pool, ticket->flow, ticket->prompt_bytes);
    output = pst_estimate_output(&gate->estimate, ticket->type, ticket->flow);
    if (event->u.arrive.max_tokens != 0 && output > event->u.arrive.max_tokens)
        output = event->u.arrive.max_tokens;
    ticket->tokens_output =
        (uint32_t)pst_min_u64((uint64_t)output * ticket->fleet.sequences, UINT32_MAX);
    ticket->length = ticket->tokens_prompt <= pool->length_short_tokens  ? PST_LENGTH_SHORT
                     : ticket->tokens_prompt <= pool->length_long_tokens ? PST_LENGTH_MID
                                                                         : PST_LENGTH_LONG;

    ticket->ttl = gate->config.classes[ticket->class_].ttl;
    if (event->u.arrive.ttl_ms != 0)
        ticket->ttl = pst_min_u64(ticket->ttl, event->u.arrive.ttl_ms * PST_MS);
}

static void arrive(struct pst_gate *gate, struct pst_ticket *ticket,
                   const struct pst_gate_event *event)
{
    struct pst_pool *pool;
    enum pst_reason reason;
    pst_ns work;

    pst_gate_take_off(gate, ticket);
    if (ticket->state == PST_TICKET_PAUSED) /* all of it had come before the pause took effect */
        pst_ticket_change_state(&gate->slab, ticket, PST_TICKET_OFFERED);
    describe(gate, ticket, event);
    pst_bodies_complete(&gate->bodies, ticket);
    pool = &gate->pools[ticket->pool];
    reason = pst_gate_refuses_all(gate) ? PST_REASON_DRAINING : judge(gate, ticket, false);
    if (reason != PST_REASON_NONE) {
        pst_gate_finish(gate, ticket, PST_OUTCOME_REFUSED, reason);
        return;
    }
    work = pst_pool_work(pool, ticket);
    pst_gate_count_admitted(gate, ticket, work);
    if (!pst_fleet_admit(gate->fleet, &ticket->fleet, gate->now)) {
        pst_gate_finish(gate, ticket, PST_OUTCOME_FAILED, PST_REASON_REPLICA_DIED);
        return;
    }
    pst_load_arrived(&pool->load, ticket->class_, work);
    pst_gate_queue(gate, ticket, false);
}

static void cancel(struct pst_gate *gate, struct pst_ticket *ticket)
{
    if (ticket->state == PST_TICKET_RUNNING || ticket->state == PST_TICKET_STREAMING)
        pst_gate_close(gate, ticket, false);
    else
        pst_gate_take_off(gate, ticket);
    pst_gate_finish(gate, ticket, PST_OUTCOME_CANCELLED, PST_REASON_CLIENT);
}

static void first(struct pst_gate *gate, struct pst_ticket *ticket)
{
    pst_heap_remove(&gate->first_byte, ticket->id.index);
    pst_ticket_change_state(&gate->slab, ticket, PST_TICKET_STREAMING);
    pst_fleet_first(gate->fleet, &ticket->fleet, gate->now);
}

static void end(struct pst_gate *gate, struct pst_ticket *ticket,
                const struct pst_gate_event *event)
{
    struct pst_pool *pool = &gate->pools[ticket->pool];
    enum pst_reason reason = PST_REASON_NONE;
    enum pst_verdict verdict;

    PST_ASSERT(event->u.end.kind < PST_END_COUNT);
    pst_gate_stop(gate, ticket);
    verdict = pst_fleet_end(gate->fleet, ticket->id.index, &ticket->fleet,
                            (enum pst_end)event->u.end.kind, event->u.end.retry_after_ms, gate->now,
                            &reason);
    pst_totals_ended(&pool->totals, event->u.end.kind == PST_END_DONE,
                     (gate->now - ticket->started_at) * ticket->fleet.sequences);
    if (event->u.end.kind == PST_END_DONE) {
        pst_service_learn(&pool->service, ticket->queue_class, ticket->length,
                          gate->now - ticket->started_at);
        pst_estimate_learn(&gate->estimate, ticket->pool, ticket->type, ticket->flow,
                           ticket->prompt_bytes, event->u.end.tokens_in,
                           event->u.end.tokens_out / ticket->fleet.sequences);
        if (event->u.end.tokens_out != 0)
            pst_waitq_settle(&pool->queue[ticket->queue_class], ticket, event->u.end.tokens_in,
                             event->u.end.tokens_out);
    }
    pst_gate_obey(gate, ticket, verdict, reason);
}

static void drain(struct pst_gate *gate, const struct pst_gate_event *event)
{
    struct pst_gate_drain *d = &gate->drain;

    if (event->u.drain.replica != PST_REPLICA_ALL) {
        pst_fleet_drain(gate->fleet, event->u.drain.replica, event->u.drain.until, gate->now);
        return;
    }
    if (!d->active)
        *d = (struct pst_gate_drain){true, false, event->u.drain.grace_until, event->u.drain.until};
    d->until = pst_min_u64(d->until, event->u.drain.until);
    d->grace_until = pst_min_u64(d->grace_until, d->until);
    d->said = false; /* whoever asks again is answered again */
}

static void undrain(struct pst_gate *gate, uint16_t replica)
{
    if (replica == PST_REPLICA_ALL)
        gate->drain.active = false;
    else
        pst_fleet_undrain(gate->fleet, replica, gate->now);
}

/* The ticket an event speaks of, if it is in one of these states; else the event is stale. */
static struct pst_ticket *ticket_in(struct pst_gate *gate, struct pst_ticket_id id, uint32_t states)
{
    struct pst_ticket *ticket = pst_slab_find(&gate->slab, id);

    if (ticket != NULL && (states >> ticket->state & 1u) != 0)
        return ticket;
    gate->stale_events++;
    return NULL;
}

static struct pst_ticket *ticket_running(struct pst_gate *gate, struct pst_ticket_id id,
                                         uint32_t attempt, uint32_t states)
{
    struct pst_ticket *ticket = ticket_in(gate, id, states);

    if (ticket == NULL || ticket->attempt == attempt)
        return ticket;
    gate->stale_events++;
    return NULL;
}

#define READING (1u << PST_TICKET_OFFERED | 1u << PST_TICKET_PAUSED)
#define RUNNING (1u << PST_TICKET_RUNNING | 1u << PST_TICKET_STREAMING)
#define ALIVE   (READING | 1u << PST_TICKET_QUEUED | RUNNING)

/* The fleet's own: a table, so that what is rare does not swell the step that every request takes. */
static void (*const of_replicas[PST_EVENT_COUNT])(struct pst_fleet *fleet,
                                                  const struct pst_gate_event *event) = {
    [PST_EVENT_REPLICA] = pst_fleet_replica, [PST_EVENT_PROBE] = pst_fleet_probe,
    [PST_EVENT_SLOTS] = pst_fleet_slots,     [PST_EVENT_PROGRESS] = pst_fleet_progress,
    [PST_EVENT_PROMOTE] = pst_fleet_promote, [PST_EVENT_ENGINE] = pst_fleet_engine,
};

static void apply(struct pst_gate *gate, const struct pst_gate_event *event)
{
    struct pst_ticket *ticket;

    switch ((enum pst_gate_event_kind)event->kind) {
    case PST_EVENT_OFFER:
        offer(gate, event);
        break;
    case PST_EVENT_HELD:
        if ((ticket = ticket_in(gate, event->u.held.id, READING)) != NULL)
            held(gate, ticket, event->u.held.bytes);
        break;
    case PST_EVENT_ARRIVE:
        if ((ticket = ticket_in(gate, event->u.arrive.id, READING)) != NULL)
            arrive(gate, ticket, event);
        break;
    case PST_EVENT_CANCEL:
        if ((ticket = ticket_in(gate, event->u.cancel.id, ALIVE)) != NULL)
            cancel(gate, ticket);
        break;
    case PST_EVENT_FIRST:
        if ((ticket = ticket_running(gate, event->u.first.id, event->u.first.attempt,
                                     1u << PST_TICKET_RUNNING)) != NULL)
            first(gate, ticket);
        break;
    case PST_EVENT_END:
        if ((ticket = ticket_running(gate, event->u.end.id, event->u.end.attempt, RUNNING)) != NULL)
            end(gate, ticket, event);
        break;
    case PST_EVENT_REPLICA:
    case PST_EVENT_PROBE:
    case PST_EVENT_SLOTS:
    case PST_EVENT_PROGRESS:
    case PST_EVENT_PROMOTE:
    case PST_EVENT_ENGINE:
        of_replicas[event->kind](gate->fleet, event);
        break;
    case PST_EVENT_DRAIN:
        drain(gate, event);
        break;
    case PST_EVENT_UNDRAIN:
        undrain(gate, event->u.undrain.replica);
        break;
    case PST_EVENT_TIME:
        break;
    case PST_EVENT_COUNT:
        PST_ASSERT(event->kind < PST_EVENT_COUNT);
    }
}

static void fleet_time(struct pst_gate *gate)
{
    if (pst_fleet_deadline(gate->fleet) <= gate->now)
        pst_fleet_time(gate->fleet, gate->now);
}

void pst_gate_step(struct pst_gate *gate, const struct pst_gate_event *event)
{
    PST_ASSERT(event->now >= gate->now);
    PST_ASSERT(gate->outbox_count == 0); /* the driver polls until false */
    gate->now = event->now;
    for (uint32_t p = 0; p < gate->config.pools_count; p++)
        pst_pool_advance(&gate->pools[p], gate->now);
    fleet_time(gate);
    apply(gate, event);
    fleet_time(gate); /* what the event made due at once, a first probe for one */
    pst_gate_start_over(gate);
}
