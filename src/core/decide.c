/*
 * decide.c - one pool, one second: what is needed, what may be, what can be had; and the record of it.
 *
 * needed = the largest term -> clamped by max and budget -> more than stands: as far as it can be had,
 * at once; less: as far as scalein.c says.
 */
#include "core/formula.h"
#include "core/num.h"
#include "core/scaler_internal.h"

#define SAY_EVERY (60 * PST_S)

static uint32_t least_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t most_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

bool pst_seat_is_stale(const struct pst_scaler_seat *seat, pst_ns now)
{
    if (seat->observed_at == PST_NEVER)
        return true;
    return seat->config->stale_after != 0 && now - seat->observed_at > seat->config->stale_after;
}

bool pst_seat_is_held(const struct pst_scaler_seat *seat, pst_ns now)
{
    pst_ns hold = pst_max_u64(seat->config->start_time, pst_census_start_time(seat));

    hold = pst_max_u64(hold, pst_max_u64(seat->config->warm_time, seat->config->drain_deadline));
    return now - seat->decided_at < hold;
}

static bool is_idle(const struct pst_scaler_seat *seat, pst_ns now)
{
    return seat->busy_at == PST_NEVER || now - seat->busy_at >= seat->config->in_after;
}

static void supply(const struct pst_scaler_seat *seat, const struct pst_census *c,
                   struct pst_supply *ret_supply)
{
    *ret_supply = (struct pst_supply){
        .start = pst_census_start_time(seat),
        .slots = seat->config->slots,
        .ready = c->ready,
        .starting = c->coming,
        .starting_in = c->coming_in,
        .starting_all = c->coming_all,
    };
}

/* The number that stands: what was asked for, and what runs although nobody here asked for it. */
static uint32_t standing(struct pst_scaler_seat *seat, const struct pst_scaler_need *n, pst_ns now)
{
    uint32_t before = seat->desired, runs = pst_census_serving(&n->census);
    uint32_t told = least_u32(seat->told, seat->config->max);

    if (n->is_rolling && seat->decided) /* the rest comes and goes without us */
        runs = 0;
    if (!seat->decided) {
        pst_hold_begin(&seat->hold, now);
        before = seat->config->min;
    }
    if (n->is_held)
        before = most_u32(before, most_u32(runs, told));
    else if (pst_seat_acts(seat) || !seat->decided)
        before = most_u32(before, runs);
    if (before > seat->desired) /* somebody wanted them: they get their in_after too */
        pst_hold_needs(&seat->hold, before, now);
    return before;
}

static void floor_terms(struct pst_scaler_seat *seat, pst_ns ahead, pst_ns now)
{
    seat->terms[PST_TERM_CRON] = pst_floors_most(&seat->floors, PST_FLOOR_CRON, now, ahead);
    seat->terms[PST_TERM_PROFILE] = pst_floors_most(&seat->floors, PST_FLOOR_PROFILE, now, ahead);
    seat->terms[PST_TERM_CANARY] = pst_floors_most(&seat->floors, PST_FLOOR_CANARY, now, ahead);
    seat->terms[PST_TERM_MIN] = seat->config->min;
}

static void formula_term(const struct pst_scaler *scaler, struct pst_scaler_seat *seat,
                         const struct pst_scaler_need *n)
{
    struct pst_demand_view view;
    struct pst_formula_sight sight = {
        .view = &view,
        .backlog = pst_demand_backlog(seat->demand, &n->supply),
        .before = n->before,
        .step_is_due =
            seat->stepped_at == PST_NEVER || scaler->now - seat->stepped_at >= n->supply.start,
    };
    enum pst_term term;
    uint32_t need;

    pst_demand_view(seat->demand, &view);
    need = pst_formula(&scaler->config, seat->config, &sight, &term);
    seat->terms[term] = most_u32(seat->terms[term], need);
    if (term == PST_TERM_BACKLOG && need > n->before)
        seat->stepped_at = scaler->now;
}

/*
 * Averages and forecasts fade, and never reach zero. Whether the last replica stays is asked of
 * tickets: without one for in_after, a term of one is none.
 */
static void forget_last(struct pst_scaler_seat *seat)
{
    for (int t = PST_TERM_NOW; t <= PST_TERM_ENVELOPE; t++) {
        if (seat->terms[t] == 1)
            seat->terms[t] = 0;
    }
}

/*
 * A warm one serves long before a start would be over. What they could still meet in time is asked too:
 * as many more as are missing by then, however many come later.
 */
static void ask_soon(struct pst_scaler_seat *seat, const struct pst_scaler_need *n, bool *ret_worth)
{
    const struct pst_census *c = &n->census;
    uint32_t there = c->ready + c->coming_soon, need, more;

    if (c->warm == 0 || !pst_seat_acts(seat))
        return;
    need = pst_demand_soon(seat->demand, &n->supply, pst_census_promotion_time(seat));
    more = least_u32((uint32_t)pst_sub_sat(need, there), c->warm);
    if (more == 0)
        return;
    seat->terms[PST_TERM_AHEAD] =
        most_u32(seat->terms[PST_TERM_AHEAD], pst_census_serving(c) + more);
    *ret_worth = true;
}

