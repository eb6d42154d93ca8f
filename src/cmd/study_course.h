/*
 * study_course.h - how a run went, moment by moment, as JSON: what the page draws.
 *
 * Guarantee: columns, not points, all of one length; times are seconds, states and terms by their names.
 */
#ifndef PST_CMD_STUDY_COURSE_H
#define PST_CMD_STUDY_COURSE_H

#include "cmd/study.h"

/* An object: policy, seed, at, queued, worst_wait_s, replicas, desired, inflight, slots, decisions. */
void pst_study_course(const struct pst_study *study, const struct pst_study_run *run,
                      struct pst_text *text);

#endif
