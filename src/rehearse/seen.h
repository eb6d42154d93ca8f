/*
 * seen.h - how often each request id came: the proof that nothing ran twice, or not at all.
 *
 * Guarantee: exact up to ids_max different ids; beyond it new ones are only counted as unseen.
 */
#ifndef PST_REHEARSE_SEEN_H
#define PST_REHEARSE_SEEN_H

#include "base/slice.h"
#include "base/text.h"

struct pst_seen_entry;

struct pst_seen {
    struct pst_seen_entry *entries;
    uint32_t size; /* power of two, or 0 */
    uint32_t count, ids_max;
    uint64_t lost; /* ids that found no room */
};

void pst_seen_done(struct pst_seen *seen);
void pst_seen_add(struct pst_seen *seen, struct pst_slice id);
uint32_t pst_seen_count(const struct pst_seen *seen, struct pst_slice id);
/* A JSON object: id -> count. */
void pst_seen_print(const struct pst_seen *seen, struct pst_text *text);

#endif
