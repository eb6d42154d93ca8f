/*
 * hearsay.h - what an engine says of itself: how much it runs, what waits inside it, whether it moves.
 *
 * Why: we know what we sent. We do not see what others send to the same engine (another gateway that still
 * drains), nor that its cache is too small for the slots it was given. The engine knows both, and tells
 * it seconds late; and when nobody asks it any more, work must go on.
 *
 * So it corrects, and slowly:
 *   others    between what it holds beyond the most that we had in flight around then, and beyond the
 *             least, each as two samples in a row have it (but the first of a replica counts at once:
 *             whoever was there before us still drains). What was believed is kept where it lies between
 *             the two: two gateways that each took what the other just left would take turns in taking
 *             all. Where none need be there it falls, by a quarter with every sample
 *   can run   where sequences wait inside it in two samples in a row, and its cache or our slots are full,
 *             half-way down to what runs; up again by 1/32 with every sample in which nothing waits
 *   limit     what it can run, less the others'; at least one
 *
 * At least one, because a miscount must not starve a replica that answers: the worst is one sequence in
 * the engine's own queue.
 *
 * Guarantee: what may have been ours is never taken for another's. What is not said changes nothing. A
 * sample changes nothing if it is older than 30 s, or no newer than the one before; what was learned is
 * forgotten when none comes for 30 s. A counter that falls is a restart.
 */
#ifndef PST_CORE_HEARSAY_H
#define PST_CORE_HEARSAY_H

#include "core/gate.h"

#define PST_HEARSAY_KEPT    (30 * PST_S)
#define PST_HEARSAY_MOMENTS 16

struct pst_hearsay {
    pst_ns load_at; /* of the newest sample that said what runs; 0: none */
    uint32_t
        beyond; /* the most of ours, in that sample: others at least; UINT32_MAX: none was heard */
    uint32_t within;  /* beyond the least of ours: others at most */
    uint32_t others;  /* believed */
    uint32_t waiting; /* in it */
    uint32_t can_run; /* UINT32_MAX: whatever it is given */

    pst_ns counted_at; /* of the newest sample that said its tokens; 0: none */
    uint64_t tokens;
    uint32_t running; /* in it */

    /* What we had in flight, between one moment and the next. */
    struct {
        pst_ns until;
        uint32_t most, least;
    } past[PST_HEARSAY_MOMENTS];
    uint32_t newest;
};

struct pst_hearsay_sample {
    pst_ns at; /* when it was so */
    uint32_t running, waiting, kv_ppm;
    uint64_t tokens;
};

/* What we know ourselves. */
struct pst_hearsay_ours {
    uint32_t most;  /* in flight since the last sample, or since init */
    uint32_t least; /* likewise */
    uint32_t slots; /* that we may use now */
    uint32_t whole; /* that the engine is said to have, for all that share it */
};

enum pst_hearsay_motion {
    PST_HEARSAY_UNKNOWN,
    PST_HEARSAY_MOVES,     /* it made tokens since the sample before */
    PST_HEARSAY_STILL,     /* it made none, and had something running in both */
    PST_HEARSAY_RESTARTED, /* it counts from zero */
    PST_HEARSAY_MOTION_COUNT
};

/* Of a replica, or of another process in its place, of which nothing was heard yet. */
void pst_hearsay_init(struct pst_hearsay *hearsay, uint32_t inflight, pst_ns now);

/* What its counter says; before pst_hearsay_load, which a restart makes start anew. */
enum pst_hearsay_motion pst_hearsay_motion(struct pst_hearsay *hearsay,
                                           const struct pst_hearsay_sample *sample);

/*
 * What its load says: false nothing, or the most that we may use is in *ret_limit; UINT32_MAX: no limit.
 * In either case ours->most and ours->least are noted, and begin anew.
 */
bool pst_hearsay_load(struct pst_hearsay *hearsay, const struct pst_hearsay_sample *sample,
                      const struct pst_hearsay_ours *ours, pst_ns now, uint32_t *ret_limit);

#endif
