/*
 * test_extremes.c - the corners of the configuration, drawn at random: nothing, one, the most there can
 * be; and a clock that leaps. Every invariant holds after each event, time comes to rest, and every
 * ticket ends once.
 */
#include "harness.h"

#define TICKETS 48
#define STEPS   3000
#define SEEDS   40

static struct harness h;
static struct pst_prng prng;
static enum { NONE, READING, QUEUED, RUNNING } where[TICKETS];
static uint64_t offered;

static uint32_t below(uint32_t bound)
{
    return (uint32_t)pst_prng_below(&prng, bound);
}

static uint64_t one_of(const uint64_t *values, uint32_t count)
{
    return values[below(count)];
}

#define ONE_OF(...)                                                                                \
    one_of((const uint64_t[]){__VA_ARGS__}, PST_COUNT_OF(((const uint64_t[]){__VA_ARGS__})))

static pst_ns duration(void)
{
    return ONE_OF(0, 1, PST_MS, PST_S, 600 * PST_S, PST_NEVER - 1, PST_NEVER);
}

static void draw_class(struct pst_gate_class *c)
{
    c->target = duration();
    c->max_wait = duration();
    c->ttl = duration();
    c->guard_ppm = (uint32_t)ONE_OF(0, 1, 50000, PST_PPM);
    c->on_full = (uint8_t)below(2);
    for (int length = 0; length < PST_LENGTH_COUNT; length++)
        c->on_full_length[length] = (uint8_t)below(PST_ON_FULL_COUNT);
}

static void draw_pool(struct pst_gate_pool *p)
{
    p->policy = (uint8_t)below(PST_POLICY_COUNT);
    p->fixed_scope_replica = (uint8_t)below(2);
    p->ready_model = (uint8_t)below(2);
    p->affinity = (uint8_t)below(2);
    p->slots = (uint32_t)ONE_OF(1, 1, 2, 3, 14, UINT16_MAX);
    p->length_short_tokens = (uint32_t)ONE_OF(0, 512);
    p->length_long_tokens = (uint32_t)ONE_OF(512, 2048, UINT32_MAX);
    p->long_share_ppm = (uint32_t)ONE_OF(0, 1, 500000, PST_PPM);
    p->kv_tokens_max = ONE_OF(0, 0, 1, 5000, UINT64_MAX);
    p->retry_budget_ppm = (uint32_t)ONE_OF(0, 100000, PST_PPM, UINT32_MAX);
    p->tries_max = (uint32_t)ONE_OF(1, 3, UINT32_MAX);
    p->first_byte = duration();
    p->first_byte_stream = duration();
    p->stall = ONE_OF(1, PST_S, PST_NEVER);
    p->no_replica_ttl = duration();
    p->cancel_lag = ONE_OF(0, 1, 40 * PST_MS, PST_NEVER);
    p->slow_start = duration();
    p->probe_interval = ONE_OF(PST_MS, 5 * PST_S, PST_NEVER);
    p->probe_timeout = duration();
    p->probe_rise = (uint32_t)ONE_OF(1, 2);
    p->probe_fall = (uint32_t)ONE_OF(1, 3, UINT32_MAX);
    for (uint32_t c = 0; c < PST_CLASSES_MAX; c++) {
        p->fixed_queue[c] = (uint32_t)ONE_OF(0, 1, 50, UINT32_MAX);
        p->fixed_inflight[c] = (uint32_t)ONE_OF(0, 1, 8, UINT32_MAX);
    }
    p->fixed_promote_after = duration();
}

static void draw_numbers(struct pst_gate_config *config)
{
    config->bytes_max = ONE_OF(0, 1, 20000000, UINT64_C(1) << 62);
    config->body_max = ONE_OF(0, 1, 4000000, UINT64_MAX);
    for (uint32_t c = 0; c < PST_CLASSES_MAX; c++)
        draw_class(&config->classes[c]);
    for (uint32_t p = 0; p < config->pools_count; p++)
        draw_pool(&config->pools[p]);
}

