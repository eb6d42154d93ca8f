/*
 * study_progress.h - how far the runs of a study are, drawn on a terminal: a line for each that runs, and
 * one for all.
 *
 * Guarantee: reads what the threads tell and nothing else; when it is cleared nothing of it is left.
 */
#ifndef PST_CMD_STUDY_PROGRESS_H
#define PST_CMD_STUDY_PROGRESS_H

#include <stdatomic.h>

#include "cmd/study.h"

#define PST_STUDY_LANE_IDLE UINT32_MAX

/* What one thread tells of its run. */
struct pst_study_lane {
    atomic_uint run;       /* PST_STUDY_LANE_IDLE: none */
    atomic_uint done;      /* runs behind it */
    _Atomic(pst_ns) now;   /* virtual */
    _Atomic(pst_ns) begin; /* of our time */
    _Atomic(uint64_t) arrivals;
};

/* All zero: nothing is drawn. */
struct pst_study_progress {
    uint32_t lines; /* on the terminal, above the cursor */
};

void pst_study_progress_draw(struct pst_study_progress *progress, const struct pst_study *study,
                             struct pst_study_lane *lanes, uint32_t lanes_count, FILE *terminal);
void pst_study_progress_clear(struct pst_study_progress *progress, FILE *terminal);

#endif
