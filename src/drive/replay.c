/* replay.c - see replay.h. */
#include "drive/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive/layout.h"
#include "drive/recorder.h"
#include "drive/recording.h"

struct replay {
    struct pst_recording *recording;
    struct pst_gate *gate;
    struct pst_gate_event event; /* the last one stepped */
    struct pst_recording_frame frame;
    struct pst_replay_result result;
    const char *why;
};

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

/* `recorded` or `replayed` may be NULL: there was none. */
static void differ(struct replay *r, const struct pst_recording_frame *recorded,
                   const uint8_t *replayed, size_t replayed_len)
{
    struct pst_replay_difference *difference = &r->result.difference;
    uint8_t bytes[PST_LAYOUT_BYTES_MAX];
    size_t len = pst_layout_event(&r->event, bytes);

    difference->found = true;
    difference->frame = r->result.frames;
    difference->event = r->result.events;
    difference->now = r->event.now;
    text_of(difference->event_text, pst_layout_event_name(r->event.kind), bytes, len);
    if (recorded == NULL)
        text_of(difference->recorded, "none", NULL, 0);
    else
        text_of(difference->recorded,
                pst_layout_action_name(recorded->len > 0 ? recorded->bytes[0] : UINT8_MAX),
                recorded->bytes, recorded->len);
    if (replayed == NULL)
        text_of(difference->replayed, "none", NULL, 0);
    else
        text_of(difference->replayed, pst_layout_action_name(replayed[0]), replayed, replayed_len);
}

static bool poll_bytes(struct replay *r, uint8_t *bytes, size_t *ret_len)
{
    struct pst_gate_action action;

    if (r->gate == NULL || !pst_gate_poll(r->gate, &action))
        return false;
    *ret_len = pst_layout_action(&action, bytes);
    return true;
}

static void step_action(struct replay *r)
{
    uint8_t bytes[PST_LAYOUT_BYTES_MAX];
    size_t len;

    if (!poll_bytes(r, bytes, &len))
        differ(r, &r->frame, NULL, 0);
    else if (len != r->frame.len || memcmp(bytes, r->frame.bytes, len) != 0)
        differ(r, &r->frame, bytes, len);
    r->result.actions++;
}

/* Before the next event: the gate must have nothing more to say than the recording has. */
static bool nothing_left(struct replay *r)
{
    uint8_t bytes[PST_LAYOUT_BYTES_MAX];
    size_t len;

    if (!poll_bytes(r, bytes, &len))
        return true;
    differ(r, NULL, bytes, len);
    return false;
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

static int step_event(struct replay *r)
{
    struct pst_gate_event event;

    if (r->gate == NULL)
        return wrong(r, PST_E_SYNTAX, "an event comes before the configuration");
    if (!pst_recording_event(r->recording, &r->frame, &event))
        return wrong(r, PST_E_SYNTAX, "an event frame cannot be read");
    r->event = event;
    r->result.events++;
    pst_gate_step(r->gate, &r->event);
    return PST_OK;
}

static int step_frame(struct replay *r)
{
    switch (r->frame.type) {
    case PST_RECORDER_CONFIG:
        return nothing_left(r) ? step_config(r) : PST_OK;
    case PST_RECORDER_EVENT:
        return nothing_left(r) ? step_event(r) : PST_OK;
    case PST_RECORDER_ACTION:
        step_action(r);
        return PST_OK;
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
            (void)nothing_left(r);
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

int pst_replay_file(const char *path, struct pst_replay_result *ret_result, const char **ret_why)
{
    struct replay *r = calloc(1, sizeof *r);
    int rc;

    *ret_why = "";
    if (r == NULL)
        return PST_E_NOMEM;
    r->why = "";
    rc = pst_recording_open(path, &r->recording, &r->why);
    if (rc == PST_OK)
        rc = run(r);
    pst_recording_close(r->recording);
    if (rc == PST_OK)
        *ret_result = r->result;
    *ret_why = r->why;
    pst_gate_free(r->gate);
    free(r);
    return rc;
}
