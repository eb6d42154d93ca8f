/*
 * scaler.h - how many replicas there should be, and why: the facade of the capacity policy.
 *
 * Three questions, once a second and at every WAKE, all recorded with their numbers: is more needed
 * (demand.h), can it be had, is it worth it. The answer is a DECISION with each term; where the scaler
 * also acts (actuate), the steps that lead there follow as actions.
 *
 *   START -> starting -> ready -> MARK, DRAIN -> draining -> REMOVE -> gone
 *               |    \-> warm -> PROMOTE -^  ^------- UNDRAIN ----+
 *               +-> CANCEL -> gone
 *
 * Guarantee: pure. Same configuration and same events give the same actions, on any compiler and
 * build. Memory is allocated by new() and reconfigure() only. The number asked for stays within min and
 * max; inputs that are missing or stale hold it and are never read as zero; after a start nothing less
 * than what runs is asked for until the longest start has passed; a replica that drains is removed
 * only when it is said to be idle or its deadline has passed.
 *
 * Use: as the gate. step(event), then poll() until it returns false, before the next step; deadline()
 * says when to step with a TICK. Not thread-safe: one owner.
 */
#ifndef PST_CORE_SCALER_H
#define PST_CORE_SCALER_H

#include "core/gate.h"

/* What decides. AHEAD is the policy of this house; the others are formulas in wide use, by name. */
enum pst_scaler_rule {
    PST_RULE_AHEAD,
    PST_RULE_BACKLOG, /* one more above out_above, one less below in_below for in_after */
    PST_RULE_QPS,     /* ceil(requests per second / (C x target)) */
    PST_RULE_DEPTH,   /* queue depth weighted 3/2/1, threshold 5, dead band 0.5 */
    PST_RULE_STATIC,  /* min */
    PST_RULE_COUNT
};

/*
 * How the number comes about. OWN: we start and stop replicas ourselves. The others keep a number of
 * replicas and are told which (pst_scaler_number): MARKED lets us choose who leaves (deletion cost), so
 * victims drain before the number falls; NUMBER does not, so who leaves drains by itself (preStop).
 *
 * Who keeps the number of a MARKED pool replaces what leaves without being told to: the number stands
 * while it does. Its START says only that the number rose, CANCEL and REMOVE that it fell; a replica
 * without op that appears is the answer to the oldest START. It may remove another than the one we named:
 * that one stays then, and comes back when it is wanted. While there are replicas of two revisions it
 * replaces them all, and those that it adds for a while come and go without us. Of a NUMBER pool only the
 * number is ours.
 */
enum pst_actuate {
    PST_ACTUATE_NONE, /* DECISION only */
    PST_ACTUATE_OWN,
    PST_ACTUATE_MARKED,
    PST_ACTUATE_NUMBER,
    PST_ACTUATE_COUNT
};

struct pst_scaler_class {
    pst_ns target;         /* aim for its P99 wait */
    pst_ns max_wait;       /* its deadline D */
    uint32_t depth_weight; /* rule DEPTH; 3, 2, 1 */
    uint8_t envelope;      /* its bursts keep a floor; by default every class but the lowest */
    uint8_t sheds;         /* refuses what would wait longer than max_wait; 0: lets it wait */
};

struct pst_scaler_pool {
    uint32_t min, max; /* replicas that serve, ready and starting; min <= max, max > 0 */
    uint32_t warm;     /* loaded ones beside them */
    uint32_t slots;    /* of one replica, > 0 */
    uint8_t rule;      /* enum pst_scaler_rule */
    uint8_t actuate;   /* enum pst_actuate */
    uint8_t reserves;  /* its gate keeps slots free for higher classes (reserve.h) */
    /* Replicas from before us are being found: nothing is decided before SYNCED. MARKED, NUMBER: always so. */
    uint8_t awaits_synced;
    uint8_t awaits_signals; /* 1 << enum pst_signal: somebody measures it, so it must be fresh */
    pst_ns out_above, in_below, in_after;
    pst_ns start_time;        /* taken for a cold start until one was measured */
    pst_ns warm_time;         /* … and for a promotion */
    pst_ns start_timeout;     /* a replica that is not ready by then is given up; 0: never */
    pst_ns drain_deadline;    /* longest drain of one replica */
    pst_ns rotate;            /* longest a warm replica is kept; 0: for ever */
    pst_ns stale_after;       /* an observation or signal older than this holds */
    uint32_t utilisation_ppm; /* of slots that work which can wait may be planned to fill */
    uint32_t
        inflight_guard_ppm; /* no scale-in while more of the slots that would remain are in use */
    uint32_t gpu_guard_ppm; /* no scale-in above this GPU utilisation; 0: not asked */
    uint32_t qps_milli;     /* rule QPS: C x target, requests per 1,000 s of one replica */
    uint64_t cost_micro;    /* per replica-hour, millionths of the currency; 0: not known */
    uint64_t budget_hour_micro, budget_day_micro; /* 0: none */
};

