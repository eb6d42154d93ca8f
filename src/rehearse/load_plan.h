/*
 * load_plan.h - when each request is meant to be sent: the generator's timetable.
 *
 * Why: an open loop sends when the plan says so, not when the last answer came; a slow server must meet
 * the same arrivals as a fast one, and two servers the same as each other.
 *
 * Guarantee: the plan is a function of mix, trace and seed alone. Arrivals come in order of time. A
 * trace is read line by line, however long it is.
 */
#ifndef PST_REHEARSE_LOAD_PLAN_H
#define PST_REHEARSE_LOAD_PLAN_H

#include "codec/trace.h"
#include "rehearse/load_mix.h"

struct pst_load_arrival {
    pst_ns at; /* since the start */
    uint32_t traffic;
    uint32_t prompt_tokens;       /* >= 1 */
    uint32_t output_tokens;       /* 0: not said to the server */
    char key[PST_TRACE_NAME_MAX]; /* of whom the trace says it is; "": nobody, or the mix says it */
};

struct pst_load_plan;

/*
 * `trace_path` may be NULL: then each traffic has its own rate. With a recorded trace `scale` shrinks
 * the gaps; with a table of rates it multiplies them. PST_E_SYSTEM (errno), PST_E_SYNTAX (a wrong header)
 * or PST_E_INVALID, *ret_why says what; PST_E_NOMEM.
 */
int pst_load_plan_new(const struct pst_load_traffic *mix, size_t mix_count, const char *trace_path,
                      double scale, uint64_t seed, struct pst_load_plan **ret_plan,
                      const char **ret_why);
void pst_load_plan_free(struct pst_load_plan *plan); /* takes NULL */

/* The next one. False: the plan is at its end, or a line of the trace is wrong (pst_load_plan_error). */
bool pst_load_plan_next(struct pst_load_plan *plan, struct pst_load_arrival *ret_arrival);
/* NULL, or why it ended early, and in which line. */
const char *pst_load_plan_error(const struct pst_load_plan *plan, uint64_t *ret_line);

#endif
