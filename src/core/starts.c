/* starts.c - see starts.h. */
#include "core/starts.h"

void pst_starts_add(struct pst_starts *starts, pst_ns took)
{
    starts->took[starts->next] = took;
    starts->next = (starts->next + 1) % PST_STARTS_KEPT;
    if (starts->count < PST_STARTS_KEPT)
        starts->count++;
}

pst_ns pst_starts_p90(const struct pst_starts *starts, pst_ns configured)
{
    pst_ns sorted[PST_STARTS_KEPT];

    if (starts->count == 0)
        return configured;
    for (uint32_t i = 0; i < starts->count; i++) {
        uint32_t at = i;

        for (; at > 0 && sorted[at - 1] > starts->took[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = starts->took[i];
    }
    return sorted[(starts->count * 9 + 9) / 10 - 1];
}
