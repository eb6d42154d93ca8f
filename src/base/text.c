/* text.c - see text.h. */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"

#define KEEP_MAX ((size_t)64 << 10)

void pst_text_done(struct pst_text *text)
{
    free(text->at);
    *text = (struct pst_text){0};
}

void pst_text_clear(struct pst_text *text)
{
    if (text->size > KEEP_MAX || text->broken)
        pst_text_done(text);
    text->len = 0;
}

/* Room for `more` bytes and the NUL. */
static bool make_room(struct pst_text *text, size_t more)
{
    size_t size = text->size < 256 ? 256 : text->size;
    char *at;

    if (text->broken || more > SIZE_MAX / 4 - text->len) {
        text->broken = true;
        return false;
    }
    while (size <= text->len + more)
        size *= 2;
    if (size == text->size)
        return true;
    at = realloc(text->at, size);
    if (at == NULL) {
        text->broken = true;
        return false;
    }
    text->at = at;
    text->size = size;
    return true;
}

void pst_text_add(struct pst_text *text, const char *bytes, size_t len)
{
    if (!make_room(text, len))
        return;
    if (len > 0)
        memcpy(text->at + text->len, bytes, len);
    text->len += len;
    text->at[text->len] = '\0';
}

void pst_text_put(struct pst_text *text, const char *string)
{
    pst_text_add(text, string, strlen(string));
}

void pst_text_slice(struct pst_text *text, struct pst_slice piece)
{
    pst_text_add(text, piece.at, piece.len);
}

void pst_text_print(struct pst_text *text, const char *format, ...)
{
    va_list args;
    int len;

    if (!make_room(text, 255))
        return;
    va_start(args, format);
    len = vsnprintf(text->at + text->len, text->size - text->len, format, args);
    va_end(args);
    PST_ASSERT(len >= 0);
    if ((size_t)len >= text->size - text->len) {
        if (!make_room(text, (size_t)len))
            return;
        va_start(args, format);
        vsnprintf(text->at + text->len, text->size - text->len, format, args);
        va_end(args);
    }
    text->len += (size_t)len;
}

void pst_text_quote(struct pst_text *text, const char *string)
{
    struct pst_slice piece = pst_slice_of(string);

    pst_text_add(text, "\"", 1);
    while (piece.len > 0) {
        struct pst_escaped next = pst_escape(piece);

        pst_text_add(text, next.at, next.len);
        piece = pst_slice(piece.at + next.taken, piece.len - next.taken);
    }
    pst_text_add(text, "\"", 1);
}