/* Fills the terms. Those of demand stay as they were while nobody observes: unknown is not zero. */
static void ask(struct pst_scaler *scaler, struct pst_scaler_seat *seat, struct pst_scaler_need *n)
{
    bool is_worth = true;

    floor_terms(seat, n->supply.start, scaler->now);
    if (!n->is_stale) {
        for (int t = PST_TERM_NOW; t <= PST_TERM_ENVELOPE; t++)
            seat->terms[t] = 0;
        if (seat->config->rule == PST_RULE_AHEAD) {
            pst_demand_terms(seat->demand, &n->supply, seat->terms, &is_worth);
            ask_soon(seat, n, &is_worth);
        } else {
            formula_term(scaler, seat, n);
        }
    }
    if (n->is_idle)
        forget_last(seat);
    if (seat->busy) /* somebody is there now: a first replica, whatever the averages say */
        seat->terms[PST_TERM_NOW] = most_u32(seat->terms[PST_TERM_NOW], 1);
    if (!is_worth)
        n->vetoes |= 1u << PST_VETO_WORTH;
}

static enum pst_term winner(const struct pst_scaler_seat *seat)
{
    int best = PST_TERM_NOW;

    for (int t = PST_TERM_NOW + 1; t < PST_TERM_COUNT; t++) {
        if (seat->terms[t] > seat->terms[best])
            best = t;
    }
    return (enum pst_term)best;
}

/* The terms that count: without observations only those that need none. */
static uint32_t needed(const struct pst_scaler_seat *seat, const struct pst_scaler_need *n)
{
    uint32_t need = seat->busy ? 1 : 0;

    for (int t = n->is_stale ? PST_TERM_CRON : PST_TERM_NOW; t < PST_TERM_COUNT; t++)
        need = most_u32(need, seat->terms[t]);
    return need;
}

/* What may run at most, by the budget: never less than min. */
static uint32_t limit(const struct pst_scaler_seat *seat, const struct pst_census *c)
{
    uint64_t allowed = pst_act_affordable(seat, pst_census_running(c));

    allowed = pst_sub_sat(allowed, c->warm + c->warming);
    return most_u32(seat->config->min, (uint32_t)pst_min_u64(allowed, seat->config->max));
}

static void bound(const struct pst_scaler_seat *seat, struct pst_scaler_need *n)
{
    uint32_t allowed = limit(seat, &n->census), max = seat->config->max;

    if (n->need > max)
        n->vetoes |= 1u << PST_VETO_MAX;
    n->need = least_u32(n->need, max);
    n->before = least_u32(n->before, max);
    if (n->need > allowed || (n->before > allowed && !n->is_held))
        n->vetoes |= 1u << PST_VETO_BUDGET;
    n->need = least_u32(n->need, allowed);
    if (!n->is_held)
        n->before = least_u32(n->before, allowed);
}

/* Of what is needed beyond what there is, as much as can be had. */
static uint32_t obtainable(const struct pst_scaler *scaler, uint16_t pool,
                           struct pst_scaler_need *n)
{
    const struct pst_scaler_seat *seat = &scaler->seats[pool];
    const struct pst_census *c = &n->census;
    uint32_t there = pst_census_serving(c), wanted = most_u32(n->need, n->before), vetoes;

    if (pst_seat_acts(seat)) /* to be promoted, and taken back */
        there += c->warm + c->draining + c->recallable;
    if (there < wanted) {
        there += pst_act_startable(scaler, pool, c, wanted - there, &vetoes);
        n->vetoes |= vetoes;
    }
    return most_u32(n->before, least_u32(n->need, there));
}

/* Others keep the number, and fewer have come than it asks for: for so long that nobody counts on them. */
static bool is_short(struct pst_scaler_seat *seat, const struct pst_census *c, pst_ns now)
{
    if (seat->config->actuate != PST_ACTUATE_NUMBER || c->ready + c->coming >= seat->desired)
        seat->short_since = PST_NEVER;
    else if (seat->short_since == PST_NEVER)
        seat->short_since = now;
    return seat->short_since != PST_NEVER && pst_census_is_stuck(seat, seat->short_since, now);
}

static uint16_t to_u16(uint32_t n)
{
    return (uint16_t)least_u32(n, UINT16_MAX);
}

static uint32_t to_ms(pst_ns ns)
{
    return (uint32_t)pst_min_u64(ns / PST_MS, UINT32_MAX);
}

static pst_ns oldest_input(const struct pst_scaler_seat *seat, pst_ns now)
{
    pst_ns age = pst_seat_own_age(seat, now);

    for (unsigned kind = 0; kind < PST_SIGNAL_COUNT; kind++) {
        if ((pst_seat_awaited(seat) >> kind & 1) != 0)
            age = pst_max_u64(age, pst_signals_age(&seat->signals, (enum pst_signal)kind, now));
    }
    return age;
}

