/*
 * life.c - what became of replicas: news of them, results of what was asked for, and what is overdue.
 *
 *   ask --named--> STARTING --ready--> SERVING <--undrain-- DRAINING --idle | deadline--> REMOVED
 *    |                | \--loaded--> WARM --promote--> PROMOTED --ready--> SERVING
 *    |                +--cancel | too late--> CANCELLED
 *    +--failed: forgotten              every life ends when the replica is GONE; one that others
 *                                      drain is AWAY until it is there again
 */
#include "core/num.h"
#include "core/scaler_internal.h"

void pst_life_enter(struct pst_scaler *scaler, uint16_t replica, enum pst_life life)
{
    struct pst_scaler_replica *r = &scaler->replicas[replica];
    bool keeps =
        life == PST_LIFE_STARTING || life == PST_LIFE_CANCELLED || life == PST_LIFE_REMOVED;

    r->life = (uint8_t)life;
    r->since = scaler->now;
    r->is_warm = life == PST_LIFE_WARM || (keeps && r->is_warm);
}

void pst_life_remove_ask(struct pst_scaler *scaler, uint32_t index)
{
    scaler->asks_count--;
    for (; index < scaler->asks_count; index++)
        scaler->asks[index] = scaler->asks[index + 1];
}

void pst_life_want_ask(struct pst_scaler *scaler, uint32_t index, bool wanted)
{
    if (!wanted && pst_seat_is_marked(&scaler->seats[scaler->asks[index].pool]))
        pst_life_remove_ask(scaler, index);
    else
        scaler->asks[index].unwanted = !wanted;
}

static void mark(struct pst_scaler *scaler, uint16_t replica)
{
    scaler->replicas[replica].wants_mark = true;
    scaler->replicas[replica].mark_is_told = false;
    pst_scaler_say_replica(scaler, PST_SCALER_MARK, replica);
}

void pst_life_unmark(struct pst_scaler *scaler, uint16_t replica)
{
    scaler->replicas[replica].wants_mark = false;
    pst_scaler_say_replica(scaler, PST_SCALER_UNDRAIN, replica);
}

static void leave(struct pst_scaler *scaler, uint16_t replica)
{
    pst_scaler_say_replica(scaler, PST_SCALER_REMOVE, replica);
    pst_life_enter(scaler, replica, PST_LIFE_REMOVED);
}

static void mark_and_drain(struct pst_scaler *scaler, uint16_t replica)
{
    struct pst_scaler_replica *r = &scaler->replicas[replica];

    r->until = pst_add_sat(scaler->now, scaler->seats[r->pool].config->drain_deadline);
    r->is_drained = false;
    mark(scaler, replica);
    pst_scaler_say_replica(scaler, PST_SCALER_DRAIN, replica);
}

void pst_life_drain(struct pst_scaler *scaler, uint16_t replica)
{
    mark_and_drain(scaler, replica);
    pst_life_enter(scaler, replica, PST_LIFE_DRAINING);
}

/*
 * A number that others keep falls when they see who is meant, and no sooner. Where they never will (the
 * right to mark is missing) they choose.
 */
static bool may_leave(const struct pst_scaler *scaler, const struct pst_scaler_replica *r)
{
    return r->mark_is_told || !pst_seat_is_marked(&scaler->seats[r->pool]);
}

static void leave_if_drained(struct pst_scaler *scaler, uint16_t replica)
{
    const struct pst_scaler_replica *r = &scaler->replicas[replica];

    if (r->life == PST_LIFE_DRAINING && r->is_drained && may_leave(scaler, r))
        leave(scaler, replica);
}

bool pst_life_retire(struct pst_scaler *scaler, uint16_t replica)
{
    const struct pst_scaler_replica *r = &scaler->replicas[replica];

    if (pst_seat_is_marked(&scaler->seats[r->pool]) && !r->wants_mark)
        mark(scaler, replica);
    if (!may_leave(scaler, r))
        return false;
    leave(scaler, replica);
    return true;
}

