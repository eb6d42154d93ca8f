/* signals.c - see signals.h. */
#include "core/signals.h"

#include "core/num.h"

void pst_signals_tell(struct pst_signals *signals, enum pst_signal kind, uint64_t value, pst_ns age,
                      pst_ns now)
{
    if (age == PST_NEVER)
        return; /* the last value grows old */
    signals->of[kind].value = value;
    signals->of[kind].at = pst_sub_sat(now, age);
    signals->of[kind].told = true;
}

pst_ns pst_signals_age(const struct pst_signals *signals, enum pst_signal kind, pst_ns now)
{
    return signals->of[kind].told ? now - signals->of[kind].at : PST_NEVER;
}

static bool is_fresh(const struct pst_signals *signals, enum pst_signal kind, pst_ns stale_after,
                     pst_ns now)
{
    return signals->of[kind].told &&
           (stale_after == 0 || pst_signals_age(signals, kind, now) <= stale_after);
}

uint32_t pst_signals_vetoes(const struct pst_signals *signals, uint32_t gpu_guard_ppm,
                            uint32_t awaited, pst_ns stale_after, pst_ns now)
{
    uint32_t vetoes = 0;

    for (unsigned kind = 0; kind < PST_SIGNAL_COUNT; kind++) {
        if ((awaited >> kind & 1) != 0 &&
            !is_fresh(signals, (enum pst_signal)kind, stale_after, now))
            vetoes |= 1u << PST_VETO_STALE;
    }
    if (gpu_guard_ppm > 0) {
        if (!is_fresh(signals, PST_SIGNAL_GPU, stale_after, now))
            vetoes |= 1u << PST_VETO_STALE;
        else if (signals->of[PST_SIGNAL_GPU].value > gpu_guard_ppm)
            vetoes |= 1u << PST_VETO_GPU;
    }
    if (signals->of[PST_SIGNAL_ERRORS].value > PST_SIGNAL_ERRORS_GREEN_PPM ||
        signals->of[PST_SIGNAL_LATENCY].value != 0)
        vetoes |= 1u << PST_VETO_GUARD;
    if (signals->of[PST_SIGNAL_ROLLOUT].value != 0)
        vetoes |= 1u << PST_VETO_ROLLOUT;
    return vetoes;
}

uint32_t pst_signals_quota(const struct pst_signals *signals, pst_ns stale_after, pst_ns now)
{
    if (!is_fresh(signals, PST_SIGNAL_QUOTA, stale_after, now))
        return UINT32_MAX;
    return (uint32_t)pst_min_u64(signals->of[PST_SIGNAL_QUOTA].value, UINT32_MAX);
}

void pst_signals_use_quota(struct pst_signals *signals)
{
    signals->of[PST_SIGNAL_QUOTA].value = pst_sub_sat(signals->of[PST_SIGNAL_QUOTA].value, 1);
}
