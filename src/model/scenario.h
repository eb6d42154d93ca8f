/*
 * scenario.h - an experiment, as plain data: what arrives, what serves, what goes wrong, and what is
 * compared.
 *
 * Why: the reader of the file, the simulator and the planner must mean the same by it. The gate's and the
 * scaler's own configurations are in it whole, so that what is simulated is what would run.
 *
 * Ownership: arrays belong to whoever built the scenario; nobody here writes or frees them. Times are
 * ns of virtual time, from 0; probabilities and shares ppm.
 */
#ifndef PST_MODEL_SCENARIO_H
#define PST_MODEL_SCENARIO_H

#include "core/gate.h"
#include "core/scaler.h"
#include "model/engine.h"
#include "model/law.h"

#define PST_SCENARIO_NAME_MAX 48
#define PST_STREAMS_MAX       32
#define PST_POLICIES_MAX      32
#define PST_SCENARIO_TEXT_MAX 160

/* From `at` on the rate is this. */
struct pst_rate_piece {
    pst_ns at;
    double per_s;
};

/* One recorded request. */
struct pst_arrival_row {
    pst_ns at;
    uint32_t prompt_tokens, output_tokens;
    uint32_t client;
    uint8_t class_; /* PST_CLASS_DRAWN: by the stream's shares */
    pst_ns service; /* recorded slot-time; 0: drawn from the stream's law */
};
#define PST_CLASS_DRAWN UINT8_MAX

/* Recorded quantiles of a count, ascending; drawn by inversion. */
struct pst_quantiles {
    const uint32_t *values; /* values[i] is the quantile i / (count - 1) */
    uint32_t count;         /* 0: none */
};

/*
 * A stream of requests of one kind. Its rate is the sum of what is set: a constant, pieces (repeated
 * every `period`, if one is set: an hour-of-day profile has 24 h), and bursts. Gaps are drawn with
 * mean one and stretched by the rate, so that any law of gaps follows any rate.
 */
struct pst_stream {
    char name[PST_SCENARIO_NAME_MAX];
    uint16_t pool;
    uint8_t class_;
    uint8_t type;
    uint32_t class_ppm[PST_CLASSES_MAX]; /* all 0: class_; else each arrival draws its class */
    uint32_t flow;                       /* tenant; rows add their client */
    uint16_t weight;                     /* percent */
    uint16_t sequences;                  /* >= 1 */
    double per_s;                        /* constant part */
    const struct pst_rate_piece *pieces;
    uint32_t pieces_count;
    pst_ns period; /* of the pieces; 0: once */
    struct {
        pst_ns every;          /* a burst in each such span; 0: none */
        struct pst_law offset; /* when in it */
        struct pst_law length;
        double per_s; /* added while it lasts */
    } burst;
    struct pst_law gaps; /* EXP, GAMMA, WEIBULL, CONST …: only its form counts */
    pst_ns begin, end;   /* arrivals outside are none; end PST_NEVER: to the horizon */
    const struct pst_arrival_row *rows; /* a trace instead of rates */
    uint64_t rows_count;
    const char *recording;         /* file from which the caller fills rows; NULL: none */
    struct pst_law prompt, output; /* tokens; rows and quantiles go first */
    struct pst_quantiles prompt_table, output_table;
    struct pst_law service; /* slot mode: slot-time, TOKENS from the counts */
    uint32_t retries_max;   /* a refused client comes again so often */
    pst_ns retry_after;     /* 0: as it was told */
    uint32_t ttl_ms;        /* asked for; 0: the class's */
};

/* How replicas of a pool live. */
struct pst_scenario_pool {
    uint32_t initial;       /* ready at the beginning */
    struct pst_law cold;    /* create to ready */
    struct pst_law promote; /* warm to ready */
    struct pst_law stop;    /* drained to gone: still paid */
    bool token_mode; /* replicas run the engine model; else slots with the streams' service laws */
    struct pst_engine_config engine;
    uint32_t slow_ppm;  /* so many replicas are slow from birth … */
    double slow_factor; /* … by this */
    pst_ns mtbf;        /* mean time to a replica's crash; 0: never */
};

