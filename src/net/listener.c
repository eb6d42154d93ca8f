/* listener.c - see listener.h. */
#include "net/listener.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define BACKLOG        4096
#define BATCH_MAX      64 /* accepted in one turn, so that others get theirs */
#define SHORTAGE_PAUSE (100 * PST_MS)

#define LISTENER_OF(member_pointer, member)                                                        \
    ((struct pst_listener *)(void *)((char *)(member_pointer)-offsetof(struct pst_listener,        \
                                                                       member)))

static void pause_accepting(struct pst_listener *listener)
{
    listener->paused = true;
    pst_io_want(&listener->io, 0);
}

static void run_short(struct pst_listener *listener)
{
    if (!listener->shortage_said)
        pst_say(PST_LOG_WARN, "accept: %s; accepting pauses until connections close",
                strerror(errno));
    listener->shortage_said = true;
    pause_accepting(listener);
    pst_timer_set(listener->loop, &listener->retry, pst_loop_now(listener->loop) + SHORTAGE_PAUSE);
}

static void listener_ready(struct pst_io *io, uint32_t events)
{
    struct pst_listener *listener = LISTENER_OF(io, io);
    int i;

    (void)events;
    for (i = 0; i < BATCH_MAX && !listener->paused && io->loop != NULL; i++) {
        struct pst_address peer = {.len = sizeof peer.u};
        int fd = accept4(io->fd, &peer.u.any, &peer.len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            if (!listener->accepted(listener, fd, &peer))
                pause_accepting(listener);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            run_short(listener);
        } else if (errno == EAGAIN) {
            return;
        } /* anything else is one connection's own misfortune */
    }
}

static void retry_fired(struct pst_timer *timer)
{
    pst_listener_resume(LISTENER_OF(timer, retry));
}

void pst_listener_resume(struct pst_listener *listener)
{
    if (!listener->paused || listener->io.loop == NULL)
        return;
    listener->paused = false;
    pst_timer_cancel(listener->loop, &listener->retry);
    pst_io_want(&listener->io, EPOLLIN);
}

static int open_socket(const struct pst_address *address)
{
    int family = address->u.any.sa_family, one = 1, zero = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    pst_fd_tune_tcp(fd);
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
    if (bind(fd, &address->u.any, address->len) != 0 || listen(fd, BACKLOG) != 0) {
        int saved = errno;

        close(fd);
        errno = saved;
        return -1;
    }
    return fd;
}

int pst_listener_open(struct pst_listener *listener, struct pst_loop *loop, const char *text)
{
    struct pst_address address;
    int fd;

    if (pst_address_parse(text, &address) != PST_OK)
        return PST_E_INVALID;
    fd = open_socket(&address);
    if (fd < 0)
        return PST_E_SYSTEM;
    listener->loop = loop;
    listener->io = (struct pst_io){.fd = fd, .events = EPOLLIN, .ready = listener_ready};
    listener->retry = (struct pst_timer){.fire = retry_fired};
    if (pst_io_add(loop, &listener->io) != PST_OK) {
        close(fd);
        return PST_E_SYSTEM;
    }
    return PST_OK;
}

void pst_listener_close(struct pst_listener *listener)
{
    if (listener->io.loop == NULL)
        return;
    pst_timer_cancel(listener->loop, &listener->retry);
    pst_io_remove(&listener->io);
    close(listener->io.fd);
}

uint16_t pst_listener_port(const struct pst_listener *listener)
{
    struct pst_address address = {.len = sizeof address.u};

    if (getsockname(listener->io.fd, &address.u.any, &address.len) != 0)
        return 0;
    return pst_address_port(&address);
}
