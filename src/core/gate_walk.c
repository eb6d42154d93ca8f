/* gate_walk.c - a ticket's walk through the gate; see gate_internal.h. */
#include "core/gate_internal.h"

#include <string.h>

#include "core/admit.h"
#include "core/num.h"
#include "core/order.h"

struct pst_gate_action *pst_gate_say(struct pst_gate *gate, enum pst_gate_action_kind kind)
{
    struct pst_gate_action *action;

    PST_ASSERT(gate->outbox_count < PST_OUTBOX_MAX);
    action = &gate->outbox[(gate->outbox_head + gate->outbox_count++) % PST_OUTBOX_MAX];
    memset(action, 0, sizeof *action); /* recordings compare bytes */
    action->kind = (uint8_t)kind;
    return action;
}

static bool says_when_to_retry(enum pst_outcome outcome)
{
    return outcome == PST_OUTCOME_REFUSED || outcome == PST_OUTCOME_EXPIRED;
}

static bool wants_capacity(enum pst_reason reason)
{
    return reason == PST_REASON_QUEUE_FULL || reason == PST_REASON_KV_FULL ||
           reason == PST_REASON_BYTES_FULL || reason == PST_REASON_SLAB_FULL;
}

static struct pst_totals_ticket demand_of(const struct pst_ticket *ticket, pst_ns work)
{
    return (struct pst_totals_ticket){
        .work = work,
        .flow = ticket->flow,
        .weight = ticket->weight,
        .class_ = ticket->class_,
    };
}

void pst_gate_count_admitted(struct pst_gate *gate, const struct pst_ticket *ticket, pst_ns work)
{
    struct pst_totals_ticket demand = demand_of(ticket, work);

    if (!ticket->client_retry)
        pst_totals_admitted(&gate->pools[ticket->pool].totals, &demand, gate->now);
}

/* By what is known of it: before its body is read, the class alone. */
static void count_refused(struct pst_gate *gate, const struct pst_ticket *ticket)
{
    struct pst_pool *pool = &gate->pools[ticket->pool];
    struct pst_totals_ticket demand = demand_of(
        ticket, ticket->described ? pst_pool_work(pool, ticket)
                                  : pst_service_class_mean(&pool->service, ticket->class_));

    pst_totals_refused(&pool->totals, &demand, gate->now);
}

/* What its end without an answer says of the pool's capacity. */
static void count_finished(struct pst_gate *gate, const struct pst_ticket *ticket,
                           enum pst_outcome outcome, enum pst_reason reason)
{
    if (outcome == PST_OUTCOME_REFUSED && wants_capacity(reason))
        count_refused(gate, ticket);
    else if (outcome == PST_OUTCOME_EXPIRED && ticket->attempt == 0)
        pst_totals_waited(&gate->pools[ticket->pool].totals, ticket->class_, true);
}

void pst_gate_finish(struct pst_gate *gate, struct pst_ticket *ticket, enum pst_outcome outcome,
                     enum pst_reason reason)
{
    struct pst_gate_action *action = pst_gate_say(gate, PST_ACTION_FINISH);
    const struct pst_pool *pool = ticket->pool == PST_POOL_NONE ? NULL : &gate->pools[ticket->pool];

    action->u.finish.id = ticket->id;
    action->u.finish.outcome = (uint8_t)outcome;
    action->u.finish.reason = (uint8_t)reason;
    action->u.finish.length = ticket->length;
    action->u.finish.tokens_estimated = ticket->tokens_prompt;
    action->u.finish.waited = ticket->waited;
    if (says_when_to_retry(outcome))
        action->u.finish.retry_after_ms =
            pst_admit_retry_after_ms(pool, ticket->queue_class, gate->now, &gate->prng);
    if (pool != NULL && !ticket->client_retry)
        count_finished(gate, ticket, outcome, reason);
    pst_fleet_forget(gate->fleet, ticket->id.index, &ticket->fleet);
    pst_bodies_release(&gate->bodies, ticket);
    pst_ticket_change_state(&gate->slab, ticket, PST_TICKET_FREE);
    gate->finished++;
}

void pst_gate_queue(struct pst_gate *gate, struct pst_ticket *ticket, bool retry)
{
    struct pst_pool *pool = &gate->pools[ticket->pool];

    if (!retry)
        ticket->rank = ++gate->rank;
    ticket->queued_at = gate->now;
    pst_ticket_change_state(&gate->slab, ticket, PST_TICKET_QUEUED);
    pst_waitq_push(&pool->queue[ticket->queue_class], ticket, retry);
    pst_room_enter(&pool->room, ticket, pool->config->no_replica_ttl, gate->now);
    pool->queued++;
    pool->tokens_queued += pst_ticket_tokens(ticket);
}

