/* recorder.c - see recorder.h. */
#include "drive/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "drive/layout_scaler.h"

#define BUFFER_BYTES (UINT32_C(256) << 10)
#define WRITE_AFTER  PST_S
#define PAYLOAD_MAX  PST_LAYOUT_CONFIG_MAX

struct pst_recorder {
    int fd; /* -1: a write failed */
    char *path;
    pst_ns written; /* when bytes last left */
    uint64_t events, actions;
    size_t len;
    uint8_t buffer[BUFFER_BYTES];
};

static void flush(struct pst_recorder *recorder)
{
    size_t at = 0;

    while (at < recorder->len && recorder->fd >= 0) {
        ssize_t n = write(recorder->fd, recorder->buffer + at, recorder->len - at);

        if (n >= 0) {
            at += (size_t)n;
        } else if (errno != EINTR) {
            pst_say(PST_LOG_ERROR, "recording to %s ends: %s", recorder->path, strerror(errno));
            (void)close(recorder->fd);
            recorder->fd = -1;
        }
    }
    recorder->len = 0;
}

/* The recording that a failed assertion must not lose, and who else wants to know of it. */
static struct pst_recorder *on_crash;
static void (*next_hook)(const char *condition, const char *file, int line);

static void write_before_crash(const char *condition, const char *file, int line)
{
    struct pst_recorder *recorder = on_crash;

    on_crash = NULL; /* should writing fail by an assertion, too */
    if (recorder != NULL)
        flush(recorder);
    if (next_hook != NULL)
        next_hook(condition, file, line);
}

static void watch(struct pst_recorder *recorder)
{
    PST_ASSERT(on_crash == NULL);
    on_crash = recorder;
    next_hook = pst_assert_hook;
    pst_assert_hook = write_before_crash;
}

static void unwatch(void)
{
    on_crash = NULL;
    if (pst_assert_hook == write_before_crash)
        pst_assert_hook = next_hook;
}

/* The payload's place in the buffer; frame_end() tells how much of it was used. */
static uint8_t *frame_begin(struct pst_recorder *recorder)
{
    if (recorder->len + PST_RECORDER_FRAME + PAYLOAD_MAX > BUFFER_BYTES)
        flush(recorder);
    return recorder->buffer + recorder->len + PST_RECORDER_FRAME;
}

static void frame_end(struct pst_recorder *recorder, char type, size_t payload)
{
    uint8_t *head = recorder->buffer + recorder->len;

    PST_ASSERT(payload <= PAYLOAD_MAX);
    head[0] = (uint8_t)payload;
    head[1] = (uint8_t)(payload >> 8);
    head[2] = (uint8_t)type;
    recorder->len += PST_RECORDER_FRAME + payload;
}

int pst_recorder_new(const char *path, struct pst_recorder **ret_recorder)
{
    struct pst_recorder *recorder = calloc(1, sizeof *recorder);
    uint64_t digest = pst_layout_digest();
    int rc = PST_E_NOMEM;

    if (recorder == NULL)
        return PST_E_NOMEM;
    recorder->fd = -1;
    recorder->path = strdup(path);
    if (recorder->path == NULL)
        goto fail;
    rc = PST_E_SYSTEM;
    recorder->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (recorder->fd < 0)
        goto fail;

    recorder->len = sizeof PST_RECORDER_MAGIC - 1;
    memcpy(recorder->buffer, PST_RECORDER_MAGIC, recorder->len);
    memcpy(recorder->buffer + recorder->len, &digest, sizeof digest);
    recorder->len += sizeof digest;
    watch(recorder);
    *ret_recorder = recorder;
    return PST_OK;

fail:
    free(recorder->path);
    free(recorder);
    return rc;
}

void pst_recorder_free(struct pst_recorder *recorder)
{
    uint8_t *at;

    if (recorder == NULL)
        return;
    unwatch();
    at = frame_begin(recorder);
    memcpy(at, &recorder->events, 8);
    memcpy(at + 8, &recorder->actions, 8);
    frame_end(recorder, PST_RECORDER_TRAILER, 16);
    flush(recorder);
    if (recorder->fd >= 0)
        (void)close(recorder->fd);
    free(recorder->path);
    free(recorder);
}

void pst_recorder_config(struct pst_recorder *recorder, const struct pst_gate_config *config)
{
    frame_end(recorder, PST_RECORDER_CONFIG, pst_layout_config(config, frame_begin(recorder)));
}

void pst_recorder_event(struct pst_recorder *recorder, const struct pst_gate_event *event)
{
    frame_end(recorder, PST_RECORDER_EVENT, pst_layout_event(event, frame_begin(recorder)));
    recorder->events++;
}

void pst_recorder_action(struct pst_recorder *recorder, const struct pst_gate_action *action)
{
    frame_end(recorder, PST_RECORDER_ACTION, pst_layout_action(action, frame_begin(recorder)));
    recorder->actions++;
}

void pst_recorder_scaler_config(struct pst_recorder *recorder,
                                const struct pst_scaler_config *config)
{
    frame_end(recorder, PST_RECORDER_SCALER_CONFIG,
              pst_layout_scaler_config(config, frame_begin(recorder)));
}

void pst_recorder_scaler_event(struct pst_recorder *recorder, const struct pst_scaler_event *event)
{
    frame_end(recorder, PST_RECORDER_SCALER_EVENT,
              pst_layout_scaler_event(event, frame_begin(recorder)));
}

void pst_recorder_scaler_action(struct pst_recorder *recorder,
                                const struct pst_scaler_action *action)
{
    frame_end(recorder, PST_RECORDER_SCALER_ACTION,
              pst_layout_scaler_action(action, frame_begin(recorder)));
}

void pst_recorder_settled(struct pst_recorder *recorder, pst_ns now)
{
    if (recorder->len == 0 || now < recorder->written + WRITE_AFTER)
        return;
    flush(recorder);
    recorder->written = now;
}

bool pst_recorder_is_on(const struct pst_recorder *recorder)
{
    return recorder->fd >= 0;
}
