/*
 * fleet_internal.h - the fleet's memory, shared by the files behind fleet.h.
 *
 * Who does what:
 *   fleet.c           the facade: events in, time
 *   fleet_lifecycle.c a replica's state machine and the probes that drive it
 *   fleet_failure.c   what the end of an attempt means: the failure table
 *   suspect.c         was it a crash, and whose fault may it be
 *   fleet_places.c    who is in flight where, and places of closed attempts that the engine still holds
 *   fleet_capacity.c  sums per pool, kept right by one function: settle
 *   fleet_ladder.c    the replicas of a pool in the order in which they would be chosen
 *   fleet_choose.c    which replica a ticket goes to
 *   fleet_engine.c    what an engine says of itself
 *   fleet_poll.c      what the gate is told to do
 * and the leaves that know no fleet: slots, probe, progress, retry, hearsay.
 *
 * Guarantee: whoever changes a replica calls pst_fleet_settle on it before the facade returns; then the
 * sums and the deadline are right.
 */
#ifndef PST_CORE_FLEET_INTERNAL_H
#define PST_CORE_FLEET_INTERNAL_H

#include "core/hearsay.h"
#include "core/hist.h"
#include "core/prng.h"
#include "core/probe.h"
#include "core/progress.h"
#include "core/fleet.h"
#include "core/retry.h"
#include "core/slots.h"
#include "core/suspect.h"

#define PST_FLEET_NONE    UINT32_MAX
#define PST_FLEET_LAGS    32
#define PST_FLEET_CRASHES 2 /* replicas that may die with a ticket before it is given up */

/* An attempt in flight, by ticket index; or a ticket that the gate must be told about. */
struct pst_fleet_attempt {
    struct pst_fleet_ticket *ticket;
    pst_ns work;
    pst_ns taken_at;
    uint32_t places;
    uint32_t next; /* in the replica's list, or in the list of evictions */
    uint32_t previous;
    bool inflight;
    bool evicted;
    uint8_t verdict; /* of an evicted one */
    uint8_t reason;
};

/* Why a replica is suspect: decides whether an answer of its own makes it ready again. */
enum pst_suspicion {
    PST_SUSPICION_PROBES,
    PST_SUSPICION_ERRORS,
    PST_SUSPICION_TIMEOUTS,
    PST_SUSPICION_SILENCE,
    PST_SUSPICION_COUNT
};

/* Places of closed attempts, in the order in which the engine lets go of them. */
struct pst_lags {
    struct {
        pst_ns until;
        uint32_t places;
    } ring[PST_FLEET_LAGS];
    uint32_t first;
    uint32_t count;
};

/* What a pool's sums are made of. */
struct pst_counted {
    uint32_t state; /* as shown */
    uint32_t limit;
    uint32_t places;
    uint32_t starting;
};

/* What a plain ticket chooses by. */
struct pst_rung {
    uint64_t work;       /* outstanding, more where there is no progress */
    uint64_t last_taken; /* the fleet's number of its newest place */
    uint64_t joined;
    uint32_t limit;
    uint32_t places;
    uint16_t replica;
};

struct pst_replica {
    uint16_t id;
    uint16_t pool;
    uint8_t state; /* enum pst_replica_state, never DRAINING: that lies over it */
    uint8_t suspicion;
    bool draining;
    bool warm;         /* loaded, it waits to be promoted */
    bool own_slots;    /* told with the replica, not the pool's */
    bool proved;       /* an answer since it was last ready */
    bool start_seen;   /* it was seen not to be ready, so its start time can be measured */
    bool probe_placed; /* a MODEL probe holds a place */
    uint32_t revision;
    uint64_t dispatched;
    uint64_t failures;

    struct pst_slots slots;
    struct pst_probes probes;
    struct pst_progress progress;
    struct pst_watch watch;
    struct pst_lags lags;

