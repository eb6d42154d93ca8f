/*
 * test_observe.c - what a gate tells of itself: each ticket counted once, what is no demand left out, one
 * flow's refusals at most its share, and differences that add up to what happened.
 */
#include "plant.h"

#include "core/observe.h"
#include "core/totals.h"

/* ------------------------------------------------------------------ which tickets are counted */

/*
 * One replica of one slot, a queue of two, 100 ms of target, 1 s of ttl. A script is a line of:
 *   u k    a ticket comes; k: its pool is known by its head
 *   r R    the same, but its client tries again: as ARRIVE tells, or OFFER
 *   b B    the same with a body larger than memory
 *   s      one for which there is no room in the slab, its pool known
 *   ! f x  the oldest that runs ends: DONE; FULL; its replica crashes, and is up again
 *   c      the newest that waits is cancelled
 *   d      the gate drains, without grace
 *   +ms    time passes
 */
struct row {
    const char *promise;
    const char *script;
    enum pst_policy policy;
    uint64_t arrived, refused, waited, late, served, failed;
};

#define FIXED    PST_POLICY_FIXED
#define ADAPTIVE PST_POLICY_ADAPTIVE

static const struct row rows[] = {
    {"one that runs", "u", FIXED, 1, 0, 1, 0, 0, 0},
    {"offered with its pool, and arrived: once", "k", FIXED, 1, 0, 1, 0, 0, 0},
    {"refused by its body", "uuuu", FIXED, 4, 1, 1, 0, 0, 0},
    {"refused by its head", "kkkk", FIXED, 4, 1, 1, 0, 0, 0},
    {"refused for its tokens", "uuu", ADAPTIVE, 3, 1, 1, 0, 0, 0},
    {"a client's retry that runs", "r", FIXED, 0, 0, 0, 0, 0, 0},
    {"a client's retry that is refused", "uuur", FIXED, 3, 0, 1, 0, 0, 0},
    {"a client's retry that is refused by its head", "uuuR", FIXED, 3, 0, 1, 0, 0, 0},
    {"a client's retry that its head told, and runs", "R", FIXED, 0, 0, 0, 0, 0, 0},
    {"a client's retry that expires", "ur+1000", FIXED, 1, 0, 1, 0, 0, 0},
    {"no memory", "B", FIXED, 1, 1, 0, 0, 0, 0},
    {"no memory, its pool not known", "b", FIXED, 0, 0, 0, 0, 0, 0},
    {"no room in the slab", "s", FIXED, 1, 1, 0, 0, 0, 0},
    {"waited as long as the target", "uu+100!", FIXED, 2, 0, 2, 0, 1, 0},
    {"waited longer", "uu+101!", FIXED, 2, 0, 2, 1, 1, 0},
    {"just not expired", "uu+999", FIXED, 2, 0, 1, 0, 0, 0},
    {"expired", "uu+1000", FIXED, 2, 0, 2, 1, 0, 0},
    {"cancelled", "uuc", FIXED, 2, 0, 1, 0, 0, 0},
    {"tried again by the gate: waited once", "uf+200", FIXED, 1, 0, 1, 0, 0, 1},
    {"its end", "u!", FIXED, 1, 0, 1, 0, 1, 0},
    {"a drain refuses: no want of capacity", "du", FIXED, 0, 0, 0, 0, 0, 0},
    {"a drain refuses what waits", "uud+200", FIXED, 2, 0, 1, 0, 0, 0},
    {"a prompt that crashed two replicas", "uxxu", FIXED, 2, 0, 1, 0, 0, 0},
};

static struct harness h;

static struct pst_gate_config small_config(enum pst_policy policy)
{
    struct pst_gate_config config = harness_config(policy);

    config.bytes_max = 1000000;
    config.classes[0].ttl = PST_S;
    config.pools[0].slots = 1;
    config.pools[0].fixed_queue[0] = 2;
    config.pools[0].fixed_inflight[0] = 1;
    config.pools[0].kv_tokens_max = 100;
    return config;
}

