/* forecast_season.c - see forecast_season.h. */
#include "core/forecast_season.h"

#include "core/num.h"

#define TOLERANCE_PARTS 90 /* of a season */
#define TOLERANCE_MAX   (300 * PST_S)
#define COMES           0.9
#define CHANCE_MAX      0.9
#define EVIDENCE_OPEN   3.0 /* ln 20 */
#define EVIDENCE_MAX    8.0
#define EVIDENCE_MIN    (-5.0)
#define MISSES_CLOSE    2

void pst_season_init(struct pst_season *season, uint32_t period, pst_ns step)
{
    const uint32_t most = (uint32_t)pst_max_u64(TOLERANCE_MAX / step, 1);
    const uint32_t part = period / TOLERANCE_PARTS;

    *season = (struct pst_season){.period = period, .tolerance = part < most ? part : most};
}

/* That a burst starts within the tolerance of any given step, if they come at random. */
static double chance(const struct pst_season *season, const struct pst_bursts *bursts, uint64_t now)
{
    const uint64_t since = pst_sub_sat(now, season->period);
    const double often = (double)pst_max_u64(pst_bursts_since(bursts, since), 1);
    const double q = often * (2.0 * season->tolerance + 1) / season->period;

    return q < CHANCE_MAX ? q : CHANCE_MAX;
}

static void came(struct pst_season *season, double q, uint64_t said, uint64_t start)
{
    const uint64_t off = start > said ? start - said : said - start;

    season->shift[season->shifts++ % PST_SEASON_SHIFTS] = (uint8_t)pst_min_u64(off, UINT8_MAX);
    season->misses = 0;
    season->evidence += pst_ln(COMES / q);
    if (season->evidence > EVIDENCE_MAX)
        season->evidence = EVIDENCE_MAX;
    if (season->evidence >= EVIDENCE_OPEN)
        season->is_open = true;
}

static void missed(struct pst_season *season, double q)
{
    const double loss = pst_ln((1 - COMES) / (1 - q));

    season->misses++;
    season->evidence += loss;
    if (season->misses >= MISSES_CLOSE) {
        season->is_open = false;
        if (season->evidence > loss) /* one pair in phase is not enough to come back */
            season->evidence = loss;
    }
    if (season->evidence < EVIDENCE_MIN)
        season->evidence = EVIDENCE_MIN;
}

static bool is_measured(const struct pst_series *series, uint64_t from, uint64_t to)
{
    for (uint64_t step = from; step <= to; step++)
        if (pst_series_at(series, step) < 0)
            return false;
    return true;
}

static const struct pst_bursts_run *follower(const struct pst_season *season,
                                             const struct pst_bursts *bursts, uint64_t said)
{
    return pst_bursts_starting(bursts, pst_sub_sat(said, season->tolerance),
                               said + season->tolerance);
}

/* Had the burst come in one of the seasons before too? One that never did is said once only. */
static bool has_come_before(const struct pst_season *season, const struct pst_bursts *bursts,
                            uint64_t start)
{
    for (uint64_t ago = 1; ago <= PST_SEASON_BACK && ago * season->period <= start; ago++)
        if (follower(season, bursts, start - ago * season->period) != NULL)
            return true;
    return false;
}

/* Decides whether the burst that started at `start` came again so many seasons later. */
static void decide(struct pst_season *season, const struct pst_series *series,
                   const struct pst_bursts *bursts, uint64_t start, uint32_t back)
{
    const uint64_t said = start + (uint64_t)back * season->period;
    const uint64_t from = said - season->tolerance, to = said + season->tolerance;
    const struct pst_bursts_run *burst = follower(season, bursts, said);
    const double q = chance(season, bursts, to);

    if (back > 1 && (!has_come_before(season, bursts, start) ||
                     follower(season, bursts, said - season->period) != NULL))
        return; /* what came one season later says the rest itself */
    if (burst != NULL)
        came(season, q, said, burst->start);
    else if (is_measured(series, from, to + bursts->steps_min))
        missed(season, q);
}

