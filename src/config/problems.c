#include "config/problems.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void pst_problems_add(struct pst_problems *problems, enum pst_problem_level level, uint32_t line,
                      uint32_t column, const char *format, ...)
{
    struct pst_problem *grown;
    char *message;
    va_list args;

    if (level == PST_PROBLEM_ERROR)
        problems->errors++;
    if (problems->count > PST_PROBLEMS_MAX)
        return;
    if (problems->count == PST_PROBLEMS_MAX) {
        message = strdup("there are more problems than are listed here");
        level = PST_PROBLEM_WARNING;
        line = UINT32_MAX;
    } else {
        va_start(args, format);
        if (vasprintf(&message, format, args) < 0)
            message = NULL;
        va_end(args);
    }
    if (message == NULL)
        return;

    grown = reallocarray(problems->item, problems->count + 1, sizeof *grown);
    if (grown == NULL) {
        free(message);
        return;
    }
    problems->item = grown;
    grown[problems->count++] = (struct pst_problem){level, line, column, message};
}

static bool stands_before(const struct pst_problem *a, const struct pst_problem *b)
{
    return a->line != b->line ? a->line < b->line : a->column < b->column;
}

/* Insertion: stable, and the list is short. */
void pst_problems_sort(struct pst_problems *problems)
{
    for (size_t i = 1; i < problems->count; i++) {
        const struct pst_problem moved = problems->item[i];
        size_t at = i;
        for (; at > 0 && stands_before(&moved, &problems->item[at - 1]); at--)
            problems->item[at] = problems->item[at - 1];
        problems->item[at] = moved;
    }
    if (problems->count > 0 && problems->item[problems->count - 1].line == UINT32_MAX)
        problems->item[problems->count - 1].line = 0;
}

void pst_problems_done(struct pst_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        free(problems->item[i].message);
    free(problems->item);
    *problems = (struct pst_problems){0};
}
