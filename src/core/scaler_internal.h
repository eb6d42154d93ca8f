/*
 * scaler_internal.h - what the files behind scaler.h share. Nobody else includes it.
 *
 * A tick's walk, per pool: life.c looks which starts and drains are overdue; decide.c asks demand.h what
 * is needed and what may be had (backoff.h, cost.h, signals.h); with less needed, scalein.c and hold.h say how far
 * down is safe; act.c turns the number into steps, warmpool.c keeps the loaded ones. Every step is
 * said into the outbox at once, and the lives of the replicas follow what was said, not what was heard:
 * news is late, and must not be acted upon twice.
 */
#ifndef PST_CORE_SCALER_INTERNAL_H
#define PST_CORE_SCALER_INTERNAL_H

#include "core/backoff.h"
#include "core/cost.h"
#include "core/demand.h"
#include "core/floors.h"
#include "core/hold.h"
#include "core/scaler.h"
#include "core/signals.h"
#include "core/starts.h"

#define PST_SCALER_PERIOD PST_S
/* A replica that was told to go and stays for so long was not the one that went. */
#define PST_SCALER_PATIENCE (60 * PST_S)
/* Scale-in looks so far beyond a start. */
#define PST_SCALER_MARGIN (60 * PST_S)
/* Per replica a step says at most MARK, DRAIN, REMOVE and one of the others; a start is one action. */
#define PST_SCALER_OUTBOX_MAX (5 * PST_REPLICAS_MAX + 2 * PST_POOLS_MAX)

#define PST_SCALER_NOBODY UINT16_MAX

/* What we think a replica is doing, by what was said to it and heard of it. */
enum pst_life {
    PST_LIFE_NONE,
    PST_LIFE_STARTING,  /* CANCEL -> CANCELLED */
    PST_LIFE_WARM,      /* PROMOTE -> PROMOTED; REMOVE -> REMOVED */
    PST_LIFE_PROMOTED,  /* will serve */
    PST_LIFE_SERVING,   /* healthy or not; DRAIN -> DRAINING */
    PST_LIFE_DRAINING,  /* by us; UNDRAIN -> SERVING, REMOVE -> REMOVED */
    PST_LIFE_AWAY,      /* drained by somebody else: theirs to end */
    PST_LIFE_CANCELLED, /* told to go, until it is gone */
    PST_LIFE_REMOVED,
    PST_LIFE_COUNT
};

struct pst_scaler_replica {
    uint8_t life;  /* enum pst_life */
    uint8_t state; /* as last told */
    uint16_t pool;
    bool is_warm;        /* of the warm pool: WARM, will be, or was until it was told to go */
    bool birth_is_known; /* its start can be measured */
    bool going;          /* others end it, for good */
    bool wants_mark;     /* MARK was said, and not taken back … */
    bool
        mark_is_told; /* … and what became of it: whoever keeps the number sees it, or never will */
    bool is_drained; /* or its deadline has come */
    uint32_t op, revision, inflight;
    pst_ns born;
    pst_ns since; /* of this life; SERVING, WARM: of its health */
    pst_ns until; /* DRAINING: its deadline */
};

/* A START whose replica is not known yet; or, with op 0, one that its controller replaces. */
struct pst_scaler_ask {
    uint32_t op;
    uint16_t pool;
    bool warm;
    bool unwanted; /* to be cancelled as soon as it has a name */
    pst_ns at;
};

/* One pool's replicas, counted. */
struct pst_census {
    uint32_t ready;
    uint32_t coming;      /* asked for, starting, promoted, or unhealthy; not stuck … */
    uint32_t coming_soon; /* … of them, no later than one that is promoted now */
    uint32_t stuck;       /* … for too long to be counted on */
    uint32_t warm;        /* loaded, and well */
    uint32_t warming;     /* will be */
    uint32_t draining;
    uint32_t leaving;    /* cancelled, removed, or drained by others */
    uint32_t dropped;    /* of them, those that the number leaves out already */
    uint32_t recallable; /* MARKED: of those, what may still be taken back */
    uint32_t trying;     /* STARTs open that were asked for since the last failure */
    pst_ns coming_in;    /* the first of the coming; 0: none */
    pst_ns coming_all;   /* … and the last */
};

