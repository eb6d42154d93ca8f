/*
 * demand_river.h - a pool that is water: what comes fills its queues, slots drain them, high before low;
 * and a demand that is told of it, second by second.
 *
 * Requests take 0.1 s, with the variation of a Pareto law of 2.5.
 */
#ifndef PST_TEST_CORE_DEMAND_RIVER_H
#define PST_TEST_CORE_DEMAND_RIVER_H

#include "harness.h"

#include "core/demand.h"

#define SERVICE_S 0.1
#define VARIATION 0.8

struct river {
    struct pst_scaler_config config;
    struct pst_demand *demand;
    struct pst_supply supply;
    pst_ns now;
    double usable;    /* share of the slots that the gate fills */
    double queued[3]; /* of each class alone, slot-seconds */
    uint32_t terms[PST_TERM_COUNT];
    bool worth;
};

/* High, medium and low of a chat pool; low waits so long. */
static inline struct pst_scaler_config config_of(pst_ns low_max_wait)
{
    return (struct pst_scaler_config){
        .classes_count = 3,
        .pools_count = 1,
        .replicas_max = 16,
        .classes = {{100 * PST_MS, 5 * PST_S, 3, 1, 1},
                    {500 * PST_MS, 15 * PST_S, 2, 1, 1},
                    {10 * PST_S, low_max_wait, 1, 0, 0}},
        .pools = {{.min = 1,
                   .max = 12,
                   .slots = 14,
                   .out_above = 2 * PST_S,
                   .start_time = 100 * PST_S,
                   .utilisation_ppm = 900000}},
    };
}

static inline void river_open(struct river *r, const struct pst_scaler_config *config,
                              uint32_t ready)
{
    *r = (struct river){
        .config = *config,
        .now = 1000 * PST_S,
        .usable = 1,
        .supply = {.start = config->pools[0].start_time,
                   .slots = config->pools[0].slots,
                   .ready = ready},
    };
    assert_int_equal(pst_demand_new(&r->config, 0, &r->demand), PST_OK);
}

static inline void river_begin(struct river *r)
{
    pst_demand_tick(r->demand, r->now, r->supply.start, true);
}

/* What comes is queued, what is ready drains it. Returns the slots in use. */
static inline double flow(struct river *r, const double slots[3])
{
    double capacity = r->usable * r->supply.ready * r->supply.slots, left = capacity;

    for (int c = 0; c < 3; c++) {
        double served;

        r->queued[c] += slots[c];
        served = r->queued[c] < left ? r->queued[c] : left;
        r->queued[c] -= served;
        left -= served;
    }
    return capacity - left;
}

static inline void tell(struct river *r, const double slots[3], double late_share)
{
    double used = flow(r, slots);
    double served = used / SERVICE_S;

    for (uint8_t c = 0; c < 3; c++) {
        double arrived = slots[c] / SERVICE_S;

        pst_demand_observe(r->demand, &(struct pst_scaler_event){
                                          .kind = PST_SCALER_OBSERVE_CLASS,
                                          .class_ = c,
                                          .now = r->now,
                                          .u.observe_class =
                                              {
                                                  .arrived = (uint32_t)(arrived + 0.5),
                                                  .waited = (uint32_t)(arrived + 0.5),
                                                  .late = (uint32_t)(arrived * late_share + 0.5),
                                                  .arrived_work = pst_to_u64(slots[c] * PST_S),
                                                  .queued_work = pst_to_u64(r->queued[c] * PST_S),
                                                  .queued = (uint32_t)(r->queued[c] / SERVICE_S),
                                              },
                                      });
    }
    pst_demand_observe(r->demand,
                       &(struct pst_scaler_event){
                           .kind = PST_SCALER_OBSERVE_POOL,
                           .now = r->now,
                           .u.observe_pool =
                               {
                                   .served = (uint32_t)(served + 0.5),
                                   .service = pst_to_u64(used * PST_S),
                                   .service_square = pst_to_u64(served * SERVICE_S * SERVICE_S *
                                                                (1 + VARIATION) * 1e12),
                                   .slots = r->supply.ready * r->supply.slots,
                                   .inflight = (uint32_t)(used + 0.5),
                                   .tickets = used > 0,
                               },
                       });
}

static inline void ask(struct river *r)
{
    for (int t = 0; t < PST_TERM_COUNT; t++)
        r->terms[t] = 0;
    pst_demand_terms(r->demand, &r->supply, r->terms, &r->worth);
}

static inline void run(struct river *r, uint32_t seconds, double high, double medium, double low)
{
    const double slots[3] = {high, medium, low};

    for (uint32_t s = 0; s < seconds; s++) {
        tell(r, slots, 0);
        r->now += PST_S;
        pst_demand_tick(r->demand, r->now, r->supply.start, true);
    }
    ask(r);
}

static inline uint32_t most_of(const struct river *r)
{
    uint32_t most = 0;

    for (int t = 0; t < PST_TERM_COUNT; t++)
        most = r->terms[t] > most ? r->terms[t] : most;
    return most;
}

static inline void expect_term(const struct river *r, enum pst_term term, uint32_t want,
                               const char *row)
{
    if (r->terms[term] != want)
        fail_msg("%s: term %d is %u, not %u", row, term, r->terms[term], want);
}

#endif
