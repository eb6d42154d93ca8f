/*
 * load_report.h - what a load run found, for people and for machines.
 */
#ifndef PST_REHEARSE_LOAD_REPORT_H
#define PST_REHEARSE_LOAD_REPORT_H

#include "rehearse/load_run.h"
#include "base/text.h"

/* A table by class, then what is worth a line: failures, refusals without Retry-After, lateness. */
void pst_load_report_table(const struct pst_load_tally *tally, struct pst_text *text);
/* One JSON object, newline at its end. PST_E_NOMEM. */
int pst_load_report_json(const struct pst_load_tally *tally, struct pst_text *text);
/* One line without newline. */
void pst_load_report_progress(const struct pst_load_progress *progress,
                              const struct pst_load_tally *tally, struct pst_text *text);

#endif
