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

void pst_progress_counted(struct pst_progress *progress, pst_ns at)
{
    if (at > progress->heard_at)
        pst_progress_heard(progress, at);
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

bool pst_progress_silent(const struct pst_progress *progress, pst_ns stall, pst_ns now)
{
    return pst_sub_sat(now, progress->heard_at) >= stall;
}

bool pst_progress_stalled(const struct pst_progress *progress, uint32_t begun, pst_ns stall,
                          pst_ns now)
{
    return pst_progress_audible(progress, begun) && pst_progress_silent(progress, stall, now);
}

bool pst_progress_asks(struct pst_progress *progress, uint32_t attempts, pst_ns stall, pst_ns now)
{
    if (attempts == 0 || pst_sub_sat(now, pst_progress_silent_since(progress)) < stall)
        return false;
    progress->asked_at = now;
    return true;
}

uint32_t pst_progress_silence_weight(const struct pst_progress *progress, pst_ns stall, pst_ns now,
                                     pst_ns *ret_until)
{
    uint64_t steps = pst_min_u64(
        pst_muldiv(pst_sub_sat(now, progress->heard_at), WEIGHT_STEPS, stall), WEIGHT_STEPS);

    *ret_until = PST_NEVER;
    if (steps < WEIGHT_STEPS) /* rounded down: it is looked at too early rather than too late */
        *ret_until = pst_add_sat(progress->heard_at, pst_muldiv(stall, steps + 1, WEIGHT_STEPS));
    return 1 + (uint32_t)steps;
}