/* The actions so far; did they finish a ticket? */
static bool has_finished(void)
{
    struct pst_gate_action action;
    bool finished = false;

    while (harness_next(&h, &action))
        finished |= action.kind == PST_ACTION_FINISH;
    return finished;
}

static void comes(uint32_t index, char how)
{
    bool known = strchr("kRBs", how) != NULL;
    struct pst_gate_event event = harness_event(PST_EVENT_OFFER, h.now);

    event.flags = how == 'R' ? PST_ARRIVE_RETRY : 0;
    has_finished(); /* others, before */
    if (how != 's')
        h.generations[index] = ++h.generation;
    event.u.offer.id =
        how == 's' ? (struct pst_ticket_id){h.config.tickets_max, 1} : harness_id(&h, index);
    event.u.offer.pool = known ? 0 : PST_POOL_NONE;
    event.u.offer.body_bytes = how == 'b' || how == 'B' ? 2000000 : 400;
    harness_step(&h, &event);
    if (has_finished())
        return;
    event = harness_arrival(&h, index, 0);
    event.flags = how == 'r' ? PST_ARRIVE_RETRY : 0;
    event.u.arrive.body_hash = 7;
    harness_step(&h, &event);
}

static uint32_t oldest_running(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (h.attempt[i] > 0)
            return i;
    }
    fail_msg("none runs");
    return 0;
}

static void play(const char *script)
{
    struct pst_gate_event event;
    uint32_t count = 0, oldest;

    for (; *script != '\0'; script++) {
        switch (*script) {
        case '!':
        case 'f':
            oldest = oldest_running(count);
            harness_end(&h, oldest, *script == '!' ? PST_END_DONE : PST_END_FULL);
            break;
        case 'x':
            harness_replica(&h, 0, 0, PST_REPLICA_LOADING, PST_CAUSE_CRASH);
            harness_time(&h, h.now + 600 * PST_MS); /* probed, and up again */
            break;
        case 'c':
            harness_cancel(&h, count - 1);
            break;
        case 'd':
            event = harness_event(PST_EVENT_DRAIN, h.now);
            event.u.drain.replica = PST_REPLICA_ALL;
            event.u.drain.grace_until = h.now;
            event.u.drain.until = h.now + 100 * PST_MS;
            harness_step(&h, &event);
            break;
        case '+':
            harness_time(&h, h.now + strtoull(script + 1, NULL, 10) * PST_MS);
            script += strspn(script + 1, "0123456789");
            break;
        default:
            comes(count++, *script);
        }
    }
}

static void each_ticket_counts_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct pst_gate_config config = small_config(row->policy);
        struct pst_gate_class_totals totals;
        struct pst_gate_pool_totals pool;

        print_message("%s: %s\n", row->promise, row->script);
        harness_init(&h, &config);
        harness_replica(&h, 0, 0, PST_REPLICA_LOADING, PST_CAUSE_CONFIG);
        play(row->script);
        pst_gate_class_totals(h.gate, 0, 0, h.now, &totals);
        pst_gate_pool_totals(h.gate, 0, &pool);
        assert_int_equal(totals.waited, row->waited);
        assert_int_equal(totals.late, row->late);
        /* The second is over: its refusals count. */
        pst_gate_class_totals(h.gate, 0, 0, h.now + PST_S, &totals);
        assert_int_equal(totals.arrived, row->arrived);
        assert_int_equal(totals.refused, row->refused);
        assert_int_equal(pool.served, row->served);
        assert_int_equal(pool.failed, row->failed);
        harness_done(&h);
    }
}

/* ------------------------------------------------------------------ one flow's share of refusals */

/* Four flows, told one ticket after the other: one second's, then one more of the first flow. */
struct share {
    const char *promise;
    struct {
        uint32_t weight;
        uint32_t admitted, refused;
        uint64_t work; /* of each ticket */
    } flows[4];
    pst_ns apart; /* the first flow comes so much before the others */
    uint64_t refused, refused_work;
};

