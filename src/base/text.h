/*
 * text.h - a growing piece of text: answers, pages and reports are composed in one.
 *
 * Guarantee: always NUL-terminated once something was added. Out of memory is not an error at every
 * line: the text is marked `broken`, takes nothing more, and whoever sends it looks once.
 */
#ifndef PST_BASE_TEXT_H
#define PST_BASE_TEXT_H

#include "base/slice.h"

struct pst_text {
    char *at;
    size_t len, size;
    bool broken;
};

void pst_text_done(struct pst_text *text);  /* takes a zeroed one */
void pst_text_clear(struct pst_text *text); /* keeps small memory for the next use */
void pst_text_add(struct pst_text *text, const char *bytes, size_t len);
void pst_text_put(struct pst_text *text, const char *string);
void pst_text_slice(struct pst_text *text, struct pst_slice piece);
void pst_text_print(struct pst_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A JSON string with its quotes. */
void pst_text_quote(struct pst_text *text, const char *string);

#endif
