/* fleet_poll.c - what the gate is asked to do, at most one of each kind and replica; see fleet.h. */
#include "core/fleet_internal.h"

static void enqueue(struct pst_fleet *fleet, struct pst_replica *replica)
{
    if (replica->queued)
        return;
    replica->queued = true;
    replica->queue_next = PST_REPLICA_ALL;
    if (fleet->queue_first == PST_REPLICA_ALL)
        fleet->queue_first = replica->id;
    else
        fleet->replicas[fleet->queue_last].queue_next = replica->id;
    fleet->queue_last = replica->id;
}

void pst_fleet_say_check(struct pst_fleet *fleet, struct pst_replica *replica, enum pst_probe probe)
{
    replica->check_wanted = true;
    replica->check = (uint8_t)probe;
    enqueue(fleet, replica);
}

void pst_fleet_say_drained(struct pst_fleet *fleet, struct pst_replica *replica, bool complete,
                           uint32_t left)
{
    replica->drained_wanted = true;
    replica->drained_told = true;
    replica->drained_complete = complete;
    replica->drained_left = left;
    enqueue(fleet, replica);
}

void pst_fleet_say_state(struct pst_fleet *fleet, struct pst_replica *replica)
{
    enqueue(fleet, replica);
}

void pst_fleet_say_evict(struct pst_fleet *fleet, uint32_t index, enum pst_verdict verdict,
                         enum pst_reason reason)
{
    struct pst_fleet_attempt *attempt = &fleet->attempts[index];

    PST_ASSERT(!attempt->inflight && !attempt->evicted);
    attempt->evicted = true;
    attempt->verdict = (uint8_t)verdict;
    attempt->reason = (uint8_t)reason;
    attempt->next = PST_FLEET_NONE;
    attempt->previous = fleet->evict_last;
    if (fleet->evict_last == PST_FLEET_NONE)
        fleet->evict_first = index;
    else
        fleet->attempts[fleet->evict_last].next = index;
    fleet->evict_last = index;
}

void pst_fleet_unsay_evict(struct pst_fleet *fleet, uint32_t index)
{
    struct pst_fleet_attempt *attempt = &fleet->attempts[index];

    PST_ASSERT(attempt->evicted);
    if (attempt->previous == PST_FLEET_NONE)
        fleet->evict_first = attempt->next;
    else
        fleet->attempts[attempt->previous].next = attempt->next;
    if (attempt->next == PST_FLEET_NONE)
        fleet->evict_last = attempt->previous;
    else
        fleet->attempts[attempt->next].previous = attempt->previous;
    attempt->evicted = false;
}

/* The replica's next order; false: it has none left. */
static bool next_of(struct pst_replica *replica, struct pst_gate_action *ret_action)
{
    enum pst_replica_state shown = pst_replica_shown(replica);

    *ret_action = (struct pst_gate_action){0};
    if (shown != replica->told_state) {
        ret_action->kind = PST_ACTION_STATE;
        ret_action->u.state.replica = replica->id;
        ret_action->u.state.from = replica->told_state;
        ret_action->u.state.to = (uint8_t)shown;
        replica->told_state = (uint8_t)shown;
        return true;
    }
    if (replica->check_wanted) {
        ret_action->kind = PST_ACTION_CHECK;
        ret_action->u.check.replica = replica->id;
        ret_action->u.check.probe = replica->check;
        replica->check_wanted = false;
        return true;
    }
    if (replica->drained_wanted) {
        ret_action->kind = PST_ACTION_DRAINED;
        ret_action->u.drained.replica = replica->id;
        ret_action->u.drained.complete = replica->drained_complete;
        ret_action->u.drained.left = replica->drained_left;
        replica->drained_wanted = false;
        return true;
    }
    return false;
}

bool pst_fleet_has_orders(const struct pst_fleet *fleet)
{
    return fleet->evict_first != PST_FLEET_NONE || fleet->queue_first != PST_REPLICA_ALL;
}

bool pst_fleet_poll(struct pst_fleet *fleet, struct pst_fleet_order *ret_order)
{
    struct pst_fleet_order order = {.kind = PST_FLEET_ACTION};

    if (fleet->evict_first != PST_FLEET_NONE) {
        const struct pst_fleet_attempt *attempt = &fleet->attempts[fleet->evict_first];

        order.kind = PST_FLEET_EVICT;
        order.ticket_index = fleet->evict_first;
        order.verdict = attempt->verdict;
        order.reason = attempt->reason;
        pst_fleet_unsay_evict(fleet, fleet->evict_first);
        *ret_order = order;
        return true;
    }
    while (fleet->queue_first != PST_REPLICA_ALL) {
        struct pst_replica *replica = &fleet->replicas[fleet->queue_first];

        if (next_of(replica, &order.action)) {
            *ret_order = order;
            return true;
        }
        replica->queued = false;
        fleet->queue_first = replica->queue_next;
    }
    return false;
}