static const struct share shares[] = {
    {"alone: all of it", {{100, 0, 10, 50}}, 0, 10, 500},
    {"within its share", {{100, 50, 10, 10}, {100, 50, 10, 10}}, 0, 20, 200},
    {"a flood beside one ticket", {{100, 0, 99, 10}, {100, 1, 0, 10}}, 0, 50, 500},
    {"that comes after the flood", {{100, 0, 99, 10}, {100, 1, 0, 10}}, PST_S - 1, 50, 500},
    {"that comes in the next second", {{100, 0, 99, 10}, {100, 1, 0, 10}}, PST_S, 99, 990},
    {"three times the weight", {{300, 0, 99, 10}, {100, 1, 0, 10}}, 0, 75, 750},
    {"no weight is one", {{0, 0, 99, 10}, {100, 1, 0, 10}}, 0, 50, 500},
    {"four flows, two of them beyond",
     {{100, 0, 100, 10}, {100, 0, 60, 10}, {100, 20, 0, 10}, {100, 20, 0, 10}},
     0,
     100,
     1000},
    {"work counts, not tickets", {{100, 0, 5, 1000}, {100, 500, 0, 10}}, 0, 5, 5000},
};

static void one_flow_counts_its_share(void **state)
{
    static struct pst_totals totals;

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(shares); i++) {
        const struct share *share = &shares[i];
        struct pst_gate_class_totals sum;
        pst_ns now = 7 * PST_S;

        print_message("%s\n", share->promise);
        memset(&totals, 0, sizeof totals);
        for (uint32_t f = 0; f < 4; f++) {
            struct pst_totals_ticket ticket = {
                .flow = f,
                .weight = share->flows[f].weight,
                .work = share->flows[f].work,
                .class_ = 2,
            };

            for (uint32_t n = 0; n < share->flows[f].admitted; n++)
                pst_totals_admitted(&totals, &ticket, now);
            for (uint32_t n = 0; n < share->flows[f].refused; n++)
                pst_totals_refused(&totals, &ticket, now);
            if (f == 0)
                now += share->apart;
        }
        now = 7 * PST_S + 2 * PST_S;
        pst_totals_class(&totals, 2, now, &sum);
        assert_int_equal(sum.refused, share->refused);
        assert_int_equal(sum.refused_work, share->refused_work);
        /* The same once the next ticket has turned the second. */
        pst_totals_admitted(&totals, &(struct pst_totals_ticket){.work = 1, .class_ = 2}, now);
        pst_totals_class(&totals, 2, now, &sum);
        assert_int_equal(sum.refused, share->refused);
        assert_int_equal(sum.refused_work, share->refused_work);
    }
}

static void a_share_is_cut_evenly_from_each_class(void **state)
{
    static struct pst_totals totals;
    struct pst_totals_ticket flood = {.flow = 1, .weight = 100, .work = 10};
    struct pst_totals_ticket other = {.flow = 2, .weight = 100, .work = 200};
    struct pst_gate_class_totals sum[2];

    (void)state;
    for (uint32_t n = 0; n < 80; n++) { /* 60 and 20 of them refused, 1000 offered: 500 may count */
        flood.class_ = n % 4 == 0;
        pst_totals_refused(&totals, &flood, PST_S);
    }
    pst_totals_admitted(&totals, &other, PST_S);
    for (uint8_t c = 0; c < 2; c++)
        pst_totals_class(&totals, c, 2 * PST_S, &sum[c]);
    assert_int_equal(sum[0].refused_work, 375);
    assert_int_equal(sum[1].refused_work, 125);
    assert_int_equal(sum[0].arrived_work + sum[1].arrived_work, 1000);
}

/* ------------------------------------------------------------------ what is told adds up */

#define SERVICE (100 * PST_MS)

static const struct plant_stream overload[] = {
    {200000, 0, 0, PST_NEVER, 0, 1, 100, 400, SERVICE, 1},
    {100000, 0, 0, PST_NEVER, 1, 1, 100, 400, SERVICE, 2},
    {400000, 0, 0, PST_NEVER, 2, 1, 100, 400, SERVICE, 1},
};

static struct plant plant;

struct sums {
    uint64_t arrived[3], refused[3], waited[3], arrived_work[3], refused_work[3];
    uint64_t served, failed, service, service_square;
};

