/*
 * progress.h - does a replica still produce anything?
 *
 * Why: engines hang with /health 200 and a running count that looks busy; only the silence of streams
 * that had begun shows it. Silence of work that never streams is normal, and asks instead of judging.
 *
 * Guarantee: stalled only if a stream of the replica had an event after its first byte, streams are
 * still open, not all of them held back by their clients, and not one byte of any answer came for `stall`.
 */
#ifndef PST_CORE_PROGRESS_H
#define PST_CORE_PROGRESS_H

#include "core/gate.h"
#include "core/num.h"

/* Events are told in batches: what was heard may be so much older than it seems. */
#define PST_PROGRESS_PERIOD (100 * PST_MS)

struct pst_progress {
    pst_ns heard_at;     /* last byte of any answer, or the first place taken on an idle replica */
    pst_ns asked_at;     /* last time silence made us ask */
    bool streamed;       /* an event came after a first byte, and that work is still open */
    uint32_t held;       /* begun attempts that a slow client holds back */
    uint32_t unanswered; /* streams in a row that reached their time limit without any byte */
};

/* Some stream is open that could have been heard. */
static inline bool pst_progress_audible(const struct pst_progress *progress, uint32_t begun)
{
    return progress->streamed && begun > progress->held;
}

static inline pst_ns pst_progress_silent_since(const struct pst_progress *progress)
{
    return pst_max_u64(progress->heard_at, progress->asked_at);
}

/* When time alone next says something of it. */
static inline pst_ns pst_progress_deadline(const struct pst_progress *progress, uint32_t attempts,
                                           uint32_t begun, pst_ns stall)
{
    pst_ns due = PST_NEVER;

    if (attempts > 0)
        due = pst_add_sat(pst_progress_silent_since(progress), stall);
    if (pst_progress_audible(progress, begun))
        due = pst_min_u64(due, pst_add_sat(progress->heard_at, stall));
    return due;
}

/* The replica was idle and gets work. */
void pst_progress_begin(struct pst_progress *progress, pst_ns now);
/* A byte of an answer. */
void pst_progress_heard(struct pst_progress *progress, pst_ns now);
/* Its own counter moved, by then. */
void pst_progress_counted(struct pst_progress *progress, pst_ns at);
/* Events of streams while @begun attempts have had their first byte. */
void pst_progress_events(struct pst_progress *progress, uint32_t begun, pst_ns now);
/* @held of the @begun attempts are held back by their clients: their silence is not the replica's. */
void pst_progress_held(struct pst_progress *progress, uint32_t held, uint32_t begun, pst_ns now);
/* @begun attempts past their first byte are left. */
void pst_progress_left(struct pst_progress *progress, uint32_t begun);

bool pst_progress_stalled(const struct pst_progress *progress, uint32_t begun, pst_ns stall,
                          pst_ns now);
/* Not one byte of any answer came for `stall`, whosever fault that is. */
bool pst_progress_silent(const struct pst_progress *progress, pst_ns stall, pst_ns now);
/* True once per `stall` of silence with @attempts in flight: ask how it is. */
bool pst_progress_asks(struct pst_progress *progress, uint32_t attempts, pst_ns stall, pst_ns now);

/* Weight of its work in the choice if it is audible, growing to 9 at a stall; and until when. */
uint32_t pst_progress_silence_weight(const struct pst_progress *progress, pst_ns stall, pst_ns now,
                                     pst_ns *ret_until);

/* The same of any: 1 when it progresses. */
static inline uint32_t pst_progress_weight(const struct pst_progress *progress, uint32_t begun,
                                           pst_ns stall, pst_ns now, pst_ns *ret_until)
{
    if (pst_progress_audible(progress, begun))
        return pst_progress_silence_weight(progress, stall, now, ret_until);
    *ret_until = PST_NEVER;
    return 1;
}

#endif
