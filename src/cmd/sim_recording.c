/* sim_recording.c - see sim_recording.h. */
#include "cmd/sim_recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drive/recorder.h"
#include "drive/recording.h"

#define BYTES_OF_TOKEN 4

/* A ticket that is alive in the recording. */
struct ticket {
    uint64_t row;      /* PLACE_NONE: it has none yet */
    pst_ns dispatched; /* its running attempt; PST_NEVER: none */
    struct pst_gate_event offer;
    bool is_retry; /* the client's own */
};
#define PLACE_NONE UINT64_MAX

struct loader {
    struct pst_recording *recording;
    const struct pst_scenario *scenario;
    uint16_t pool; /* the stream's */
    struct pst_gate_config config;
    struct ticket *tickets; /* config.tickets_max */
    bool has_begun;
    pst_ns begin, now;
    struct pst_arrival_row *rows;
    uint64_t rows_count, rows_size;
    const char *why;
};

static int wrong(struct loader *l, int rc, const char *why)
{
    l->why = why;
    return rc;
}

static int take_config(struct loader *l, const struct pst_recording_frame *frame)
{
    if (!pst_recording_config(l->recording, frame, &l->config))
        return wrong(l, PST_E_SYNTAX, "a configuration frame cannot be read");
    if (l->config.classes_count > l->scenario->gate.classes_count)
        return wrong(l, PST_E_INVALID, "the recording has more classes than the scenario");
    if (l->tickets != NULL) /* a reload: the slab keeps its size */
        return PST_OK;
    l->tickets = calloc(l->config.tickets_max, sizeof *l->tickets);
    if (l->tickets == NULL)
        return PST_E_NOMEM;
    for (uint32_t i = 0; i < l->config.tickets_max; i++)
        l->tickets[i] = (struct ticket){.row = PLACE_NONE, .dispatched = PST_NEVER};
    return PST_OK;
}

static bool is_ours(const struct loader *l, uint16_t pool)
{
    return pool != PST_POOL_NONE && (pool == l->pool || l->config.pools_count == 1);
}

static int add_row(struct loader *l, struct ticket *ticket, struct pst_arrival_row row)
{
    if (l->rows_count == l->rows_size) {
        const uint64_t size = l->rows_size == 0 ? 1024 : 2 * l->rows_size;
        struct pst_arrival_row *rows = realloc(l->rows, size * sizeof *rows);
        if (rows == NULL)
            return PST_E_NOMEM;
        l->rows = rows;
        l->rows_size = size;
    }
    row.at = l->now - l->begin;
    ticket->row = l->rows_count;
    l->rows[l->rows_count++] = row;
    return PST_OK;
}

static int take_arrive(struct loader *l, const struct pst_gate_event *event)
{
    struct ticket *ticket = &l->tickets[event->u.arrive.id.index];

    ticket->is_retry = ticket->is_retry || (event->flags & PST_ARRIVE_RETRY) != 0;
    if (ticket->is_retry || !is_ours(l, event->u.arrive.pool))
        return PST_OK;
    return add_row(l, ticket,
                   (struct pst_arrival_row){
                       .prompt_tokens = event->u.arrive.prompt_bytes / BYTES_OF_TOKEN,
                       .client = event->u.arrive.flow,
                       .class_ = event->u.arrive.class_,
                   });
}

static void take_end(struct loader *l, const struct pst_gate_event *event)
{
    struct ticket *ticket = &l->tickets[event->u.end.id.index];
    struct pst_arrival_row *row;

    if (ticket->row != PLACE_NONE && ticket->dispatched != PST_NEVER &&
        event->u.end.kind == PST_END_DONE) {
        row = &l->rows[ticket->row];
        row->service = l->now - ticket->dispatched;
        row->output_tokens = event->u.end.tokens_out;
        if (event->u.end.tokens_in > 0)
            row->prompt_tokens = event->u.end.tokens_in;
    }
    ticket->dispatched = PST_NEVER;
}

static int take_event(struct loader *l, const struct pst_recording_frame *frame)
{
    struct pst_gate_event event;

    if (l->tickets == NULL)
        return wrong(l, PST_E_SYNTAX, "an event comes before the configuration");
    if (!pst_recording_event(l->recording, frame, &event))
        return wrong(l, PST_E_SYNTAX, "an event frame cannot be read");
    l->now = event.now;
    if (!l->has_begun) {
        l->has_begun = true;
        l->begin = l->now;
    }
    if (event.kind == PST_EVENT_OFFER)
        l->tickets[event.u.offer.id.index] = (struct ticket){
            .row = PLACE_NONE,
            .dispatched = PST_NEVER,
            .offer = event,
            .is_retry = (event.flags & PST_ARRIVE_RETRY) != 0,
        };
    if (event.kind == PST_EVENT_END)
        take_end(l, &event);
    return event.kind == PST_EVENT_ARRIVE ? take_arrive(l, &event) : PST_OK;
}

/* Refused before its body was read: it came all the same. */
static int take_refused_head(struct loader *l, struct ticket *ticket)
{
    const struct pst_gate_event *offer = &ticket->offer;
    const uint64_t bytes = offer->u.offer.body_bytes;

    if (offer->kind != PST_EVENT_OFFER || ticket->is_retry || !is_ours(l, offer->u.offer.pool))
        return PST_OK;
    return add_row(l, ticket,
                   (struct pst_arrival_row){
                       .prompt_tokens = bytes < UINT32_MAX ? (uint32_t)bytes / BYTES_OF_TOKEN : 0,
                       .client = offer->u.offer.flow,
                       .class_ = offer->u.offer.class_,
                   });
}

