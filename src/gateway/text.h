/*
 * text.h - composing heads and small bodies in a buffer of known size.
 *
 * Guarantee: never writes past the end; `full` says that something did not fit.
 */
#ifndef PST_GATEWAY_TEXT_H
#define PST_GATEWAY_TEXT_H

#include "base/slice.h"

struct pst_text {
    char *at;
    size_t len, size;
    bool full;
};

static inline struct pst_text pst_text(char *buffer, size_t size)
{
    return (struct pst_text){buffer, 0, size, false};
}

static inline void pst_text_put(struct pst_text *text, struct pst_slice piece)
{
    if (piece.len > text->size - text->len) {
        text->full = true;
        return;
    }
    if (piece.len != 0)
        memcpy(text->at + text->len, piece.at, piece.len);
    text->len += piece.len;
}

#define PST_TEXT_PUT(text, literal) pst_text_put((text), PST_SLICE(literal))

static inline void pst_text_number(struct pst_text *text, uint64_t number)
{
    char digits[20];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    pst_text_put(text, pst_slice(digits + n, sizeof digits - n));
}

static inline void pst_text_header(struct pst_text *text, struct pst_slice name,
                                   struct pst_slice value)
{
    pst_text_put(text, name);
    PST_TEXT_PUT(text, ": ");
    pst_text_put(text, value);
    PST_TEXT_PUT(text, "\r\n");
}

/* A JSON string's inside: quotes, backslashes and control characters escaped; UTF-8 as it is. */
static inline void pst_text_json(struct pst_text *text, struct pst_slice piece)
{
    static const char hex[] = "0123456789abcdef";

    for (size_t i = 0; i < piece.len; i++) {
        unsigned char c = (unsigned char)piece.at[i];

        if (c == '"' || c == '\\') {
            char pair[2] = {'\\', (char)c};
            pst_text_put(text, pst_slice(pair, 2));
        } else if (c < 0x20) {
            char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
            pst_text_put(text, pst_slice(escape, 6));
        } else {
            pst_text_put(text, pst_slice(piece.at + i, 1));
        }
    }
}

static inline struct pst_slice pst_text_slice(const struct pst_text *text)
{
    return pst_slice(text->at, text->len);
}

#endif
