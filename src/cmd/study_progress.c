/* study_progress.c - see study_progress.h. */
#include "cmd/study_progress.h"

#include "base/clock.h"
#include "cmd/units.h"

#define BAR        24
#define LINES_MAX  12 /* of runs; the rest is in the sum */
#define NAME_WIDTH 24

#define UP    "\033[%uA"
#define CLEAR "\033[K"
#define BELOW "\033[J"
/* A line that is wider than the terminal ends at its edge: a second one would be in nobody's count. */
#define NO_WRAP "\033[?7l"
#define WRAP    "\033[?7h"

static void draw_lane(const struct pst_study *study, struct pst_study_lane *lane, uint32_t run,
                      FILE *terminal)
{
    const struct pst_study_run *of = &study->runs[run];
    const pst_ns horizon = study->scenario->horizon, now = atomic_load(&lane->now);
    const double share = now >= horizon ? 1.0 : (double)now / (double)horizon;
    const pst_ns elapsed = pst_clock_now() - atomic_load(&lane->begin);
    const double rate = (double)atomic_load(&lane->arrivals) / ((double)elapsed / PST_S + 1e-9);
    char bar[BAR + 1], done[PST_UNITS_MAX], all[PST_UNITS_MAX], speed[PST_UNITS_MAX];

    for (int i = 0; i < BAR; i++)
        bar[i] = i < (int)(share * BAR) ? '#' : '-';
    bar[BAR] = '\0';
    fprintf(terminal, CLEAR "%-*.*s seed %-4llu [%s] %3.0f %%  %s of %s, %s arrivals/s\n",
            NAME_WIDTH, NAME_WIDTH, of->policy->policy.name, (unsigned long long)of->seed, bar,
            100 * share, pst_units((double)now, PST_UNIT_TIME, done), pst_units_span(horizon, all),
            pst_units(rate, PST_UNIT_COUNT, speed));
}

void pst_study_progress_draw(struct pst_study_progress *progress, const struct pst_study *study,
                             struct pst_study_lane *lanes, uint32_t lanes_count, FILE *terminal)
{
    uint32_t done = 0, lines = 0;

    fputs(NO_WRAP, terminal);
    if (progress->lines > 0)
        fprintf(terminal, UP, progress->lines);
    for (uint32_t i = 0; i < lanes_count; i++) {
        const uint32_t run = atomic_load(&lanes[i].run);

        done += atomic_load(&lanes[i].done);
        if (run == PST_STUDY_LANE_IDLE || lines == LINES_MAX)
            continue;
        draw_lane(study, &lanes[i], run, terminal);
        lines++;
    }
    fprintf(terminal, CLEAR "%u of %u runs done\n" BELOW WRAP, done, study->runs_count);
    fflush(terminal);
    progress->lines = lines + 1;
}

void pst_study_progress_clear(struct pst_study_progress *progress, FILE *terminal)
{
    if (progress->lines > 0)
        fprintf(terminal, UP BELOW, progress->lines);
    fflush(terminal);
    progress->lines = 0;
}
