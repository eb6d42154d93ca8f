/*
 * decision.h - what the scaler decided, with every number that it was made of: for machines and in words.
 *
 * Why: "why is there no third replica?" is asked at night. The answer is in the decision itself: which
 * question asked for how many, which won, what stood in the way, and what would have to change.
 *
 * Guarantee: the same fields in the decision log, in /events, /state and /explain; no allocation for a line.
 */
#ifndef PST_OBSERVE_DECISION_H
#define PST_OBSERVE_DECISION_H

#include "base/text.h"
#include "observe/view.h"

#define PST_DECISION_LINE_MAX 2048

/* One JSON object; without a newline. */
struct pst_slice pst_decision_line(const struct pst_capacity_decision *decision,
                                   const struct pst_registry *registry,
                                   char buffer[PST_DECISION_LINE_MAX]);
/* The pool's part of /explain: what there should be, why, and what would have to change. */
void pst_decision_explain(struct pst_text *text, const struct pst_view *view, uint16_t pool);
/* One line of those that are kept, for people. */
void pst_decision_brief(struct pst_text *text, const struct pst_capacity_decision *decision,
                        pst_ns now);
/* Worth showing: it is configured, or was ever told. */
bool pst_decision_has_signal(const struct pst_scaler_inputs *inputs, enum pst_signal signal);
/* Its value is in parts per million, and shown as a fraction; of others it is a number. */
bool pst_decision_is_share(enum pst_signal signal);
/* What the last decision of a pool says now; `at` and its inputs' ages are of now. False: none yet. */
bool pst_decision_last(const struct pst_view *view, uint16_t pool,
                       struct pst_capacity_decision *ret_decision);

#endif
