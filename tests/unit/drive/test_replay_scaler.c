/* test_replay_scaler.c - the scaler's part of a recording steps to the same decisions, and to no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "drive/capacity.h"
#include "drive/recorder.h"
#include "drive/replay.h"
#include "gate_config.h"

#define HEAD (sizeof PST_RECORDER_MAGIC - 1 + sizeof(uint64_t))

struct world {
    struct pst_drive *drive;
    struct pst_capacity *capacity;
    pst_ns now;
};

struct recording {
    char path[64];
    uint8_t bytes[1 << 20];
    size_t len;
};

static struct recording recording;

static void ignore(void *user, const struct pst_gate_action *action)
{
    (void)user;
    (void)action;
}

static void on_fleet(void *user, const struct pst_gate_action *action)
{
    struct world *w = user;

    if (action->kind == PST_ACTION_CHECK)
        send_probe(w->drive, w->now, action);
    pst_capacity_fleet_action(w->capacity, action, w->now);
}

static void on_settled(void *user, pst_ns deadline)
{
    (void)user;
    (void)deadline;
}

/* A start is ready in the second after it was asked for; what is to stop is gone at once. */
static void on_act(void *user, const struct pst_scaler_action *action)
{
    struct world *w = user;
    struct pst_gate_event event = {.now = w->now, .kind = PST_EVENT_REPLICA};

    if (action->kind == PST_SCALER_START) {
        event.u.replica.replica = (uint16_t)(action->u.start.op % 4);
        event.u.replica.state = PST_REPLICA_LOADING;
        pst_capacity_replica(w->capacity, event.u.replica.replica, 0, action->u.start.op, 0);
    } else if (action->kind == PST_SCALER_REMOVE) {
        event.u.replica.replica = action->u.replica.replica;
        event.u.replica.state = PST_REPLICA_GONE;
        event.u.replica.cause = PST_CAUSE_REMOVED;
    } else {
        return;
    }
    pst_drive_event(w->drive, &event);
}

static void on_decided(void *user, const struct pst_capacity_decision *decision)
{
    (void)user;
    (void)decision;
}

static struct pst_scaler_config scaler_config(void)
{
    return (struct pst_scaler_config){
        .classes_count = 2,
        .pools_count = 1,
        .replicas_max = 4,
        .classes = {{.target = 100 * PST_MS, .max_wait = 5 * PST_S, .sheds = 1},
                    {.target = PST_S, .max_wait = 15 * PST_S}},
        .pools = {{.min = 1,
                   .max = 3,
                   .slots = 2,
                   .actuate = PST_ACTUATE_OWN,
                   .out_above = 2 * PST_S,
                   .in_below = 500 * PST_MS,
                   .in_after = 5 * PST_S,
                   .start_time = PST_S,
                   .drain_deadline = 5 * PST_S,
                   .stale_after = 15 * PST_S,
                   .utilisation_ppm = 900000,
                   .inflight_guard_ppm = 800000}},
    };
}

/* A floor of two replicas for a while, a reconfiguration, and an hour's tenth of silence. */
static void play(struct world *w)
{
    struct pst_scaler_config config = scaler_config();
    struct pst_scaler_event floor = {.kind = PST_SCALER_FLOOR};

    for (uint32_t second = 0; second < 360; second++) {
        w->now += PST_S;
        pst_capacity_tick(w->capacity, w->now, (1700000000 + second) * PST_S);
        if (second == 20) {
            floor.now = floor.u.floor.from = w->now;
            floor.u.floor.until = w->now + 30 * PST_S;
            floor.u.floor.replicas = 2;
            pst_capacity_event(w->capacity, &floor);
        }
        if (second == 200) {
            config.pools[0].min = 2;
            assert_int_equal(pst_capacity_reconfigure(w->capacity, &config), PST_OK);
        }
    }
}

static void load(void)
{
    FILE *file = fopen(recording.path, "rb");

    assert_non_null(file);
    recording.len = fread(recording.bytes, 1, sizeof recording.bytes, file);
    assert_true(recording.len < sizeof recording.bytes);
    (void)fclose(file);
}

static void save(void)
{
    FILE *file = fopen(recording.path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(recording.bytes, 1, recording.len, file), recording.len);
    assert_int_equal(fclose(file), 0);
}

static void record(void)
{
    const struct pst_gate_config gate = small_config(8);
    const struct pst_scaler_config scaler = scaler_config();
    struct world w = {.now = PST_S};
    const struct pst_drive_handlers drive = {&w, ignore, on_fleet, on_settled};
    const struct pst_capacity_handlers capacity = {&w, on_act, on_decided, on_settled};
    int fd;

    (void)snprintf(recording.path, sizeof recording.path, "/tmp/pst-replay-scaler-XXXXXX");
    fd = mkstemp(recording.path);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(pst_drive_new(&gate, &w.drive), PST_OK);
    assert_int_equal(pst_drive_record(w.drive, recording.path), PST_OK);
    assert_int_equal(pst_capacity_new(&scaler, w.drive, &w.capacity), PST_OK);
    pst_capacity_handlers(w.capacity, &capacity);
    pst_drive_handlers(w.drive, &drive);
    play(&w);
    pst_capacity_free(w.capacity);
    pst_drive_free(w.drive);
    load();
}

