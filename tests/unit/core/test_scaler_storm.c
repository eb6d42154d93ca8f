/*
 * The scaler among drivers that lose, double and invent news: replicas that nobody asked for, indices
 * with a new owner, results that never come or come twice, leaps of the clock, new configurations. A
 * shadow keeps the books by what was said and told alone; each action must be one that they allow, and
 * when the storm is over every pool comes to what it asks for. With odd seeds the first pool's number is
 * kept by others, who do as they please: of it the invariants alone are asked (test_scaler_number.c).
 */
#include "core/num.h"
#include "scaler_numbers.h"
#include "scaler_world.h"

#define STEPS    10000
#define SEEDS    6
#define REPLICAS 24
#define ASKS_MAX 512

struct shadow_replica {
    bool is_there, is_warm, has_served, was_cancelled, is_promoted;
    bool is_draining, was_drained; /* told to; its RESULT came */
    bool must_go;                  /* cancelled or removed */
    bool is_going;                 /* others end it */
    uint8_t state;
    uint16_t pool;
    uint32_t op;
    pst_ns until;
};

struct shadow_ask {
    uint32_t op;
    uint16_t pool;
    bool is_warm;
    pst_ns at;
};

struct storm {
    struct pst_scaler *scaler;
    struct pst_scaler_config config;
    struct pst_prng prng;
    uint64_t seed;
    uint32_t steps;
    pst_ns now;
    pst_ns observed_at[PST_POOLS_MAX]; /* PST_NEVER: never */
    struct shadow_replica replicas[REPLICAS];
    struct shadow_ask asks[ASKS_MAX];
    uint32_t asks_count, last_op;
    uint16_t marked; /* MARK comes right before DRAIN */
};

static void storm_assert(const struct storm *s, bool condition, const char *what)
{
    if (!condition)
        fail_msg("%s: seed %u, step %u", what, (unsigned)s->seed, (unsigned)s->steps);
}

#define STORM_ASSERT(storm, condition) storm_assert(storm, condition, #condition)

static uint32_t below(struct storm *s, uint32_t bound)
{
    return (uint32_t)pst_prng_below(&s->prng, bound);
}

#define ONE_OF(storm, ...) NUMBERS_ONE_OF(&(storm)->prng, __VA_ARGS__)

/* Others act from now on: what was said there is void. */
static void shadow_let_go(struct storm *s, uint16_t pool)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < s->asks_count; i++) {
        if (s->asks[i].pool != pool)
            s->asks[kept++] = s->asks[i];
    }
    s->asks_count = kept;
    for (uint16_t i = 0; i < REPLICAS; i++) {
        struct shadow_replica *r = &s->replicas[i];

        if (r->pool != pool || !(r->is_draining || r->must_go || r->is_promoted))
            continue;
        r->is_draining = r->must_go = r->is_promoted = false;
        r->has_served = r->state == PST_REPLICA_READY;
        r->is_warm = r->state == PST_REPLICA_WARM;
    }
}

static void draw(struct storm *s, struct pst_scaler_config *config)
{
    numbers_draw(&s->prng, config);
    if (s->seed % 2 == 1)
        config->pools[0].actuate = PST_ACTUATE_MARKED;
}

static void reconfigure(struct storm *s)
{
    struct pst_scaler_config next = s->config;

    if (next.pools_count < 4 && below(s, 4) == 0)
        next.pools[next.pools_count++] = next.pools[0];
    draw(s, &next);
    for (uint16_t p = 0; p < s->config.pools_count; p++) {
        if (s->config.pools[p].actuate == PST_ACTUATE_OWN &&
            next.pools[p].actuate != PST_ACTUATE_OWN)
            shadow_let_go(s, p);
    }
    assert_int_equal(pst_scaler_reconfigure(s->scaler, &next), PST_OK);
    s->config = next;
}

/* ---- the books ---- */