/* One that is not ready goes before any that is: nothing waits for its mark. */
void pst_life_cancel(struct pst_scaler *scaler, uint16_t replica)
{
    if (pst_seat_is_marked(&scaler->seats[scaler->replicas[replica].pool]))
        mark(scaler, replica);
    pst_scaler_say_replica(scaler, PST_SCALER_CANCEL, replica);
    pst_life_enter(scaler, replica, PST_LIFE_CANCELLED);
}

static void start_failed(struct pst_scaler *scaler, uint16_t pool, pst_ns asked_at, bool quota)
{
    pst_backoff_failed(&scaler->seats[pool].backoff, asked_at, quota, scaler->now);
}

/* Its own START, if it was ours: it is named from now on. */
static bool claim_ask(struct pst_scaler *scaler, uint32_t op, struct pst_scaler_ask *ret_ask)
{
    for (uint32_t i = 0; op != 0 && i < scaler->asks_count; i++) {
        if (scaler->asks[i].op == op) {
            *ret_ask = scaler->asks[i];
            pst_life_remove_ask(scaler, i);
            return true;
        }
    }
    return false;
}

static enum pst_life first_life(const struct pst_scaler_replica *r)
{
    if (r->going)
        return PST_LIFE_AWAY;
    switch ((enum pst_replica_state)r->state) {
    case PST_REPLICA_STARTING:
    case PST_REPLICA_LOADING:
        return PST_LIFE_STARTING;
    case PST_REPLICA_WARM:
        return PST_LIFE_WARM;
    case PST_REPLICA_SUSPECT:
    case PST_REPLICA_READY:
        return PST_LIFE_SERVING;
    case PST_REPLICA_DRAINING:
        return PST_LIFE_AWAY;
    case PST_REPLICA_GONE:
    case PST_REPLICA_STATE_COUNT:
        break;
    }
    return PST_LIFE_NONE;
}

/* A replica that was not known. */
static void appear(struct pst_scaler *scaler, const struct pst_scaler_event *event)
{
    uint16_t index = event->u.replica.replica;
    struct pst_scaler_replica *r = &scaler->replicas[index];
    struct pst_scaler_ask ask;

    *r = (struct pst_scaler_replica){
        .state = event->u.replica.state,
        .pool = event->pool,
        .op = event->u.replica.op,
        .revision = event->u.replica.revision,
        .inflight = event->u.replica.inflight,
        .going = event->u.replica.going != 0,
        .is_warm = event->u.replica.warm != 0,
        .born = scaler->now,
        /* What was there before us is older than it looks. */
        .birth_is_known = scaler->ticked && event->u.replica.state == PST_REPLICA_STARTING,
    };
    if (index >= scaler->replicas_top)
        scaler->replicas_top = index + 1u;
    if (!claim_ask(scaler, r->op, &ask) &&
        (first_life(r) == PST_LIFE_AWAY || !pst_number_claim(scaler, r->pool, &ask))) {
        pst_life_enter(scaler, index, first_life(r));
        return;
    }
    r->op = ask.op;
    r->born = ask.at;
    r->birth_is_known = true;
    r->is_warm = ask.warm;
    pst_life_enter(scaler, index, PST_LIFE_STARTING);
    pst_backoff_created(&scaler->seats[r->pool].backoff);
    if (ask.unwanted)
        pst_life_cancel(scaler, index);
}

/* It left in the place of one that was to leave: that one stays. */
static void keep_another(struct pst_scaler *scaler, uint16_t pool)
{
    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->life == PST_LIFE_REMOVED && r->pool == pool && !r->is_warm) {
            pst_life_enter(scaler, i, PST_LIFE_DRAINING);
            return;
        }
    }
}

static void vanish(struct pst_scaler *scaler, uint16_t index, bool crashed)
{
    struct pst_scaler_replica *r = &scaler->replicas[index];
    const struct pst_scaler_replica left = *r;

    if (r->life == PST_LIFE_STARTING && crashed)
        start_failed(scaler, r->pool, r->born, false);
    if (r->life == PST_LIFE_SERVING && !crashed && !pst_seat_is_marked(&scaler->seats[r->pool]))
        keep_another(scaler, r->pool);
    *r = (struct pst_scaler_replica){0};
    pst_number_left(scaler, &left);
    while (scaler->replicas_top > 0 &&
           scaler->replicas[scaler->replicas_top - 1].life == PST_LIFE_NONE)
        scaler->replicas_top--;
}

