/*
 * access_line.h - a line of penstock's own access log, read back.
 *
 * Guarantee: strict JSON; fields that are not wanted are skipped; a line without a time or a duration is
 * wrong. Nothing is allocated.
 */
#ifndef PST_CMD_ACCESS_LINE_H
#define PST_CMD_ACCESS_LINE_H

#include "pst.h"

#define PST_ACCESS_WORD_MAX 64 /* longer ones are cut */

struct pst_access_row {
    pst_ns ended; /* wall clock, since 1970, to a millisecond */
    pst_ns duration, wait;
    char pool[PST_ACCESS_WORD_MAX]; /* "": refused or answered before a pool was known */
    char class_[PST_ACCESS_WORD_MAX];
    char type[PST_ACCESS_WORD_MAX];
    char outcome[PST_ACCESS_WORD_MAX];
    uint32_t status, tries;
    uint32_t tokens_in, tokens_out; /* 0: not told */
};

/* PST_OK, or PST_E_SYNTAX and *ret_why (English, static). */
int pst_access_line_read(const char *line, size_t len, struct pst_access_row *ret_row,
                         const char **ret_why);

#endif
