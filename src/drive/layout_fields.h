/*
 * layout_fields.h - tables of fields, and the functions that read and write all of them; for the layouts
 * of this room.
 */
#ifndef PST_DRIVE_LAYOUT_FIELDS_H
#define PST_DRIVE_LAYOUT_FIELDS_H

#include <string.h>

#include "core/num.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "fields are copied as they lie in memory");

/* One number, or a run of `count` equal ones. */
struct pst_layout_field {
    uint16_t offset;
    uint16_t size;
};

#define PST_LAYOUT_FIELDS_MAX 14

struct pst_layout_kind {
    const char *name;
    struct pst_layout_field fields[PST_LAYOUT_FIELDS_MAX]; /* size 0 ends them */
};

#define PST_LAYOUT_IN(type, member)                                                                \
    {                                                                                              \
        offsetof(struct type, member), sizeof(((struct type *)NULL)->member)                       \
    }

static inline size_t pst_layout_put(uint8_t *to, const void *from,
                                    const struct pst_layout_field *fields, size_t count)
{
    size_t len = 0;

    for (size_t i = 0; i < count && fields[i].size > 0; i++) {
        memcpy(to + len, (const uint8_t *)from + fields[i].offset, fields[i].size);
        len += fields[i].size;
    }
    return len;
}

/* The caller has checked that the bytes are there. */
static inline size_t pst_layout_get(const uint8_t *from, void *to,
                                    const struct pst_layout_field *fields, size_t count)
{
    size_t len = 0;

    for (size_t i = 0; i < count && fields[i].size > 0; i++) {
        memcpy((uint8_t *)to + fields[i].offset, from + len, fields[i].size);
        len += fields[i].size;
    }
    return len;
}

static inline size_t pst_layout_bytes_of(const struct pst_layout_field *fields, size_t count)
{
    size_t len = 0;

    for (size_t i = 0; i < count && fields[i].size > 0; i++)
        len += fields[i].size;
    return len;
}

static inline uint64_t pst_layout_digest_of(uint64_t digest, const struct pst_layout_field *fields,
                                            size_t count)
{
    for (size_t i = 0; i < count && fields[i].size > 0; i++)
        digest = pst_mix64(digest ^ ((uint64_t)fields[i].offset << 16 | fields[i].size));
    return pst_mix64(digest + 1);
}

#endif
