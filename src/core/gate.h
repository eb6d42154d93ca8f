/*
 * gate.h - who runs next, who waits, who is told no: the facade of the request policy.
 *
 * A ticket's walk: the driver OFFERs what the head of a request says; the gate answers CONTINUE (read
 * the body) or FINISH. When the body has been read, ARRIVE queues the ticket; DISPATCH{attempt,
 * replica} tells the driver to run it; FIRST says that the first byte of an answer was seen (from then
 * on nothing is tried again); END says how the attempt ended. FINISH comes exactly once per ticket, and
 * after it the driver may use the index again with another generation.
 *
 *   offered -> queued -> running -> streaming -> done
 *      |         |  ^       |           |
 *      |         |  +-------+ retry     +--> failed | cancelled
 *      +---------+----------> refused | expired | cancelled | failed
 *
 * Guarantee: pure. Same configuration and same events give the same actions, on any compiler and build.
 * Memory is allocated by new() and reconfigure() only. Every ticket ends in exactly one outcome; a
 * replica never has more than its slots in flight.
 *
 * Use: step(event), then poll() until it returns false, before the next step. deadline() says when to
 * step with TIME alone. Not thread-safe: one owner.
 */
#ifndef PST_CORE_GATE_H
#define PST_CORE_GATE_H

#include "pst.h"

#define PST_CLASSES_MAX  8
#define PST_POOLS_MAX    16
#define PST_REPLICAS_MAX 256 /* of one gate, all pools together */
#define PST_TYPES_MAX    32
#define PST_POOL_NONE    UINT16_MAX
#define PST_REPLICA_ALL  UINT16_MAX

enum pst_length { PST_LENGTH_SHORT, PST_LENGTH_MID, PST_LENGTH_LONG, PST_LENGTH_COUNT };

enum pst_policy { PST_POLICY_ADAPTIVE, PST_POLICY_FIXED, PST_POLICY_COUNT };

/* What happens past the work bound. INHERIT is for a length bin only: as its class. */
enum pst_on_full { PST_ON_FULL_REJECT, PST_ON_FULL_WAIT, PST_ON_FULL_INHERIT, PST_ON_FULL_COUNT };

/* Configuration: plain numbers, no pointers, so that a recording can carry it. All times in ns. */
struct pst_gate_class {
    pst_ns target;   /* the class's aim for its P99 wait */
    pst_ns max_wait; /* its deadline D: work bound, and slack of a ticket */
    pst_ns ttl;      /* longest time in the queue */
    uint32_t
        guard_ppm;   /* share of the slot-time that class 0 leaves, for tickets past their slack */
    uint8_t on_full; /* enum pst_on_full, REJECT or WAIT */
    uint8_t on_full_length[PST_LENGTH_COUNT];
};

struct pst_gate_pool {
    uint8_t policy;              /* enum pst_policy */
    uint8_t fixed_scope_replica; /* fixed: in-flight limits are multiplied by the ready replicas */
    uint8_t ready_model; /* a model probe must pass before ready; 0: the health probe is enough */
    uint8_t affinity;    /* honour ARRIVE.affinity with bounded load */
    uint32_t slots;      /* per replica, > 0 */
    uint32_t
        gateways; /* that share the replicas, each with such a part of the slots; 0: none but us */
    uint32_t length_short_tokens; /* <= is short */
    uint32_t length_long_tokens;  /* > is long */
    uint32_t long_share_ppm;      /* of slots that long prompts may hold while shorter ones wait */
    uint64_t kv_tokens_max;       /* bound on the estimated tokens queued; 0: none */
    uint32_t retry_budget_ppm;    /* of dispatches */
    uint32_t tries_max;           /* attempts per ticket for resets, cuts and stalls */
    pst_ns first_byte;            /* limit for non-streaming; 0: none */
    pst_ns first_byte_stream;
    pst_ns stall;          /* silence of a whole replica once it streamed */
    pst_ns no_replica_ttl; /* longest wait while nothing is ready */
    pst_ns cancel_lag;     /* the engine notices a closed connection so much later */
    pst_ns slow_start;     /* a fresh replica reaches all its slots after so long; 0: at once */
    pst_ns probe_interval;
    pst_ns probe_timeout; /* the driver's; here for the recording */
    uint32_t probe_rise;
    uint32_t probe_fall;
    uint32_t fixed_queue[PST_CLASSES_MAX];    /* policy fixed: bound of each queue, requests */
    uint32_t fixed_inflight[PST_CLASSES_MAX]; /* policy fixed: limit in flight */
    pst_ns fixed_promote_after;               /* the lowest class joins the one above once */
};

