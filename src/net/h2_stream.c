/* h2_stream.c - a stream's life, and its response; see h2.h. */
#include <stdio.h>
#include <stdlib.h>

#include "net/h2_inside.h"

#define RESPONSE_LINES_MAX 64

struct pst_h2_stream *pst_h2_stream_new(struct pst_h2_connection *c, int32_t id)
{
    struct pst_h2_stream *stream = calloc(1, sizeof *stream);

    if (stream == NULL)
        return NULL;
    stream->connection = c;
    stream->id = id;
    stream->opened_at = pst_loop_now(c->server->loop);
    stream->next = c->streams;
    if (stream->next != NULL)
        stream->next->previous = stream;
    c->streams = stream;
    if (c->streams_count == 0) {
        pst_h2_list_remove(c);
        c->streams_count++;
        pst_h2_list_add(c);
    } else {
        c->streams_count++;
    }
    c->served = true;
    c->server->streams_count++;
    return stream;
}

void pst_h2_stream_free(struct pst_h2_stream *stream)
{
    struct pst_h2_connection *c = stream->connection;

    if (stream->told)
        c->server->config.handler->closed(stream);
    if (stream->next != NULL)
        stream->next->previous = stream->previous;
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        c->streams = stream->next;
    c->server->streams_count--;
    if (c->streams_count == 1) {
        pst_h2_list_remove(c);
        c->streams_count--;
        c->active_at = pst_loop_now(c->server->loop);
        pst_h2_list_add(c);
    } else {
        c->streams_count--;
    }
    free(stream);
}

void *pst_h2_server_user(const struct pst_h2_stream *stream)
{
    return stream->connection->server->config.user;
}

void pst_h2_set_user(struct pst_h2_stream *stream, void *user)
{
    stream->user = user;
}

void *pst_h2_user(const struct pst_h2_stream *stream)
{
    return stream->user;
}

/* nghttp2 copies names and values, and declares them writable all the same. */
static uint8_t *bytes_of(struct pst_slice slice)
{
    union {
        const char *in;
        uint8_t *out;
    } bytes = {.in = slice.at};

    return bytes.out;
}

static nghttp2_nv line_of(struct pst_slice name, struct pst_slice value)
{
    return (nghttp2_nv){
        .name = bytes_of(name),
        .namelen = name.len,
        .value = bytes_of(value),
        .valuelen = value.len,
        .flags = NGHTTP2_NV_FLAG_NONE,
    };
}

/* A submission fails when memory is out, or when the stream is gone already: then closed() follows. */
static void submitted(struct pst_h2_stream *stream, int rc)
{
    if (nghttp2_is_fatal(rc))
        stream->connection->broken = true;
    pst_h2_connection_stir(stream->connection);
}

static ssize_t read_body(nghttp2_session *session, int32_t id, uint8_t *into, size_t size,
                         uint32_t *ret_flags, nghttp2_data_source *source, void *user)
{
    struct pst_h2_stream *stream = source->ptr;
    const struct pst_h2_handler *handler = stream->connection->server->config.handler;
    bool end = false;
    size_t len = handler->pull(stream, (char *)into, size, &end);

    (void)session;
    (void)id;
    (void)user;
    PST_ASSERT(len <= size);
    if (end)
        *ret_flags |=
            NGHTTP2_DATA_FLAG_EOF | (stream->has_trailers ? NGHTTP2_DATA_FLAG_NO_END_STREAM : 0);
    else if (len == 0)
        return NGHTTP2_ERR_DEFERRED;
    return (ssize_t)len;
}

void pst_h2_respond(struct pst_h2_stream *stream, uint16_t status, const struct pst_header *headers,
                    size_t count, bool body)
{
    nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read_body};
    nghttp2_nv lines[RESPONSE_LINES_MAX + 1];
    char text[8];
    size_t i;

    PST_ASSERT(!stream->responded && count <= RESPONSE_LINES_MAX);
    stream->responded = true;
    (void)snprintf(text, sizeof text, "%u", status);
    lines[0] = line_of(PST_SLICE(":status"), pst_slice_of(text));
    for (i = 0; i < count; i++)
        lines[i + 1] = line_of(headers[i].name, headers[i].value);
    submitted(stream, nghttp2_submit_response(stream->connection->session, stream->id, lines,
                                              count + 1, body ? &provider : NULL));
}

void pst_h2_ready(struct pst_h2_stream *stream)
{
    submitted(stream, nghttp2_session_resume_data(stream->connection->session, stream->id));
}

void pst_h2_trailers(struct pst_h2_stream *stream, const struct pst_header *headers, size_t count)
{
    nghttp2_nv lines[RESPONSE_LINES_MAX];
    size_t i;

    PST_ASSERT(stream->responded && !stream->has_trailers && count <= RESPONSE_LINES_MAX);
    stream->has_trailers = true;
    for (i = 0; i < count; i++)
        lines[i] = line_of(headers[i].name, headers[i].value);
    if (nghttp2_submit_trailer(stream->connection->session, stream->id, lines, count) != 0)
        stream->connection->broken = true; /* the write that pulls sees to the rest */
}

void pst_h2_reset(struct pst_h2_stream *stream)
{
    submitted(stream, nghttp2_submit_rst_stream(stream->connection->session, NGHTTP2_FLAG_NONE,
                                                stream->id, NGHTTP2_CANCEL));
}
