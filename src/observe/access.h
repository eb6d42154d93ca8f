/*
 * access.h - what becomes of a request's record: a line in the access log, and additions to cells.
 *
 * Guarantee: one line per record, one count in requests_total or rejected_requests_total; no
 * allocation. Prompts and keys cannot appear: the record has no place for them.
 */
#ifndef PST_OBSERVE_ACCESS_H
#define PST_OBSERVE_ACCESS_H

#include "base/access.h"
#include "base/metric.h"
#include "drive/registry.h"

/* Longest line: every text cut, every byte of it escaped. */
#define PST_ACCESS_LINE_MAX 16384

/* How many reasons for refusals before the gate are told apart; one more is "other". */
#define PST_ACCESS_REFUSALS_MAX 32

/* Reasons in the order in which they were first seen. */
struct pst_refusals {
    const char *names[PST_ACCESS_REFUSALS_MAX];
};

/* Sizes of metric cells that fit what _count adds: one more pool and class for "not known". */
struct pst_metric_sizes pst_access_sizes(void);

/* Writes the line into `buffer`; without a newline. */
struct pst_slice pst_access_line(const struct pst_access *record,
                                 const struct pst_registry *registry, uint64_t wall_ns,
                                 char buffer[PST_ACCESS_LINE_MAX]);

void pst_access_count(const struct pst_access *record, struct pst_refusals *refusals,
                      struct pst_metrics *metrics);

#endif