struct pst_gate_config {
    uint64_t seed;
    uint64_t bytes_max;    /* request bodies held until their FINISH, all pools */
    uint64_t body_max;     /* reserved for a chunked body past its first MiB */
    uint32_t tickets_max;  /* size of the slab: OFFER ids have index < tickets_max */
    uint32_t flows_max;    /* flows beyond share hashed buckets */
    uint32_t replicas_max; /* <= PST_REPLICAS_MAX */
    uint32_t classes_count;
    uint32_t pools_count;
    struct pst_gate_class classes[PST_CLASSES_MAX];
    struct pst_gate_pool pools[PST_POOLS_MAX];
};

struct pst_ticket_id {
    uint32_t index;
    uint32_t generation;
};

enum pst_gate_event_kind {
    PST_EVENT_TIME,     /* only time passed */
    PST_EVENT_OFFER,    /* a head was read; an index >= tickets_max is refused, SLAB_FULL */
    PST_EVENT_HELD,     /* so many body bytes are held; the last comes before ARRIVE */
    PST_EVENT_ARRIVE,   /* the body was read */
    PST_EVENT_CANCEL,   /* the client left */
    PST_EVENT_FIRST,    /* first byte of an answer */
    PST_EVENT_END,      /* an attempt ended */
    PST_EVENT_REPLICA,  /* what the driver knows of a replica */
    PST_EVENT_PROBE,    /* the result of a CHECK */
    PST_EVENT_SLOTS,    /* a source limits a replica's slots */
    PST_EVENT_PROGRESS, /* a replica moved streams on; at most 10 a second each */
    PST_EVENT_DRAIN,
    PST_EVENT_UNDRAIN,
    PST_EVENT_PROMOTE, /* a replica that is kept warm takes work from now on */
    PST_EVENT_ENGINE,  /* what an engine says of itself: late, and only to correct what we count */
    PST_EVENT_COUNT
};

/* How an attempt ended. Before FIRST any may come; after it only DONE keeps the outcome done. */
enum pst_end {
    PST_END_DONE,         /* a whole answer, 4xx of the engine's own included */
    PST_END_REFUSED,      /* connection refused or unreachable */
    PST_END_LOADING,      /* 503 "Loading model" */
    PST_END_RESET_REUSED, /* a kept-alive connection died before any answer byte */
    PST_END_FULL,         /* 429/503/529 as status or as first event; retry_after_ms as told */
    PST_END_ERROR_STATUS, /* 500 and other 5xx; the driver holds the answer to pass it on */
    PST_END_BAD_FRAMING,  /* what came is not HTTP, or not the promised length */
    PST_END_RESET,        /* reset */
    PST_END_CUT,          /* the connection ended inside the answer */
    PST_END_ERROR_EVENT,  /* a stream's error event */
    PST_END_STALL,        /* this stream was silent for too long */
    PST_END_COUNT
};

enum pst_replica_state {
    PST_REPLICA_GONE,
    PST_REPLICA_STARTING,
    PST_REPLICA_LOADING,
    PST_REPLICA_SUSPECT,
    PST_REPLICA_WARM, /* loaded, held back until it is promoted: a scaler's word, never entered without one */
    PST_REPLICA_READY,
    PST_REPLICA_DRAINING,
    PST_REPLICA_STATE_COUNT
};

/* Why the driver says what it says of a replica. */
enum pst_cause { PST_CAUSE_CONFIG, PST_CAUSE_CRASH, PST_CAUSE_REMOVED, PST_CAUSE_COUNT };

enum pst_probe { PST_PROBE_HEALTH, PST_PROBE_MODEL, PST_PROBE_COUNT };

enum pst_probe_result {
    PST_PROBE_OK,
    PST_PROBE_FAILED,  /* answered, and not well */
    PST_PROBE_LOADING, /* refused connection, or 503 Loading: a fact, not a suspicion */
    PST_PROBE_TIMEOUT,
    PST_PROBE_RESULT_COUNT
};

