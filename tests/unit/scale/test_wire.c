/* test_wire.c - what goes in comes out, nothing else does; a slow reader, a dead one, a hostile one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "scale/wire_layout.h"

#define KEPT 40000

static struct pst_loop *loop;
static struct pst_wire *left, *right;
static struct pst_wire_message *got;
static size_t got_count, left_ended, right_ended;
static int raw = -1; /* the other end of `left`, where a test speaks by itself */

static void take(void *user, const struct pst_wire_message *message)
{
    (void)user;
    assert_true(got_count < KEPT);
    got[got_count++] = *message;
}

static void count_end(void *user)
{
    ++*(size_t *)user;
}

static int set_up(void **state)
{
    (void)state;
    got = calloc(KEPT, sizeof *got);
    got_count = left_ended = right_ended = 0;
    return got == NULL ? -1 : pst_loop_new(&loop);
}

static int tear_down(void **state)
{
    (void)state;
    pst_wire_free(left);
    pst_wire_free(right);
    left = right = NULL;
    if (raw >= 0)
        close(raw);
    raw = -1;
    pst_loop_free(loop);
    free(got);
    return 0;
}

static void join(void)
{
    int fd[2];

    assert_int_equal(pst_wire_pair(fd), PST_OK);
    assert_int_equal(pst_wire_new(loop, fd[0], take, count_end, &left_ended, &left), PST_OK);
    assert_int_equal(pst_wire_new(loop, fd[1], take, count_end, &right_ended, &right), PST_OK);
}

static void join_raw(void)
{
    int fd[2];

    assert_int_equal(pst_wire_pair(fd), PST_OK);
    assert_int_equal(pst_wire_new(loop, fd[0], take, count_end, &left_ended, &left), PST_OK);
    raw = fd[1];
}

static void turns(void)
{
    for (int i = 0; i < 3000; i++)
        assert_int_equal(pst_loop_turn(loop, 0), PST_OK);
}

static struct pst_wire_message a_replica(uint32_t key, enum pst_replica_state state)
{
    struct pst_wire_message m = {.kind = PST_WIRE_REPLICA, .fd = -1};

    m.u.replica = (struct pst_wire_replica){
        .key = key,
        .pool = 3,
        .state = (uint8_t)state,
        .cause = PST_CAUSE_CRASH,
        .warm = 1,
        .op = 77,
        .revision = 0xdeadbeef,
        .until = 12 * PST_S,
        .name = "chat-1",
        .url = "http://127.0.0.1:8001",
    };
    return m;
}

static struct pst_wire_message an_event(enum pst_scaler_event_kind kind)
{
    struct pst_wire_message m = {.kind = PST_WIRE_EVENT, .fd = -1};

    m.u.event.kind = (uint8_t)kind;
    m.u.event.pool = 2;
    return m;
}

static struct pst_wire_message an_action(enum pst_scaler_action_kind kind)
{
    struct pst_wire_message m = {
        .kind = PST_WIRE_ACTION, .fd = -1, .key = kind == PST_SCALER_START ? 0 : 9};

    m.u.action.kind = (uint8_t)kind;
    m.u.action.pool = 1;
    return m;
}

static struct pst_wire_message bare(enum pst_wire_kind kind)
{
    return (struct pst_wire_message){.kind = (uint8_t)kind, .fd = -1};
}

static size_t all_kinds(struct pst_wire_message *m)
{
    size_t n = 0;

    m[n++] = a_replica(5, PST_REPLICA_LOADING);
    m[n] = an_event(PST_SCALER_SIGNAL);
    m[n].u.event.u.signal.kind = PST_SIGNAL_QUOTA;
    m[n].u.event.u.signal.value = UINT64_MAX;
    m[n++].u.event.u.signal.age = PST_NEVER;
    m[n] = an_event(PST_SCALER_FLOOR);
    m[n].u.event.u.floor.source = PST_FLOOR_PROFILE;
    m[n].u.event.u.floor.replicas = 4;
    m[n].u.event.u.floor.from = 1;
    m[n++].u.event.u.floor.until = PST_NEVER;
    m[n] = an_event(PST_SCALER_SCALE);
    m[n++].u.event.u.scale.replicas = 6;
    m[n] = an_event(PST_SCALER_RESULT);
    m[n].key = 5;
    m[n].u.event.u.result.action = PST_SCALER_START;
    m[n].u.event.u.result.error = PST_RESULT_QUOTA;
    m[n++].u.event.u.result.op = 78;
    m[n] = an_event(PST_SCALER_HISTORY);
    m[n].u.event.class_ = 2;
    m[n].u.event.u.history.span = PST_S;
    m[n++].u.event.u.history.work = UINT64_MAX;
    m[n++] = an_event(PST_SCALER_SYNCED);
    m[n] = bare(PST_WIRE_PAST);
    m[n].u.past.pool = 3;
    m[n].u.past.from_s = UINT64_MAX;
    m[n].u.past.replicas[0] = 7;
    m[n++].u.past.replicas[PST_WIRE_QUARTERS - 1] = PST_WIRE_NOT_KNOWN;
    m[n] = bare(PST_WIRE_CONFIG);
    strcpy(m[n++].u.message, "2 error(s); größe: line 3");
    m[n++] = bare(PST_WIRE_SYNCED);
    m[n] = an_action(PST_SCALER_START);
    m[n].u.action.u.start.op = 9;
    m[n++].u.action.u.start.warm = 1;
    m[n++] = an_action(PST_SCALER_PROMOTE);
    m[n++] = an_action(PST_SCALER_CANCEL);
    m[n++] = an_action(PST_SCALER_MARK);
    m[n] = an_action(PST_SCALER_REMOVE);
    m[n++].u.action.u.replica.until = 5;
    m[n++] = an_action(PST_SCALER_UNDRAIN);
    m[n++] = bare(PST_WIRE_RELOAD);
    return n;
}

