/*
 * fleet_engine.c - what an engine says of itself, and what the fleet makes of it.
 *
 * Its load limits our slots (hearsay.h). Its token counter, when it grows, is progress that we need not have
 * seen; when it stands still, it only asks. That it sleeps is believed, unless it answered something since:
 * /health says 200 all along, and completions hang.
 */
#include "core/fleet_internal.h"
#include "core/num.h"

static void limit(struct pst_fleet *fleet, struct pst_replica *replica,
                  const struct pst_hearsay_sample *sample)
{
    const struct pst_gate_pool *config = &pst_fleet_pool_of(fleet, replica)->config;
    struct pst_slots *slots = &replica->slots;
    uint32_t configured = slots->source[PST_SLOTS_CONFIG];
    uint32_t gateways = config->gateways > 1 ? config->gateways : 1;
    struct pst_hearsay_ours ours = {
        .most = replica->places_most,
        .least = replica->places_least,
        .slots = pst_slots_base(slots, fleet->now),
        .whole = (uint32_t)pst_min_u64((uint64_t)configured * gateways, UINT32_MAX),
    };
    uint32_t count;

    replica->places_most = replica->places_least = replica->places;
    if (!pst_hearsay_load(&replica->hearsay, sample, &ours, fleet->now, &count))
        return;
    if (count < configured)
        pst_slots_set(slots, PST_SLOTS_ENGINE, count, pst_add_sat(fleet->now, PST_HEARSAY_KEPT));
    else if (slots->source[PST_SLOTS_ENGINE] < configured)
        pst_slots_set(slots, PST_SLOTS_ENGINE, UINT32_MAX, PST_NEVER);
}

static void progress(struct pst_fleet *fleet, struct pst_replica *replica,
                     const struct pst_hearsay_sample *sample)
{
    pst_ns before_at = replica->hearsay.counted_at;
    bool is_up = replica->state == PST_REPLICA_READY || replica->state == PST_REPLICA_WARM;

    switch (pst_hearsay_motion(&replica->hearsay, sample)) {
    case PST_HEARSAY_MOVES:
        pst_progress_counted(&replica->progress, sample->at);
        if (sample->at >= replica->probes.sent_at)
            pst_probes_heard(&replica->probes);
        replica->still_asked = false;
        break;
    case PST_HEARSAY_STILL: /* some count when a request ends: it is no silence while we hear of it */
        if (is_up && !replica->still_asked && replica->progress.heard_at <= before_at) {
            replica->still_asked = true;
            pst_probes_hasten(&replica->probes, fleet->now);
        }
        break;
    case PST_HEARSAY_RESTARTED:
        if (is_up)
            pst_probes_hasten(&replica->probes, fleet->now);
        break;
    case PST_HEARSAY_UNKNOWN:
    case PST_HEARSAY_MOTION_COUNT:
        break;
    }
}

static void sleep_or_wake(struct pst_fleet *fleet, struct pst_replica *replica, bool asleep,
                          pst_ns at)
{
    bool was_asleep = pst_replica_sleeps(replica, fleet->now);
    bool is_up = replica->state == PST_REPLICA_READY || replica->state == PST_REPLICA_WARM;

    if (!asleep) {
        replica->asleep_until = 0;
        if (was_asleep)
            pst_probes_restart(&replica->probes, fleet->now);
        return;
    }
    if (replica->progress.heard_at > at || (is_up && replica->since > at))
        return; /* it has answered since */
    replica->asleep_until = pst_add_sat(fleet->now, PST_HEARSAY_KEPT);
    pst_replica_not_up(fleet, replica);
}

void pst_fleet_engine(struct pst_fleet *fleet, const struct pst_gate_event *event)
{
    struct pst_replica *replica;
    struct pst_hearsay_sample sample = {
        .at = pst_sub_sat(event->now, event->u.engine.age),
        .running = event->u.engine.running,
        .waiting = event->u.engine.waiting,
        .kv_ppm = event->u.engine.kv_ppm,
        .tokens = event->u.engine.tokens,
    };

    PST_ASSERT(event->u.engine.replica < fleet->replicas_max);
    replica = &fleet->replicas[event->u.engine.replica];
    fleet->now = pst_max_u64(fleet->now, event->now);
    if (replica->state == PST_REPLICA_GONE || event->u.engine.age > PST_HEARSAY_KEPT)
        return;
    sleep_or_wake(fleet, replica, event->u.engine.asleep != 0, sample.at);
    progress(fleet, replica, &sample);
    limit(fleet, replica, &sample);
    pst_fleet_settle(fleet, replica);
}