/* Independent limits on a replica's slots; the least counts. */
enum pst_slots_source {
    PST_SLOTS_CONFIG,
    PST_SLOTS_ENGINE,
    PST_SLOTS_SHARED,
    PST_SLOTS_SOURCE_COUNT
};

/* Flags of ARRIVE. RETRY also of OFFER: it changes no decision, but is no new demand. */
#define PST_ARRIVE_STREAM 1u /* a stream of events is asked for */
#define PST_ARRIVE_RETRY  2u /* the client tries again */

struct pst_gate_event {
    pst_ns now; /* monotonic; never less than before */
    uint8_t kind;
    uint8_t flags; /* with ARRIVE and OFFER: PST_ARRIVE_… */
    uint8_t reserved[6];
    union {
        struct {
            struct pst_ticket_id id;
            uint64_t body_bytes; /* Content-Length; UINT64_MAX: chunked, length not known */
            uint16_t pool;       /* PST_POOL_NONE: the body decides */
            uint8_t class_;      /* meaningful with a pool */
            uint8_t type;
            uint32_t flow;
            uint32_t weight; /* of the flow, percent: 100 is one */
        } offer;
        struct {
            struct pst_ticket_id id;
            uint64_t bytes; /* of the body, so far */
        } held;
        struct {
            struct pst_ticket_id id;
            uint16_t pool;
            uint8_t class_;
            uint8_t type;
            uint32_t flow;         /* key of (model, tenant, sub) */
            uint32_t prompt_bytes; /* text bytes */
            uint32_t max_tokens;   /* per sequence; 0: not said */
            uint32_t ttl_ms;       /* asked by the client; 0: the class's */
            uint16_t sequences;    /* slots asked for, >= 1; clamped to a replica's slots */
            uint16_t weight;       /* of the flow, percent */
            uint64_t body_hash;    /* 0: none */
            uint64_t affinity;     /* prefix or session key; 0: none */
        } arrive;
        struct {
            struct pst_ticket_id id;
        } cancel;
        struct {
            struct pst_ticket_id id;
            uint32_t attempt;
        } first;
        struct {
            struct pst_ticket_id id;
            uint32_t attempt;
            uint8_t kind; /* enum pst_end */
            uint8_t reserved[3];
            uint32_t tokens_in; /* usage, or counted; 0: not known */
            uint32_t tokens_out;
            uint32_t retry_after_ms; /* with FULL; 0: not said */
        } end;
        struct {
            uint16_t replica;
            uint16_t pool;
            uint8_t state; /* enum pst_replica_state: STARTING, LOADING or GONE */
            uint8_t cause; /* enum pst_cause */
            uint8_t warm;  /* loaded, it is WARM and not READY, until PROMOTE */
            uint8_t reserved;
            uint32_t revision;
            uint32_t slots; /* its own; 0: the pool's */
        } replica;
        struct {
            uint16_t replica;
            uint8_t probe;  /* enum pst_probe */
            uint8_t result; /* enum pst_probe_result */
        } probe;
        struct {
            uint16_t replica;
            uint8_t source;
            uint8_t reserved;
            uint32_t slots;
            pst_ns until; /* PST_NEVER: until told otherwise */
        } slots;
        struct {
            uint16_t replica;
            uint16_t held_back; /* streams whose clients do not read: no silence of the replica's */
            uint32_t tokens;    /* events since the last PROGRESS; 0: only held_back changed */
        } progress;
        struct {
            uint16_t replica;   /* PST_REPLICA_ALL: the gate itself */
            pst_ns grace_until; /* of the gate: admits until then */
            pst_ns until;       /* deadline */
        } drain;
        struct {
            uint16_t replica;
        } undrain;
        struct {
            uint16_t replica;
        } promote;
        struct {
            uint16_t replica;
            uint8_t asleep; /* it says so: loaded, and answers nothing */
            uint8_t reserved;
            uint32_t running; /* sequences, whoever sent them; UINT32_MAX: not said */
            uint32_t waiting; /* in the engine's own queue; UINT32_MAX: not said */
            uint32_t kv_ppm;  /* of its KV cache in use; UINT32_MAX: not said */
            uint64_t tokens;  /* made since it started; UINT64_MAX: not said */
            pst_ns age;       /* of all this */
        } engine;
    } u;
};

