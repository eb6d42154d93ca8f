/* fleet_failure.c - what the end of an attempt means for its replica and for its ticket: the failure table. */
#include "core/num.h"
#include "core/fleet_internal.h"

/* What the end says of the replica. */
enum effect {
    EFFECT_ANSWERED,
    EFFECT_NONE,
    EFFECT_NOT_UP,
    EFFECT_FULL,
    EFFECT_FAILED, /* without a reason given */
};

/* What becomes of a ticket whose answer has not begun. */
enum fate {
    FATE_DONE,
    FATE_AGAIN, /* outside the budget, bounded by its ttl */
    FATE_SAME,  /* once on the same replica, on a fresh connection, outside the budget */
    FATE_ONCE,  /* once elsewhere, inside the budget */
    FATE_TRIES, /* elsewhere up to the pool's tries, inside the budget */
};

/* May it be one of the failures of a crash? See suspect.h. */
enum watched { WATCHED_NO, WATCHED_SOFT, WATCHED_HARD };

static const struct row {
    enum effect effect;
    enum fate fate;
    enum watched watched;
    enum pst_reason reason; /* if it is not tried again */
} rows[PST_END_COUNT] = {
    [PST_END_DONE] = {EFFECT_ANSWERED, FATE_DONE, WATCHED_NO, PST_REASON_NONE},
    [PST_END_REFUSED] = {EFFECT_NOT_UP, FATE_AGAIN, WATCHED_NO, PST_REASON_NONE},
    [PST_END_LOADING] = {EFFECT_NOT_UP, FATE_AGAIN, WATCHED_NO, PST_REASON_NONE},
    [PST_END_RESET_REUSED] = {EFFECT_NONE, FATE_SAME, WATCHED_SOFT, PST_REASON_UPSTREAM_RESET},
    [PST_END_FULL] = {EFFECT_FULL, FATE_AGAIN, WATCHED_NO, PST_REASON_NONE},
    [PST_END_ERROR_STATUS] = {EFFECT_FAILED, FATE_ONCE, WATCHED_NO, PST_REASON_PASSED_ON},
    /* There is no answer that could be passed on. */
    [PST_END_BAD_FRAMING] = {EFFECT_FAILED, FATE_ONCE, WATCHED_NO, PST_REASON_UPSTREAM_RESET},
    [PST_END_RESET] = {EFFECT_FAILED, FATE_TRIES, WATCHED_HARD, PST_REASON_UPSTREAM_RESET},
    [PST_END_CUT] = {EFFECT_FAILED, FATE_TRIES, WATCHED_HARD, PST_REASON_UPSTREAM_RESET},
    [PST_END_ERROR_EVENT] = {EFFECT_FAILED, FATE_TRIES, WATCHED_SOFT, PST_REASON_UPSTREAM_RESET},
    [PST_END_STALL] = {EFFECT_FAILED, FATE_TRIES, WATCHED_NO, PST_REASON_UPSTREAM_STALL},
};

struct judgement {
    enum pst_verdict verdict;
    enum pst_reason reason;
    bool tried; /* one of the ticket's tries */
    bool spent; /* from the retry budget */
};

static struct judgement fail(enum pst_reason reason)
{
    return (struct judgement){.verdict = PST_VERDICT_FAIL, .reason = reason};
}

static struct judgement requeue(void)
{
    return (struct judgement){.verdict = PST_VERDICT_REQUEUE, .reason = PST_REASON_NONE};
}

/*
 * Outside the budget: a trial of a replica that has answered nothing since it failed, while another could
 * have answered. It is the fleet's curiosity, not the ticket's need; and it multiplies nothing: one at a
 * time, and `probe_fall` failures make the replica suspect. So what one replica takes from the budget
 * between two answers of its own is at most what it had in flight: the floor.
 */
static struct judgement spend(struct pst_fleet *fleet, const struct pst_replica *replica,
                              const struct pst_fleet_ticket *ticket, enum pst_reason reason)
{
    struct pst_fleet_pool *pool = pst_fleet_pool_of(fleet, replica);
    struct judgement judgement = requeue();

    if (pst_slots_is_trial(&replica->slots, ticket->taken) &&
        pst_fleet_trusts_another(fleet, pool, replica->id))
        return judgement;
    if (!pst_retry_spend(&pool->retry, pool->config.retry_budget_ppm, pool->config.slots,
                         fleet->now))
        return fail(reason);
    judgement.spent = true;
    return judgement;
}

/* What becomes of the ticket, were it not a crash. The replica is as it was before this failure. */
static struct judgement judge(struct pst_fleet *fleet, const struct pst_replica *replica,
                              struct pst_fleet_ticket *ticket, const struct row *row)
{
    struct judgement judgement;
    enum fate fate = row->fate;

