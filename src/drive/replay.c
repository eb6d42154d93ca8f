/*
 * replay.c - see replay.h.
 *
 * Gate and scaler are two machines in one file: each is stepped by its own events, and says its own actions;
 * the frames of one may stand between those of the other.
 */
#include "drive/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive/layout_scaler.h"
#include "drive/recorder.h"
#include "drive/recording.h"

struct replay;

/* What differs between the two. */
struct machine {
    bool (*poll)(struct replay *r, uint8_t *bytes, size_t *ret_len); /* its next action */
    const char *(*event_name)(uint8_t kind);
    const char *(*action_name)(uint8_t kind);
};

/* A machine's last event, and how many there were. */
struct stepped {
    const struct machine *machine;
    uint8_t event[PST_LAYOUT_BYTES_MAX];
    size_t event_len;
    pst_ns now;
    uint64_t events, actions;
};

struct replay {
    struct pst_recording *recording;
    struct pst_gate *gate;
    struct pst_scaler *scaler; /* NULL: none was recorded, so far */
    struct pst_scaler_config scaler_config;
    struct stepped of_gate, of_scaler;
    struct pst_reaction reaction;
    struct pst_recording_frame frame;
    struct pst_replay_result result;
    const char *why;
};

static bool poll_gate(struct replay *r, uint8_t *bytes, size_t *ret_len)
{
    struct pst_gate_action action;

    if (r->gate == NULL || !pst_gate_poll(r->gate, &action))
        return false;
    pst_reaction_gate_action(&r->reaction, &action);
    *ret_len = pst_layout_action(&action, bytes);
    return true;
}

static bool poll_scaler(struct replay *r, uint8_t *bytes, size_t *ret_len)
{
    struct pst_scaler_action action;

    if (r->scaler == NULL || !pst_scaler_poll(r->scaler, &action))
        return false;
    pst_reaction_scaler_action(&r->reaction, &action, r->of_scaler.now);
    *ret_len = pst_layout_scaler_action(&action, bytes);
    return true;
}

static const struct machine gate = {poll_gate, pst_layout_event_name, pst_layout_action_name};
static const struct machine scaler = {poll_scaler, pst_layout_scaler_event_name,
                                      pst_layout_scaler_action_name};

static int wrong(struct replay *r, int rc, const char *why)
{
    r->why = why;
    return rc;
}

/* The name and the bytes: enough to find the spot, whatever the kind. */
static void text_of(char *text, const char *name, const uint8_t *bytes, size_t len)
{
    int at = snprintf(text, PST_REPLAY_TEXT_MAX, "%s", name);

    for (size_t i = 1; i < len && at + 3 < PST_REPLAY_TEXT_MAX; i++)
        at += snprintf(text + at, (size_t)(PST_REPLAY_TEXT_MAX - at), "%s%02x", i == 1 ? " " : "",
                       bytes[i]);
}

static void text_of_action(char *text, const struct machine *machine, const uint8_t *bytes,
                           size_t len)
{
    if (bytes == NULL)
        text_of(text, "none", NULL, 0);
    else
        text_of(text, machine->action_name(len > 0 ? bytes[0] : UINT8_MAX), bytes, len);
}

/* `recorded` or `replayed` may be NULL: there was none. */
static void differ(struct replay *r, const struct stepped *of,
                   const struct pst_recording_frame *recorded, const uint8_t *replayed, size_t len)
{
    struct pst_replay_difference *difference = &r->result.difference;

    difference->found = true;
    difference->of_scaler = of == &r->of_scaler;
    difference->frame = r->result.frames;
    difference->event = of->events;
    difference->now = of->now;
    text_of(difference->event_text,
            of->event_len > 0 ? of->machine->event_name(of->event[0]) : "none", of->event,
            of->event_len);
    text_of_action(difference->recorded, of->machine, recorded == NULL ? NULL : recorded->bytes,
                   recorded == NULL ? 0 : recorded->len);
    text_of_action(difference->replayed, of->machine, replayed, len);
}

static int step_action(struct replay *r, struct stepped *of)
{
    uint8_t bytes[PST_LAYOUT_BYTES_MAX];
    size_t len;

    if (!of->machine->poll(r, bytes, &len))
        differ(r, of, &r->frame, NULL, 0);
    else if (len != r->frame.len || memcmp(bytes, r->frame.bytes, len) != 0)
        differ(r, of, &r->frame, bytes, len);
    of->actions++;
    return PST_OK;
}

/* Before its next event: the machine must have nothing more to say than the recording has. */
static bool nothing_left(struct replay *r, const struct stepped *of)
{
    uint8_t bytes[PST_LAYOUT_BYTES_MAX];
    size_t len;

    if (!of->machine->poll(r, bytes, &len))
        return true;
    differ(r, of, NULL, bytes, len);
    return false;
}

static void note_event(struct stepped *of, const struct pst_recording_frame *frame, pst_ns now)
{
    memcpy(of->event, frame->bytes, frame->len);
    of->event_len = frame->len;
    of->now = now;
    of->events++;
}

static int step_config(struct replay *r)
{
    struct pst_gate_config config;
    int rc;

    if (!pst_recording_config(r->recording, &r->frame, &config))
        return wrong(r, PST_E_SYNTAX, "a configuration frame cannot be read");
    rc = r->gate == NULL ? pst_gate_new(&config, &r->gate) : pst_gate_reconfigure(r->gate, &config);
    if (rc != PST_OK)
        return wrong(r, rc, "the gate refuses the recorded configuration");
    return PST_OK;
}

