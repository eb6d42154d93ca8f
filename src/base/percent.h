/*
 * percent.h - percent-encoded names in paths and queries.
 */
#ifndef PST_BASE_PERCENT_H
#define PST_BASE_PERCENT_H

#include "base/slice.h"

/* Decodes %41 into `text`, with NUL. False: a broken escape, a NUL inside, or no room. */
bool pst_percent_decode(struct pst_slice from, char *text, size_t size);

#endif
