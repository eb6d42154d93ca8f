/* faults.h - a file that is wrong, and where the reader says so: rows of either reader. */
#ifndef PST_TEST_CONFIG_FAULTS_H
#define PST_TEST_CONFIG_FAULTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "config/config.h"

struct row {
    const char *promise;
    const char *text;
    enum pst_problem_level level;
    uint32_t line, column;
    const char *message; /* a part of it */
};

#define E PST_PROBLEM_ERROR
#define W PST_PROBLEM_WARNING

/* Reads the text, and frees what came of it. */
typedef int (*faults_reader)(const char *text, struct pst_problems *problems);

static inline bool faults_says(const struct pst_problems *problems, const struct row *row)
{
    for (size_t i = 0; i < problems->count; i++) {
        const struct pst_problem *p = &problems->item[i];
        if (p->level == row->level && p->line == row->line && p->column == row->column &&
            strstr(p->message, row->message) != NULL)
            return true;
    }
    return false;
}

static inline bool faults_holds(const struct row *row, faults_reader read)
{
    struct pst_problems problems;
    const int rc = read(row->text, &problems);
    const bool good =
        faults_says(&problems, row) && (rc == PST_OK) == (row->level == PST_PROBLEM_WARNING);

    if (!good)
        print_error("%s: wanted %u:%u %s; rc %d\n", row->promise, row->line, row->column,
                    row->message, rc);
    for (size_t i = 0; !good && i < problems.count; i++)
        print_error("    %u:%u: %s\n", problems.item[i].line, problems.item[i].column,
                    problems.item[i].message);
    pst_problems_done(&problems);
    return good;
}

static inline void faults_check(const struct row *rows, size_t count, faults_reader read)
{
    size_t missed = 0;

    for (size_t i = 0; i < count; i++)
        missed += !faults_holds(&rows[i], read);
    assert_int_equal(missed, 0);
}

#endif