void pst_season_judge(struct pst_season *season, const struct pst_series *series,
                      const struct pst_bursts *bursts)
{
    const uint64_t wait = season->tolerance + bursts->steps_min;

    for (uint32_t back = 1; back <= PST_SEASON_BACK; back++) {
        uint64_t *judged = &season->judged[back - 1];

        *judged = pst_max_u64(*judged, pst_bursts_oldest(bursts));
        for (; *judged < bursts->count; (*judged)++) {
            const uint64_t start = pst_bursts_get(bursts, *judged)->start;

            if (series->count <= start + (uint64_t)back * season->period + wait)
                break;
            decide(season, series, bursts, start, back);
        }
    }
}

/* By how many steps the last ones were off, at most. */
static uint32_t spread(const struct pst_season *season)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < PST_SEASON_SHIFTS; i++)
        if (season->shift[i] > most)
            most = season->shift[i];
    return most;
}

/* The steps of the past that may come at this one: a burst may be late, and early by one step more. */
struct reach {
    uint64_t from, to;
};

static struct reach reach_of(const struct pst_season *season, uint64_t step)
{
    const uint32_t late = spread(season), early = late + 1;

    return (struct reach){pst_sub_sat(step, late), step + early};
}

/* The latest season, back from a step to come, that is over. */
static uint64_t seasons_back(const struct pst_season *season, const struct pst_series *series,
                             uint64_t step)
{
    PST_ASSERT(series->count > 0 && step >= series->count);
    return (step - series->count) / season->period + 1;
}

/*
 * Will the burst that started at `start`, so many seasons before the last one, come again? The last
 * season's may; that of the one before if it was no single one; older ones if they still come.
 */
static bool comes_again(const struct pst_season *season, const struct pst_bursts *bursts,
                        uint64_t start, uint64_t before_last)
{
    if (!season->is_open)
        return false;
    if (before_last == 0 || follower(season, bursts, start + before_last * season->period) != NULL)
        return true;
    if (before_last < PST_SEASON_BACK)
        return has_come_before(season, bursts, start);
    return follower(season, bursts, start + (before_last - 1) * season->period) != NULL;
}

/*
 * Of a step of the past. Near a burst that comes again: the largest of what the step may stand for. Of
 * another burst nothing: what is not said to come again is no reason to be ready for it.
 */
static double seen(const struct pst_season *season, const struct pst_series *series,
                   const struct pst_bursts *bursts, uint64_t step, uint64_t before_last,
                   bool *ret_burst)
{
    const struct reach reach = reach_of(season, step);
    const struct pst_bursts_run *burst = pst_bursts_touching(bursts, reach.from, reach.to);
    double most = PST_RATE_UNKNOWN;

    if (burst != NULL && comes_again(season, bursts, burst->start, before_last)) {
        *ret_burst = true;
        for (uint64_t near = reach.from; near <= reach.to; near++) {
            const double rate = pst_series_at(series, near);

            most = rate > most ? rate : most;
        }
    } else if (before_last < PST_SEASON_BACK &&
               (burst == NULL || pst_bursts_touching(bursts, step, step) == NULL)) {
        most = pst_series_at(series, step);
    }
    return most;
}

double pst_season_at(const struct pst_season *season, const struct pst_series *series,
                     const struct pst_bursts *bursts, uint64_t step, bool *ret_burst)
{
    const uint64_t last = seasons_back(season, series, step);
    const uint64_t look = season->is_open ? PST_SEASON_LOOK : PST_SEASON_BACK;
    double most = PST_RATE_UNKNOWN;

    *ret_burst = false;
    for (uint64_t ago = last; ago < last + look && ago * season->period <= step; ago++) {
        const double rate =
            seen(season, series, bursts, step - ago * season->period, ago - last, ret_burst);

        most = rate > most ? rate : most;
    }
    return most;
}