/* What max bounds: all that is there, or may be, and is no part of the warm pool. */
static uint32_t existing(const struct storm *s, uint16_t pool)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < s->asks_count; i++)
        count += s->asks[i].pool == pool && !s->asks[i].is_warm;
    for (uint32_t i = 0; i < REPLICAS; i++) {
        const struct shadow_replica *r = &s->replicas[i];

        count += r->is_there && r->pool == pool && !r->is_warm;
    }
    return count;
}

static uint32_t places(const struct storm *s)
{
    uint32_t count = s->asks_count;

    for (uint32_t i = 0; i < REPLICAS; i++)
        count += s->replicas[i].is_there;
    return count;
}

static uint32_t ready(const struct storm *s, uint16_t pool)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < REPLICAS; i++) {
        const struct shadow_replica *r = &s->replicas[i];

        count += r->is_there && r->pool == pool && r->state == PST_REPLICA_READY &&
                 !r->is_draining && !r->must_go;
    }
    return count;
}

static bool claim(struct storm *s, uint32_t op, struct shadow_ask *ret_ask)
{
    for (uint32_t i = 0; i < s->asks_count && op != 0; i++) {
        if (s->asks[i].op == op) {
            *ret_ask = s->asks[i];
            s->asks[i] = s->asks[--s->asks_count];
            return true;
        }
    }
    return false;
}

/* Nobody answered them for so long that they are forgotten. */
static void forget_asks(struct storm *s)
{
    for (uint32_t i = 0; i < s->asks_count;) {
        const struct pst_scaler_pool *pool = &s->config.pools[s->asks[i].pool];

        if (pool->actuate == PST_ACTUATE_OWN &&
            s->now - s->asks[i].at >= pst_mul_sat(pool->start_timeout, 2))
            s->asks[i] = s->asks[--s->asks_count];
        else
            i++;
    }
}

static void shadow_start(struct storm *s, const struct pst_scaler_action *action)
{
    const struct pst_scaler_pool *pool = &s->config.pools[action->pool];

    STORM_ASSERT(s, action->u.start.op == s->last_op + 1); /* each has its own */
    s->last_op = action->u.start.op;
    STORM_ASSERT(s, s->asks_count < ASKS_MAX);
    s->asks[s->asks_count++] =
        (struct shadow_ask){action->u.start.op, action->pool, action->u.start.warm != 0, s->now};
    STORM_ASSERT(s, places(s) <= REPLICAS);
    STORM_ASSERT(s, action->u.start.warm || existing(s, action->pool) <= pool->max);
}

static void shadow_drain(struct storm *s, const struct pst_scaler_action *action,
                         struct shadow_replica *r)
{
    const struct pst_scaler_pool *pool = &s->config.pools[action->pool];
    pst_ns observed_at = s->observed_at[action->pool];
    bool is_stale = observed_at == PST_NEVER ||
                    (pool->stale_after != 0 && s->now - observed_at > pool->stale_after);

    STORM_ASSERT(s, s->marked == action->u.replica.replica);
    STORM_ASSERT(s, !r->is_draining && !r->must_go);
    STORM_ASSERT(s, action->u.replica.until == pst_add_sat(s->now, pool->drain_deadline));
    if (is_stale && r->state == PST_REPLICA_READY && pool->cost_micro == 0)
        STORM_ASSERT(s, ready(s, action->pool) > pool->max);
    r->is_draining = true;
    r->was_drained = false;
    r->until = action->u.replica.until;
}

