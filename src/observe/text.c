/* text.c - see text.h. */
#include "observe/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool reserve(struct pst_text *text, size_t more)
{
    size_t size = text->size == 0 ? 4096 : text->size;
    char *grown;

    if (text->failed)
        return false;
    while (size - text->len < more)
        size *= 2;
    if (size == text->size)
        return true;
    grown = realloc(text->at, size);
    if (grown == NULL) {
        text->failed = true;
        return false;
    }
    text->at = grown;
    text->size = size;
    return true;
}

void pst_text_add(struct pst_text *text, struct pst_slice piece)
{
    if (piece.len == 0 || !reserve(text, piece.len))
        return;
    memcpy(text->at + text->len, piece.at, piece.len);
    text->len += piece.len;
}

void pst_text_format(struct pst_text *text, const char *format, ...)
{
    va_list arguments, again;
    int len;

    va_start(arguments, format);
    va_copy(again, arguments);
    len = vsnprintf(NULL, 0, format, arguments);
    PST_ASSERT(len >= 0);
    if (reserve(text, (size_t)len + 1)) {
        (void)vsnprintf(text->at + text->len, (size_t)len + 1, format, again);
        text->len += (size_t)len;
    }
    va_end(again);
    va_end(arguments);
}

void pst_text_seconds(struct pst_text *text, pst_ns ns)
{
    char decimals[10];
    int len = 9;

    (void)snprintf(decimals, sizeof decimals, "%09u", (unsigned)(ns % PST_S));
    while (len > 0 && decimals[len - 1] == '0')
        len--;
    pst_text_format(text, "%llu%s%.*s", (unsigned long long)(ns / PST_S), len > 0 ? "." : "", len,
                    decimals);
}

void pst_text_done(struct pst_text *text)
{
    free(text->at);
    *text = (struct pst_text){NULL, 0, 0, false};
}
