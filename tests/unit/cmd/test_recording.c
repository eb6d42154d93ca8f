/* What a recorded gateway was asked, as a stream: every arrival once, with its size and its service. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/sim_recording.h"
#include "drive/recorder.h"

#define BEGIN (5 * PST_S)

struct world {
    char path[64];
    struct pst_recorder *recorder;
};

static struct pst_ticket_id id_of(uint32_t index)
{
    return (struct pst_ticket_id){index, 1};
}

static void event(struct world *w, pst_ns at, struct pst_gate_event event)
{
    event.now = BEGIN + at;
    pst_recorder_event(w->recorder, &event);
}

static void offer(struct world *w, pst_ns at, uint32_t index, uint8_t flags)
{
    struct pst_gate_event e = {.kind = PST_EVENT_OFFER, .flags = flags};

    e.u.offer.id = id_of(index);
    e.u.offer.body_bytes = 400;
    e.u.offer.class_ = 1;
    e.u.offer.weight = 100;
    event(w, at, e);
}

static void arrive(struct world *w, pst_ns at, uint32_t index, uint8_t flags)
{
    struct pst_gate_event e = {.kind = PST_EVENT_ARRIVE, .flags = flags};

    e.u.arrive.id = id_of(index);
    e.u.arrive.prompt_bytes = 800;
    e.u.arrive.flow = 77;
    e.u.arrive.sequences = 1;
    e.u.arrive.weight = 100;
    event(w, at, e);
}

static void dispatch(struct world *w, uint32_t index)
{
    struct pst_gate_action a = {.kind = PST_ACTION_DISPATCH};

    a.u.dispatch.id = id_of(index);
    a.u.dispatch.attempt = 1;
    pst_recorder_action(w->recorder, &a);
}

static void end(struct world *w, pst_ns at, uint32_t index, enum pst_end kind, uint32_t tokens_in)
{
    struct pst_gate_event e = {.kind = PST_EVENT_END};

    e.u.end.id = id_of(index);
    e.u.end.attempt = 1;
    e.u.end.kind = (uint8_t)kind;
    e.u.end.tokens_in = tokens_in;
    e.u.end.tokens_out = 30;
    event(w, at, e);
}

static void finish(struct world *w, uint32_t index, enum pst_outcome outcome)
{
    struct pst_gate_action a = {.kind = PST_ACTION_FINISH};

    a.u.finish.id = id_of(index);
    a.u.finish.outcome = (uint8_t)outcome;
    pst_recorder_action(w->recorder, &a);
}

static void begin(struct world *w)
{
    struct pst_gate_config config = {
        .tickets_max = 8, .flows_max = 8, .replicas_max = 4, .classes_count = 2, .pools_count = 1};
    int fd;

    snprintf(w->path, sizeof w->path, "/tmp/pst-recording-XXXXXX");
    fd = mkstemp(w->path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(pst_recorder_new(w->path, &w->recorder), PST_OK);
    pst_recorder_config(w->recorder, &config);
    event(w, 0, (struct pst_gate_event){.kind = PST_EVENT_TIME});
}

/* Loads it into a scenario of one stream. */
static int load(const struct world *w, uint32_t classes, struct pst_sim_recordings *recordings,
                struct pst_scenario *scenario, struct pst_stream *stream, const char **ret_why)
{
    const char *which;

    *stream = (struct pst_stream){.recording = w->path};
    *scenario = (struct pst_scenario){.streams = stream, .streams_count = 1};
    scenario->gate.classes_count = classes;
    return pst_sim_recordings_load(recordings, scenario, &which, ret_why);
}

static void arrivals_become_rows(void **state)
{
    struct world w;
    struct pst_sim_recordings recordings = {0};
    struct pst_scenario scenario;
    struct pst_stream stream;
    const struct pst_arrival_row *rows;
    const char *why;

    (void)state;
    begin(&w);
    offer(&w, PST_S, 0, 0);
    arrive(&w, PST_S, 0, 0);
    dispatch(&w, 0);
    end(&w, 3 * PST_S, 0, PST_END_DONE, 150);
    finish(&w, 0, PST_OUTCOME_DONE);
    offer(&w, 4 * PST_S, 0, 0); /* the index lives again: refused by its head alone */
    finish(&w, 0, PST_OUTCOME_REFUSED);
    offer(&w, 5 * PST_S, 1, PST_ARRIVE_RETRY); /* the client's second try */
    arrive(&w, 5 * PST_S, 1, PST_ARRIVE_RETRY);
    finish(&w, 1, PST_OUTCOME_REFUSED);
    offer(&w, 6 * PST_S, 2, 0);
    arrive(&w, 6 * PST_S, 2, 0);
    dispatch(&w, 2);
    end(&w, 7 * PST_S, 2, PST_END_RESET, 0); /* how long it would have taken is not known */
    finish(&w, 2, PST_OUTCOME_FAILED);
    pst_recorder_free(w.recorder);

    assert_int_equal(load(&w, 2, &recordings, &scenario, &stream, &why), PST_OK);
    assert_int_equal(scenario.streams[0].rows_count, 3);
    rows = scenario.streams[0].rows;
    assert_int_equal(rows[0].at, PST_S);
    assert_int_equal(rows[0].class_, 0);
    assert_int_equal(rows[0].prompt_tokens, 150); /* as the engine counted */
    assert_int_equal(rows[0].output_tokens, 30);
    assert_int_equal(rows[0].client, 77);
    assert_int_equal(rows[0].service, 2 * PST_S);
    assert_int_equal(rows[1].at, 4 * PST_S);
    assert_int_equal(rows[1].class_, 1);
    assert_int_equal(rows[1].prompt_tokens, 100);
    assert_int_equal(rows[1].service, 2 * PST_S); /* the mean of those known: there is no law */
    assert_int_equal(rows[2].at, 6 * PST_S);
    assert_int_equal(rows[2].prompt_tokens, 200);
    assert_int_equal(rows[2].service, 2 * PST_S);
    pst_sim_recordings_done(&recordings);
    unlink(w.path);
}

static void what_cannot_be_used_says_why(void **state)
{
    struct world w;
    struct pst_sim_recordings recordings = {0};
    struct pst_scenario scenario;
    struct pst_stream stream;
    const char *why;

    (void)state;
    begin(&w);
    pst_recorder_free(w.recorder);
    assert_int_equal(load(&w, 2, &recordings, &scenario, &stream, &why), PST_E_INVALID);
    assert_string_equal(why, "no request of this pool arrived in it");
    pst_sim_recordings_done(&recordings);
    assert_int_equal(load(&w, 1, &recordings, &scenario, &stream, &why), PST_E_INVALID);
    assert_string_equal(why, "the recording has more classes than the scenario");
    pst_sim_recordings_done(&recordings);
    unlink(w.path);
    assert_int_equal(load(&w, 2, &recordings, &scenario, &stream, &why), PST_E_SYSTEM);
    pst_sim_recordings_done(&recordings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrivals_become_rows),
        cmocka_unit_test(what_cannot_be_used_says_why),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