static void shadow_action(struct storm *s, const struct pst_scaler_action *action)
{
    struct shadow_replica *r = &s->replicas[action->u.replica.replica % REPLICAS];
    const struct pst_scaler_pool *pool = &s->config.pools[action->pool];
    uint16_t marked = PST_REPLICAS_MAX;

    if (action->kind == PST_SCALER_DECISION)
        return;
    if (pool->actuate == PST_ACTUATE_MARKED) {
        s->last_op += action->kind == PST_SCALER_START;
        return;
    }
    STORM_ASSERT(s, pool->actuate == PST_ACTUATE_OWN);
    if (action->kind != PST_SCALER_START)
        STORM_ASSERT(s, action->u.replica.replica < REPLICAS && r->is_there &&
                            r->pool == action->pool);
    switch ((enum pst_scaler_action_kind)action->kind) {
    case PST_SCALER_START:
        shadow_start(s, action);
        break;
    case PST_SCALER_PROMOTE:
        STORM_ASSERT(s, r->is_warm && !r->must_go);
        r->is_warm = false;
        r->is_promoted = true;
        STORM_ASSERT(s, existing(s, action->pool) <= pool->max);
        break;
    case PST_SCALER_CANCEL:
        STORM_ASSERT(s, !r->has_served || r->was_cancelled);
        r->must_go = r->was_cancelled = true;
        break;
    case PST_SCALER_MARK:
        marked = action->u.replica.replica;
        break;
    case PST_SCALER_DRAIN:
        shadow_drain(s, action, r);
        break;
    case PST_SCALER_UNDRAIN:
        STORM_ASSERT(s, r->is_draining);
        r->is_draining = r->must_go = r->is_promoted = false;
        break;
    case PST_SCALER_REMOVE:
        STORM_ASSERT(s, r->is_warm || (r->is_draining && (r->was_drained || s->now >= r->until)));
        r->must_go = true;
        break;
    case PST_SCALER_DECISION:
    case PST_SCALER_ACTION_COUNT:
        fail();
    }
    s->marked = marked;
}

static void step(struct storm *s, struct pst_scaler_event event)
{
    struct pst_scaler_action action;

    event.now = s->now;
    pst_scaler_step(s->scaler, &event);
    if (event.kind == PST_SCALER_TICK)
        forget_asks(s);
    if (event.kind == PST_SCALER_OBSERVE_POOL)
        s->observed_at[event.pool] = s->now;
    while (pst_scaler_poll(s->scaler, &action))
        shadow_action(s, &action);
    pst_scaler_verify(s->scaler);
}

/* ---- news ---- */

/* What the news means, if it is the first of the replica. */
static void shadow_appear(struct storm *s, uint16_t index, uint16_t pool, uint8_t state,
                          uint32_t op)
{
    struct shadow_ask ask = {.is_warm = state == PST_REPLICA_WARM};

    claim(s, op, &ask);
    s->replicas[index] = (struct shadow_replica){
        .is_there = true, .is_warm = ask.is_warm, .pool = pool, .state = state, .op = op};
}

static void shadow_state(struct shadow_replica *r, uint8_t state)
{
    r->state = state;
    if (r->is_draining || r->must_go)
        return;
    if (state == PST_REPLICA_READY) {
        r->is_warm = r->is_promoted = false;
    } else if (state == PST_REPLICA_WARM && !r->is_promoted) {
        r->is_warm = true; /* it takes no work, whatever it did before */
        r->has_served = false;
    } else if (state == PST_REPLICA_STARTING || state == PST_REPLICA_LOADING) {
        r->is_promoted = false; /* it has to load again */
    }
    if (state == PST_REPLICA_DRAINING) /* by others: it may come back as anything */
        r->has_served = r->is_promoted = false;
    r->has_served |= state == PST_REPLICA_READY;
}

static void tell(struct storm *s, uint16_t index, uint16_t pool, uint8_t state, uint32_t op)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_REPLICA, .pool = pool};
    struct shadow_replica *r = &s->replicas[index];
    struct shadow_ask ask;

    if (r->is_there && (r->pool != pool || op > r->op))
        r->is_there = false; /* another owner */
    if (state == PST_REPLICA_GONE) {
        if (!r->is_there)
            claim(s, op, &ask);
        r->is_there = false;
    } else {
        if (!r->is_there)
            shadow_appear(s, index, pool, state, op);
        shadow_state(r, state);
    }
    event.u.replica.replica = index;
    event.u.replica.state = state;
    event.u.replica.op = op;
    event.u.replica.crashed = (uint8_t)below(s, 2);
    event.u.replica.revision = below(s, 3);
    event.u.replica.inflight = below(s, 20);
    if (s->config.pools[pool].actuate == PST_ACTUATE_MARKED && below(s, 30) == 0)
        event.u.replica.going = r->is_going = true;
    step(s, event);
}

