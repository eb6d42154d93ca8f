/*
 * run_found.c - replicas that a source tells of become the gateway's, the gate's and the scaler's; see
 * run.h.
 *
 * The scaler hears first of a new one: it may be the answer to a START for the warm pool, and the gate must
 * know that before it is ready.
 */
#include "base/log.h"
#include "cmd/run.h"
#include "core/num.h"

uint32_t pst_run_found_key(struct pst_run *run)
{
    if (++run->found.key_next == PST_WIRE_KEY_LISTED)
        run->found.key_next = 1; /* the first one left long ago */
    return run->found.key_next | PST_WIRE_KEY_LISTED;
}

bool pst_run_found_index(const struct pst_run *run, uint32_t key, uint16_t *ret_replica)
{
    for (uint16_t i = 0; key != 0 && i < PST_REPLICAS_MAX; i++) {
        if (run->found.keys[i] == key) {
            *ret_replica = i;
            return true;
        }
    }
    return false;
}

static void tell_scaler(struct pst_run *run, uint16_t index, const struct pst_wire_replica *r,
                        enum pst_replica_state state)
{
    struct pst_scaler_event event = {
        .now = pst_loop_now(run->loop), .kind = PST_SCALER_REPLICA, .pool = r->pool};

    event.u.replica.replica = index;
    event.u.replica.state = (uint8_t)state;
    event.u.replica.crashed = state == PST_REPLICA_GONE;
    event.u.replica.op = r->op;
    event.u.replica.revision = r->revision;
    event.u.replica.warm = r->warm;
    pst_capacity_event(run->capacity, &event);
}

static void lose(struct pst_run *run, uint16_t index, enum pst_cause cause)
{
    if (cause == PST_CAUSE_CRASH)
        pst_capacity_crashed(run->capacity, index);
    pst_gateway_lost(run->gateway, index, cause);
    run->found.keys[index] = 0;
}

/* Under a name that is new, or that another had before. False: there is no room for it. */
static bool enter(struct pst_run *run, const struct pst_wire_replica *r, uint16_t *ret_replica)
{
    uint16_t index;

    if (pst_registry_replica_add(&run->registry, r->pool, r->name, pst_loop_now(run->loop),
                                 &index) != PST_OK)
        return false;
    if (run->found.keys[index] != 0)
        lose(run, index, PST_CAUSE_REMOVED);
    run->found.keys[index] = r->key;
    pst_capacity_replica(run->capacity, index, r->pool, r->op, r->revision);
    tell_scaler(run, index, r, (enum pst_replica_state)r->state);
    *ret_replica = index;
    return true;
}

/* It cannot be used: its START has failed, if it had one. */
static void refuse(struct pst_run *run, const struct pst_wire_replica *r)
{
    struct pst_scaler_event event = {
        .now = pst_loop_now(run->loop), .kind = PST_SCALER_RESULT, .pool = r->pool};

    pst_say(PST_LOG_ERROR, "replica %s: there is no room for it, or its address is none", r->name);
    event.u.result.action = PST_SCALER_START;
    event.u.result.error = PST_RESULT_FAILED;
    event.u.result.op = r->op;
    if (r->op != 0)
        pst_capacity_event(run->capacity, &event);
}

static bool take(struct pst_run *run, const struct pst_wire_replica *r, uint16_t *ret_replica)
{
    struct pst_gateway_found found = {
        .pool = r->pool,
        .name = r->name,
        .url = r->url[0] == '\0' ? NULL : r->url,
        .revision = r->revision,
        .by_address = (r->key & PST_WIRE_KEY_LISTED) != 0,
    };
    uint16_t index;

    if (r->pool >= run->config->pools_count)
        return false;
    if (!pst_run_found_index(run, r->key, &index) && !enter(run, r, &index)) {
        refuse(run, r);
        return false;
    }
    found.warm = r->warm != 0 || pst_scaler_is_for_warm(pst_capacity_scaler(run->capacity), index);
    if (pst_gateway_found(run->gateway, &found, ret_replica) == PST_OK)
        return true;
    tell_scaler(run, index, r, PST_REPLICA_GONE);
    lose(run, index, PST_CAUSE_REMOVED);
    refuse(run, r);
    return false;
}

/* One that we did not know, or that has drained, takes no work as it is. */
static void leave(struct pst_run *run, const struct pst_wire_replica *r)
{
    pst_ns span = r->until;
    uint16_t index;

    if (!pst_run_found_index(run, r->key, &index))
        return;
    if (span == 0)
        span = run->config->scaler.pools[run->registry.replicas[index].pool].drain_deadline;
    pst_capacity_going(run->capacity, index);
    pst_gateway_leaves(run->gateway, index, pst_add_sat(pst_loop_now(run->loop), span));
}

void pst_run_found(struct pst_run *run, const struct pst_wire_replica *r)
{
    uint16_t index;

    switch ((enum pst_replica_state)r->state) {
    case PST_REPLICA_STARTING:
    case PST_REPLICA_LOADING:
        (void)take(run, r, &index);
        return;
    case PST_REPLICA_DRAINING:
        leave(run, r);
        return;
    case PST_REPLICA_GONE:
        if (pst_run_found_index(run, r->key, &index))
            lose(run, index, (enum pst_cause)r->cause);
        return;
    case PST_REPLICA_SUSPECT:
    case PST_REPLICA_WARM:
    case PST_REPLICA_READY:
    case PST_REPLICA_STATE_COUNT:
        return; /* the gate's own judgement */
    }
}

void pst_run_found_event(struct pst_run *run, uint32_t key, const struct pst_scaler_event *given)
{
    struct pst_scaler_event event = *given;

    event.now = pst_loop_now(run->loop);
    if (event.pool >= run->config->pools_count)
        return;
    if (event.kind == PST_SCALER_RESULT && event.u.result.action != PST_SCALER_START &&
        !pst_run_found_index(run, key, &event.u.result.replica))
        return; /* it has gone meanwhile */
    pst_capacity_event(run->capacity, &event);
}