static void became_loaded(struct pst_scaler *scaler, uint16_t index, enum pst_life life)
{
    struct pst_scaler_replica *r = &scaler->replicas[index];
    struct pst_scaler_seat *seat = &scaler->seats[r->pool];

    if (r->life == PST_LIFE_PROMOTED)
        pst_starts_add(&seat->promotion, scaler->now - r->since);
    else if (r->life == PST_LIFE_STARTING && r->birth_is_known)
        pst_starts_add(&seat->cold, scaler->now - r->born);
    if (r->life != PST_LIFE_WARM)
        pst_backoff_succeeded(&seat->backoff);
    pst_life_enter(scaler, index, life);
}

/* It was there, and loads again: counted from now, but no start that could be measured. */
static void load_again(struct pst_scaler *scaler, uint16_t index)
{
    struct pst_scaler_replica *r = &scaler->replicas[index];

    r->birth_is_known = false;
    r->born = scaler->now;
    pst_life_enter(scaler, index, PST_LIFE_STARTING);
}

/* The state it is in now, for the life that it has. */
static void change(struct pst_scaler *scaler, uint16_t index, uint8_t from)
{
    struct pst_scaler_replica *r = &scaler->replicas[index];
    bool is_ready = r->state == PST_REPLICA_READY, is_away = r->state == PST_REPLICA_DRAINING;
    bool loads = r->state == PST_REPLICA_STARTING || r->state == PST_REPLICA_LOADING;

    switch ((enum pst_life)r->life) {
    case PST_LIFE_STARTING:
        if (is_away)
            pst_life_enter(scaler, index, PST_LIFE_AWAY);
        else if (is_ready || r->state == PST_REPLICA_WARM)
            became_loaded(scaler, index, is_ready ? PST_LIFE_SERVING : PST_LIFE_WARM);
        break;
    case PST_LIFE_WARM:
    case PST_LIFE_PROMOTED:
        if (is_away)
            pst_life_enter(scaler, index, PST_LIFE_AWAY);
        else if (is_ready)
            became_loaded(scaler, index, PST_LIFE_SERVING);
        else if (loads)
            load_again(scaler, index);
        else if (r->life == PST_LIFE_WARM &&
                 (r->state == PST_REPLICA_WARM) != (from == PST_REPLICA_WARM))
            r->since = scaler->now;
        break;
    case PST_LIFE_SERVING:
        if (is_away)
            pst_life_enter(scaler, index, PST_LIFE_AWAY);
        else if (r->state == PST_REPLICA_WARM) /* it was heard of first while it was suspect */
            pst_life_enter(scaler, index, PST_LIFE_WARM);
        else if (is_ready != (from == PST_REPLICA_READY))
            r->since = scaler->now;
        break;
    case PST_LIFE_AWAY:
        if (loads)
            load_again(scaler, index);
        else if (!is_away)
            pst_life_enter(scaler, index, first_life(r));
        break;
    case PST_LIFE_CANCELLED:
        if (is_ready && pst_seat_is_marked(&scaler->seats[r->pool])) {
            mark_and_drain(scaler, index); /* nobody stopped it: it must not begin to work */
            pst_life_enter(scaler, index, PST_LIFE_REMOVED);
        }
        break;
    case PST_LIFE_DRAINING: /* our word is newer than this news */
    case PST_LIFE_REMOVED:
    case PST_LIFE_NONE:
    case PST_LIFE_COUNT:
        break;
    }
}

/* Whatever it did: others end it, and it does not come back. */
static void begin_to_go(struct pst_scaler *scaler, uint16_t index)
{
    struct pst_scaler_replica *r = &scaler->replicas[index];
    const struct pst_scaler_replica left = *r;

    r->going = true;
    pst_life_enter(scaler, index, PST_LIFE_AWAY);
    pst_number_left(scaler, &left);
}

