/*
 * listener.h - one listening socket that hands over accepted ones.
 *
 * Why: running out of descriptors must neither spin nor end the program: accepting pauses, said once,
 * and goes on when a connection closed or a moment passed.
 */
#ifndef PST_NET_LISTENER_H
#define PST_NET_LISTENER_H

#include "net/address.h"
#include "net/loop.h"

struct pst_listener {
    struct pst_io io;
    struct pst_timer retry;
    struct pst_loop *loop;
    struct pst_listener *next; /* the owner's list */
    bool paused;
    bool shortage_said;
    /* Takes the socket (non-blocking, close-on-exec). False: no more for now; call resume later. */
    bool (*accepted)(struct pst_listener *listener, int fd, const struct pst_address *peer);
    void *user;
};

/* PST_E_INVALID: not an address; PST_E_SYSTEM: errno. The caller has set accepted and user. */
int pst_listener_open(struct pst_listener *listener, struct pst_loop *loop, const char *address);
void pst_listener_close(struct pst_listener *listener); /* takes a closed one */
void pst_listener_resume(struct pst_listener *listener);
uint16_t pst_listener_port(const struct pst_listener *listener);

#endif
