/* fleet_lifecycle.c - the state machine of one replica, and the probes that drive it. */
#include "core/num.h"
#include "core/fleet_internal.h"

#define LOADING_PACE (500 * PST_MS) /* probes while loading start so close, and back off */
#define LIFE_AFTER   (50 * PST_MS)  /* bytes that were under way may be read after a reset */
#define STARTS_KEPT  64             /* measured starts before the old ones fade */
#define JITTER_LEAST 800000         /* x [0.8, 1.2], parts per million */
#define JITTER_RANGE 400001

static pst_ns jittered(struct pst_fleet *fleet, pst_ns period)
{
    return pst_muldiv(period, JITTER_LEAST + pst_prng_below(&fleet->prng, JITTER_RANGE), PST_PPM);
}

static bool is_starting(const struct pst_replica *replica)
{
    return replica->state == PST_REPLICA_STARTING || replica->state == PST_REPLICA_LOADING;
}

/* The next probe is so far away. */
static pst_ns pause_of(struct pst_fleet *fleet, const struct pst_replica *replica)
{
    return jittered(fleet, is_starting(replica)
                               ? replica->pace
                               : pst_fleet_pool_of(fleet, replica)->config.probe_interval);
}

static void set_pace(struct pst_fleet *fleet, struct pst_replica *replica, pst_ns pace)
{
    replica->pace = pst_min_u64(pace, pst_fleet_pool_of(fleet, replica)->config.probe_interval);
}

/*
 *   REPLICA                health, model ok              DRAIN lies over every state and is
 *  ---------> STARTING ----> LOADING ----------> READY   taken off by UNDRAIN: underneath it
 *                               ^ ^               |  ^   the replica lives on as if it were not
 *              refused, Loading | |  refused,     |  |   there, and is shown as DRAINING
 *                               | +--- Loading ---+  | health, model ok;
 *                               |     crash       |  | an answer, if it was only silent
 *                               |                 v  |
 *                               +------------- SUSPECT     REPLICA{GONE} ends each of them
 *
 * One that is kept warm is WARM wherever this says READY, until PROMOTE.
 */
void pst_replica_enter(struct pst_fleet *fleet, struct pst_replica *replica,
                       enum pst_replica_state state)
{
    struct pst_fleet_pool *pool = pst_fleet_pool_of(fleet, replica);
    bool was_starting = is_starting(replica);
    bool was_warm = replica->state == PST_REPLICA_WARM;

    if (replica->state == state)
        return;
    replica->state = (uint8_t)state;
    replica->since = fleet->now;
    switch (state) {
    case PST_REPLICA_GONE:
        pst_lifecycle_unplace(replica);
        pst_probes_stop(&replica->probes);
        replica->check_wanted = false;
        break;
    case PST_REPLICA_STARTING:
    case PST_REPLICA_LOADING:
        if (was_starting)
            break;
        replica->started_at = fleet->now;
        replica->start_seen = true;
        /* One that looks ready and refuses, over and over, is asked less and less often. */
        set_pace(fleet, replica, replica->proved ? LOADING_PACE : 2 * replica->pace);
        pst_probes_restart(&replica->probes, fleet->now + pause_of(fleet, replica));
        break;
    case PST_REPLICA_SUSPECT:
        pst_probes_restart(&replica->probes, replica->suspicion == PST_SUSPICION_SILENCE
                                                 ? fleet->now
                                                 : fleet->now + pause_of(fleet, replica));
        break;
    case PST_REPLICA_WARM:
    case PST_REPLICA_READY:
        if (was_starting && replica->start_seen) {
            pst_hist_add(&pool->starts, fleet->now - replica->started_at);
            if (pool->starts.count > STARTS_KEPT)
                pst_hist_fade(&pool->starts);
        }
        if (state == PST_REPLICA_READY && (was_starting || was_warm))
            pst_slots_ramp(&replica->slots, fleet->now);
        replica->proved = false;
        pst_probes_restart(&replica->probes, fleet->now + pause_of(fleet, replica));
        break;
    case PST_REPLICA_DRAINING:
    case PST_REPLICA_STATE_COUNT:
        PST_ASSERT(!"a state that lies underneath");
    }
}

void pst_lifecycle_begin(struct pst_fleet *fleet, struct pst_replica *replica,
                         enum pst_replica_state state)
{
    pst_lifecycle_unplace(replica);
    pst_probes_stop(&replica->probes);
    replica->state = (uint8_t)state;
    replica->since = fleet->now;
    replica->started_at = fleet->now;
    replica->start_seen = false;
    replica->proved = false;
    set_pace(fleet, replica, LOADING_PACE);
    pst_probes_restart(&replica->probes, fleet->now);
}

