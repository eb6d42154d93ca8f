/*
 * test_demand.c - how many replicas a pool needs, told second by second what came: against numbers
 * worked out by hand from the formulas of demand.h.
 *
 * The pool is water: what comes fills the queues, slots drain them, high before low. Requests take
 * 0.1 s, with the variation of a Pareto law of 2.5.
 */
#include "harness.h"

#include "core/demand.h"

#define SERVICE_S 0.1
#define VARIATION 0.8

struct river {
    struct pst_scaler_config config;
    struct pst_demand *demand;
    struct pst_supply supply;
    pst_ns now;
    double queued[3]; /* of each class alone, slot-seconds */
    uint32_t terms[PST_TERM_COUNT];
    bool worth;
};

/* High, medium and low of a chat pool; low waits so long. */
static struct pst_scaler_config config_of(pst_ns low_max_wait)
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

static void river_open(struct river *r, const struct pst_scaler_config *config, uint32_t ready)
{
    *r = (struct river){
        .config = *config,
        .now = 1000 * PST_S,
        .supply = {.start = config->pools[0].start_time,
                   .slots = config->pools[0].slots,
                   .ready = ready},
    };
    assert_int_equal(pst_demand_new(&r->config, 0, &r->demand), PST_OK);
}

static void river_begin(struct river *r)
{
    pst_demand_tick(r->demand, r->now, r->supply.start, true);
}

/* What comes is queued, what is ready drains it. Returns the slots in use. */
static double flow(struct river *r, const double slots[3])
{
    double capacity = (double)r->supply.ready * r->supply.slots, left = capacity;

    for (int c = 0; c < 3; c++) {
        double served;

        r->queued[c] += slots[c];
        served = r->queued[c] < left ? r->queued[c] : left;
        r->queued[c] -= served;
        left -= served;
    }
    return capacity - left;
}

static void tell(struct river *r, const double slots[3], double late_share)
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

static void ask(struct river *r)
{
    for (int t = 0; t < PST_TERM_COUNT; t++)
        r->terms[t] = 0;
    pst_demand_terms(r->demand, &r->supply, r->terms, &r->worth);
}

static void run(struct river *r, uint32_t seconds, double high, double medium, double low)
{
    const double slots[3] = {high, medium, low};

    for (uint32_t s = 0; s < seconds; s++) {
        tell(r, slots, 0);
        r->now += PST_S;
        pst_demand_tick(r->demand, r->now, r->supply.start, true);
    }
    ask(r);
}

static uint32_t most_of(const struct river *r)
{
    uint32_t most = 0;

    for (int t = 0; t < PST_TERM_COUNT; t++)
        most = r->terms[t] > most ? r->terms[t] : most;
    return most;
}

static void expect_term(const struct river *r, enum pst_term term, uint32_t want, const char *row)
{
    if (r->terms[term] != want)
        fail_msg("%s: term %d is %u, not %u", row, term, r->terms[term], want);
}

/* ---- the terms ---- */

static void steady_work_is_staffed_for(void **state)
{
    static const struct {
        const char *name;
        pst_ns low_max_wait;
        double high, medium, low;
        uint32_t now, ahead, envelope;
    } rows[] = {
        /* 37 slots of work: 38 hold the targets; in any 300 s 35 x 300 / 300.6 slots. */
        {"what the night brings", 60 * PST_S, 20, 15, 2, 3, 3, 3},
        {"nothing", 60 * PST_S, 0, 0, 0, 0, 0, 0},
        {"hardly anything", 60 * PST_S, 0.1, 0, 0, 1, 1, 1},
        /* 14 slots of high work within 100 ms: at least 16, by Erlang C; of low, 14. */
        {"high needs room", 60 * PST_S, 14, 0, 0, 2, 1, 1},
        {"low, that cannot wait for a start, 15", 60 * PST_S, 0, 0, 14, 2, 1, 0},
        /* 28 / 0.9 = 31.1 slots; what 25.2 leave waits for less than 300 s, for a while. */
        {"low that can wait is planned to fill nine tenths", 300 * PST_S, 0, 0, 28, 3, 2, 0},
        {"… and just fits", 300 * PST_S, 0, 0, 25.2, 2, 2, 0},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(rows[i].low_max_wait);
        struct river r;

        river_open(&r, &config, 4);
        river_begin(&r);
        run(&r, 900, rows[i].high, rows[i].medium, rows[i].low);
        expect_term(&r, PST_TERM_NOW, rows[i].now, rows[i].name);
        expect_term(&r, PST_TERM_AHEAD, rows[i].ahead, rows[i].name);
        expect_term(&r, PST_TERM_ENVELOPE, rows[i].envelope, rows[i].name);
        expect_term(&r, PST_TERM_BACKLOG, 0, rows[i].name);
        expect_term(&r, PST_TERM_SLA, 0, rows[i].name);
        assert_true(r.worth);
        pst_demand_free(r.demand);
    }
}

