/*
 * text.h - a growing piece of text: pages are built whole, then sent with their length.
 *
 * Guarantee: an append that finds no memory marks the text failed and changes nothing; the maker of a
 * page looks once, at the end.
 */
#ifndef PST_OBSERVE_TEXT_H
#define PST_OBSERVE_TEXT_H

#include "base/slice.h"

struct pst_text {
    char *at;
    size_t len, size;
    bool failed;
};

void pst_text_add(struct pst_text *text, struct pst_slice piece);
void pst_text_format(struct pst_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Seconds with what of the nine decimals is not zero: 1500000000 is "1.5". */
void pst_text_seconds(struct pst_text *text, pst_ns ns);
void pst_text_done(struct pst_text *text);

#endif