/* The backlog went past out_above, or came back to in_below: what is decided then is news, either way. */
static bool has_turned(struct pst_scaler_seat *seat, pst_ns backlog)
{
    bool was_over = seat->is_over;

    seat->is_over = backlog > (was_over ? seat->config->in_below : seat->config->out_above);
    return seat->is_over != was_over;
}

/* Less that is held in any case may also be needed soon, now and then: of two such it is no news. */
static uint32_t vetoes_of_note(uint32_t vetoes)
{
    bool is_held = (vetoes & 1u << PST_VETO_HOLD) != 0;

    return is_held ? vetoes & ~(1u << PST_VETO_NEEDED_SOON) : vetoes;
}

/* Does it say what the last one that was said does not? A winner that is level with it is none. */
static bool differs(const struct pst_scaler_seat *seat, const struct pst_scaler_action *decision)
{
    const struct pst_scaler_action *said = &seat->said_last;

    return decision->u.decision.desired != said->u.decision.desired ||
           seat->terms[decision->u.decision.winner] > seat->terms[said->u.decision.winner] ||
           vetoes_of_note(decision->u.decision.vetoes) != vetoes_of_note(said->u.decision.vetoes);
}

static void record(struct pst_scaler *scaler, uint16_t pool, const struct pst_scaler_need *n)
{
    struct pst_scaler_seat *seat = &scaler->seats[pool];
    struct pst_scaler_action decision = {.kind = PST_SCALER_DECISION, .pool = pool};
    const struct pst_census *c = &n->census;
    const pst_ns backlog = pst_demand_backlog(seat->demand, &n->supply);
    bool is_news = has_turned(seat, backlog);

    decision.u.decision.desired = to_u16(seat->desired);
    decision.u.decision.before = to_u16(n->stood);
    decision.u.decision.ready = to_u16(c->ready);
    decision.u.decision.starting = to_u16(c->coming + c->stuck);
    decision.u.decision.warm = to_u16(c->warm);
    decision.u.decision.draining = to_u16(c->draining + c->leaving);
    for (int t = 0; t < PST_TERM_COUNT; t++)
        decision.u.decision.terms[t] = to_u16(seat->terms[t]);
    decision.u.decision.winner = (uint8_t)winner(seat);
    decision.u.decision.vetoes = n->vetoes;
    decision.u.decision.backlog_ms = to_ms(backlog);
    decision.u.decision.start_ms = to_ms(n->supply.start);
    decision.u.decision.oldest_input_ms = to_ms(oldest_input(seat, scaler->now));
    is_news = is_news || !seat->said || differs(seat, &decision) ||
              scaler->now - seat->said_at >= SAY_EVERY;
    seat->last = decision;
    if (!is_news)
        return;
    seat->said = true;
    seat->said_last = decision;
    seat->said_at = scaler->now;
    *pst_scaler_say(scaler, PST_SCALER_DECISION, pool) = decision;
}

static void learn(struct pst_scaler_seat *seat, const struct pst_scaler_need *n, pst_ns now)
{
    if (seat->desired < n->before)
        pst_hold_lowered(&seat->hold, now);
    else if (seat->desired > n->before)
        pst_hold_raised(&seat->hold, pst_add_sat(n->supply.start, seat->config->in_after), now);
}

void pst_scaler_decide(struct pst_scaler *scaler, uint16_t pool)
{
    struct pst_scaler_seat *seat = &scaler->seats[pool];
    struct pst_scaler_need n;

    if (seat->busy)
        seat->busy_at = scaler->now;
    if (!seat->decided)
        seat->decided_at = scaler->now;
    n = (struct pst_scaler_need){
        .is_stale = pst_seat_is_stale(seat, scaler->now),
        .is_held = pst_seat_is_held(seat, scaler->now),
        .is_rolling = pst_number_is_rolling(scaler, pool),
        .is_idle = !pst_seat_is_stale(seat, scaler->now) && is_idle(seat, scaler->now),
    };
    pst_census(scaler, pool, &n.census);
    supply(seat, &n.census, &n.supply);
    n.stood = n.before = standing(seat, &n, scaler->now);
    ask(scaler, seat, &n);
    n.need = needed(seat, &n);
    bound(seat, &n);
    if (n.is_stale)
        n.vetoes |= 1u << PST_VETO_STALE;
    if (n.census.stuck > 0 || is_short(seat, &n.census, scaler->now))
        n.vetoes |= 1u << PST_VETO_PENDING;
    if (n.need < n.before) {
        seat->desired = pst_scalein(scaler, pool, &n);
    } else {
        pst_hold_needs(&seat->hold, n.need, scaler->now);
        seat->guarded_since = PST_NEVER;
        seat->desired = obtainable(scaler, pool, &n);
    }
    if (seat->config->rule == PST_RULE_AHEAD) /* the others are what they are known to be */
        learn(seat, &n, scaler->now);
    seat->decided = true;
    record(scaler, pool, &n);
    if (pst_seat_acts(seat))
        pst_act(scaler, pool);
    seat->asked = seat->desired;
}