/*
 * 37 slots of work, then 117, on 56. After 60 s 61 x 60 = 3,660 slot-seconds wait; the burst is expected
 * to last for 60 s more, and to leave 7,320, of which 40 s of 19 idle slots serve 760: 6,560 wait when a
 * replica could be there.
 */
static void an_unknown_burst_is_expected_to_last_as_long_again(void **state)
{
    static const struct {
        const char *name;
        pst_ns low_max_wait;
        uint32_t ahead;
    } rows[] = {
        {"6560 / 6 s, beside 35", 6 * PST_S, 81},
        {"6560 / 60 s, beside 35", 60 * PST_S, 11},
        {"6560 / 300 s, beside 35", 300 * PST_S, 5},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(rows[i].low_max_wait);
        struct river r;

        river_open(&r, &config, 4);
        river_begin(&r);
        run(&r, 600, 20, 15, 2);
        run(&r, 60, 20, 15, 82);
        expect_term(&r, PST_TERM_AHEAD, rows[i].ahead, rows[i].name);
        expect_term(&r, PST_TERM_NOW, 3, rows[i].name); /* bursts are not staffed for */
        pst_demand_free(r.demand);
    }
}

/* Bursts of 30 s, which a start of 100 s can only miss: what stands must serve them. */
static void short_bursts_add_nothing(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;

    (void)state;
    config.pools[0].slots = 4;
    river_open(&r, &config, 6);
    river_begin(&r);
    run(&r, 600, 3, 4, 3);
    for (int burst = 0; burst < 8; burst++) {
        for (int s = 0; s < 180; s++) {
            run(&r, 1, s < 30 ? 10 : 3, s < 30 ? 13 : 4, s < 30 ? 10 : 3);
            if (burst > 0 && (r.terms[PST_TERM_NOW] > 6 || r.terms[PST_TERM_AHEAD] > 6 ||
                              r.terms[PST_TERM_BACKLOG] > 6 || r.terms[PST_TERM_SLA] > 0))
                fail_msg("burst %d, second %d: %u %u %u %u", burst, s, r.terms[PST_TERM_NOW],
                         r.terms[PST_TERM_AHEAD], r.terms[PST_TERM_BACKLOG], r.terms[PST_TERM_SLA]);
        }
    }
    /* High and medium: 36 s hold 23 x 30 + 7 x 6 slot-seconds, over 36.6 s, and longer windows less. */
    expect_term(&r, PST_TERM_ENVELOPE, 6, "envelope");
    pst_demand_free(r.demand);
}

/* Work that is over before a replica is ready is not worth one. */
static void what_is_over_by_then_is_not_worth_it(void **state)
{
    struct pst_scaler_config config = config_of(6 * PST_S);
    struct river r;

    (void)state;
    river_open(&r, &config, 4);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    run(&r, 20, 20, 15, 82); /* 61 x 20 wait, 19 x 20 more will; 19 x 80 are served by then */
    run(&r, 11, 20, 15, 2);
    assert_true(r.queued[2] > 900);
    assert_false(r.worth);
    assert_true(most_of(&r) <= 4);
    r.supply.ready = 3; /* 5 idle slots are too few */
    ask(&r);
    assert_true(r.worth && r.terms[PST_TERM_AHEAD] > 4);
    r.supply.starting = 1; /* … unless one is on its way */
    r.supply.starting_in = 10 * PST_S;
    ask(&r);
    assert_true(!r.worth && r.terms[PST_TERM_AHEAD] <= 4);
    pst_demand_free(r.demand);
}

