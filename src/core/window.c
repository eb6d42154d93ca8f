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

static uint64_t work_at(const struct pst_window *window, uint32_t ago)
{
    if (ago >= window->count)
        return PST_WINDOW_GAP;
    return window->work[(window->next + PST_WINDOW_SECONDS - 1 - ago) % PST_WINDOW_SECONDS];
}

bool pst_window_knows(const struct pst_window *window, uint32_t ago)
{
    return work_at(window, ago) != PST_WINDOW_GAP;
}

double pst_window_mean(const struct pst_window *window, uint32_t seconds)
{
    return pst_window_mean_ago(window, 0, seconds);
}

double pst_window_mean_ago(const struct pst_window *window, uint32_t ago, uint32_t seconds)
{
    uint64_t sum = 0;
    uint32_t known = 0;

    PST_ASSERT(ago + seconds >= 1 && ago + seconds <= PST_WINDOW_SECONDS);
    for (uint32_t i = ago; i < ago + seconds; i++) {
        uint64_t work = work_at(window, i);

        if (work == PST_WINDOW_GAP)
            continue;
        sum = pst_add_sat(sum, work);
        known++;
    }
    return known == 0 ? 0 : (double)sum / PST_S / known;
}
