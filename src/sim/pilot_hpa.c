/*
 * pilot_hpa.c - Kubernetes' HorizontalPodAutoscaler, autoscaling/v2, with its default behaviour; and
 * KEDA, which is one with a switch between none and one.
 *
 * With L the load of all pods that tell it and T the target of one, L / T pods would be at target. That
 * number is compared with the pods that are there: pods that tell nothing yet count as idle when more
 * are asked for and as at target when fewer are; a change within 10 %, or whose direction turns by
 * that, is none. Then
 *
 *   in:  the highest advice of the last 300 s
 *   out: at once, but no further than 4 pods more or twice as many; the period of that limit is the
 *        interval of the looks, so that none holds two
 *
 * An external metric (AverageValue, target 1) is compared with all pods that exist, ready or not.
 * Without metrics nothing changes and nothing is remembered. KEDA gives an HPA a minimum of one, asks
 * every 30 s whether there is anything to do while there is no pod, and takes the last away when there
 * was nothing for 300 s.
 *
 * Sources: kubernetes.io, "Horizontal Pod Autoscaling" (algorithm details, default behaviour);
 * kubernetes/kubernetes pkg/controller/podautoscaler (replica_calculator, horizontal); keda.sh,
 * "ScaledObject specification". An autoscaler here is configured by behaviour, whose default is as
 * above; where none is given at all, the controller's older limit is max(4, twice as many).
 */
#include "core/num.h"
#include "sim/pilot_inside.h"

#define STABILISATION   (300 * PST_S)
#define TOLERANCE_PCT   10
#define PODS_PER_PERIOD 4
#define KEDA_POLLING    (30 * PST_S)
#define KEDA_COOLDOWN   (300 * PST_S)

/* A fraction: so many pods' worth. */
struct share {
    uint64_t of, in;
};

static uint32_t round_up(struct share share)
{
    return (uint32_t)(share.of / share.in + (share.of % share.in > 0));
}

/* Is the share within the tolerance of so many pods, both ends included? */
static bool is_near(struct share share, uint64_t pods)
{
    return share.of * 100 <= share.in * pods * (100 + TOLERANCE_PCT) &&
           share.of * 100 >= share.in * pods * (100 - TOLERANCE_PCT);
}

/* -1, 0, 1: below, at, above so many pods. */
static int side_of(struct share share, uint64_t pods)
{
    uint64_t level = share.in * pods;

    return (share.of > level) - (share.of < level);
}

/* How many of the ready pods would be at target. */
static struct share needed(const struct pst_pilot *pilot, const struct pst_sight *sight)
{
    struct share share = {0, pilot->target};

    switch (pilot->metric) {
    case PST_PILOT_HPA_OCCUPANCY:
        share.of = (uint64_t)sight->inflight * PST_PPM * sight->ready;
        share.in = pilot->target * sight->slots;
        break;
    case PST_PILOT_HPA_INFLIGHT:
        share.of = ((uint64_t)sight->inflight + sight->queued) * 1000;
        break;
    case PST_PILOT_HPA_QUEUE:
        share.of = (uint64_t)sight->queued * 1000;
        break;
    case PST_PILOT_AHEAD:
    case PST_PILOT_BACKLOG:
    case PST_PILOT_QPS:
    case PST_PILOT_DEPTH:
    case PST_PILOT_STATIC:
    case PST_PILOT_KPA:
    case PST_PILOT_APA:
    case PST_PILOT_COUNT:
        break;
    }
    return share;
}

static uint32_t advice_of_pods(const struct pst_pilot *pilot, const struct pst_sight *sight)
{
    struct share share = needed(pilot, sight);
    uint64_t pods = (uint64_t)sight->ready + sight->unready;
    uint32_t wanted;
    int side, turned;

    if (sight->ready == 0 || share.in == 0)
        return PILOT_HOLDS;
    side = side_of(share, sight->ready);
    if (side < 0) /* those that tell nothing are taken to be at target */
        share.of += share.in * sight->unready;
    turned = side_of(share, pods);
    if (is_near(share, pods) || turned * side < 0)
        return sight->current;
    wanted = round_up(share);
    if ((turned < 0 && wanted > sight->current) || (turned > 0 && wanted < sight->current))
        return sight->current;
    return wanted;
}

static uint32_t advice_of_told(const struct pst_sight *sight)
{
    struct share share = {sight->told, 1};
    uint64_t pods = (uint64_t)sight->ready + sight->unready;

    return is_near(share, pods) ? (uint32_t)pods : sight->told;
}

static void remember(struct hpa *hpa, pst_ns now, uint32_t replicas)
{
    hpa->advice[hpa->next] = (struct pilot_advice){now, replicas};
    hpa->next = (hpa->next + 1) % HPA_HISTORY;
    if (hpa->count < HPA_HISTORY)
        hpa->count++;
}

/* The highest advice that is younger than the window. */
static uint32_t stabilised(const struct hpa *hpa, pst_ns now, uint32_t wanted)
{
    for (uint32_t i = 0; i < hpa->count; i++)
        if (now - hpa->advice[i].at < STABILISATION && hpa->advice[i].replicas > wanted)
            wanted = hpa->advice[i].replicas;
    return wanted;
}

static uint32_t out_limit(uint32_t current)
{
    return (uint32_t)pst_max_u64((uint64_t)current + PODS_PER_PERIOD, (uint64_t)current * 2);
}

uint32_t pst_pilot_hpa(struct pst_pilot *pilot, const struct pst_sight *sight)
{
    struct hpa *hpa = &pilot->state.hpa;
    uint32_t advice, wanted;

    if (hpa->count == 0) /* a fresh controller takes what it finds for its first advice */
        remember(hpa, sight->now, sight->current);
    if (sight->blind)
        return PILOT_HOLDS;
    advice = pilot->rule == PILOT_HPA ? advice_of_pods(pilot, sight) : advice_of_told(sight);
    if (advice == PILOT_HOLDS)
        return PILOT_HOLDS;
    wanted = advice < sight->current ? stabilised(hpa, sight->now, advice) : advice;
    remember(hpa, sight->now, advice);
    if (wanted > sight->current)
        wanted = (uint32_t)pst_min_u64(wanted, out_limit(sight->current));
    return wanted;
}

uint32_t pst_pilot_keda(struct pst_pilot *pilot, const struct pst_sight *sight)
{
    struct hpa *hpa = &pilot->state.hpa;
    bool polls = sight->now % KEDA_POLLING == 0;
    uint32_t wanted;

    if (!sight->blind && sight->told > 0) {
        hpa->active = sight->now;
        hpa->awake = true;
    }
    if (sight->current == 0)
        return polls && !sight->blind && sight->told > 0 ? 1 : PILOT_HOLDS;
    if (polls && !sight->blind && sight->told == 0 && pilot->min == 0 &&
        (!hpa->awake || sight->now - hpa->active >= KEDA_COOLDOWN))
        return 0;
    wanted = pst_pilot_hpa(pilot, sight);
    return wanted == PILOT_HOLDS ? wanted : (uint32_t)pst_max_u64(wanted, 1);
}
