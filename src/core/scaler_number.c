/*
 * scaler_number.c - a number that others keep: what they are told, and what follows from what they do.
 *
 * Who keeps a number knows no names. It creates what is missing, replaces what leaves by itself, and of
 * too many it removes those that are not ready first, then those that are marked: mostly, not always, the
 * ones we named. So
 *
 *   one that appears       answers the oldest START
 *   one that leaves unasked  leaves in the place of one that was told to go, which stays then; or there is
 *                          none such, and it will be replaced: the number stands either way
 *   one told to go         is wanted again: taken back, as long as nobody has begun to end it
 */
#include "core/num.h"
#include "core/scaler_internal.h"

bool pst_scaler_number(const struct pst_scaler *scaler, uint16_t pool, uint32_t *ret_number)
{
    const struct pst_scaler_seat *seat;
    struct pst_census c;
    uint64_t least = 0;

    if (pool >= scaler->config.pools_count)
        return false;
    seat = &scaler->seats[pool];
    if (!seat->decided || pst_seat_is_stale(seat, scaler->now))
        return false;
    switch ((enum pst_actuate)seat->config->actuate) {
    case PST_ACTUATE_NUMBER:
        *ret_number = seat->desired;
        return true;
    case PST_ACTUATE_OWN:
    case PST_ACTUATE_MARKED:
        if (pst_seat_is_marked(seat) && pst_seat_is_held(seat, scaler->now))
            least = pst_min_u64(seat->told, seat->config->max);
        pst_census(scaler, pool, &c);
        *ret_number = (uint32_t)pst_max_u64(least, pst_census_running(&c) - c.dropped);
        return true;
    case PST_ACTUATE_NONE:
    case PST_ACTUATE_COUNT:
        break;
    }
    return false;
}

bool pst_scaler_is_for_warm(const struct pst_scaler *scaler, uint16_t replica)
{
    return replica < scaler->replicas_top && scaler->replicas[replica].life != PST_LIFE_NONE &&
           scaler->replicas[replica].is_warm;
}

uint32_t pst_scaler_existing(const struct pst_scaler *scaler, uint16_t pool,
                             uint32_t *ret_unfinished)
{
    uint32_t existing = 0, unfinished = 0;

    for (uint32_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->life == PST_LIFE_NONE || r->pool != pool || r->going)
            continue;
        existing++;
        unfinished += r->state == PST_REPLICA_STARTING || r->state == PST_REPLICA_LOADING;
    }
    *ret_unfinished = unfinished;
    return existing;
}

bool pst_number_claim(struct pst_scaler *scaler, uint16_t pool, struct pst_scaler_ask *ret_ask)
{
    uint32_t found = scaler->asks_count;

    if (!pst_seat_is_marked(&scaler->seats[pool]))
        return false;
    for (uint32_t i = 0; i < scaler->asks_count; i++) {
        const struct pst_scaler_ask *ask = &scaler->asks[i];

        if (ask->pool != pool)
            continue;
        if (found == scaler->asks_count || (scaler->asks[found].warm && !ask->warm))
            found = i; /* the oldest; before it, the oldest that will serve */
    }
    if (found == scaler->asks_count)
        return false;
    *ret_ask = scaler->asks[found];
    pst_life_remove_ask(scaler, found);
    return true;
}

/* Told to go, and nobody has begun to end it. */
static bool may_stay(const struct pst_scaler_replica *r)
{
    return r->life == PST_LIFE_CANCELLED || r->life == PST_LIFE_REMOVED;
}

/* It counts again, and does what it did before it was told to go. */
static void let_stay(struct pst_scaler *scaler, uint16_t replica)
{
    const struct pst_scaler_replica *r = &scaler->replicas[replica];

    if (r->life == PST_LIFE_CANCELLED)
        pst_life_enter(scaler, replica, PST_LIFE_STARTING);
    else
        pst_life_enter(scaler, replica, r->is_warm ? PST_LIFE_WARM : PST_LIFE_DRAINING);
}

/* In whose place it left: rather one that was as far as it. */
static uint16_t counterpart(const struct pst_scaler *scaler, const struct pst_scaler_replica *left)
{
    enum pst_life alike = left->state == PST_REPLICA_READY ? PST_LIFE_REMOVED : PST_LIFE_CANCELLED;
    uint16_t best = PST_SCALER_NOBODY;

    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->pool != left->pool || !may_stay(r) || r->is_warm != left->is_warm)
            continue;
        if (best == PST_SCALER_NOBODY || (r->life == alike && scaler->replicas[best].life != alike))
            best = i;
    }
    return best;
}

void pst_number_left(struct pst_scaler *scaler, uint16_t replica)
{
    const struct pst_scaler_replica *r = &scaler->replicas[replica];
    uint16_t other;

    switch ((enum pst_life)r->life) {
    case PST_LIFE_STARTING:
    case PST_LIFE_WARM:
    case PST_LIFE_PROMOTED:
    case PST_LIFE_SERVING:
        break;
    case PST_LIFE_NONE:
    case PST_LIFE_DRAINING: /* it was to leave, and its replacement is */
    case PST_LIFE_AWAY:     /* it was no capacity, and what was needed in its place was asked for */
    case PST_LIFE_CANCELLED:
    case PST_LIFE_REMOVED:
    case PST_LIFE_COUNT:
        return;
    }
    other = counterpart(scaler, r);
    if (other != PST_SCALER_NOBODY)
        let_stay(scaler, other);
    else if (scaler->asks_count < scaler->config.replicas_max)
        scaler->asks[scaler->asks_count++] =
            (struct pst_scaler_ask){.pool = r->pool, .warm = r->is_warm, .at = scaler->now};
}

bool pst_number_is_recallable(const struct pst_scaler *scaler, const struct pst_scaler_replica *r)
{
    const struct pst_scaler_seat *seat = &scaler->seats[r->pool];

    return pst_seat_is_marked(seat) && may_stay(r) && !r->is_warm &&
           (r->life == PST_LIFE_REMOVED || !pst_census_is_stuck(seat, r->born, scaler->now));
}

uint16_t pst_number_recallable(const struct pst_scaler *scaler, uint16_t pool)
{
    uint16_t best = PST_SCALER_NOBODY;

    for (uint16_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->pool != pool || !pst_number_is_recallable(scaler, r))
            continue;
        if (best == PST_SCALER_NOBODY || /* loaded ones first, then the oldest */
            r->life > scaler->replicas[best].life ||
            (r->life == scaler->replicas[best].life && r->born < scaler->replicas[best].born))
            best = i;
    }
    return best;
}

void pst_number_recall(struct pst_scaler *scaler, uint16_t replica)
{
    bool was_loaded = scaler->replicas[replica].life == PST_LIFE_REMOVED;

    pst_scaler_say_replica(scaler, PST_SCALER_UNDRAIN, replica);
    pst_life_enter(scaler, replica, was_loaded ? PST_LIFE_SERVING : PST_LIFE_STARTING);
}