    if (fate == FATE_DONE)
        return (struct judgement){.verdict = PST_VERDICT_DONE, .reason = PST_REASON_NONE};
    if (ticket->first_seen)
        return fail(PST_REASON_BROKEN);
    if (fate == FATE_SAME) {
        if (!ticket->same_again) {
            ticket->same_again = 1;
            return requeue();
        }
        fate = FATE_TRIES; /* that connection was fresh: a reset like any other */
    }
    ticket->same_again = 0;
    if (fate == FATE_AGAIN)
        return requeue();
    if (fate == FATE_ONCE) {
        ticket->error_statuses++;
        return ticket->error_statuses > 1 ? fail(row->reason)
                                          : spend(fleet, replica, ticket, row->reason);
    }
    ticket->tries++;
    judgement = ticket->tries >= pst_fleet_pool_of(fleet, replica)->config.tries_max
                    ? fail(row->reason)
                    : spend(fleet, replica, ticket, row->reason);
    judgement.tried = true;
    return judgement;
}

static void affect(struct pst_fleet *fleet, struct pst_replica *replica,
                   const struct pst_fleet_attempt *attempt, enum effect effect, pst_ns retry_after)
{
    const struct pst_fleet_pool *pool = pst_fleet_pool_of(fleet, replica);

    if (effect == EFFECT_ANSWERED) {
        replica->proved = true;
        if (!attempt->ticket->first_seen)
            pst_slots_succeeded(&replica->slots, attempt->ticket->taken, fleet->now);
        if (attempt->ticket->crashes > 0)
            pst_suspects_clear(&fleet->suspects, attempt->ticket->body_hash);
        pst_replica_heard(fleet, replica);
    } else if (effect == EFFECT_NOT_UP) {
        replica->failures++;
        pst_slots_caution(&replica->slots, fleet->taken);
        pst_watch_dead(fleet, replica);
        pst_replica_not_up(fleet, replica);
    } else if (effect == EFFECT_FULL) {
        pst_slots_refused(&replica->slots, attempt->ticket->taken, fleet->taken, replica->places,
                          retry_after, fleet->now);
    } else if (effect == EFFECT_FAILED) {
        replica->failures++;
        pst_slots_failed(&replica->slots, attempt->ticket->taken, fleet->taken);
        if (replica->slots.failures >= pool->config.probe_fall)
            pst_replica_suspect(fleet, replica, PST_SUSPICION_ERRORS);
    }
}

/* A failure that may be part of a crash: until that is known, the ticket is held. */
static void watch(struct pst_fleet *fleet, struct pst_replica *replica, uint32_t index,
                  struct pst_fleet_ticket *ticket, enum watched watched,
                  struct judgement *judgement)
{
    struct pst_victim *victim = pst_watch_failed(
        fleet, replica, index, ticket,
        watched == WATCHED_HARD || ticket->crashes > 0); /* a suspect's is no chance */

    victim->requeued = !ticket->first_seen;
    victim->tried = judgement->tried;
    victim->spent = judgement->spent;
    victim->sentence = (uint8_t)judgement->reason;
    if (pst_watch_judge(fleet, replica, index)) {
        if (ticket->first_seen)
            return;
        *judgement =
            ticket->crashes >= PST_FLEET_CRASHES ? fail(PST_REASON_REPLICA_DIED) : requeue();
        return;
    }
    if (ticket->first_seen)
        return;
    *judgement =
        requeue(); /* even one that must end: a crash would be outside of tries and budget */
    ticket->held_until = pst_watch_deadline(&replica->watch);
}

/*
 * Lost here a moment ago, and now the port refuses: a crash, even if a probe was answered in between by
 * what was left of the process.
 */
static bool lost_and_refused(const struct pst_fleet *fleet, const struct pst_replica *replica,
                             const struct pst_fleet_ticket *ticket, const struct row *row)
{
    return row->effect == EFFECT_NOT_UP && ticket->failed_at > 0 &&
           ticket->failed_on == replica->id && fleet->now - ticket->failed_at <= PST_WATCH_WINDOW;
}

