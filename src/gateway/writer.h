/*
 * writer.h - composing heads and small bodies in a buffer of known size.
 *
 * Guarantee: never writes past the end; `full` says that something did not fit.
 */
#ifndef PST_GATEWAY_WRITER_H
#define PST_GATEWAY_WRITER_H

#include "base/slice.h"

struct pst_writer {
    char *at;
    size_t len, size;
    bool full;
};

static inline struct pst_writer pst_writer(char *buffer, size_t size)
{
    return (struct pst_writer){buffer, 0, size, false};
}

static inline void pst_writer_put(struct pst_writer *text, struct pst_slice piece)
{
    if (piece.len > text->size - text->len) {
        text->full = true;
        return;
    }
    if (piece.len != 0)
        memcpy(text->at + text->len, piece.at, piece.len);
    text->len += piece.len;
}

#define PST_WRITER_PUT(text, literal) pst_writer_put((text), PST_SLICE(literal))

static inline void pst_writer_number(struct pst_writer *text, uint64_t number)
{
    char digits[20];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    pst_writer_put(text, pst_slice(digits + n, sizeof digits - n));
}

static inline void pst_writer_header(struct pst_writer *text, struct pst_slice name,
                                     struct pst_slice value)
{
    pst_writer_put(text, name);
    PST_WRITER_PUT(text, ": ");
    pst_writer_put(text, value);
    PST_WRITER_PUT(text, "\r\n");
}

/* A JSON string's inside: quotes, backslashes and control characters escaped; UTF-8 as it is. */
static inline void pst_writer_json(struct pst_writer *text, struct pst_slice piece)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < piece.len; i++) {
        unsigned char c = (unsigned char)piece.at[i];

        if (c == '"' || c == '\\') {
            char pair[2] = {'\\', (char)c};
            pst_writer_put(text, pst_slice(pair, 2));
        } else if (c < 0x20) {
            char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            pst_writer_put(text, pst_slice(escape, 6));
        } else {
            pst_writer_put(text, pst_slice(piece.at + i, 1));
        }
    }
}

static inline struct pst_slice pst_writer_slice(const struct pst_writer *text)
{
    return pst_slice(text->at, text->len);
}

#endif
