/* wire.c - see wire.h. */
#include "scale/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "scale/wire_layout.h"

#define QUEUE_MAX    32768 /* packets: a month of history, and every replica */
#define TURN_PACKETS 64    /* read in a row, then others have their turn */

/* A packet that waits. */
struct entry {
    struct entry *next;
    uint64_t about; /* what a newer word replaces; 0: nothing does */
    int fd;
    uint16_t len;
    uint8_t packet[];
};

struct pst_wire {
    struct pst_io io;
    struct pst_loop *loop;
    void (*received)(void *user, const struct pst_wire_message *message);
    void (*ended)(void *user);
    void *user;
    struct pst_later end; /* tells ended(), when nothing of ours is on the stack */
    bool over;            /* nothing is read or sent any more */
    bool *freed;          /* set when it is freed from within received() */
    struct entry *first, **last;
    size_t count;
};

int pst_wire_pair(int ret_fd[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ret_fd) == 0
               ? PST_OK
               : PST_E_SYSTEM;
}

static void drop_first(struct pst_wire *wire)
{
    struct entry *entry = wire->first;

    wire->first = entry->next;
    if (wire->first == NULL)
        wire->last = &wire->first;
    wire->count--;
    if (entry->fd >= 0)
        close(entry->fd);
    free(entry);
}

static void finish(struct pst_wire *wire)
{
    if (wire->over)
        return;
    wire->over = true;
    pst_io_remove(&wire->io);
    while (wire->first != NULL)
        drop_first(wire);
    pst_later(wire->loop, &wire->end);
}

static void tell_ended(struct pst_later *later)
{
    struct pst_wire *wire = (struct pst_wire *)((char *)later - offsetof(struct pst_wire, end));

    wire->ended(wire->user);
}

/* PST_OK, PST_E_AGAIN: it does not fit now, PST_E_SYSTEM: nobody is there. */
static int send_packet(struct pst_wire *wire, const uint8_t *packet, size_t len, int fd)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec iov = {.iov_base = (void *)(uintptr_t)packet, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    if (fd >= 0) {
        msg.msg_control = &control;
        msg.msg_controllen = sizeof control.bytes;
        control.header.cmsg_level = SOL_SOCKET;
        control.header.cmsg_type = SCM_RIGHTS;
        control.header.cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    }
    for (;;) {
        if (sendmsg(wire->io.fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
            return PST_OK;
        if (errno == EINTR)
            continue;
        return errno == EAGAIN || errno == ENOBUFS ? PST_E_AGAIN : PST_E_SYSTEM;
    }
}

static void flush_queue(struct pst_wire *wire)
{
    while (wire->first != NULL) {
        const struct entry *entry = wire->first;
        int rc = send_packet(wire, entry->packet, entry->len, entry->fd);

        if (rc == PST_E_AGAIN)
            return;
        if (rc != PST_OK) {
            finish(wire);
            return;
        }
        drop_first(wire);
    }
    if (pst_io_want(&wire->io, EPOLLIN) != PST_OK)
        finish(wire);
}

/*
 * What a message is about: of two that wait, the newer one says all that the older one did. Results and
 * actions are each for themselves.
 */
static uint64_t subject(const struct pst_wire_message *m)
{
    uint64_t kind = (uint64_t)m->kind + 1;

    switch ((enum pst_wire_kind)m->kind) {
    case PST_WIRE_REPLICA:
        return kind << 32 | m->u.replica.key;
    case PST_WIRE_EVENT:
        if (m->u.event.kind == PST_SCALER_SIGNAL)
            return kind << 32 | (uint64_t)m->u.event.pool << 16 | 1u << 8 |
                   m->u.event.u.signal.kind;
        if (m->u.event.kind == PST_SCALER_SCALE)
            return kind << 32 | (uint64_t)m->u.event.pool << 16 | 2u << 8;
        return 0;
    case PST_WIRE_CONFIG:
    case PST_WIRE_SYNCED:
    case PST_WIRE_RELOAD:
        return kind << 32;
    case PST_WIRE_PAST:
    case PST_WIRE_ACTION:
    case PST_WIRE_COUNT:
        return 0;
    }
    return 0;
}

/* Where the older word on the same subject waits, or the end of the queue. */
static struct entry **place_of(struct pst_wire *wire, uint64_t about)
{
    struct entry **at = &wire->first;

    if (about == 0)
        return wire->last;
    while (*at != NULL && (*at)->about != about)
        at = &(*at)->next;
    return at;
}

/* The newer word takes the place of the older one, so that what came behind it stays behind it. */
static void put_at(struct pst_wire *wire, struct entry **at, struct entry *entry)
{
    struct entry *older = *at;

    entry->next = older == NULL ? NULL : older->next;
    *at = entry;
    if (entry->next == NULL)
        wire->last = &entry->next;
    if (older == NULL) {
        wire->count++;
        return;
    }
    if (older->fd >= 0)
        close(older->fd);
    free(older);
}

static int enqueue(struct pst_wire *wire, const uint8_t *packet, size_t len, uint64_t about, int fd)
{
    struct entry **at = place_of(wire, about), *entry;

    if (*at == NULL && wire->count == QUEUE_MAX)
        return PST_E_FULL;
    entry = malloc(sizeof *entry + len);
    if (entry == NULL)
        return PST_E_NOMEM;
    *entry = (struct entry){.about = about, .len = (uint16_t)len, .fd = -1};
    memcpy(entry->packet, packet, len);
    if (fd >= 0 && (entry->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
        free(entry);
        return PST_E_NOMEM;
    }
    put_at(wire, at, entry);
    return pst_io_want(&wire->io, EPOLLIN | EPOLLOUT) == PST_OK ? PST_OK : PST_E_NOMEM;
}

int pst_wire_send(struct pst_wire *wire, const struct pst_wire_message *message)
{
    uint8_t packet[PST_WIRE_PACKET_MAX];
    int fd = message->kind == PST_WIRE_CONFIG && message->ok ? message->fd : -1;
    size_t len;
    int rc = PST_E_AGAIN;

    PST_ASSERT(message->kind != PST_WIRE_CONFIG || (fd >= 0) == (message->ok != 0));
    if (wire->over)
        return PST_E_SYSTEM;
    len = pst_wire_pack(message, packet);
    if (wire->first == NULL)
        rc = send_packet(wire, packet, len, fd);
    if (rc == PST_E_AGAIN)
        rc = enqueue(wire, packet, len, subject(message), fd);
    if (rc != PST_OK)
        finish(wire);
    return rc;
}

/* The descriptors of a packet: the first of at most two; all others are closed and counted. */
static int take_descriptors(struct msghdr *msg, size_t *ret_count)
{
    int first = -1;

    *ret_count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
        size_t count;

        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if ((*ret_count)++ == 0)
                first = fd;
            else
                close(fd);
        }
    }
    return first;
}

/* PST_OK, PST_E_AGAIN: nothing more now; else the connection is over. */
static int receive(struct pst_wire *wire, struct pst_wire_message *ret_message)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    uint8_t packet[PST_WIRE_PACKET_MAX];
    struct iovec iov = {.iov_base = packet, .iov_len = sizeof packet};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = &control,
                         .msg_controllen = sizeof control.bytes};
    size_t fds;
    ssize_t len;
    int fd, rc = PST_E_SYNTAX;

    do
        len = recvmsg(wire->io.fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (len < 0 && errno == EINTR);
    if (len < 0)
        return errno == EAGAIN ? PST_E_AGAIN : PST_E_SYSTEM;
    fd = take_descriptors(&msg, &fds);
    if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 && len > 0)
        rc = pst_wire_unpack(packet, (size_t)len, ret_message);
    if (rc == PST_OK && fds != (ret_message->kind == PST_WIRE_CONFIG && ret_message->ok ? 1u : 0u))
        rc = PST_E_SYNTAX;
    if (rc == PST_OK)
        ret_message->fd = fd;
    else if (fd >= 0)
        close(fd);
    return rc;
}

