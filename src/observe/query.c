/* query.c - see query.h. */
#include "observe/query.h"

#include "base/percent.h"

void pst_target_split(struct pst_slice target, struct pst_slice *ret_path,
                      struct pst_slice *ret_query)
{
    const char *mark = target.len == 0 ? NULL : memchr(target.at, '?', target.len);
    size_t len = mark == NULL ? target.len : (size_t)(mark - target.at);

    *ret_path = pst_slice(target.at, len);
    *ret_query = mark == NULL ? PST_SLICE("") : pst_slice(mark + 1, target.len - len - 1);
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