enum pst_fault_kind {
    PST_FAULT_KILL,  /* `count` ready replicas crash at `at` */
    PST_FAULT_EVICT, /* `count` ready replicas are ended by others at `at`; they drain first */
    PST_FAULT_SLOW,  /* `count` replicas take `factor` times as long, until `until` */
    PST_FAULT_HANG,  /* `count` replicas neither answer nor fail, until `until` */
    PST_FAULT_STUCK, /* starts that begin in the span never become ready */
    PST_FAULT_FAIL,  /* starts that begin in the span crash after their cold start */
    PST_FAULT_QUOTA, /* no more than `count` replicas may exist in the span */
    PST_FAULT_OUTAGE, /* metrics from outside are missing in the span: pilots that scrape are blind */
    PST_FAULT_BLIND,   /* the scaler's own observations are missing too */
    PST_FAULT_ROLLOUT, /* new replicas have a new revision from `at`; signal until `until` */
    PST_FAULT_KIND_COUNT
};

struct pst_fault {
    enum pst_fault_kind kind;
    pst_ns at, until;
    uint16_t pool;
    uint32_t count;
    double factor;
};

/* Who is next. FIFO: one loss-free queue through the same gate; NONE: no gate, plain priority queues. */
enum pst_scenario_gate {
    PST_SCENARIO_ADAPTIVE,
    PST_SCENARIO_FIXED,
    PST_SCENARIO_FIFO,
    PST_SCENARIO_NONE,
    PST_SCENARIO_GATE_COUNT
};

/* Who decides how many. AHEAD to STATIC are the core's rules; the rest the peers' published ones. */
enum pst_scenario_pilot {
    PST_PILOT_AHEAD,
    PST_PILOT_BACKLOG,
    PST_PILOT_QPS,
    PST_PILOT_DEPTH,
    PST_PILOT_STATIC,
    PST_PILOT_HPA_OCCUPANCY, /* slots in use ÷ slots, target in ppm */
    PST_PILOT_HPA_INFLIGHT,  /* in flight and queued per replica, target x 1,000 */
    PST_PILOT_HPA_QUEUE,     /* queued per replica, target x 1,000 */
    PST_PILOT_KPA,           /* Knative: stable and panic windows on concurrency, target x 1,000 */
    PST_PILOT_APA,           /* AIBrix: fluctuation tolerances around a target, x 1,000 */
    PST_PILOT_COUNT
};

/* Through whom the number becomes replicas. */
enum pst_scenario_actuator {
    PST_ACTUATOR_DIRECT, /* the scaler's own actions; for peers: at once */
    PST_ACTUATOR_HPA, /* as an external metric, AverageValue 1, through a HorizontalPodAutoscaler */
    PST_ACTUATOR_KEDA, /* the same behind KEDA: polling interval, activation, cooldown */
    /* A controller keeps the scaler's number and looks at its marks; for peers: at once. */
    PST_ACTUATOR_MARKED,
    PST_ACTUATOR_COUNT
};

struct pst_scenario_policy {
    char name[PST_SCENARIO_NAME_MAX];
    enum pst_scenario_gate gate;
    enum pst_scenario_pilot pilot;
    enum pst_scenario_actuator actuator;
    uint64_t target;                  /* the pilot's, in its unit; 0: its published default */
    uint32_t replicas;                /* STATIC; 0: the pool's min */
    uint32_t warm;                    /* of the warm pool; UINT32_MAX: the scaler's own */
    pst_ns max_wait[PST_CLASSES_MAX]; /* 0: the class's own */
};

