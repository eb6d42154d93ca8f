/*
 * signals.h - what others measure of a pool, and how old it is.
 *
 * Why: a source that fell silent says nothing; read as zero it would empty the fleet in its peak hour.
 *
 * Guarantee: a missing or old value is never read as zero. What is asked for must be fresh;
 * a red light stays red until it is said to be green; a quota is believed only while it is fresh.
 */
#ifndef PST_CORE_SIGNALS_H
#define PST_CORE_SIGNALS_H

#include "core/scaler.h"

#define PST_SIGNAL_ERRORS_GREEN_PPM 50000u

/* All zero: nothing was told. */
struct pst_signals {
    struct {
        uint64_t value;
        pst_ns at; /* when it was measured */
        bool told;
    } of[PST_SIGNAL_COUNT];
};

/* A value, or (age PST_NEVER) that it is missing. */
void pst_signals_tell(struct pst_signals *signals, enum pst_signal kind, uint64_t value, pst_ns age,
                      pst_ns now);
/* Its age; PST_NEVER: it was never told. */
pst_ns pst_signals_age(const struct pst_signals *signals, enum pst_signal kind, pst_ns now);
/*
 * What forbids to take capacity away: bits of enum pst_veto. gpu_guard_ppm 0: not asked. `awaited`: those that
 * must be fresh, 1 << enum pst_signal.
 */
uint32_t pst_signals_vetoes(const struct pst_signals *signals, uint32_t gpu_guard_ppm,
                            uint32_t awaited, pst_ns stale_after, pst_ns now);
/* Replicas that could still be had; UINT32_MAX: not known. */
uint32_t pst_signals_quota(const struct pst_signals *signals, pst_ns stale_after, pst_ns now);
/* One of them was asked for. */
void pst_signals_use_quota(struct pst_signals *signals);

#endif