static void test_every_kind_arrives_whole(void **state)
{
    struct pst_wire_message m[32];
    size_t count = all_kinds(memset(m, 0, sizeof m));

    (void)state;
    join();
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pst_wire_send(left, &m[i]), PST_OK);
    turns();
    assert_int_equal(got_count, count);
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &m[i], sizeof m[i]) != 0)
            fail_msg("message %zu of kind %u came differently", i, m[i].kind);
}

/* Only what is meant: a marker in padding, behind texts and in the rest of a union stays at home. */
static void test_nothing_else_goes_out(void **state)
{
    struct pst_wire_message m[32];
    size_t count = all_kinds(memset(m, 0, sizeof m));
    static const char marker[] = "sesamsesam";

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct pst_wire_message dirty;
        uint8_t clean_packet[PST_WIRE_PACKET_MAX], packet[PST_WIRE_PACKET_MAX];
        size_t len = pst_wire_pack(&m[i], clean_packet);

        dirty = m[i];
        if (m[i].kind == PST_WIRE_REPLICA)
            strcpy(dirty.u.replica.url + strlen(dirty.u.replica.url) + 1, marker);
        if (m[i].kind == PST_WIRE_EVENT)
            memcpy((char *)&dirty.u + sizeof dirty.u.event, marker, sizeof marker);
        if (m[i].kind == PST_WIRE_SYNCED || m[i].kind == PST_WIRE_RELOAD)
            memcpy(&dirty.u, marker, sizeof marker);
        assert_int_equal(pst_wire_pack(&dirty, packet), len);
        assert_memory_equal(packet, clean_packet, len);
        assert_null(memmem(packet, len, "sesam", 5));
    }
}

/* Cut, prolonged or with any one byte changed: read as a message in range, or refused. */
static void test_mangled_packets(void **state)
{
    struct pst_wire_message m[32], read;
    size_t count = all_kinds(memset(m, 0, sizeof m));

    (void)state;
    for (size_t i = 0; i < count; i++) {
        uint8_t packet[PST_WIRE_PACKET_MAX + 1] = {0}, again[PST_WIRE_PACKET_MAX];
        size_t len = pst_wire_pack(&m[i], packet);

        assert_int_equal(pst_wire_unpack(packet, len + 1, &read), PST_E_SYNTAX);
        for (size_t cut = 0; cut < len; cut++)
            assert_int_equal(pst_wire_unpack(packet, cut, &read), PST_E_SYNTAX);
        for (size_t at = 0; at < len; at++) {
            for (unsigned value = 0; value < 256; value++) {
                uint8_t was = packet[at];

                packet[at] = (uint8_t)value;
                if (pst_wire_unpack(packet, len, &read) == PST_OK) {
                    read.fd = -1;
                    assert_int_equal(pst_wire_pack(&read, again), len); /* asserts its own ranges */
                    assert_memory_equal(again, packet, len);
                }
                packet[at] = was;
            }
        }
    }
}

static const struct {
    const char *name;
    const char *bytes;
    size_t len;
} hostile[] = {
    {"unknown kind", "\x7f", 1},
    {"a tick is nobody's word", "\x01\0\0\0\0\0\0\0\0", 9},
    {"a replica without bytes", "\x00", 1},
    {"a decision is no order", "\x05\0\0\0\0\x07\0\0", 8},
};

