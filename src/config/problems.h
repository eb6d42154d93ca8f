/*
 * problems.h - all that is wrong with a file, collected while it is read.
 *
 * Why: someone who mends a configuration wants the whole list, in the order of the file, not one line
 * per attempt.
 *
 * Guarantee: bounded (PST_PROBLEMS_MAX, then one line that says so); never fails: without memory the
 * errors are still counted.
 */
#ifndef PST_CONFIG_PROBLEMS_H
#define PST_CONFIG_PROBLEMS_H

#include "config/config.h"

#define PST_PROBLEMS_MAX 200

void pst_problems_add(struct pst_problems *problems, enum pst_problem_level level, uint32_t line,
                      uint32_t column, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* By line, then column; what was found first stays first. */
void pst_problems_sort(struct pst_problems *problems);

#endif
