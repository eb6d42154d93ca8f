/*
 * codec_guard.c - the guard's verdicts on heads and chunked bodies do not depend on the cuts.
 *
 * First byte: bit 0 response, bit 1 chunks; the others: the size of a piece less one.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/guard.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct verdict {
    int rc;
    size_t used;
    const char *why;
};

static struct verdict judge_head(const char *bytes, size_t len, size_t step, bool response)
{
    struct pst_guard_head guard = {.response = response};
    struct verdict v = {.rc = PST_E_AGAIN};
    size_t have = 0;

    while (v.rc == PST_E_AGAIN && have < len) {
        have = len - have < step ? len : have + step;
        v.rc = pst_guard_head(&guard, bytes, have, &v.used, &v.why);
    }
    if (v.rc == PST_OK)
        PST_ASSERT(v.used >= 4 && memcmp(bytes + v.used - 4, "\r\n\r\n", 4) == 0);
    return v;
}

static struct verdict judge_chunks(const char *bytes, size_t len, size_t step, bool response)
{
    struct pst_guard_chunk guard = {.response = response};
    struct verdict v = {.rc = PST_OK};

    while (v.rc == PST_OK && v.used < len && guard.state != PST_GUARD_CHUNK_END) {
        size_t n = len - v.used < step ? len - v.used : step, used;

        v.rc = pst_guard_chunk(&guard, bytes + v.used, n, &used, &v.why);
        PST_ASSERT(used <= n && (used > 0 || v.rc != PST_OK));
        v.used += used;
    }
    return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct verdict whole, cut;
    const char *bytes;
    size_t step;
    bool response;

    if (size < 1)
        return 0;
    bytes = (const char *)data + 1;
    response = (data[0] & 1) != 0;
    step = (size_t)(data[0] >> 2) + 1;
    if ((data[0] & 2) == 0) {
        whole = judge_head(bytes, size - 1, size, response);
        cut = judge_head(bytes, size - 1, step, response);
    } else {
        whole = judge_chunks(bytes, size - 1, size, response);
        cut = judge_chunks(bytes, size - 1, step, response);
    }
    PST_ASSERT(whole.rc == cut.rc && whole.why == cut.why && whole.used == cut.used);
    return 0;
}