static void tell(struct pst_observer *observer, struct sums *sums)
{
    struct pst_scaler_event events[PST_CLASSES_MAX + 1];
    struct pst_gate_pool_view pool;
    pst_ns oldest = 0;

    assert_int_equal(pst_observe(observer, plant.gate, 0, plant.now, events), 4);
    for (uint8_t c = 0; c < 3; c++) {
        const struct pst_scaler_event *event = &events[c];
        struct pst_gate_class_view view;

        pst_gate_class_view(plant.gate, 0, c, plant.now, &view);
        assert_int_equal(event->kind, PST_SCALER_OBSERVE_CLASS);
        assert_int_equal(event->class_, c);
        assert_true(event->now == plant.now);
        assert_int_equal(event->u.observe_class.queued, view.queued[0]);
        assert_int_equal(event->u.observe_class.queued, plant.waiting[c]);
        assert_int_equal(event->u.observe_class.queued_work, view.queued_work);
        assert_true((view.queued_work > 0) == (plant.waiting[c] > 0));
        assert_int_equal(event->u.observe_class.inflight, view.inflight);
        oldest = pst_max_u64(oldest, view.oldest);
        sums->arrived[c] += event->u.observe_class.arrived;
        sums->refused[c] += event->u.observe_class.refused;
        sums->waited[c] += event->u.observe_class.waited;
        sums->arrived_work[c] += event->u.observe_class.arrived_work;
        sums->refused_work[c] += event->u.observe_class.refused_work;
    }
    pst_gate_pool_view(plant.gate, 0, &pool);
    assert_int_equal(events[3].kind, PST_SCALER_OBSERVE_POOL);
    assert_int_equal(events[3].u.observe_pool.slots, 4 * 14);
    assert_int_equal(events[3].u.observe_pool.inflight, pool.inflight);
    assert_true(events[3].u.observe_pool.oldest == oldest);
    assert_int_equal(events[3].u.observe_pool.tickets, pool.inflight > 0);
    sums->served += events[3].u.observe_pool.served;
    sums->failed += events[3].u.observe_pool.failed;
    sums->service += events[3].u.observe_pool.service;
    sums->service_square += events[3].u.observe_pool.service_square;
}

static void what_is_told_adds_up(void **state)
{
    static struct pst_observer observer;
    struct pst_gate_config config = harness_config(PST_POLICY_ADAPTIVE);
    uint64_t done[3], slot_ms = SERVICE / PST_MS, square = 10000 * UINT64_C(1000000);
    struct sums sums = {0};

    (void)state;
    config.classes[2].max_wait = 2 * PST_S;
    config.classes[2].on_full = PST_ON_FULL_REJECT;
    plant_init(&plant, &config, overload, 3, 4, 1);
    plant.constant = true;
    for (uint32_t second = 1; second <= 30; second++) {
        plant_run(&plant, second * PST_S + 700 * PST_MS);
        tell(&observer, &sums);
    }
    plant_run(&plant, 32 * PST_S);
    tell(&observer, &sums);
    for (uint32_t s = 0; s < 3; s++) {
        const struct plant_seen *seen = &plant.seen[s];

        done[s] = seen->done;
        assert_int_equal(sums.arrived[s], seen->arrived);
        assert_int_equal(sums.waited[s], seen->dispatched + seen->expired);
        assert_true(sums.refused[s] <= seen->refused); /* but for those of the second that runs */
        assert_true(sums.refused[s] * 32 >= seen->refused * 31);
        assert_true(sums.refused_work[s] <= sums.arrived_work[s]);
    }
    assert_true(sums.refused[2] > 1000);
    assert_int_equal(sums.failed, 0);
    assert_int_equal(sums.served, done[0] + done[1] + done[2]);
    assert_int_equal(sums.service, (done[0] + 2 * done[1] + done[2]) * slot_ms * PST_MS);
    assert_int_equal(sums.service_square, (done[0] + 4 * done[1] + done[2]) * square);
    plant_done(&plant);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_ticket_counts_once),
        cmocka_unit_test(one_flow_counts_its_share),
        cmocka_unit_test(a_share_is_cut_evenly_from_each_class),
        cmocka_unit_test(what_is_told_adds_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