void pst_replica_not_up(struct pst_fleet *fleet, struct pst_replica *replica)
{
    if (replica->state != PST_REPLICA_GONE)
        pst_replica_enter(fleet, replica, PST_REPLICA_LOADING);
}

/* The model answers: as good as ready. */
static bool is_up(const struct pst_replica *replica)
{
    return replica->state == PST_REPLICA_READY || replica->state == PST_REPLICA_WARM;
}

static void enter_up(struct pst_fleet *fleet, struct pst_replica *replica)
{
    pst_replica_enter(fleet, replica, replica->warm ? PST_REPLICA_WARM : PST_REPLICA_READY);
}

void pst_replica_promote(struct pst_fleet *fleet, struct pst_replica *replica)
{
    replica->warm = false;
    if (replica->state == PST_REPLICA_WARM)
        pst_replica_enter(fleet, replica, PST_REPLICA_READY);
}

void pst_replica_suspect(struct pst_fleet *fleet, struct pst_replica *replica,
                         enum pst_suspicion why)
{
    if (!is_up(replica))
        return;
    replica->suspicion = (uint8_t)why;
    pst_replica_enter(fleet, replica, PST_REPLICA_SUSPECT);
}

void pst_replica_stalled(struct pst_fleet *fleet, struct pst_replica *replica)
{
    pst_replica_suspect(fleet, replica, PST_SUSPICION_SILENCE);
    pst_fleet_evict_all(fleet, replica, PST_EVICTION_STALL);
}

void pst_replica_heard(struct pst_fleet *fleet, struct pst_replica *replica)
{
    pst_progress_heard(&replica->progress, fleet->now);
    pst_probes_heard(&replica->probes);
    pst_watch_alive(fleet, replica, pst_sub_sat(fleet->now, LIFE_AFTER));
    if (replica->state == PST_REPLICA_SUSPECT && (replica->suspicion == PST_SUSPICION_TIMEOUTS ||
                                                  replica->suspicion == PST_SUSPICION_SILENCE))
        enter_up(fleet, replica);
}

void pst_lifecycle_unplace(struct pst_replica *replica)
{
    if (!replica->probe_placed)
        return;
    replica->probe_placed = false;
    replica->places--;
}

/*
 * Time-outs alone take at most half of the ready set, rounded up: a fleet whose network or whose
 * prober is slow is better than none. Those that they have taken already count. One that is warm is of
 * no ready set.
 */
static bool may_time_out(const struct pst_fleet *fleet, const struct pst_fleet_pool *pool,
                         const struct pst_replica *asked)
{
    uint32_t ejected = 0;

    if (asked->warm)
        return true;
    for (uint32_t i = 0; i < pool->count; i++) {
        const struct pst_replica *replica = &fleet->replicas[pool->members[i]];

        ejected += replica->state == PST_REPLICA_SUSPECT && !replica->warm &&
                   replica->suspicion == PST_SUSPICION_TIMEOUTS;
    }
    return ejected + 1 <= (pool->capacity.ready + ejected + 1) / 2;
}

/* It says that it is healthy, often enough. */
static void risen(struct pst_fleet *fleet, struct pst_replica *replica)
{
    if (is_up(replica))
        return;
    if (pst_replica_sleeps(replica, fleet->now)) {
        replica->started_at = fleet->now; /* its start begins when it wakes */
        return;
    }
    if (!pst_fleet_pool_of(fleet, replica)->config.ready_model) {
        enter_up(fleet, replica);
        return;
    }
    pst_replica_enter(fleet, replica,
                      replica->state == PST_REPLICA_STARTING ? PST_REPLICA_LOADING
                                                             : replica->state);
    /* The model's own word counts, and takes a place: not from one that drains or is full. */
    if (!replica->draining && replica->places < pst_slots_base(&replica->slots, fleet->now)) {
        replica->probes.kind = PST_PROBE_MODEL;
        replica->probes.next_at = fleet->now;
    }
}

static void answered_health(struct pst_fleet *fleet, struct pst_replica *replica,
                            enum pst_probe_result result)
{
    const struct pst_fleet_pool *pool = pst_fleet_pool_of(fleet, replica);