/* An index that nobody has; REPLICAS: none. */
static uint16_t free_index(const struct storm *s)
{
    uint16_t i = 0;

    while (i < REPLICAS && s->replicas[i].is_there)
        i++;
    return i;
}

static void news(struct storm *s)
{
    static const uint8_t states[] = {PST_REPLICA_STARTING, PST_REPLICA_LOADING, PST_REPLICA_READY,
                                     PST_REPLICA_READY,    PST_REPLICA_READY,   PST_REPLICA_WARM,
                                     PST_REPLICA_SUSPECT,  PST_REPLICA_DRAINING};
    uint16_t index = (uint16_t)below(s, REPLICAS);
    const struct shadow_replica *r = &s->replicas[index];
    uint8_t state = states[below(s, PST_COUNT_OF(states))];
    uint16_t pool = (uint16_t)below(s, s->config.pools_count);

    if (r->is_there && below(s, 100) > 0)
        tell(s, index, r->pool, r->must_go || below(s, 9) == 0 ? PST_REPLICA_GONE : state, r->op);
    else if (below(s, 20) == 0) /* nobody asked for it, or it has the place of another */
        tell(s, index, pool, state, 0);
}

/* START is answered: by a replica, by a failure, or by a replica that is gone before it was seen. */
static void answer(struct storm *s)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_RESULT};
    struct shadow_ask ask;
    uint16_t index = free_index(s);

    if (s->asks_count == 0)
        return;
    ask = s->asks[below(s, s->asks_count)];
    if (below(s, 4) > 0 && index < REPLICAS) {
        tell(s, index, ask.pool, below(s, 9) > 0 ? PST_REPLICA_STARTING : PST_REPLICA_GONE, ask.op);
        return;
    }
    event.u.result.action = PST_SCALER_START;
    event.u.result.op = ask.op;
    event.u.result.error = (uint8_t)below(s, PST_RESULT_COUNT);
    if (event.u.result.error != PST_RESULT_OK)
        claim(s, ask.op, &ask);
    step(s, event);
}

/* Of any action on any replica, asked for or not. */
static void result(struct storm *s)
{
    struct pst_scaler_event event = {.kind = PST_SCALER_RESULT};
    uint16_t index = (uint16_t)below(s, REPLICAS + 2);

    event.u.result.action = (uint8_t)(PST_SCALER_PROMOTE + below(s, PST_SCALER_DECISION));
    event.u.result.replica = index;
    event.u.result.error = (uint8_t)below(s, PST_RESULT_COUNT);
    if (event.u.result.action == PST_SCALER_DRAIN && index < REPLICAS &&
        (event.u.result.error == PST_RESULT_OK || event.u.result.error == PST_RESULT_DEADLINE))
        s->replicas[index].was_drained = true;
    step(s, event);
}

static void observe(struct storm *s, uint16_t pool)
{
    uint32_t rate = below(s, (uint32_t)ONE_OF(s, 1, 10, 1000));
    uint64_t work = ONE_OF(s, 1, PST_MS, PST_S, UINT64_C(1) << 40);
    struct pst_scaler_event event = {.kind = PST_SCALER_OBSERVE_POOL, .pool = pool};

    event.u.observe_pool.served = rate;
    event.u.observe_pool.service = rate * work;
    event.u.observe_pool.service_square = below(s, 3) * rate * (work / 1000);
    event.u.observe_pool.slots = ready(s, pool) * s->config.pools[pool].slots;
    event.u.observe_pool.inflight = below(s, 100);
    event.u.observe_pool.tickets = (uint8_t)below(s, 2);
    step(s, event);
    for (uint8_t c = 0; c < s->config.classes_count; c++) {
        event =
            (struct pst_scaler_event){.kind = PST_SCALER_OBSERVE_CLASS, .pool = pool, .class_ = c};
        event.u.observe_class.arrived = below(s, rate + 1);
        event.u.observe_class.arrived_work = event.u.observe_class.arrived * work;
        event.u.observe_class.refused_work = below(s, 2) * event.u.observe_class.arrived_work;
        event.u.observe_class.waited = below(s, rate + 1);
        event.u.observe_class.late = below(s, rate + 1);
        event.u.observe_class.queued = below(s, rate + 1);
        event.u.observe_class.queued_work = event.u.observe_class.queued * work;
        step(s, event);
    }
}