static int take_action(struct loader *l, const struct pst_recording_frame *frame)
{
    struct pst_gate_action action;
    struct ticket *ticket;
    int rc = PST_OK;

    if (!pst_layout_read_action(frame->bytes, frame->len, &action))
        return wrong(l, PST_E_SYNTAX, "an action frame cannot be read");
    if (action.kind == PST_ACTION_DISPATCH) {
        if (l->tickets != NULL && action.u.dispatch.id.index < l->config.tickets_max)
            l->tickets[action.u.dispatch.id.index].dispatched = l->now;
        return PST_OK;
    }
    if (action.kind != PST_ACTION_FINISH || l->tickets == NULL ||
        action.u.finish.id.index >= l->config.tickets_max)
        return PST_OK;
    ticket = &l->tickets[action.u.finish.id.index];
    if (ticket->row == PLACE_NONE && action.u.finish.outcome == PST_OUTCOME_REFUSED)
        rc = take_refused_head(l, ticket);
    *ticket = (struct ticket){.row = PLACE_NONE, .dispatched = PST_NEVER};
    return rc;
}

static int take_frame(struct loader *l, const struct pst_recording_frame *frame)
{
    switch (frame->type) {
    case PST_RECORDER_CONFIG:
        return take_config(l, frame);
    case PST_RECORDER_EVENT:
        return take_event(l, frame);
    case PST_RECORDER_ACTION:
        return take_action(l, frame);
    case PST_RECORDER_SCALER_CONFIG: /* how many replicas there were is not asked here */
    case PST_RECORDER_SCALER_EVENT:
    case PST_RECORDER_SCALER_ACTION:
        return PST_OK;
    default:
        return wrong(l, PST_E_SYNTAX, "a frame of unknown type");
    }
}

static int load_rows(struct loader *l, const char *path)
{
    struct pst_recording_frame *frame = malloc(sizeof *frame);
    int rc = frame == NULL ? PST_E_NOMEM : pst_recording_open(path, &l->recording, &l->why);

    while (rc == PST_OK) {
        const enum pst_recording_next next = pst_recording_next(l->recording, frame);

        if (next == PST_RECORDING_WRONG)
            rc = wrong(l, PST_E_SYNTAX, "a frame is longer than any can be");
        else if (next == PST_RECORDING_FRAME)
            rc = take_frame(l, frame);
        else
            break; /* its end; one that was cut off lacks its last moments */
    }
    if (rc == PST_OK && l->rows_count == 0)
        rc = wrong(l, PST_E_INVALID, "no request of this pool arrived in it");
    pst_recording_close(l->recording);
    free(l->tickets);
    free(frame);
    return rc;
}

/* A service that is not known is taken for the mean of those that are. */
static void give_mean(struct loader *l)
{
    uint64_t sum = 0, known = 0;

    for (uint64_t i = 0; i < l->rows_count; i++) {
        sum += l->rows[i].service;
        known += l->rows[i].service > 0;
    }
    for (uint64_t i = 0; i < l->rows_count && known > 0; i++)
        if (l->rows[i].service == 0)
            l->rows[i].service = sum / known;
}

static int load_stream(struct pst_sim_recordings *recordings, const struct pst_scenario *scenario,
                       uint32_t stream, const char **ret_why)
{
    struct pst_stream *to = &recordings->streams[stream];
    struct loader loader = {.scenario = scenario, .pool = to->pool, .why = "out of memory"};
    const int rc = load_rows(&loader, to->recording);

    if (rc != PST_OK) {
        *ret_why = rc == PST_E_SYSTEM ? strerror(errno) : loader.why;
        free(loader.rows);
        return rc;
    }
    if (pst_law_mean(&to->service) == 0)
        give_mean(&loader);
    recordings->rows[stream] = loader.rows;
    to->rows = loader.rows;
    to->rows_count = loader.rows_count;
    return PST_OK;
}

int pst_sim_recordings_load(struct pst_sim_recordings *recordings, struct pst_scenario *scenario,
                            const char **ret_which, const char **ret_why)
{
    const uint32_t count = scenario->streams_count;
    int rc = PST_OK;

    *ret_which = scenario->name;
    *ret_why = "out of memory";
    recordings->streams = calloc(count + 1, sizeof *recordings->streams);
    recordings->rows = calloc(count + 1, sizeof *recordings->rows);
    if (recordings->streams == NULL || recordings->rows == NULL)
        return PST_E_NOMEM;
    recordings->count = count;
    for (uint32_t i = 0; i < count; i++)
        recordings->streams[i] = scenario->streams[i];
    for (uint32_t i = 0; i < count && rc == PST_OK; i++) {
        if (recordings->streams[i].recording == NULL)
            continue;
        *ret_which = recordings->streams[i].recording;
        rc = load_stream(recordings, scenario, i, ret_why);
    }
    if (rc == PST_OK)
        scenario->streams = recordings->streams;
    return rc;
}

void pst_sim_recordings_done(struct pst_sim_recordings *recordings)
{
    for (uint32_t i = 0; i < recordings->count; i++)
        free(recordings->rows[i]);
    free(recordings->rows);
    free(recordings->streams);
    *recordings = (struct pst_sim_recordings){0};
}
