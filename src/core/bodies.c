/* bodies.c - see bodies.h. */
#include "core/bodies.h"

#include "core/num.h"

static bool take(struct pst_bodies *bodies, struct pst_ticket *ticket, uint64_t bytes)
{
    if (pst_add_sat(bodies->reserved, bytes) > bodies->bytes_max)
        return false;
    bodies->reserved += bytes;
    ticket->bytes_reserved += bytes;
    return true;
}

bool pst_bodies_reserve(struct pst_bodies *bodies, struct pst_ticket *ticket, uint64_t body_bytes)
{
    ticket->chunked = body_bytes == UINT64_MAX;
    if (!ticket->chunked)
        return take(bodies, ticket, body_bytes);
    ticket->grown = bodies->body_max <= PST_BODY_FIRST;
    return take(bodies, ticket, pst_min_u64(bodies->body_max, PST_BODY_FIRST));
}

static bool grow(struct pst_bodies *bodies, struct pst_ticket *ticket)
{
    ticket->grown = take(bodies, ticket, pst_sub_sat(bodies->body_max, ticket->bytes_reserved));
    return ticket->grown;
}

bool pst_bodies_held(struct pst_bodies *bodies, struct pst_ticket *ticket, uint64_t bytes)
{
    ticket->bytes_held = pst_max_u64(ticket->bytes_held, bytes);
    if (!ticket->chunked || ticket->grown || bytes <= PST_BODY_FIRST)
        return true;
    /* Whoever paused before goes on before. */
    return bodies->paused.head == NULL && grow(bodies, ticket);
}

void pst_bodies_complete(struct pst_bodies *bodies, struct pst_ticket *ticket)
{
    uint64_t needed = pst_max_u64(ticket->bytes_held, ticket->prompt_bytes);

    if (!ticket->chunked)
        return;
    bodies->reserved = bodies->reserved - ticket->bytes_reserved + needed;
    ticket->bytes_reserved = needed;
}

void pst_bodies_release(struct pst_bodies *bodies, struct pst_ticket *ticket)
{
    PST_ASSERT(bodies->reserved >= ticket->bytes_reserved);
    bodies->reserved -= ticket->bytes_reserved;
    ticket->bytes_reserved = 0;
}

struct pst_ticket *pst_bodies_resume(struct pst_bodies *bodies)
{
    struct pst_ticket *oldest = bodies->paused.head;

    return oldest != NULL && grow(bodies, oldest) ? oldest : NULL;
}

struct pst_ticket *pst_bodies_overdue(const struct pst_bodies *bodies, pst_ns now)
{
    struct pst_ticket *oldest = bodies->paused.head;

    return oldest != NULL && now - oldest->queued_at >= PST_BODY_PAUSE_MAX ? oldest : NULL;
}

pst_ns pst_bodies_deadline(const struct pst_bodies *bodies)
{
    const struct pst_ticket *oldest = bodies->paused.head;

    return oldest == NULL ? PST_NEVER : pst_add_sat(oldest->queued_at, PST_BODY_PAUSE_MAX);
}
