/*
 * A stream framed in one piece and byte by byte: the same events with the same data. Data never exceeds
 * what was fed, but for the line feeds that join its lines.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was framed, as a running hash, so that runs may be cut differently. */
struct framed {
    uint64_t hash;
    size_t bytes;
    size_t events;
    bool at_boundary;
};

static void add(struct framed *framed, uint8_t tag, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        framed->hash = (framed->hash ^ (uint8_t)text[i] ^ (uint64_t)tag << 8) * 0x100000001b3;
}

static struct framed frame(const char *bytes, size_t len, size_t piece)
{
    struct framed framed = {0};
    struct pst_sse sse;

    pst_sse_init(&sse);
    for (size_t at = 0; at < len; at += piece) {
        struct pst_sse_input input = {bytes + at,
                                      bytes + at + (len - at < piece ? len - at : piece)};
        struct pst_sse_text text;
        enum pst_sse_kind kind;

        while ((kind = pst_sse_next(&sse, &input, &text)) != PST_SSE_MORE) {
            if (kind == PST_SSE_END) {
                add(&framed, PST_SSE_END, "|", 1);
                if (sse.name_len <= PST_SSE_NAME_MAX)
                    add(&framed, PST_SSE_END, sse.name, sse.name_len);
                framed.events++;
                continue;
            }
            if (text.len == 0)
                abort();
            add(&framed, (uint8_t)kind, text.at, text.len);
            framed.bytes += text.len;
        }
        if (input.at != input.end)
            abort();
    }
    framed.at_boundary = pst_sse_at_boundary(&sse);
    return framed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct framed whole = frame((const char *)data, size, size + 1);
    struct framed pieces = frame((const char *)data, size, 1);

    if (whole.hash != pieces.hash || whole.bytes != pieces.bytes || whole.events != pieces.events ||
        whole.at_boundary != pieces.at_boundary)
        abort();
    if (whole.bytes > size || whole.events > size)
        abort();
    return 0;
}
