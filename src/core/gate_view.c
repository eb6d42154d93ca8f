/* gate_view.c - what can be seen of a gate: views, counters, names, and the invariants. */
#include <string.h>

#include "core/admit.h"
#include "core/gate_internal.h"

uint8_t pst_gate_classes(const struct pst_gate *gate)
{
    return (uint8_t)gate->config.classes_count;
}

void pst_gate_class_view(const struct pst_gate *gate, uint16_t pool_index, uint8_t class_,
                         pst_ns now, struct pst_gate_class_view *ret_view)
{
    const struct pst_pool *pool = &gate->pools[pool_index];
    const struct pst_waitq *q;

    PST_ASSERT(pool_index < gate->config.pools_count && class_ < gate->config.classes_count);
    q = &pool->queue[class_];
    memset(ret_view, 0, sizeof *ret_view);
    memcpy(ret_view->queued, q->tickets, sizeof ret_view->queued);
    ret_view->inflight = pool->load.inflight[class_];
    ret_view->queued_work = pst_pool_queued_work(pool, class_);
    ret_view->queued_bytes = q->bytes;
    ret_view->queued_tokens = q->tokens;
    ret_view->backlog = pst_admit_backlog(pool, class_);
    ret_view->oldest = q->age.head == NULL ? 0 : pst_ticket_waited(q->age.head, now);
    ret_view->predicted_wait = pst_admit_predicted(pool, class_, now);
    ret_view->reserved_slots = pool->reserved[class_];
}

void pst_gate_pool_view(const struct pst_gate *gate, uint16_t pool_index,
                        struct pst_gate_pool_view *ret_view)
{
    const struct pst_pool *pool = &gate->pools[pool_index];

    PST_ASSERT(pool_index < gate->config.pools_count);
    memset(ret_view, 0, sizeof *ret_view);
    pst_fleet_states(gate->fleet, pool_index, ret_view->replicas);
    ret_view->slots = pool->capacity->slots;
    ret_view->inflight = pool->capacity->inflight;
    ret_view->waiting_no_replica = pool->capacity->ready == 0 ? pool->queued : 0;
}

void pst_gate_class_totals(const struct pst_gate *gate, uint16_t pool, uint8_t class_, pst_ns now,
                           struct pst_gate_class_totals *ret_totals)
{
    PST_ASSERT(pool < gate->config.pools_count && class_ < gate->config.classes_count);
    pst_totals_class(&gate->pools[pool].totals, class_, now, ret_totals);
}

void pst_gate_pool_totals(const struct pst_gate *gate, uint16_t pool,
                          struct pst_gate_pool_totals *ret_totals)
{
    PST_ASSERT(pool < gate->config.pools_count);
    *ret_totals = gate->pools[pool].totals.pool;
}

bool pst_gate_replica_view(const struct pst_gate *gate, uint16_t replica,
                           struct pst_gate_replica_view *ret_view)
{
    return pst_fleet_replica_view(gate->fleet, replica, ret_view);
}

void pst_gate_counters(const struct pst_gate *gate, struct pst_gate_counters *ret_counters)
{
    *ret_counters = (struct pst_gate_counters){
        .offered = gate->offers,
        .finished = gate->finished,
        .dispatched = gate->dispatched,
        .retried = gate->retried,
        .guard_dispatched = gate->guard_dispatched,
        .stale_events = gate->stale_events,
        .bytes_held = gate->bodies.reserved,
        .tickets = gate->slab.alive,
        .draining = gate->drain.active,
    };
}

static void verify_pool(const struct pst_gate *gate, const struct pst_pool *pool)
{
    uint32_t queued = 0, running[PST_CLASSES_MAX] = {0}, inflight[PST_CLASSES_MAX] = {0};
    uint64_t tokens = 0;

    for (uint32_t c = 0; c < pool->classes_count; c++) {
        pst_waitq_verify(&pool->queue[c]);
        queued += pool->queue[c].count;
        tokens += pool->queue[c].tokens;
    }
    PST_ASSERT(pool->queued == queued && pool->tokens_queued == tokens);
    pst_room_verify(&pool->room, queued);
    for (uint32_t i = 0; i < gate->slab.max; i++) {
        const struct pst_ticket *t = &gate->slab.tickets[i];

        if (t->pool == pool->index &&
            (t->state == PST_TICKET_RUNNING || t->state == PST_TICKET_STREAMING)) {
            running[t->queue_class]++;
            inflight[t->queue_class] += t->fleet.sequences;
            PST_ASSERT(t->fleet.replica != PST_REPLICA_ALL);
        }
    }
    for (uint32_t c = 0; c < pool->classes_count; c++)
        PST_ASSERT(pool->running[c] == running[c] && pool->load.inflight[c] == inflight[c]);
}

