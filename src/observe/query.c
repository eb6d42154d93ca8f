/* query.c - see query.h. */
#include "observe/query.h"

void pst_target_split(struct pst_slice target, struct pst_slice *ret_path,
                      struct pst_slice *ret_query)
{
    const char *mark = target.len == 0 ? NULL : memchr(target.at, '?', target.len);
    size_t len = mark == NULL ? target.len : (size_t)(mark - target.at);

    *ret_path = pst_slice(target.at, len);
    *ret_query = mark == NULL ? PST_SLICE("") : pst_slice(mark + 1, target.len - len - 1);
}

static int hex(char c)
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
            int high = i + 2 < from.len ? hex(from.at[i + 1]) : -1;
            int low = high >= 0 ? hex(from.at[i + 2]) : -1;

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

int pst_query_find(struct pst_slice query, const char *name, char *text, size_t size)
{
    size_t name_len = strlen(name), at = 0;

    while (at < query.len) {
        const char *pair = query.at + at;
        const char *end = memchr(pair, '&', query.len - at);
        size_t len = end == NULL ? query.len - at : (size_t)(end - pair);

        if (len > name_len && memcmp(pair, name, name_len) == 0 && pair[name_len] == '=')
            return pst_percent_decode(pst_slice(pair + name_len + 1, len - name_len - 1), text,
                                      size)
                       ? PST_OK
                       : PST_E_SYNTAX;
        at += len + 1;
    }
    text[0] = '\0';
    return PST_E_AGAIN;
}
