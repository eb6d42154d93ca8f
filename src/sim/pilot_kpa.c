/*
 * pilot_kpa.c - Knative's pod autoscaler on concurrency.
 *
 * Requests in the system, waiting or running, are averaged over a stable window of 60 s and a panic
 * window of 6 s; each divided by the target of one pod and rounded up is a number of pods, held between
 * half of the ready pods and 1,000 times as many. When the panic window asks for twice the ready pods
 * or more it panics: the larger of both counts, and nothing is taken away until the threshold has not
 * been reached for a whole stable window. It begins in panic where more than one pod is there. A
 * window that is not filled yet is averaged as far as it goes; without any reading in a stable
 * window nothing changes.
 *
 * Sources: knative.dev, "Autoscaling" (KPA specific configuration); knative/serving
 * pkg/autoscaler/scaling and aggregation, config/core/configmaps/autoscaler.
 */
#include "core/num.h"
#include "sim/pilot_inside.h"

#define STABLE_WINDOW  (60 * PST_S)
#define PANIC_WINDOW   (6 * PST_S) /* panic-window-percentage 10 */
#define PANIC_TIMES    2           /* panic-threshold-percentage 200 */
#define OUT_TIMES_MAX  1000        /* max-scale-up-rate */
#define IN_DIVISOR_MAX 2           /* max-scale-down-rate */

static void sample(struct kpa *kpa, const struct pst_sight *sight)
{
    kpa->samples[kpa->next].at = sight->now;
    kpa->samples[kpa->next].concurrency_ns = sight->inflight_ns;
    kpa->next = (kpa->next + 1) % KPA_SAMPLES;
    if (kpa->count < KPA_SAMPLES)
        kpa->count++;
}

/* Mean concurrency from the window's begin to the last sample, thousandths. False: no two samples. */
static bool average(const struct kpa *kpa, pst_ns now, pst_ns window, uint64_t *ret_milli)
{
    uint32_t last = (kpa->next + KPA_SAMPLES - 1) % KPA_SAMPLES;
    uint32_t first = last;
    uint64_t area;
    pst_ns span;

    for (uint32_t i = 1; i < kpa->count; i++) {
        uint32_t before = (last + KPA_SAMPLES - i) % KPA_SAMPLES;

        if (now - kpa->samples[before].at > window)
            break;
        first = before;
    }
    if (first == last)
        return false;
    area = kpa->samples[last].concurrency_ns - kpa->samples[first].concurrency_ns;
    span = kpa->samples[last].at - kpa->samples[first].at;
    *ret_milli = pst_muldiv(area, 1000, span);
    return true;
}

static uint32_t pods_for(uint64_t milli, uint64_t target)
{
    return (uint32_t)(milli / target + (milli % target > 0));
}

static uint32_t within_rates(uint32_t wanted, uint32_t ready)
{
    uint64_t least = ready / IN_DIVISOR_MAX, most = (uint64_t)ready * OUT_TIMES_MAX;

    return (uint32_t)pst_min_u64(pst_max_u64(wanted, least), most);
}

static void weigh_panic(struct kpa *kpa, pst_ns now, bool over)
{
    if (over) {
        kpa->panics = true;
        kpa->panic_since = now;
    } else if (kpa->panics && now - kpa->panic_since > STABLE_WINDOW) {
        kpa->panics = false;
        kpa->panic_replicas = 0;
    }
}

uint32_t pst_pilot_kpa(struct pst_pilot *pilot, const struct pst_sight *sight)
{
    struct kpa *kpa = &pilot->state.kpa;
    uint32_t ready = (uint32_t)pst_max_u64(sight->ready, 1);
    uint32_t stable, panic, wanted;
    uint64_t stable_milli, panic_milli = 0;

    if (!kpa->begun) {
        kpa->begun = true;
        kpa->panics = sight->ready > 1;
        kpa->panic_since = sight->now;
        kpa->panic_replicas = sight->ready;
    }
    if (!sight->blind)
        sample(kpa, sight);
    if (!average(kpa, sight->now, STABLE_WINDOW, &stable_milli))
        return PILOT_HOLDS;
    (void)average(kpa, sight->now, PANIC_WINDOW, &panic_milli);
    stable = pods_for(stable_milli, pilot->target);
    panic = pods_for(panic_milli, pilot->target);
    weigh_panic(kpa, sight->now, panic >= PANIC_TIMES * ready);
    wanted = within_rates(stable, ready);
    if (!kpa->panics)
        return wanted;
    wanted = (uint32_t)pst_max_u64(wanted, within_rates(panic, ready));
    kpa->panic_replicas = (uint32_t)pst_max_u64(kpa->panic_replicas, wanted);
    return kpa->panic_replicas;
}
