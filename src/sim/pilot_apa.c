/*
 * pilot_apa.c - AIBrix's pod autoscaler with fluctuation tolerances.
 *
 * Every 10 s the load of one ready pod (requests running and waiting ÷ pods) is read; its mean over
 * 180 s is compared with the target. Above 1.1 of it the pods are multiplied by that ratio, at most
 * doubled; below 0.9 likewise, at most halved; between, nothing. Pods that are not ready count as idle
 * in a scale-out and as at target in a scale-in. A scale-in takes the lowest advice of the last
 * 300 s: its cool-down window chooses the minimum, where an HPA's stabilisation chooses the maximum.
 * Without readings nothing changes.
 *
 * Sources: AIBrix documentation, "Metric-based autoscaling" (annotations and their defaults, metric
 * windows); vllm-project/aibrix pkg/controller/podautoscaler (algorithm/apa, autoscaler, controller).
 * Its example of an APA sets a scale-in tolerance of 0.2 by an annotation of older releases; the
 * documented default is 0.1 both ways.
 */
#include "core/num.h"
#include "sim/pilot_inside.h"

#define WINDOW        (180 * PST_S)
#define COOL_DOWN     (300 * PST_S)
#define TOLERANCE_PCT 10 /* scale-up-tolerance, scale-down-tolerance */
#define OUT_TIMES_MAX 2  /* max-scale-up-rate */
#define IN_DIVISOR    2  /* max-scale-down-rate */

static void read_load(struct apa *apa, const struct pst_sight *sight)
{
    uint64_t load = ((uint64_t)sight->inflight + sight->queued) * 1000;

    apa->readings[apa->readings_next].at = sight->now;
    apa->readings[apa->readings_next].milli = load / sight->ready;
    apa->readings_next = (apa->readings_next + 1) % APA_READINGS;
    if (apa->readings_count < APA_READINGS)
        apa->readings_count++;
}

static bool average(const struct apa *apa, pst_ns now, uint64_t *ret_milli)
{
    uint64_t sum = 0, count = 0;

    for (uint32_t i = 0; i < apa->readings_count; i++) {
        if (now - apa->readings[i].at >= WINDOW)
            continue;
        sum += apa->readings[i].milli;
        count++;
    }
    if (count == 0)
        return false;
    *ret_milli = sum / count;
    return true;
}

/* current x milli ÷ target, rounded up. */
static uint32_t scaled(uint32_t current, uint64_t milli, uint64_t target)
{
    uint64_t product = current * milli;

    return (uint32_t)(product / target + (product % target > 0));
}

static uint32_t advice_of(const struct pst_pilot *pilot, uint32_t current, uint64_t milli)
{
    uint64_t target = pilot->target;

    if (milli * 100 > target * (100 + TOLERANCE_PCT))
        return (uint32_t)pst_min_u64(scaled(current, milli, target), current * OUT_TIMES_MAX);
    if (milli * 100 < target * (100 - TOLERANCE_PCT))
        return (uint32_t)pst_max_u64(scaled(current, milli, target), current / IN_DIVISOR);
    return current;
}

/* The advice again, with the pods that are not ready: idle on the way out, at target on the way in. */
static uint32_t guarded(const struct pst_pilot *pilot, const struct pst_sight *sight,
                        uint64_t milli, uint32_t advice)
{
    uint32_t current = sight->current;
    uint32_t ready = (uint32_t)pst_min_u64(sight->ready, current), pending = current - ready;
    uint32_t again;

    if (pending == 0 || advice == current)
        return advice;
    if (advice > current) {
        again = scaled(ready, milli, pilot->target);
        return (uint32_t)pst_min_u64(pst_max_u64(again, current), advice);
    }
    again = scaled(ready, milli, pilot->target) + pending;
    return (uint32_t)pst_max_u64(pst_min_u64(again, current), advice);
}

static void remember(struct apa *apa, pst_ns now, uint32_t replicas)
{
    apa->advice[apa->advice_next] = (struct pilot_advice){now, replicas};
    apa->advice_next = (apa->advice_next + 1) % APA_HISTORY;
    if (apa->advice_count < APA_HISTORY)
        apa->advice_count++;
}

static uint32_t cooled(const struct apa *apa, pst_ns now, uint32_t wanted)
{
    for (uint32_t i = 0; i < apa->advice_count; i++)
        if (now - apa->advice[i].at < COOL_DOWN && apa->advice[i].replicas < wanted)
            wanted = apa->advice[i].replicas;
    return wanted;
}

uint32_t pst_pilot_apa(struct pst_pilot *pilot, const struct pst_sight *sight)
{
    struct apa *apa = &pilot->state.apa;
    uint64_t milli;
    uint32_t advice;

    if (sight->blind || sight->ready == 0)
        return PILOT_HOLDS;
    read_load(apa, sight);
    if (!average(apa, sight->now, &milli))
        return PILOT_HOLDS;
    advice = guarded(pilot, sight, milli, advice_of(pilot, sight->current, milli));
    remember(apa, sight->now, advice);
    return advice < sight->current ? cooled(apa, sight->now, advice) : advice;
}
