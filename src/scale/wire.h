/*
 * wire.h - what the process that parses requests and the one that holds credentials tell each other.
 *
 * Why: strangers' bytes and secrets live in two processes (keeper.h). Between them goes what the two
 * cores would be told anyway: replicas, signals, actions. Nothing in either direction carries a token, a
 * command line or an environment.
 *
 * Guarantee: SOCK_SEQPACKET, one message a packet, each of a fixed layout and bounded text; a packet that
 * breaks it ends the connection (both ends are ours: it is a bug or an attack). Sending never blocks:
 * what does not fit waits in a bounded queue of the sender, where a newer word on the same replica
 * replaces an older one. Only what a message means goes out: no padding, nothing behind a text. Not
 * thread-safe.
 */
#ifndef PST_SCALE_WIRE_H
#define PST_SCALE_WIRE_H

#include "core/scaler.h"
#include "net/loop.h"

/* Keys of the gateway's own choice (of DNS) have this bit, the keeper's have not. */
#define PST_WIRE_KEY_LISTED UINT32_C(0x80000000)

#define PST_WIRE_NAME_MAX 128 /* a pod's name or a URL, with NUL */
#define PST_WIRE_URL_MAX  256

enum pst_wire_kind {
    /* keeper to gateway */
    PST_WIRE_REPLICA, /* a replica that was found, or changed */
    PST_WIRE_EVENT,   /* an event of the scaler: SIGNAL, FLOOR, SCALE, RESULT (with key), HISTORY */
    PST_WIRE_PAST,    /* a day of the past, for a pool's week */
    PST_WIRE_CONFIG, /* a configuration, as a descriptor of sealed memory; `ok` 0: message says why not */
    PST_WIRE_SYNCED, /* all replicas that were there at the start have been told, of all pools */
    /* gateway to keeper */
    /*
     * An action of the scaler: START, or with key CANCEL, MARK, UNDRAIN (takes a mark back), REMOVE, and
     * PROMOTE, for whoever tells a later gateway of it.
     */
    PST_WIRE_ACTION,
    PST_WIRE_RELOAD, /* read the configuration again, answer CONFIG */
    PST_WIRE_COUNT
};

/* What a source knows of a replica. `key` names it on the wire, for its life, and is not used again. */
struct pst_wire_replica {
    uint32_t key;
    uint16_t pool;
    uint8_t
        state; /* enum pst_replica_state: STARTING (no address yet), LOADING (may be asked), DRAINING
                      (somebody else ends it: no new work), GONE */
    uint8_t cause; /* enum pst_cause, with GONE */
    uint8_t warm;  /* it was started for the warm pool */
    uint32_t op;   /* of the START that made it; 0: none */
    uint32_t revision;
    pst_ns until;                 /* DRAINING: when it will be killed, from now; 0: not known */
    char name[PST_WIRE_NAME_MAX]; /* how people know it; unique in its pool; ASCII, as url */
    char url[PST_WIRE_URL_MAX];   /* "http://host:port"; "": none yet */
};

#define PST_WIRE_DAY_S     86400
#define PST_WIRE_QUARTER_S 900
#define PST_WIRE_QUARTERS  (PST_WIRE_DAY_S / PST_WIRE_QUARTER_S)
#define PST_WIRE_NOT_KNOWN UINT16_MAX

/* The most replicas that were wanted in each quarter of an hour of a day. */
struct pst_wire_day {
    uint16_t pool;
    uint64_t from_s;                      /* since 1970, UTC */
    uint16_t replicas[PST_WIRE_QUARTERS]; /* NOT_KNOWN: nothing is known of it */
};

struct pst_wire_message {
    uint8_t kind; /* enum pst_wire_kind */
    uint8_t ok;   /* CONFIG */
    uint32_t key; /* EVENT, ACTION: of the replica; its 16 bits in u are not used. 0: none */
    int fd;       /* CONFIG with ok: the receiver's to close, and only CONFIG's is looked at */
    union {
        struct pst_wire_replica replica;
        struct pst_scaler_event event; /* now is the receiver's */
        struct pst_wire_day past;
        struct pst_scaler_action action;
        char message[1024];
    } u;
};

struct pst_wire;

/* Takes over `fd`. received() for each message; ended() once when the other side is gone or broke the rules. */
int pst_wire_new(struct pst_loop *loop, int fd,
                 void (*received)(void *user, const struct pst_wire_message *message),
                 void (*ended)(void *user), void *user, struct pst_wire **ret_wire);
void pst_wire_free(struct pst_wire *wire); /* takes NULL; what is queued is lost */
/*
 * Copied, a descriptor too. PST_OK; PST_E_FULL: the other side does not read, and the connection ends;
 * PST_E_SYSTEM: it has ended; PST_E_NOMEM, after which it ends. ended() comes from the loop, never from here.
 */
int pst_wire_send(struct pst_wire *wire, const struct pst_wire_message *message);
/* A pair of sockets, both close-on-exec. */
int pst_wire_pair(int ret_fd[2]);

#endif
