/*
 * suspect.h - was it a crash, and which prompt may have caused it?
 *
 * Why: one poisonous prompt that is retried everywhere takes the whole fleet down. One crash proves
 * nothing about any of the prompts that ran; a second one with the same prompt in flight is enough.
 *
 * A crash is what the driver calls one, or: all in flight of a replica fail within a second, at least
 * two of them and one by a reset or cut. One alone, or only error events and reused connections, may be
 * a client's doing or a keep-alive time-out; it is a crash only if within a second a connection is
 * refused, a probe fails, or the driver says so. Until that is known - at most a second, and not once
 * the replica shows any sign of life - tickets that failed are held: the poisonous one among them must
 * not reach another replica first, and one whose tries or budget have run out may be a victim. After a
 * reset or cut the replica gets no new work, which would be blamed.
 *
 * Guarantee: at most one suspect at a time is on a replica before its first byte; a ticket, or another
 * with the same body within 10 minutes, is given up at its second crash. A suspect that is answered
 * whole is no suspect any more.
 */
#ifndef PST_CORE_SUSPECT_H
#define PST_CORE_SUSPECT_H

#include "core/fleet.h"
#include "core/num.h"

struct pst_replica;

#define PST_WATCH_WINDOW PST_S /* failures of one crash lie no further apart */

/* What a replica's failures of the last second amount to. */
struct pst_watch {
    pst_ns since; /* of the first failure */
    pst_ns last;
    uint32_t failed; /* 0: nothing is watched */
    bool hard;       /* one of them was a reset or cut that needs no confirmation */
    pst_ns dead_at;  /* the port refused, or a probe failed; 0: not seen */
};

/* A ticket whose attempt failed as crashes make them fail. */
struct pst_victim {
    pst_ns at;
    uint64_t serial;
    uint64_t body_hash;
    uint32_t index;
    uint16_t replica;
    bool requeued;    /* it waits in its queue, held */
    bool tried;       /* it was one of the ticket's tries */
    bool spent;       /* from the retry budget */
    bool judged;      /* it was counted, or cleared */
    uint8_t sentence; /* enum pst_reason: how it ends if this was no crash; NONE: it goes on */
};

struct pst_suspect_body {
    uint64_t hash; /* 0: free */
    pst_ns until;
    uint16_t crash_id;
    uint8_t crashes;
};

#define PST_SUSPECT_SETS 256
#define PST_SUSPECT_WAYS 8

struct pst_suspects {
    struct pst_victim *victims; /* a ring: the newest overwrite the oldest */
    uint32_t victims_max;
    uint32_t victims_next;
    uint16_t crash_ids;
    struct pst_suspect_body bodies[PST_SUSPECT_SETS][PST_SUSPECT_WAYS];
};

int pst_suspects_init(struct pst_suspects *suspects, uint32_t tickets_max);
void pst_suspects_done(struct pst_suspects *suspects);

/* What is known of a body: NULL nothing. */
const struct pst_suspect_body *pst_suspects_find(const struct pst_suspects *suspects,
                                                 uint64_t body_hash, pst_ns now);
/* It was answered whole. */
void pst_suspects_clear(struct pst_suspects *suspects, uint64_t body_hash);

/*
 * An attempt on the replica failed; call pst_watch_judge next. @hard: needs no confirmation. Returns
 * where to note whether the ticket waits in its queue, and whether it spent from the budget.
 */
struct pst_victim *pst_watch_failed(struct pst_fleet *fleet, struct pst_replica *replica,
                                    uint32_t index, struct pst_fleet_ticket *ticket, bool hard);
/* The port refused, or a probe failed. */
void pst_watch_dead(struct pst_fleet *fleet, struct pst_replica *replica);
/* A sign of life, given no earlier than @given_at: what failed before that was no crash. */
void pst_watch_alive(struct pst_fleet *fleet, struct pst_replica *replica, pst_ns given_at);
/* Declares a crash if the facts are complete; true: it did. @judging: the ticket whose end is being
 * judged, which gets its verdict directly; PST_FLEET_NONE: none. */
bool pst_watch_judge(struct pst_fleet *fleet, struct pst_replica *replica, uint32_t judging);
/* The driver says so, or the facts do: blames every ticket, takes what is in flight off the replica. */
void pst_watch_crash(struct pst_fleet *fleet, struct pst_replica *replica, uint32_t judging);
/* The second may be over. */
void pst_watch_time(struct pst_fleet *fleet, struct pst_replica *replica);
/* The end of that second. */
static inline pst_ns pst_watch_deadline(const struct pst_watch *watch)
{
    return watch->failed == 0 ? PST_NEVER : pst_add_sat(watch->since, PST_WATCH_WINDOW);
}

#endif