struct pst_scaler_config {
    uint64_t seed; /* of the run; nothing in the scaler is drawn */
    uint32_t classes_count;
    uint32_t pools_count;
    uint32_t replicas_max; /* <= PST_REPLICAS_MAX */
    struct pst_scaler_class classes[PST_CLASSES_MAX];
    struct pst_scaler_pool pools[PST_POOLS_MAX];
};

enum pst_scaler_event_kind {
    PST_SCALER_TICK,          /* after what was observed of this second */
    PST_SCALER_OBSERVE_CLASS, /* since the last one; of several gateways, all of theirs */
    PST_SCALER_OBSERVE_POOL,
    PST_SCALER_REPLICA, /* a replica's state; again whenever in flight is worth telling */
    PST_SCALER_SIGNAL,
    PST_SCALER_FLOOR,
    /*
     * Others set the number. A fresh scaler asks for nothing less; later it is no matter of ours, except
     * by the replicas that follow from it. Where others keep the number it may be said by how many they
     * keep, and counts up to the first decision: a rollout has more for a while.
     */
    PST_SCALER_SCALE,
    PST_SCALER_RESULT,  /* how an action ended */
    PST_SCALER_HISTORY, /* one step of the past, oldest first, before the first TICK */
    PST_SCALER_WAKE,    /* a first ticket waits and no replica is there */
    PST_SCALER_SYNCED, /* all replicas that were there at the start were told; also if there is none */
    PST_SCALER_EVENT_COUNT
};

enum pst_signal {
    PST_SIGNAL_GPU,        /* utilisation, ppm */
    PST_SIGNAL_ERRORS,     /* of answers, ppm: not green above 50,000 */
    PST_SIGNAL_LATENCY,    /* 1: a latency guard is red */
    PST_SIGNAL_ROLLOUT,    /* 1: a rollout runs */
    PST_SIGNAL_QUOTA,      /* replicas that could still be had */
    PST_SIGNAL_GPU_MEMORY, /* in use, ppm; for people: no rule asks */
    PST_SIGNAL_COUNT
};

enum pst_floor { PST_FLOOR_CRON, PST_FLOOR_PROFILE, PST_FLOOR_CANARY, PST_FLOOR_COUNT };

enum pst_result {
    PST_RESULT_OK,
    PST_RESULT_QUOTA,    /* it may not be had: no GPU, no quota */
    PST_RESULT_FAILED,   /* it was tried and did not work */
    PST_RESULT_DEADLINE, /* DRAIN: not idle in time */
    PST_RESULT_COUNT
};

