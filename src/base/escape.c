/* escape.c - see escape.h. */
#include "base/escape.h"

/* Bytes of the UTF-8 character at the start (RFC 3629: shortest form, no surrogates), or 0. */
static size_t character(const unsigned char *at, size_t len)
{
    size_t bytes = at[0] < 0x80 ? 1 : at[0] < 0xc2 ? 0 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

    if (bytes == 0 || at[0] > 0xf4 || bytes > len)
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return bytes;
}

static struct pst_escaped as_is(size_t taken, const char *at, size_t len)
{
    struct pst_escaped escaped = {.taken = taken, .len = len};

    memcpy(escaped.at, at, len);
    return escaped;
}

struct pst_escaped pst_escape(struct pst_slice text)
{
    static const char hex[] = "0123456789abcdef";
    size_t bytes = character((const unsigned char *)text.at, text.len);
    unsigned char c = (unsigned char)text.at[0];

    if (bytes == 0)
        return as_is(1, "\\ufffd", 6);
    if (c == '"' || c == '\\')
        return as_is(1, (const char[]){'\\', (char)c}, 2);
    if (c < 0x20 || c == 0x7f)
        return as_is(1, (const char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
    return as_is(bytes, text.at, bytes);
}
