/*
 * inbox.h - events that must wait until the state machine they are for has said all that it has to say.
 *
 * Guarantee: first in, first out; memory grows in doubling steps, and what was put in is never lost: put
 * says PST_E_NOMEM instead.
 */
#ifndef PST_SIM_INBOX_H
#define PST_SIM_INBOX_H

#include "pst.h"

#define PST_INBOX_EVENT_BYTES 64 /* the largest of gate and scaler */

struct pst_inbox_event {
    _Alignas(8) unsigned char bytes[PST_INBOX_EVENT_BYTES];
};

/* All zero is an empty one. */
struct pst_inbox {
    struct pst_inbox_event *events;
    uint32_t first, count, capacity;
};

void pst_inbox_done(struct pst_inbox *inbox);
/* PST_OK or PST_E_NOMEM. size <= PST_INBOX_EVENT_BYTES. */
int pst_inbox_put(struct pst_inbox *inbox, const void *event, size_t size);
/* False: it is empty. */
bool pst_inbox_take(struct pst_inbox *inbox, void *ret_event, size_t size);

#endif
