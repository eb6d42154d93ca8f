/*
 * slice.h - a piece of somebody else's bytes: pointer and length, never terminated.
 *
 * Why: heads and bodies are parsed where they lie; nothing is copied to be looked at.
 */
#ifndef PST_BASE_SLICE_H
#define PST_BASE_SLICE_H

#include <string.h>
#include <strings.h>

#include "pst.h"

struct pst_slice {
    const char *at;
    size_t len;
};

#define PST_SLICE(literal) ((struct pst_slice){(literal), sizeof(literal) - 1})

static inline struct pst_slice pst_slice(const char *at, size_t len)
{
    return (struct pst_slice){at, len};
}

static inline struct pst_slice pst_slice_of(const char *text)
{
    return (struct pst_slice){text, text == NULL ? 0 : strlen(text)};
}

static inline bool pst_slice_equal(struct pst_slice a, struct pst_slice b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}

/* ASCII case does not matter: header names, list tokens. The first byte settles most of them. */
static inline bool pst_slice_equal_nocase(struct pst_slice a, struct pst_slice b)
{
    if (a.len != b.len)
        return false;
    return a.len == 0 ||
           (((a.at[0] ^ b.at[0]) & ~0x20) == 0 && strncasecmp(a.at, b.at, a.len) == 0);
}

#endif
