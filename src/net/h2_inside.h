/*
 * h2_inside.h - what the files of h2 share: server, connection, stream.
 *
 * A connection's walk:
 *
 *   OPENING --the client's SETTINGS--> OPEN --drain--> DRAINING --ping answered | patience--+
 *      |                                |                                     final GOAWAY  |
 *      +------- timeout, error ---------+-- nghttp2 has no more to do --> LINGER <----------+
 *                                                                           |
 *                                          CLOSED <-- the peer's end, or a second later
 *
 * nghttp2 must not be entered from its own callbacks, nor its session be freed there: what a callback
 * decides about the connection is noted (broken) and done at the end of the turn.
 */
#ifndef PST_NET_H2_INSIDE_H
#define PST_NET_H2_INSIDE_H

#include <nghttp2/nghttp2.h>

#include "net/h2.h"
#include "net/h2_calm.h"
#include "net/listener.h"
#include "net/output.h"

#define PST_H2_LINES_MAX 128

enum pst_h2_state {
    PST_H2_OPENING,
    PST_H2_OPEN,
    PST_H2_DRAINING,
    PST_H2_LINGER,
    PST_H2_CLOSED,
    PST_H2_STATE_COUNT
};

/* A header list while it arrives; a connection has one at a time. */
struct pst_h2_room {
    struct pst_h2_head head;
    struct pst_header lines[PST_H2_LINES_MAX];
    uint64_t listed; /* bytes as RFC 9113 counts them */
    bool over;       /* more than head_max, or too many lines */
    size_t len;
    char text[]; /* head_max */
};

struct pst_h2_stream {
    struct pst_h2_connection *connection;
    struct pst_h2_stream *next, *previous; /* of the connection */
    void *user;
    pst_ns opened_at;
    int32_t id;
    bool told;     /* head() was called */
    bool ended_in; /* the request is whole */
    bool responded;
    bool has_trailers;
};

struct pst_h2_connection {
    struct pst_h2_server *server;
    struct pst_h2_connection *next, *previous; /* idle or busy, by whether there are streams */
    struct pst_io io;
    struct pst_timer timer;
    struct pst_later later; /* the write at the end of a turn */
    nghttp2_session *session;
    struct pst_tls *tls;
    struct pst_h2_stream *streams;
    uint32_t streams_count;
    uint8_t state;
    bool heard;  /* its first bytes came: a handshake is over */
    bool served; /* it has had a stream */
    bool broken;
    struct pst_h2_room *room; /* while a header block arrives */
    struct pst_output output;
    pst_ns active_at; /* its last stream ended, or where the state began */
    int32_t head_id;  /* whose header block is open; 0: none is */
    pst_ns head_at;   /* it began */
    pst_ns drain_at;  /* we said that no more streams shall come; PST_NEVER: not, or it was heard */
    pst_ns sent_at;   /* bytes left last */
    struct pst_h2_calm resets, frames;
};

struct pst_h2_list {
    struct pst_h2_connection *first, *last; /* the idlest one */
};

struct pst_h2_server {
    struct pst_loop *loop;
    struct pst_h2_config config;
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    struct pst_listener *listeners;
    struct pst_timer retry; /* for room, when no connection could be closed */
    struct pst_h2_list idle, busy;
    uint32_t connections_count, streams_count;
    bool draining;
};

#define PST_H2_OF(type, member_pointer, member)                                                    \
    ((type *)(void *)((char *)(member_pointer)-offsetof(type, member)))

/* h2_server.c */
void pst_h2_list_add(struct pst_h2_connection *c);
void pst_h2_list_remove(struct pst_h2_connection *c);
void pst_h2_server_left(struct pst_h2_server *server); /* a connection is gone: there is room */

/* h2_connection.c */
/* `fd` does not block, and is the connection's from here on; on failure it is closed. */
int pst_h2_connection_new(struct pst_h2_server *server, int fd);
void pst_h2_connection_close(struct pst_h2_connection *c); /* closed() for its streams, and frees */
void pst_h2_connection_farewell(struct pst_h2_connection *c); /* GOAWAY as far as it goes; close */
void pst_h2_connection_drain(struct pst_h2_connection *c);
void pst_h2_connection_stir(struct pst_h2_connection *c); /* there may be something to write */
void pst_h2_connection_settings_came(struct pst_h2_connection *c);
void pst_h2_connection_ping_came(struct pst_h2_connection *c); /* the answer to ours */

/* h2_session.c */
int pst_h2_session_prepare(nghttp2_session_callbacks **ret_callbacks, nghttp2_option **ret_option,
                           uint32_t streams_max);
int pst_h2_session_new(struct pst_h2_connection *c);

/* h2_stream.c */
struct pst_h2_stream *pst_h2_stream_new(struct pst_h2_connection *c, int32_t id);
void pst_h2_stream_free(struct pst_h2_stream *stream); /* closed(), if it was told of */

#endif
