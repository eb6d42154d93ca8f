/* census.c - one pool's replicas, counted by what they are good for. */
#include "core/num.h"
#include "core/scaler_internal.h"

pst_ns pst_census_start_time(const struct pst_scaler_seat *seat)
{
    return pst_starts_p90(&seat->cold, seat->config->start_time);
}

pst_ns pst_census_promotion_time(const struct pst_scaler_seat *seat)
{
    return pst_starts_p90(&seat->promotion, seat->config->warm_time);
}

/* Twice what nine of ten needed, or given up: nobody plans with it any more. */
bool pst_census_is_stuck(const struct pst_scaler_seat *seat, pst_ns since, pst_ns now)
{
    pst_ns age = pst_sub_sat(now, since);

    return age > 2 * pst_max_u64(pst_census_start_time(seat), PST_SCALER_PERIOD) ||
           (seat->config->start_timeout != 0 && age >= seat->config->start_timeout);
}

/* One that will serve, `usual` after `since`; an overdue one is expected any time. */
static void count_coming(struct pst_census *c, const struct pst_scaler_seat *seat, pst_ns since,
                         pst_ns usual, pst_ns now)
{
    pst_ns in = pst_max_u64(pst_sub_sat(usual, pst_sub_sat(now, since)), PST_SCALER_PERIOD);
    pst_ns soon = pst_max_u64(pst_census_promotion_time(seat), PST_SCALER_PERIOD);

    if (pst_census_is_stuck(seat, since, now)) {
        c->stuck++;
        return;
    }
    if (c->coming == 0 || in < c->coming_in)
        c->coming_in = in;
    c->coming_all = pst_max_u64(c->coming_all, in);
    c->coming++;
    c->coming_soon += in <= soon;
}

static void count_replica(struct pst_census *c, const struct pst_scaler_seat *seat,
                          const struct pst_scaler_replica *r, pst_ns now)
{
    switch ((enum pst_life)r->life) {
    case PST_LIFE_NONE:
        break;
    case PST_LIFE_STARTING:
        if (r->is_warm)
            c->warming++;
        else
            count_coming(c, seat, r->born, pst_census_start_time(seat), now);
        c->trying += r->op != 0 && r->born > seat->backoff.failed_at;
        break;
    case PST_LIFE_WARM:
        if (pst_replica_is_loaded(r))
            c->warm++;
        else
            c->warming++;
        break;
    case PST_LIFE_PROMOTED:
        count_coming(c, seat, r->since, pst_census_promotion_time(seat), now);
        break;
    case PST_LIFE_SERVING:
        if (r->state == PST_REPLICA_READY)
            c->ready++;
        else
            count_coming(c, seat, r->since, pst_census_start_time(seat), now);
        break;
    case PST_LIFE_DRAINING:
        c->draining++;
        break;
    case PST_LIFE_AWAY:
        c->leaving++;
        c->dropped += r->going;
        break;
    case PST_LIFE_CANCELLED:
    case PST_LIFE_REMOVED:
        c->leaving++;
        c->dropped++;
        break;
    case PST_LIFE_COUNT:
        PST_ASSERT(false);
    }
}

void pst_census(const struct pst_scaler *scaler, uint16_t pool, struct pst_census *ret_census)
{
    const struct pst_scaler_seat *seat = &scaler->seats[pool];
    struct pst_census c = {0};

    for (uint32_t r = 0; r < scaler->replicas_top; r++) {
        const struct pst_scaler_replica *replica = &scaler->replicas[r];

        if (replica->life == PST_LIFE_NONE || replica->pool != pool)
            continue;
        count_replica(&c, seat, replica, scaler->now);
        c.recallable += pst_number_is_recallable(scaler, replica);
    }
    for (uint32_t i = 0; i < scaler->asks_count; i++) {
        const struct pst_scaler_ask *ask = &scaler->asks[i];

        if (ask->pool != pool)
            continue;
        c.dropped += ask->unwanted;
        if (ask->unwanted)
            c.leaving++;
        else if (ask->warm)
            c.warming++;
        else
            count_coming(&c, seat, ask->at, pst_census_start_time(seat), scaler->now);
        c.trying += !ask->unwanted && ask->at > seat->backoff.failed_at;
    }
    *ret_census = c;
}
