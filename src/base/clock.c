/* clock.c - see clock.h. */
#include "base/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t which)
{
    struct timespec t;

    PST_ASSERT(clock_gettime(which, &t) == 0);
    return (uint64_t)t.tv_sec * PST_S + (uint64_t)t.tv_nsec;
}

pst_ns pst_clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t pst_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}