/* A shedding class is told no: what it could not hold will not wait when the replica is there. */
static void what_is_refused_does_not_wait(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;

    (void)state;
    config.classes[2].sheds = 1;
    river_open(&r, &config, 4);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    run(&r, 45, 20, 15, 82);
    r.queued[2] = 56 * 60; /* its bound */
    run(&r, 5, 20, 15, 2);
    /* 3,360 wait, and 50 s more of burst add nothing to that; 50 x 19 are served. */
    assert_true(r.terms[PST_TERM_AHEAD] <= 4);
    pst_demand_free(r.demand);
}

static void lasting_load_is_followed(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;
    uint32_t asked_after = 0;

    (void)state;
    river_open(&r, &config, 2);
    river_begin(&r);
    run(&r, 600, 8, 6, 2);
    for (uint32_t s = 1; s <= 300; s++) { /* no queue bound: what is refused came all the same */
        r.queued[0] = r.queued[1] = 0;
        run(&r, 1, 32, 24, 8);
        if (asked_after == 0 && r.terms[PST_TERM_AHEAD] > 2)
            asked_after = s;
    }
    assert_true(asked_after > 0 && asked_after <= 100);
    assert_true(r.terms[PST_TERM_AHEAD] >= 5);
    assert_int_equal(r.terms[PST_TERM_NOW], 5); /* 64 slots: it is no burst any more */
    pst_demand_free(r.demand);
}

/* A backlog that its class does not tolerate, and that stays. */
static void backlog_is_brought_down_within_the_deadline(void **state)
{
    struct pst_scaler_config config = config_of(300 * PST_S);
    struct river r;

    (void)state;
    river_open(&r, &config, 4);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    assert_true(pst_demand_backlog(r.demand, &r.supply) == 0);
    r.queued[2] = 21 * 101;
    run(&r, 1, 20, 15, 2); /* high and medium leave 21 slots: it waits 100 s of 300 */
    assert_true(pst_demand_backlog(r.demand, &r.supply) / PST_S == 37);
    expect_term(&r, PST_TERM_BACKLOG, 0, "tolerated");
    assert_true(pst_demand_bears(r.demand, &r.supply, 4));
    r.queued[2] = 56 * 400;
    run(&r, 1, 20, 15, 2);
    assert_false(pst_demand_bears(r.demand, &r.supply, 4));
    /* 22,381 - 1,900 wait at u; with what comes until u + D, and high and medium in the 150 s after that,
     * (20,481 + 11,100 + 5,250) / 450 s: 81.8 slots. */
    expect_term(&r, PST_TERM_BACKLOG, 6, "not tolerated");
    r.supply.ready = 0;
    assert_true(pst_demand_backlog(r.demand, &r.supply) == PST_NEVER);
    pst_demand_free(r.demand);
}

static void lateness_while_all_slots_are_in_use_asks_for_one_more(void **state)
{
    static const struct {
        const char *name;
        double high, late;
        uint32_t seconds, want;
    } rows[] = {
        {"two in a hundred late, all in use", 14, 0.02, 60, 2},
        {"not for long enough", 14, 0.02, 25, 0},
        {"few enough", 14, 0.005, 60, 0},
        {"slots are free: more would not help", 10, 0.02, 60, 0},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(60 * PST_S);
        const double slots[3] = {rows[i].high, 0, 0};
        struct river r;

        river_open(&r, &config, 1);
        river_begin(&r);
        run(&r, 120, rows[i].high, 0, 0);
        for (uint32_t s = 0; s < rows[i].seconds; s++) {
            tell(&r, slots, rows[i].late);
            r.now += PST_S;
            pst_demand_tick(r.demand, r.now, r.supply.start, true);
        }
        ask(&r);
        expect_term(&r, PST_TERM_SLA, rows[i].want, rows[i].name);
        pst_demand_free(r.demand);
    }
}