    uint32_t first;                     /* attempt in flight, by ticket index; PST_FLEET_NONE */
    uint32_t attempts;                  /* in flight */
    uint32_t begun;                     /* of them, past their first byte */
    uint32_t suspects;                  /* of them, suspects before their first byte */
    uint32_t places;                    /* taken: by attempts, lags and a MODEL probe */
    uint32_t places_most, places_least; /* since its engine last spoke of itself */
    uint64_t work;
    uint64_t last_taken;

    pst_ns since; /* in its state */
    pst_ns started_at;
    pst_ns pace; /* between probes while it loads, before jitter */
    pst_ns drain_until;
    pst_ns asleep_until; /* it said that it sleeps: believed for so long */
    pst_ns due;          /* when time alone changes it */

    struct pst_counted counted; /* what pst_fleet_settle last added to the pool's sums */
    uint32_t rung_at;           /* on its pool's ladder; PST_FLEET_NONE: it has no free place */
    uint64_t joined;            /* grows with each joining of a pool */

    /* What the gate is to be told; see fleet_poll.c. */
    bool queued; /* in the list of those with orders */
    uint16_t queue_next;
    uint8_t told_state;
    bool check_wanted;
    uint8_t check;
    bool drained_wanted;
    bool drained_told;
    bool drained_complete;
    uint32_t drained_left;

    bool still_asked; /* how it is, since its engine's counter stands still */
    struct pst_hearsay hearsay;
};

struct pst_fleet_pool {
    struct pst_gate_pool config;
    struct pst_fleet_capacity capacity;
    uint32_t states[PST_REPLICA_STATE_COUNT];
    struct pst_retry retry;
    struct pst_hist starts; /* loading to ready, ns */
    uint32_t count;
    uint16_t members[PST_REPLICAS_MAX];
    struct pst_rung ladder[PST_REPLICAS_MAX]; /* of those with a free place; the first is best */
    uint32_t ladder_count;
    pst_ns weighed_until; /* not after the first change by time of a rung's work */
};

struct pst_fleet {
    pst_ns now;
    pst_ns due;       /* not after the first thing that time alone changes */
    uint64_t taken;   /* places given so far */
    uint64_t serials; /* tickets admitted so far */
    uint64_t joins;   /* replicas that joined a pool so far */
    uint32_t tickets_max;
    uint32_t replicas_max;
    uint32_t pools_count;
    struct pst_prng prng;
    struct pst_fleet_pool pools[PST_POOLS_MAX];
    struct pst_replica *replicas;
    struct pst_fleet_attempt *attempts; /* by ticket index */
    uint32_t evict_first;
    uint32_t evict_last;
    uint16_t queue_first; /* replicas with orders; PST_REPLICA_ALL: none */
    uint16_t queue_last;
    struct pst_suspects suspects;
};

/* May be sent work, and has failed nothing since its last answer. */
static inline bool pst_fleet_is_trusted(const struct pst_replica *replica)
{
    return replica->counted.state == PST_REPLICA_READY && replica->counted.limit > 0 &&
           !replica->slots.cautious;
}

static inline struct pst_fleet_pool *pst_fleet_pool_of(struct pst_fleet *fleet,
                                                       const struct pst_replica *replica)
{
    return &fleet->pools[replica->pool];
}

/* fleet_lifecycle.c: a new life, in STARTING or LOADING; and the one way from there into another state. */
void pst_lifecycle_begin(struct pst_fleet *fleet, struct pst_replica *replica,
                         enum pst_replica_state state);
void pst_replica_enter(struct pst_fleet *fleet, struct pst_replica *replica,
                       enum pst_replica_state state);
/* It may serve from now on, at once if it is loaded. */
void pst_replica_promote(struct pst_fleet *fleet, struct pst_replica *replica);
/* A refused connection or "Loading": no suspicion but a fact. */
void pst_replica_not_up(struct pst_fleet *fleet, struct pst_replica *replica);
/* Only one that is ready or warm can become suspect. */
void pst_replica_suspect(struct pst_fleet *fleet, struct pst_replica *replica,
                         enum pst_suspicion why);
