/* wire.h - the other end of a socket, in the same thread as the loop under test. */
#ifndef PST_TEST_WIRE_H
#define PST_TEST_WIRE_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "net/loop.h"

#define WIRE_PATIENCE (10 * PST_S) /* a test that waits so long has failed */

struct wire {
    int fd;
    size_t len;
    bool ended; /* end of file */
    bool reset;
    char bytes[1 << 20];
};

/* Turns the loop until the condition holds. */
#define WIRE_UNTIL(loop, condition)                                                                \
    do {                                                                                           \
        pst_ns until_ = pst_clock_now() + WIRE_PATIENCE;                                           \
        while (!(condition)) {                                                                     \
            if (pst_clock_now() > until_)                                                          \
                fail_msg("waited in vain for: %s", #condition);                                    \
            assert_int_equal(pst_loop_turn(loop, PST_MS), PST_OK);                                 \
        }                                                                                          \
    } while (0)

static inline void wire_connect(struct wire *w, uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    memset(w, 0, offsetof(struct wire, bytes));
    w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(w->fd >= 0);
    assert_int_equal(connect(w->fd, (struct sockaddr *)&to, sizeof to), 0);
}

static inline int wire_listen(uint16_t *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static inline bool wire_accept(struct wire *w, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0)
        return false;
    memset(w, 0, offsetof(struct wire, bytes));
    w->fd = fd;
    return true;
}

static inline void wire_say_bytes(struct wire *w, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(w->fd, data, len, MSG_NOSIGNAL);

        assert_true(n > 0);
        data += n;
        len -= (size_t)n;
    }
}

static inline void wire_say(struct wire *w, const char *text)
{
    wire_say_bytes(w, text, strlen(text));
}

/* Reads what is there. */
static inline void wire_poll(struct wire *w)
{
    for (;;) {
        ssize_t n = recv(w->fd, w->bytes + w->len, sizeof w->bytes - 1 - w->len, MSG_DONTWAIT);

        if (n > 0) {
            w->len += (size_t)n;
            w->bytes[w->len] = '\0';
            continue;
        }
        w->ended |= n == 0;
        w->reset |= n < 0 && errno == ECONNRESET;
        return;
    }
}

static inline bool wire_heard(struct wire *w, const char *text)
{
    wire_poll(w);
    return w->len > 0 && strstr(w->bytes, text) != NULL;
}

static inline bool wire_closed(struct wire *w)
{
    wire_poll(w);
    return w->ended || w->reset;
}

static inline void wire_forget(struct wire *w)
{
    w->len = 0;
    w->bytes[0] = '\0';
}

static inline void wire_close(struct wire *w)
{
    close(w->fd);
    w->fd = -1;
}

static inline void wire_reset(struct wire *w)
{
    struct linger now = {.l_onoff = 1};

    setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    wire_close(w);
}

#endif
