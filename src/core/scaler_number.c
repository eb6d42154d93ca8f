/*
 * scaler_number.c - a number that others keep: what they are told, and what follows from what they do.
 *
 * Who keeps a number knows no names. It creates what is missing, replaces what leaves by itself, and of
 * too many it removes those that are not ready first, then those that are marked: mostly, not always, the
 * ones we named. While it replaces all (a rollout) there is one more, or less, for a while. So
 *
 *   one that appears answers the oldest START, or was added by others: kept as if it were ours, but
 *   during a rollout none of the number;
 *   one that leaves unasked did so in the place of one that was told to go, which stays then; or it will
 *   be replaced: the number stands;
 *   one that was told to go and is wanted again is taken back, as long as nobody has begun to end it.
 */
#include "core/num.h"
#include "core/scaler_internal.h"

/* Of those that others do not end, the first that is of another revision; NULL as `than`: the first. */
static const struct pst_scaler_replica *another_revision(const struct pst_scaler *scaler,
                                                         uint16_t pool,
                                                         const struct pst_scaler_replica *than)
{
    for (uint32_t i = 0; i < scaler->replicas_top; i++) {
        const struct pst_scaler_replica *r = &scaler->replicas[i];

        if (r->life != PST_LIFE_NONE && r->pool == pool && !r->going &&
            (than == NULL || r->revision != than->revision))
            return r;
    }
    return NULL;
}

bool pst_number_is_rolling(const struct pst_scaler *scaler, uint16_t pool)
{
    const struct pst_scaler_seat *seat = &scaler->seats[pool];
    const struct pst_scaler_replica *first;

    if (!pst_seat_is_marked(seat))
        return pst_seat_is_kept(seat); /* of a number alone it cannot be seen */
    first = another_revision(scaler, pool, NULL);
    return first != NULL && another_revision(scaler, pool, first) != NULL;
}

static uint32_t counted(const struct pst_scaler *scaler, uint16_t pool)
{
    const struct pst_scaler_seat *seat = &scaler->seats[pool];
    struct pst_census c;
    uint32_t more = 0;

    pst_census(scaler, pool, &c);
    if (pst_number_is_rolling(scaler, pool))
        more = (uint32_t)pst_sub_sat(pst_census_serving(&c) + c.stuck, seat->asked);
    return pst_census_running(&c) - c.dropped - more;
}

bool pst_scaler_number(const struct pst_scaler *scaler, uint16_t pool, uint32_t *ret_number)
{
    const struct pst_scaler_seat *seat;
    uint64_t least = 0;

    if (pool >= scaler->config.pools_count)
        return false;
    seat = &scaler->seats[pool];
    if (!seat->decided || pst_seat_waits(seat) || pst_seat_is_stale(seat, scaler->now))
        return false;
    switch ((enum pst_actuate)seat->config->actuate) {
    case PST_ACTUATE_NUMBER:
        *ret_number = seat->desired;
        return true;
    case PST_ACTUATE_MARKED:
        if (pst_seat_is_held(seat, scaler->now))
            least = pst_min_u64(seat->told, seat->config->max);
        *ret_number = (uint32_t)pst_max_u64(least, counted(scaler, pool));
        return true;
    case PST_ACTUATE_OWN:
        *ret_number = counted(scaler, pool);
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

/* It counts again, and goes on as `life`; one that drains stays marked. */
static void let_stay(struct pst_scaler *scaler, uint16_t replica, enum pst_life life)
{
    if (life != PST_LIFE_DRAINING)
        pst_life_unmark(scaler, replica);
    pst_life_enter(scaler, replica, life);
}

/* What it did before it was told to go. */
static enum pst_life former_life(const struct pst_scaler_replica *r)
{
    if (r->life == PST_LIFE_CANCELLED)
        return PST_LIFE_STARTING;
    return r->is_warm ? PST_LIFE_WARM : PST_LIFE_DRAINING;
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

/* It was none of those that a rollout added: there are fewer now than the number stands for. */
static bool is_missed(const struct pst_scaler *scaler, const struct pst_scaler_replica *left)
{
    const struct pst_scaler_seat *seat = &scaler->seats[left->pool];
    struct pst_census c;

    if (another_revision(scaler, left->pool, left) == NULL)
        return true;
    pst_census(scaler, left->pool, &c);
    if (left->is_warm)
        return c.warm + c.warming < seat->config->warm;
    return pst_census_serving(&c) + c.stuck < seat->asked;
}

/* Its leaving was nobody's wish here, and it was, or would have been, of use. */
static bool was_counted_on(const struct pst_scaler_replica *left)
{
    switch ((enum pst_life)left->life) {
    case PST_LIFE_STARTING:
    case PST_LIFE_WARM:
    case PST_LIFE_PROMOTED:
    case PST_LIFE_SERVING:
        return true;
    case PST_LIFE_NONE:
    case PST_LIFE_DRAINING: /* it was to leave, and its replacement is */
    case PST_LIFE_AWAY:     /* what was needed in its place was asked for */
    case PST_LIFE_CANCELLED:
    case PST_LIFE_REMOVED:
    case PST_LIFE_COUNT:
        break;
    }
    return false;
}

void pst_number_left(struct pst_scaler *scaler, const struct pst_scaler_replica *left)
{
    uint16_t other;

    if (!pst_seat_is_marked(&scaler->seats[left->pool]) || !was_counted_on(left) ||
        !is_missed(scaler, left))
        return;
    other = counterpart(scaler, left);
    if (other != PST_SCALER_NOBODY)
        let_stay(scaler, other, former_life(&scaler->replicas[other]));
    else if (scaler->asks_count < scaler->config.replicas_max)
        scaler->asks[scaler->asks_count++] =
            (struct pst_scaler_ask){.pool = left->pool, .warm = left->is_warm, .at = scaler->now};
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

    let_stay(scaler, replica, was_loaded ? PST_LIFE_SERVING : PST_LIFE_STARTING);
}
