/*
 * scalein.c - how far down is safe.
 *
 * The least number that demand can do with, now and until a start that is asked for later would be
 * there: the smallest c to which, with c replicas, no more than c are needed within a start time and a
 * minute. Then what was enough for the whole hold (hold.h). The guards stand against what remains: those
 * that know a number get in_after to clear, so that one step is taken and not one each second;
 * after that the step is as far as they can bear. The others forbid: they keep what is there.
 *
 * Guarantee: never below `need`, never above `before`; each reason that raised the number has its bit.
 */
#include "core/num.h"
#include "core/scaler_internal.h"

static uint32_t floors_ahead(const struct pst_scaler_seat *seat, pst_ns now, pst_ns span)
{
    uint32_t most = 0;

    for (int source = 0; source < PST_FLOOR_COUNT; source++) {
        uint32_t floor = pst_floors_most(&seat->floors, (enum pst_floor)source, now, span);

        most = floor > most ? floor : most;
    }
    return most;
}

/* With `have`, is no more needed while a start that is asked for later would not be there yet? */
static bool is_enough(const struct pst_scaler_seat *seat, const struct pst_scaler_need *n,
                      uint32_t have, pst_ns span)
{
    uint32_t most = pst_demand_most(seat->demand, &n->supply, have, span);

    return most <= have || (most == 1 && n->is_idle); /* the last one: see decide.c */
}

/* More replicas leave less to do: by halving. */
static uint32_t least_enough(const struct pst_scaler_seat *seat, const struct pst_scaler_need *n,
                             pst_ns span)
{
    uint32_t low = n->need, high = n->before;

    if (seat->config->rule != PST_RULE_AHEAD)
        return low;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (is_enough(seat, n, middle, span))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* What is in flight must fit into the guarded share of the slots that would remain. */
static uint32_t least_for_inflight(const struct pst_scaler_seat *seat)
{
    uint64_t guarded = pst_muldiv(seat->config->slots, seat->config->inflight_guard_ppm, PST_PPM);
    struct pst_demand_view view;

    if (seat->config->inflight_guard_ppm == 0)
        return 0;
    guarded = pst_max_u64(guarded, 1);
    pst_demand_view(seat->demand, &view);
    return (uint32_t)(((uint64_t)view.inflight + guarded - 1) / guarded);
}

static uint32_t least_for_waits(const struct pst_scaler_seat *seat, const struct pst_scaler_need *n,
                                uint32_t number)
{
    if (seat->config->rule != PST_RULE_AHEAD || (number == 0 && n->is_idle))
        return number;
    while (number < n->before && !pst_demand_bears(seat->demand, number))
        number++;
    return number;
}

/* The number, at least `least` and at most `before`; the bit says that it was raised. */
static uint32_t raise_to(struct pst_scaler_need *n, uint32_t number, uint32_t least,
                         enum pst_veto veto)
{
    if (least <= number)
        return number;
    n->vetoes |= 1u << veto;
    return least < n->before ? least : n->before;
}

/* What demand can do with, and could for the whole hold. */
static uint32_t enough(struct pst_scaler_seat *seat, struct pst_scaler_need *n, pst_ns now)
{
    pst_ns span = pst_add_sat(n->supply.start, PST_SCALER_MARGIN);
    uint32_t number = n->need, most;

    number = raise_to(n, number, least_enough(seat, n, span), PST_VETO_NEEDED_SOON);
    number = raise_to(n, number, floors_ahead(seat, now, span), PST_VETO_NEEDED_SOON);
    pst_hold_needs(&seat->hold, number, now);
    most = pst_hold_most(&seat->hold, number, n->before, seat->config->in_after, now);
    return raise_to(n, number, most, PST_VETO_HOLD);
}

/*
 * `held` in place of `number`, as far as it is there: a guard keeps what there is, and asks for nothing
 * that is not needed.
 */
static uint32_t kept(const struct pst_scaler_need *n, uint32_t number, uint32_t held)
{
    uint32_t there = pst_census_serving(&n->census);

    held = held < there ? held : there;
    return held > number ? held : number;
}

/* … and what is in flight, and who waits. */
static uint32_t guarded(struct pst_scaler_seat *seat, struct pst_scaler_need *n, uint32_t number,
                        pst_ns now)
{
    uint32_t least = raise_to(n, number, least_for_inflight(seat), PST_VETO_INFLIGHT);

    least = raise_to(n, least, least_for_waits(seat, n, least), PST_VETO_WAIT);
    if (least == number) {
        seat->guarded_since = PST_NEVER;
        return number;
    }
    if (seat->guarded_since == PST_NEVER)
        seat->guarded_since = now;
    if (now - seat->guarded_since < seat->config->in_after)
        least = n->before;
    return kept(n, number, least);
}

uint32_t pst_scalein(struct pst_scaler *scaler, uint16_t pool, struct pst_scaler_need *n)
{
    struct pst_scaler_seat *seat = &scaler->seats[pool];
    uint32_t forbid =
        pst_signals_vetoes(&seat->signals, seat->config->gpu_guard_ppm,
                           seat->config->awaits_signals, seat->config->stale_after, scaler->now);
    uint32_t number;

    PST_ASSERT(n->need < n->before);
    if (n->is_stale)
        forbid |= 1u << PST_VETO_STALE;
    if (n->is_held)
        forbid |= 1u << PST_VETO_RESTART;
    n->vetoes |= forbid;
    if (n->is_stale) { /* what is needed is not known */
        pst_hold_needs(&seat->hold, n->before, scaler->now);
        return n->before;
    }
    number = enough(seat, n, scaler->now);
    if (number < n->before)
        number = guarded(seat, n, number, scaler->now);
    else
        seat->guarded_since = PST_NEVER;
    if (n->is_held)
        return n->before;
    return forbid != 0 ? kept(n, number, n->before) : number;
}