/* ---- time ---- */

static void silence_is_not_idleness(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;
    uint32_t before[PST_TERM_COUNT];
    const double slots[3] = {20, 15, 2};

    (void)state;
    river_open(&r, &config, 4);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    memcpy(before, r.terms, sizeof before);
    for (int s = 0; s < 2 * 3600; s++) {
        r.now += PST_S;
        pst_demand_tick(r.demand, r.now, r.supply.start, false);
    }
    ask(&r);
    assert_memory_equal(r.terms, before, sizeof before);
    r.now += PST_S; /* what came in two hours is told at once, and was no burst */
    for (int s = 0; s < 2 * 3600 + 1; s++)
        tell(&r, slots, 0);
    pst_demand_tick(r.demand, r.now, r.supply.start, true);
    run(&r, 60, 20, 15, 2);
    assert_memory_equal(r.terms, before, sizeof before);
    pst_demand_free(r.demand);
}

static void ticks_need_not_be_even(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;
    struct pst_demand_view view;
    const double slots[3] = {2, 1.5, 0.2}; /* of a tenth of a second, in slot-seconds */

    (void)state;
    river_open(&r, &config, 4);
    river_begin(&r);
    for (uint32_t i = 0; i < 6000; i++) {
        tell(&r, slots, 0);
        r.now += PST_S / 10;
        if (i % 10 == 8 || i % 30 == 21 || i % 30 == 1)
            pst_demand_tick(r.demand, r.now, r.supply.start, true);
    }
    run(&r, 10, 20, 15, 2);
    expect_term(&r, PST_TERM_NOW, 3, "now");
    expect_term(&r, PST_TERM_AHEAD, 3, "ahead");
    pst_demand_view(r.demand, &view);
    assert_true(view.rate_milli >= 369000 && view.rate_milli <= 371000);
    assert_true(view.service >= 99 * PST_MS && view.service <= 101 * PST_MS);
    assert_true(view.slots == 56 && view.inflight == 37 && view.tickets);
    pst_demand_free(r.demand);
}

/* ---- the past, and what it foretells ---- */

static void tell_history(struct river *r, uint8_t class_, double slots, uint32_t span_s)
{
    pst_demand_observe(r->demand, &(struct pst_scaler_event){
                                      .kind = PST_SCALER_HISTORY,
                                      .class_ = class_,
                                      .u.history = {.span = span_s * PST_S,
                                                    .work = pst_to_u64(slots * span_s * PST_S)},
                                  });
}

/* Bursts of 90 … 150 s, 10 minutes into each hour, for ten hours. */
static void tell_hours(struct river *r, uint32_t until_s)
{
    static const uint32_t lengths_s[] = {120, 90, 150, 130, 110, 140, 100, 120, 150, 90, 0};

    for (uint32_t at = 0; at < 10 * 3600 + until_s; at += 10) {
        uint32_t in = at % 3600, length_s = lengths_s[at / 3600];

        tell_history(r, 0, 20, 10);
        tell_history(r, 1, 15, 10);
        tell_history(r, 2, in >= 600 && in < 600 + length_s ? 82 : 2, 10);
    }
}

static void the_past_is_learned_from(void **state)
{
    static const struct {
        const char *name;
        pst_ns low_max_wait;
        uint32_t least, most;
    } rows[] = {
        {"low within 6 s", 6 * PST_S, 8, 9},
        {"low within a minute", 60 * PST_S, 6, 7},
        {"low within five", 300 * PST_S, 3, 5},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(rows[i].low_max_wait);
        uint32_t most = 0;
        struct river r;

        river_open(&r, &config, 4);
        tell_hours(&r, 300);
        river_begin(&r);
        run(&r, 100, 20, 15, 2); /* a burst in 200 s is not asked for yet */
        assert_true(most_of(&r) <= 4);
        for (uint32_t s = 0; s < 110; s++) {
            run(&r, 1, 20, 15, 2);
            most = r.terms[PST_TERM_AHEAD] > most ? r.terms[PST_TERM_AHEAD] : most;
            if (most > 4 && r.supply.starting == 0) { /* what is asked for is on its way */
                assert_true(s >= 84);                 /* to half a step, a start time ahead */
                r.supply.starting = most - 4;
                r.supply.starting_in = 100 * PST_S;
            }
            r.supply.starting_in -= r.supply.starting > 0 ? PST_S : 0;
        }
        if (most < rows[i].least || most > rows[i].most)
            fail_msg("%s: %u", rows[i].name, most);
        assert_true(r.terms[PST_TERM_NOW] <= 4);
        pst_demand_free(r.demand);
    }
}

