/*
 * fleet.h - the fleet as the gate sees it: which replica may be sent what, and what a failure means.
 *
 * Why: engines accept connections long before they can answer, answer /health while hung, and die of
 * one prompt. Queues must not know any of that: they ask for a place and report how an attempt ended.
 *
 *   STARTING --> LOADING --probe ok--> READY --drain--> DRAINING --idle | deadline--> GONE
 *                   ^                  |   ^
 *                   |  refused, 503    |   | answer
 *                   +------------------+   |
 *                   +--- SUSPECT <-- fails, silence, crash
 *
 * A replica may be kept WARM instead of READY, until PROMOTE: asked how it is, and sent nothing.
 *
 * Guarantee: a replica that is not READY is given no place; places given never exceed its slots (the
 * least of all sources, fewer in slow start, one after an unexplained 500 or reset); probes that
 * merely time out take at most half of the ready set, rounded up.
 */
#ifndef PST_CORE_REPLICA_H
#define PST_CORE_REPLICA_H

#include "core/gate.h"

struct pst_fleet; /* all replicas of one gate, with retry budget and suspects */

int pst_fleet_new(const struct pst_gate_config *config, struct pst_fleet **ret_fleet);
void pst_fleet_free(struct pst_fleet *fleet);
int pst_fleet_reconfigure(struct pst_fleet *fleet, const struct pst_gate_config *config);

/* What the fleet must know of a ticket; kept inside the gate's ticket, opaque to the queues. */
struct pst_fleet_ticket {
    uint64_t body_hash;
    uint64_t affinity;
    uint32_t attempts;     /* dispatches so far, counted by take */
    uint32_t tries;        /* of them, ended by reset, cut, error event or stall */
    uint16_t replica;      /* of the attempt in flight; PST_REPLICA_ALL: none */
    uint16_t last_replica; /* to be avoided in the next attempt; PST_REPLICA_ALL: none */
    uint16_t sequences;
    uint8_t crashes;        /* replicas that died with it in flight: 1 makes it a suspect */
    uint8_t error_statuses; /* 5xx answers so far */
    uint8_t same_again;     /* next attempt: same replica, fresh connection */
    uint8_t first_seen;
    uint16_t crash_id;  /* which crash made it a suspect */
    uint16_t failed_on; /* its last failure that may be part of a crash: where, and when */
    pst_ns failed_at;
    uint64_t taken;    /* running number of its place */
    uint64_t serial;   /* tells it from later tickets of the same index */
    pst_ns held_until; /* no place before: was its replica's failure a crash? */
};

/*
 * Call once, before the ticket is queued, with body_hash, affinity and sequences set; sets the rest. A
 * client's own retry inherits the crash count of its body. False: that body has crashed two replicas;
 * finish it as failed with REPLICA_DIED.
 */
bool pst_fleet_admit(struct pst_fleet *fleet, struct pst_fleet_ticket *ticket, pst_ns now);

/*
 * A place for this ticket on a ready replica of the pool, or false: none now. Takes nothing. With
 * `replica` chosen by least outstanding work, affinity with bounded load, slow start, progress.
 *
 * A suspect (crashes > 0) and a ticket that is held (held_until > now, up to 1 s) may find no place
 * while others would: when pst_fleet_is_picky says so, false means "look at the next ticket", not
 * "nothing is free".
 */
bool pst_fleet_choose(struct pst_fleet *fleet, uint16_t pool, const struct pst_fleet_ticket *ticket,
                      pst_ns now, uint16_t *ret_replica);

static inline bool pst_fleet_is_picky(const struct pst_fleet_ticket *ticket, pst_ns now)
{
    return ticket->crashes != 0 || ticket->held_until > now ||
           ticket->last_replica != PST_REPLICA_ALL;
}

/* The place is taken: in flight rises by the ticket's sequences. work: estimated slot-time. */
void pst_fleet_take(struct pst_fleet *fleet, uint32_t ticket_index, struct pst_fleet_ticket *ticket,
                    uint16_t replica, pst_ns work, pst_ns now);
/* First byte of an answer. */
void pst_fleet_first(struct pst_fleet *fleet, struct pst_fleet_ticket *ticket, pst_ns now);

/* What the gate must do with the ticket of an ended attempt. */
enum pst_verdict {
    PST_VERDICT_DONE,    /* finish: done */
    PST_VERDICT_REQUEUE, /* to the head of its queue; it may run when a place is free */
    PST_VERDICT_FAIL,    /* finish: failed with *ret_reason */
};

