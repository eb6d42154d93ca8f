/*
 * escape.h - any bytes as the inside of a JSON string.
 *
 * Why: what strangers say (headers, paths, names) is echoed in errors and logs, and those must stay JSON
 * whatever it was.
 *
 * Guarantee: what comes out is ASCII or whole UTF-8 characters (RFC 3629), without quotes, backslashes
 * or control characters of its own. A byte that is not UTF-8 becomes U+FFFD.
 */
#ifndef PST_BASE_ESCAPE_H
#define PST_BASE_ESCAPE_H

#include "base/slice.h"

struct pst_escaped {
    size_t taken; /* bytes of the text that this stands for, > 0 */
    size_t len;
    char at[8];
};

/* The first character of a text that is not empty. */
struct pst_escaped pst_escape(struct pst_slice text);

#endif
