/*
 * act.c - from what there is to what there should be, by the cheapest step first.
 *
 * Out: loaded ones are promoted, draining ones taken back, starts that were given up and have no name yet
 * wanted again, the rest started. In: such starts are given up, starting ones cancelled (the youngest
 * first), then victims marked and drained. Those that are stuck count for nothing: they go once there is
 * enough without them.
 */
#include "core/num.h"
#include "core/scaler_internal.h"

void pst_act_start(struct pst_scaler *scaler, uint16_t pool, bool warm)
{
    struct pst_scaler_action *action = pst_scaler_say(scaler, PST_SCALER_START, pool);

    PST_ASSERT(scaler->asks_count < scaler->config.replicas_max);
    if (++scaler->op == 0)
        scaler->op = 1; /* 0 is none */
    action->u.start.op = scaler->op;
    action->u.start.warm = warm;
    scaler->asks[scaler->asks_count++] =
        (struct pst_scaler_ask){.op = scaler->op, .pool = pool, .warm = warm, .at = scaler->now};
    pst_signals_use_quota(&scaler->seats[pool].signals);
}

/* Indices that nobody has, all pools together. */
static uint32_t free_indices(const struct pst_scaler *scaler)
{
    uint32_t used = scaler->asks_count;

    for (uint32_t i = 0; i < scaler->replicas_top; i++)
        used += scaler->replicas[i].life != PST_LIFE_NONE;
    return (uint32_t)pst_sub_sat(scaler->config.replicas_max, used);
}

uint32_t pst_act_affordable(const struct pst_scaler_seat *seat, uint32_t running)
{
    const struct pst_scaler_pool *config = seat->config;

    return pst_cost_allows(&seat->cost, config->cost_micro, config->budget_hour_micro,
                           config->budget_day_micro, pst_census_start_time(seat), running);
}

uint32_t pst_act_startable(const struct pst_scaler *scaler, uint16_t pool,
                           const struct pst_census *census, uint32_t wanted, uint32_t *ret_vetoes)
{
    const struct pst_scaler_seat *seat = &scaler->seats[pool];
    uint32_t by_backoff = pst_backoff_allows(&seat->backoff, census->trying, scaler->now);
    uint32_t by_quota = pst_signals_quota(&seat->signals, seat->config->stale_after, scaler->now);
    uint32_t running = pst_census_running(census), vetoes = 0;
    uint32_t by_money = (uint32_t)pst_sub_sat(pst_act_affordable(seat, running), running);
    uint64_t most = free_indices(scaler);

    if (most < wanted)
        vetoes |= 1u << PST_VETO_MAX;
    if (by_backoff < wanted)
        vetoes |= 1u << (seat->backoff.wall ? PST_VETO_QUOTA : PST_VETO_BACK_OFF);
    if (by_quota < wanted)
        vetoes |= 1u << PST_VETO_QUOTA;
    if (by_money < wanted)
        vetoes |= 1u << PST_VETO_BUDGET;
    most = pst_min_u64(most, by_backoff);
    most = pst_min_u64(most, by_quota);
    most = pst_min_u64(most, by_money);
    *ret_vetoes = vetoes;
    return (uint32_t)pst_min_u64(most, wanted);
}

/* Not counted on any more: see census.c. */
static bool is_stuck(const struct pst_scaler_seat *seat, const struct pst_scaler_replica *r,
                     pst_ns now)
{
    pst_ns since = r->life == PST_LIFE_STARTING ? r->born : r->since;

    return r->state != PST_REPLICA_READY && pst_census_is_stuck(seat, since, now);
}

static uint32_t newest_revision(const struct pst_scaler *scaler, uint16_t pool)
{
    uint32_t newest = 0;

    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->life != PST_LIFE_NONE && r->pool == pool && r->revision > newest)
            newest = r->revision;
    }
    return newest;
}

/* Whose loss is felt less: unhealthy, old revision, less in flight, younger; then by index. */
static bool is_better_victim(const struct pst_scaler_replica *a, const struct pst_scaler_replica *b,
                             uint32_t revision)
{
    bool a_well = a->state == PST_REPLICA_READY, b_well = b->state == PST_REPLICA_READY;
    bool a_new = a->revision == revision, b_new = b->revision == revision;

    if (a_well != b_well)
        return b_well;
    if (a_new != b_new)
        return b_new;
    if (a->inflight != b->inflight)
        return a->inflight < b->inflight;
    return a->born > b->born;
}

/* Of those that take work, or should. */
static uint16_t victim(const struct pst_scaler *scaler, uint16_t pool, bool stuck)
{
    const struct pst_scaler_seat *seat = &scaler->seats[pool];
    uint32_t revision = newest_revision(scaler, pool);
    uint16_t best = PST_SCALER_NOBODY;

    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->pool != pool || (r->life != PST_LIFE_SERVING && r->life != PST_LIFE_PROMOTED) ||
            is_stuck(seat, r, scaler->now) != stuck)
            continue;
        if (best == PST_SCALER_NOBODY || is_better_victim(r, &scaler->replicas[best], revision))
            best = i;
    }
    return best;
}

/* Of those that drain for us, the one that would be missed most. */
static uint16_t drained(const struct pst_scaler *scaler, uint16_t pool)
{
    uint32_t revision = newest_revision(scaler, pool);
    uint16_t best = PST_SCALER_NOBODY;

    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->pool == pool && r->life == PST_LIFE_DRAINING &&
            (best == PST_SCALER_NOBODY || is_better_victim(&scaler->replicas[best], r, revision)))
            best = i;
    }
    return best;
}

