/* floors.c - see floors.h. */
#include "core/floors.h"

#include "core/num.h"

static void forget_past(struct pst_floors *floors, pst_ns now)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < floors->count; i++) {
        if (floors->spans[i].until > now)
            floors->spans[kept++] = floors->spans[i];
    }
    floors->count = kept;
}

/* Where it stands already, or may stand. */
static struct pst_floor_span *place_for(struct pst_floors *floors,
                                        const struct pst_floor_span *span)
{
    struct pst_floor_span *first = &floors->spans[0];

    for (uint32_t i = 0; i < floors->count; i++) {
        struct pst_floor_span *s = &floors->spans[i];

        if (s->source == span->source && s->from == span->from && s->until == span->until)
            return s;
        if (s->until < first->until)
            first = s;
    }
    return floors->count < PST_FLOORS_MAX ? &floors->spans[floors->count++] : first;
}

static void withdraw(struct pst_floors *floors, const struct pst_floor_span *span)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < floors->count; i++) {
        const struct pst_floor_span *s = &floors->spans[i];

        if (s->source != span->source || s->from != span->from || s->until != span->until)
            floors->spans[kept++] = *s;
    }
    floors->count = kept;
}

void pst_floors_set(struct pst_floors *floors, const struct pst_floor_span *span, pst_ns now)
{
    forget_past(floors, now);
    if (span->replicas == 0)
        withdraw(floors, span);
    else if (span->until > now && span->until > span->from)
        *place_for(floors, span) = *span;
}

uint32_t pst_floors_most(const struct pst_floors *floors, enum pst_floor source, pst_ns now,
                         pst_ns ahead)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < floors->count; i++) {
        const struct pst_floor_span *s = &floors->spans[i];

        if (s->source == source && s->until > now && s->from <= pst_add_sat(now, ahead) &&
            s->replicas > most)
            most = s->replicas;
    }
    return most;
}
