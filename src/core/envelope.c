/* envelope.c - see envelope.h. */
#include "core/envelope.h"

#include <string.h>

#include "core/num.h"

#define RING     (PST_ENVELOPE_LONGEST + 1)
#define HALVINGS 12 /* to a part in 4,096 of what leaves nothing late */

/* Spaced geometrically: between two of them the need is within a third. */
static const uint32_t lengths[PST_ENVELOPE_WINDOWS] = {
    1, 2, 3, 5, 8, 13, 22, 36, 60, 100, 170, PST_ENVELOPE_LONGEST,
};

static void close_minute(struct pst_envelope *e)
{
    memcpy(e->minutes[e->minute], e->running, sizeof e->running);
    memset(e->running, 0, sizeof e->running);
    e->works[e->minute] = e->running_work;
    e->running_work = 0;
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
    e->running_work += work;
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

/* Slots that leave nothing late. */
static double slots_for_all(const struct pst_envelope *e, double patience)
{
    double most = 0;

    for (uint32_t w = 0; w < PST_ENVELOPE_WINDOWS; w++) {
        double work = (double)pst_max_u64(e->hour[w], e->running[w]);
        double slots = work / ((double)lengths[w] * PST_S + patience);

        if (slots > most)
            most = slots;
    }
    return most;
}

/* What the slots do not serve in time of a minute's largest windows: the worst of them. */
static double late_of(const uint64_t work[PST_ENVELOPE_WINDOWS], double slots, double patience)
{
    double most = 0;

    for (uint32_t w = 0; w < PST_ENVELOPE_WINDOWS; w++) {
        double late = (double)work[w] - slots * ((double)lengths[w] * PST_S + patience);

        if (late > most)
            most = late;
    }
    return most;
}

static double late_in_all(const struct pst_envelope *e, double slots, double patience)
{
    double late = late_of(e->running, slots, patience);

    for (uint32_t m = 0; m < PST_ENVELOPE_MINUTES; m++)
        late += late_of(e->minutes[m], slots, patience);
    return late;
}

double pst_envelope_slots(const struct pst_envelope *e, pst_ns patience, double late_share)
{
    double low = 0, high = slots_for_all(e, (double)patience);
    double allowed = (double)e->running_work;

    for (uint32_t m = 0; m < PST_ENVELOPE_MINUTES; m++)
        allowed += (double)e->works[m];
    allowed *= late_share;
    for (int i = 0; i < HALVINGS && allowed > 0; i++) {
        double middle = (low + high) / 2;

        if (late_in_all(e, middle, (double)patience) <= allowed)
            high = middle;
        else
            low = middle;
    }
    return high;
}
