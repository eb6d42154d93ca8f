/* progress.c - see progress.h. */
#include "core/progress.h"

#include "core/num.h"

#define WEIGHT_STEPS 8

void pst_progress_begin(struct pst_progress *progress, pst_ns now)
{
    progress->heard_at = now;
    progress->asked_at = now;
}

void pst_progress_heard(struct pst_progress *progress, pst_ns now)
{
    progress->heard_at = now;
    progress->unanswered = 0;
}

void pst_progress_events(struct pst_progress *progress, uint32_t begun, pst_ns now)
{
    if (begun > 0)
        progress->streamed = true;
    pst_progress_heard(progress, now);
}

void pst_progress_held(struct pst_progress *progress, uint32_t held, uint32_t begun, pst_ns now)
{
    if (progress->held >= begun && held < begun)
        progress->heard_at =
            pst_max_u64(progress->heard_at, now); /* until now it was the clients' */
    progress->held = held;
}

void pst_progress_left(struct pst_progress *progress, uint32_t begun)
{
    if (begun == 0)
        progress->streamed = false;
}

/* Some stream is open that could have been heard. */
static bool is_audible(const struct pst_progress *progress, uint32_t begun)
{
    return progress->streamed && begun > progress->held;
}

bool pst_progress_silent(const struct pst_progress *progress, pst_ns stall, pst_ns now)
{
    return pst_sub_sat(now, progress->heard_at) >= stall;
}

bool pst_progress_stalled(const struct pst_progress *progress, uint32_t begun, pst_ns stall,
                          pst_ns now)
{
    return is_audible(progress, begun) && pst_progress_silent(progress, stall, now);
}

static pst_ns silent_since(const struct pst_progress *progress)
{
    return pst_max_u64(progress->heard_at, progress->asked_at);
}

bool pst_progress_asks(struct pst_progress *progress, uint32_t attempts, pst_ns stall, pst_ns now)
{
    if (attempts == 0 || pst_sub_sat(now, silent_since(progress)) < stall)
        return false;
    progress->asked_at = now;
    return true;
}

pst_ns pst_progress_deadline(const struct pst_progress *progress, uint32_t attempts, uint32_t begun,
                             pst_ns stall)
{
    pst_ns due = PST_NEVER;

    if (attempts > 0)
        due = pst_add_sat(silent_since(progress), stall);
    if (is_audible(progress, begun))
        due = pst_min_u64(due, pst_add_sat(progress->heard_at, stall));
    return due;
}

uint32_t pst_progress_weight(const struct pst_progress *progress, uint32_t begun, pst_ns stall,
                             pst_ns now)
{
    if (!is_audible(progress, begun))
        return 1;
    return 1 +
           (uint32_t)pst_min_u64(
               pst_muldiv(pst_sub_sat(now, progress->heard_at), WEIGHT_STEPS, stall), WEIGHT_STEPS);
}
