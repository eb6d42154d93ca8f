/* test_loop.c - order, removal within a turn, timers, signals. */
#include "wire.h"

#include <signal.h>
#include <sys/epoll.h>

#include "net/timer.h"

static struct pst_loop *loop;

static int set_up(void **state)
{
    (void)state;
    return pst_loop_new(&loop);
}

static int tear_down(void **state)
{
    (void)state;
    pst_loop_free(loop);
    return 0;
}

static uint32_t fired[4096];
static size_t fired_count;
static struct pst_timer timers[4096];

static void note(struct pst_timer *timer)
{
    fired[fired_count++] = (uint32_t)(timer - timers);
}

/* Random sets, moves and cancels: what is left comes out in order, each once. */
static void test_heap_keeps_order(void **state)
{
    struct pst_timer_heap heap = {0};
    struct pst_timer *timer;
    uint64_t random = 88172645463325252u;
    size_t i, set = 0;
    pst_ns last = 0;

    (void)state;
    memset(timers, 0, sizeof timers);
    for (i = 0; i < 20000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        timer = &timers[random % PST_COUNT_OF(timers)];
        if (random >> 40 & 3)
            pst_timer_heap_set(&heap, timer, random >> 20 & 0xffff);
        else
            pst_timer_heap_remove(&heap, timer);
    }
    for (i = 0; i < PST_COUNT_OF(timers); i++)
        set += timers[i].place != 0;
    assert_int_equal(set, heap.count);
    assert_null(pst_timer_heap_due(&heap, pst_timer_heap_next(&heap) - 1));
    while ((timer = pst_timer_heap_due(&heap, PST_NEVER - 1)) != NULL) {
        assert_true(timer->at >= last);
        assert_int_equal(timer->place, 0);
        last = timer->at;
        set--;
    }
    assert_int_equal(set, 0);
    pst_timer_heap_done(&heap);
}

static void test_timers_fire_when_due(void **state)
{
    pst_ns now = pst_loop_now(loop);

    (void)state;
    memset(timers, 0, sizeof timers);
    fired_count = 0;
    timers[0].fire = timers[1].fire = timers[2].fire = note;
    pst_timer_set(loop, &timers[0], now + 20 * PST_MS);
    pst_timer_set(loop, &timers[1], now + 5 * PST_MS);
    pst_timer_set(loop, &timers[2], now + 10 * PST_MS);
    pst_timer_cancel(loop, &timers[2]);
    WIRE_UNTIL(loop, fired_count == 2);
    assert_int_equal(fired[0], 1);
    assert_int_equal(fired[1], 0);
    assert_true(pst_loop_now(loop) >= now + 20 * PST_MS);
    pst_timer_set(loop, &timers[0], now);
    pst_timer_set(loop, &timers[0], PST_NEVER);
    pst_loop_turn(loop, 0);
    assert_int_equal(fired_count, 2);
}

static struct pst_io ios[2];
static int told;

static void remove_other(struct pst_io *io, uint32_t events)
{
    (void)events;
    told++;
    pst_io_remove(&ios[io == &ios[0]]);
    pst_io_want(io, 0);
}

/* Both are ready in one turn; the first one told removes the other. */
static void test_removed_is_not_told(void **state)
{
    int a[2], b[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, a), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, b), 0);
    ios[0] = (struct pst_io){.fd = a[0], .events = EPOLLIN, .ready = remove_other};
    ios[1] = (struct pst_io){.fd = b[0], .events = EPOLLIN, .ready = remove_other};
    assert_int_equal(pst_io_add(loop, &ios[0]), PST_OK);
    assert_int_equal(pst_io_add(loop, &ios[1]), PST_OK);
    assert_int_equal(write(a[1], "x", 1), 1);
    assert_int_equal(write(b[1], "x", 1), 1);
    told = 0;
    pst_loop_turn(loop, PST_S);
    pst_loop_turn(loop, 0);
    assert_int_equal(told, 1);
    pst_io_remove(&ios[0]);
    pst_io_remove(&ios[1]);
    close(a[0]), close(a[1]), close(b[0]), close(b[1]);
}

static struct pst_later laters[3];
static char order[16];

static void run_later(struct pst_later *later)
{
    size_t i = (size_t)(later - laters);

    order[strlen(order)] = (char)('0' + i);
    if (i == 0 && strlen(order) == 1) {
        pst_later(loop, later); /* next turn */
        pst_later_cancel(loop, &laters[1]);
    }
}

static void test_laters(void **state)
{
    size_t i;

    (void)state;
    memset(order, 0, sizeof order);
    for (i = 0; i < 3; i++) {
        laters[i] = (struct pst_later){.run = run_later};
        pst_later(loop, &laters[i]);
        pst_later(loop, &laters[i]); /* once */
    }
    pst_loop_turn(loop, PST_S);
    assert_string_equal(order, "02");
    pst_loop_turn(loop, PST_S);
    assert_string_equal(order, "020");
    pst_later(loop, &laters[2]);
    pst_later_cancel(loop, &laters[2]);
    pst_later(loop, &laters[1]);
    pst_loop_turn(loop, PST_S);
    assert_string_equal(order, "0201");
}

static int caught_signal;

static void caught(void *user, int signal)
{
    caught_signal = signal;
    pst_loop_stop(user);
}

static void test_signals(void **state)
{
    static const int signals[] = {SIGTERM, SIGHUP};

    (void)state;
    assert_int_equal(pst_loop_signals(loop, signals, 2, caught, loop), PST_OK);
    raise(SIGHUP);
    assert_int_equal(pst_loop_run(loop), PST_OK);
    assert_int_equal(caught_signal, SIGHUP);
    raise(SIGTERM);
    assert_int_equal(pst_loop_run(loop), PST_OK);
    assert_int_equal(caught_signal, SIGTERM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_heap_keeps_order),
        TEST(test_timers_fire_when_due),
        TEST(test_removed_is_not_told),
        TEST(test_laters),
        TEST(test_signals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
