/* capacity.c - see capacity.h. */
#include "drive/capacity.h"

#include <stdlib.h>
#include <string.h>

#include "core/num.h"
#include "drive/inbox.h"
#include "drive/recorder.h"

/* Who a replica is, beside what the gate can say of it. */
struct who {
    bool known; /* the scaler was told of it */
    bool going, crashed;
    uint16_t pool;
    uint32_t op, revision;
};

/* The newest decisions of a pool: a ring. */
struct kept {
    struct pst_capacity_decision ring[PST_CAPACITY_KEPT];
    uint32_t next, count;
};

struct pst_capacity {
    struct pst_scaler *scaler;
    struct pst_drive *drive;
    struct pst_recorder *recorder; /* the drive's; NULL: none */
    struct pst_capacity_handlers handlers;
    bool handled; /* handlers are set */
    bool stepping;
    pst_ns now;
    pst_ns wall_at;   /* when wall_ns was read */
    uint64_t wall_ns; /* 0: not known */
    uint32_t pools_count, replicas_max;
    struct pst_drive_inbox inbox;
    struct pst_observer observer;
    struct who who[PST_REPLICAS_MAX];
    struct kept kept[PST_POOLS_MAX];
};

static void push(struct pst_capacity *capacity, const struct pst_scaler_event *event)
{
    pst_drive_inbox_push(&capacity->inbox, event, sizeof *event);
}

static struct pst_scaler_event event_of(enum pst_scaler_event_kind kind, uint16_t pool, pst_ns now)
{
    struct pst_scaler_event event;

    memset(&event, 0, sizeof event); /* recordings compare bytes */
    event.now = now;
    event.kind = (uint8_t)kind;
    event.pool = pool;
    return event;
}

static void result(struct pst_capacity *capacity, uint16_t replica, uint16_t pool,
                   enum pst_scaler_action_kind action, enum pst_result error)
{
    struct pst_scaler_event event = event_of(PST_SCALER_RESULT, pool, capacity->now);

    event.u.result.action = (uint8_t)action;
    event.u.result.error = (uint8_t)error;
    event.u.result.replica = replica;
    push(capacity, &event);
}

static struct pst_gate_event gate_event(enum pst_gate_event_kind kind, pst_ns now)
{
    return (struct pst_gate_event){.now = now, .kind = (uint8_t)kind};
}

static void drain(struct pst_capacity *capacity, const struct pst_scaler_action *action)
{
    struct pst_gate_event event = gate_event(PST_EVENT_DRAIN, capacity->now);

    event.u.drain.replica = action->u.replica.replica;
    event.u.drain.until = action->u.replica.until;
    pst_drive_event(capacity->drive, &event);
}

static void undrain(struct pst_capacity *capacity, uint16_t replica)
{
    struct pst_gate_event event = gate_event(PST_EVENT_UNDRAIN, capacity->now);

    event.u.undrain.replica = replica;
    pst_drive_event(capacity->drive, &event);
}

/* One that is not loaded any more cannot be: the scaler takes it for a start that failed. */
static void promote(struct pst_capacity *capacity, const struct pst_scaler_action *action)
{
    struct pst_gate_event event = gate_event(PST_EVENT_PROMOTE, capacity->now);
    struct pst_gate_replica_view view;
    uint16_t replica = action->u.replica.replica;
    bool can = pst_gate_replica_view(pst_drive_gate(capacity->drive), replica, &view) &&
               (view.state == PST_REPLICA_WARM || view.state == PST_REPLICA_READY);

    event.u.promote.replica = replica;
    if (can)
        pst_drive_event(capacity->drive, &event);
    result(capacity, replica, action->pool, PST_SCALER_PROMOTE,
           can ? PST_RESULT_OK : PST_RESULT_FAILED);
}

static void decided(struct pst_capacity *capacity, const struct pst_scaler_action *action)
{
    struct kept *kept = &capacity->kept[action->pool];
    struct pst_capacity_decision *decision = &kept->ring[kept->next];

    kept->next = (kept->next + 1) % PST_CAPACITY_KEPT;
    kept->count += kept->count < PST_CAPACITY_KEPT;
    *decision = (struct pst_capacity_decision){.at = capacity->now, .action = *action};
    pst_scaler_inputs(capacity->scaler, action->pool, capacity->now, &decision->inputs);
    if (capacity->wall_ns != 0)
        decision->wall_ns = capacity->wall_ns + pst_sub_sat(capacity->now, capacity->wall_at);
    capacity->handlers.decided(capacity->handlers.user, decision);
}