struct pst_scaler_event {
    pst_ns now; /* monotonic */
    uint8_t kind;
    uint8_t class_; /* OBSERVE_CLASS, HISTORY */
    uint16_t pool;
    uint32_t reserved;
    union {
        struct {
            uint64_t wall_s; /* seconds since 1970, UTC; 0: not known */
        } tick;
        struct {
            uint32_t arrived; /* tickets; a client's own retries are none */
            uint32_t refused; /* of them, for want of capacity */
            uint32_t waited;  /* went to a replica for the first time, or expired */
            uint32_t late;    /* of them, past the class's target */
            uint64_t arrived_work;
            uint64_t refused_work; /* part of arrived_work */
            uint64_t queued_work;  /* now */
            uint32_t queued;       /* now, tickets */
            uint32_t inflight;     /* now, sequences */
        } observe_class;
        struct {
            uint32_t served;         /* attempts that ended well */
            uint32_t failed;         /* … and not */
            uint64_t service;        /* slot-time of served, ns */
            uint64_t service_square; /* sum of squares, us^2 */
            uint32_t slots;          /* of ready replicas, now */
            uint32_t inflight;       /* now */
            pst_ns oldest;           /* longest wait of a queued ticket; 0: none */
            uint8_t tickets;         /* anything is queued or in flight */
        } observe_pool;
        struct {
            uint16_t replica;
            uint8_t state;   /* enum pst_replica_state */
            uint8_t crashed; /* with GONE: nobody asked for it */
            uint32_t op;     /* of the START that made it; 0: none */
            uint32_t revision;
            uint32_t inflight;
            /*
             * Others have begun to end it (deletionTimestamp): whoever keeps the number counts it as
             * gone. Without it one that others drain is still counted, and no capacity.
             */
            uint8_t going;
            /* One that loads and that an earlier scaler started for the warm pool: only the first word counts. */
            uint8_t warm;
        } replica;
        struct {
            uint8_t kind; /* enum pst_signal */
            uint64_t value;
            pst_ns age; /* PST_NEVER: missing */
        } signal;
        struct {
            uint8_t source; /* enum pst_floor */
            uint32_t replicas;
            pst_ns from, until;
        } floor;
        struct {
            uint32_t replicas;
        } scale;
        struct {
            uint8_t action; /* enum pst_scaler_action_kind */
            uint8_t error;  /* enum pst_result */
            uint16_t replica;
            uint32_t op; /* START */
        } result;
        struct {
            pst_ns span;   /* of the step */
            uint64_t work; /* slot-time that came in it; UINT64_MAX: not known */
        } history;
    } u;
};

enum pst_scaler_action_kind {
    PST_SCALER_START,   /* create one; REPLICA with this op, or RESULT, follows */
    PST_SCALER_PROMOTE, /* a warm one takes work from now on */
    PST_SCALER_CANCEL,  /* a starting one is not wanted any more; MARKED: after its MARK */
    PST_SCALER_MARK,    /* it goes next (deletion cost); MARKED: no REMOVE before its RESULT */
    PST_SCALER_DRAIN,   /* no new work; RESULT follows when it is idle or at the deadline */
    PST_SCALER_UNDRAIN, /* it is wanted again: takes DRAIN and MARK back; MARKED: of a starting one too */
    PST_SCALER_REMOVE, /* stop it; MARKED: the number may fall by it now */
    PST_SCALER_DECISION,
    PST_SCALER_ACTION_COUNT
};

/* Each question in replicas; the largest wins. */
enum pst_term {
    PST_TERM_NOW,
    PST_TERM_AHEAD,
    PST_TERM_BACKLOG,
    PST_TERM_SLA,
    PST_TERM_ENVELOPE,
    PST_TERM_CRON,
    PST_TERM_PROFILE,
    PST_TERM_CANARY,
    PST_TERM_MIN,
    PST_TERM_COUNT
};

/* Why the number is not what the terms say. Bits of DECISION.vetoes. */
enum pst_veto {
    PST_VETO_MAX, /* more is needed than may be */
    PST_VETO_BUDGET,
    PST_VETO_QUOTA,
    PST_VETO_BACK_OFF,    /* starts failed; the next try waits */
    PST_VETO_PENDING,     /* replicas have been starting for too long */
    PST_VETO_WORTH,       /* the need will be over before a replica is ready */
    PST_VETO_HOLD,        /* in: not below for in_after yet */
    PST_VETO_NEEDED_SOON, /* in: needed again within a start time */
    PST_VETO_INFLIGHT,    /* in: too much of what would remain is in use */
    PST_VETO_GPU,
    PST_VETO_GUARD, /* in: errors or latency are not green */
    PST_VETO_ROLLOUT,
    PST_VETO_STALE,   /* inputs are missing or old */
    PST_VETO_RESTART, /* the scaler itself is fresh */
    PST_VETO_WAIT,    /* in: with fewer, the predicted wait would exceed a target */
    PST_VETO_COUNT
};