    switch (pst_probes_count(&replica->probes, result, pool->config.probe_rise,
                             pool->config.probe_fall)) {
    case PST_PROBES_UNDECIDED:
        break;
    case PST_PROBES_UP:
        risen(fleet, replica);
        break;
    case PST_PROBES_DOWN:
        pst_replica_suspect(fleet, replica, PST_SUSPICION_PROBES);
        break;
    case PST_PROBES_TIMED_OUT:
        if (may_time_out(fleet, pool, replica))
            pst_replica_suspect(fleet, replica, PST_SUSPICION_TIMEOUTS);
        break;
    case PST_PROBES_SUM_COUNT:
        PST_ASSERT(!"a sum of probe.h");
    }
}

static void answered_model(struct pst_fleet *fleet, struct pst_replica *replica,
                           enum pst_probe_result result)
{
    if (result == PST_PROBE_OK && !pst_replica_sleeps(replica, fleet->now))
        enter_up(fleet, replica);
    else
        replica->probes.risen = 0;
}

/*
 * An OK says nothing to a state that was entered after it was asked for: facts beat it. Nor does one
 * that was asked for because something failed, to a replica that is suspect because of that.
 */
static bool is_fresh_ok(const struct pst_replica *replica)
{
    return replica->probes.sent_at >= replica->since &&
           (is_up(replica) || !pst_probes_extra(&replica->probes));
}

/*
 * Behind a closed port work may still end well; but not once nothing was heard of any of it for `stall`:
 * engines that are told to end close the port and then wait, without a word, for their clients to leave.
 */
static void give_up_the_silent(struct pst_fleet *fleet, struct pst_replica *replica)
{
    pst_ns stall = pst_fleet_pool_of(fleet, replica)->config.stall;

    if (replica->attempts > replica->progress.held &&
        pst_progress_silent(&replica->progress, stall, fleet->now))
        pst_fleet_evict_all(fleet, replica, PST_EVICTION_STALL);
}

void pst_lifecycle_answer(struct pst_fleet *fleet, struct pst_replica *replica,
                          enum pst_probe_result result)
{
    enum pst_probe kind = replica->probes.kind;
    bool is_news = result != PST_PROBE_OK || is_fresh_ok(replica);

    if (result != PST_PROBE_OK) {
        replica->start_seen = true;
        if (is_starting(replica))
            set_pace(fleet, replica, replica->pace + replica->pace / 2);
    }
    if (result == PST_PROBE_LOADING || result == PST_PROBE_FAILED)
        pst_watch_dead(fleet, replica);
    else if (result == PST_PROBE_OK)
        pst_watch_alive(fleet, replica, replica->probes.sent_at);

    pst_lifecycle_unplace(replica);
    pst_probes_back(&replica->probes, fleet->now + pause_of(fleet, replica));
    if (result == PST_PROBE_LOADING) {
        pst_replica_not_up(fleet, replica);
        give_up_the_silent(fleet, replica);
    } else if (kind == PST_PROBE_HEALTH && is_news)
        answered_health(fleet, replica, result);
    else if (kind == PST_PROBE_MODEL && is_news)
        answered_model(fleet, replica, result);
    pst_watch_judge(fleet, replica, PST_FLEET_NONE);
    if (result == PST_PROBE_OK && replica->watch.failed > 0) /* asked before the failure */
        pst_probes_hasten(&replica->probes, fleet->now);
}

static void send_probe(struct pst_fleet *fleet, struct pst_replica *replica)
{
    if (replica->probes.kind == PST_PROBE_MODEL) {
        replica->probe_placed = true;
        replica->places++;
    }
    pst_probes_sent(&replica->probes, fleet->now,
                    pst_fleet_pool_of(fleet, replica)->config.probe_timeout);
    pst_fleet_say_check(fleet, replica, replica->probes.kind);
}

void pst_lifecycle_time(struct pst_fleet *fleet, struct pst_replica *replica)
{
    const struct pst_gate_pool *config = &pst_fleet_pool_of(fleet, replica)->config;
    pst_ns now = fleet->now;

    if (pst_progress_stalled(&replica->progress, replica->begun, config->stall, now))
        pst_replica_stalled(fleet, replica);
    if (pst_progress_asks(&replica->progress, replica->attempts, config->stall, now))
        pst_probes_hasten(&replica->probes, now);
    if (replica->probes.lost_at <= now)
        pst_lifecycle_answer(fleet, replica, PST_PROBE_TIMEOUT);
    if (replica->probes.next_at <= now)
        send_probe(fleet, replica);
}