/* ---- scale-in ---- */

/* What scale-in would leave is not asked back as long as what comes does not change. */
static void what_is_left_is_enough(void **state)
{
    static const struct {
        const char *name;
        pst_ns low_max_wait;
        double queued;
    } rows[] = {
        {"nothing waits", 60 * PST_S, 0},
        {"a backlog drains", 60 * PST_S, 5000},
        {"a large one, of work that can wait", 300 * PST_S, 12000},
        {"a small one", 6 * PST_S, 300},
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        struct pst_scaler_config config = config_of(rows[i].low_max_wait);
        struct river r;
        uint32_t left = 1, asked = 0;

        river_open(&r, &config, 9);
        river_begin(&r);
        run(&r, 600, 20, 15, 2);
        r.queued[2] = rows[i].queued;
        run(&r, 1, 20, 15, 2);
        while (pst_demand_most(r.demand, &r.supply, left, 160 * PST_S) > left)
            left++;
        assert_true(left >= 3 && left <= 9);
        r.supply.ready = left;
        for (uint32_t s = 0; s < 160; s++) {
            run(&r, 1, 20, 15, 2);
            asked = most_of(&r) > asked ? most_of(&r) : asked;
        }
        if (asked > left)
            fail_msg("%s: %u were left, %u asked for", rows[i].name, left, asked);
        pst_demand_free(r.demand);
    }
}

static void fewer_replicas_bear_what_they_can(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct river r;

    (void)state;
    river_open(&r, &config, 6);
    river_begin(&r);
    run(&r, 600, 20, 15, 2);
    assert_false(pst_demand_bears(r.demand, &r.supply, 0));
    assert_false(pst_demand_bears(r.demand, &r.supply, 2));
    assert_true(pst_demand_bears(r.demand, &r.supply, 3));
    r.queued[2] = 300; /* 253 after a second: 36 s of the 7 slots that 42 leave, 7.2 s of 35 */
    run(&r, 1, 20, 15, 2);
    assert_false(pst_demand_bears(r.demand, &r.supply, 3));
    assert_true(pst_demand_bears(r.demand, &r.supply, 5));
    pst_demand_free(r.demand);
}

