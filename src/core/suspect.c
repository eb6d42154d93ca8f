/* suspect.c - see suspect.h. */
#include <stdlib.h>

#include "core/suspect.h"

#include "core/num.h"
#include "core/fleet_internal.h"

#define BODY_KEPT (600 * PST_S)

int pst_suspects_init(struct pst_suspects *suspects, uint32_t tickets_max)
{
    *suspects = (struct pst_suspects){.victims_max = tickets_max};
    suspects->victims = calloc(tickets_max, sizeof *suspects->victims);
    return suspects->victims == NULL ? PST_E_NOMEM : PST_OK;
}

void pst_suspects_done(struct pst_suspects *suspects)
{
    free(suspects->victims);
}

static const struct pst_suspect_body *set_of(const struct pst_suspects *suspects,
                                             uint64_t body_hash)
{
    return suspects->bodies[pst_mix64(body_hash) % PST_SUSPECT_SETS];
}

const struct pst_suspect_body *pst_suspects_find(const struct pst_suspects *suspects,
                                                 uint64_t body_hash, pst_ns now)
{
    const struct pst_suspect_body *set = set_of(suspects, body_hash);

    for (uint32_t i = 0; body_hash != 0 && i < PST_SUSPECT_WAYS; i++) {
        if (set[i].hash == body_hash && set[i].until > now)
            return &set[i];
    }
    return NULL;
}

void pst_suspects_clear(struct pst_suspects *suspects, uint64_t body_hash)
{
    struct pst_suspect_body *set = suspects->bodies[pst_mix64(body_hash) % PST_SUSPECT_SETS];

    for (uint32_t i = 0; i < PST_SUSPECT_WAYS; i++) {
        if (set[i].hash == body_hash)
            set[i] = (struct pst_suspect_body){0};
    }
}

/* The body was in flight at this crash; a crash counts once, however many tickets carried it. */
static void note_body(struct pst_suspects *suspects, uint64_t body_hash, uint8_t crashes,
                      uint16_t crash_id, pst_ns now)
{
    struct pst_suspect_body *set = suspects->bodies[pst_mix64(body_hash) % PST_SUSPECT_SETS];
    struct pst_suspect_body *body = &set[0];

    if (body_hash == 0)
        return;
    for (uint32_t i = 0; i < PST_SUSPECT_WAYS; i++) {
        if (set[i].hash == body_hash) {
            body = &set[i];
            break;
        }
        if (set[i].until < body->until) /* free ones are the oldest */
            body = &set[i];
    }
    if (body->hash != body_hash || body->until <= now)
        *body = (struct pst_suspect_body){.hash = body_hash};
    if (body->crashes == 0 || body->crash_id != crash_id)
        body->crashes++;
    if (body->crashes < crashes)
        body->crashes = crashes;
    body->crash_id = crash_id;
    body->until = pst_add_sat(now, BODY_KEPT);
}

/* Its second crash: wherever it is now, it must not get to a third replica. */
static void condemn(struct pst_fleet *fleet, uint32_t index)
{
    struct pst_fleet_attempt *attempt = &fleet->attempts[index];

    if (attempt->inflight) {
        struct pst_replica *elsewhere = &fleet->replicas[attempt->ticket->replica];

        if (attempt->ticket->first_seen)
            return; /* it is being answered there */
        pst_places_free(fleet, elsewhere, index,
                        pst_fleet_pool_of(fleet, elsewhere)->config.cancel_lag);
        pst_fleet_settle(fleet, elsewhere);
    } else if (attempt->evicted) {
        pst_fleet_unsay_evict(fleet, index);
    }
    pst_fleet_say_evict(fleet, index, PST_VERDICT_FAIL, PST_REASON_REPLICA_DIED);
}

static void blame(struct pst_fleet *fleet, struct pst_fleet_ticket *ticket, uint16_t crash_id)
{
    if (ticket->crashes > 0 && ticket->crash_id == crash_id)
        return; /* lost there twice: still one crash */
    if (ticket->crashes == 0 && ticket->replica != PST_REPLICA_ALL && !ticket->first_seen)
        fleet->replicas[ticket->replica].suspects++;
    if (ticket->crashes < UINT8_MAX)
        ticket->crashes++;
    ticket->crash_id = crash_id;
    ticket->held_until = 0;
    note_body(&fleet->suspects, ticket->body_hash, ticket->crashes, crash_id, fleet->now);
}

/* The ticket of a victim, if it still waits or runs; NULL: its index is another's by now. */
static struct pst_fleet_ticket *alive(const struct pst_fleet *fleet,
                                      const struct pst_victim *victim)
{
    struct pst_fleet_ticket *ticket = fleet->attempts[victim->index].ticket;

    return victim->requeued && ticket != NULL && ticket->serial == victim->serial ? ticket : NULL;
}

/* The n-th newest victim, if it failed no earlier than @since; NULL: there is none. */
static struct pst_victim *recent(struct pst_fleet *fleet, uint32_t n, pst_ns since)
{
    struct pst_suspects *suspects = &fleet->suspects;
    struct pst_victim *victim;

    if (n >= suspects->victims_max)
        return NULL;
    victim = &suspects->victims[(suspects->victims_next + suspects->victims_max - 1 - n) %
                                suspects->victims_max];
    if (victim->serial == 0 || victim->at < since)
        return NULL;
    return victim;
}

