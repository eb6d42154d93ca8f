/*
 * export.h - a decision as one number for a controller that divides and compares: the HPA.
 *
 * Why: the HPA knows value, target and the replicas there are, and asks for ceil(value / target) (of an
 * AverageValue), unless value / (target x replicas) is within its tolerance of 1: then nothing changes.
 * Which value makes it ask for what was decided, whatever its tolerance, and keeps it from removing what
 * we would keep, is decided here and nowhere else.
 *
 *   desired          target 1: the number itself. Where the tolerance cannot be 0, a gap within it would
 *                    be ignored: out, from N, it overshoots to the next number outside the band, or waits
 *                    until the gap leaves the band, as configured.
 *   backlog-seconds  target out_above: backlog x replicas, so that the ratio is backlog / out_above
 *   weighted-depth   target 5: 3/2/1 of high, medium and low queued, dead band 0.5 in both directions
 *   p99-wait         target 1: the worst ratio of P99 wait to target over the classes, x replicas
 *
 * Guarantee: never NaN, infinite or negative; at most PST_EXPORT_MAX. What is not known is PST_E_UNKNOWN,
 * never 0. No mode gives a value from which fewer follow than the number, as far as they exist, nor fewer
 * than exist while the scaler vetoes a scale-in: who leaves has drained. In mode desired the HPA asks
 *
 *   EXACT      with tolerance 0: for the number
 *   OVERSHOOT  for the number, or up to floor(N x tolerance) + 1 more (with 10 %: floor(N/10) + 1)
 *   HOLD       for the number, or for N, if the number is within N x (1 +- tolerance)
 *
 * OVERSHOOT never asks for fewer than the number: in, a value between two whole numbers leaves the band
 * and is rounded up to the number where that can be; where it cannot, what there is stays until the gap
 * leaves the band. Pure.
 *
 * Source: Kubernetes HPA algorithm, "Algorithm details" of the HorizontalPodAutoscaler documentation;
 * kubernetes/kubernetes pkg/controller/podautoscaler/replica_calculator.go.
 */
#ifndef PST_CORE_EXPORT_H
#define PST_CORE_EXPORT_H

#include "core/scaler.h"

#define PST_EXPORT_MAX 1000000000u /* of a value, not of thousandths */

enum pst_export_mode {
    PST_EXPORT_DESIRED,
    PST_EXPORT_BACKLOG_SECONDS,
    PST_EXPORT_WEIGHTED_DEPTH,
    PST_EXPORT_P99_WAIT,
    PST_EXPORT_MODE_COUNT
};

/* What to do with a gap that the HPA's tolerance would swallow. */
enum pst_export_band {
    PST_EXPORT_EXACT, /* its tolerance is 0 */
    PST_EXPORT_OVERSHOOT,
    PST_EXPORT_HOLD,
    PST_EXPORT_BAND_COUNT
};

struct pst_export_config {
    uint8_t mode;           /* enum pst_export_mode */
    uint8_t band;           /* enum pst_export_band */
    uint32_t tolerance_ppm; /* of the HPA; 100,000 by default */
    uint32_t gateways;      /* that share the load alike: of what queues we see one part; >= 1 */
};

struct pst_export_input {
    bool known;          /* pst_scaler_number said so */
    bool tickets;        /* anything is queued or in flight */
    bool holds;          /* pst_export_holds of the last decision */
    uint32_t number;     /* of pst_scaler_number */
    uint32_t existing;   /* N: not gone, nor going by others' will: what the controller counts */
    uint32_t unfinished; /* of them, starting or loading */
    uint32_t min;
    uint64_t backlog_ms, out_above_ms;
    uint32_t queued[PST_CLASSES_MAX];
    uint32_t weight[PST_CLASSES_MAX];      /* 3, 2, 1 */
    uint64_t p99_wait_ms[PST_CLASSES_MAX]; /* UINT64_MAX: nothing waited */
    uint64_t target_ms[PST_CLASSES_MAX];
    uint32_t classes_count;
};

/*
 * Does a decision with these vetoes keep what there is? Not where the number is below what exists
 * already: those that it leaves out have drained, and the vetoes are about the next step.
 */
bool pst_export_holds(uint32_t vetoes, uint32_t number, uint32_t existing);

/* From configuration alone, in thousandths; > 0. */
uint64_t pst_export_target(const struct pst_export_config *config,
                           const struct pst_scaler_pool *pool);
/* PST_OK, or PST_E_UNKNOWN. Thousandths. */
int pst_export_value(const struct pst_export_config *config, const struct pst_export_input *input,
                     uint64_t *ret_value_milli);
/*
 * PST_OK or PST_E_UNKNOWN. Active while anything is queued, in flight or loading, or more than 1 runs,
 * or min > 0, which are facts; or while the number is above 0, if it is known.
 */
int pst_export_active(const struct pst_export_input *input, bool *ret_active);

const char *pst_export_mode_name(enum pst_export_mode mode); /* "desired", "backlog-seconds" … */

#endif
