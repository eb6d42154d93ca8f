/* dispersion.c - see dispersion.h. */
#include "core/dispersion.h"

#define MEMORY_S    600
#define WINDOWS_MIN 20 /* fewer say nothing of a variance */
#define INDEX_MIN   0.25
#define INDEX_MAX   4.0

static const uint32_t lengths_s[PST_DISPERSION_SCALES] = {1, 10};

static void scale_add(struct pst_dispersion_scale *s, double arrivals, uint32_t length_s)
{
    double change = 0;

    s->running += arrivals;
    if (++s->seconds < length_s)
        return;
    if (s->has_last) {
        change = s->running - s->last;
        if (s->windows < MEMORY_S / length_s)
            s->windows++;
        s->mean += (s->running - s->mean) / s->windows;
        s->square += (change * change / 2 - s->square) / s->windows;
    }
    s->last = s->running;
    s->has_last = true;
    s->running = 0;
    s->seconds = 0;
}

void pst_dispersion_add(struct pst_dispersion *dispersion, double arrivals)
{
    for (uint32_t i = 0; i < PST_DISPERSION_SCALES; i++)
        scale_add(&dispersion->scales[i], arrivals, lengths_s[i]);
}

void pst_dispersion_gap(struct pst_dispersion *dispersion)
{
    for (uint32_t i = 0; i < PST_DISPERSION_SCALES; i++) {
        dispersion->scales[i].has_last = false;
        dispersion->scales[i].running = 0;
        dispersion->scales[i].seconds = 0;
    }
}

double pst_dispersion_index(const struct pst_dispersion *dispersion)
{
    double index = 0;
    bool is_known = false;

    for (uint32_t i = 0; i < PST_DISPERSION_SCALES; i++) {
        const struct pst_dispersion_scale *s = &dispersion->scales[i];

        if (s->windows < WINDOWS_MIN || s->mean <= 0)
            continue;
        is_known = true;
        if (s->square / s->mean > index)
            index = s->square / s->mean;
    }
    if (!is_known)
        return 1;
    if (index < INDEX_MIN)
        return INDEX_MIN;
    return index > INDEX_MAX ? INDEX_MAX : index;
}
