/* lives.c - see lives.h. */
#include "sim/lives.h"

#include <string.h>

#include "core/num.h"
#include "core/prng.h"

void pst_lives_init(struct pst_lives *lives, const struct pst_scenario *scenario, uint64_t seed,
                    uint32_t max)
{
    memset(lives, 0, sizeof *lives);
    lives->scenario = scenario;
    lives->seed = seed;
    lives->max = max;
}

/* Always the same number of draws from each purpose, in the same order. */
static struct pst_fate draw_fate(const struct pst_lives *lives, uint16_t pool)
{
    const struct pst_scenario_pool *config = &lives->scenario->pools[pool];
    uint64_t ordinal = lives->pools[pool].created;
    struct pst_fate fate = {.dies_after = PST_NEVER, .slowness = 1.0};
    struct pst_law life = {.kind = PST_LAW_EXP, .mean = (double)config->mtbf};
    struct pst_prng prng;

    pst_prng_init(&prng, pst_mix64(lives->seed ^ pst_mix64(((uint64_t)pool << 48) + ordinal + 1)));
    if (pst_prng_below(&prng, PST_PPM) < config->slow_ppm && config->slow_factor > 0.0)
        fate.slowness = config->slow_factor;
    if (config->mtbf > 0)
        fate.dies_after = pst_law_draw(&life, &prng, 0, 0);
    fate.cold = pst_law_draw(&config->cold, &prng, 0, 0);
    fate.promote = pst_law_draw(&config->promote, &prng, 0, 0);
    fate.stop = pst_law_draw(&config->stop, &prng, 0, 0);
    return fate;
}

static void pay(struct pst_lives_pool *pool, pst_ns now)
{
    for (int phase = PST_LIVES_STARTING; phase < PST_LIVES_COUNT; phase++)
        pool->paid_ns[phase] += pool->counts[phase] * (now - pool->since);
    pool->since = now;
}

void pst_lives_change(struct pst_lives *lives, uint16_t index, enum pst_lives_phase phase,
                      pst_ns now)
{
    static const uint8_t allowed[PST_LIVES_COUNT] = {
        [PST_LIVES_GONE] = 1u << PST_LIVES_STARTING,
        [PST_LIVES_STARTING] = 1u << PST_LIVES_WARM | 1u << PST_LIVES_READY | 1u << PST_LIVES_GONE,
        [PST_LIVES_WARM] =
            1u << PST_LIVES_PROMOTING | 1u << PST_LIVES_STOPPING | 1u << PST_LIVES_GONE,
        [PST_LIVES_PROMOTING] =
            1u << PST_LIVES_READY | 1u << PST_LIVES_STOPPING | 1u << PST_LIVES_GONE,
        [PST_LIVES_READY] =
            1u << PST_LIVES_DRAINING | 1u << PST_LIVES_STOPPING | 1u << PST_LIVES_GONE,
        [PST_LIVES_DRAINING] =
            1u << PST_LIVES_READY | 1u << PST_LIVES_STOPPING | 1u << PST_LIVES_GONE,
        [PST_LIVES_STOPPING] = 1u << PST_LIVES_GONE,
    };
    struct pst_lives_replica *replica = &lives->items[index];
    struct pst_lives_pool *pool = &lives->pools[replica->pool];

    PST_ASSERT((allowed[replica->phase] >> phase & 1u) != 0);
    pay(pool, now);
    if (replica->phase != PST_LIVES_GONE)
        pool->counts[replica->phase]--;
    if (phase != PST_LIVES_GONE)
        pool->counts[phase]++;
    if (phase == PST_LIVES_READY && replica->phase != PST_LIVES_DRAINING)
        replica->ready_at = now;
    replica->phase = (uint8_t)phase;
    replica->turn++;
}

int pst_lives_create(struct pst_lives *lives, uint16_t pool, pst_ns now, uint16_t *ret_index)
{
    struct pst_lives_replica *replica;
    uint16_t index = 0;
    uint32_t turn;

    while (index < lives->max && lives->items[index].phase != PST_LIVES_GONE)
        index++;
    if (index == lives->max)
        return PST_E_FULL;
    replica = &lives->items[index];
    turn = replica->turn;
    *replica = (struct pst_lives_replica){
        .fate = draw_fate(lives, pool),
        .pool = pool,
        .turn = turn,
        .number = ++lives->created,
        .fault_factor = 1.0,
    };
    lives->pools[pool].created++;
    pst_lives_change(lives, index, PST_LIVES_STARTING, now);
    *ret_index = index;
    return PST_OK;
}

void pst_lives_book(struct pst_lives *lives, pst_ns now, bool fresh)
{
    for (uint32_t p = 0; p < lives->scenario->gate.pools_count; p++) {
        struct pst_lives_pool *pool = &lives->pools[p];

        pay(pool, now);
        if (fresh)
            memset(pool->paid_ns, 0, sizeof pool->paid_ns);
    }
}

uint32_t pst_lives_existing(const struct pst_lives *lives, uint16_t pool)
{
    uint32_t count = 0;

    for (int phase = PST_LIVES_STARTING; phase < PST_LIVES_COUNT; phase++)
        count += lives->pools[pool].counts[phase];
    return count;
}

pst_ns pst_lives_frozen(const struct pst_lives_replica *replica)
{
    if (replica->hung_until == 0)
        return replica->frozen;
    return pst_add_sat(replica->frozen, replica->hung_until - replica->hung_since);
}

enum pst_replica_state pst_lives_shown(enum pst_lives_phase phase)
{
    switch (phase) {
    case PST_LIVES_GONE:
        return PST_REPLICA_GONE;
    case PST_LIVES_STARTING:
        return PST_REPLICA_STARTING;
    case PST_LIVES_WARM:
    case PST_LIVES_PROMOTING:
        return PST_REPLICA_WARM;
    case PST_LIVES_READY:
        return PST_REPLICA_READY;
    case PST_LIVES_DRAINING:
    case PST_LIVES_STOPPING:
        return PST_REPLICA_DRAINING;
    case PST_LIVES_COUNT:
        break;
    }
    PST_ASSERT(!"a phase of lives.h");
    return PST_REPLICA_GONE;
}