struct pst_scaler_action {
    uint8_t kind;
    uint8_t reserved;
    uint16_t pool;
    union {
        struct {
            uint32_t op;
            uint8_t warm; /* for the warm pool */
        } start;
        struct {
            uint16_t replica;
            pst_ns until; /* DRAIN: its deadline */
        } replica;        /* PROMOTE, CANCEL, MARK, DRAIN, UNDRAIN, REMOVE */
        struct {
            uint16_t desired; /* what there should be, and what was asked for before */
            uint16_t before;
            uint16_t ready, starting, warm, draining;
            uint16_t terms[PST_TERM_COUNT];
            uint8_t winner; /* enum pst_term */
            uint32_t vetoes;
            uint32_t backlog_ms; /* of all classes */
            uint32_t start_ms;   /* measured start time */
            uint32_t oldest_input_ms;
        } decision;
    } u;
};

_Static_assert(sizeof(struct pst_scaler_event) <= 64, "an event is one cache line");
_Static_assert(sizeof(struct pst_scaler_action) <= 64, "an action is one cache line");

struct pst_scaler;

/* PST_OK, PST_E_INVALID (numbers out of range) or PST_E_NOMEM. *ret_scaler is the caller's to free. */
int pst_scaler_new(const struct pst_scaler_config *config, struct pst_scaler **ret_scaler);
void pst_scaler_free(struct pst_scaler *scaler); /* takes NULL */
/* New numbers between steps; pools may be appended, the class count stays. */
int pst_scaler_reconfigure(struct pst_scaler *scaler, const struct pst_scaler_config *config);

void pst_scaler_step(struct pst_scaler *scaler, const struct pst_scaler_event *event);
bool pst_scaler_poll(struct pst_scaler *scaler, struct pst_scaler_action *ret_action);
pst_ns pst_scaler_deadline(const struct pst_scaler *scaler); /* PST_NEVER: before the first TICK */

/* The last decision of a pool; kind DECISION. False: none yet. */
bool pst_scaler_decision(const struct pst_scaler *scaler, uint16_t pool,
                         struct pst_scaler_action *ret_decision);
/*
 * What the load itself asks for by a decision: the largest term of demand, without cron, profile, canary and
 * min, so that who learns from it does not learn a floor. False: nobody observes, and the terms stand still.
 */
bool pst_scaler_needed(const struct pst_scaler_action *decision, uint32_t *ret_needed);
/* What a pool is decided by, and how old it is. */
struct pst_scaler_inputs {
    uint64_t values[PST_SIGNAL_COUNT]; /* as told; of QUOTA, what is left; 0: not known */
    pst_ns ages[PST_SIGNAL_COUNT];     /* PST_NEVER: not known */
    pst_ns own_age;                    /* of what the gate counted; PST_NEVER: not known */
    uint64_t awaited;                  /* 1 << enum pst_signal: must be fresh */
};
void pst_scaler_inputs(const struct pst_scaler *scaler, uint16_t pool, pst_ns now,
                       struct pst_scaler_inputs *ret_inputs);
/*
 * What whoever keeps a number of replicas must be told now; it may change with every step.
 *
 *   MARKED, OWN  all that exist or were asked for, warm and draining ones included, less those that
 *                may go, and those that others end
 *   NUMBER       what was decided; warm replicas are none of it
 *
 * False: nothing was decided yet (before SYNCED, and the first observations), the gate's observations are
 * stale, or it is nobody's to keep (NONE): then it must be told that it is not known, never a number.
 */
bool pst_scaler_number(const struct pst_scaler *scaler, uint16_t pool, uint32_t *ret_number);
/*
 * MARKED: a replica that was found and takes the place of a START for the warm pool: whoever tells the
 * gate of it says so there, before it is ready.
 */
bool pst_scaler_is_for_warm(const struct pst_scaler *scaler, uint16_t replica);
/* How many a controller counts: all that exist, less those that others end; of them, starting or loading. */
uint32_t pst_scaler_existing(const struct pst_scaler *scaler, uint16_t pool,
                             uint32_t *ret_unfinished);
/* Every invariant of the header, asserted; for tests. */
void pst_scaler_verify(const struct pst_scaler *scaler);

const char *pst_term_name(enum pst_term term); /* "now" … */
const char *pst_veto_name(enum pst_veto veto); /* "max" … */
const char *pst_rule_name(enum pst_scaler_rule rule);
const char *pst_signal_name(enum pst_signal signal); /* "gpu" … */

#endif