static void blame_victim(struct pst_fleet *fleet, struct pst_replica *replica,
                         struct pst_victim *victim, uint16_t crash_id, uint32_t judging)
{
    struct pst_fleet_ticket *ticket = alive(fleet, victim);

    victim->judged = true;
    if (ticket == NULL) {
        note_body(&fleet->suspects, victim->body_hash, 1, crash_id, fleet->now);
        return;
    }
    blame(fleet, ticket, crash_id);
    if (victim->spent) /* a crash is outside the budget … */
        pst_retry_refund(&pst_fleet_pool_of(fleet, replica)->retry, fleet->now);
    if (victim->tried) /* … and no try */
        ticket->tries--;
    if (victim->index != judging && ticket->crashes >= PST_FLEET_CRASHES)
        condemn(fleet, victim->index);
}

void pst_watch_crash(struct pst_fleet *fleet, struct pst_replica *replica, uint32_t judging)
{
    uint16_t crash_id = ++fleet->suspects.crash_ids;
    pst_ns since = pst_sub_sat(fleet->now, PST_WATCH_WINDOW);
    struct pst_victim *victim;

    for (uint32_t n = 0; (victim = recent(fleet, n, since)) != NULL; n++) {
        if (victim->replica == replica->id && !victim->judged)
            blame_victim(fleet, replica, victim, crash_id, judging);
    }
    for (uint32_t i = replica->first; i != PST_FLEET_NONE; i = fleet->attempts[i].next)
        blame(fleet, fleet->attempts[i].ticket, crash_id);
    pst_fleet_evict_all(fleet, replica, PST_EVICTION_CRASH);

    replica->watch = (struct pst_watch){0};
    replica->failures++;
    pst_places_forget_lags(replica);
    pst_slots_crashed(&replica->slots, fleet->taken);
    pst_replica_enter(fleet, replica, PST_REPLICA_LOADING);
}

/* It is counted already: it failed there on a reused connection, and then on a fresh one. */
static bool failed_before(const struct pst_replica *replica, const struct pst_fleet_ticket *ticket)
{
    return replica->watch.failed > 0 && ticket->failed_on == replica->id &&
           ticket->failed_at >= replica->watch.since;
}

struct pst_victim *pst_watch_failed(struct pst_fleet *fleet, struct pst_replica *replica,
                                    uint32_t index, struct pst_fleet_ticket *ticket, bool hard)
{
    struct pst_suspects *suspects = &fleet->suspects;
    struct pst_watch *watch = &replica->watch;
    struct pst_victim *victim = &suspects->victims[suspects->victims_next];

    if (watch->failed == 0) {
        watch->since = fleet->now;
        watch->hard = false;
    }
    if (!failed_before(replica, ticket))
        watch->failed++; /* tickets, not attempts: one alone proves nothing */
    ticket->failed_on = replica->id;
    ticket->failed_at = fleet->now;
    watch->last = fleet->now;
    watch->hard = watch->hard || hard;
    pst_probes_hasten(&replica->probes, fleet->now);

    suspects->victims_next = (suspects->victims_next + 1) % suspects->victims_max;
    *victim = (struct pst_victim){
        .at = fleet->now,
        .serial = ticket->serial,
        .body_hash = ticket->body_hash,
        .index = index,
        .replica = replica->id,
    };
    return victim;
}

void pst_watch_dead(struct pst_fleet *fleet, struct pst_replica *replica)
{
    replica->watch.dead_at = fleet->now;
}

/* It was no crash: who was held may go, or ends as it would have. */
static void acquit(struct pst_fleet *fleet, struct pst_replica *replica)
{
    struct pst_victim *victim;

    for (uint32_t n = 0; (victim = recent(fleet, n, replica->watch.since)) != NULL; n++) {
        const struct pst_fleet_attempt *attempt = &fleet->attempts[victim->index];
        struct pst_fleet_ticket *ticket = alive(fleet, victim);

        if (victim->replica != replica->id || victim->judged)
            continue;
        victim->judged = true;
        if (ticket == NULL || attempt->evicted)
            continue;
        ticket->held_until = 0;
        if (victim->sentence != PST_REASON_NONE)
            pst_fleet_say_evict(fleet, victim->index, PST_VERDICT_FAIL,
                                (enum pst_reason)victim->sentence);
    }
    replica->watch = (struct pst_watch){0};
}

void pst_watch_alive(struct pst_fleet *fleet, struct pst_replica *replica, pst_ns given_at)
{
    if (replica->watch.failed > 0 && given_at >= replica->watch.last)
        acquit(fleet, replica);
}

bool pst_watch_judge(struct pst_fleet *fleet, struct pst_replica *replica, uint32_t judging)
{
    const struct pst_watch *watch = &replica->watch;
    bool dead =
        watch->dead_at != 0 && pst_add_sat(watch->dead_at, PST_WATCH_WINDOW) >= watch->since;

    if (watch->failed == 0 || replica->attempts > 0)
        return false;
    if (!dead && !(watch->failed >= 2 && watch->hard))
        return false;
    pst_watch_crash(fleet, replica, judging);
    return true;
}

void pst_watch_time(struct pst_fleet *fleet, struct pst_replica *replica)
{
    if (pst_watch_deadline(&replica->watch) <= fleet->now)
        acquit(fleet, replica);
}
