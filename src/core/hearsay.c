/* hearsay.c - see hearsay.h. */
#include "core/hearsay.h"

#include "core/num.h"

#define UNSAID       UINT32_MAX
#define LAG          (18 * PST_S) /* figures of engines are up to so old when they are read */
#define MOMENT       (4 * PST_S)  /* MOMENTS of them reach back beyond KEPT and LAG */
#define KV_FULL_PPM  900000
#define PASSING_PART 8  /* fewer wait than this part of what runs: they only pass through */
#define GROWTH_PARTS 32 /* of the whole, up again with every sample */

_Static_assert(PST_HEARSAY_MOMENTS *MOMENT >= PST_HEARSAY_KEPT + LAG + MOMENT,
               "what was in flight when the oldest sample was true is known");

void pst_hearsay_init(struct pst_hearsay *hearsay, uint32_t inflight, pst_ns now)
{
    *hearsay = (struct pst_hearsay){.beyond = UINT32_MAX, .can_run = UINT32_MAX};
    hearsay->past[0].until = now;
    hearsay->past[0].most = inflight;
    hearsay->past[0].least = inflight;
}

/* Nothing that was learned holds; and what is said next is not the first that is heard. */
static void forget_load(struct pst_hearsay *hearsay)
{
    hearsay->beyond = hearsay->within = 0;
    hearsay->others = 0;
    hearsay->waiting = 0;
    hearsay->can_run = UINT32_MAX;
}

enum pst_hearsay_motion pst_hearsay_motion(struct pst_hearsay *hearsay,
                                           const struct pst_hearsay_sample *sample)
{
    pst_ns before_at = hearsay->counted_at;
    uint64_t before = hearsay->tokens;
    bool ran = hearsay->running > 0;

    if (sample->tokens == UINT64_MAX || sample->at <= before_at)
        return PST_HEARSAY_UNKNOWN;
    hearsay->counted_at = sample->at;
    hearsay->tokens = sample->tokens;
    hearsay->running = sample->running == UNSAID ? 0 : sample->running;
    if (before_at == 0)
        return PST_HEARSAY_UNKNOWN;
    if (sample->tokens < before) {
        forget_load(hearsay);
        return PST_HEARSAY_RESTARTED;
    }
    if (sample->tokens > before)
        return PST_HEARSAY_MOVES;
    return ran && hearsay->running > 0 ? PST_HEARSAY_STILL : PST_HEARSAY_UNKNOWN;
}

/* The moment that runs ends now, unless it is too short to be one of its own. */
static void note_ours(struct pst_hearsay *hearsay, const struct pst_hearsay_ours *ours, pst_ns now)
{
    uint32_t before = (hearsay->newest + PST_HEARSAY_MOMENTS - 1) % PST_HEARSAY_MOMENTS;
    uint32_t most = ours->most, least = ours->least;

    if (hearsay->past[hearsay->newest].until - hearsay->past[before].until >= MOMENT) {
        hearsay->newest = (hearsay->newest + 1) % PST_HEARSAY_MOMENTS;
    } else {
        most = (uint32_t)pst_max_u64(most, hearsay->past[hearsay->newest].most);
        least = (uint32_t)pst_min_u64(least, hearsay->past[hearsay->newest].least);
    }
    hearsay->past[hearsay->newest].until = now;
    hearsay->past[hearsay->newest].most = most;
    hearsay->past[hearsay->newest].least = least;
}

