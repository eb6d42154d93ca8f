/* h2_session.c - what nghttp2 tells of a connection; see h2_inside.h. */
#include <stdlib.h>
#include <string.h>

#include "net/h2_inside.h"

#define LINE_OVERHEAD        32                  /* RFC 9113, section 6.5.2 */
#define LISTED_MAX           ((uint64_t)1 << 20) /* beyond it is not a header list but a bomb */
#define CONTINUATIONS_MAX    8
#define SETTINGS_ENTRIES_MAX 32
#define ANSWERS_WAITING_MAX  1000  /* of pings and settings */
#define YOUNG                PST_S /* a stream reset before this age was not meant to be answered */

/* nghttp2 counts all resets it gets; ours is the finer bound, for those of young streams. */
#define RESETS_PER_SECOND 1000
/* A client whose thousand calls ran out of time resets them all at once, twice over. */
#define YOUNG_RESETS_BURST      4000
#define YOUNG_RESETS_PER_SECOND 200
#define FRAMES_BURST            10000
#define FRAMES_PER_SECOND       1000
#define FRAMES_PER_DATA         4 /* a ping to measure, two windows and one to spare */

static pst_ns now_of(const struct pst_h2_connection *c)
{
    return pst_loop_now(c->server->loop);
}

static struct pst_h2_stream *stream_of(struct pst_h2_connection *c, int32_t id)
{
    return nghttp2_session_get_stream_user_data(c->session, id);
}

/* GOAWAY, and nothing more is listened to. */
static int calm_down(struct pst_h2_connection *c)
{
    return nghttp2_session_terminate_session(c->session, NGHTTP2_ENHANCE_YOUR_CALM) == 0
               ? 0
               : NGHTTP2_ERR_CALLBACK_FAILURE;
}

/* Resets that we send count too: mistakes are as cheap to make as resets are to send. */
static int count_reset(struct pst_h2_connection *c)
{
    return pst_h2_calm_take(&c->resets, now_of(c)) ? 0 : calm_down(c);
}

static int frame_begins(nghttp2_session *session, const nghttp2_frame_hd *frame, void *user)
{
    struct pst_h2_connection *c = user;
    bool carries = frame->type == NGHTTP2_HEADERS ||
                   (frame->type == NGHTTP2_DATA &&
                    (frame->length > 0 || (frame->flags & NGHTTP2_FLAG_END_STREAM) != 0));

    (void)session;
    if (carries || pst_h2_calm_take(&c->frames, now_of(c)))
        return 0;
    return calm_down(c);
}

static int open_room(struct pst_h2_connection *c)
{
    if (c->room == NULL)
        c->room = malloc(sizeof *c->room + c->server->config.head_max);
    if (c->room == NULL)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    c->room->head = (struct pst_h2_head){.headers = c->room->lines};
    c->room->listed = 0;
    c->room->len = 0;
    c->room->over = false;
    return 0;
}

static int headers_begin(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct pst_h2_connection *c = user;
    struct pst_h2_server *server = c->server;
    struct pst_h2_stream *stream;

    c->head_id = frame->hd.stream_id;
    c->head_at = now_of(c);
    if (open_room(c) != 0)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0; /* trailers: read for their end */
    if (server->streams_count / 2 >= server->config.streams_max)
        return nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                         NGHTTP2_REFUSED_STREAM);
    stream = pst_h2_stream_new(c, frame->hd.stream_id);
    if (stream == NULL)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, stream);
    return 0;
}

static struct pst_slice keep_text(struct pst_h2_room *room, const uint8_t *bytes, size_t len)
{
    char *at = room->text + room->len;

    if (len > 0)
        memcpy(at, bytes, len);
    room->len += len;
    return pst_slice(at, len);
}

static struct pst_slice *pseudo_of(struct pst_h2_head *head, struct pst_slice name)
{
    if (pst_slice_equal(name, PST_SLICE(":method")))
        return &head->method;
    if (pst_slice_equal(name, PST_SLICE(":scheme")))
        return &head->scheme;
    if (pst_slice_equal(name, PST_SLICE(":authority")))
        return &head->authority;
    if (pst_slice_equal(name, PST_SLICE(":path")))
        return &head->path;
    return NULL;
}

static int header_came(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                       size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                       void *user)
{
    struct pst_h2_connection *c = user;
    struct pst_h2_room *room = c->room;
    struct pst_slice key, *pseudo;

    (void)session;
    (void)frame;
    (void)flags;
    PST_ASSERT(room != NULL);
    room->listed += name_len + value_len + LINE_OVERHEAD;
    if (room->listed > LISTED_MAX)
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    room->over |= room->listed > c->server->config.head_max || room->head.count == PST_H2_LINES_MAX;
    if (room->over)
        return 0;
    key = keep_text(room, name, name_len);
    pseudo = pseudo_of(&room->head, key);
    if (pseudo != NULL)
        *pseudo = keep_text(room, value, value_len);
    else
        room->lines[room->head.count++] =
            (struct pst_header){key, keep_text(room, value, value_len)};
    return 0;
}

static void tell_end(struct pst_h2_stream *stream, const nghttp2_frame *frame)
{
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)
        return;
    stream->ended_in = true;
    if (stream->told)
        stream->connection->server->config.handler->body_end(stream);
}

