/*
 * lives.h - the lives of replicas, as whoever pays for them sees it.
 *
 *   create -> STARTING -cold start-> READY -drain-> DRAINING -idle, deadline-> STOPPING -> GONE
 *                |  \-cold start-> WARM -promote-> PROMOTING -^ ^---undrain---+
 *                +-cancel-> GONE                      crash: from anywhere to GONE
 *
 * Why: the gate's view of a replica is what it was told; the bill is for what exists, start-up, drain and
 * stop included.
 *
 * Guarantee: what befalls the n-th replica that a pool creates (how long it starts and stops, whether it
 * is slow, when it dies) is a function of the seed and n, so that policies that start as many share
 * their luck. At any time the counts' sum is what exists. O(1) per change, O(replicas) to create one.
 */
#ifndef PST_SIM_LIVES_H
#define PST_SIM_LIVES_H

#include "model/scenario.h"

enum pst_lives_phase {
    PST_LIVES_GONE,
    PST_LIVES_STARTING,
    PST_LIVES_WARM,
    PST_LIVES_PROMOTING,
    PST_LIVES_READY,
    PST_LIVES_DRAINING,
    PST_LIVES_STOPPING,
    PST_LIVES_COUNT
};

/* Drawn when it is created. */
struct pst_fate {
    pst_ns cold, promote, stop;
    pst_ns dies_after; /* being ready for so long; PST_NEVER: it does not */
    double slowness;   /* its service times are multiplied by it */
};

struct pst_lives_replica {
    struct pst_fate fate;
    uint8_t phase; /* enum pst_lives_phase */
    bool for_warm; /* its start leads to the warm pool */
    bool stuck;    /* it will never be ready */
    bool fails;    /* it crashes when it would be ready */
    bool marked;   /* the next to go */
    bool going;    /* whoever keeps the number, or an eviction, ends it: when it has drained */
    bool drained;  /* nothing runs on it, or its time is over */
    uint16_t pool;
    uint32_t op; /* of the scaler's START; 0: none */
    uint32_t revision;
    uint32_t turn;   /* grows with every change of phase: what was due in an older one is void */
    uint64_t number; /* in order of creation, over all pools */
    pst_ns ready_at; /* when it last became ready */
    double fault_factor; /* on service times, while a fault lasts */
    pst_ns slow_until;
    pst_ns hung_since, hung_until; /* until 0: it does not hang */
    pst_ns frozen;                 /* sum of the pauses that are over */
    uint32_t inflight;             /* sequences */
    uint32_t streams;              /* answers that are under way on it, token by token */
    bool told;                     /* the gate knows it */
};

struct pst_lives_pool {
    uint32_t counts[PST_LIVES_COUNT];
    uint64_t paid_ns[PST_LIVES_COUNT]; /* replicas x time since the books were opened */
    pst_ns since;                      /* paid up to here */
    uint64_t created;
};

struct pst_lives {
    const struct pst_scenario *scenario;
    uint64_t seed;
    uint32_t max; /* of all pools together */
    uint64_t created;
    struct pst_lives_pool pools[PST_POOLS_MAX];
    struct pst_lives_replica items[PST_REPLICAS_MAX];
};

void pst_lives_init(struct pst_lives *lives, const struct pst_scenario *scenario, uint64_t seed,
                    uint32_t max);

/* A new one, STARTING. PST_E_FULL: as many exist as may. */
int pst_lives_create(struct pst_lives *lives, uint16_t pool, pst_ns now, uint16_t *ret_index);
/* The one way from one phase to another. */
void pst_lives_change(struct pst_lives *lives, uint16_t index, enum pst_lives_phase phase,
                      pst_ns now);
/* Brings the books of all pools up to date; fresh: and begins new ones. */
void pst_lives_book(struct pst_lives *lives, pst_ns now, bool fresh);

/* Those that exist. */
uint32_t pst_lives_existing(const struct pst_lives *lives, uint16_t pool);
/* Its clock stands still while it hangs: for so long, the pause that runs counted whole. */
pst_ns pst_lives_frozen(const struct pst_lives_replica *replica);

static inline bool pst_lives_hangs(const struct pst_lives_replica *replica, pst_ns now)
{
    return replica->hung_until > now;
}

/* What a phase is called where the gate's and the scaler's words are used. */
enum pst_replica_state pst_lives_shown(enum pst_lives_phase phase);

#endif