/* The loaded one of the newest revision, of them the oldest: it would be rotated next. */
static uint16_t loaded(const struct pst_scaler *scaler, uint16_t pool)
{
    uint16_t best = PST_SCALER_NOBODY;

    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];
        const struct pst_scaler_replica *b =
            &scaler->replicas[best == PST_SCALER_NOBODY ? i : best];

        if (r->pool != pool || !pst_replica_is_loaded(r))
            continue;
        if (best == PST_SCALER_NOBODY || r->revision > b->revision ||
            (r->revision == b->revision && r->since < b->since))
            best = i;
    }
    return best;
}

static uint16_t youngest_starting(const struct pst_scaler *scaler, uint16_t pool, bool stuck)
{
    const struct pst_scaler_seat *seat = &scaler->seats[pool];
    uint16_t best = PST_SCALER_NOBODY;

    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->pool == pool && r->life == PST_LIFE_STARTING && !r->is_warm &&
            is_stuck(seat, r, scaler->now) == stuck &&
            (best == PST_SCALER_NOBODY || r->born >= scaler->replicas[best].born))
            best = i;
    }
    return best;
}

/* Of the starts that have no name yet, the last that is otherwise becomes (un)wanted. */
static bool want_ask(struct pst_scaler *scaler, uint16_t pool, bool wanted)
{
    for (uint32_t i = scaler->asks_count; i-- > 0;) {
        struct pst_scaler_ask *ask = &scaler->asks[i];

        if (ask->pool == pool && ask->unwanted == wanted && !ask->warm &&
            !pst_census_is_stuck(&scaler->seats[pool], ask->at, scaler->now)) {
            pst_life_want_ask(scaler, i, wanted);
            return true;
        }
    }
    return false;
}

static void go_out(struct pst_scaler *scaler, uint16_t pool, uint32_t missing,
                   const struct pst_census *census)
{
    uint32_t max = scaler->seats[pool].config->max, room, vetoes;
    uint16_t r;

    /* A promoted one comes on top of what exists; a draining one exists already. */
    room = (uint32_t)pst_sub_sat(max, pst_census_existing(census));
    if (pst_seat_is_marked(&scaler->seats[pool])) /* max bounds the number */
        room = (uint32_t)pst_sub_sat(max, pst_census_existing(census) - census->dropped);
    for (; missing > 0 && room > 0 && (r = loaded(scaler, pool)) != PST_SCALER_NOBODY;
         missing--, room--) {
        if (scaler->replicas[r].wants_mark && pst_seat_is_marked(&scaler->seats[pool]))
            pst_life_unmark(scaler, r); /* it was to be rotated next */
        pst_scaler_say_replica(scaler, PST_SCALER_PROMOTE, r);
        pst_life_enter(scaler, r, PST_LIFE_PROMOTED);
    }
    for (; missing > 0 && (r = drained(scaler, pool)) != PST_SCALER_NOBODY; missing--) {
        pst_life_unmark(scaler, r);
        pst_life_enter(scaler, r, PST_LIFE_SERVING);
    }
    for (;
         missing > 0 && room > 0 && (r = pst_number_recallable(scaler, pool)) != PST_SCALER_NOBODY;
         missing--, room--)
        pst_number_recall(scaler, r);
    while (missing > 0 && want_ask(scaler, pool, true))
        missing--;
    missing = (uint32_t)pst_min_u64(missing, room);
    missing = pst_act_startable(scaler, pool, census, missing, &vetoes);
    while (missing-- > 0)
        pst_act_start(scaler, pool, false);
}

static void go_in(struct pst_scaler *scaler, uint16_t pool, uint32_t surplus)
{
    uint16_t r;

    while (surplus > 0 && want_ask(scaler, pool, false))
        surplus--;
    for (; surplus > 0 && (r = youngest_starting(scaler, pool, false)) != PST_SCALER_NOBODY;
         surplus--)
        pst_life_cancel(scaler, r);
    for (; surplus > 0 && (r = victim(scaler, pool, false)) != PST_SCALER_NOBODY; surplus--)
        pst_life_drain(scaler, r);
}

static void let_stuck_go(struct pst_scaler *scaler, uint16_t pool)
{
    uint16_t r;

    while ((r = youngest_starting(scaler, pool, true)) != PST_SCALER_NOBODY)
        pst_life_cancel(scaler, r);
    while ((r = victim(scaler, pool, true)) != PST_SCALER_NOBODY)
        pst_life_drain(scaler, r);
}

void pst_act(struct pst_scaler *scaler, uint16_t pool)
{
    const struct pst_scaler_seat *seat = &scaler->seats[pool];
    struct pst_census census;
    uint32_t serving, ours;

    pst_census(scaler, pool, &census);
    ours = serving = pst_census_serving(&census);
    if (pst_number_is_rolling(scaler, pool)) /* what others add for a while, they take away again */
        ours = (uint32_t)pst_min_u64(serving, seat->asked);
    if (serving < seat->desired)
        go_out(scaler, pool, seat->desired - serving, &census);
    else if (ours > seat->desired)
        go_in(scaler, pool, ours - seat->desired);
    if (census.ready >= seat->desired)
        let_stuck_go(scaler, pool);
    pst_life_remove_drained(scaler, pool);
    pst_warmpool_keep(scaler, pool);
}