static void headers_came(struct pst_h2_connection *c, const nghttp2_frame *frame)
{
    struct pst_h2_stream *stream = stream_of(c, frame->hd.stream_id);

    c->head_id = 0;
    if (stream == NULL)
        return;
    if (frame->headers.cat == NGHTTP2_HCAT_REQUEST && c->room->over) {
        pst_h2_respond(stream, 431, NULL, 0, false);
    } else if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        stream->told = true;
        c->server->config.handler->head(stream, &c->room->head);
    }
    tell_end(stream, frame);
}

static int frame_came(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct pst_h2_connection *c = user;
    struct pst_h2_stream *stream;

    (void)session;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        headers_came(c, frame);
        break;
    case NGHTTP2_RST_STREAM:
        stream = stream_of(c, frame->hd.stream_id);
        return stream != NULL && now_of(c) - stream->opened_at < YOUNG ? count_reset(c) : 0;
    case NGHTTP2_DATA:
        stream = stream_of(c, frame->hd.stream_id);
        if (stream != NULL)
            tell_end(stream, frame);
        break;
    case NGHTTP2_SETTINGS:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) == 0)
            pst_h2_connection_settings_came(c);
        break;
    case NGHTTP2_PING:
        if ((frame->hd.flags & NGHTTP2_FLAG_ACK) != 0)
            pst_h2_connection_ping_came(c);
        break;
    default: /* nghttp2 deals with the others alone */
        break;
    }
    return 0;
}

static int data_came(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                     size_t len, void *user)
{
    struct pst_h2_connection *c = user;
    struct pst_h2_stream *stream = stream_of(c, id);

    (void)session;
    (void)flags;
    if (stream != NULL && stream->told)
        c->server->config.handler->body(stream, (const char *)data, len);
    return 0;
}

/* The response has ended: a client that still sends its request is told to stop. */
static int response_went(struct pst_h2_connection *c, int32_t id)
{
    const struct pst_h2_stream *stream = stream_of(c, id);

    if (stream == NULL || stream->ended_in)
        return 0;
    return nghttp2_submit_rst_stream(c->session, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
}

static int frame_went(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct pst_h2_connection *c = user;
    bool last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

    switch (frame->hd.type) {
    case NGHTTP2_DATA:
        pst_h2_calm_give(&c->frames, FRAMES_PER_DATA);
        return last ? response_went(c, frame->hd.stream_id) : 0;
    case NGHTTP2_HEADERS:
        return last ? response_went(c, frame->hd.stream_id) : 0;
    case NGHTTP2_RST_STREAM:
        return frame->rst_stream.error_code == NGHTTP2_NO_ERROR ? 0 : count_reset(c);
    case NGHTTP2_GOAWAY:
        if (c->drain_at == PST_NEVER)
            return 0;
        return nghttp2_submit_ping(session, NGHTTP2_FLAG_NONE, NULL);
    default: /* the others need nothing more */
        return 0;
    }
}

static int stream_closed(nghttp2_session *session, int32_t id, uint32_t error_code, void *user)
{
    struct pst_h2_connection *c = user;
    struct pst_h2_stream *stream = stream_of(c, id);

    (void)error_code;
    if (id == c->head_id)
        c->head_id = 0; /* its header block was no good */
    if (stream == NULL)
        return 0;
    nghttp2_session_set_stream_user_data(session, id, NULL);
    pst_h2_stream_free(stream);
    return 0;
}

int pst_h2_session_prepare(nghttp2_session_callbacks **ret_callbacks, nghttp2_option **ret_option,
                           uint32_t streams_max)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;

    if (nghttp2_session_callbacks_new(&callbacks) != 0)
        return PST_E_NOMEM;
    if (nghttp2_option_new(&option) != 0) {
        nghttp2_session_callbacks_del(callbacks);
        return PST_E_NOMEM;
    }
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, frame_begins);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, headers_begin);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, header_came);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_came);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, data_came);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_went);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closed);
    nghttp2_option_set_max_settings(option, SETTINGS_ENTRIES_MAX);
    nghttp2_option_set_max_outbound_ack(option, ANSWERS_WAITING_MAX);
    nghttp2_option_set_max_continuations(option, CONTINUATIONS_MAX);
    nghttp2_option_set_stream_reset_rate_limit(option, streams_max, RESETS_PER_SECOND);
    *ret_callbacks = callbacks;
    *ret_option = option;
    return PST_OK;
}

int pst_h2_session_new(struct pst_h2_connection *c)
{
    const struct pst_h2_config *config = &c->server->config;
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, config->streams_max},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)config->head_max},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}, /* no tree of them, nor closed streams in it */
    };

    pst_h2_calm_init(&c->resets, YOUNG_RESETS_BURST, YOUNG_RESETS_PER_SECOND, now_of(c));
    pst_h2_calm_init(&c->frames, FRAMES_BURST, FRAMES_PER_SECOND, now_of(c));
    if (nghttp2_session_server_new2(&c->session, c->server->callbacks, c, c->server->option) != 0)
        return PST_E_NOMEM;
    if (nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, PST_COUNT_OF(settings)) !=
        0)
        return PST_E_NOMEM; /* whoever made the connection frees it, with its session */
    return PST_OK;
}
