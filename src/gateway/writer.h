/*
 * writer.h - composing heads and small bodies in a buffer of known size.
 *
 * Guarantee: never writes past the end; `full` says that something did not fit.
 */
#ifndef PST_GATEWAY_WRITER_H
#define PST_GATEWAY_WRITER_H

#include "base/escape.h"

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

/* As many hexadecimal digits as are asked for, the last ones. */
static inline void pst_writer_hex(struct pst_writer *text, uint64_t number, size_t count)
{
    char digits[16];

    PST_ASSERT(count <= sizeof digits);
    for (size_t n = count; n > 0; number >>= 4)
        digits[--n] = "0123456789abcdef"[number & 15];
    pst_writer_put(text, pst_slice(digits, count));
}

/* As milliseconds, to the microsecond. */
static inline void pst_writer_ms(struct pst_writer *text, pst_ns span)
{
    uint64_t us = span / PST_US;
    char part[4] = {'.', (char)('0' + us / 100 % 10), (char)('0' + us / 10 % 10),
                    (char)('0' + us % 10)};

    pst_writer_number(text, us / 1000);
    pst_writer_put(text, pst_slice(part, sizeof part));
}

static inline void pst_writer_header(struct pst_writer *text, struct pst_slice name,
                                     struct pst_slice value)
{
    pst_writer_put(text, name);
    PST_WRITER_PUT(text, ": ");
    pst_writer_put(text, value);
    PST_WRITER_PUT(text, "\r\n");
}

/* The inside of a JSON string. */
static inline void pst_writer_json(struct pst_writer *text, struct pst_slice piece)
{
    while (piece.len > 0) {
        struct pst_escaped next = pst_escape(piece);

        pst_writer_put(text, pst_slice(next.at, next.len));
        piece = pst_slice(piece.at + next.taken, piece.len - next.taken);
    }
}

static inline struct pst_slice pst_writer_slice(const struct pst_writer *text)
{
    return pst_slice(text->at, text->len);
}

#endif