void pst_gate_unqueue(struct pst_gate *gate, struct pst_ticket *ticket)
{
    struct pst_pool *pool = &gate->pools[ticket->pool];

    pst_waitq_remove(&pool->queue[ticket->queue_class], ticket);
    pst_room_leave(&pool->room, ticket, gate->now);
    ticket->waited += gate->now - ticket->queued_at;
    pool->queued--;
    pool->tokens_queued -= pst_ticket_tokens(ticket);
}

void pst_gate_take_off(struct pst_gate *gate, struct pst_ticket *ticket)
{
    if (ticket->state == PST_TICKET_QUEUED)
        pst_gate_unqueue(gate, ticket);
    else if (ticket->state == PST_TICKET_OFFERED)
        pst_ticket_unlink(&gate->offered, PST_CHAIN_AGE, ticket);
    else if (ticket->state == PST_TICKET_PAUSED)
        pst_ticket_unlink(&gate->bodies.paused, PST_CHAIN_AGE, ticket);
}

static pst_ns first_byte_due(const struct pst_gate *gate, const struct pst_pool *pool,
                             const struct pst_ticket *ticket)
{
    pst_ns limit = ticket->stream ? pool->config->first_byte_stream : pool->config->first_byte;

    return limit == 0 ? PST_NEVER : pst_add_sat(gate->now, limit);
}

void pst_gate_start(struct pst_gate *gate, struct pst_pool *pool, const struct pst_pick *pick)
{
    struct pst_ticket *ticket = pick->ticket;
    bool fresh = ticket->fleet.same_again != 0;
    pst_ns work = pst_pool_work(pool, ticket);
    struct pst_gate_action *action;

    pst_gate_unqueue(gate, ticket);
    pst_ticket_change_state(&gate->slab, ticket, PST_TICKET_RUNNING);
    pst_fleet_take(gate->fleet, ticket->id.index, &ticket->fleet, pick->replica, work, gate->now);
    if (pool->config->policy == PST_POLICY_ADAPTIVE)
        pst_order_started(pool, pick, work, gate->now);
    pst_load_start(&pool->load, ticket->queue_class, ticket->length, ticket->fleet.sequences);
    pool->running[ticket->queue_class]++;
    pool->started += ticket->fleet.sequences;
    ticket->started_at = gate->now;
    ticket->attempt++;
    if (ticket->attempt == 1 && !ticket->client_retry)
        pst_totals_waited(&pool->totals, ticket->class_,
                          ticket->waited > pool->classes[ticket->class_].target);
    pst_heap_put(&gate->first_byte, ticket->id.index, first_byte_due(gate, pool, ticket),
                 ticket->rank);

    gate->dispatched++;
    gate->retried += ticket->attempt > 1;
    gate->guard_dispatched += pick->guard;
    action = pst_gate_say(gate, PST_ACTION_DISPATCH);
    action->u.dispatch.id = ticket->id;
    action->u.dispatch.attempt = ticket->attempt;
    action->u.dispatch.replica = pick->replica;
    action->u.dispatch.flags =
        (uint16_t)((fresh ? PST_DISPATCH_FRESH : 0) | (pick->guard ? PST_DISPATCH_GUARD : 0));
    action->u.dispatch.waited = ticket->waited;
}

void pst_gate_stop(struct pst_gate *gate, struct pst_ticket *ticket)
{
    struct pst_pool *pool = &gate->pools[ticket->pool];

    PST_ASSERT(ticket->state == PST_TICKET_RUNNING || ticket->state == PST_TICKET_STREAMING);
    pst_heap_remove(&gate->first_byte, ticket->id.index);
    pst_load_stop(&pool->load, ticket->queue_class, ticket->length, ticket->fleet.sequences);
    PST_ASSERT(pool->running[ticket->queue_class] > 0);
    pool->running[ticket->queue_class]--;
}

void pst_gate_say_close(struct pst_gate *gate, const struct pst_ticket *ticket)
{
    struct pst_gate_action *action = pst_gate_say(gate, PST_ACTION_CLOSE);

    action->u.close.id = ticket->id;
    action->u.close.attempt = ticket->attempt;
}

void pst_gate_close(struct pst_gate *gate, struct pst_ticket *ticket, bool unanswered)
{
    pst_gate_say_close(gate, ticket);
    pst_gate_stop(gate, ticket);
    pst_fleet_release(gate->fleet, ticket->id.index, &ticket->fleet, unanswered, gate->now);
}

void pst_gate_obey(struct pst_gate *gate, struct pst_ticket *ticket, enum pst_verdict verdict,
                   enum pst_reason reason)
{
    switch (verdict) {
    case PST_VERDICT_DONE:
        pst_gate_finish(gate, ticket, PST_OUTCOME_DONE, PST_REASON_NONE);
        break;
    case PST_VERDICT_REQUEUE:
        pst_gate_queue(gate, ticket, true);
        break;
    case PST_VERDICT_FAIL:
        pst_gate_finish(gate, ticket, PST_OUTCOME_FAILED, reason);
        break;
    }
}
