/* test_replay.c - a recording steps to the same actions again, and a changed byte is found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "drive/recorder.h"
#include "drive/replay.h"
#include "gate_config.h"

/* A file in memory, and where its frames begin. */
struct recording {
    char path[64];
    uint8_t *bytes;
    size_t len;
};

struct world {
    struct pst_drive *drive;
    pst_ns now;
    struct pst_gate_action running[64];
    uint32_t running_count;
};

static void on_request(void *user, const struct pst_gate_action *action)
{
    struct world *w = user;

    if (action->kind == PST_ACTION_CONTINUE)
        send_arrive(w->drive, w->now, action->u.ticket.id, action->u.ticket.id.index % 2);
    if (action->kind == PST_ACTION_DISPATCH)
        w->running[w->running_count++] = *action;
}

static void on_fleet(void *user, const struct pst_gate_action *action)
{
    struct world *w = user;

    if (action->kind == PST_ACTION_CHECK)
        send_probe(w->drive, w->now, action);
}

static void on_settled(void *user, pst_ns deadline)
{
    (void)user;
    (void)deadline;
}

/* A second replica, kept warm until it is promoted; and what the first one's engine says of itself. */
static void play_replicas(struct world *w, int round)
{
    struct pst_gate_event event = {.now = w->now};

    if (round == 5) {
        event.kind = PST_EVENT_REPLICA;
        event.u.replica.replica = 1;
        event.u.replica.state = PST_REPLICA_LOADING;
        event.u.replica.warm = 1;
    } else if (round == 25) {
        event.kind = PST_EVENT_PROMOTE;
        event.u.promote.replica = 1;
    } else if (round % 4 == 2) {
        event.kind = PST_EVENT_ENGINE;
        event.u.engine.asleep = round == 34;
        event.u.engine.running = 5;
        event.u.engine.waiting = UINT32_MAX;
        event.u.engine.kv_ppm = 300000;
        event.u.engine.tokens = (uint64_t)round * 10;
        event.u.engine.age = 50 * PST_MS;
    } else {
        return;
    }
    pst_drive_event(w->drive, &event);
}

/* Requests in two classes over two slots, a reconfiguration in between, some cancelled. */
static void play(struct world *w)
{
    struct pst_gate_config config = small_config(32);
    struct pst_ticket_id id;

    send_replica(w->drive, w->now, PST_REPLICA_LOADING);
    for (int round = 0; round < 40; round++) {
        w->now += 70 * PST_MS;
        play_replicas(w, round);
        if (pst_drive_ticket(w->drive, &id)) {
            send_offer(w->drive, w->now, id);
            if (round % 7 == 0)
                send_cancel(w->drive, w->now + PST_MS, id);
        }
        if (w->running_count > 0 && round % 3 != 0) {
            struct pst_gate_action first = w->running[0];

            w->running_count--;
            memmove(w->running, w->running + 1, w->running_count * sizeof first);
            send_end(w->drive, w->now, &first); /* cancelled ones are stale, and counted */
        }
        if (round == 20) {
            config.pools[0].slots = 3;
            assert_int_equal(pst_drive_reconfigure(w->drive, &config), PST_OK);
        }
    }
}

