/*
 * exchange.h - inside of the HTTP/1 server: a connection, which is also its one exchange at a time.
 *
 *   HEAD --head whole--> OPEN --end()--> FLUSHING --all sent--> HEAD     kept alive
 *     |                   |                  |
 *     | malformed,        | abort(),         +--all sent--> LINGER --EOF, 2 s, 64 MiB--> closed
 *     | time-out          | client left          what the client still sends is read and dropped,
 *     v                   v                      so that it gets to read our answer
 *   FLUSHING            closed
 *
 * Files: server.c owns the list and the limits, http1_server.c reads, http1_answer.c writes.
 * A connection closed while one of its callbacks runs is freed when that returns.
 */
#ifndef PST_NET_EXCHANGE_H
#define PST_NET_EXCHANGE_H

#include "net/address.h"
#include "net/http1_parse.h"
#include "net/listener.h"
#include "net/output.h"
#include "net/server.h"

enum pst_exchange_state {
    PST_EXCHANGE_HEAD,
    PST_EXCHANGE_OPEN,
    PST_EXCHANGE_FLUSHING,
    PST_EXCHANGE_LINGER,
    PST_EXCHANGE_CLOSED,
    PST_EXCHANGE_STATE_COUNT
};

/* Bytes that were read and cannot be used yet. Empty holds no memory. */
struct pst_leftover {
    char *bytes;
    size_t len, size;
};

struct pst_exchange {
    struct pst_io io;
    struct pst_timer timer; /* lazy: fires early and looks again, so that progress costs nothing */
    struct pst_later later;
    struct pst_server *server;
    struct pst_exchange *next, *previous; /* in the server's list of its state */
    void *user;
    struct pst_http1 http;
    struct pst_output output;
    struct pst_leftover input;
    size_t ahead;           /* bytes of the current read behind what was used, while entered */
    uint64_t skip;          /* bytes of an unread body, all read already, to pass over */
    uint64_t answer_length; /* promised; PST_LENGTH_UNKNOWN */
    uint64_t answer_sent;   /* body bytes written so far; once lingering: bytes dropped */
    pst_ns active_at;       /* last progress of what `state` waits for */
    pst_ns sent_at;         /* last progress of the output; once lingering: since when */
    struct pst_address peer;
    uint8_t state; /* enum pst_exchange_state */
    uint8_t version_minor;
    uint8_t entered; /* callbacks running: not to be freed */
    bool taking;     /* inside take(), which looks at `state` again after every callback */
    bool head_method;
    bool reading;   /* the owner wants the body */
    bool body_done; /* read to its end */
    bool body_end_told;
    bool expects_continue; /* and nothing was said yet */
    bool responded;
    bool chunked;  /* the answer is */
    bool bodyless; /* HEAD, 204, 304: what is written is not sent */
    bool closing;  /* the answer said Connection: close */
    bool broken;   /* the socket is dead or memory ran out */
    bool above_low_water;
};

/* The one that came last first. */
struct pst_exchange_list {
    struct pst_exchange *first, *last;
};

struct pst_server {
    struct pst_loop *loop;
    struct pst_server_config config;
    struct pst_listener *listeners;
    struct pst_exchange_list idle, busy; /* in HEAD, and all others */
    uint32_t connections_count;
    bool draining;
    bool close_after;
    pst_ns date_at; /* when `date` was made */
    char date[40];  /* "Date: …\r\n" */
    size_t date_len;
    struct pst_http1_head_room room;
};

#define PST_EXCHANGE_OF(member_pointer, member)                                                    \
    ((struct pst_exchange *)(void *)((char *)(member_pointer)-offsetof(struct pst_exchange,        \
                                                                       member)))

/* server.c */
void pst_exchange_move(struct pst_exchange *x, enum pst_exchange_state state); /* not to CLOSED */
bool pst_server_is_full(const struct pst_server *server);
void pst_exchange_close(struct pst_exchange *x);
void pst_exchange_enter(struct pst_exchange *x);
void pst_exchange_leave(struct pst_exchange *x); /* may free */
void pst_server_date(struct pst_server *server);

/* http1_server.c */
void pst_exchange_ready(struct pst_io *io, uint32_t events);
void pst_exchange_later(struct pst_later *later);
void pst_exchange_want(struct pst_exchange *x);  /* asks epoll for what is needed now */
void pst_exchange_watch(struct pst_exchange *x); /* a deadline may have come nearer */
void pst_exchange_time(struct pst_timer *timer);
void pst_exchange_finished(struct pst_exchange *x); /* ended, and all of it sent */
bool pst_exchange_body_in_hand(const struct pst_exchange *x);

/* http1_answer.c */
void pst_exchange_begin_answer(struct pst_exchange *x); /* a new exchange: nothing answered */
void pst_exchange_send(struct pst_exchange *x, const void *data, size_t len); /* as it is */
/* A whole answer of ours, then FLUSHING; `status` and `why` go to error_body. id "": none is sent. */
void pst_exchange_refuse(struct pst_exchange *x, uint16_t status, const char *why, const char *id);

#endif
