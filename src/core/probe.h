/*
 * probe.h - when a replica is asked how it is, and what its answers add up to.
 *
 * Why: one lost probe is noise and three are news; a replica that is loading is asked more often, so
 * that its first second of readiness is used; and an answer that never comes must not end the asking.
 *
 * Guarantee: at most one probe of a replica is out; a probe without an answer counts as a time-out
 * after its own time-out plus a second. Only the caller's judgement moves a replica.
 */
#ifndef PST_CORE_PROBE_H
#define PST_CORE_PROBE_H

#include "core/gate.h"
#include "core/num.h"

struct pst_probes {
    pst_ns next_at; /* when one is due; PST_NEVER: none is wanted, or one is out */
    pst_ns sent_at;
    pst_ns then_at;      /* of the regular one, while an extra one goes before it */
    pst_ns lost_at;      /* of the one that is out; PST_NEVER: none is */
    enum pst_probe kind; /* of the next, or of the one that is out */
    uint32_t risen;      /* healthy answers in a row */
    uint32_t failed;     /* bad answers since the last healthy one */
    uint32_t timeouts;   /* in a row, without any other sign of life */
};

/* What the answers since the last change add up to. */
enum pst_probes_sum {
    PST_PROBES_UNDECIDED,
    PST_PROBES_UP,        /* enough healthy answers */
    PST_PROBES_DOWN,      /* enough bad answers */
    PST_PROBES_TIMED_OUT, /* enough silence, which alone may not be believed */
    PST_PROBES_SUM_COUNT
};

void pst_probes_stop(struct pst_probes *probes);
/* Counts from zero; the next is a HEALTH probe at @at, unless one is out. */
void pst_probes_restart(struct pst_probes *probes, pst_ns at);
static inline bool pst_probes_extra(const struct pst_probes *probes)
{
    return probes->then_at != PST_NEVER;
}

/* An extra one is due at @at, for the sake of the facts; the regular one comes when it would have. */
void pst_probes_hasten(struct pst_probes *probes, pst_ns at);

static inline bool pst_probes_out(const struct pst_probes *probes)
{
    return probes->lost_at != PST_NEVER;
}

/* One goes out now. */
void pst_probes_sent(struct pst_probes *probes, pst_ns now, pst_ns timeout);
/*
 * It came back, or was lost; the next is due at @next_at, after an extra one at the regular time, and
 * is a HEALTH probe.
 */
void pst_probes_back(struct pst_probes *probes, pst_ns next_at);
/* Adds a HEALTH answer. PST_PROBE_LOADING is a fact and not for here. */
enum pst_probes_sum pst_probes_count(struct pst_probes *probes, enum pst_probe_result result,
                                     uint32_t rise, uint32_t fall);
/* A byte of an answer came: as good as an answered probe against time-outs. */
void pst_probes_heard(struct pst_probes *probes);

static inline pst_ns pst_probes_deadline(const struct pst_probes *probes)
{
    return pst_min_u64(probes->next_at, probes->lost_at);
}

#endif
