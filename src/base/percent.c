/* percent.c - see percent.h. */
#include "base/percent.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool pst_percent_decode(struct pst_slice from, char *text, size_t size)
{
    size_t len = 0;

    for (size_t i = 0; i < from.len; i++) {
        char c = from.at[i];

        if (c == '%') {
            int high = i + 2 < from.len ? hex_digit(from.at[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(from.at[i + 2]) : -1;

            if (low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        }
        if (c == '\0' || len + 1 >= size)
            return false;
        text[len++] = c;
    }
    if (size == 0)
        return false;
    text[len] = '\0';
    return true;
}