static void hand_out(struct pst_capacity *capacity, const struct pst_scaler_action *action)
{
    switch ((enum pst_scaler_action_kind)action->kind) {
    case PST_SCALER_DRAIN:
        drain(capacity, action);
        break;
    case PST_SCALER_UNDRAIN:
        undrain(capacity, action->u.replica.replica);
        break;
    case PST_SCALER_PROMOTE:
        promote(capacity, action);
        break;
    case PST_SCALER_DECISION:
        decided(capacity, action);
        break;
    case PST_SCALER_START: /* act()'s alone */
    case PST_SCALER_CANCEL:
    case PST_SCALER_MARK:
    case PST_SCALER_REMOVE:
        break;
    case PST_SCALER_ACTION_COUNT:
        PST_ASSERT(!"an action of a known kind");
    }
    capacity->handlers.act(capacity->handlers.user, action);
}

/* All that the scaler wants done now. */
static void act(struct pst_capacity *capacity)
{
    struct pst_scaler_action action;

    while (pst_scaler_poll(capacity->scaler, &action)) {
        if (capacity->recorder != NULL)
            pst_recorder_scaler_action(capacity->recorder, &action);
        hand_out(capacity, &action);
    }
}

/* Steps until nothing waits. What handlers, and the gate behind them, cause comes through the inbox. */
static void pump(struct pst_capacity *capacity)
{
    struct pst_scaler_event event;

    if (capacity->stepping || !capacity->handled)
        return;
    capacity->stepping = true;
    while (pst_drive_inbox_pop(&capacity->inbox, &event, sizeof event)) {
        event.now = capacity->now = pst_max_u64(capacity->now, event.now);
        if (capacity->recorder != NULL)
            pst_recorder_scaler_event(capacity->recorder, &event);
        pst_scaler_step(capacity->scaler, &event);
        act(capacity);
    }
    capacity->stepping = false;
    capacity->handlers.settled(capacity->handlers.user, pst_scaler_deadline(capacity->scaler));
}

static void take_sizes(struct pst_capacity *capacity, const struct pst_scaler_config *config)
{
    capacity->pools_count = config->pools_count;
    capacity->replicas_max = config->replicas_max;
}

int pst_capacity_new(const struct pst_scaler_config *config, struct pst_drive *drive,
                     struct pst_capacity **ret_capacity)
{
    struct pst_capacity *capacity = calloc(1, sizeof *capacity);
    int rc;

    if (capacity == NULL)
        return PST_E_NOMEM;
    capacity->drive = drive;
    take_sizes(capacity, config);
    rc = pst_scaler_new(config, &capacity->scaler);
    if (rc != PST_OK) {
        pst_capacity_free(capacity);
        return rc;
    }
    capacity->recorder = pst_drive_recorder(drive);
    if (capacity->recorder != NULL)
        pst_recorder_scaler_config(capacity->recorder, config);
    *ret_capacity = capacity;
    return PST_OK;
}

void pst_capacity_free(struct pst_capacity *capacity)
{
    if (capacity == NULL)
        return;
    pst_scaler_free(capacity->scaler);
    pst_drive_inbox_done(&capacity->inbox);
    free(capacity);
}

void pst_capacity_handlers(struct pst_capacity *capacity,
                           const struct pst_capacity_handlers *handlers)
{
    capacity->handlers = *handlers;
    capacity->handled = true;
    pump(capacity);
}

int pst_capacity_reconfigure(struct pst_capacity *capacity, const struct pst_scaler_config *config)
{
    int rc;

    PST_ASSERT(!capacity->stepping && capacity->handled);
    rc = pst_scaler_reconfigure(capacity->scaler, config);
    if (rc != PST_OK)
        return rc;
    take_sizes(capacity, config);
    if (capacity->recorder != NULL)
        pst_recorder_scaler_config(capacity->recorder, config);
    capacity->stepping = true;
    act(capacity);
    capacity->stepping = false;
    pump(capacity);
    return PST_OK;
}

static void observe_pools(struct pst_capacity *capacity, pst_ns now)
{
    struct pst_scaler_event events[PST_CLASSES_MAX + 1];
    const struct pst_gate *gate = pst_drive_gate(capacity->drive);

    for (uint16_t p = 0; p < capacity->pools_count; p++) {
        uint32_t count = pst_observe(&capacity->observer, gate, p, now, events);

        for (uint32_t i = 0; i < count; i++)
            push(capacity, &events[i]);
    }
}