static struct pst_gate_config draw_config(uint64_t seed)
{
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);

    config.seed = seed;
    config.tickets_max = TICKETS;
    config.flows_max = (uint32_t)ONE_OF(1, 2, 64);
    config.replicas_max = (uint32_t)ONE_OF(1, 6, PST_REPLICAS_MAX);
    config.classes_count = (uint32_t)ONE_OF(1, 2, 3, PST_CLASSES_MAX);
    config.pools_count = (uint32_t)ONE_OF(1, 2, PST_POOLS_MAX);
    draw_numbers(&config);
    return config;
}

static void follow(void)
{
    struct pst_gate_action action;

    while (harness_next(&h, &action)) {
        uint32_t t = action.u.ticket.id.index;

        if (action.kind == PST_ACTION_DISPATCH) {
            assert_int_equal(where[t], QUEUED);
            where[t] = RUNNING;
        } else if (action.kind == PST_ACTION_CLOSE) {
            assert_int_equal(where[t], RUNNING);
            where[t] = QUEUED; /* unless FINISH follows */
        } else if (action.kind == PST_ACTION_FINISH) {
            assert_int_not_equal(where[t], NONE);
            where[t] = NONE;
        }
    }
}

static void arrive(uint32_t t)
{
    struct pst_gate_event event = harness_arrival(&h, t, (uint8_t)below(h.config.classes_count));

    event.flags = (uint8_t)below(4);
    event.u.arrive.pool = (uint16_t)below(h.config.pools_count);
    event.u.arrive.flow = below(5);
    event.u.arrive.weight = (uint16_t)ONE_OF(0, 1, 100, UINT16_MAX);
    event.u.arrive.prompt_bytes = (uint32_t)ONE_OF(0, 1, 400, 40000, UINT32_MAX);
    event.u.arrive.max_tokens = (uint32_t)ONE_OF(0, 1, 100, UINT32_MAX);
    event.u.arrive.sequences = (uint16_t)ONE_OF(0, 1, 1, 1, 4, UINT16_MAX);
    event.u.arrive.body_hash = below(4);
    event.u.arrive.affinity = below(3);
    event.u.arrive.ttl_ms = (uint32_t)ONE_OF(0, 1, UINT32_MAX);
    where[t] = QUEUED;
    harness_step(&h, &event);
}

static void end(uint32_t t)
{
    struct pst_gate_event event = harness_event(PST_EVENT_END, h.now);
    uint32_t kind = below(PST_END_COUNT + 10) /* mostly whole answers */;

    event.u.end.id = harness_id(&h, t);
    event.u.end.attempt = h.attempt[t];
    event.u.end.kind = (uint8_t)(kind < PST_END_COUNT ? kind : PST_END_DONE);
    event.u.end.tokens_in = (uint32_t)ONE_OF(0, 1, 100, UINT32_MAX);
    event.u.end.tokens_out = (uint32_t)ONE_OF(0, 1, 100, UINT32_MAX);
    event.u.end.retry_after_ms = (uint32_t)ONE_OF(0, 1, UINT32_MAX);
    where[t] = QUEUED; /* unless FINISH follows */
    harness_step(&h, &event);
}

static void ticket_event(uint32_t t)
{
    struct pst_gate_event event;
    uint64_t bytes;
    uint16_t pool;

    switch (where[t]) {
    case NONE:
        where[t] = READING;
        offered++;
        pool = below(2) ? PST_POOL_NONE : (uint16_t)below(h.config.pools_count);
        bytes = ONE_OF(0, 1, 3000000, UINT64_MAX - 1, UINT64_MAX);
        harness_offer(&h, t, pool, (uint8_t)below(h.config.classes_count), bytes);
        break;
    case READING:
        event = harness_event(PST_EVENT_HELD, h.now);
        event.u.held.id = harness_id(&h, t);
        event.u.held.bytes = ONE_OF(0, 1, 3000000);
        if (below(3) == 0)
            harness_step(&h, &event);
        else
            arrive(t);
        break;
    case QUEUED:
        if (below(20) == 0)
            harness_cancel(&h, t);
        break;
    case RUNNING:
        event = harness_event(PST_EVENT_FIRST, h.now);
        event.u.first.id = harness_id(&h, t);
        event.u.first.attempt = h.attempt[t];
        if (below(20) == 0)
            harness_cancel(&h, t);
        else if (below(3) == 0)
            harness_step(&h, &event);
        else
            end(t);
        break;
    }
}