static void second(struct storm *s)
{
    struct pst_scaler_event tick = {.kind = PST_SCALER_TICK};

    s->now += ONE_OF(s, PST_S, PST_S, PST_S, PST_S, PST_S, 1100 * PST_MS, 100 * PST_MS, 0);
    if (below(s, 200) == 0)
        s->now += below(s, 2 * 3600) * PST_S;
    if (below(s, 2) == 0)
        tick.u.tick.wall_s = s->now / PST_S + ONE_OF(s, 0, 1000000, 1000000, 1003600);
    for (uint16_t p = 0; p < s->config.pools_count; p++) {
        if (below(s, 10) > 0)
            observe(s, p);
    }
    step(s, tick);
}

static void whim(struct storm *s)
{
    static const uint8_t kinds[] = {PST_SCALER_SIGNAL,     PST_SCALER_FLOOR,   PST_SCALER_SCALE,
                                    PST_SCALER_WAKE,       PST_SCALER_HISTORY, PST_SCALER_SYNCED,
                                    PST_SCALER_EVENT_COUNT};
    struct pst_scaler_event event = {.kind = kinds[below(s, PST_COUNT_OF(kinds))]};

    event.pool = (uint16_t)below(s, s->config.pools_count + 1);
    if (event.kind == PST_SCALER_SIGNAL) {
        event.u.signal.kind = (uint8_t)below(s, PST_SIGNAL_COUNT + 1);
        event.u.signal.value = ONE_OF(s, 0, 1, 5, 60000, UINT64_MAX);
        event.u.signal.age = ONE_OF(s, 0, 0, 30 * PST_S, PST_NEVER);
    } else if (event.kind == PST_SCALER_FLOOR) {
        event.u.floor.source = (uint8_t)below(s, PST_FLOOR_COUNT + 1);
        event.u.floor.replicas = (uint32_t)ONE_OF(s, 0, 2, 5, UINT32_MAX);
        event.u.floor.from = s->now + below(s, 600) * PST_S;
        event.u.floor.until = s->now + below(s, 900) * PST_S;
    } else if (event.kind == PST_SCALER_SCALE) {
        event.u.scale.replicas = (uint32_t)ONE_OF(s, 0, 3, UINT32_MAX);
    } else if (event.kind == PST_SCALER_HISTORY) {
        event.u.history.span = ONE_OF(s, 0, 1, 60 * PST_S, 3600 * PST_S);
        event.u.history.work = ONE_OF(s, 0, 1, UINT64_C(1) << 50, UINT64_MAX);
    }
    for (uint32_t times = event.kind == PST_SCALER_WAKE ? 5 : 1; times > 0; times--)
        step(s, event);
}

static void blow(struct storm *s)
{
    uint32_t dice = below(s, 100);

    if (dice < 40)
        second(s);
    else if (dice < 65)
        news(s);
    else if (dice < 80)
        answer(s);
    else if (dice < 92)
        result(s);
    else if (dice < 99 || below(s, 20) > 0)
        whim(s);
    else
        reconfigure(s);
}

/* ---- the calm after it ---- */

/* Does what was asked for; all that is there is well. */
static void heal(struct storm *s)
{
    struct pst_scaler_event drained = {.kind = PST_SCALER_RESULT};

    drained.u.result.action = PST_SCALER_DRAIN;
    while (s->asks_count > 0 && free_index(s) < REPLICAS)
        tell(s, free_index(s), s->asks[0].pool, PST_REPLICA_STARTING, s->asks[0].op);
    for (uint16_t i = 0; i < REPLICAS; i++) {
        struct shadow_replica *r = &s->replicas[i];

        if (!r->is_there)
            continue;
        if (r->must_go || r->is_going) {
            tell(s, i, r->pool, PST_REPLICA_GONE, r->op);
        } else if (r->is_draining) {
            drained.u.result.replica = i;
            r->was_drained = true;
            step(s, drained);
        } else {
            tell(s, i, r->pool, r->is_warm ? PST_REPLICA_WARM : PST_REPLICA_READY, r->op);
        }
    }
}