enum pst_gate_action_kind {
    PST_ACTION_CONTINUE, /* read the body (100-continue); also: go on with a paused one */
    PST_ACTION_PAUSE,    /* stop reading this body; CONTINUE or FINISH follows */
    PST_ACTION_DISPATCH, /* run it there */
    PST_ACTION_CLOSE,    /* end this attempt's connection; no END is expected */
    PST_ACTION_FINISH,   /* the ticket's one outcome */
    PST_ACTION_CHECK,    /* probe this replica now */
    PST_ACTION_DRAINED,  /* nothing queued or in flight, or the deadline */
    PST_ACTION_WAKE,     /* a first ticket waits and no replica is there */
    PST_ACTION_STATE,    /* a replica changed state: for logs and metrics */
    PST_ACTION_COUNT
};

enum pst_outcome {
    PST_OUTCOME_DONE,
    PST_OUTCOME_REFUSED,
    PST_OUTCOME_EXPIRED,
    PST_OUTCOME_CANCELLED,
    PST_OUTCOME_FAILED,
    PST_OUTCOME_COUNT
};

enum pst_reason {
    PST_REASON_NONE,
    PST_REASON_QUEUE_FULL, /* fixed: the class's queue; adaptive: the work bound */
    PST_REASON_KV_FULL,
    PST_REASON_BYTES_FULL,
    PST_REASON_SLAB_FULL,
    PST_REASON_TTL,            /* waited too long while replicas were up */
    PST_REASON_NO_REPLICA,     /* waited too long and none was up */
    PST_REASON_DRAINING,       /* we are shutting down */
    PST_REASON_CLIENT,         /* the client left */
    PST_REASON_PASSED_ON,      /* the engine's own error answer goes to the client */
    PST_REASON_UPSTREAM_RESET, /* 502 */
    PST_REASON_UPSTREAM_STALL, /* 504 */
    PST_REASON_FIRST_BYTE,     /* 504: the first_byte limit */
    PST_REASON_REPLICA_DIED,   /* 502: it crashed two replicas */
    PST_REASON_BROKEN,         /* failed after its first byte */
    PST_REASON_COUNT
};

#define PST_DISPATCH_FRESH 1u /* on a new connection */
#define PST_DISPATCH_GUARD 2u /* spent guard share */

struct pst_gate_action {
    uint8_t kind;
    uint8_t reserved[3];
    union {
        struct {
            struct pst_ticket_id id;
        } ticket; /* CONTINUE, PAUSE */
        struct {
            struct pst_ticket_id id;
            uint32_t attempt; /* grows with each dispatch of this ticket, from 1 */
            uint16_t replica;
            uint16_t flags;
            pst_ns waited; /* in the queue, all stays added */
        } dispatch;
        struct {
            struct pst_ticket_id id;
            uint32_t attempt;
        } close;
        struct {
            struct pst_ticket_id id;
            uint8_t outcome;
            uint8_t reason;
            uint8_t length; /* enum pst_length it was binned as */
            uint8_t reserved;
            uint32_t retry_after_ms;   /* 0: none to be said */
            uint32_t tokens_estimated; /* prompt tokens */
            pst_ns waited;
        } finish;
        struct {
            uint16_t replica;
            uint8_t probe; /* enum pst_probe */
        } check;
        struct {
            uint16_t replica; /* PST_REPLICA_ALL */
            uint8_t complete; /* 0: the deadline came first */
            uint32_t left;    /* queued and in flight */
        } drained;
        struct {
            uint16_t pool;
        } wake;
        struct {
            uint16_t replica;
            uint8_t from;
            uint8_t to;
        } state;
    } u;
};

_Static_assert(sizeof(struct pst_gate_event) <= 64, "an event is one cache line");
_Static_assert(sizeof(struct pst_gate_action) <= 64, "an action is one cache line");

struct pst_gate;

/* PST_OK, PST_E_INVALID (numbers out of range) or PST_E_NOMEM. *ret_gate is the caller's to free. */
int pst_gate_new(const struct pst_gate_config *config, struct pst_gate **ret_gate);
void pst_gate_free(struct pst_gate *gate); /* takes NULL */