/* The clock leaps, far beyond whatever was due. */
static void leap(void)
{
    struct pst_gate_event event;

    h.now +=
        ONE_OF(0, 1, PST_MS, 100 * PST_MS, PST_S, 100 * PST_S, 86400 * PST_S, 366 * 86400 * PST_S);
    event = harness_event(PST_EVENT_TIME, h.now);
    harness_step(&h, &event);
}

static void fleet_event(void)
{
    struct pst_gate_event event = harness_event(PST_EVENT_SLOTS, h.now);
    uint16_t r = (uint16_t)below((uint32_t)pst_min_u64(h.config.replicas_max, 12));
    uint16_t pool = (uint16_t)(r % h.config.pools_count);

    switch (below(6)) {
    case 0:
        event.u.slots.replica = r;
        event.u.slots.source = (uint8_t)below(PST_SLOTS_SOURCE_COUNT);
        event.u.slots.slots = (uint32_t)ONE_OF(0, 1, UINT32_MAX);
        event.u.slots.until = ONE_OF(0, h.now, h.now + PST_S, PST_NEVER);
        harness_step(&h, &event);
        break;
    case 1:
        event = harness_event(PST_EVENT_DRAIN, h.now);
        event.u.drain.replica = below(4) == 0 ? PST_REPLICA_ALL : r;
        event.u.drain.grace_until = ONE_OF(0, h.now, h.now + PST_S, PST_NEVER);
        event.u.drain.until = ONE_OF(0, h.now, h.now + PST_S, PST_NEVER);
        harness_step(&h, &event);
        break;
    case 2:
        event = harness_event(PST_EVENT_UNDRAIN, h.now);
        event.u.undrain.replica = below(2) ? PST_REPLICA_ALL : r;
        harness_step(&h, &event);
        break;
    case 3:
        h.probes_fail = below(4) == 0;
        h.probes_hang = below(4) == 0;
        break;
    default:
        harness_replica(&h, r, pool,
                        below(4) == 0 ? PST_REPLICA_GONE : (enum pst_replica_state)(1 + below(2)),
                        (enum pst_cause)below(PST_CAUSE_COUNT));
        break;
    }
}

static void new_numbers(void)
{
    struct pst_gate_config changed = h.config;

    draw_numbers(&changed);
    assert_int_equal(pst_gate_reconfigure(h.gate, &changed), PST_OK);
    h.config = changed;
    harness_poll(&h);
}

/* What is due now is done by one step or two: nothing stays due. */
static void comes_to_rest(void)
{
    struct pst_gate_event event = harness_event(PST_EVENT_TIME, h.now);
    uint32_t steps = 0;

    while (pst_gate_deadline(h.gate) <= h.now) {
        harness_step(&h, &event);
        assert_true(++steps < 100);
    }
}

static void run(uint64_t seed)
{
    struct pst_gate_config config;
    struct pst_gate_counters counters;
    struct pst_gate_class_view view;

    pst_prng_init(&prng, seed);
    config = draw_config(seed);
    harness_init(&h, &config);
    memset(where, 0, sizeof where);
    offered = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        uint32_t what = below(100);

        if (what < 75)
            ticket_event(below(TICKETS));
        else if (what < 88)
            leap();
        else if (what < 99)
            fleet_event();
        else
            new_numbers();
        follow();
        comes_to_rest();
        follow();
        pst_gate_verify(h.gate);
        pst_gate_class_view(h.gate, (uint16_t)below(config.pools_count),
                            (uint8_t)below(config.classes_count), h.now, &view);
    }
    for (uint32_t t = 0; t < TICKETS; t++) {
        if (where[t] != NONE)
            harness_cancel(&h, t);
        follow();
        assert_int_equal(where[t], NONE);
    }
    pst_gate_counters(h.gate, &counters);
    assert_int_equal(counters.offered, offered);
    assert_int_equal(counters.finished, offered);
    assert_int_equal(counters.tickets, 0);
    assert_int_equal(counters.bytes_held, 0);
    harness_done(&h);
}

static void corners_hold(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corners_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
