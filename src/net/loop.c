/* loop.c - see loop.h. */
#include "net/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "net/timer.h"

#define BATCH_MAX     256
#define SCRATCH_BYTES ((size_t)64 * 1024)

struct pst_loop {
    int epoll_fd;
    bool stopping;
    bool coarse; /* no epoll_pwait2 here: milliseconds */
    pst_ns now;
    struct pst_timer_heap timers;
    struct pst_later *laters, **laters_tail;
    struct epoll_event batch[BATCH_MAX];
    int batch_at, batch_len; /* events of this turn that are still to be told */
    struct pst_io signals;
    void (*caught)(void *user, int signal);
    void *caught_user;
    char *scratch;
};

int pst_loop_new(struct pst_loop **ret_loop)
{
    struct pst_loop *loop = calloc(1, sizeof *loop);
    int rc = PST_E_NOMEM;

    if (loop == NULL)
        return PST_E_NOMEM;
    loop->laters_tail = &loop->laters;
    loop->signals.fd = -1;
    loop->epoll_fd = -1;
    loop->scratch = malloc(SCRATCH_BYTES);
    if (loop->scratch == NULL)
        goto fail;
    rc = PST_E_SYSTEM;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd < 0)
        goto fail;
    loop->now = pst_clock_now();
    pst_fd_ignore_sigpipe();
    *ret_loop = loop;
    return PST_OK;

fail:
    pst_loop_free(loop);
    return rc;
}

void pst_loop_free(struct pst_loop *loop)
{
    if (loop == NULL)
        return;
    if (loop->signals.fd >= 0) {
        pst_io_remove(&loop->signals);
        close(loop->signals.fd);
    }
    if (loop->epoll_fd >= 0)
        close(loop->epoll_fd);
    pst_timer_heap_done(&loop->timers);
    free(loop->scratch);
    free(loop);
}

pst_ns pst_loop_now(const struct pst_loop *loop)
{
    return loop->now;
}

char *pst_loop_scratch(struct pst_loop *loop, size_t *ret_size)
{
    *ret_size = SCRATCH_BYTES;
    return loop->scratch;
}

int pst_io_add(struct pst_loop *loop, struct pst_io *io)
{
    struct epoll_event event = {.events = io->events, .data.ptr = io};

    PST_ASSERT(io->loop == NULL);
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, io->fd, &event) != 0)
        return errno == ENOMEM ? PST_E_NOMEM : PST_E_SYSTEM;
    io->loop = loop;
    return PST_OK;
}

int pst_io_want(struct pst_io *io, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = io};

    PST_ASSERT(io->loop != NULL);
    if (io->events == events)
        return PST_OK;
    if (epoll_ctl(io->loop->epoll_fd, EPOLL_CTL_MOD, io->fd, &event) != 0)
        return PST_E_SYSTEM;
    io->events = events;
    return PST_OK;
}

void pst_io_remove(struct pst_io *io)
{
    struct pst_loop *loop = io->loop;
    int i;

    if (loop == NULL)
        return;
    PST_ASSERT(epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL) == 0);
    io->loop = NULL;
    for (i = loop->batch_at; i < loop->batch_len; i++)
        if (loop->batch[i].data.ptr == io)
            loop->batch[i].data.ptr = NULL;
}

void pst_timer_set(struct pst_loop *loop, struct pst_timer *timer, pst_ns at)
{
    if (at == PST_NEVER)
        pst_timer_heap_remove(&loop->timers, timer);
    else
        pst_timer_heap_set(&loop->timers, timer, at);
}

void pst_timer_cancel(struct pst_loop *loop, struct pst_timer *timer)
{
    pst_timer_heap_remove(&loop->timers, timer);
}

void pst_later(struct pst_loop *loop, struct pst_later *later)
{
    if (later->queued)
        return;
    later->queued = true;
    later->next = NULL;
    *loop->laters_tail = later;
    loop->laters_tail = &later->next;
}

void pst_later_cancel(struct pst_loop *loop, struct pst_later *later)
{
    struct pst_later **link = &loop->laters;

    if (!later->queued)
        return;
    while (*link != later)
        link = &(*link)->next;
    *link = later->next;
    if (loop->laters_tail == &later->next)
        loop->laters_tail = link;
    later->queued = false;
}

