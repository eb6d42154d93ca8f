#include "rehearse/seen.h"

#include <stdlib.h>

#include "core/num.h"

struct pst_seen_entry {
    char *id; /* NULL: free */
    uint64_t hash;
    uint32_t count;
};

static uint64_t hash_of(struct pst_slice id)
{
    uint64_t hash = id.len;

    for (size_t i = 0; i < id.len; i++)
        hash = hash * 31 + (unsigned char)id.at[i];
    return pst_mix64(hash);
}

static struct pst_seen_entry *place_of(struct pst_seen_entry *entries, uint32_t size, uint64_t hash,
                                       struct pst_slice id)
{
    uint32_t i = (uint32_t)hash & (size - 1);

    while (entries[i].id != NULL &&
           !(entries[i].hash == hash && pst_slice_equal(pst_slice_of(entries[i].id), id)))
        i = (i + 1) & (size - 1);
    return &entries[i];
}

/* At most half full, so that a search ends soon. */
static bool make_room(struct pst_seen *seen)
{
    uint32_t size = seen->size == 0 ? 256 : seen->size * 2;
    struct pst_seen_entry *entries;

    if (seen->count < seen->size / 2)
        return true;
    if (seen->count >= seen->ids_max)
        return false;
    entries = calloc(size, sizeof *entries);
    if (entries == NULL)
        return false;
    for (uint32_t i = 0; i < seen->size; i++) {
        struct pst_seen_entry *old = &seen->entries[i];

        if (old->id != NULL)
            *place_of(entries, size, old->hash, pst_slice_of(old->id)) = *old;
    }
    free(seen->entries);
    seen->entries = entries;
    seen->size = size;
    return true;
}

void pst_seen_done(struct pst_seen *seen)
{
    for (uint32_t i = 0; i < seen->size; i++)
        free(seen->entries[i].id);
    free(seen->entries);
    *seen = (struct pst_seen){0};
}

void pst_seen_add(struct pst_seen *seen, struct pst_slice id)
{
    uint64_t hash = hash_of(id);
    struct pst_seen_entry *entry;

    if (seen->size > 0) {
        entry = place_of(seen->entries, seen->size, hash, id);
        if (entry->id != NULL) {
            entry->count++;
            return;
        }
    }
    if (seen->count >= seen->ids_max || !make_room(seen)) {
        seen->lost++;
        return;
    }
    entry = place_of(seen->entries, seen->size, hash, id);
    entry->id = strndup(id.at, id.len);
    if (entry->id == NULL) {
        seen->lost++;
        return;
    }
    entry->hash = hash;
    entry->count = 1;
    seen->count++;
}

uint32_t pst_seen_count(const struct pst_seen *seen, struct pst_slice id)
{
    if (seen->size == 0)
        return 0;
    return place_of(seen->entries, seen->size, hash_of(id), id)->count;
}

void pst_seen_print(const struct pst_seen *seen, struct pst_text *text)
{
    const char *comma = "";

    pst_text_put(text, "{");
    for (uint32_t i = 0; i < seen->size; i++) {
        if (seen->entries[i].id == NULL)
            continue;
        pst_text_put(text, comma);
        pst_text_quote(text, seen->entries[i].id);
        pst_text_print(text, ":%u", seen->entries[i].count);
        comma = ",";
    }
    pst_text_put(text, "}");
}