struct pst_scaler_seat {
    const struct pst_scaler_pool *config;
    struct pst_demand *demand;
    struct pst_starts cold, promotion;
    struct pst_floors floors;
    struct pst_signals signals;
    struct pst_cost cost;
    struct pst_backoff backoff;
    pst_ns observed_at; /* PST_NEVER: never */
    bool observed;      /* since the last tick */
    bool busy;          /* a ticket was there since the last tick */
    bool synced;        /* what was there at the start was told */
    pst_ns busy_at;     /* when that was so last; PST_NEVER: never */
    uint32_t told;      /* by SCALE */
    uint32_t desired;
    uint32_t asked;    /* `desired`, since it was acted upon */
    bool decided;      /* `desired` means something */
    pst_ns decided_at; /* for the first time */
    pst_ns stepped_at; /* rule BACKLOG: its last step out; PST_NEVER: none */
    struct pst_hold hold;
    pst_ns guarded_since; /* the guards alone stand against less; PST_NEVER: they do not */
    pst_ns short_since;   /* NUMBER: fewer are there than were asked for; PST_NEVER: no */
    uint32_t terms[PST_TERM_COUNT];
    pst_ns said_at;
    bool said;
    bool is_over; /* the backlog: above out_above, and not back at in_below since */
    struct pst_scaler_action last, said_last; /* DECISIONs: of the last step; that was told */
};

struct pst_scaler {
    struct pst_scaler_config config;
    pst_ns now;
    bool ticked;
    pst_ns last_tick;
    uint32_t op; /* of the last START */
    struct pst_scaler_seat seats[PST_POOLS_MAX];
    struct pst_scaler_replica replicas[PST_REPLICAS_MAX];
    uint32_t replicas_top; /* indices at and above are unused */
    struct pst_scaler_ask asks[PST_REPLICAS_MAX];
    uint32_t asks_count; /* in the order they were asked for */
    uint32_t outbox_head, outbox_count;
    struct pst_scaler_action outbox[PST_SCALER_OUTBOX_MAX];
};

/* Kept warm, and well: it can be promoted. */
static inline bool pst_replica_is_loaded(const struct pst_scaler_replica *r)
{
    return r->life == PST_LIFE_WARM && r->state == PST_REPLICA_WARM;
}

/* We say which replicas come and go. */
static inline bool pst_seat_acts(const struct pst_scaler_seat *seat)
{
    return seat->config->actuate == PST_ACTUATE_OWN || seat->config->actuate == PST_ACTUATE_MARKED;
}
static inline bool pst_seat_is_marked(const struct pst_scaler_seat *seat)
{
    return seat->config->actuate == PST_ACTUATE_MARKED;
}
/* Others keep the number, and are told which. */
static inline bool pst_seat_is_kept(const struct pst_scaler_seat *seat)
{
    return pst_seat_is_marked(seat) || seat->config->actuate == PST_ACTUATE_NUMBER;
}
/* What was there before us is not all known yet. */
static inline bool pst_seat_waits(const struct pst_scaler_seat *seat)
{
    return !seat->synced && (seat->config->awaits_synced || pst_seat_is_kept(seat));
}
/* Of what the gate counted; PST_NEVER: nothing yet. */
static inline pst_ns pst_seat_own_age(const struct pst_scaler_seat *seat, pst_ns now)
{
    return seat->observed_at == PST_NEVER ? PST_NEVER : now - seat->observed_at;
}
/* Signals that must be fresh, 1 << enum pst_signal. */
static inline uint32_t pst_seat_awaited(const struct pst_scaler_seat *seat)
{
    return seat->config->awaits_signals |
           (seat->config->gpu_guard_ppm > 0 ? 1u << PST_SIGNAL_GPU : 0);
}

/* scaler.c: a new action at the outbox's end, of that kind, otherwise zero. */
struct pst_scaler_action *pst_scaler_say(struct pst_scaler *scaler,
                                         enum pst_scaler_action_kind kind, uint32_t pool);
/* … that names a replica. */
void pst_scaler_say_replica(struct pst_scaler *scaler, enum pst_scaler_action_kind kind,
                            uint16_t replica);

/* life.c: what became of replicas. */
void pst_life_told(struct pst_scaler *scaler, const struct pst_scaler_event *event);
void pst_life_result(struct pst_scaler *scaler, const struct pst_scaler_event *event);
void pst_life_overdue(struct pst_scaler *scaler, uint16_t pool);
/* Whose deadline has passed, and nobody wanted back. */
void pst_life_remove_drained(struct pst_scaler *scaler, uint16_t pool);
/* Somebody else acts from now on: what we said is void, replicas are what they are heard to be. */
void pst_life_let_go(struct pst_scaler *scaler, uint16_t pool);
void pst_life_enter(struct pst_scaler *scaler, uint16_t replica, enum pst_life life);
void pst_life_cancel(struct pst_scaler *scaler, uint16_t replica);

