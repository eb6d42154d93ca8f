/* scaler.c - see scaler.h: events in, actions out. */
#include "core/scaler.h"

#include "core/num.h"
#include "core/scaler_internal.h"

struct pst_scaler_action *pst_scaler_say(struct pst_scaler *scaler,
                                         enum pst_scaler_action_kind kind, uint32_t pool)
{
    struct pst_scaler_action *action;

    PST_ASSERT(scaler->outbox_count < PST_SCALER_OUTBOX_MAX);
    action = &scaler->outbox[(scaler->outbox_head + scaler->outbox_count) % PST_SCALER_OUTBOX_MAX];
    scaler->outbox_count++;
    *action = (struct pst_scaler_action){.kind = (uint8_t)kind, .pool = (uint16_t)pool};
    return action;
}

void pst_scaler_say_replica(struct pst_scaler *scaler, enum pst_scaler_action_kind kind,
                            uint16_t replica)
{
    const struct pst_scaler_replica *r = &scaler->replicas[replica];
    struct pst_scaler_action *action = pst_scaler_say(scaler, kind, r->pool);

    action->u.replica.replica = replica;
    if (kind == PST_SCALER_DRAIN)
        action->u.replica.until = r->until;
}

static void tick(struct pst_scaler *scaler, uint64_t wall_s)
{
    scaler->ticked = true;
    scaler->last_tick = scaler->now;
    for (uint16_t p = 0; p < scaler->config.pools_count; p++) {
        struct pst_scaler_seat *seat = &scaler->seats[p];
        struct pst_census census;

        pst_life_overdue(scaler, p);
        pst_census(scaler, p, &census);
        pst_cost_tick(&seat->cost, scaler->now, wall_s, pst_census_running(&census));
        pst_demand_tick(seat->demand, scaler->now, pst_census_start_time(seat), seat->observed);
        if (!pst_seat_waits(seat))
            pst_scaler_decide(scaler, p);
        seat->observed = false;
        seat->busy = false;
    }
}

static void observe(struct pst_scaler *scaler, struct pst_scaler_event event)
{
    struct pst_scaler_seat *seat = &scaler->seats[event.pool];

    if (event.kind == PST_SCALER_OBSERVE_POOL) {
        event.class_ = 0; /* of no class */
        seat->busy |= event.u.observe_pool.tickets != 0;
        seat->observed = true;
        seat->observed_at = scaler->now;
    } else if (event.class_ >= scaler->config.classes_count) {
        return;
    } else if (event.kind == PST_SCALER_OBSERVE_CLASS) {
        seat->busy |= event.u.observe_class.arrived > 0 || event.u.observe_class.queued > 0 ||
                      event.u.observe_class.inflight > 0;
    }
    pst_demand_observe(seat->demand, &event);
}

static void set_floor(struct pst_scaler *scaler, const struct pst_scaler_event *event)
{
    struct pst_floor_span span = {event->u.floor.from, event->u.floor.until,
                                  event->u.floor.replicas, event->u.floor.source};

    if (span.source < PST_FLOOR_COUNT)
        pst_floors_set(&scaler->seats[event->pool].floors, &span, scaler->now);
}

