/*
 * run_wire.c - what the keeper tells the gateway, and is told by it; see run.h and wire.h.
 *
 * On the wire a replica is its key; here it is an index. When the wire ends, nobody is left who could start
 * an engine, watch a pod or read a configuration: the gateway serves what it has, drains and ends.
 */
#include "base/log.h"
#include "cmd/run.h"

static void received(void *user, const struct pst_wire_message *message)
{
    struct pst_run *run = user;

    switch ((enum pst_wire_kind)message->kind) {
    case PST_WIRE_REPLICA:
        pst_run_found(run, &message->u.replica);
        return;
    case PST_WIRE_EVENT:
        pst_run_found_event(run, message->key, &message->u.event);
        return;
    case PST_WIRE_PAST:
        pst_run_measure_past(run, &message->u.past);
        return;
    case PST_WIRE_CONFIG:
        pst_run_reloaded(run, message);
        return;
    case PST_WIRE_SYNCED:
        pst_run_capacity_first(run); /* each pool's own SYNCED came as an EVENT before */
        return;
    case PST_WIRE_ACTION: /* the keeper's to hear */
    case PST_WIRE_RELOAD:
    case PST_WIRE_COUNT:
        return;
    }
}

static void ended(void *user)
{
    struct pst_run *run = user;

    pst_say(PST_LOG_ERROR, "the process that keeps engines and credentials is gone: drains");
    pst_run_drain_exit(run);
}

int pst_run_wire_new(struct pst_run *run, int fd)
{
    return pst_wire_new(run->loop, fd, received, ended, run, &run->wire);
}

/* It would be stopped with us before it is of use. */
static void refuse_start(struct pst_run *run, const struct pst_scaler_action *action)
{
    struct pst_scaler_event event = {
        .now = pst_loop_now(run->loop), .kind = PST_SCALER_RESULT, .pool = action->pool};

    event.u.result.action = PST_SCALER_START;
    event.u.result.error = PST_RESULT_FAILED;
    event.u.result.op = action->u.start.op;
    pst_capacity_event(run->capacity, &event);
}

void pst_run_wire_act(struct pst_run *run, const struct pst_scaler_action *action)
{
    struct pst_wire_message message = {.kind = PST_WIRE_ACTION, .fd = -1, .u.action = *action};

    switch ((enum pst_scaler_action_kind)action->kind) {
    case PST_SCALER_DRAIN: /* the gate's */
    case PST_SCALER_DECISION:
    case PST_SCALER_ACTION_COUNT:
        return;
    case PST_SCALER_PROMOTE:
    case PST_SCALER_CANCEL:
    case PST_SCALER_MARK:
    case PST_SCALER_UNDRAIN:
    case PST_SCALER_REMOVE:
        message.key = run->found.keys[action->u.replica.replica];
        if (message.key == 0 || (message.key & PST_WIRE_KEY_LISTED) != 0)
            return; /* gone, and soon heard of; or nobody's to stop */
        break;
    case PST_SCALER_START:
        if (run->drain.exits) {
            refuse_start(run, action);
            return;
        }
        break;
    }
    if (run->wire != NULL)
        (void)pst_wire_send(run->wire, &message); /* ended() follows when it fails */
}

bool pst_run_wire_reload(struct pst_run *run)
{
    const struct pst_wire_message message = {.kind = PST_WIRE_RELOAD, .fd = -1};

    return pst_wire_send(run->wire, &message) == PST_OK;
}