static void read_packets(struct pst_wire *wire)
{
    bool freed = false;

    wire->freed = &freed;
    for (int i = 0; i < TURN_PACKETS; i++) {
        struct pst_wire_message message;
        int rc = receive(wire, &message);

        if (rc == PST_E_AGAIN)
            break;
        if (rc != PST_OK) {
            finish(wire);
            break;
        }
        wire->received(wire->user, &message);
        if (freed)
            return;
        if (wire->over)
            break;
    }
    wire->freed = NULL;
}

static void on_ready(struct pst_io *io, uint32_t events)
{
    struct pst_wire *wire = (struct pst_wire *)((char *)io - offsetof(struct pst_wire, io));

    if ((events & EPOLLOUT) != 0)
        flush_queue(wire);
    if (!wire->over && (events & ~(uint32_t)EPOLLOUT) != 0)
        read_packets(wire); /* what was sent before the other side left is read first */
}

int pst_wire_new(struct pst_loop *loop, int fd,
                 void (*received)(void *user, const struct pst_wire_message *message),
                 void (*ended)(void *user), void *user, struct pst_wire **ret_wire)
{
    struct pst_wire *wire = calloc(1, sizeof *wire);
    int rc;

    if (wire == NULL)
        return PST_E_NOMEM;
    wire->io = (struct pst_io){.fd = fd, .events = EPOLLIN, .ready = on_ready};
    wire->loop = loop;
    wire->received = received;
    wire->ended = ended;
    wire->user = user;
    wire->end.run = tell_ended;
    wire->last = &wire->first;
    rc = pst_io_add(loop, &wire->io);
    if (rc != PST_OK) {
        free(wire);
        return rc;
    }
    *ret_wire = wire;
    return PST_OK;
}

void pst_wire_free(struct pst_wire *wire)
{
    if (wire == NULL)
        return;
    if (wire->freed != NULL)
        *wire->freed = true;
    pst_io_remove(&wire->io);
    pst_later_cancel(wire->loop, &wire->end);
    while (wire->first != NULL)
        drop_first(wire);
    close(wire->io.fd);
    free(wire);
}