static void test_hostile_packets_end_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(hostile); i++) {
        struct pst_wire_message after = bare(PST_WIRE_RELOAD);

        join_raw();
        left_ended = got_count = 0;
        assert_int_equal(send(raw, hostile[i].bytes, hostile[i].len, 0), hostile[i].len);
        assert_int_equal(send(raw, "\x07", 1, 0), 1); /* a good one behind it is not read */
        turns();
        if (left_ended != 1 || got_count != 0)
            fail_msg("%s: ended %zu times, %zu read", hostile[i].name, left_ended, got_count);
        assert_int_equal(pst_wire_send(left, &after), PST_E_SYSTEM);
        pst_wire_free(left);
        left = NULL;
        close(raw);
        raw = -1;
    }
}

static size_t open_descriptors(void)
{
    size_t count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Descriptors that nobody asked for: with the wrong message, or too many. All are closed. */
static void test_uncalled_descriptors(void **state)
{
    static const struct {
        const char *bytes;
        size_t len, fds;
    } rows[] = {
        {"\x04", 1, 1},         /* SYNCED */
        {"\x03\x01\0\0", 4, 2}, /* CONFIG with two */
        {"\x03\x01\0\0", 4, 0}, /* … with none */
        {"\x03\x00\0\0", 4, 1}, /* a refusal with one */
        {"\x03\x01\0\0", 4, 8}, /* more than there is room for */
    };

    (void)state;
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        char control[CMSG_SPACE(8 * sizeof(int))] __attribute__((aligned(8))) = {0};
        struct iovec iov = {(void *)(uintptr_t)rows[i].bytes, rows[i].len};
        struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
        struct cmsghdr *c = (struct cmsghdr *)(void *)control;
        size_t before;

        join_raw();
        left_ended = got_count = 0;
        before = open_descriptors();
        if (rows[i].fds > 0) {
            msg.msg_control = control;
            msg.msg_controllen = CMSG_SPACE(rows[i].fds * sizeof(int));
            c->cmsg_level = SOL_SOCKET;
            c->cmsg_type = SCM_RIGHTS;
            c->cmsg_len = CMSG_LEN(rows[i].fds * sizeof(int));
            memset(CMSG_DATA(c), 0, rows[i].fds * sizeof(int)); /* standard input, often */
        }
        assert_int_equal(sendmsg(raw, &msg, 0), rows[i].len);
        turns();
        if (left_ended != 1 || got_count != 0)
            fail_msg("row %zu: ended %zu times, %zu read", i, left_ended, got_count);
        assert_int_equal(open_descriptors(), before);
        pst_wire_free(left);
        left = NULL;
        close(raw);
        raw = -1;
    }
}

static void test_descriptor_goes_over(void **state)
{
    struct pst_wire_message m = {.kind = PST_WIRE_CONFIG, .ok = 1};
    char text[6] = "";

    (void)state;
    join();
    m.fd = memfd_create("configuration", MFD_CLOEXEC);
    assert_int_equal(write(m.fd, "hello", 5), 5);
    assert_int_equal(pst_wire_send(left, &m), PST_OK);
    close(m.fd);
    turns();
    assert_int_equal(got_count, 1);
    assert_true(got[0].fd >= 0);
    assert_int_equal(pread(got[0].fd, text, 5, 0), 5);
    assert_string_equal(text, "hello");
    close(got[0].fd);
}

/* The reader sleeps: what is new replaces what is old, orders stay, and all of it comes in the end. */
static void test_slow_reader(void **state)
{
    struct pst_wire_message m = an_action(PST_SCALER_REMOVE);
    uint32_t sent = 0, last_state = PST_REPLICA_STATE_COUNT, replicas = 0, signals = 0;
    int fd[2];

    (void)state;
    assert_int_equal(pst_wire_pair(fd), PST_OK);
    assert_int_equal(pst_wire_new(loop, fd[0], take, count_end, &left_ended, &left), PST_OK);
    for (uint32_t i = 0; i < 5000; i++) {
        m = an_action(PST_SCALER_REMOVE);
        m.key = ++sent;
        assert_int_equal(pst_wire_send(left, &m), PST_OK);
        m = a_replica(7, i == 4999 ? PST_REPLICA_GONE : PST_REPLICA_LOADING);
        assert_int_equal(pst_wire_send(left, &m), PST_OK);
        m = an_event(PST_SCALER_SIGNAL);
        m.u.event.u.signal.value = i;
        assert_int_equal(pst_wire_send(left, &m), PST_OK);
    }
    assert_int_equal(pst_wire_new(loop, fd[1], take, count_end, &right_ended, &right), PST_OK);
    turns();
    sent = 0;
    for (size_t i = 0; i < got_count; i++) {
        if (got[i].kind == PST_WIRE_ACTION) {
            assert_int_equal(got[i].key, ++sent); /* each, and in order */
        } else if (got[i].kind == PST_WIRE_REPLICA) {
            last_state = got[i].u.replica.state;
            replicas++;
        } else {
            signals++;
        }
    }
    assert_int_equal(sent, 5000);
    assert_int_equal(last_state, PST_REPLICA_GONE);
    assert_true(replicas < 5000 && signals < 5000);
    assert_int_equal(left_ended + right_ended, 0);
}

