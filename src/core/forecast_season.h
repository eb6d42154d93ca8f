/*
 * forecast_season.h - what came one season ago comes again, as long as it does.
 *
 * Why: a batch job that starts ten minutes past every hour cannot be seen in the rate before it, and
 * two thirds of its work is over when a replica asked for at its start is ready. Its phase can be
 * learnt; but random bursts coincide too now and then, so that a season must show evidence first.
 *
 * Each burst says that one will start a season later; and if none did, but had before, once more two
 * seasons later. What came of it is a step of a sequential test between "they follow the season" (a said
 * burst comes nine times in ten) and "they come at random" (it comes with the chance q of a coincidence,
 * from how many bursts there are): ln(0.9 / q) for one that came, ln(0.1 / (1 - q)) for one that did not.
 *
 *   closed --evidence 20 to 1--> open --two said bursts in a row did not come--> closed
 *
 * One burst an hour: q is 2 %, so the second burst in phase opens it; where bursts have come at random,
 * it takes two such in a row, one random pair in some thousands.
 *
 * Guarantee: O(log bursts) per step. A time that was not measured says nothing.
 * Source: Wald, "Sequential tests of statistical hypotheses" (1945).
 */
#ifndef PST_CORE_FORECAST_SEASON_H
#define PST_CORE_FORECAST_SEASON_H

#include "core/forecast_burst.h"
#include "core/forecast_series.h"

#define PST_SEASON_BACK   2 /* so many seasons ago still counts */
#define PST_SEASON_LOOK   6 /* … of a burst that still comes: bursts differ in length */
#define PST_SEASON_SHIFTS 8

struct pst_season {
    uint32_t period;    /* steps */
    uint32_t tolerance; /* a burst that comes so many steps off still follows the season */
    uint64_t judged[PST_SEASON_BACK]; /* bursts whose saying for 1 and 2 seasons later is decided */
    double evidence;                  /* ln of the odds */
    uint32_t misses;                  /* in a row */
    bool is_open;                     /* by its bursts */
    uint32_t shifts;                  /* bursts that came, ever */
    uint8_t shift[PST_SEASON_SHIFTS]; /* ring: by how many steps the last ones were off */
};

void pst_season_init(struct pst_season *season, uint32_t period, pst_ns step);
/* After each step was added to both. */
void pst_season_judge(struct pst_season *season, const struct pst_series *series,
                      const struct pst_bursts *bursts);
/*
 * The rate of a step to come: the larger of the same step of the last two seasons, and of the last six
 * where a burst that still comes was on; near bursts the largest within the steps by which they have
 * been off, and one more before. Unknown if none is known. *ret_burst: a burst is said to be on then,
 * perhaps.
 */
double pst_season_at(const struct pst_season *season, const struct pst_series *series,
                     const struct pst_bursts *bursts, uint64_t step, bool *ret_burst);

#endif
