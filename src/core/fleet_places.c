/* fleet_places.c - who is in flight where; see fleet_internal.h. */
#include "core/num.h"
#include "core/fleet_internal.h"

void pst_places_take(struct pst_fleet *fleet, struct pst_replica *replica, uint32_t index,
                     struct pst_fleet_ticket *ticket, pst_ns work)
{
    struct pst_fleet_attempt *attempt = &fleet->attempts[index];
    uint32_t base = pst_slots_base(&replica->slots, fleet->now);

    PST_ASSERT(!attempt->inflight && !attempt->evicted);
    *attempt = (struct pst_fleet_attempt){
        .ticket = ticket,
        .work = work,
        .taken_at = fleet->now,
        .places = (uint32_t)pst_min_u64(ticket->sequences, base),
        .next = replica->first,
        .previous = PST_FLEET_NONE,
        .inflight = true,
    };
    ticket->taken = ++fleet->taken;
    if (replica->first != PST_FLEET_NONE)
        fleet->attempts[replica->first].previous = index;
    replica->first = index;

    if (replica->attempts == 0)
        pst_progress_begin(&replica->progress, fleet->now);
    replica->attempts++;
    replica->places += attempt->places;
    if (replica->places > replica->places_most)
        replica->places_most = replica->places;
    replica->work = pst_add_sat(replica->work, work);
    replica->last_taken = ticket->taken;
    if (ticket->crashes > 0)
        replica->suspects++;
}

static void fewer(struct pst_replica *replica, uint32_t places)
{
    replica->places -= places;
    if (replica->places < replica->places_least)
        replica->places_least = replica->places;
}

static void lag(struct pst_replica *replica, uint32_t places, pst_ns until)
{
    struct pst_lags *lags = &replica->lags;
    uint32_t newest = (lags->first + lags->count - 1) % PST_FLEET_LAGS;

    if (lags->count == PST_FLEET_LAGS) { /* no room: the newest waits for this one too */
        lags->ring[newest].places += places;
        lags->ring[newest].until = pst_max_u64(lags->ring[newest].until, until);
        return;
    }
    newest = (lags->first + lags->count) % PST_FLEET_LAGS;
    lags->ring[newest].places = places;
    lags->ring[newest].until = until;
    lags->count++;
}

void pst_places_free(struct pst_fleet *fleet, struct pst_replica *replica, uint32_t index,
                     pst_ns lag_for)
{
    struct pst_fleet_attempt *attempt = &fleet->attempts[index];
    struct pst_fleet_ticket *ticket = attempt->ticket;

    PST_ASSERT(attempt->inflight && ticket->replica == replica->id);
    if (attempt->previous != PST_FLEET_NONE)
        fleet->attempts[attempt->previous].next = attempt->next;
    else
        replica->first = attempt->next;
    if (attempt->next != PST_FLEET_NONE)
        fleet->attempts[attempt->next].previous = attempt->previous;
    attempt->inflight = false;

    replica->attempts--;
    replica->work = pst_sub_sat(replica->work, attempt->work);
    if (ticket->first_seen)
        replica->begun--;
    else if (ticket->crashes > 0)
        replica->suspects--;
    pst_progress_left(&replica->progress, replica->begun);

    if (lag_for > 0 && attempt->places > 0)
        lag(replica, attempt->places, pst_add_sat(fleet->now, lag_for));
    else
        fewer(replica, attempt->places);
    ticket->last_replica = replica->id;
    ticket->replica = PST_REPLICA_ALL;
}

void pst_places_forget_lags(struct pst_replica *replica)
{
    pst_places_expire_lags(replica, PST_NEVER);
}

void pst_places_expire_lags(struct pst_replica *replica, pst_ns now)
{
    struct pst_lags *lags = &replica->lags;

    while (lags->count > 0 && lags->ring[lags->first].until <= now) {
        fewer(replica, lags->ring[lags->first].places);
        lags->first = (lags->first + 1) % PST_FLEET_LAGS;
        lags->count--;
    }
}

void pst_places_verify(const struct pst_fleet *fleet, const struct pst_replica *replica)
{
    uint32_t attempts = 0, begun = 0, suspects = 0, places = replica->probe_placed ? 1 : 0;

    for (uint32_t i = replica->first; i != PST_FLEET_NONE; i = fleet->attempts[i].next) {
        const struct pst_fleet_attempt *attempt = &fleet->attempts[i];

        PST_ASSERT(attempt->inflight && attempt->ticket->replica == replica->id);
        attempts++;
        places += attempt->places;
        begun += attempt->ticket->first_seen;
        suspects += !attempt->ticket->first_seen && attempt->ticket->crashes > 0;
    }
    for (uint32_t i = 0; i < replica->lags.count; i++)
        places += replica->lags.ring[(replica->lags.first + i) % PST_FLEET_LAGS].places;
    PST_ASSERT(attempts == replica->attempts && begun == replica->begun);
    PST_ASSERT(suspects == replica->suspects && places == replica->places);
}