/* None of its streams moved for `stall`: suspect, and everything on it goes elsewhere. */
void pst_replica_stalled(struct pst_fleet *fleet, struct pst_replica *replica);
/* A byte of an answer came. */
void pst_replica_heard(struct pst_fleet *fleet, struct pst_replica *replica);
/* The probe that is out came back so, or was lost. */
void pst_lifecycle_answer(struct pst_fleet *fleet, struct pst_replica *replica,
                          enum pst_probe_result result);
/* No MODEL probe holds a place any more. */
void pst_lifecycle_unplace(struct pst_replica *replica);
void pst_lifecycle_time(struct pst_fleet *fleet, struct pst_replica *replica);

/* fleet_capacity.c */
void pst_fleet_settle(struct pst_fleet *fleet, struct pst_replica *replica);
void pst_fleet_estimate_start(struct pst_fleet *fleet, struct pst_fleet_pool *pool);

/* fleet_ladder.c: settle does it; and before the ladder is read, its work must be weighed for now. */
void pst_ladder_settle(struct pst_fleet *fleet, struct pst_replica *replica);
void pst_ladder_weigh(struct pst_fleet *fleet, struct pst_fleet_pool *pool, pst_ns now);
bool pst_rung_is_before(const struct pst_rung *a, const struct pst_rung *b);
void pst_ladder_verify(const struct pst_fleet *fleet, const struct pst_fleet_pool *pool);

/* fleet_choose.c: one other than @replica could be sent work, and is trusted with it. */
bool pst_fleet_trusts_another(const struct pst_fleet *fleet, const struct pst_fleet_pool *pool,
                              uint16_t replica);

/* fleet_places.c */
void pst_places_take(struct pst_fleet *fleet, struct pst_replica *replica, uint32_t index,
                     struct pst_fleet_ticket *ticket, pst_ns work);
/* The attempt is over; its places come free now, or after @lag. */
void pst_places_free(struct pst_fleet *fleet, struct pst_replica *replica, uint32_t index,
                     pst_ns lag);
void pst_places_forget_lags(struct pst_replica *replica);
void pst_places_expire_lags(struct pst_replica *replica, pst_ns now);
static inline pst_ns pst_places_deadline(const struct pst_replica *replica)
{
    return replica->lags.count == 0 ? PST_NEVER : replica->lags.ring[replica->lags.first].until;
}

/* Every count of the replica, added again and asserted. */
void pst_places_verify(const struct pst_fleet *fleet, const struct pst_replica *replica);

/* fleet_poll.c */
void pst_fleet_say_check(struct pst_fleet *fleet, struct pst_replica *replica,
                         enum pst_probe probe);
void pst_fleet_say_drained(struct pst_fleet *fleet, struct pst_replica *replica, bool complete,
                           uint32_t left);
/* It is shown in another state than was told. */
void pst_fleet_say_state(struct pst_fleet *fleet, struct pst_replica *replica);
void pst_fleet_say_evict(struct pst_fleet *fleet, uint32_t index, enum pst_verdict verdict,
                         enum pst_reason reason);
/* The gate ended the ticket itself in between. */
void pst_fleet_unsay_evict(struct pst_fleet *fleet, uint32_t index);

/* fleet_failure.c: takes everything in flight off a replica. */
enum pst_eviction {
    PST_EVICTION_REMOVED,
    PST_EVICTION_STALL,
    PST_EVICTION_CRASH,
    PST_EVICTION_COUNT
};
void pst_fleet_evict_all(struct pst_fleet *fleet, struct pst_replica *replica,
                         enum pst_eviction why);

static inline bool pst_replica_sleeps(const struct pst_replica *replica, pst_ns now)
{
    return replica->asleep_until > now;
}

/* DRAINING as seen from outside. */
static inline enum pst_replica_state pst_replica_shown(const struct pst_replica *replica)
{
    return replica->draining && replica->state != PST_REPLICA_GONE
               ? PST_REPLICA_DRAINING
               : (enum pst_replica_state)replica->state;
}

#endif