/* Its index has a new owner: that the old one is gone was not heard. */
static bool is_another(const struct pst_scaler_replica *r, const struct pst_scaler_event *event)
{
    bool is_newer = event->u.replica.op != 0 && (int32_t)(event->u.replica.op - r->op) > 0;

    return r->life != PST_LIFE_NONE && (r->pool != event->pool || is_newer);
}

void pst_life_told(struct pst_scaler *scaler, const struct pst_scaler_event *event)
{
    uint16_t index = event->u.replica.replica;
    struct pst_scaler_replica *r;
    uint8_t from;

    if (index >= scaler->config.replicas_max || event->u.replica.state >= PST_REPLICA_STATE_COUNT)
        return;
    r = &scaler->replicas[index];
    if (is_another(r, event))
        vanish(scaler, index, false);
    if (event->u.replica.state == PST_REPLICA_GONE) {
        struct pst_scaler_ask ask;

        if (r->life != PST_LIFE_NONE)
            vanish(scaler, index, event->u.replica.crashed != 0);
        else if (claim_ask(scaler, event->u.replica.op, &ask) && !ask.unwanted)
            start_failed(scaler, ask.pool, ask.at, false);
        return;
    }
    if (r->life == PST_LIFE_NONE) {
        appear(scaler, event);
        from = r->state;
    } else {
        from = r->state;
        r->state = event->u.replica.state;
        r->revision = event->u.replica.revision;
        r->inflight = event->u.replica.inflight;
    }
    if (event->u.replica.going && !r->going)
        begin_to_go(scaler, index);
    if (!r->going)
        change(scaler, index, from);
}

static void start_result(struct pst_scaler *scaler, const struct pst_scaler_event *event)
{
    bool quota = event->u.result.error == PST_RESULT_QUOTA;
    uint32_t op = event->u.result.op;
    struct pst_scaler_ask ask;

    if (event->u.result.error == PST_RESULT_OK || op == 0)
        return; /* it is named by REPLICA */
    if (claim_ask(scaler, op, &ask)) {
        if (!ask.unwanted)
            start_failed(scaler, ask.pool, ask.at, quota);
        return;
    }
    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->op == op && r->life == PST_LIFE_STARTING) {
            start_failed(scaler, r->pool, r->born, quota);
            pst_life_cancel(scaler, i);
            return;
        }
    }
}

void pst_life_result(struct pst_scaler *scaler, const struct pst_scaler_event *event)
{
    uint16_t index = event->u.result.replica;
    bool ok = event->u.result.error == PST_RESULT_OK;
    struct pst_scaler_replica *r;

    if (event->u.result.action == PST_SCALER_START) {
        start_result(scaler, event);
        return;
    }
    if (index >= scaler->replicas_top)
        return;
    r = &scaler->replicas[index];
    switch ((enum pst_scaler_action_kind)event->u.result.action) {
    case PST_SCALER_DRAIN:
        if (r->life != PST_LIFE_DRAINING || (!ok && event->u.result.error != PST_RESULT_DEADLINE))
            break; /* wanted again meanwhile; or not drained: its deadline decides */
        r->is_drained = true;
        leave_if_drained(scaler, index);
        break;
    case PST_SCALER_MARK:
        r->mark_is_told = r->wants_mark;
        leave_if_drained(scaler, index);
        break;
    case PST_SCALER_PROMOTE:
        if (r->life == PST_LIFE_PROMOTED && !ok) {
            start_failed(scaler, r->pool, r->since, false);
            pst_life_cancel(scaler, index);
        }
        break;
    case PST_SCALER_REMOVE:
        if (r->life == PST_LIFE_REMOVED && !ok && !r->is_warm)
            pst_life_enter(scaler, index, PST_LIFE_DRAINING); /* it stayed */
        break;
    case PST_SCALER_START:
    case PST_SCALER_CANCEL:
    case PST_SCALER_UNDRAIN:
    case PST_SCALER_DECISION:
    case PST_SCALER_ACTION_COUNT:
        break;
    }
}