static void signals_ready(struct pst_io *io, uint32_t events)
{
    struct pst_loop *loop = io->loop;
    struct signalfd_siginfo info;

    (void)events;
    while (read(io->fd, &info, sizeof info) == (ssize_t)sizeof info)
        loop->caught(loop->caught_user, (int)info.ssi_signo);
}

int pst_loop_signals(struct pst_loop *loop, const int *signals, size_t count,
                     void (*caught)(void *user, int signal), void *user)
{
    sigset_t set;
    size_t i;

    PST_ASSERT(loop->signals.fd < 0);
    sigemptyset(&set);
    for (i = 0; i < count; i++)
        sigaddset(&set, signals[i]);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return PST_E_SYSTEM;
    loop->signals.fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (loop->signals.fd < 0)
        return PST_E_SYSTEM;
    loop->signals.events = EPOLLIN;
    loop->signals.ready = signals_ready;
    loop->caught = caught;
    loop->caught_user = user;
    return pst_io_add(loop, &loop->signals);
}

/* Waits until `at` at the latest; PST_NEVER: without limit. Returns epoll_wait's result. */
static int wait_for_events(struct pst_loop *loop, pst_ns at)
{
    pst_ns left = at == PST_NEVER ? PST_NEVER : at > loop->now ? at - loop->now : 0;
    int n;

    /* The clock was read before the callbacks of the last turn ran. */
    if (left != 0 && left != PST_NEVER) {
        pst_ns now = pst_clock_now();

        left = at > now ? at - now : 0;
    }
    if (!loop->coarse) {
        struct timespec t = {.tv_sec = (time_t)(left / PST_S), .tv_nsec = (long)(left % PST_S)};

        n = epoll_pwait2(loop->epoll_fd, loop->batch, BATCH_MAX, left == PST_NEVER ? NULL : &t,
                         NULL);
        if (n >= 0 || (errno != ENOSYS && errno != EPERM))
            return n;
        loop->coarse = true;
    }
    if (left == PST_NEVER)
        return epoll_wait(loop->epoll_fd, loop->batch, BATCH_MAX, -1);
    left = (left + PST_MS - 1) / PST_MS;
    return epoll_wait(loop->epoll_fd, loop->batch, BATCH_MAX,
                      left > INT32_MAX ? INT32_MAX : (int)left);
}

static void run_timers(struct pst_loop *loop)
{
    struct pst_timer *timer;

    while ((timer = pst_timer_heap_due(&loop->timers, loop->now)) != NULL)
        timer->fire(timer);
}

/* Those that are put off while these run come in the next turn, which then does not wait. */
static void run_laters(struct pst_loop *loop)
{
    struct pst_later last = {0};

    if (loop->laters == NULL)
        return;
    last.queued = true;
    *loop->laters_tail = &last;
    loop->laters_tail = &last.next;
    while (loop->laters != &last) {
        struct pst_later *later = loop->laters;

        loop->laters = later->next;
        later->queued = false;
        later->run(later);
    }
    loop->laters = last.next;
    if (loop->laters == NULL)
        loop->laters_tail = &loop->laters;
}

int pst_loop_turn(struct pst_loop *loop, pst_ns wait_max)
{
    pst_ns at = pst_timer_heap_next(&loop->timers);
    int n;

    if (loop->laters != NULL)
        at = 0;
    else if (wait_max != PST_NEVER && loop->now + wait_max < at)
        at = loop->now + wait_max;
    n = wait_for_events(loop, at);
    if (n < 0 && errno != EINTR)
        return PST_E_SYSTEM;
    loop->now = pst_clock_now();
    loop->batch_at = 0;
    loop->batch_len = n < 0 ? 0 : n;
    run_timers(loop);
    while (loop->batch_at < loop->batch_len) {
        const struct epoll_event *event = &loop->batch[loop->batch_at++];
        struct pst_io *io = event->data.ptr;

        if (io != NULL)
            io->ready(io, event->events);
    }
    run_laters(loop);
    return PST_OK;
}

int pst_loop_run(struct pst_loop *loop)
{
    int rc = PST_OK;

    loop->stopping = false;
    while (!loop->stopping && rc == PST_OK)
        rc = pst_loop_turn(loop, PST_NEVER);
    return rc;
}

void pst_loop_stop(struct pst_loop *loop)
{
    loop->stopping = true;
}