void pst_scaler_step(struct pst_scaler *scaler, const struct pst_scaler_event *event)
{
    struct pst_scaler_seat *seat;

    PST_ASSERT(scaler->outbox_count == 0); /* poll first */
    scaler->now = pst_max_u64(scaler->now, event->now);
    if (event->kind == PST_SCALER_TICK) {
        tick(scaler, event->u.tick.wall_s);
        return;
    }
    if (event->kind == PST_SCALER_RESULT) {
        pst_life_result(scaler, event);
        return;
    }
    if (event->pool >= scaler->config.pools_count)
        return; /* a pool that is not ours to know */
    seat = &scaler->seats[event->pool];
    switch ((enum pst_scaler_event_kind)event->kind) {
    case PST_SCALER_OBSERVE_CLASS:
    case PST_SCALER_OBSERVE_POOL:
    case PST_SCALER_HISTORY:
        observe(scaler, *event);
        break;
    case PST_SCALER_REPLICA:
        pst_life_told(scaler, event);
        break;
    case PST_SCALER_SIGNAL:
        if (event->u.signal.kind < PST_SIGNAL_COUNT)
            pst_signals_tell(&seat->signals, (enum pst_signal)event->u.signal.kind,
                             event->u.signal.value, event->u.signal.age, scaler->now);
        break;
    case PST_SCALER_FLOOR:
        set_floor(scaler, event);
        break;
    case PST_SCALER_SCALE:
        if (!seat->decided || !pst_seat_is_kept(seat))
            seat->told = event->u.scale.replicas;
        break;
    case PST_SCALER_WAKE:
        seat->busy = true;
        if (seat->decided) /* else with its first TICK */
            pst_scaler_decide(scaler, event->pool);
        break;
    case PST_SCALER_SYNCED:
        seat->synced = true;
        break;
    case PST_SCALER_TICK:
    case PST_SCALER_RESULT:
    case PST_SCALER_EVENT_COUNT:
        break;
    }
}

bool pst_scaler_poll(struct pst_scaler *scaler, struct pst_scaler_action *ret_action)
{
    if (scaler->outbox_count == 0)
        return false;
    *ret_action = scaler->outbox[scaler->outbox_head];
    scaler->outbox_head = (scaler->outbox_head + 1) % PST_SCALER_OUTBOX_MAX;
    scaler->outbox_count--;
    return true;
}

pst_ns pst_scaler_deadline(const struct pst_scaler *scaler)
{
    return scaler->ticked ? pst_add_sat(scaler->last_tick, PST_SCALER_PERIOD) : PST_NEVER;
}

bool pst_scaler_decision(const struct pst_scaler *scaler, uint16_t pool,
                         struct pst_scaler_action *ret_decision)
{
    if (pool >= scaler->config.pools_count || !scaler->seats[pool].decided)
        return false;
    *ret_decision = scaler->seats[pool].last;
    return true;
}

void pst_scaler_inputs(const struct pst_scaler *scaler, uint16_t pool, pst_ns now,
                       struct pst_scaler_inputs *ret_inputs)
{
    const struct pst_scaler_seat *seat;

    PST_ASSERT(pool < scaler->config.pools_count);
    seat = &scaler->seats[pool];
    now = pst_max_u64(now, scaler->now); /* nothing was told later */
    ret_inputs->own_age = pst_seat_own_age(seat, now);
    ret_inputs->awaited = pst_seat_awaited(seat);
    for (int s = 0; s < PST_SIGNAL_COUNT; s++) {
        ret_inputs->values[s] = seat->signals.of[s].value;
        ret_inputs->ages[s] = pst_signals_age(&seat->signals, (enum pst_signal)s, now);
    }
}

void pst_scaler_verify(const struct pst_scaler *scaler)
{
    for (uint16_t p = 0; p < scaler->config.pools_count; p++) {
        const struct pst_scaler_seat *seat = &scaler->seats[p];
        uint32_t number;

        PST_ASSERT(!pst_scaler_number(scaler, p, &number) || seat->decided);
        if (!seat->decided)
            continue;
        if (seat->config->actuate == PST_ACTUATE_NUMBER && pst_scaler_number(scaler, p, &number))
            PST_ASSERT(number == seat->desired);
        PST_ASSERT(seat->desired <= seat->config->max && seat->desired >= seat->config->min);
        PST_ASSERT(seat->last.kind == PST_SCALER_DECISION && seat->last.pool == p);
        PST_ASSERT(seat->last.u.decision.desired == seat->desired);
        for (uint32_t t = 0; t < PST_TERM_COUNT; t++)
            PST_ASSERT(seat->terms[seat->last.u.decision.winner] >= seat->terms[t]);
    }
    for (uint32_t r = 0; r < scaler->replicas_top; r++) {
        const struct pst_scaler_replica *replica = &scaler->replicas[r];

        PST_ASSERT(replica->life < PST_LIFE_COUNT);
        PST_ASSERT(!replica->going || replica->life == PST_LIFE_AWAY);
        PST_ASSERT(replica->life == PST_LIFE_NONE || replica->pool < scaler->config.pools_count);
    }
    for (uint32_t i = 0; i < scaler->asks_count; i++) /* the number says which are wanted */
        PST_ASSERT(!scaler->asks[i].unwanted ||
                   !pst_seat_is_marked(&scaler->seats[scaler->asks[i].pool]));
    PST_ASSERT(scaler->replicas_top <= scaler->config.replicas_max);
    PST_ASSERT(scaler->asks_count <= scaler->config.replicas_max);
}

