/*
 * options.h - long options from one table: parsing, --help and the man page read the same rows.
 *
 * Guarantee: every error is said once, on stderr, with the option's name and the accepted forms; numbers
 * with units are read as the configuration reads them ("500ms", "15s", "64MiB").
 */
#ifndef PST_CMD_OPTIONS_H
#define PST_CMD_OPTIONS_H

#include <stdio.h>

#include "pst.h"

enum pst_option_kind {
    PST_OPTION_FLAG,     /* bool * */
    PST_OPTION_TEXT,     /* const char ** */
    PST_OPTION_NUMBER,   /* uint64_t *, min … max */
    PST_OPTION_REAL,     /* double * >= 0 */
    PST_OPTION_DURATION, /* pst_ns *, a unit is required */
    PST_OPTION_SIZE,     /* uint64_t *, bytes; a unit is required unless 0 */
    PST_OPTION_LIST,     /* struct pst_option_list *: may be given again */
    PST_OPTION_KIND_COUNT
};

struct pst_option_list {
    const char *items[64];
    size_t count;
};

struct pst_option {
    const char *name; /* without the dashes */
    enum pst_option_kind kind;
    void *value;          /* holds the default; written when given */
    const char *argument; /* its name in --help: "FILE", "N", "DURATION" */
    const char *help;     /* one sentence, with the default */
    uint64_t min, max;    /* NUMBER; 0, 0: any */
};

struct pst_usage {
    const char *command;  /* "engine" */
    const char *operands; /* "FILE", "" */
    const char *summary;  /* one line */
    const char *detail;   /* paragraphs for --help and the man page; may be NULL */
    const struct pst_option *options;
    size_t count;
};

/*
 * Reads argv[1…]. Returns the index of the first operand (options may stand behind operands; argv is
 * permuted), -1 after --help was printed (exit 0), -2 after an error was said (exit 2).
 */
int pst_options_read(const struct pst_usage *usage, int argc, char **argv);
void pst_options_help(const struct pst_usage *usage, FILE *out);

/*
 * From now on every read writes its command's part of the manual (troff) and returns -1, as after
 * --help: so the page has the very rows that are read. NULL: as usual.
 */
void pst_options_divert(FILE *page);

#endif
