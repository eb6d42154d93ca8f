/* recording.c - see recording.h. */
#include "drive/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive/recorder.h"

struct pst_recording {
    FILE *file;
    struct pst_gate_config config; /* in force */
    struct pst_scaler_config scaler_config;
    pst_ns now;        /* of the gate's last event */
    pst_ns scaler_now; /* of the scaler's */
};

static int read_header(FILE *file, const char **ret_why)
{
    char magic[sizeof PST_RECORDER_MAGIC - 1];
    uint64_t digest;

    *ret_why = "not a recording";
    if (fread(magic, 1, sizeof magic, file) < sizeof magic ||
        memcmp(magic, PST_RECORDER_MAGIC, sizeof magic) != 0)
        return ferror(file) ? PST_E_SYSTEM : PST_E_SYNTAX; /* a folder can be opened, not read */
    *ret_why = "recorded by a version with other events or actions";
    if (fread(&digest, 1, sizeof digest, file) < sizeof digest || digest != pst_layout_digest())
        return PST_E_SYNTAX;
    *ret_why = "";
    return PST_OK;
}

int pst_recording_open(const char *path, struct pst_recording **ret_recording, const char **ret_why)
{
    struct pst_recording *r = calloc(1, sizeof *r);
    int rc = PST_E_SYSTEM;

    if (r == NULL)
        return PST_E_NOMEM;
    r->file = fopen(path, "rbe");
    if (r->file != NULL)
        rc = read_header(r->file, ret_why);
    if (rc == PST_OK)
        *ret_recording = r;
    else
        pst_recording_close(r);
    return rc;
}

void pst_recording_close(struct pst_recording *recording)
{
    const int error = errno; /* why it is closed, maybe */

    if (recording == NULL)
        return;
    if (recording->file != NULL)
        (void)fclose(recording->file);
    free(recording);
    errno = error;
}

enum pst_recording_next pst_recording_next(struct pst_recording *recording,
                                           struct pst_recording_frame *ret_frame)
{
    uint8_t head[PST_RECORDER_FRAME];
    size_t len;

    if (fread(head, 1, sizeof head, recording->file) < sizeof head)
        return PST_RECORDING_CUT; /* a whole one ends with its trailer, never with the file */
    len = head[0] | (size_t)head[1] << 8;
    if (len > sizeof ret_frame->bytes)
        return PST_RECORDING_WRONG;
    if (fread(ret_frame->bytes, 1, len, recording->file) < len)
        return PST_RECORDING_CUT;
    ret_frame->type = (char)head[2];
    ret_frame->len = len;
    return ret_frame->type == PST_RECORDER_TRAILER ? PST_RECORDING_END : PST_RECORDING_FRAME;
}

bool pst_recording_config(struct pst_recording *recording, const struct pst_recording_frame *frame,
                          struct pst_gate_config *ret_config)
{
    if (!pst_layout_read_config(frame->bytes, frame->len, ret_config))
        return false;
    recording->config = *ret_config;
    return true;
}

static bool ticket_exists(const struct pst_recording *r, struct pst_ticket_id id)
{
    return id.index < r->config.tickets_max;
}

static bool pool_exists(const struct pst_recording *r, uint16_t pool, uint8_t class_)
{
    return pool < r->config.pools_count && class_ < r->config.classes_count;
}

static bool replica_exists(const struct pst_recording *r, uint16_t replica)
{
    return replica < r->config.replicas_max;
}

/* The gate trusts its driver; a file is a stranger. What it says must at least exist. */
static bool is_possible(const struct pst_recording *r, const struct pst_gate_event *event)
{
    if (event->now < r->now)
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
    case PST_EVENT_PROMOTE:
        return replica_exists(r, event->u.promote.replica);
    case PST_EVENT_ENGINE:
        return replica_exists(r, event->u.engine.replica);
    case PST_EVENT_TIME:
    case PST_EVENT_COUNT:
        break;
    }
    return event->kind == PST_EVENT_TIME;
}

bool pst_recording_event(struct pst_recording *recording, const struct pst_recording_frame *frame,
                         struct pst_gate_event *ret_event)
{
    struct pst_gate_event event;

    if (!pst_layout_read_event(frame->bytes, frame->len, &event) || !is_possible(recording, &event))
        return false;
    recording->now = event.now;
    *ret_event = event;
    return true;
}

bool pst_recording_scaler_config(struct pst_recording *recording,
                                 const struct pst_recording_frame *frame,
                                 struct pst_scaler_config *ret_config)
{
    if (!pst_layout_read_scaler_config(frame->bytes, frame->len, ret_config))
        return false;
    recording->scaler_config = *ret_config;
    return true;
}

static bool is_possible_of_scaler(const struct pst_recording *r,
                                  const struct pst_scaler_event *event)
{
    const struct pst_scaler_config *config = &r->scaler_config;

    if (event->now < r->scaler_now || event->pool >= config->pools_count ||
        event->class_ >= config->classes_count)
        return false;
    return event->kind != PST_SCALER_REPLICA || (event->u.replica.replica < config->replicas_max &&
                                                 event->u.replica.state < PST_REPLICA_STATE_COUNT);
}

bool pst_recording_scaler_event(struct pst_recording *recording,
                                const struct pst_recording_frame *frame,
                                struct pst_scaler_event *ret_event)
{
    struct pst_scaler_event event;

    if (!pst_layout_read_scaler_event(frame->bytes, frame->len, &event) ||
        !is_possible_of_scaler(recording, &event))
        return false;
    recording->scaler_now = event.now;
    *ret_event = event;
    return true;
}
