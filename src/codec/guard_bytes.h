/* guard_bytes.h - classes of bytes, for the two halves of the guard; no locale. */
#ifndef PST_CODEC_GUARD_BYTES_H
#define PST_CODEC_GUARD_BYTES_H

#include "pst.h"

#define PST_GUARD_TOKEN 1u /* RFC 9110 section 5.6.2 */
#define PST_GUARD_HOST  2u /* RFC 3986: reg-name, IP literal, port */

extern const uint8_t pst_guard_class[256];

static inline bool pst_guard_is_token(char byte)
{
    return (pst_guard_class[(unsigned char)byte] & PST_GUARD_TOKEN) != 0;
}

static inline bool pst_guard_is_host(char byte)
{
    return (pst_guard_class[(unsigned char)byte] & PST_GUARD_HOST) != 0;
}

static inline bool pst_guard_is_control(char byte)
{
    return (unsigned char)byte < 0x20 || byte == 0x7f;
}

static inline char pst_guard_lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

/* `lower` is in lower case already. */
static inline bool pst_guard_equal(const char *bytes, const char *lower, size_t len)
{
    size_t i;

    for (i = 0; i < len; i++)
        if (pst_guard_lower(bytes[i]) != lower[i])
            return false;
    return true;
}

#endif
