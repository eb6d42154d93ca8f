/*
 * admin_room.h - what the files of the admin listener share; nobody else includes it.
 */
#ifndef PST_OBSERVE_ADMIN_ROOM_H
#define PST_OBSERVE_ADMIN_ROOM_H

#include "observe/admin.h"
#include "observe/line.h"
#include "base/text.h"

#define PST_ADMIN_NAME_MAX 512 /* of a pool or replica in a request */

/* An exchange that is answered later: its user pointer, so that gone() finds who waits. */
struct pst_admin_held {
    struct pst_exchange *x;
    void (*gone)(struct pst_admin_held *held);
};

/* Waits for the end of a drain: of one replica, or of all. */
struct pst_admin_waiter {
    struct pst_admin_held held; /* first */
    struct pst_admin *admin;
    struct pst_admin_waiter *next;
    struct pst_timer timer; /* its deadline, of one replica */
    uint16_t replica;       /* PST_REPLICA_ALL */
};

/* Waits for a configuration that another process reads. */
struct pst_admin_reader {
    struct pst_admin_held held; /* first */
    struct pst_admin *admin;
    struct pst_admin_reader *next;
};

struct pst_admin_subscriber {
    struct pst_admin_held held; /* first */
    struct pst_admin *admin;
    struct pst_admin_subscriber *next;
};

/* Refusals of the running second, for /events. */
#define PST_ADMIN_REFUSED_MAX 32
struct pst_admin_refused {
    uint16_t pool;
    uint8_t class_;
    const char *reason;
    uint64_t count;
};

struct pst_admin {
    const struct pst_view *view;
    struct pst_server *server;
    struct pst_admin_waiter *waiters;
    struct pst_admin_reader *readers;
    struct pst_admin_subscriber *subscribers;
    struct pst_timer refused_timer, beat_timer;
    struct pst_admin_refused refused[PST_ADMIN_REFUSED_MAX];
    uint32_t refused_count;
};

/* A request that was let in. `name` is what stood for {id}, still percent-encoded. */
struct pst_admin_ask {
    struct pst_admin *admin;
    struct pst_exchange *x;
    struct pst_slice query;
    struct pst_slice name;
    bool wants_json; /* its Accept says so */
};

/* Each answers, now or later. */
void pst_admin_state(const struct pst_admin_ask *ask);
void pst_admin_explain(const struct pst_admin_ask *ask);
void pst_admin_events(const struct pst_admin_ask *ask);
void pst_admin_drain(const struct pst_admin_ask *ask);
void pst_admin_replica_drain(const struct pst_admin_ask *ask);
void pst_admin_replica_undrain(const struct pst_admin_ask *ask);
void pst_admin_reload(const struct pst_admin_ask *ask);

/* May this head do this? On no, the answer was given. */
bool pst_admin_let_in(const struct pst_admin *admin, struct pst_exchange *x,
                      const struct pst_head *head, bool drain_token_suffices);

/* Waiters and subscribers end with the listener. */
void pst_admin_waiters_end(struct pst_admin *admin);
void pst_admin_subscribers_end(struct pst_admin *admin);
/* A reload is over; message NULL: it worked. */
void pst_admin_readers_end(struct pst_admin *admin, const char *message);
/* DRAINED of a replica; left: 0, or how many its deadline cut off. */
void pst_admin_replica_drained(struct pst_admin *admin, uint16_t replica, uint32_t left);
/* One event to all subscribers; `data` is one line of JSON. */
void pst_admin_publish(struct pst_admin *admin, const char *event, struct pst_slice data);

const char *pst_drain_phase_name(enum pst_drain_phase phase);

#endif