/* What the last event left behind is all that there is of it. */
static void settle(struct replay *r)
{
    if (r->gate != NULL && r->scaler != NULL)
        pst_reaction_settled(&r->reaction, r->gate, &r->scaler_config, r->of_gate.now);
}

static int step_event(struct replay *r)
{
    struct pst_gate_event event;

    if (r->gate == NULL)
        return wrong(r, PST_E_SYNTAX, "an event comes before the configuration");
    if (!pst_recording_event(r->recording, &r->frame, &event))
        return wrong(r, PST_E_SYNTAX, "an event frame cannot be read");
    settle(r);
    note_event(&r->of_gate, &r->frame, event.now);
    pst_reaction_gate_event(&r->reaction, &event);
    pst_gate_step(r->gate, &event);
    return PST_OK;
}

static int step_scaler_config(struct replay *r)
{
    struct pst_scaler_config config;
    int rc;

    if (!pst_recording_scaler_config(r->recording, &r->frame, &config))
        return wrong(r, PST_E_SYNTAX, "the scaler was recorded by another version");
    rc = r->scaler == NULL ? pst_scaler_new(&config, &r->scaler)
                           : pst_scaler_reconfigure(r->scaler, &config);
    if (rc != PST_OK)
        return wrong(r, rc, "the scaler refuses the recorded configuration");
    r->scaler_config = config;
    return PST_OK;
}

static int step_scaler_event(struct replay *r)
{
    struct pst_scaler_event event;

    if (r->scaler == NULL)
        return wrong(r, PST_E_SYNTAX, "an event of the scaler comes before its configuration");
    if (!pst_recording_scaler_event(r->recording, &r->frame, &event))
        return wrong(r, PST_E_SYNTAX, "an event frame of the scaler cannot be read");
    if (event.kind == PST_SCALER_TICK)
        settle(r);
    note_event(&r->of_scaler, &r->frame, event.now);
    pst_reaction_scaler_event(&r->reaction, &event);
    pst_scaler_step(r->scaler, &event);
    return PST_OK;
}

static int step_frame(struct replay *r)
{
    switch (r->frame.type) {
    case PST_RECORDER_CONFIG:
        return nothing_left(r, &r->of_gate) ? step_config(r) : PST_OK;
    case PST_RECORDER_EVENT:
        return nothing_left(r, &r->of_gate) ? step_event(r) : PST_OK;
    case PST_RECORDER_ACTION:
        return step_action(r, &r->of_gate);
    case PST_RECORDER_SCALER_CONFIG:
        return nothing_left(r, &r->of_scaler) ? step_scaler_config(r) : PST_OK;
    case PST_RECORDER_SCALER_EVENT:
        return nothing_left(r, &r->of_scaler) ? step_scaler_event(r) : PST_OK;
    case PST_RECORDER_SCALER_ACTION:
        return step_action(r, &r->of_scaler);
    default:
        return wrong(r, PST_E_SYNTAX, "a frame of unknown type");
    }
}

static int run(struct replay *r)
{
    int rc = PST_OK;

    while (rc == PST_OK && !r->result.difference.found) {
        const enum pst_recording_next next = pst_recording_next(r->recording, &r->frame);

        r->result.frames += next == PST_RECORDING_FRAME || next == PST_RECORDING_END;
        switch (next) {
        case PST_RECORDING_FRAME:
            rc = step_frame(r);
            break;
        case PST_RECORDING_END:
            if (nothing_left(r, &r->of_gate))
                (void)nothing_left(r, &r->of_scaler);
            return PST_OK;
        case PST_RECORDING_CUT:
            r->result.cut = true;
            return r->gate != NULL ? PST_OK : wrong(r, PST_E_SYNTAX, "nothing was recorded");
        case PST_RECORDING_WRONG:
            return wrong(r, PST_E_SYNTAX, "a frame is longer than any can be");
        case PST_RECORDING_NEXT_COUNT:
            break;
        }
    }
    return rc;
}

static struct pst_replay_result result_of(const struct replay *r)
{
    struct pst_replay_result result = r->result;

    result.events = r->of_gate.events;
    result.actions = r->of_gate.actions;
    result.scaler_events = r->of_scaler.events;
    result.scaler_actions = r->of_scaler.actions;
    result.decided = r->reaction.decided;
    result.promoted = r->reaction.promoted;
    result.gone = r->reaction.gone;
    return result;
}

int pst_replay_file(const char *path, struct pst_replay_result *ret_result, const char **ret_why)
{
    struct replay *r = calloc(1, sizeof *r);
    int rc;

    *ret_why = "";
    if (r == NULL)
        return PST_E_NOMEM;
    r->why = "";
    r->of_gate.machine = &gate;
    r->of_scaler.machine = &scaler;
    rc = pst_recording_open(path, &r->recording, &r->why);
    if (rc == PST_OK)
        rc = run(r);
    pst_recording_close(r->recording);
    if (rc == PST_OK)
        *ret_result = result_of(r);
    *ret_why = r->why;
    pst_gate_free(r->gate);
    pst_scaler_free(r->scaler);
    free(r);
    return rc;
}
