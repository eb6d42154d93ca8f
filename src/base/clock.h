/*
 * clock.h - the two clocks, and where they may be read.
 *
 * Why: decisions run on the loop's own reading of the monotonic clock; this is for whoever has no loop,
 * and for dates that people read.
 */
#ifndef PST_BASE_CLOCK_H
#define PST_BASE_CLOCK_H

#include "pst.h"

pst_ns pst_clock_now(void);       /* monotonic */
uint64_t pst_clock_wall_ns(void); /* since 1970, UTC; may jump */

#endif
