/* replay.c - see replay.h. */
#include "drive/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive/layout.h"
#include "drive/recorder.h"

struct frame {
    char type;
    size_t len;
    uint8_t bytes[PST_LAYOUT_CONFIG_MAX];
};

struct replay {
    FILE *file;
    struct pst_gate_config config; /* in force */
    struct pst_gate *gate;
    struct pst_gate_event event; /* the last one stepped */
    struct frame frame;
    struct pst_replay_result result;
    const char *why;
};

enum next { NEXT_FRAME, NEXT_END, NEXT_CUT, NEXT_WRONG };

static enum next frame_read(struct replay *r)
{
    uint8_t head[PST_RECORDER_FRAME];
    size_t n = fread(head, 1, sizeof head, r->file);

    if (n < sizeof head)
        return NEXT_CUT; /* a whole recording ends with its trailer, never with the file */
    r->frame.len = head[0] | (size_t)head[1] << 8;
    r->frame.type = (char)head[2];
    if (r->frame.len > sizeof r->frame.bytes)
        return NEXT_WRONG;
    if (fread(r->frame.bytes, 1, r->frame.len, r->file) < r->frame.len)
        return NEXT_CUT;
    r->result.frames++;
    return r->frame.type == PST_RECORDER_TRAILER ? NEXT_END : NEXT_FRAME;
}

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
static void differ(struct replay *r, const struct frame *recorded, const uint8_t *replayed,
                   size_t replayed_len)
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

    if (!pst_layout_read_config(r->frame.bytes, r->frame.len, &config))
        return wrong(r, PST_E_SYNTAX, "a configuration frame cannot be read");
    rc = r->gate == NULL ? pst_gate_new(&config, &r->gate) : pst_gate_reconfigure(r->gate, &config);
    if (rc != PST_OK)
        return wrong(r, rc, "the gate refuses the recorded configuration");
    r->config = config;
    return PST_OK;
}

static bool ticket_exists(const struct replay *r, struct pst_ticket_id id)
{
    return id.index < r->config.tickets_max;
}

static bool pool_exists(const struct replay *r, uint16_t pool, uint8_t class_)
{
    return pool < r->config.pools_count && class_ < r->config.classes_count;
}

static bool replica_exists(const struct replay *r, uint16_t replica)
{
    return replica < r->config.replicas_max;
}

/* The gate trusts its driver; a file is a stranger. What it says must at least exist. */
static bool is_possible(const struct replay *r, const struct pst_gate_event *event)
{
    if (event->now < r->event.now)
        return false;
    switch ((enum pst_gate_event_kind)event->kind) {
    case PST_EVENT_OFFER:
        return ticket_exists(r, event->u.offer.id) &&
               (event->u.offer.pool == PST_POOL_NONE ||
                pool_exists(r, event->u.offer.pool, event->u.offer.class_));
    case PST_EVENT_HELD:
        return ticket_exists(r, event->u.held.id);
    case PST_EVENT_ARRIVE:
        return ticket_exists(r, event->u.arrive.id) &&
               pool_exists(r, event->u.arrive.pool, event->u.arrive.class_) &&
               event->u.arrive.type < PST_TYPES_MAX && event->u.arrive.sequences > 0;
    case PST_EVENT_CANCEL:
        return ticket_exists(r, event->u.cancel.id);
    case PST_EVENT_FIRST:
        return ticket_exists(r, event->u.first.id);
    case PST_EVENT_END:
        return ticket_exists(r, event->u.end.id) && event->u.end.kind < PST_END_COUNT;
    case PST_EVENT_REPLICA:
        return replica_exists(r, event->u.replica.replica) &&
               event->u.replica.pool < r->config.pools_count &&
               event->u.replica.state < PST_REPLICA_STATE_COUNT &&
               event->u.replica.cause < PST_CAUSE_COUNT;
    case PST_EVENT_PROBE:
        return replica_exists(r, event->u.probe.replica) &&
               event->u.probe.probe < PST_PROBE_COUNT &&
               event->u.probe.result < PST_PROBE_RESULT_COUNT;
    case PST_EVENT_SLOTS:
        return replica_exists(r, event->u.slots.replica) &&
               event->u.slots.source < PST_SLOTS_SOURCE_COUNT;
    case PST_EVENT_PROGRESS:
        return replica_exists(r, event->u.progress.replica);
    case PST_EVENT_DRAIN:
        return event->u.drain.replica == PST_REPLICA_ALL ||
               replica_exists(r, event->u.drain.replica);
    case PST_EVENT_UNDRAIN:
        return event->u.undrain.replica == PST_REPLICA_ALL ||
               replica_exists(r, event->u.undrain.replica);
    case PST_EVENT_TIME:
    case PST_EVENT_COUNT:
        break;
    }
    return event->kind == PST_EVENT_TIME;
}

static int step_event(struct replay *r)
{
    struct pst_gate_event event;

    if (r->gate == NULL)
        return wrong(r, PST_E_SYNTAX, "an event comes before the configuration");
    if (!pst_layout_read_event(r->frame.bytes, r->frame.len, &event) || !is_possible(r, &event))
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

static int header_read(struct replay *r)
{
    char magic[sizeof PST_RECORDER_MAGIC - 1];
    uint64_t digest;

    if (fread(magic, 1, sizeof magic, r->file) < sizeof magic ||
        memcmp(magic, PST_RECORDER_MAGIC, sizeof magic) != 0)
        return wrong(r, PST_E_SYNTAX, "not a recording");
    if (fread(&digest, 1, sizeof digest, r->file) < sizeof digest || digest != pst_layout_digest())
        return wrong(r, PST_E_SYNTAX, "recorded by a version with other events or actions");
    return PST_OK;
}

static int run(struct replay *r)
{
    int rc = header_read(r);

    while (rc == PST_OK && !r->result.difference.found) {
        switch (frame_read(r)) {
        case NEXT_FRAME:
            rc = step_frame(r);
            break;
        case NEXT_END:
            (void)nothing_left(r);
            return PST_OK;
        case NEXT_CUT:
            r->result.cut = true;
            return r->gate != NULL ? PST_OK : wrong(r, PST_E_SYNTAX, "nothing was recorded");
        case NEXT_WRONG:
            return wrong(r, PST_E_SYNTAX, "a frame is longer than any can be");
        }
    }
    return rc;
}

int pst_replay_file(const char *path, struct pst_replay_result *ret_result, const char **ret_why)
{
    struct replay *r = calloc(1, sizeof *r);
    int rc = PST_E_SYSTEM;

    *ret_why = "";
    if (r == NULL)
        return PST_E_NOMEM;
    r->why = "";
    r->file = fopen(path, "rbe");
    if (r->file != NULL) {
        rc = run(r);
        (void)fclose(r->file);
    }
    if (rc == PST_OK)
        *ret_result = r->result;
    *ret_why = r->why;
    pst_gate_free(r->gate);
    free(r);
    return rc;
}
