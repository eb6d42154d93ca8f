/*
 * loop.h - the epoll reactor: sockets, timers, signals, and work put off to the end of a turn.
 *
 * Why: one thread, one clock reading a turn, so that the gate's `now` never goes back and events of a
 * turn share it. Everything here is intrusive: the loop allocates nothing per connection.
 *
 * Guarantee: after pst_io_remove or pst_timer_cancel no callback of that object runs, also within the
 * same turn. Level-triggered. Not thread-safe: one owner.
 */
#ifndef PST_NET_LOOP_H
#define PST_NET_LOOP_H

#include "pst.h"

struct pst_loop;

struct pst_io {
    int fd;
    uint32_t events;                                   /* EPOLL… asked for */
    void (*ready)(struct pst_io *io, uint32_t events); /* set by the owner */
    struct pst_loop *loop;                             /* while added */
};

struct pst_timer {
    pst_ns at;
    uint32_t place; /* in the loop's heap, from 1; 0: not set */
    void (*fire)(struct pst_timer *timer);
};

/* Runs once, at the end of this turn (of the next, if put off while others run). */
struct pst_later {
    void (*run)(struct pst_later *later);
    struct pst_later *next;
    bool queued;
};

int pst_loop_new(struct pst_loop **ret_loop);
void pst_loop_free(struct pst_loop *loop);

/* Monotonic ns, read once per turn. */
pst_ns pst_loop_now(const struct pst_loop *loop);

int pst_io_add(struct pst_loop *loop, struct pst_io *io); /* fd, events and ready are set */
int pst_io_want(struct pst_io *io, uint32_t events);      /* no syscall when nothing changes */
void pst_io_remove(struct pst_io *io);                    /* takes one not added; does not close */

/* Sets or moves. PST_NEVER cancels. */
void pst_timer_set(struct pst_loop *loop, struct pst_timer *timer, pst_ns at);
void pst_timer_cancel(struct pst_loop *loop, struct pst_timer *timer);

void pst_later(struct pst_loop *loop, struct pst_later *later);
void pst_later_cancel(struct pst_loop *loop, struct pst_later *later); /* takes one not queued */

/*
 * One buffer for all reads of a turn: its bytes are another's as soon as control returns to the loop.
 * Never read into it from inside a callback that was given a piece of it.
 */
char *pst_loop_scratch(struct pst_loop *loop, size_t *ret_size);

/* Called with the signal's number, from the loop (signalfd). The signals are blocked for the process. */
int pst_loop_signals(struct pst_loop *loop, const int *signals, size_t count,
                     void (*caught)(void *user, int signal), void *user);

int pst_loop_run(struct pst_loop *loop);                   /* until stop */
int pst_loop_turn(struct pst_loop *loop, pst_ns wait_max); /* one turn, waiting at most so long */
void pst_loop_stop(struct pst_loop *loop);

#endif