/*
 * New numbers between steps: class and pool numbers, byte bounds. The class count, the slab and the
 * flow table keep their sizes (PST_E_INVALID otherwise); pools may be appended. Nothing is dropped.
 */
int pst_gate_reconfigure(struct pst_gate *gate, const struct pst_gate_config *config);

void pst_gate_step(struct pst_gate *gate, const struct pst_gate_event *event);
bool pst_gate_poll(struct pst_gate *gate, struct pst_gate_action *ret_action);
pst_ns pst_gate_deadline(const struct pst_gate *gate); /* PST_NEVER: none */

/* What can be seen of it, for metrics, /state and refusals. Cheap: kept, not computed. */
struct pst_gate_class_view {
    uint32_t queued[PST_LENGTH_COUNT];
    uint32_t inflight;    /* sequences */
    uint64_t queued_work; /* estimated slot-time, ns */
    uint64_t queued_bytes;
    uint64_t queued_tokens;
    pst_ns backlog;          /* work of this class and all above, divided by the drain rate */
    pst_ns oldest;           /* age of the oldest ticket, 0: none */
    pst_ns predicted_wait;   /* of a ticket that joined now */
    uint32_t reserved_slots; /* r_c */
};

struct pst_gate_pool_view {
    uint32_t replicas[PST_REPLICA_STATE_COUNT];
    uint32_t slots; /* of ready replicas */
    uint32_t inflight;
    uint32_t waiting_no_replica;
};

struct pst_gate_replica_view {
    uint16_t pool;
    uint8_t state;
    uint32_t slots;
    uint32_t inflight;
    uint32_t revision;
    uint64_t dispatched;
    uint64_t failures;
    uint8_t draining;
};

struct pst_gate_counters {
    uint64_t offered, finished, dispatched, retried, guard_dispatched, stale_events, bytes_held;
    uint32_t tickets; /* alive now */
    uint8_t draining;
};

/*
 * Running totals, from which observe.h tells the scaler. They only grow (modulo 2^64), and no reconfigure
 * resets them. A client's own retries are in none of a class's. What was refused before its pool was
 * known, or because of a drain, is nobody's.
 */
struct pst_gate_class_totals {
    uint64_t arrived; /* tickets, when they were judged: admitted, or refused as below */
    uint64_t refused; /* of them, for want of capacity; of one flow at most its share: totals.h */
    uint64_t waited;  /* dispatched for the first time, or expired */
    uint64_t late;    /* of them, past the class's target */
    uint64_t arrived_work; /* estimated slot-time of arrived, ns */
    uint64_t refused_work; /* … of refused */
};

struct pst_gate_pool_totals {
    uint64_t served;         /* attempts that ended DONE */
    uint64_t failed;         /* … otherwise, but for CLOSE */
    uint64_t service;        /* slot-time of served, ns */
    uint64_t service_square; /* of each, us^2 */
};

uint8_t pst_gate_classes(const struct pst_gate *gate); /* how many */
void pst_gate_class_totals(const struct pst_gate *gate, uint16_t pool, uint8_t class_, pst_ns now,
                           struct pst_gate_class_totals *ret_totals);
void pst_gate_pool_totals(const struct pst_gate *gate, uint16_t pool,
                          struct pst_gate_pool_totals *ret_totals);

void pst_gate_class_view(const struct pst_gate *gate, uint16_t pool, uint8_t class_, pst_ns now,
                         struct pst_gate_class_view *ret_view);
void pst_gate_pool_view(const struct pst_gate *gate, uint16_t pool,
                        struct pst_gate_pool_view *ret_view);
/* False: no such replica. */
bool pst_gate_replica_view(const struct pst_gate *gate, uint16_t replica,
                           struct pst_gate_replica_view *ret_view);
void pst_gate_counters(const struct pst_gate *gate, struct pst_gate_counters *ret_counters);

/* Every invariant of the header, asserted; for tests and recordings. O(tickets). */
void pst_gate_verify(const struct pst_gate *gate);

const char *pst_outcome_name(enum pst_outcome outcome); /* "done" … */
const char *pst_reason_name(enum pst_reason reason);    /* "queue_full" … */
const char *pst_end_name(enum pst_end end);             /* "reset_reused" … */
const char *pst_length_name(enum pst_length length);    /* "short" … */
const char *pst_replica_state_name(enum pst_replica_state state);

#endif