enum pst_verdict pst_fleet_end(struct pst_fleet *fleet, uint32_t ticket_index,
                               struct pst_fleet_ticket *ticket, enum pst_end end,
                               uint32_t retry_after_ms, pst_ns now, enum pst_reason *ret_reason)
{
    struct pst_fleet_attempt *attempt = &fleet->attempts[ticket_index];
    const struct row *row = &rows[end];
    struct pst_fleet_pool *pool;
    struct pst_replica *replica;
    struct judgement judgement;
    bool stalled;

    PST_ASSERT(end < PST_END_COUNT && attempt->ticket == ticket);
    fleet->now = pst_max_u64(fleet->now, now);
    if (attempt->evicted) { /* judged already; the gate did not poll yet */
        pst_fleet_unsay_evict(fleet, ticket_index);
        *ret_reason = attempt->reason;
        return attempt->verdict;
    }
    PST_ASSERT(attempt->inflight);
    replica = &fleet->replicas[ticket->replica];
    pool = pst_fleet_pool_of(fleet, replica);
    /* This stream was silent for its limit: was every other one, too? */
    stalled = end == PST_END_STALL &&
              pst_progress_stalled(&replica->progress, replica->begun, pool->config.stall,
                                   pst_add_sat(fleet->now, PST_PROGRESS_PERIOD));

    pst_places_free(fleet, replica, ticket_index, 0);
    judgement = judge(fleet, replica, ticket, row);
    affect(fleet, replica, attempt, row->effect, retry_after_ms * PST_MS);
    if (lost_and_refused(fleet, replica, ticket, row))
        watch(fleet, replica, ticket_index, ticket, WATCHED_HARD, &judgement);
    else if (row->watched != WATCHED_NO)
        watch(fleet, replica, ticket_index, ticket, row->watched, &judgement);
    else if (row->effect == EFFECT_NOT_UP)
        pst_watch_judge(fleet, replica, PST_FLEET_NONE);
    if (stalled)
        pst_replica_stalled(fleet, replica);
    pst_fleet_settle(fleet, replica);

    *ret_reason = judgement.reason;
    return judgement.verdict;
}

void pst_fleet_release(struct pst_fleet *fleet, uint32_t ticket_index,
                       struct pst_fleet_ticket *ticket, bool unanswered, pst_ns now)
{
    struct pst_fleet_attempt *attempt = &fleet->attempts[ticket_index];
    const struct pst_gate_pool *config;
    struct pst_replica *replica;

    fleet->now = pst_max_u64(fleet->now, now);
    if (attempt->evicted) {
        pst_fleet_unsay_evict(fleet, ticket_index);
        return;
    }
    if (ticket->replica == PST_REPLICA_ALL)
        return;
    replica = &fleet->replicas[ticket->replica];
    config = &pst_fleet_pool_of(fleet, replica)->config;

    /* The replica said nothing to anybody, either: one of several such in a row. */
    if (unanswered && replica->progress.heard_at <= attempt->taken_at) {
        replica->progress.unanswered++;
        if (replica->progress.unanswered >= config->probe_fall)
            pst_replica_suspect(fleet, replica, PST_SUSPICION_SILENCE);
    }
    pst_places_free(fleet, replica, ticket_index, config->cancel_lag);
    pst_fleet_settle(fleet, replica);
}

void pst_fleet_forget(struct pst_fleet *fleet, uint32_t ticket_index,
                      struct pst_fleet_ticket *ticket)
{
    PST_ASSERT(ticket->replica == PST_REPLICA_ALL);
    if (fleet->attempts[ticket_index].evicted)
        pst_fleet_unsay_evict(fleet, ticket_index);
    ticket->serial = 0;
}

static struct judgement judge_eviction(struct pst_fleet *fleet, const struct pst_replica *replica,
                                       struct pst_fleet_ticket *ticket, enum pst_eviction why)
{
    if (ticket->first_seen)
        return fail(PST_REASON_BROKEN);
    ticket->same_again = 0;
    switch (why) {
    case PST_EVICTION_REMOVED:
        return requeue();
    case PST_EVICTION_STALL:
        return judge(fleet, replica, ticket, &rows[PST_END_STALL]);
    case PST_EVICTION_CRASH:
        return ticket->crashes >= PST_FLEET_CRASHES ? fail(PST_REASON_REPLICA_DIED) : requeue();
    case PST_EVICTION_COUNT:
        break;
    }
    PST_ASSERT(!"a reason of fleet_internal.h");
    return requeue();
}

void pst_fleet_evict_all(struct pst_fleet *fleet, struct pst_replica *replica,
                         enum pst_eviction why)
{
    while (replica->first != PST_FLEET_NONE) {
        uint32_t index = replica->first;
        struct pst_fleet_ticket *ticket = fleet->attempts[index].ticket;
        struct judgement judgement = judge_eviction(fleet, replica, ticket, why);

        pst_places_free(fleet, replica, index, 0);
        pst_fleet_say_evict(fleet, index, judgement.verdict, judgement.reason);
    }
}