/* What we had in flight when it was so, or up to LAG before: the most and the least. */
static void ours_around(const struct pst_hearsay *hearsay, pst_ns at, uint32_t *ret_most,
                        uint32_t *ret_least)
{
    pst_ns since = pst_sub_sat(at, LAG);
    uint32_t most = 0, least = UINT32_MAX;

    for (uint32_t n = 0; n < PST_HEARSAY_MOMENTS; n++) {
        uint32_t moment = (hearsay->newest + PST_HEARSAY_MOMENTS - n) % PST_HEARSAY_MOMENTS;
        uint32_t before = (moment + PST_HEARSAY_MOMENTS - 1) % PST_HEARSAY_MOMENTS;
        bool oldest = n + 1 == PST_HEARSAY_MOMENTS;

        if (hearsay->past[moment].until < since)
            break;
        if (oldest || hearsay->past[before].until <= at) {
            most = (uint32_t)pst_max_u64(most, hearsay->past[moment].most);
            least = (uint32_t)pst_min_u64(least, hearsay->past[moment].least);
        }
    }
    *ret_most = most;
    *ret_least = least == UINT32_MAX ? 0 : least;
}

/* What others run there, from what it holds in all. */
static uint32_t believe(struct pst_hearsay *hearsay, uint64_t held, uint32_t most, uint32_t least)
{
    uint32_t beyond = (uint32_t)pst_min_u64(pst_sub_sat(held, most), UINT32_MAX - 1);
    uint32_t within = (uint32_t)pst_min_u64(pst_sub_sat(held, least), UINT32_MAX - 1);
    uint64_t least_others = pst_min_u64(beyond, hearsay->beyond);
    uint64_t most_others = pst_max_u64(within, hearsay->within);
    uint64_t others = hearsay->others;

    hearsay->beyond = beyond;
    hearsay->within = within;
    if (least_others == 0)
        others -= (others + 3) / 4;
    others = pst_min_u64(pst_max_u64(others, least_others), most_others);
    hearsay->others = (uint32_t)others;
    return hearsay->others;
}

/* From what waits inside it: how much it can run. @full: all slots that we may use were in use. */
static void learn(struct pst_hearsay *hearsay, const struct pst_hearsay_sample *sample,
                  uint32_t whole, bool full)
{
    bool kv_full = sample->kv_ppm != UNSAID && sample->kv_ppm >= KV_FULL_PPM;
    uint64_t stuck = pst_min_u64(sample->waiting, hearsay->waiting);
    uint32_t can_run = (uint32_t)pst_min_u64(hearsay->can_run, whole);

    if (sample->waiting == UNSAID)
        return;
    hearsay->waiting = sample->waiting;
    if ((kv_full || full) && stuck * PASSING_PART > sample->running) {
        if (sample->running < can_run)
            can_run -= (can_run - sample->running + 1) / 2;
        hearsay->can_run = can_run == 0 ? 1 : can_run;
    } else if (!kv_full && sample->waiting == 0 && hearsay->can_run != UINT32_MAX) {
        can_run += (whole + GROWTH_PARTS - 1) / GROWTH_PARTS;
        hearsay->can_run = can_run >= whole ? UINT32_MAX : can_run;
    }
}

bool pst_hearsay_load(struct pst_hearsay *hearsay, const struct pst_hearsay_sample *sample,
                      const struct pst_hearsay_ours *ours, pst_ns now, uint32_t *ret_limit)
{
    uint32_t waiting = sample->waiting == UNSAID ? 0 : sample->waiting;
    uint32_t most, least, others, can_run;

    note_ours(hearsay, ours, now);
    if (sample->running == UNSAID || sample->at <= hearsay->load_at)
        return false;
    if (hearsay->load_at != 0 && sample->at - hearsay->load_at > PST_HEARSAY_KEPT)
        forget_load(hearsay);
    hearsay->load_at = sample->at;

    ours_around(hearsay, sample->at, &most, &least);
    others = believe(hearsay, (uint64_t)sample->running + waiting, most, least);
    learn(hearsay, sample, ours->whole, most >= ours->slots);

    can_run = (uint32_t)pst_min_u64(hearsay->can_run, ours->whole);
    if (others == 0 && can_run == ours->whole)
        *ret_limit = UINT32_MAX;
    else
        *ret_limit = can_run > others ? can_run - others : 1;
    return true;
}
