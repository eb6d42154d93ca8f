/* chain.c - see chain.h. */
#include "base/chain.h"

#include <stdlib.h>
#include <string.h>

/* Unknown lengths start small: most bodies are short, and many wait at once. */
#define SEGMENT_BYTES_MIN ((size_t)4000)
#define SEGMENT_BYTES_MAX ((size_t)256 * 1024)

struct pst_chain_segment {
    struct pst_chain_segment *next;
    char *at; /* in `storage`, or in an earlier segment's (the part behind a replacement) */
    size_t len;
    size_t room; /* free bytes behind them, of the last segment only */
    char storage[];
};

void pst_chain_init(struct pst_chain *chain)
{
    *chain = (struct pst_chain){0};
}

void pst_chain_done(struct pst_chain *chain)
{
    struct pst_chain_segment *segment = chain->first;

    while (segment != NULL) {
        struct pst_chain_segment *next = segment->next;

        free(segment);
        segment = next;
    }
    pst_chain_init(chain);
}

static struct pst_chain_segment *segment_new(size_t size)
{
    struct pst_chain_segment *segment = malloc(sizeof *segment + size);

    if (segment == NULL)
        return NULL;
    segment->next = NULL;
    segment->at = segment->storage;
    segment->len = 0;
    segment->room = size;
    return segment;
}

static size_t segment_size(const struct pst_chain *chain, size_t len, uint64_t expected)
{
    uint64_t size = expected;

    if (expected == 0)
        size = chain->bytes > SEGMENT_BYTES_MIN ? chain->bytes : SEGMENT_BYTES_MIN;
    if (size > SEGMENT_BYTES_MAX)
        size = SEGMENT_BYTES_MAX;
    return size > len ? (size_t)size : len;
}

static void link_segment(struct pst_chain *chain, struct pst_chain_segment *segment)
{
    if (chain->last == NULL)
        chain->first = segment;
    else
        chain->last->next = segment;
    chain->last = segment;
}

char *pst_chain_room(struct pst_chain *chain, uint64_t expected, size_t *ret_size)
{
    struct pst_chain_segment *last = chain->last;

    if (last == NULL || last->room == 0) {
        last = segment_new(segment_size(chain, 0, expected));
        if (last == NULL)
            return NULL;
        link_segment(chain, last);
    }
    *ret_size = last->room;
    return last->at + last->len;
}

int pst_chain_append(struct pst_chain *chain, const void *data, size_t len, uint64_t expected)
{
    struct pst_chain_segment *last = chain->last;
    const char *from = data;
    size_t fits = last == NULL ? 0 : last->room;
    struct pst_chain_segment *more = NULL;

    if (fits > len)
        fits = len;
    if (len > fits) {
        uint64_t still = expected > fits ? expected - fits : 0;

        more = segment_new(segment_size(chain, len - fits, still));
        if (more == NULL)
            return PST_E_NOMEM;
    }
    if (fits > 0) {
        if (from != last->at + last->len)
            memcpy(last->at + last->len, from, fits);
        last->len += fits;
        last->room -= fits;
    }
    if (more != NULL) {
        memcpy(more->at, from + fits, len - fits);
        more->len = len - fits;
        more->room -= more->len;
        link_segment(chain, more);
    }
    chain->bytes += len;
    return PST_OK;
}

/*
 * Splits so that a segment begins at byte `at`; returns the one before it (NULL: none). The bytes stay
 * where they are: the new segment points into the old one's storage, and takes its room.
 */
static int split(struct pst_chain *chain, uint64_t at, struct pst_chain_segment **ret_before)
{
    struct pst_chain_segment *before = NULL, *segment = chain->first, *tail;

    while (segment != NULL && at >= segment->len) {
        at -= segment->len;
        before = segment;
        segment = segment->next;
    }
    if (at > 0) {
        PST_ASSERT(segment != NULL);
        tail = segment_new(0);
        if (tail == NULL)
            return PST_E_NOMEM;
        tail->at = segment->at + at;
        tail->len = segment->len - at;
        tail->room = segment->room;
        tail->next = segment->next;
        segment->len = at;
        segment->room = 0;
        segment->next = tail;
        if (chain->last == segment)
            chain->last = tail;
        before = segment;
    }
    *ret_before = before;
    return PST_OK;
}

int pst_chain_replace(struct pst_chain *chain, uint64_t at, size_t len, const void *data,
                      size_t data_len)
{
    struct pst_chain_segment *before, *end, *segment, *fresh;

    PST_ASSERT(at <= chain->bytes && len <= chain->bytes - at);
    fresh = segment_new(data_len);
    if (fresh == NULL)
        return PST_E_NOMEM;
    if (split(chain, at, &before) != PST_OK || split(chain, at + len, &end) != PST_OK) {
        free(fresh);
        return PST_E_NOMEM;
    }

    /* What is replaced stays in the list, empty: a later segment may point into its storage. */
    for (segment = before == NULL ? chain->first : before->next; segment != NULL && len > 0;
         segment = segment->next) {
        PST_ASSERT(segment->len <= len);
        len -= segment->len;
        segment->len = 0;
        if (segment != chain->last)
            segment->room = 0;
    }
    if (data_len > 0)
        memcpy(fresh->at, data, data_len);
    fresh->len = data_len;
    fresh->room = 0;
    fresh->next = before == NULL ? chain->first : before->next;
    if (before == NULL)
        chain->first = fresh;
    else
        before->next = fresh;
    if (fresh->next == NULL)
        chain->last = fresh;
    chain->bytes = 0;
    for (segment = chain->first; segment != NULL; segment = segment->next)
        chain->bytes += segment->len;
    return PST_OK;
}

size_t pst_chain_pieces(const struct pst_chain *chain, const struct pst_chain_cursor *cursor,
                        struct iovec *ret_pieces, size_t count)
{
    const struct pst_chain_segment *segment = cursor->segment;
    size_t offset = cursor->offset, filled = 0;

    if (segment == NULL) {
        segment = chain->first;
        offset = 0;
    }
    for (; segment != NULL && filled < count; segment = segment->next, offset = 0) {
        if (segment->len == offset)
            continue;
        ret_pieces[filled].iov_base = segment->at + offset;
        ret_pieces[filled].iov_len = segment->len - offset;
        filled++;
    }
    return filled;
}

void pst_chain_advance(const struct pst_chain *chain, struct pst_chain_cursor *cursor,
                       uint64_t bytes)
{
    if (cursor->segment == NULL) {
        cursor->segment = chain->first;
        cursor->offset = 0;
    }
    cursor->at += bytes;
    while (bytes > 0) {
        size_t left;

        PST_ASSERT(cursor->segment != NULL);
        left = cursor->segment->len - cursor->offset;
        if (bytes < left) {
            cursor->offset += (size_t)bytes;
            return;
        }
        bytes -= left;
        if (cursor->segment->next == NULL) {
            cursor->offset = cursor->segment->len;
            PST_ASSERT(bytes == 0);
            return;
        }
        cursor->segment = cursor->segment->next;
        cursor->offset = 0;
    }
}