void pst_gate_verify(const struct pst_gate *gate)
{
    uint32_t in_state[PST_TICKET_STATE_COUNT] = {0};
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < gate->slab.max; i++) {
        const struct pst_ticket *t = &gate->slab.tickets[i];

        in_state[t->state]++;
        bytes += t->bytes_reserved;
        PST_ASSERT(pst_heap_contains(&gate->first_byte, i) == (t->state == PST_TICKET_RUNNING));
    }
    for (int state = PST_TICKET_OFFERED; state < PST_TICKET_STATE_COUNT; state++)
        PST_ASSERT(gate->slab.in_state[state] == in_state[state]);
    PST_ASSERT(gate->slab.alive == gate->slab.max - in_state[PST_TICKET_FREE]);
    PST_ASSERT(gate->offers == gate->finished + gate->slab.alive);
    PST_ASSERT(gate->bodies.reserved == bytes);
    pst_heap_verify(&gate->first_byte);
    pst_fleet_verify(gate->fleet);
    for (uint32_t p = 0; p < gate->config.pools_count; p++)
        verify_pool(gate, &gate->pools[p]);
}

const char *pst_outcome_name(enum pst_outcome outcome)
{
    static const char *const names[PST_OUTCOME_COUNT] = {
        [PST_OUTCOME_DONE] = "done",       [PST_OUTCOME_REFUSED] = "refused",
        [PST_OUTCOME_EXPIRED] = "expired", [PST_OUTCOME_CANCELLED] = "cancelled",
        [PST_OUTCOME_FAILED] = "failed",
    };

    PST_ASSERT((unsigned)outcome < PST_OUTCOME_COUNT);
    return names[outcome];
}

const char *pst_reason_name(enum pst_reason reason)
{
    static const char *const names[PST_REASON_COUNT] = {
        [PST_REASON_NONE] = "none",
        [PST_REASON_QUEUE_FULL] = "queue_full",
        [PST_REASON_KV_FULL] = "kv_full",
        [PST_REASON_BYTES_FULL] = "bytes_full",
        [PST_REASON_SLAB_FULL] = "slab_full",
        [PST_REASON_TTL] = "ttl",
        [PST_REASON_NO_REPLICA] = "no_replica",
        [PST_REASON_DRAINING] = "draining",
        [PST_REASON_CLIENT] = "client",
        [PST_REASON_PASSED_ON] = "passed_on",
        [PST_REASON_UPSTREAM_RESET] = "upstream_reset",
        [PST_REASON_UPSTREAM_STALL] = "upstream_stall",
        [PST_REASON_FIRST_BYTE] = "first_byte",
        [PST_REASON_REPLICA_DIED] = "replica_died",
        [PST_REASON_BROKEN] = "broken",
    };

    PST_ASSERT((unsigned)reason < PST_REASON_COUNT);
    return names[reason];
}

const char *pst_end_name(enum pst_end end)
{
    static const char *const names[PST_END_COUNT] = {
        [PST_END_DONE] = "done",
        [PST_END_REFUSED] = "refused",
        [PST_END_LOADING] = "loading",
        [PST_END_RESET_REUSED] = "reset_reused",
        [PST_END_FULL] = "full",
        [PST_END_ERROR_STATUS] = "error_status",
        [PST_END_BAD_FRAMING] = "bad_framing",
        [PST_END_RESET] = "reset",
        [PST_END_CUT] = "cut",
        [PST_END_ERROR_EVENT] = "error_event",
        [PST_END_STALL] = "stall",
    };

    PST_ASSERT((unsigned)end < PST_END_COUNT);
    return names[end];
}

const char *pst_length_name(enum pst_length length)
{
    static const char *const names[PST_LENGTH_COUNT] = {"short", "mid", "long"};

    PST_ASSERT((unsigned)length < PST_LENGTH_COUNT);
    return names[length];
}

const char *pst_replica_state_name(enum pst_replica_state state)
{
    static const char *const names[PST_REPLICA_STATE_COUNT] = {
        [PST_REPLICA_GONE] = "gone",         [PST_REPLICA_STARTING] = "starting",
        [PST_REPLICA_LOADING] = "loading",   [PST_REPLICA_SUSPECT] = "suspect",
        [PST_REPLICA_WARM] = "warm",         [PST_REPLICA_READY] = "ready",
        [PST_REPLICA_DRAINING] = "draining",
    };

    PST_ASSERT((unsigned)state < PST_REPLICA_STATE_COUNT);
    return names[state];
}