bool pst_scaler_needed(const struct pst_scaler_action *decision, uint32_t *ret_needed)
{
    const uint32_t blind = UINT32_C(1) << PST_VETO_STALE | UINT32_C(1) << PST_VETO_RESTART;
    uint32_t most = 0;

    if ((decision->u.decision.vetoes & blind) != 0)
        return false;
    for (int term = PST_TERM_NOW; term <= PST_TERM_ENVELOPE; term++) {
        if (decision->u.decision.terms[term] > most)
            most = decision->u.decision.terms[term];
    }
    *ret_needed = most;
    return true;
}

const char *pst_term_name(enum pst_term term)
{
    static const char *const names[PST_TERM_COUNT] = {
        [PST_TERM_NOW] = "now",           [PST_TERM_AHEAD] = "ahead",
        [PST_TERM_BACKLOG] = "backlog",   [PST_TERM_SLA] = "sla",
        [PST_TERM_ENVELOPE] = "envelope", [PST_TERM_CRON] = "cron",
        [PST_TERM_PROFILE] = "profile",   [PST_TERM_CANARY] = "canary",
        [PST_TERM_MIN] = "min",
    };

    PST_ASSERT(term < PST_TERM_COUNT);
    return names[term];
}

const char *pst_veto_name(enum pst_veto veto)
{
    static const char *const names[PST_VETO_COUNT] = {
        [PST_VETO_MAX] = "max",           [PST_VETO_BUDGET] = "budget",
        [PST_VETO_QUOTA] = "quota",       [PST_VETO_BACK_OFF] = "back_off",
        [PST_VETO_PENDING] = "pending",   [PST_VETO_WORTH] = "worth",
        [PST_VETO_HOLD] = "hold",         [PST_VETO_NEEDED_SOON] = "needed_soon",
        [PST_VETO_INFLIGHT] = "inflight", [PST_VETO_GPU] = "gpu",
        [PST_VETO_GUARD] = "guard",       [PST_VETO_ROLLOUT] = "rollout",
        [PST_VETO_STALE] = "stale",       [PST_VETO_RESTART] = "restart",
        [PST_VETO_WAIT] = "wait",
    };

    PST_ASSERT(veto < PST_VETO_COUNT);
    return names[veto];
}

const char *pst_rule_name(enum pst_scaler_rule rule)
{
    static const char *const names[PST_RULE_COUNT] = {
        [PST_RULE_AHEAD] = "ahead", [PST_RULE_BACKLOG] = "backlog", [PST_RULE_QPS] = "qps",
        [PST_RULE_DEPTH] = "depth", [PST_RULE_STATIC] = "static",
    };

    PST_ASSERT(rule < PST_RULE_COUNT);
    return names[rule];
}

const char *pst_signal_name(enum pst_signal signal)
{
    static const char *const names[PST_SIGNAL_COUNT] = {
        [PST_SIGNAL_GPU] = "gpu",         [PST_SIGNAL_ERRORS] = "errors",
        [PST_SIGNAL_LATENCY] = "latency", [PST_SIGNAL_ROLLOUT] = "rollout",
        [PST_SIGNAL_QUOTA] = "quota",     [PST_SIGNAL_GPU_MEMORY] = "gpu_memory",
    };

    PST_ASSERT(signal < PST_SIGNAL_COUNT);
    return names[signal];
}