enum pst_measure {
    PST_MEASURE_WAIT_MEAN, /* of one class, from here … */
    PST_MEASURE_WAIT_P50,
    PST_MEASURE_WAIT_P95,
    PST_MEASURE_WAIT_P99,
    PST_MEASURE_TTFT_P50,
    PST_MEASURE_TTFT_P95,
    PST_MEASURE_TTFT_P99,
    PST_MEASURE_ATTAINMENT,  /* served within the class's target, of all that arrived; ppm */
    PST_MEASURE_IN_DEADLINE, /* … within its max_wait */
    PST_MEASURE_ARRIVED,
    PST_MEASURE_DONE,
    PST_MEASURE_REFUSED,
    PST_MEASURE_EXPIRED,
    PST_MEASURE_FAILED, /* … to here; without a class: of all */
    PST_MEASURE_REPLICA_HOURS,
    PST_MEASURE_COST,
    PST_MEASURE_REPLICAS_MIN, /* that were ready */
    PST_MEASURE_REPLICAS_MAX, /* that existed */
    PST_MEASURE_SCALE_UPS,
    PST_MEASURE_SCALE_DOWNS,
    PST_MEASURE_DIRECTION_CHANGES,
    PST_MEASURE_DIRECTION_CHANGES_PER_HOUR,
    PST_MEASURE_UPS_PER_BURST,
    PST_MEASURE_KILLED_IN_FLIGHT, /* requests that lost their replica to a scale-in */
    PST_MEASURE_COUNT
};

enum pst_comparison {
    PST_AT_MOST,
    PST_BELOW,
    PST_AT_LEAST,
    PST_ABOVE,
    PST_EQUAL,
    PST_COMPARISON_COUNT
};

/* "low wait_p99 <= 6s", "replica_hours <= 95% of fifo+hpa". A breach names the line. */
struct pst_expectation {
    uint32_t line;
    uint32_t policy; /* index */
    uint8_t class_;  /* PST_CLASS_DRAWN: all */
    enum pst_measure measure;
    enum pst_comparison comparison;
    double bound; /* ns, counts, hours, ppm … in the measure's unit; a factor with relative_to */
    uint32_t relative_to;             /* another policy's value of it; UINT32_MAX: none */
    char text[PST_SCENARIO_TEXT_MAX]; /* as written */
};

struct pst_scenario {
    char name[PST_SCENARIO_NAME_MAX];
    char class_names[PST_CLASSES_MAX][PST_SCENARIO_NAME_MAX];
    uint64_t seed;
    pst_ns horizon; /* arrivals end; what is inside is finished */
    pst_ns cut;     /* measured from here on */
    pst_ns history; /* so much of the streams' past the scaler has seen: same laws, other draws */
    struct pst_gate_config gate;
    struct pst_scaler_config scaler;
    struct pst_scenario_pool pools[PST_POOLS_MAX];
    const struct pst_stream *streams;
    uint32_t streams_count;
    const struct pst_fault *faults;
    uint32_t faults_count;
    const struct pst_scenario_policy *policies;
    uint32_t policies_count;
    const struct pst_expectation *expectations;
    uint32_t expectations_count;
};

/* What each is called wherever it is named: files, options, reports. By value of the enum. */
extern const char *const pst_scenario_gate_names[PST_SCENARIO_GATE_COUNT];
extern const char *const pst_scenario_pilot_names[PST_PILOT_COUNT];
extern const char *const pst_scenario_actuator_names[PST_ACTUATOR_COUNT];
extern const char *const pst_measure_names[PST_MEASURE_COUNT];
const char *pst_scenario_gate_name(enum pst_scenario_gate gate);
const char *pst_scenario_pilot_name(enum pst_scenario_pilot pilot);
const char *pst_scenario_actuator_name(enum pst_scenario_actuator actuator);
const char *pst_measure_name(enum pst_measure measure);
/* Is it said of a class, or of the whole? */
bool pst_measure_is_of_class(enum pst_measure measure);

/*
 * How many units of `target` are one: PPM for a share, 1,000 for a number, 1 for replicas (STATIC); 0: it
 * takes no target.
 */
uint64_t pst_scenario_target_scale(enum pst_scenario_pilot pilot);

#endif
