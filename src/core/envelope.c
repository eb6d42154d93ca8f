/* envelope.c - see envelope.h. */
#include "core/envelope.h"

#include <string.h>

#include "core/num.h"

#define RING (PST_ENVELOPE_LONGEST + 1)

/* Spaced geometrically: between two of them the need is within a third. */
static const uint32_t lengths[PST_ENVELOPE_WINDOWS] = {
    1, 2, 3, 5, 8, 13, 22, 36, 60, 100, 170, PST_ENVELOPE_LONGEST,
};

static void close_minute(struct pst_envelope *e)
{
    memcpy(e->minutes[e->minute], e->running, sizeof e->running);
    memset(e->running, 0, sizeof e->running);
    e->minute = (e->minute + 1) % PST_ENVELOPE_MINUTES;
    e->second = 0;
    for (uint32_t w = 0; w < PST_ENVELOPE_WINDOWS; w++) {
        e->hour[w] = 0;
        for (uint32_t m = 0; m < PST_ENVELOPE_MINUTES; m++)
            e->hour[w] = pst_max_u64(e->hour[w], e->minutes[m][w]);
    }
}

void pst_envelope_add(struct pst_envelope *e, uint64_t work)
{
    e->total += work;
    e->at = (e->at + 1) % RING;
    e->totals[e->at] = e->total;
    if (e->seconds < PST_ENVELOPE_LONGEST)
        e->seconds++;
    for (uint32_t w = 0; w < PST_ENVELOPE_WINDOWS; w++) {
        uint32_t back = lengths[w] < e->seconds ? lengths[w] : e->seconds;
        uint64_t came = e->total - e->totals[(e->at + RING - back) % RING];

        e->running[w] = pst_max_u64(e->running[w], came);
    }
    if (++e->second == 60)
        close_minute(e);
}

double pst_envelope_slots(const struct pst_envelope *e, pst_ns patience)
{
    double most = 0;

    for (uint32_t w = 0; w < PST_ENVELOPE_WINDOWS; w++) {
        double work = (double)pst_max_u64(e->hour[w], e->running[w]);
        double slots = work / ((double)lengths[w] * PST_S + (double)patience);

        if (slots > most)
            most = slots;
    }
    return most;
}