/* The last frame of that type: where it begins, and its number, the first being 1. */
static size_t find_last(char type, uint64_t *ret_number)
{
    size_t found = 0;
    uint64_t number = 0;

    for (size_t at = HEAD; at + PST_RECORDER_FRAME <= recording.len;) {
        size_t len = recording.bytes[at] | (size_t)recording.bytes[at + 1] << 8;

        number++;
        if (recording.bytes[at + 2] == (uint8_t)type) {
            found = at;
            *ret_number = number;
        }
        at += PST_RECORDER_FRAME + len;
    }
    assert_true(found > 0);
    return found;
}

static void cut_frame(size_t at)
{
    size_t len = PST_RECORDER_FRAME + (recording.bytes[at] | (size_t)recording.bytes[at + 1] << 8);

    memmove(recording.bytes + at, recording.bytes + at + len, recording.len - at - len);
    recording.len -= len;
}

static int replay(struct pst_replay_result *ret_result, const char **ret_why)
{
    save();
    return pst_replay_file(recording.path, ret_result, ret_why);
}

static void it_decides_the_same_again(void **state)
{
    struct pst_replay_result result;
    const char *why;

    (void)state;
    record();
    assert_int_equal(replay(&result, &why), PST_OK);
    assert_false(result.difference.found);
    assert_false(result.cut);
    assert_true(result.scaler_events > 360 * 3);
    assert_true(result.scaler_actions > 6); /* two starts, a drain, a removal, and decisions */
    (void)unlink(recording.path);
}

static void the_first_other_decision_is_found(void **state)
{
    struct pst_replay_result result;
    uint64_t number = 0;
    const char *why;
    size_t at;

    (void)state;
    record();
    at = find_last(PST_RECORDER_SCALER_ACTION, &number);
    recording.bytes[at + PST_RECORDER_FRAME + 3] ^= 1; /* the number that was decided */
    assert_int_equal(replay(&result, &why), PST_OK);
    assert_true(result.difference.found && result.difference.of_scaler);
    assert_int_equal(result.difference.frame, number);
    assert_memory_equal(result.difference.recorded, "decision ", 9);
    assert_memory_equal(result.difference.replayed, "decision ", 9);
    assert_memory_equal(result.difference.event_text, "tick ", 5);
    (void)unlink(recording.path);
}

static void a_decision_that_is_missing_is_found(void **state)
{
    struct pst_replay_result result;
    uint64_t number = 0;
    const char *why;

    (void)state;
    record();
    cut_frame(find_last(PST_RECORDER_SCALER_ACTION, &number));
    assert_int_equal(replay(&result, &why), PST_OK);
    assert_true(result.difference.found && result.difference.of_scaler);
    assert_string_equal(result.difference.recorded, "none");
    (void)unlink(recording.path);
}

static void another_versions_scaler_is_refused(void **state)
{
    struct pst_replay_result result;
    uint64_t number = 0;
    const char *why;
    size_t at;

    (void)state;
    record();
    at = find_last(PST_RECORDER_SCALER_CONFIG, &number);
    recording.bytes[at + PST_RECORDER_FRAME] ^= 1; /* of the digest */
    assert_int_equal(replay(&result, &why), PST_E_SYNTAX);
    assert_string_equal(why, "the scaler was recorded by another version");
    (void)unlink(recording.path);
}

static void a_recording_without_a_scaler_replays(void **state)
{
    struct pst_replay_result result;
    const char *why;

    (void)state;
    record();
    for (size_t at = HEAD; at + PST_RECORDER_FRAME <= recording.len;) {
        size_t len = recording.bytes[at] | (size_t)recording.bytes[at + 1] << 8;

        if (strchr("cea", recording.bytes[at + 2]) != NULL)
            cut_frame(at);
        else
            at += PST_RECORDER_FRAME + len;
    }
    assert_int_equal(replay(&result, &why), PST_OK);
    assert_false(result.difference.found);
    assert_true(result.events > 0 && result.actions > 0);
    assert_int_equal(result.scaler_events, 0);
    (void)unlink(recording.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_decides_the_same_again),
        cmocka_unit_test(the_first_other_decision_is_found),
        cmocka_unit_test(a_decision_that_is_missing_is_found),
        cmocka_unit_test(another_versions_scaler_is_refused),
        cmocka_unit_test(a_recording_without_a_scaler_replays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