/* One that takes no work goes; false: first it has to be seen that it is the one. */
bool pst_life_retire(struct pst_scaler *scaler, uint16_t replica);

/* It is not to go any more: UNDRAIN. What it does then is the caller's. */
void pst_life_unmark(struct pst_scaler *scaler, uint16_t replica);
/* MARK and DRAIN, up to the pool's deadline. */
void pst_life_drain(struct pst_scaler *scaler, uint16_t replica);
void pst_life_remove_ask(struct pst_scaler *scaler, uint32_t index);
/* Whether it will be kept when it comes; where others keep the number, a START that is not is none. */
void pst_life_want_ask(struct pst_scaler *scaler, uint32_t index, bool wanted);

/* scaler_number.c: of a pool whose number others keep. */
/* Whoever keeps it may add some for a while, to replace all: they are none of the number. */
bool pst_number_is_rolling(const struct pst_scaler *scaler, uint16_t pool);
/* The START that a replica without a name of ours answers. */
bool pst_number_claim(struct pst_scaler *scaler, uint16_t pool, struct pst_scaler_ask *ret_ask);
/* It has left, and was it none of those that were told to, another stays, or it is replaced. */
void pst_number_left(struct pst_scaler *scaler, const struct pst_scaler_replica *left);
/* Told to go and still there, the one that would be missed most; PST_SCALER_NOBODY: none. */
uint16_t pst_number_recallable(const struct pst_scaler *scaler, uint16_t pool);
bool pst_number_is_recallable(const struct pst_scaler *scaler, const struct pst_scaler_replica *r);
void pst_number_recall(struct pst_scaler *scaler, uint16_t replica);

/* census.c: what there is. */
void pst_census(const struct pst_scaler *scaler, uint16_t pool, struct pst_census *ret_census);
/* Of a cold start, as measured. */
pst_ns pst_census_start_time(const struct pst_scaler_seat *seat);
/* Of a warm one: from its promotion to ready. */
pst_ns pst_census_promotion_time(const struct pst_scaler_seat *seat);
bool pst_census_is_stuck(const struct pst_scaler_seat *seat, pst_ns since, pst_ns now);
static inline uint32_t pst_census_serving(const struct pst_census *c)
{
    return c->ready + c->coming;
}
/* All that exists and is no part of the warm pool: what max bounds. */
static inline uint32_t pst_census_existing(const struct pst_census *c)
{
    return c->ready + c->coming + c->stuck + c->draining + c->leaving;
}
/* All that costs money. */
static inline uint32_t pst_census_running(const struct pst_census *c)
{
    return pst_census_existing(c) + c->warm + c->warming;
}

/* decide.c: what should be, and the steps there. */
void pst_scaler_decide(struct pst_scaler *scaler, uint16_t pool);
/* Of a pool that is new to us we know less than whoever ran it before: for the longest start, or drain. */
bool pst_seat_is_held(const struct pst_scaler_seat *seat, pst_ns now);
bool pst_seat_is_stale(const struct pst_scaler_seat *seat, pst_ns now);

/* What one decision is made of. */
struct pst_scaler_need {
    struct pst_census census;
    struct pst_supply supply;
    uint32_t stood;  /* the number that stands */
    uint32_t before; /* … within what may be */
    uint32_t need;   /* the largest term, within what may be */
    uint32_t vetoes;
    bool is_stale;
    bool is_held; /* the scaler is fresh */
    bool is_idle; /* no ticket was there for in_after */
    bool is_rolling;
};

/* scalein.c: how far below `before` it may go; adds to vetoes. */
uint32_t pst_scalein(struct pst_scaler *scaler, uint16_t pool, struct pst_scaler_need *n);

/* act.c: from what there is to `desired`. */
/* How many the budgets allow to run, of which so many do already; UINT32_MAX: no bound. */
uint32_t pst_act_affordable(const struct pst_scaler_seat *seat, uint32_t running);
/* How many STARTs may be asked for now; bits of those that say no. */
uint32_t pst_act_startable(const struct pst_scaler *scaler, uint16_t pool,
                           const struct pst_census *census, uint32_t wanted, uint32_t *ret_vetoes);
void pst_act(struct pst_scaler *scaler, uint16_t pool);
void pst_act_start(struct pst_scaler *scaler, uint16_t pool, bool warm);

/* warmpool.c */
void pst_warmpool_keep(struct pst_scaler *scaler, uint16_t pool);

#endif
