/* window.c - see window.h. */
#include "core/window.h"

#include "core/num.h"

void pst_window_add(struct pst_window *window, uint64_t work)
{
    window->work[window->next] = work;
    window->next = (window->next + 1) % PST_WINDOW_SECONDS;
    if (window->count < PST_WINDOW_SECONDS)
        window->count++;
}

double pst_window_mean(const struct pst_window *window, uint32_t seconds)
{
    uint64_t sum = 0;
    uint32_t known = 0;

    PST_ASSERT(seconds >= 1 && seconds <= PST_WINDOW_SECONDS);
    for (uint32_t i = 1; i <= seconds && i <= window->count; i++) {
        uint64_t work = window->work[(window->next + PST_WINDOW_SECONDS - i) % PST_WINDOW_SECONDS];

        if (work == PST_WINDOW_GAP)
            continue;
        sum = pst_add_sat(sum, work);
        known++;
    }
    return known == 0 ? 0 : (double)sum / PST_S / known;
}