/* Whatever is told, in whatever order: an answer, and twice the same. */
static void any_numbers_are_survived(void **state)
{
    static const uint64_t numbers[] = {0,           1,          PST_MS,         PST_S,
                                       100 * PST_S, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX};
    struct pst_prng prng;

    (void)state;
    pst_prng_init(&prng, 11);
    for (int round = 0; round < 60; round++) {
        struct pst_scaler_config config = config_of(60 * PST_S);
        struct pst_demand *twins[2];
        struct pst_supply supply;
        pst_ns now = 0;

#define ANY numbers[pst_prng_below(&prng, PST_COUNT_OF(numbers))]
        for (int c = 0; c < 3; c++) {
            config.classes[c].target = ANY;
            config.classes[c].max_wait = ANY;
            config.classes[c].sheds = ANY & 1;
        }
        config.pools[0].utilisation_ppm = (uint32_t)pst_min_u64(ANY, PST_PPM);
        config.pools[0].out_above = ANY;
        supply = (struct pst_supply){.slots = 14, .starting_in = ANY, .starting_all = ANY};
        supply.start = ANY;
        for (int i = 0; i < 2; i++)
            assert_int_equal(pst_demand_new(&config, 0, &twins[i]), PST_OK);
        for (int step = 0; step < 300; step++) {
            struct pst_scaler_event event = {.now = now, .class_ = pst_prng_below(&prng, 3)};
            uint32_t terms[2][PST_TERM_COUNT] = {{0}}, have = pst_prng_below(&prng, 20);
            bool observed = pst_prng_below(&prng, 4) > 0;

            switch (pst_prng_below(&prng, 4)) {
            case 0:
                event.kind = PST_SCALER_OBSERVE_POOL;
                event.class_ = 0;
                event.u.observe_pool.served = (uint32_t)ANY;
                event.u.observe_pool.service = ANY;
                event.u.observe_pool.service_square = ANY;
                event.u.observe_pool.slots = (uint32_t)ANY;
                event.u.observe_pool.inflight = (uint32_t)ANY;
                break;
            case 1:
                event.kind = PST_SCALER_HISTORY;
                event.u.history.span = pst_min_u64(ANY, 3600 * PST_S);
                event.u.history.work = ANY;
                break;
            default:
                event.kind = PST_SCALER_OBSERVE_CLASS;
                event.u.observe_class.arrived = (uint32_t)ANY;
                event.u.observe_class.waited = (uint32_t)ANY;
                event.u.observe_class.late = (uint32_t)ANY;
                event.u.observe_class.arrived_work = ANY;
                event.u.observe_class.refused_work = ANY;
                event.u.observe_class.queued_work = ANY;
                event.u.observe_class.queued = (uint32_t)ANY;
            }
            now += pst_min_u64(ANY, 100 * PST_S);
            supply.ready = pst_prng_below(&prng, 300);
            supply.starting = pst_prng_below(&prng, 300);
            for (int i = 0; i < 2; i++) {
                bool worth;

                pst_demand_observe(twins[i], &event);
                if (step > 20)
                    pst_demand_tick(twins[i], now, supply.start, observed);
                if (step > 21)
                    pst_demand_terms(twins[i], &supply, terms[i], &worth);
            }
            assert_memory_equal(terms[0], terms[1], sizeof terms[0]);
            for (int t = 0; t < PST_TERM_COUNT; t++)
                assert_true(terms[0][t] <= UINT16_MAX);
            if (step > 21)
                assert_true(pst_demand_most(twins[0], &supply, have, 160 * PST_S) ==
                                pst_demand_most(twins[1], &supply, have, 160 * PST_S) &&
                            pst_demand_bears(twins[0], &supply, have) ==
                                pst_demand_bears(twins[1], &supply, have));
        }
#undef ANY
        for (int i = 0; i < 2; i++)
            pst_demand_free(twins[i]);
    }
}

static void configurations_are_checked(void **state)
{
    struct pst_scaler_config config = config_of(60 * PST_S);
    struct pst_demand *demand = NULL;

    (void)state;
    assert_int_equal(pst_demand_new(&config, 1, &demand), PST_E_INVALID);
    config.pools[0].slots = 0;
    assert_int_equal(pst_demand_new(&config, 0, &demand), PST_E_INVALID);
    config = config_of(60 * PST_S);
    config.classes_count = 0;
    assert_int_equal(pst_demand_new(&config, 0, &demand), PST_E_INVALID);
    assert_null(demand);
    pst_demand_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_work_is_staffed_for),
        cmocka_unit_test(an_unknown_burst_is_expected_to_last_as_long_again),
        cmocka_unit_test(short_bursts_add_nothing),
        cmocka_unit_test(what_is_over_by_then_is_not_worth_it),
        cmocka_unit_test(what_is_refused_does_not_wait),
        cmocka_unit_test(lasting_load_is_followed),
        cmocka_unit_test(backlog_is_brought_down_within_the_deadline),
        cmocka_unit_test(lateness_while_all_slots_are_in_use_asks_for_one_more),
        cmocka_unit_test(silence_is_not_idleness),
        cmocka_unit_test(ticks_need_not_be_even),
        cmocka_unit_test(the_past_is_learned_from),
        cmocka_unit_test(what_is_left_is_enough),
        cmocka_unit_test(fewer_replicas_bear_what_they_can),
        cmocka_unit_test(any_numbers_are_survived),
        cmocka_unit_test(configurations_are_checked),
    };

    pst_assert_hook = harness_assert_hook;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