/*
 * An attempt ended: the failure table of the policy. Frees the place, judges the replica, spends the
 * retry budget.
 */
enum pst_verdict pst_fleet_end(struct pst_fleet *fleet, uint32_t ticket_index,
                               struct pst_fleet_ticket *ticket, enum pst_end end,
                               uint32_t retry_after_ms, pst_ns now, enum pst_reason *ret_reason);
/*
 * The gate closed the attempt (client left, limit): the place comes free after the engine's lag.
 * unanswered: it was a stream without a first byte within its limit. Silence that is no stream's is
 * normal and says nothing.
 */
void pst_fleet_release(struct pst_fleet *fleet, uint32_t ticket_index,
                       struct pst_fleet_ticket *ticket, bool unanswered, pst_ns now);

/*
 * The ticket is finished, in whatever way: what is found out of its attempts later, and an EVICT that
 * was not polled yet, concern it no more. Its index may be another's next.
 */
void pst_fleet_forget(struct pst_fleet *fleet, uint32_t ticket_index,
                      struct pst_fleet_ticket *ticket);

void pst_fleet_replica(struct pst_fleet *fleet, const struct pst_gate_event *event);
void pst_fleet_probe(struct pst_fleet *fleet, const struct pst_gate_event *event);
void pst_fleet_slots(struct pst_fleet *fleet, const struct pst_gate_event *event);
void pst_fleet_progress(struct pst_fleet *fleet, const struct pst_gate_event *event);
void pst_fleet_engine(struct pst_fleet *fleet, const struct pst_gate_event *event);
void pst_fleet_drain(struct pst_fleet *fleet, uint16_t replica, pst_ns until, pst_ns now);
void pst_fleet_undrain(struct pst_fleet *fleet, uint16_t replica, pst_ns now);
/* One that is kept warm takes work from now on, or as soon as it is loaded. */
void pst_fleet_promote(struct pst_fleet *fleet, const struct pst_gate_event *event);

/* Time alone: probes due, stalls, slow start, lags, trials after FULL, forgotten suspects. */
void pst_fleet_time(struct pst_fleet *fleet, pst_ns now);
pst_ns pst_fleet_deadline(const struct pst_fleet *fleet);

/*
 * What the fleet wants done, one at a time, until false: CHECK, DRAINED{replica}, STATE; and the
 * tickets whose replica is taken for dead, as EVICT: the gate closes each attempt and obeys the verdict.
 * EVICT with FAIL may also come for a ticket that was requeued (no attempt to close): its failure turned
 * out to be its second crash; or no crash, and its tries or the budget had run out.
 */
struct pst_fleet_order {
    enum { PST_FLEET_ACTION, PST_FLEET_EVICT } kind;
    struct pst_gate_action action; /* ACTION */
    uint32_t ticket_index;         /* EVICT: the attempt is closed, its place already free */
    enum pst_verdict verdict;
    enum pst_reason reason;
};
bool pst_fleet_has_orders(const struct pst_fleet *fleet); /* false: poll would find none */
bool pst_fleet_poll(struct pst_fleet *fleet, struct pst_fleet_order *ret_order);

/* Capacity as the queues need it. */
struct pst_fleet_capacity {
    uint32_t ready;          /* replicas that may be sent work */
    uint32_t known;          /* replicas not gone */
    uint32_t slots;          /* of the ready ones, all sources and slow start counted */
    uint32_t inflight;       /* sequences in flight, lagging places counted */
    uint32_t free;           /* slots - inflight, of ready ones */
    uint32_t starting_slots; /* of replicas starting or loading, and not to be kept warm */
    /* When the first of them is ready, by the P90 of measured starts; PST_NEVER: none measured yet. */
    pst_ns starting_ready_at;
};
/* Kept, and always right between calls: whoever asks often may hold on to it as long as to the fleet. */
const struct pst_fleet_capacity *pst_fleet_capacity(const struct pst_fleet *fleet, uint16_t pool);

/* Replicas of a pool by state. O(1). */
void pst_fleet_states(const struct pst_fleet *fleet, uint16_t pool,
                      uint32_t ret_count[PST_REPLICA_STATE_COUNT]);
/* False: no such replica. */
bool pst_fleet_replica_view(const struct pst_fleet *fleet, uint16_t replica,
                            struct pst_gate_replica_view *ret_view);
/* Every count re-added and compared, asserted. O(replicas + tickets). */
void pst_fleet_verify(const struct pst_fleet *fleet);

#endif
