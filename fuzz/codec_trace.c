/* A trace file: the first line is its header; lines are read or refused with a reason. */
#include <stdlib.h>
#include <string.h>

#include "codec/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t line_len(const char *at, size_t left)
{
    const char *feed = left == 0 ? NULL : memchr(at, '\n', left);

    return feed == NULL ? left : (size_t)(feed - at) + 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *why = NULL;
    struct pst_trace_format format;
    size_t len = line_len(at, size);

    if (pst_trace_header(&format, at, len, &why) != PST_OK) {
        if (why == NULL)
            abort();
        return 0;
    }
    if (format.columns == 0 || format.columns > PST_TRACE_COLUMNS_MAX)
        abort();
    while ((at += len, size -= len) > 0) {
        struct pst_trace_row row;

        len = line_len(at, size);
        why = NULL;
        if (pst_trace_line(&format, at, len, &row, &why) != PST_OK) {
            if (why == NULL)
                abort();
            continue;
        }
        if (memchr(row.class_, '\0', sizeof row.class_) == NULL ||
            memchr(row.tenant, '\0', sizeof row.tenant) == NULL)
            abort();
    }
    return 0;
}
