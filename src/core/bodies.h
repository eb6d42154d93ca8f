/*
 * bodies.h - the bytes of request bodies, reserved before they are read.
 *
 * Why: memory must be promised before it is filled. A body with a length is reserved whole or refused
 * while nothing of it was read. A chunked one has no length: its first MiB is reserved at once, and
 * past that the most a body may be. If that is not to be had it pauses; the oldest paused one goes on
 * first, and after 10 s is refused.
 *
 * Guarantee: the bytes reserved never exceed the bound (but after it was lowered, or by what of a paused
 * body was under way already). A reservation is held until the ticket ends, because a retry sends the
 * body again. O(1).
 */
#ifndef PST_CORE_BODIES_H
#define PST_CORE_BODIES_H

#include "core/ticket.h"

#define PST_BODY_FIRST     (UINT64_C(1) << 20) /* of a chunked body */
#define PST_BODY_PAUSE_MAX (10 * PST_S)

struct pst_bodies {
    uint64_t reserved;
    uint64_t bytes_max;
    uint64_t body_max;
    struct pst_ticket_list paused; /* by the time of the pause */
};

/* body_bytes UINT64_MAX: chunked. False: no room. */
bool pst_bodies_reserve(struct pst_bodies *bodies, struct pst_ticket *ticket, uint64_t body_bytes);
/* So much is held now. False: it must pause; the caller puts it on the list. */
bool pst_bodies_held(struct pst_bodies *bodies, struct pst_ticket *ticket, uint64_t bytes);
/* The body is complete: of a chunked one what it is counts from now on. */
void pst_bodies_complete(struct pst_bodies *bodies, struct pst_ticket *ticket);
void pst_bodies_release(struct pst_bodies *bodies, struct pst_ticket *ticket);

/* The oldest paused one, if there is room for it now: its reservation is made. */
struct pst_ticket *pst_bodies_resume(struct pst_bodies *bodies);
/* The oldest paused one, if it waited too long. */
struct pst_ticket *pst_bodies_overdue(const struct pst_bodies *bodies, pst_ns now);
pst_ns pst_bodies_deadline(const struct pst_bodies *bodies);

#endif