/* Tells what the gate says of a replica now; of one that it does not know, that it is gone. */
static void tell_replica(struct pst_capacity *capacity, uint16_t replica, pst_ns now)
{
    struct who *who = &capacity->who[replica];
    struct pst_scaler_event event;
    struct pst_gate_replica_view view = {
        .pool = who->pool, .state = PST_REPLICA_GONE, .revision = who->revision};

    if (!pst_gate_replica_view(pst_drive_gate(capacity->drive), replica, &view) && !who->known)
        return;
    event = event_of(PST_SCALER_REPLICA, view.pool, now);
    event.u.replica.replica = replica;
    event.u.replica.state = view.state;
    event.u.replica.op = who->op;
    event.u.replica.revision = view.revision;
    event.u.replica.inflight = view.inflight;
    event.u.replica.going = who->going;
    if (view.state == PST_REPLICA_GONE) {
        event.u.replica.crashed = who->crashed;
        *who = (struct who){.known = false}; /* the index may be another's next */
    } else {
        who->known = true;
        who->pool = view.pool;
        who->revision = view.revision;
    }
    push(capacity, &event);
}

void pst_capacity_tick(struct pst_capacity *capacity, pst_ns now, uint64_t wall_ns)
{
    struct pst_scaler_event event = event_of(PST_SCALER_TICK, 0, now);

    capacity->wall_ns = wall_ns;
    capacity->wall_at = now;
    observe_pools(capacity, now);
    for (uint16_t r = 0; r < capacity->replicas_max; r++)
        tell_replica(capacity, r, now);
    event.u.tick.wall_s = wall_ns / PST_S;
    push(capacity, &event);
    pump(capacity);
}

void pst_capacity_event(struct pst_capacity *capacity, const struct pst_scaler_event *event)
{
    push(capacity, event);
    pump(capacity);
}

void pst_capacity_fleet_action(struct pst_capacity *capacity, const struct pst_gate_action *action,
                               pst_ns now)
{
    struct pst_scaler_event wake;

    capacity->now = pst_max_u64(capacity->now, now);
    switch ((enum pst_gate_action_kind)action->kind) {
    case PST_ACTION_STATE:
        tell_replica(capacity, action->u.state.replica, now);
        break;
    case PST_ACTION_DRAINED:
        if (action->u.drained.replica == PST_REPLICA_ALL)
            return;
        result(capacity, action->u.drained.replica, capacity->who[action->u.drained.replica].pool,
               PST_SCALER_DRAIN, action->u.drained.complete ? PST_RESULT_OK : PST_RESULT_DEADLINE);
        break;
    case PST_ACTION_WAKE:
        wake = event_of(PST_SCALER_WAKE, action->u.wake.pool, now);
        push(capacity, &wake);
        break;
    case PST_ACTION_CONTINUE:
    case PST_ACTION_PAUSE:
    case PST_ACTION_DISPATCH:
    case PST_ACTION_CLOSE:
    case PST_ACTION_FINISH:
    case PST_ACTION_CHECK:
    case PST_ACTION_COUNT:
        return;
    }
    pump(capacity);
}

void pst_capacity_replica(struct pst_capacity *capacity, uint16_t replica, uint16_t pool,
                          uint32_t op, uint32_t revision)
{
    struct who *who = &capacity->who[replica];

    who->pool = pool;
    who->op = op;
    who->revision = revision;
    who->going = who->crashed = false;
}

void pst_capacity_going(struct pst_capacity *capacity, uint16_t replica)
{
    capacity->who[replica].going = true;
}

void pst_capacity_crashed(struct pst_capacity *capacity, uint16_t replica)
{
    capacity->who[replica].crashed = true;
}

const struct pst_scaler *pst_capacity_scaler(const struct pst_capacity *capacity)
{
    return capacity->scaler;
}

bool pst_capacity_decision(const struct pst_capacity *capacity, uint16_t pool, uint32_t index,
                           struct pst_capacity_decision *ret_decision)
{
    const struct kept *kept;

    if (pool >= capacity->pools_count)
        return false;
    kept = &capacity->kept[pool];
    if (index >= kept->count)
        return false;
    *ret_decision = kept->ring[(kept->next + PST_CAPACITY_KEPT - 1 - index) % PST_CAPACITY_KEPT];
    return true;
}