/* A newer word does not fall behind what was said after the older one: all replicas before SYNCED. */
static void test_newer_word_keeps_its_place(void **state)
{
    struct pst_wire_message m = an_action(PST_SCALER_REMOVE);
    size_t at_replica = 0, at_synced = 0;
    int fd[2];

    (void)state;
    assert_int_equal(pst_wire_pair(fd), PST_OK);
    assert_int_equal(pst_wire_new(loop, fd[0], take, count_end, &left_ended, &left), PST_OK);
    for (int i = 0; i < 2000; i++) /* until the socket is full */
        assert_int_equal(pst_wire_send(left, &m), PST_OK);
    m = a_replica(7, PST_REPLICA_STARTING);
    assert_int_equal(pst_wire_send(left, &m), PST_OK);
    m = bare(PST_WIRE_SYNCED);
    assert_int_equal(pst_wire_send(left, &m), PST_OK);
    m = a_replica(7, PST_REPLICA_LOADING);
    assert_int_equal(pst_wire_send(left, &m), PST_OK);
    m = an_action(PST_SCALER_REMOVE);
    m.key = 8;
    assert_int_equal(pst_wire_send(left, &m), PST_OK); /* behind all of it */
    assert_int_equal(pst_wire_new(loop, fd[1], take, count_end, &right_ended, &right), PST_OK);
    turns();
    assert_int_equal(got_count, 2003);
    for (size_t i = 0; i < got_count; i++) {
        if (got[i].kind == PST_WIRE_REPLICA) {
            assert_int_equal(got[i].u.replica.state, PST_REPLICA_LOADING);
            at_replica = i;
        } else if (got[i].kind == PST_WIRE_SYNCED) {
            at_synced = i;
        }
    }
    assert_true(at_replica < at_synced);
    assert_int_equal(got[2002].key, 8);
}

static void test_reader_that_never_reads(void **state)
{
    struct pst_wire_message m = an_action(PST_SCALER_REMOVE);
    int rc = PST_OK;

    (void)state;
    join_raw();
    for (int i = 0; i < 100000 && rc == PST_OK; i++)
        rc = pst_wire_send(left, &m);
    assert_int_equal(rc, PST_E_FULL);
    assert_int_equal(left_ended, 0); /* never from within send */
    turns();
    assert_int_equal(left_ended, 1);
    assert_int_equal(pst_wire_send(left, &m), PST_E_SYSTEM);
}

/* What it said before it left is read; then the end is told, once. */
static void test_the_other_side_leaves(void **state)
{
    struct pst_wire_message m = bare(PST_WIRE_SYNCED);

    (void)state;
    join();
    assert_int_equal(pst_wire_send(right, &m), PST_OK);
    pst_wire_free(right);
    right = NULL;
    turns();
    assert_int_equal(got_count, 1);
    assert_int_equal(left_ended, 1);
}

static void free_on_word(void *user, const struct pst_wire_message *message)
{
    (void)message;
    ++*(size_t *)user;
    pst_wire_free(right);
    right = NULL;
}

static void test_freed_by_its_own_handler(void **state)
{
    struct pst_wire_message m = bare(PST_WIRE_SYNCED);
    size_t calls = 0;
    int fd[2];

    (void)state;
    assert_int_equal(pst_wire_pair(fd), PST_OK);
    assert_int_equal(pst_wire_new(loop, fd[0], take, count_end, &left_ended, &left), PST_OK);
    assert_int_equal(pst_wire_new(loop, fd[1], free_on_word, count_end, &calls, &right), PST_OK);
    assert_int_equal(pst_wire_send(left, &m), PST_OK);
    assert_int_equal(pst_wire_send(left, &m), PST_OK);
    turns();
    assert_int_equal(calls, 1);
    assert_int_equal(left_ended, 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_every_kind_arrives_whole),
        TEST(test_nothing_else_goes_out),
        TEST(test_mangled_packets),
        TEST(test_hostile_packets_end_it),
        TEST(test_uncalled_descriptors),
        TEST(test_descriptor_goes_over),
        TEST(test_slow_reader),
        TEST(test_newer_word_keeps_its_place),
        TEST(test_reader_that_never_reads),
        TEST(test_the_other_side_leaves),
        TEST(test_freed_by_its_own_handler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