/* Too late to be waited for; told to go for so long that it was not heard, or not the one that went. */
static void overdue_replica(struct pst_scaler *scaler, uint16_t index, pst_ns timeout)
{
    struct pst_scaler_replica *r = &scaler->replicas[index];
    pst_ns begin = r->life == PST_LIFE_STARTING ? r->born : r->since;
    pst_ns age = scaler->now - begin;
    /* A number that stands needs no saying again; who stayed in whose place is seen (scaler_number.c). */
    bool repeats = !pst_seat_is_marked(&scaler->seats[r->pool]);

    switch ((enum pst_life)r->life) {
    case PST_LIFE_STARTING:
    case PST_LIFE_PROMOTED:
        if (timeout == 0 || age < timeout)
            break;
        start_failed(scaler, r->pool, begin, false);
        pst_life_cancel(scaler, index);
        break;
    case PST_LIFE_CANCELLED:
        if (repeats && age >= PST_SCALER_PATIENCE)
            pst_life_cancel(scaler, index);
        break;
    case PST_LIFE_REMOVED:
        if (!repeats || age < PST_SCALER_PATIENCE)
            break;
        if (r->is_warm) {
            pst_scaler_say_replica(scaler, PST_SCALER_REMOVE, index);
            r->since = scaler->now;
        } else {
            pst_life_enter(scaler, index, PST_LIFE_DRAINING); /* it stayed */
        }
        break;
    case PST_LIFE_WARM:
        if (!pst_replica_is_loaded(r) && timeout != 0 && age >= timeout)
            pst_life_cancel(scaler, index); /* no start that failed: it was loaded */
        break;
    case PST_LIFE_NONE:
    case PST_LIFE_SERVING:
    case PST_LIFE_DRAINING:
    case PST_LIFE_AWAY:
    case PST_LIFE_COUNT:
        break;
    }
}

void pst_life_remove_drained(struct pst_scaler *scaler, uint16_t pool)
{
    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->pool != pool || r->life != PST_LIFE_DRAINING || scaler->now < r->until)
            continue;
        r->is_drained = true;
        leave_if_drained(scaler, i);
    }
}

/* A START that nobody answered fails like any other; for one that comes late after all it is kept a while. */
static void overdue_asks(struct pst_scaler *scaler, uint16_t pool, pst_ns timeout)
{
    for (uint32_t i = 0; i < scaler->asks_count;) {
        struct pst_scaler_ask *ask = &scaler->asks[i];
        pst_ns age = scaler->now - ask->at;

        if (ask->pool == pool && age >= timeout && !ask->unwanted) {
            start_failed(scaler, pool, ask->at, false);
            ask->unwanted = true;
        }
        if (ask->pool == pool && (age >= pst_mul_sat(timeout, 2) ||
                                  (ask->unwanted && pst_seat_is_marked(&scaler->seats[pool]))))
            pst_life_remove_ask(scaler, i);
        else
            i++;
    }
}

/* It does what we said, and nobody has told of it yet. */
static bool is_by_our_word(const struct pst_scaler_replica *r)
{
    return r->life == PST_LIFE_PROMOTED || r->life == PST_LIFE_DRAINING ||
           r->life == PST_LIFE_CANCELLED || r->life == PST_LIFE_REMOVED;
}

void pst_life_let_go(struct pst_scaler *scaler, uint16_t pool)
{
    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->pool == pool && is_by_our_word(r))
            pst_life_enter(scaler, i, first_life(r));
    }
    for (uint32_t i = scaler->asks_count; i-- > 0;) {
        if (scaler->asks[i].pool == pool)
            pst_life_remove_ask(scaler, i);
    }
}

void pst_life_overdue(struct pst_scaler *scaler, uint16_t pool)
{
    const struct pst_scaler_pool *config = scaler->seats[pool].config;

    if (!pst_seat_acts(&scaler->seats[pool]))
        return;
    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        if (scaler->replicas[i].life != PST_LIFE_NONE && scaler->replicas[i].pool == pool)
            overdue_replica(scaler, i, config->start_timeout);
    }
    if (config->start_timeout != 0)
        overdue_asks(scaler, pool, config->start_timeout);
}
