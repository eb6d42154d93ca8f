/*
 * pilot_inside.h - the rules behind pilot.h: their state, and the one question each answers.
 *
 * Guarantee: integers throughout. A rule gives a number that is not yet held within min and max, or
 * PILOT_HOLDS: it has nothing to go by and leaves the workload as it is.
 */
#ifndef PST_SIM_PILOT_INSIDE_H
#define PST_SIM_PILOT_INSIDE_H

#include "sim/pilot.h"

#define PILOT_HOLDS UINT32_MAX

#define HPA_SYNC     (15 * PST_S)
#define HPA_HISTORY  20 /* looks in the stabilisation window of 300 s */
#define KPA_TICK     (2 * PST_S)
#define KPA_SAMPLES  31 /* looks in the stable window of 60 s, both ends */
#define APA_RESYNC   (10 * PST_S)
#define APA_HISTORY  30 /* looks in the cool-down of 300 s */
#define APA_READINGS 18 /* looks in the window of 180 s */

/* What an external metric's target of one per replica makes of HPA and KEDA: nobody's own metric. */
enum pilot_rule { PILOT_HPA, PILOT_HPA_EXTERNAL, PILOT_KEDA, PILOT_KPA, PILOT_APA };

struct pilot_advice {
    pst_ns at;
    uint32_t replicas;
};

struct hpa {
    struct pilot_advice advice[HPA_HISTORY]; /* a ring: what the metric said, before any limit */
    uint32_t count, next;
    pst_ns active; /* KEDA: when anything was asked for last */
    bool awake;    /* … and whether anything ever was */
};

struct kpa {
    struct {
        pst_ns at;
        uint64_t concurrency_ns; /* the running integral */
    } samples[KPA_SAMPLES];      /* a ring */
    uint32_t count, next;
    pst_ns panic_since;
    uint32_t panic_replicas; /* the most that was asked for while it panics */
    bool panics, begun;
};

struct apa {
    struct {
        pst_ns at;
        uint64_t milli; /* load per ready replica */
    } readings[APA_READINGS];
    struct pilot_advice advice[APA_HISTORY];
    uint32_t readings_count, readings_next;
    uint32_t advice_count, advice_next;
};

struct pst_pilot {
    enum pilot_rule rule;
    enum pst_scenario_pilot metric; /* of HPA: occupancy, in flight or queue */
    uint64_t target;
    uint32_t min, max;
    pst_ns every, due;
    union {
        struct hpa hpa;
        struct kpa kpa;
        struct apa apa;
    } state;
};

uint32_t pst_pilot_hpa(struct pst_pilot *pilot, const struct pst_sight *sight);
uint32_t pst_pilot_keda(struct pst_pilot *pilot, const struct pst_sight *sight);
uint32_t pst_pilot_kpa(struct pst_pilot *pilot, const struct pst_sight *sight);
uint32_t pst_pilot_apa(struct pst_pilot *pilot, const struct pst_sight *sight);

#endif
