/*
 * measure_query.h - what a Prometheus answers: one value now, or a day of the past.
 *
 * Why: the most dangerous answer is the good one with nothing in it: status 200, an empty result, and
 * somewhere an `or 0`. Here there is a value, or a reason why there is none.
 *
 * Guarantee: exactly one finite value, of an answer that says success; everything else is not known.
 * Ratios are taken from 0 to 1, and what is outside is not clipped but not known: it was a percentage.
 * Source: Prometheus HTTP API v1, query and query_range.
 */
#ifndef PST_SCALE_MEASURE_QUERY_H
#define PST_SCALE_MEASURE_QUERY_H

#include "base/text.h"
#include "scale/wire.h"

#define PST_MEASURE_STEP_S 300

/* Adds the address: of a value that is no older than `lookback`, or of a day that begins at `from_s`. */
void pst_measure_query_url(struct pst_text *url, const char *server, const char *query,
                           pst_ns lookback);
void pst_measure_query_day_url(struct pst_text *url, const char *server, const char *query,
                               uint64_t from_s);
/* The query of what a pool's load needs, as all gateways tell it: floors left out, a profile is one itself. */
void pst_measure_query_own(struct pst_text *query, const char *pool);

/* As the scaler takes it; *ret_age is by `wall_ns`, since 1970. PST_E_UNKNOWN: and the reason for people. */
int pst_measure_query_read(const char *body, size_t len, enum pst_signal signal, uint64_t wall_ns,
                           uint64_t *ret_value, pst_ns *ret_age, const char **ret_why);
/* `day->from_s` is set; quarters of which nothing is said are unknown. */
int pst_measure_query_day(const char *body, size_t len, struct pst_wire_day *day,
                          const char **ret_why);

#endif