static void calm_pool(struct pst_scaler_pool *p)
{
    p->rule = PST_RULE_AHEAD;
    p->actuate = PST_ACTUATE_OWN;
    p->max = p->max < 5 ? p->max : 5;
    p->min = p->min < p->max ? p->min : p->max;
    p->warm = 0;
    p->in_after = 60 * PST_S;
    p->start_time = 10 * PST_S;
    p->start_timeout = 60 * PST_S;
    p->drain_deadline = 60 * PST_S;
    p->cost_micro = 0;
    p->gpu_guard_ppm = 0;
}

/* Of a number that others kept, what was said is not in the books: each is what it was last told to be. */
static void shadow_take_over(struct storm *s)
{
    for (uint16_t i = 0; i < REPLICAS; i++) {
        struct shadow_replica *r = &s->replicas[i];

        if (s->config.pools[r->pool].actuate == PST_ACTUATE_MARKED)
            r->has_served = r->state == PST_REPLICA_READY;
    }
}

static void calm(struct storm *s)
{
    struct pst_scaler_config next = s->config;

    for (uint32_t p = 0; p < next.pools_count; p++)
        calm_pool(&next.pools[p]);
    shadow_take_over(s);
    assert_int_equal(pst_scaler_reconfigure(s->scaler, &next), PST_OK);
    s->config = next;
    for (uint16_t p = 0; p < next.pools_count; p++) {
        struct pst_scaler_event synced = {.kind = PST_SCALER_SYNCED, .pool = p};

        step(s, synced);
        for (uint8_t kind = 0; kind < PST_SIGNAL_COUNT; kind++) {
            struct pst_scaler_event green = {.kind = PST_SCALER_SIGNAL, .pool = p};

            green.u.signal.kind = kind;
            green.u.signal.value = kind == PST_SIGNAL_QUOTA ? 1000 : 0;
            step(s, green);
        }
    }
    for (int i = 0; i < 3600; i++) {
        struct pst_scaler_event tick = {.kind = PST_SCALER_TICK};

        s->now += PST_S;
        for (uint16_t p = 0; p < next.pools_count; p++) {
            struct pst_scaler_event idle = {.kind = PST_SCALER_OBSERVE_POOL, .pool = p};

            step(s, idle);
        }
        step(s, tick);
        heal(s);
    }
    for (uint16_t p = 0; p < next.pools_count; p++) {
        struct pst_scaler_action decision;

        assert_true(pst_scaler_decision(s->scaler, p, &decision));
        STORM_ASSERT(s, ready(s, p) == decision.u.decision.desired);
        STORM_ASSERT(s, existing(s, p) == decision.u.decision.desired);
    }
}

static void test_storm(void **state)
{
    (void)state;
    pst_assert_hook = world_assert_hook;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct storm s = {.seed = seed, .now = 1000 * PST_S, .marked = PST_REPLICAS_MAX};

        pst_prng_init(&s.prng, seed);
        s.config.classes_count = (uint32_t)ONE_OF(&s, 1, 3, PST_CLASSES_MAX);
        s.config.pools_count = 1 + below(&s, 2);
        s.config.replicas_max = REPLICAS;
        draw(&s, &s.config);
        for (uint32_t p = 0; p < PST_POOLS_MAX; p++)
            s.observed_at[p] = PST_NEVER;
        assert_int_equal(pst_scaler_new(&s.config, &s.scaler), PST_OK);
        for (; s.steps < STEPS; s.steps++)
            blow(&s);
        calm(&s);
        pst_scaler_free(s.scaler);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_storm)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
