/* kept_head.c - see kept_head.h. */
#include "gateway/kept_head.h"

#include <stdlib.h>

#define ROOM_FOR_OURS 4 /* headers that the relay adds */

/* Whole seconds; a date is not read (engines send numbers). */
static uint32_t retry_after_of(const struct pst_head *head)
{
    const struct pst_header *header = pst_head_find(head, PST_SLICE("retry-after"));
    uint64_t seconds = 0;

    if (header == NULL || header->value.len == 0 || header->value.len > 6)
        return 0;
    for (size_t i = 0; i < header->value.len; i++) {
        if (header->value.at[i] < '0' || header->value.at[i] > '9')
            return 0;
        seconds = seconds * 10 + (uint64_t)(header->value.at[i] - '0');
    }
    return (uint32_t)(seconds * 1000);
}

/* Names that this hop says itself. */
static bool is_ours(const struct pst_head *head, struct pst_slice name)
{
    return pst_head_is_hop(head, name) || pst_slice_equal_nocase(name, PST_SLICE("date")) ||
           pst_slice_equal_nocase(name, PST_SLICE("x-request-id")) ||
           pst_slice_equal_nocase(name, PST_SLICE("server-timing")) ||
           (head->status >= 500 && pst_slice_equal_nocase(name, PST_SLICE("x-should-retry")));
}

static enum pst_answer_kind kind_of(const struct pst_head *head)
{
    static const struct pst_slice events = {"text/event-stream", 17},
                                  json = {"application/json", 16};
    const struct pst_header *type = pst_head_find(head, PST_SLICE("content-type"));

    if (type == NULL)
        return PST_ANSWER_OPAQUE;
    if (type->value.len >= events.len && strncasecmp(type->value.at, events.at, events.len) == 0)
        return PST_ANSWER_EVENTS;
    if (type->value.len >= json.len && strncasecmp(type->value.at, json.at, json.len) == 0)
        return PST_ANSWER_JSON;
    return PST_ANSWER_OPAQUE;
}

bool pst_kept_head_take(struct pst_kept_head *kept, const struct pst_head *head)
{
    size_t bytes = 0;
    char *to;

    for (size_t i = 0; i < head->count; i++)
        bytes += head->headers[i].name.len + head->headers[i].value.len;
    kept->bytes = bytes <= sizeof kept->inline_ ? kept->inline_ : malloc(bytes);
    if (kept->bytes == NULL)
        return false;
    to = kept->bytes;
    kept->count = 0;
    for (size_t i = 0; i < head->count; i++) {
        struct pst_header from = head->headers[i];

        if (is_ours(head, from.name))
            continue;
        if (kept->count == PST_COUNT_OF(kept->headers) - ROOM_FOR_OURS)
            return false;
        memcpy(to, from.name.at, from.name.len);
        kept->headers[kept->count].name = pst_slice(to, from.name.len);
        to += from.name.len;
        if (from.value.len != 0)
            memcpy(to, from.value.at, from.value.len);
        kept->headers[kept->count].value = pst_slice(to, from.value.len);
        to += from.value.len;
        kept->count++;
    }
    kept->status = head->status;
    kept->kind = kind_of(head);
    kept->has_body = head->has_body;
    kept->content_length = head->content_length;
    kept->retry_after_ms = retry_after_of(head);
    kept->until_close = head->has_body && head->content_length == PST_LENGTH_UNKNOWN &&
                        pst_head_find(head, PST_SLICE("transfer-encoding")) == NULL;
    return true;
}

void pst_kept_head_done(struct pst_kept_head *kept)
{
    if (kept->bytes != kept->inline_)
        free(kept->bytes);
    kept->bytes = NULL;
}