static void record(struct recording *recording)
{
    struct pst_gate_config config = small_config(32);
    struct world w = {.now = PST_S};
    struct pst_drive_handlers handlers = {&w, on_request, on_fleet, on_settled};
    int fd;
    FILE *file;

    strcpy(recording->path, "/tmp/pst-replay-XXXXXX");
    fd = mkstemp(recording->path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(pst_drive_new(&config, &w.drive), PST_OK);
    assert_int_equal(pst_drive_record(w.drive, recording->path), PST_OK);
    pst_drive_handlers(w.drive, &handlers);
    play(&w);
    pst_drive_free(w.drive);

    file = fopen(recording->path, "rb");
    assert_non_null(file);
    recording->bytes = malloc(1 << 20);
    recording->len = fread(recording->bytes, 1, 1 << 20, file);
    (void)fclose(file);
}

static void rewrite(const struct recording *recording, size_t len)
{
    FILE *file = fopen(recording->path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(recording->bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

static void done(struct recording *recording)
{
    (void)unlink(recording->path);
    free(recording->bytes);
}

/* Offset of the n-th frame of this type (from 0): its first payload byte. */
static size_t frame_at(const struct recording *recording, char type, uint32_t n)
{
    size_t at = sizeof PST_RECORDER_MAGIC - 1 + sizeof(uint64_t);

    while (at + PST_RECORDER_FRAME <= recording->len) {
        size_t len = recording->bytes[at] | (size_t)recording->bytes[at + 1] << 8;

        if ((char)recording->bytes[at + 2] == type && n-- == 0)
            return at + PST_RECORDER_FRAME;
        at += PST_RECORDER_FRAME + len;
    }
    fail();
    return 0;
}

static void a_recording_steps_identically(void **state)
{
    struct recording recording;
    struct pst_replay_result result;
    const char *why;

    (void)state;
    record(&recording);
    assert_int_equal(pst_replay_file(recording.path, &result, &why), PST_OK);
    if (result.difference.found)
        fail_msg("%s: %s / %s", result.difference.event_text, result.difference.recorded,
                 result.difference.replayed);
    assert_false(result.cut);
    assert_true(result.events > 80 && result.actions > 80);
    done(&recording);
}

static void a_changed_byte_is_found(void **state)
{
    static const uint32_t which[] = {0, 1, 20, 60};
    struct recording recording;

    (void)state;
    record(&recording);
    for (size_t i = 0; i < PST_COUNT_OF(which); i++) {
        size_t at = frame_at(&recording, PST_RECORDER_ACTION, which[i]) + 1;
        struct pst_replay_result result;
        const char *why;

        recording.bytes[at] ^= 1; /* behind the kind: a ticket's or replica's number */
        rewrite(&recording, recording.len);
        assert_int_equal(pst_replay_file(recording.path, &result, &why), PST_OK);
        assert_true(result.difference.found);
        assert_int_equal(result.actions, which[i] + 1);
        assert_string_not_equal(result.difference.recorded, result.difference.replayed);
        recording.bytes[at] ^= 1;
    }
    done(&recording);
}

static void a_changed_configuration_is_found(void **state)
{
    struct recording recording;
    struct pst_replay_result result;
    const char *why;
    size_t at, offset = 0;

    (void)state;
    record(&recording);
    at = frame_at(&recording, PST_RECORDER_CONFIG, 1);
    /* The slots of pool 0: found by their value, 3 behind a run of flags, where the first has 2. */
    while (recording.bytes[at + offset] ==
           recording.bytes[frame_at(&recording, PST_RECORDER_CONFIG, 0) + offset])
        offset++;
    assert_int_equal(recording.bytes[at + offset], 3);
    recording.bytes[at + offset] = 2;
    rewrite(&recording, recording.len);
    assert_int_equal(pst_replay_file(recording.path, &result, &why), PST_OK);
    assert_true(result.difference.found);
    done(&recording);
}

static void a_missing_action_is_found(void **state)
{
    struct recording recording;
    struct pst_replay_result result;
    const char *why;
    size_t at, len;

    (void)state;
    record(&recording);
    at = frame_at(&recording, PST_RECORDER_ACTION, 10) - PST_RECORDER_FRAME;
    len = PST_RECORDER_FRAME + (recording.bytes[at] | (size_t)recording.bytes[at + 1] << 8);
    memmove(recording.bytes + at, recording.bytes + at + len, recording.len - at - len);
    rewrite(&recording, recording.len - len);
    assert_int_equal(pst_replay_file(recording.path, &result, &why), PST_OK);
    assert_true(result.difference.found);
    assert_string_equal(result.difference.recorded, "none");
    done(&recording);
}

static void a_cut_recording_is_compared_as_far_as_it_goes(void **state)
{
    struct recording recording;

    (void)state;
    record(&recording);
    for (size_t len = frame_at(&recording, PST_RECORDER_EVENT, 0); len < recording.len; len += 37) {
        struct pst_replay_result result;
        const char *why;

        rewrite(&recording, len);
        assert_int_equal(pst_replay_file(recording.path, &result, &why), PST_OK);
        assert_true(result.cut);
        assert_false(result.difference.found);
    }
    done(&recording);
}

static void what_is_no_recording_is_refused(void **state)
{
    struct recording recording;
    struct pst_replay_result result;
    const char *why;

    (void)state;
    assert_int_equal(pst_replay_file("/nonexistent/recording", &result, &why), PST_E_SYSTEM);
    record(&recording);
    recording.bytes[0] ^= 1; /* magic */
    rewrite(&recording, recording.len);
    assert_int_equal(pst_replay_file(recording.path, &result, &why), PST_E_SYNTAX);
    recording.bytes[0] ^= 1;
    recording.bytes[sizeof PST_RECORDER_MAGIC] ^= 1; /* digest of the layout */
    rewrite(&recording, recording.len);
    assert_int_equal(pst_replay_file(recording.path, &result, &why), PST_E_SYNTAX);
    recording.bytes[sizeof PST_RECORDER_MAGIC] ^= 1;
    recording.bytes[frame_at(&recording, PST_RECORDER_EVENT, 3)] = PST_EVENT_COUNT;
    rewrite(&recording, recording.len);
    assert_int_equal(pst_replay_file(recording.path, &result, &why), PST_E_SYNTAX);
    assert_string_not_equal(why, "");
    rewrite(&recording, 0);
    assert_int_equal(pst_replay_file(recording.path, &result, &why), PST_E_SYNTAX);
    done(&recording);
}

static void a_full_disk_ends_the_recording_and_nothing_else(void **state)
{
    struct pst_gate_config config = small_config(32);
    struct pst_recorder *recorder;
    const struct pst_gate_event event = {.now = PST_S, .kind = PST_EVENT_TIME};

    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(pst_recorder_new("/dev/full", &recorder), PST_OK);
    pst_recorder_config(recorder, &config);
    for (int i = 0; i < 100000; i++)
        pst_recorder_event(recorder, &event);
    assert_false(pst_recorder_is_on(recorder));
    pst_recorder_free(recorder);
    assert_int_equal(pst_recorder_new("/nonexistent/recording", &recorder), PST_E_SYSTEM);
}

static void a_failed_assertion_leaves_its_event_in_the_file(void **state)
{
    struct pst_gate_config config = small_config(32);
    const struct pst_gate_event event = {.now = 9 * PST_S, .kind = PST_EVENT_TIME};
    struct pst_replay_result result;
    char path[] = "/tmp/pst-replay-XXXXXX";
    int fd = mkstemp(path), status;
    const char *why;
    pid_t child;

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct pst_recorder *recorder;

        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        (void)signal(SIGILL, SIG_DFL);
        if (pst_recorder_new(path, &recorder) != PST_OK)
            _exit(1);
        pst_recorder_config(recorder, &config);
        pst_recorder_event(recorder, &event);
        PST_ASSERT(recorder == NULL);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) <= 2);
    assert_int_equal(pst_replay_file(path, &result, &why), PST_OK);
    assert_true(result.cut);
    assert_int_equal(result.events, 1);
    (void)unlink(path);
}

static void impossible_events_are_refused_not_stepped(void **state)
{
    static const struct {
        const char *what;
        uint32_t event; /* the n-th event frame */
        size_t at;      /* of its bytes */
        uint8_t value;
    } rows[] = {
        {"a replica beyond the table", 0, 10, 200}, /* REPLICA: kind, flags, now, then replica */
        {"a pool that is not there", 0, 12, 9},
        {"a state that is none", 0, 14, 99},
        {"time that goes back", 5, 5, 0}, /* a high byte of its 1 s */
    };
    struct recording recording;

    (void)state;
    record(&recording);
    for (size_t i = 0; i < PST_COUNT_OF(rows); i++) {
        size_t at = frame_at(&recording, PST_RECORDER_EVENT, rows[i].event) + rows[i].at;
        uint8_t before = recording.bytes[at];
        struct pst_replay_result result;
        const char *why;

        recording.bytes[at] = rows[i].value;
        rewrite(&recording, recording.len);
        if (pst_replay_file(recording.path, &result, &why) != PST_E_SYNTAX)
            fail_msg("%s", rows[i].what);
        recording.bytes[at] = before;
    }
    done(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recording_steps_identically),
        cmocka_unit_test(a_changed_byte_is_found),
        cmocka_unit_test(a_changed_configuration_is_found),
        cmocka_unit_test(a_missing_action_is_found),
        cmocka_unit_test(a_cut_recording_is_compared_as_far_as_it_goes),
        cmocka_unit_test(what_is_no_recording_is_refused),
        cmocka_unit_test(a_failed_assertion_leaves_its_event_in_the_file),
        cmocka_unit_test(impossible_events_are_refused_not_stepped),
        cmocka_unit_test(a_full_disk_ends_the_recording_and_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
